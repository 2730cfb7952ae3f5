"""Tolerances of goals: as configured, as a goal gives them, and the outcome at each moment."""

import numpy as np
import pytest

from robot_dynamics.control.arm.tolerances import (
    ERASED,
    GoalMonitor,
    JointTolerance,
    Outcome,
    Stiffness,
    ToleranceParameters,
    Tolerances,
    Verdict,
)
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.parameters import describe

NAMES = ("a", "b")
PATH = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
GOAL = np.array([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])
GIVEN = Tolerances(PATH, GOAL, 1.5)


def test_parameters_have_their_defaults_and_bounds():
    described = {one.name: (one.default, one.minimum, one.maximum) for one in describe(ToleranceParameters)}
    assert described == {
        "path_tolerance": ((0.0,), 0.0, None),
        "goal_tolerance": ((), 0.0, None),
        "stopped_velocity_tolerance": (0.01, 0.0, None),
        "goal_time_tolerance": (2.0, 0.0, 1e6),
    }
    with pytest.raises(ParameterError) as told:
        ToleranceParameters(path_tolerance=())
    assert str(told.value) == "parameter 'path_tolerance' is empty; give one value, or one per joint"
    assert JointTolerance() == JointTolerance(0.0, 0.0, 0.0) and ERASED == -1.0
    assert Verdict(Outcome.RUNNING).reason == ""


def test_an_arm_has_the_tolerances_that_are_configured():
    found = ToleranceParameters().of(NAMES, np.array([0.02, 0.002]))
    assert found.path.tolist() == np.zeros((3, 2)).tolist()
    assert found.goal.tolist() == [[0.02, 0.002], [0.01, 0.01], [0.0, 0.0]] and found.goal_time == 2.0
    given = ToleranceParameters((0.1, 0.2), (0.3,), 0.4, 0.5).of(NAMES, np.array([9.0, 9.0]))
    assert given.path.tolist() == [[0.1, 0.2], [0.0, 0.0], [0.0, 0.0]]
    assert given.goal.tolist() == [[0.3, 0.3], [0.4, 0.4], [0.0, 0.0]] and given.goal_time == 0.5
    for name in ("path_tolerance", "goal_tolerance"):
        with pytest.raises(ParameterError, match=rf"'{name}' has 3 values; give 1, or 2 in the order a, b"):
            ToleranceParameters(**{name: (1.0, 2.0, 3.0)}).of(NAMES, np.zeros(2))


def test_a_goal_gives_its_own_erases_some_and_leaves_the_rest():
    found = GIVEN.for_goal(
        NAMES,
        {"b": JointTolerance(0.7, -1.0, 0.0)},
        {"a": JointTolerance(0.0, 0.8, -1.0), "b": JointTolerance(-1.0, 0.0, 0.9)},
        3.5,
    )
    assert found.path.tolist() == [[0.1, 0.7], [0.3, 0.0], [0.5, 0.6]]
    assert found.goal.tolist() == [[0.01, 0.0], [0.8, 0.04], [0.0, 0.9]]
    assert found.goal_time == 3.5 and GIVEN.for_goal(NAMES, {}, {}, 0.0).goal_time == 1.5
    assert GIVEN.path is PATH and PATH[0, 1] == 0.2


@pytest.mark.parametrize("what", ["path", "goal"])
def test_tolerances_of_a_goal_that_cannot_be_meant_are_refused(what):
    def of(given):
        both = (given, {}) if what == "path" else ({}, given)
        with pytest.raises(TrajectoryError) as told:
            GIVEN.for_goal(NAMES, *both, 0.0)
        return str(told.value)

    assert of({"c": JointTolerance()}) == f"{what}_tolerance names joint 'c'; the joints are 'a', 'b'"
    for field in ("position", "velocity", "acceleration"):
        for value in (-0.5, -1.5, float("nan")):
            assert of({"b": JointTolerance(**{field: value})}) == (
                f"{what}_tolerance of joint 'b': {field} {value}; it must be positive, 0 (as configured) or"
                " -1 (none)"
            )
    for time in (-0.25, float("nan")):
        with pytest.raises(TrajectoryError) as told:
            GIVEN.for_goal(NAMES, {}, {}, time)
        assert str(told.value) == f"goal_time_tolerance is {time} s; it must not be negative"


def test_some_joints_alone_and_slower_motions():
    found = GIVEN.only(np.array([False, True]))
    assert found.path.tolist() == [[0.0, 0.2], [0.0, 0.4], [0.0, 0.6]]
    assert found.goal.tolist() == [[0.0, 0.02], [0.0, 0.04], [0.0, 0.06]] and found.goal_time == 1.5
    slower = GIVEN.stretched(2.0)
    np.testing.assert_allclose(slower.path, [[0.1, 0.2], [0.15, 0.2], [0.125, 0.15]])
    assert slower.goal is GOAL and slower.goal_time == 3.0


def judged(time, position=(0.0, 0.0), velocity=(0.0, 0.0), tolerances=GIVEN, moving=0.5):
    """Verdict on errors of position and velocity, beside a reference that moves."""
    reference = Reference(np.array([1.0, -2.0]), np.array([moving, -moving]), np.array([7.0, 8.0]))
    watch = GoalMonitor(list(NAMES), tolerances, 10.0, 12.0)
    assert (watch.start, watch.end) == (10.0, 12.0)
    here = reference.position - position, reference.velocity - velocity
    return watch.judge(time, reference, *here)


def test_before_the_start_nothing_is_judged():
    assert judged(9.99, (9.0, 9.0)) == Verdict(Outcome.RUNNING)
    assert judged(10.0, (9.0, 9.0)).outcome is Outcome.PATH_VIOLATED


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_path_tolerances_hold_until_the_end_and_a_miss_is_named(sense):
    assert judged(11.0, (0.0999, 0.0), (0.2999, 0.3999)) == Verdict(Outcome.RUNNING)
    found = judged(11.0, (0.0, sense * 0.25), (9.0, 9.0))
    assert found == Verdict(
        Outcome.PATH_VIOLATED, f"position error of joint 'b' is {sense * 0.25:g} rad or m, its tolerance 0.2"
    )
    found = judged(11.999, (0.0, 0.0), (sense * 0.3125, 9.0))
    assert found == Verdict(
        Outcome.PATH_VIOLATED,
        f"velocity error of joint 'a' is {sense * 0.3125:g} rad/s or m/s, its tolerance 0.3",
    )
    assert judged(12.0, (0.05, 0.0)).outcome is Outcome.RUNNING  # the goal's tolerances count now


def test_errors_on_the_tolerance_and_joints_without_one_pass():
    exact = Tolerances(np.array([[0.5, 0.0], [0.0, 0.25], [0.0, 0.0]]), GOAL, 0.0)
    assert judged(11.0, (0.5, 99.0), (99.0, -0.25), exact).outcome is Outcome.RUNNING
    assert judged(11.0, (0.50001, 0.0), (0.0, 0.0), exact).outcome is Outcome.PATH_VIOLATED
    assert judged(11.0, (float("nan"), 0.0), (0.0, 0.0), exact).outcome is Outcome.PATH_VIOLATED


def test_a_goal_is_reached_or_missed_after_its_time():
    assert judged(12.0, (0.0099, -0.0199), (0.0299, -0.0399)) == Verdict(Outcome.REACHED)
    assert judged(20.0) == Verdict(Outcome.REACHED)
    late = (0.0, 0.03)
    assert judged(13.5, late) == Verdict(Outcome.RUNNING)
    assert judged(13.625, late) == Verdict(
        Outcome.GOAL_VIOLATED,
        "position error of joint 'b' is 0.03 rad or m, its tolerance 0.02, 1.625 s after the end of the"
        " trajectory",
    )
    fast = judged(13.625, velocity=(0.0, 0.0625))
    assert fast.reason.startswith("velocity error of joint 'b' is 0.0625 rad/s or m/s, its tolerance 0.04, ")
    forever = Tolerances(PATH, GOAL, 0.0)
    assert judged(1e6, late, tolerances=forever) == Verdict(Outcome.RUNNING)
    short = Tolerances(PATH, GOAL, 0.5)
    assert judged(12.5, late, tolerances=short).outcome is Outcome.RUNNING
    assert judged(12.75, late, tolerances=short).outcome is Outcome.GOAL_VIOLATED


def test_outcomes_and_stiffness_have_their_words():
    assert [outcome.value for outcome in Outcome] == [
        "running", "reached", "path tolerance violated", "goal tolerance violated",
    ]  # fmt: skip
    assert Stiffness("a", 1.0, 2.0, 3.0, 4.0)._asdict() == {
        "name": "a", "stiffness": 1.0, "friction": 2.0, "frequency": 3.0, "inertia": 4.0,
    }  # fmt: skip
