"""``retime`` of the nodes: accelerations of MoveIt's timing that are too large come out executable."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.path_check import check_path
from robot_dynamics.control.arm.path_rules import PathRules, TorqueCheckParameters
from robot_dynamics.control.arm.trajectory import Reference, plan
from robot_dynamics.control.retiming.following import retimed
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource

FACTOR = 2.75
"""By which accelerations out of MoveIt exceeded their limits."""


@pytest.fixture(scope="module")
def arm():
    chain = rd.load_urdf(resource("urdf/puma560.urdf"))
    return chain, rd.ActuatedArm(rd.compile_dynamics(chain, friction=False), chain, rd.ActuatorParameters())


def moveit_like(goal, acceleration, speed, step=0.1):
    """A straight line in joint space with a trapezoidal speed, sampled with velocities and accelerations."""
    length = float(np.linalg.norm(goal))
    ramp, total = speed / acceleration, length / speed + speed / acceleration
    times = np.append(np.arange(0.0, total - 1e-6, step), total)
    a = np.where(times < ramp, acceleration, np.where(times > total - ramp, -acceleration, 0.0))
    v = np.minimum(np.minimum(acceleration * times, speed), acceleration * (total - times))
    before, after = np.minimum(times, ramp), np.maximum(times - (total - ramp), 0.0)
    s = 0.5 * acceleration * before**2 + speed * np.maximum(times - ramp, 0.0) - 0.5 * acceleration * after**2
    a[[0, -1]] = 0.0
    along = goal / length
    return WaypointTable(times, s[:, None] * along, v[:, None] * along, a[:, None] * along)


def planned(arm, table, retime):
    chain, model = arm
    rules = PathRules(
        acceleration=dict.fromkeys(chain.joint_names, 2.0),
        torque=TorqueCheckParameters("refuse", 0.0, retime),
    )
    feedforward = Feedforward(chain, model, FeedforwardParameters())
    feedforward.observe(np.zeros(chain.dof))
    made = feedforward.plan(chain.joint_names, table, None, 0.0, rules)
    efforts = feedforward.effort_limits
    return made, check_path(chain, model, made.trajectory.spline, efforts, rules)


@pytest.mark.long
def test_only_with_retiming_it_is_accepted(arm):
    goal = np.array([0.9, -0.6, 0.8, 0.2, 0.3, 0.1])
    table = moveit_like(goal, FACTOR * 2.0, 1.2)
    with pytest.raises(TrajectoryError, match="acceleration"):
        planned(arm, table, "off")
    slower, verdict = planned(arm, table, "slower")
    assert not verdict.exceeded and slower.trajectory.end > table.times[-1]
    end = slower.trajectory.sample(slower.trajectory.end)
    assert end.position == pytest.approx(goal, abs=1e-9)
    fastest, verdict = planned(arm, table, "fastest")
    assert not verdict.exceeded and fastest.trajectory.end <= slower.trajectory.end * (1.0 + 1e-3)


def test_what_keeps_its_limits_becomes_no_slower(arm):
    table = moveit_like(np.array([0.5, -0.2, 0.3, 0.2, 0.3, 0.1]), 0.6, 0.3)
    kept, _ = planned(arm, table, "slower")
    asis, _ = planned(arm, table, "off")
    assert np.array_equal(kept.trajectory.spline.coefficients, asis.trajectory.spline.coefficients)
    faster, verdict = planned(arm, table, "fastest")
    assert faster.trajectory.end < 0.8 * table.times[-1] and not verdict.exceeded


def test_a_replacement_in_motion_begins_with_the_speed_that_there_is(arm):
    chain, model = arm
    rules = PathRules(torque=TorqueCheckParameters("refuse", 0.0, "fastest"))
    origin = Reference(np.zeros(6), np.full(6, 0.2), np.zeros(6))
    efforts = np.array([chain.driving_joint(j).limits.effort for j in range(6)])
    goal = [rd.Waypoint(6.0, [0.8, 0.5, 0.6, 0.7, 0.5, 0.9])]
    retiming = retimed(chain, model, efforts, rules)
    made = plan(chain, chain.joint_names, goal, 0.0, origin, 0.0, rules, retiming=retiming)
    first = made.sample(made.start)
    assert first.position == pytest.approx(0.0, abs=1e-12) and first.velocity == pytest.approx(0.2)
    assert made.end < 4.0
