"""Joints that cannot arrive at their goals: what configure says, and what becomes of the goal."""

from __future__ import annotations

import numpy as np
from closed_loop import READY, ArmLoop

from robot_dynamics.control.arm.parameters import settled_errors
from robot_dynamics.control.arm.tolerances import GoalMonitor, Outcome, ToleranceParameters
from robot_dynamics.control.waypoints import Waypoint

STICKY = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
TURN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.4])


def outcome(loop, target, duration=1.0, patience=2.5):
    """Fate of a goal with the default tolerances."""
    names = loop.chain.joint_names
    tolerances = ToleranceParameters().of(names, settled_errors(loop.chain))
    end = loop.time + duration
    watch = GoalMonitor(names, tolerances, loop.time, end)
    trajectory = loop.control.follow(names, [Waypoint(duration, tuple(target))])
    verdict = None
    while loop.time < end + patience:
        loop.step()
        reference = trajectory.sample(loop.time)
        verdict = watch.judge(loop.time, reference, loop.plant.position, loop.plant.velocity)
        if verdict.outcome is not Outcome.RUNNING:
            break
    return verdict


def test_a_joint_that_sticks_is_named_at_configure_and_its_goal_is_aborted():
    """SUCCEEDED was said while wrist_3 was 0.40 rad away: friction 1 N·m, kp·M₃₃ 1.7 N·m/rad."""
    friction = {"friction": STICKY}
    loop = ArmLoop("ur5", READY, declared=friction, real=friction)
    [wrist] = [joint for joint in loop.control.stiffnesses() if joint.name == "wrist_3_joint"]
    unit = np.eye(6)[5]
    rest, place = np.zeros(6), np.array(READY)
    column = loop.links.inverse_dynamics(place, rest, unit) - loop.links.inverse_dynamics(place, rest, rest)
    # About its own axis the last link is the same in every pose.
    np.testing.assert_allclose(wrist.stiffness, 100.0 * column[5], rtol=1e-9)
    assert wrist.friction == 1.0 and np.isclose(wrist.frequency, 10.0 / (2.0 * np.pi))
    [warning] = [line for line in loop.control.low_gains() if line.startswith("wrist_3_joint may rest")]
    assert f"{1.0 / wrist.stiffness:.3g} rad from its goal" in warning
    assert "declare its rotor_inertia" in warning and "raise kp to" in warning
    assert "wrist_3_joint" in loop.control.characteristics
    # Otherwise the protective stop says it first.
    unknown = ArmLoop("ur5", READY, real=friction, max_following_error=(-1.0,))
    unknown.run(0.05)
    verdict = outcome(unknown, READY + TURN)
    assert verdict.outcome is Outcome.GOAL_VIOLATED and "wrist_3_joint" in verdict.reason
    geared = {"rotor_inertia": (1.0,), **friction}
    right = ArmLoop("ur5", READY, declared=geared, real=geared)
    assert not any("may rest" in line for line in right.control.low_gains())
    right.run(0.05)
    assert outcome(right, READY + TURN).outcome is Outcome.REACHED
