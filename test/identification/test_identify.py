"""Robots that are known are found again from what they would have reported."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import simulated
import yaml

import robot_dynamics as rd
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import structure
from robot_dynamics.identification.files import read_drives, read_observer, write_identified
from robot_dynamics.identification.friction import FrictionLaw
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.least_squares import robust_equations, solve_base
from robot_dynamics.identification.preparation import prepared_runs
from robot_dynamics.identification.regressor import EARTH, regressor
from robot_dynamics.identification.runs import Options
from robot_dynamics.resources import resource

pytest.importorskip("scipy", reason="scipy is not installed")
pytest.importorskip("cvxpy", reason="cvxpy is not installed")
NOISE = np.array([1.0, 2.0, 1.0, 0.1, 0.1, 0.1])
EXACT = 1e-3


@pytest.fixture(scope="module")
def puma():
    return rd.load_urdf(resource("urdf/puma560.urdf"))


@pytest.fixture(scope="module")
def found(puma):
    other = simulated.another(puma, 3)
    true = simulated.parameters(other, rotor=0.2, damping=1.5, friction=2.0, offset=0.3)
    return true, identify(puma, [simulated.simulated_log(puma, true, 4, 0.02 * NOISE)])


@pytest.mark.long
def test_a_robot_30_percent_off_its_description_is_found(puma, found):
    true, result = found
    summary = result.summary()
    assert summary["error"]["prior"] > 0.1
    # The offsets of the sensors, 0.3 N·m, are never commanded, so they count as missed.
    assert summary["error"]["validate"] < 0.02
    assert list(summary["torque_offset"].values()) == pytest.approx([0.3] * 6, abs=0.05)
    _, q, qd, qdd = simulated.trajectory(puma.dof, 99, 5.0)
    effort = regressor(puma, q, qd, qdd) @ true
    missed = np.linalg.norm(result.efforts(q, qd, qdd) - effort) / np.linalg.norm(effort)
    assert missed < 5e-3
    assert summary["friction"]["damping"] == pytest.approx([1.5] * 6, abs=0.05)
    assert summary["friction"]["friction"] == pytest.approx([2.0] * 6, abs=0.05)


@pytest.mark.long
def test_friction_that_is_plain_stays_plain(found):
    assert set(found[1].summary()["friction"]) == {"rotor_inertia", "damping", "friction"}


@pytest.fixture(scope="module")
def curved(puma):
    """A robot whose friction depends on speed, on the direction, and on the travel since a reversal."""
    count = puma.dof
    none = np.zeros(count, dtype=bool)
    law = FrictionLaw(
        np.array([0.1, 0.0, 0.0, 0.2, 0.0, 0.0]), np.arange(count) == 4, none, 0.01 * (np.arange(count) == 1)
    )
    true = simulated.parameters(simulated.another(puma, 3), rotor=0.2, damping=1.5, friction=2.0)
    drives = true[-8 * count :].reshape(8, count)
    drives[3, [0, 3]] = 0.5, 4.0
    drives[4, 4] = 1.2
    drives[5, 1] = 1.4
    log = simulated.simulated_log(puma, true, 4, 0.02 * NOISE, law=law)
    unseen = simulated.simulated_log(puma, true, 5, 0.02 * NOISE, seconds=5.0, law=law)
    return drives, identify(puma, [log], [unseen])


@pytest.mark.long
def test_friction_that_depends_on_speed_direction_and_travel_is_found(curved):
    drives, result = curved
    found = result.summary()["friction"]
    assert result.drives["stribeck_velocity"].tolist() == [0.1, 0.0, 0.0, 0.2, 0.0, 0.0]
    assert found["static_friction"] == pytest.approx(drives[3], abs=0.1)
    assert found["friction"] == pytest.approx(drives[2], abs=0.1)
    assert found["friction_offset"] == pytest.approx(drives[4], abs=0.1)
    assert found["presliding_friction"] == pytest.approx(drives[5], abs=0.1)
    assert result.drives["presliding_travel"] == pytest.approx([0.0, 0.01, 0.0, 0.0, 0.0, 0.0], rel=0.03)
    assert result.summary()["error"]["validate"] < 3e-3


@pytest.mark.long
def test_travels_between_those_that_are_tried_are_found():
    """With the nearest of TRAVELS parameters were off by 17 deviations, and unseen efforts by 0.7 %."""
    scara = rd.load_urdf(resource("urdf/scara.urdf"))
    law = replace(FrictionLaw.plain(scara.dof), presliding_travel=np.array([0.0033, 0.016, 0.007, 0.0012]))
    true = simulated.parameters(simulated.another(scara, 2), 0.05, 1.0, 2.0, slid=1.8)
    found = identify(scara, [simulated.simulated_log(scara, true, 3, 0.01, law=law)])
    assert found.drives["presliding_travel"] == pytest.approx(law.presliding_travel, rel=0.03)
    assert found.drives["presliding_friction"] == pytest.approx([1.8] * scara.dof, rel=0.01)
    missed = found.knowledge.values - found.knowledge.base.grouping @ true
    assert (np.abs(missed) < 4.0 * found.knowledge.deviations).all()
    assert found.summary()["error"]["validate"] < 1e-3


@pytest.mark.long
def test_friction_that_grows_with_the_load_is_found(puma, tmp_path):
    """Gears at shoulder and elbow; the wrist's has none."""
    count = puma.dof
    none = np.zeros(count)
    law = replace(FrictionLaw.plain(count), loaded=np.array([0, 1, 1, 0, 0, 0], dtype=bool))
    true = simulated.parameters(simulated.another(puma, 3), rotor=0.2, damping=1.5, friction=2.0)
    true[-2 * count : -count] = [0.0, 0.07, 0.05, 0.0, 0.0, 0.0]
    log = simulated.simulated_log(puma, true, 4, 0.02 * NOISE, law=law)
    unseen = simulated.simulated_log(puma, true, 5, 0.02 * NOISE, seconds=5.0, law=law)
    result = identify(puma, [log], [unseen])
    found = result.summary()["friction"]
    assert found["load_friction"] == pytest.approx([0.0, 0.07, 0.05, 0.0, 0.0, 0.0], abs=2e-3)
    assert found["friction"] == pytest.approx(none + 2.0, abs=0.1)
    assert result.summary()["error"]["validate"] < 3e-3
    write_identified(result, resource("urdf/puma560.urdf"), tmp_path)
    known = read_drives(str(tmp_path / "friction.yaml"), puma).of(puma)
    assert known.friction.load_friction.tolist() == found["load_friction"]
    # The controller's model is that of the identification.
    q, qd, qdd = unseen.q[50], unseen.qd[50], np.zeros(count)
    arm = ActuatedArm(rd.compile_dynamics(result.chain, friction=False), result.chain, _actuators(known))
    ours = result.efforts(q[None], qd[None], qdd[None])[0] - result.drives["torque_offset"]
    assert arm.inverse_dynamics(q, qd, qdd) == pytest.approx(ours, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("shares", "left"), [((0.4, 0.0), (0.0, 0.0)), ((0.4, 0.05), (0.0, 0.05))])
def test_friction_that_no_gear_has_is_not_written(shares, left, puma):
    """All friction per load stayed if that of no joint was plausible: a TX40 had 0.81."""
    law = replace(FrictionLaw.plain(puma.dof), loaded=np.array([0, 1, 1, 0, 0, 0], dtype=bool))
    true = simulated.parameters(puma, rotor=0.2, damping=1.5, friction=2.0)
    true[-2 * puma.dof + 1 : -2 * puma.dof + 3] = shares
    found = identify(puma, [simulated.simulated_log(puma, true, 4, 0.02 * NOISE, law=law)])
    assert found.drives["load_friction"] == pytest.approx([0.0, *left, 0.0, 0.0, 0.0], abs=5e-3)
    assert found.expected_miss() > 0.02


def _actuators(known):
    law = {name: tuple(getattr(known.friction, name)) for name in known.friction.__dataclass_fields__}
    return ActuatorParameters(rotor_inertia=tuple(known.rotor_inertia), **law)


@pytest.mark.long
def test_what_holds_a_joint_at_rest_is_not_taken_for_a_law(puma):
    """Efforts of joints at rest are anything that dry friction bears."""
    count = puma.dof
    true = simulated.parameters(simulated.another(puma, 3), rotor=0.2, damping=1.5, friction=2.0)
    log = simulated.simulated_log(puma, true, 4, 0.02 * NOISE)
    rest = 300
    still = np.repeat(log.q[-1:], rest, axis=0)
    held = log.effort[-1] + 1.5 * np.random.default_rng(0).uniform(-1.0, 1.0, count)
    longer = replace(
        log,
        time=np.concatenate([log.time, log.time[-1] + 0.008 * np.arange(1, rest + 1)]),
        q=np.concatenate([log.q, still]),
        qd=np.concatenate([log.qd, 0.0 * still]),
        effort=np.concatenate([log.effort, np.repeat(held[None], rest, axis=0)]),
    )
    friction = identify(puma, [longer], options=Options(learn_share=1.0)).summary()["friction"]
    assert friction["damping"] == pytest.approx([1.5] * count, abs=0.1)
    assert friction["friction"] == pytest.approx([2.0] * count, abs=0.1)
    assert "friction_offset" not in friction


@pytest.mark.long
def test_every_link_is_physically_possible(found):
    _, result = found
    for joint in result.chain.joints:
        assert np.linalg.eigvalsh(inertial.pseudo_inertia(inertial.parameters_of(joint.body)))[0] > 0.0
    assert "joint1.rotor_inertia" in result.held


def deviations_above(runs, offset, speeds):
    """Deviations of what an observer of 25 1/s feels in free motion beyond speeds, cycle by cycle."""
    squares = weights = 0.0
    for one in runs:
        share, felt = 1.0 - np.exp(-25.0 * np.median(np.diff(one.time))), 0.0
        left = np.where(one.moving & one.usable, one.measured - one.predicted - offset, 0.0)
        for row, velocity, moves in zip(left, one.velocity, one.moving & one.usable, strict=True):
            felt = felt + share * (row - felt)
            counts = moves & (np.abs(velocity) > speeds)
            squares, weights = squares + counts * felt**2, weights + counts
    return np.sqrt(squares / np.maximum(weights, 1.0)), weights


@pytest.mark.long
@pytest.mark.parametrize("robot", ["found", "curved"])
def test_pinocchio_gives_the_same_efforts_from_the_files(robot, request, puma, tmp_path):
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    _, result = request.getfixturevalue(robot)
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    write_identified(result, resource("urdf/puma560.urdf"), tmp_path)
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "identified.urdf"))
    data = model.createData()
    text = (tmp_path / "friction.yaml").read_text(encoding="utf-8")
    drives = yaml.safe_load(text)["/**"]["ros__parameters"]
    offset = list(json.loads((tmp_path / "result.json").read_text())["torque_offset"].values())
    _, q, qd, qdd = simulated.trajectory(puma.dof, 7, 2.0)
    ours = result.efforts(q, qd, qdd)
    for k in range(0, len(q), 50):
        slow = np.clip(qd[k] / 0.005, -1.0, 1.0)
        sign = 0.5 * slow * (3.0 - slow**2)
        size = np.array(drives["friction"])
        if robot == "curved":
            drop = np.array(drives["static_friction"]) - size
            size = size + drop * np.exp(-np.abs(qd[k]) / np.array(drives["stribeck_velocity"]))
            size = size + np.array(drives["friction_offset"]) * sign
        dry = size * sign
        theirs = pinocchio.rnea(model, data, q[k], qd[k], qdd[k]) + dry + offset
        theirs += np.array(drives["rotor_inertia"]) * qdd[k] + np.array(drives["damping"]) * qd[k]
        assert np.abs(theirs - ours[k]).max() < 1e-9
    assert drives["contact_speeds"] == [0.0, 0.05, 0.2] and drives["friction_drift"] == 0.3
    given = read_observer(str(tmp_path / "friction.yaml"))
    floors, _ = rd.ContactParameters(**given).floors(puma)
    sensors = np.array(drives.get("effort_offset", np.zeros(puma.dof)))
    limits = [puma.driving_joint(j).limits.velocity for j in range(puma.dof)]
    parts = [part for part in (result.validate, (*result.learn, *result.validate)) if part]
    fastest, seen = zip(
        *[deviations_above(part, sensors, np.multiply(0.2, limits)) for part in parts], strict=True
    )
    known = np.min(seen, axis=0) > 100.0  # else the nearest speed counts
    assert known.any() or robot == "curved"
    shares = floors[-1][known] / np.max(fastest, axis=0)[known]
    assert (shares > 0.8 * 3.0).all() and (shares < 1.2 * 4.0).all()
    known = read_drives(str(tmp_path / "friction.yaml"), puma).of(puma)
    assert list(known.rotor_inertia) == drives["rotor_inertia"]
    again = rd.load_urdf(tmp_path / "identified.urdf")
    assert [joint.damping for joint in again.joints] == drives["damping"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'src="data:image/png' in page and 'name="viewport"' in page
    text = " ".join(page.split())
    percents = [100.0 * result.summary()["error"][key] for key in ("validate", "prior")]
    verdict = f"missed by {percents[0]:.2f} %; the description misses {percents[1]:.2f} %"
    places = [text.index(words) for words in (verdict, "What to do next", "<h2>Friction</h2>")]
    assert places == sorted(places)
    assert "Better than the description: joint1, joint2" in text
    assert "A second, different motion at half the speed. In simulation two such runs left half" in text
    assert ("none seen" in text) == (robot == "curved")
    assert "not determined (" in text
    assert re.findall(r"\d[\d.]*e-1[5-9]", text) == []  # rounding


@pytest.mark.long
def test_base_parameters_scatter_as_their_deviations_say(puma):
    """Over robots drawn anew, errors in units of their own deviation are like a normal distribution's."""
    chain = puma
    base, _ = structure(chain, EARTH)
    scores = []
    for seed in range(8):
        true = simulated.parameters(simulated.another(chain, seed), 0.1, 1.0, 1.0, 0.1)
        log = simulated.simulated_log(chain, true, 200 + seed, NOISE, seconds=12.0)
        [run], _ = prepared_runs([log], chain, simulated.parameters(chain), Options())
        block = run.regressor(FrictionLaw.plain(chain.dof))
        values, covariance = solve_base(
            robust_equations([block], [run.effort], base, nuisance=[run.rate[:, :, None]]), base
        )
        scores.append((values - base.grouping @ true) / np.sqrt(np.diag(covariance)))
    scores = np.abs(np.array(scores))
    assert np.mean(scores < 3.0) > 0.99
    assert 0.7 < np.sqrt(np.mean(scores**2)) < 1.2


@pytest.mark.long
def test_a_payload_is_found_with_its_centre(puma):
    payload = inertial.RigidBody(2.0, np.array([0.02, -0.01, 0.08]), np.diag([0.01, 0.012, 0.008]))
    true = simulated.parameters(puma)
    last = puma.joints[-1]
    loaded = inertial.with_payload(last.body, payload, puma.tip_transform)
    true[50:60] = inertial.parameters_of(loaded)
    log = simulated.simulated_log(puma, true, 5, 0.02 * NOISE)
    result = identify(puma, [log], options=Options(payload=True))
    assert result.payload is not None
    assert result.payload.mass == pytest.approx(2.0, abs=0.01)
    assert result.payload.center_of_mass == pytest.approx(payload.center_of_mass, abs=2e-3)
    assert result.summary()["error"]["validate"] < EXACT * 5.0


@pytest.mark.long
def test_efforts_without_the_weight_need_the_option(puma):
    true = simulated.parameters(simulated.another(puma, 8), 0.1, 1.0, 1.0)
    log = simulated.simulated_log(puma, true, 9, 0.02 * NOISE, gravity=(0.0, 0.0, 0.0))
    with pytest.raises(rd.RobotDynamicsError, match="--compensates-gravity"):
        identify(puma, [log])
    result = identify(puma, [log], options=Options(compensates_gravity=True))
    assert result.summary()["error"]["validate"] < 2e-2


@pytest.mark.long
@pytest.mark.parametrize(
    ("arm", "held"),
    [
        # What the vertical slide carries cannot be told from a constant force of its drive.
        ("urdf/scara.urdf", {"joint1.rotor_inertia", "joint3.torque_offset"}),
        ("urdf/arm7.urdf", {"joint1.rotor_inertia", "joint2.rotor_inertia"}),
    ],
)
def test_other_arms_are_found_too(arm, held):
    chain = rd.load_urdf(resource(arm))
    true = simulated.parameters(simulated.another(chain, 2), 0.05, 1.0, 0.5)
    result = identify(chain, [simulated.simulated_log(chain, true, 3, 0.01)])
    assert set(result.held) == held
    assert result.summary()["error"]["validate"] < EXACT < result.summary()["error"]["prior"]
