"""A payload from poses at rest, whatever static friction does there."""

from __future__ import annotations

import json

import numpy as np
import pytest
import simulated
from test_logs import write_table

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.identification import inertial
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.regressor import regressor
from robot_dynamics.identification.runs import Options
from robot_dynamics.resources import resource

for module in ("scipy", "cvxpy"):
    pytest.importorskip(module, reason=f"{module} is not installed")
PUMA = resource("urdf/puma560.urdf")
PAYLOAD = inertial.RigidBody(2.0, np.array([0.02, -0.01, 0.08]), 0.005 * np.eye(3))
FRICTION = np.array([3.0, 4.0, 2.5, 0.3, 0.3, 0.2])
POSES = np.random.default_rng(3).uniform(-1.2, 1.2, (5, 6)) + np.array([0.0, -0.7, 0.5, 0.0, 0.6, 0.0])


@pytest.fixture(scope="module")
def chain():
    return rd.load_urdf(PUMA)


def resting(chain, sides, seed=0):
    """A log of the poses; static friction keeps 80 to 100 % of its size, and efforts scatter."""
    draw = np.random.default_rng(seed)
    loaded = inertial.with_payload(chain.joints[-1].body, PAYLOAD, chain.tip_transform)
    true = simulated.parameters(chain)
    true[50:60] = inertial.parameters_of(loaded)
    q, effort = [], []
    for pose in POSES:
        for side in sides:
            way = pose - 0.1 * side * np.linspace(1.0, 0.0, 50)[:, None]
            held = np.repeat(pose[None], 100, axis=0)
            weight = (regressor(chain, held[:1], 0.0 * held[:1], 0.0 * held[:1]) @ true)[0]
            rubbing = side * FRICTION * draw.uniform(0.8, 1.0, 6)
            q += [way, held]
            effort += [np.repeat((weight + rubbing)[None], len(part), axis=0) for part in (way, held)]
    q, effort = np.concatenate(q), np.concatenate(effort)
    effort = effort + 0.05 * FRICTION * draw.normal(size=effort.shape)
    return Log("poses", chain.joint_names, 0.01 * np.arange(len(q)), q, 0.0 * q, effort)


def test_a_payload_from_five_poses(chain):
    """The weight's torque at the shoulder is many times what scatters."""
    options = Options(payload=True, static=True)
    for seed in range(3):
        found = identify(chain, [resting(chain, (1.0, -1.0), seed)], options=options)
        assert found.payload.mass == pytest.approx(2.0, rel=0.03)
    assert found.payload.center_of_mass == pytest.approx(PAYLOAD.center_of_mass, abs=0.02)
    assert found.treatment.notes == ("poses: 5 poses at rest, 30 efforts from both sides",)


def test_a_pose_from_one_side_hides_its_weight(chain):
    with pytest.raises(rd.RobotDynamicsError, match="no pose was approached from both sides"):
        identify(chain, [resting(chain, (1.0,))], options=Options(payload=True, static=True))


def test_planned_poses_tell_a_payload_in_spite_of_static_friction(chain, tmp_path, capsys):
    """Static friction holds a joint with any effort up to its limit, against the side that it came from."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    from robot_dynamics.identification.excitation.points import read_points

    path = tmp_path / "poses.yaml"
    assert main(["excite", str(PUMA), "-o", str(path), "--static", "--payload", "2"]) == 0
    assert "5 poses at rest, each from below and from above" in capsys.readouterr().out
    points = read_points(str(path), chain.joint_names)
    assert not points.velocities.any()
    lower, upper = np.array([(j.limits.lower, j.limits.upper) for j in chain.joints]).T
    assert (points.positions > lower).all() and (points.positions < upper).all()
    time = np.arange(0.0, points.time[-1], 0.01)
    at = np.clip(np.searchsorted(points.time, time, side="right") - 1, 0, len(points.time) - 2)
    share = ((time - points.time[at]) / np.diff(points.time)[at])[:, None]
    way = np.diff(points.positions, axis=0)[at]
    q = points.positions[at] + (10.0 * share**3 - 15.0 * share**4 + 6.0 * share**5) * way
    draw = np.random.default_rng(2)
    held = draw.uniform(0.8, 1.0, (len(points.time), 6))[at]
    side = np.zeros_like(q)
    for k in range(1, len(q)):
        side[k] = np.where(way[k] != 0.0, np.sign(way[k]), side[k - 1])
    loaded = inertial.with_payload(chain.joints[-1].body, PAYLOAD, chain.tip_transform)
    true = simulated.parameters(chain)
    true[50:60] = inertial.parameters_of(loaded)
    effort = regressor(chain, q, 0.0 * q, 0.0 * q) @ true + side * FRICTION * held
    effort = effort + 0.05 * FRICTION * draw.normal(size=effort.shape)
    log = Log("poses", chain.joint_names, time, q, 0.0 * q, effort)
    found = identify(chain, [log], options=Options(payload=True, static=True))
    assert found.treatment.notes == ("poses: 5 poses at rest, 30 efforts from both sides",)
    assert found.payload.mass == pytest.approx(2.0, rel=0.03)
    assert main(["excite", str(PUMA), "-o", str(path), "--static", "--poses", "2"]) == 1
    assert "--poses 2: must be 3 to 50" in capsys.readouterr().err


@pytest.mark.long
def test_static_on_the_command_line(chain, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    write_table(tmp_path / "run.csv", resting(chain, (1.0, -1.0), 9))
    arguments = ["identify", str(PUMA), str(tmp_path / "run.csv"), "--static", "-o", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "static is for a payload alone" in capsys.readouterr().err
    assert main([*arguments, "--payload"]) == 0
    assert "5 poses at rest" in capsys.readouterr().out
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["payload"]["mass"] == pytest.approx(2.0, rel=0.03)
