"""The rules of FollowJointTrajectory as joint_trajectory_controller documents them."""

import numpy as np
import pytest

from robot_dynamics.control.arm.tolerances import GoalMonitor, JointTolerance, Outcome, ToleranceParameters
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.errors import ParameterError, TrajectoryError

NAMES = ("shoulder", "elbow")
AT = Reference.at_rest(np.array([1.0, 2.0]))
STILL = np.zeros(2)
SETTLED = np.array([0.02, 0.002])


def monitor(goal_time=0.0, **given):
    tolerances = ToleranceParameters(
        goal_time_tolerance=goal_time, **({"goal_tolerance": (0.0,)} | given)
    ).of(NAMES, SETTLED)
    return GoalMonitor(NAMES, tolerances, start=10.0, end=12.0)


def judged(watch, time, error, velocity=STILL):
    return watch.judge(time, AT, AT.position - np.asarray(error), np.asarray(velocity))


def test_path_tolerances_hold_from_start_to_end_and_name_joint_and_error():
    watch = monitor(path_tolerance=(0.1, 0.2))
    assert judged(watch, 9.9, [1.0, 1.0]).outcome is Outcome.RUNNING
    assert judged(watch, 11.0, [0.0999, -0.1999]).outcome is Outcome.RUNNING
    verdict = judged(watch, 11.0, [0.05, -0.21])
    assert verdict.outcome is Outcome.PATH_VIOLATED
    assert "'elbow' is -0.21 rad" in verdict.reason
    assert "0.2" in verdict.reason
    assert judged(watch, 12.0, [0.05, -0.21]).outcome is Outcome.REACHED


def test_a_goal_succeeds_only_within_its_tolerances_and_stopped():
    watch = monitor(goal_tolerance=(0.01,), goal_time=0.5)
    assert judged(watch, 11.99, [0.0, 0.0]).outcome is Outcome.RUNNING
    assert judged(watch, 12.0, [0.02, 0.0]).outcome is Outcome.RUNNING
    assert judged(watch, 12.0, [0.0, 0.0], [0.02, 0.0]).outcome is Outcome.RUNNING
    assert judged(watch, 12.4, [0.0099, -0.0099], [0.0099, 0.0]).outcome is Outcome.REACHED
    late = judged(watch, 12.51, [0.02, 0.0])
    assert late.outcome is Outcome.GOAL_VIOLATED
    assert "'shoulder'" in late.reason


def test_a_goal_time_of_zero_waits_for_as_long_as_it_takes():
    watch = monitor(goal_tolerance=(0.01,))
    assert judged(watch, 1e4, [0.02, 0.0]).outcome is Outcome.RUNNING
    assert judged(watch, 1e4, [0.0, 0.0]).outcome is Outcome.REACHED


def test_by_default_a_goal_arrives_within_two_seconds_and_the_settled_errors():
    """SUCCEEDED was said 0.4 rad away."""
    watch = GoalMonitor(NAMES, ToleranceParameters().of(NAMES, SETTLED), start=10.0, end=12.0)
    assert judged(watch, 12.0, [0.4, 0.0]).outcome is Outcome.RUNNING
    assert judged(watch, 13.9, [0.019, 0.0019]).outcome is Outcome.REACHED
    assert judged(watch, 14.1, [0.019, 0.0021]).outcome is Outcome.GOAL_VIOLATED


def test_an_error_that_is_not_a_number_violates():
    assert judged(monitor(path_tolerance=(0.1,)), 11.0, [np.nan, 0.0]).outcome is Outcome.PATH_VIOLATED


def test_a_goal_overrides_keeps_or_erases_the_defaults():
    default = ToleranceParameters(path_tolerance=(0.1,), goal_tolerance=(0.01,), goal_time_tolerance=2.0).of(
        NAMES, SETTLED
    )
    merged = default.for_goal(
        NAMES,
        {"elbow": JointTolerance(-1.0, 0.5, 0.0)},
        {"shoulder": JointTolerance(0.0, -1.0), "elbow": JointTolerance(0.3)},
        0.0,
    )
    np.testing.assert_allclose(merged.path, [[0.1, 0.0], [0.0, 0.5], [0.0, 0.0]])
    np.testing.assert_allclose(merged.goal, [[0.01, 0.3], [0.0, 0.01], [0.0, 0.0]])
    assert merged.goal_time == 2.0
    assert default.for_goal(NAMES, {}, {}, 3.0).goal_time == 3.0
    assert default.path[0, 1] == 0.1


@pytest.mark.parametrize(
    ("path", "time", "reason"),
    [
        ({"knee": JointTolerance(0.1)}, 0.0, "'knee'.*'shoulder', 'elbow'"),
        ({"elbow": JointTolerance(-0.5)}, 0.0, "'elbow'.*-0.5"),
        ({"elbow": JointTolerance(float("nan"))}, 0.0, "nan"),
        ({}, -1.0, "goal_time_tolerance"),
    ],
)
def test_tolerances_that_mean_nothing_are_refused(path, time, reason):
    with pytest.raises(TrajectoryError, match=reason):
        ToleranceParameters().of(NAMES, SETTLED).for_goal(NAMES, path, {}, time)


def test_a_list_of_the_wrong_length_is_refused():
    with pytest.raises(ParameterError, match="path_tolerance"):
        ToleranceParameters(path_tolerance=(0.1, 0.1, 0.1)).of(NAMES, SETTLED)
