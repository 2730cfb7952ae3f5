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


def test_a_result_worse_than_the_description_on_the_held_out_run_is_none(chain, tmp_path, capsys):
    learned = run_of(chain, simulated.another(chain, 1), tmp_path / "one.csv", 1)
    held_out = run_of(chain, chain, tmp_path / "two.csv", 2, damping=0.0, friction=0.0)
    arguments = ["identify", str(PUMA), learned, "--validate", held_out, "-o", str(tmp_path / "out")]
    assert main(arguments) == 3
    assert "of the efforts that were held out, the description" in capsys.readouterr().err
    assert written(tmp_path / "out") == {"result.json", "report.html"}


def test_one_link_far_from_the_description_and_an_inaccurate_solver_are_named(chain):
    true = simulated.parameters(simulated.another(chain, 3), damping=1.0, friction=0.5)
    found = identify(chain, [simulated.simulated_log(chain, true, 4, 0.02)])
    assert implausibilities(found) == ()
    assert implausibilities(replace(found, inaccurate="optimal_inaccurate")) == (
        "the solution is inaccurate: optimal_inaccurate",
    )
    [reason] = implausibilities(replace(found, chain=heavier(found.chain, 4.0, slice(2, 3))))
    assert reason.startswith("the mass of link3 is")


def test_a_small_motion_does_not_spoil_the_weight_elsewhere(chain):
    """2 % more mass, seen within ±0.15 rad: the result's gravity is nearer over the whole workspace."""
    true = simulated.parameters(heavier(chain, 1.02), rotor=0.2, damping=1.5, friction=2.0)
    time, q, qd, qdd = simulated.trajectory(chain.dof, 1)
    size = 0.15 / np.abs(q).max(axis=0)
    q, qd, qdd = size * q + np.array([0.0, -0.7, 0.5, 0.0, 0.6, 0.0]), size * qd, size * qdd
    effort = simulated.regressor(chain, q, qd, qdd) @ true
    noise = 0.02 * np.array([1.0, 2.0, 1.0, 0.1, 0.1, 0.1])
    effort += noise * np.random.default_rng(1).normal(size=effort.shape)
    found = identify(chain, [simulated.Log("run", chain.joint_names, time, q, qd, effort)])
    places = np.random.default_rng(3).uniform(-2.0, 2.0, (300, chain.dof))
    weight, described, identified = (
        simulated.regressor(chain, places, 0.0 * places, 0.0 * places) @ simulated.parameters(robot)
        for robot in (heavier(chain, 1.02), chain, found.chain)
    )
    assert np.linalg.norm(identified - weight) < 0.2 * np.linalg.norm(described - weight)
    # The score is that of the files, which have no torque offsets.
    [run] = found.validate
    again = found.summary()["error"]["validate"]
    missed = np.where(run.moving, run.predicted - run.measured, 0.0)
    assert again == pytest.approx(
        np.linalg.norm(missed) / np.linalg.norm(np.where(run.moving, run.measured, 0.0))
    )
