"""A result that cannot be right leaves no description for a robot."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import simulated
from test_logs import write_table

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.identification import inertial
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.improvement import Group, groups_to_keep
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.identification.physical import DriveInertias
from robot_dynamics.identification.plausibility import implausibilities
from robot_dynamics.resources import resource

for module in ("scipy", "cvxpy", "matplotlib"):
    pytest.importorskip(module, reason=f"{module} is not installed")
PUMA = resource("urdf/puma560.urdf")
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics.ModelWarning")


def heavier(chain, factor, links=slice(None)):
    """The chain with the bodies of some links scaled in mass and inertia."""
    joints = list(chain.joints)
    for index in range(len(joints))[links]:
        scaled = factor * inertial.parameters_of(joints[index].body)
        joints[index] = replace(joints[index], body=inertial.body_of(scaled))
    return replace(chain, joints=tuple(joints))


@pytest.fixture(scope="module")
def chain():
    return rd.load_urdf(PUMA)


def run_of(chain, robot, path, seed=1, damping=1.0, friction=0.5):
    true = simulated.parameters(robot, damping=damping, friction=friction)
    write_table(path, simulated.simulated_log(chain, true, seed, 0.02))
    return str(path)


def written(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.long
@pytest.mark.parametrize("accept", [False, True])
def test_a_robot_of_five_times_the_mass_is_no_result(accept, chain, tmp_path, capsys):
    run = run_of(chain, heavier(chain, 5.0), tmp_path / "run.csv")
    out = tmp_path / "out"
    out.mkdir()
    (out / "identified.urdf").write_text("an earlier run's", encoding="utf-8")
    code = main(["identify", str(PUMA), run, "-o", str(out), *["--accept"] * accept])
    printed = capsys.readouterr()
    assert code == (0 if accept else 3)
    assert "implausible: the total mass is" in printed.err
    reasons = json.loads((out / "result.json").read_text(encoding="utf-8"))["implausible"]
    assert reasons[0].startswith("the total mass is")
    assert "This result is implausible" in (out / "report.html").read_text(encoding="utf-8")
    if accept:
        assert written(out) == {"identified.urdf", "friction.yaml", "result.json", "report.html"}
        heavy = sum(joint.body.mass for joint in rd.load_urdf(out / "identified.urdf").joints)
        assert heavy > 2.0 * sum(joint.body.mass for joint in chain.joints)
    else:
        assert written(out) == {"identified.urdf", "result.json", "report.html"}
        assert (out / "identified.urdf").read_text(encoding="utf-8") == "an earlier run's"
        assert "--accept writes them. identified.urdf in" in printed.err


@pytest.mark.long
def test_a_result_worse_than_the_description_on_the_held_out_run_is_none(chain, tmp_path, capsys):
    learned = run_of(chain, simulated.another(chain, 1), tmp_path / "one.csv", 1)
    held_out = run_of(chain, chain, tmp_path / "two.csv", 2, damping=0.0, friction=0.0)
    arguments = ["identify", str(PUMA), learned, "--validate", held_out, "-o", str(tmp_path / "out")]
    assert main(arguments) == 3
    assert "of the efforts that were held out, the description" in capsys.readouterr().err
    assert written(tmp_path / "out") == {"result.json", "report.html"}


@pytest.mark.long
def test_one_link_far_from_the_description_and_an_inaccurate_solver_are_named(chain):
    true = simulated.parameters(simulated.another(chain, 3), damping=1.0, friction=0.5)
    found = identify(chain, [simulated.simulated_log(chain, true, 4, 0.02)])
    assert implausibilities(found) == ()
    assert implausibilities(replace(found, inaccurate="optimal_inaccurate")) == (
        "the solution is inaccurate: optimal_inaccurate",
    )
    [reason] = implausibilities(replace(found, chain=heavier(found.chain, 4.0, slice(2, 3))))
    assert reason.startswith("the mass of link3 is")


@pytest.mark.long
def test_an_exact_description_is_no_reason_to_doubt(chain):
    """0.000464 % were missed where the description missed 0.000461 %: implausible."""
    log = simulated.simulated_log(chain, simulated.parameters(chain), 4, 1e-6)
    found = identify(chain, [log])
    exact = replace(found, validate=tuple(replace(run, prior=run.measured) for run in found.validate))
    assert implausibilities(found) == implausibilities(exact) == ()


@pytest.mark.long
@pytest.mark.parametrize("reach", [0.15, 0.4])
def test_a_small_motion_spoils_the_weight_nowhere(reach, chain):
    """2 % more mass and offsets of the sensors: no pose sags more than by the description."""
    robot = heavier(chain, 1.02)
    true = simulated.parameters(robot, rotor=0.2, damping=1.5, friction=2.0, offset=0.3)
    time, q, qd, qdd = simulated.trajectory(chain.dof, 1)
    size = reach / np.abs(q).max(axis=0)
    q, qd, qdd = size * q + np.array([0.0, -0.7, 0.5, 0.0, 0.6, 0.0]), size * qd, size * qdd
    effort = simulated.regressor(chain, q, qd, qdd) @ true
    noise = 0.1 * np.array([1.0, 2.0, 1.0, 0.1, 0.1, 0.1])
    effort += noise * np.random.default_rng(1).normal(size=effort.shape)
    found = identify(chain, [simulated.Log("run", chain.joint_names, time, q, qd, effort)])

    def sags(model, places):
        still = 0.0 * places
        missed = simulated.regressor(chain, places, still, still) @ (
            simulated.parameters(model) - simulated.parameters(robot)
        )
        units = np.eye(chain.dof)
        columns = [
            simulated.regressor(chain, places, still, still + unit, (0.0, 0.0, 0.0)) @ true_inertia
            for unit in units
        ]
        return np.abs(np.linalg.solve(np.stack(columns, axis=2), missed[:, :, None])[:, :, 0]) / 400.0

    true_inertia = simulated.parameters(robot, rotor=0.2)
    for places in (q[::50], np.random.default_rng(3).uniform(-2.0, 2.0, (300, chain.dof))):
        described, identified = sags(chain, places), sags(found.chain, places)
        assert identified.max() < described.max()
        assert (identified.max(axis=0) < described.max(axis=0) + 2e-4).all()
    # A repetition is not held out, and the score is that of the files, which have no torque offsets.
    assert "of each period: the motion repeats itself" in found.treatment.held_out
    [run] = found.validate
    again = found.summary()["error"]["validate"]
    missed = np.where(run.moving, run.predicted - run.measured, 0.0)
    assert again == pytest.approx(
        np.linalg.norm(missed) / np.linalg.norm(np.where(run.moving, run.measured, 0.0))
    )


@pytest.mark.long
def test_links_that_the_data_do_not_tell_keep_the_description(chain):
    """Of a robot whose third link is heavier, distal links stay as described, by name."""
    robot = heavier(chain, 1.3, slice(2, 3))
    true = simulated.parameters(robot, 0.2, 1.5, 2.0)
    noise = np.array([2.0, 4.0, 2.0, 0.4, 0.4, 0.4])
    found = identify(chain, [simulated.simulated_log(chain, true, 4, noise)])
    assert {"link5", "link6"} & set(found.kept)
    assert "link3" not in found.kept
    assert found.summary()["kept"] == list(found.kept)
    for described, joint in zip(chain.joints, found.chain.joints, strict=True):
        before, after = inertial.parameters_of(described.body), inertial.parameters_of(joint.body)
        assert (after == pytest.approx(before, rel=1e-12)) == (joint.link in found.kept)


@pytest.mark.long
def test_a_link_without_inertia_in_the_description_gets_one(chain):
    """A Stäubli TX40's last link has a mass of 0.2 kg and no inertia: identify ended with a LinAlgError."""
    last = chain.joints[-1]
    point = replace(last, body=replace(last.body, inertia=np.zeros((3, 3))))
    described = replace(chain, joints=(*chain.joints[:-1], point))
    true = simulated.parameters(heavier(chain, 1.2, slice(2, 3)), 0.2, 1.5, 2.0)
    noise = np.array([2.0, 4.0, 2.0, 0.4, 0.4, 0.4])
    found = identify(described, [simulated.simulated_log(chain, true, 4, noise)])
    assert "link6" not in found.kept
    for joint in found.chain.joints:
        assert np.linalg.eigvalsh(inertial.pseudo_inertia(inertial.parameters_of(joint.body)))[0] > 0.0
    assert np.isfinite(found.expected_miss())


def test_a_drive_of_which_the_data_say_nothing_stays_as_described():
    """Its column is zero or nearly so, which neither divides by zero nor ends in an error."""
    body = inertial.parameters_of(inertial.RigidBody(2.0, np.zeros(3), 0.1 * np.eye(3)))
    for told in (0.0, 1e-170):
        matrix = np.diag([*[1.0] * 10, told])
        equations = Equations(matrix, matrix @ np.append(1.5 * body, 0.0), 0.0)
        drives = DriveInertias(np.zeros(1), np.eye(1), np.zeros(1), np.full(1, np.inf))
        groups = [Group("joint", np.array([10]), np.zeros(1))]
        kept = groups_to_keep(equations, body[None], drives, 1e-6, np.eye(11), groups)
        assert kept in ((), ("joint",))
