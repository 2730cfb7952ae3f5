"""Attempts of retiming by the path speeds and ends that are asked for, its reasons, and its arguments."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from uncoupled_axes import AXES, INERTIAS, LIMITS, LINE, LINES, NO_FRICTION

from robot_dynamics.control.retiming import retime as retiming
from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.retiming.retime import retime, through
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline, minimum_jerk_spline
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import ParameterError, TrajectoryError, WrongTypeError

OPEN = np.nan


def trajectory(rates=((0.0, 0.0), (0.0, 0.0)), begin=3.0):
    """Three pieces of 2 s with these velocities at its ends, and others between them."""
    times = begin + np.array([0.0, 0.5, 1.2, 2.0])
    positions = np.array([[0.1, 0.2], [0.3, 0.0], [0.5, -0.2], [0.7, -0.4]])
    velocities = np.array([rates[0], [0.5, -0.4], [0.6, -0.3], rates[1]], dtype=float)
    return minimum_jerk_spline(times, positions, velocities, np.zeros((4, 2)))


class Attempts:
    """Stands for the computation: notes what it is asked for; fails above a path speed, or for some ends."""

    def __init__(self, monkeypatch, kinds=(0,) * 10, highest=np.inf, fails=lambda ends: False):
        self.speeds, self.ends, self.frictions, self.problems = [], [], [], []
        attempts = self

        class Problem:
            def __init__(self, *given):
                attempts.problems.append(given)
                self.friction = NO_FRICTION.matrix

            def solve(self, ends, cap):
                speed = float(np.sqrt(cap))
                attempts.ends.append(list(ends))
                attempts.frictions.append(DriveFriction(*self.friction.T).load_friction.tolist())
                attempts.speeds.append(speed)
                if speed > highest or fails(ends):
                    raise TrajectoryError(f"number {len(attempts.speeds)}")
                return SimpleNamespace(kind=np.array(kinds), speed=speed)

        monkeypatch.setattr(retiming, "_Problem", Problem)


PATH_SPEED = retiming.KINDS.index("path speed")


def test_waypoints_are_solved_once_with_a_path_speed_of_a_thousand(monkeypatch):
    attempts = Attempts(monkeypatch, kinds=[PATH_SPEED] * 10)
    retime(AXES, LINE, LIMITS)
    assert (attempts.speeds, attempts.ends) == ([1000.0], [[0.0, 0.0]])
    driven, spline, arrays, intervals = attempts.problems[0]
    assert driven is AXES and intervals == 1000 and spline.times.tolist() == [0.0, 1.0]
    assert {name: values.tolist() for name, values in arrays.items()} == {
        "velocity": [4.0, 2.0],
        "acceleration": [np.inf] * 2,
        "effort": [np.inf] * 2,
        "effort_rate": [np.inf] * 2,
    }


@pytest.mark.parametrize(
    ("bounded", "speeds"), [(0, [10.0]), (1, [10.0]), (2, [10.0, 1e2, 1e3, 1e4, 1e5, 1e6]), (10, None)]
)
def test_a_path_speed_that_bounds_a_fifth_of_the_points_is_raised(monkeypatch, bounded, speeds):
    kinds = [PATH_SPEED] * bounded + [1] * (10 - bounded)
    attempts = Attempts(monkeypatch, kinds=kinds)
    made = retime(AXES, trajectory(), LIMITS)
    assert attempts.speeds == pytest.approx(speeds or [10.0, 1e2, 1e3, 1e4, 1e5, 1e6])
    assert made.speed == attempts.speeds[-1]
    assert attempts.ends[0] == [-1.0, -1.0]


def test_slower_is_never_faster_than_the_trajectory_s_own_timing(monkeypatch):
    attempts = Attempts(monkeypatch, kinds=[PATH_SPEED] * 10)
    retime(AXES, trajectory(), LIMITS, slower=True)
    assert attempts.speeds == [1.0]
    lower = Attempts(monkeypatch, kinds=[PATH_SPEED] * 10, highest=0.95)
    made = retime(AXES, trajectory(), LIMITS, slower=True)
    expected = [1.0, 0.1]
    while 1.2 * expected[-1] <= 1.0:
        expected.append(np.sqrt(expected[-1]))  # between it and the one that failed
    assert lower.speeds == pytest.approx(expected) and made.speed == pytest.approx(expected[-1])


def test_between_a_speed_that_fails_and_one_that_does_not_others_are_tried(monkeypatch):
    attempts = Attempts(monkeypatch, kinds=[PATH_SPEED] * 10, highest=300.0)
    made = retime(AXES, trajectory(), LIMITS)
    # 10 and 100 succeed, 1000 fails; then the means by ratio: 316 fails, 178 and 237 succeed
    expected = [10.0, 100.0, 1000.0, 10**2.5, 10**2.25, 10**2.375]
    assert attempts.speeds == pytest.approx(expected) and made.speed == pytest.approx(10**2.375)


def test_the_first_speed_is_lowered_five_times_and_the_first_reason_is_given(monkeypatch):
    attempts = Attempts(monkeypatch, highest=2e-3)
    made = retime(AXES, trajectory(), LIMITS)
    assert attempts.speeds == pytest.approx([10.0, 1.0, 0.1, 0.01, 0.001]) and made.speed == pytest.approx(
        1e-3
    )
    none = Attempts(monkeypatch, highest=1e-4)
    with pytest.raises(TrajectoryError, match=r"^number 1$"):
        retime(AXES, trajectory(), LIMITS)
    assert len(none.speeds) == 5
    waypoints = Attempts(monkeypatch, highest=10.0)
    with pytest.raises(TrajectoryError, match=r"^number 1$"):
        retime(AXES, LINE, LIMITS)
    assert len(waypoints.speeds) == 1


def test_the_first_speed_that_is_solved_has_the_one_before_as_the_least_that_failed():
    def solved(speed):
        if speed > 0.5:
            raise TrajectoryError("too fast")
        return speed

    assert retiming._first(solved, 10.0) == pytest.approx((0.1, 0.1, 1.0))
    assert retiming._first(solved, 0.25) == (0.25, 0.25, np.inf)


def test_ends_have_the_squares_of_their_speeds(monkeypatch):
    attempts = Attempts(monkeypatch)
    retime(AXES, LINE, LIMITS, start_speed=0.3, end_speed=0.5)
    retime(AXES, LINE, LIMITS, end_speed=0)
    retime(AXES, trajectory([[0.1, 0.0], [0.0, 0.0]]), LIMITS)
    retime(AXES, trajectory([[0.0, 0.0], [0.0, -2e-9]]), LIMITS)
    retime(AXES, trajectory([[1e-9, -1e-9], [0.3, 0.0]]), LIMITS, end_speed=0.7)
    expected = [[0.09, 0.25], [0.0, 0.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, 0.49]]
    np.testing.assert_allclose(attempts.ends, expected)


def test_an_end_that_creeps_is_freed_where_no_motion_keeps_its_speed(monkeypatch):
    """0.005 of 4 rad/s and of 2 m/s."""
    creeping, moving = [0.019, -0.0099], [0.019, 0.011]
    for rates, given, freed in (
        ([creeping, moving], {}, [-1.0, 1.0]),
        ([moving, creeping], {}, [1.0, -1.0]),
        ([creeping, creeping], {}, [-1.0, -1.0]),
        ([creeping, creeping], {"start_speed": 1.0}, [1.0, -1.0]),
        ([creeping, creeping], {"end_speed": 1.0}, [-1.0, 1.0]),
    ):
        attempts = Attempts(monkeypatch, fails=lambda ends: ends == [1.0, 1.0])
        retime(AXES, trajectory(rates), LIMITS, **given)
        assert attempts.ends == [[1.0, 1.0], freed] and attempts.speeds == [10.0, 10.0]
    attempts = Attempts(monkeypatch, fails=lambda ends: True)
    with pytest.raises(TrajectoryError, match="number 1"):
        retime(AXES, trajectory([moving, moving]), LIMITS)
    assert attempts.ends == [[1.0, 1.0]] * 5
    slow = trajectory([[0.02, 0.01], [0.3, 0.0]])
    assert retiming._creeps(slow, 0, np.array([4.0, 2.0]))
    assert not retiming._creeps(slow, 1, np.array([4.0, 4.0]))
    assert not retiming._creeps(slow, 0, np.array([3.9, 2.0]))
    assert not retiming._creeps(slow, 0, np.array([np.inf, np.inf]))
    assert retiming._creeps(slow, 0, np.array([4.0, np.inf])) is False
    assert retiming._creeps(trajectory(), 0, np.array([np.inf, np.inf]))


def test_the_larger_share_of_the_load_counts(monkeypatch):
    attempts = Attempts(monkeypatch)
    law = replace(NO_FRICTION, load_friction=np.array([0.3, 0.1]))
    own = DrivenModel(AXES.chain, INERTIAS, np.zeros(2), law.matrix)
    for given in (0.0, 0.2, [0.1, 0.5], [0.2], 0):
        retime(own, LINE, LIMITS, load_friction=given)
    assert attempts.frictions == [[0.3, 0.1], [0.3, 0.2], [0.3, 0.5], [0.3, 0.2], [0.3, 0.1]]


@pytest.mark.parametrize("given", [1.0, -0.1, [0.1, 1.0], [0.1, -0.1], [0.1, 0.1, 0.1], OPEN, 1.5])
def test_shares_of_the_load_are_from_zero_to_below_one(given):
    with pytest.raises(ParameterError) as found:
        retime(AXES, LINE, LIMITS, load_friction=given)
    assert str(found.value) == (
        f"load_friction is {given}; give one share from 0 to below 1, or 2: one per joint"
    )


@pytest.mark.parametrize("intervals", [1, 200_001, -3])
def test_intervals_are_from_two_to_a_tenth_of_the_most_points(monkeypatch, intervals):
    with pytest.raises(ParameterError) as found:
        retime(AXES, LINE, LIMITS, intervals=intervals)
    assert str(found.value) == f"intervals is {intervals}; it must be from 2 to 200000"
    attempts = Attempts(monkeypatch)
    for allowed in (2, 200_000):
        retime(AXES, LINE, LIMITS, intervals=allowed)
    assert [given[3] for given in attempts.problems] == [2, 200_000]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"start_speed": -0.1}, "start_speed is -0.1; it must be a finite number, at least 0"),
        ({"end_speed": -2}, "end_speed is -2; it must be a finite number, at least 0"),
        ({"end_speed": np.inf}, "end_speed is inf; expected a finite number"),
        ({"slower": True}, "slower needs a trajectory: waypoints have no timing of their own"),
    ],
)
def test_arguments_that_cannot_be_are_refused(words, message):
    with pytest.raises(ParameterError) as found:
        retime(AXES, LINE, LIMITS, **words)
    assert str(found.value) == message
    for wrong in ({"slower": 1}, {"limits": 3.0}):
        with pytest.raises(WrongTypeError):
            retime(AXES, LINE, **{"limits": LIMITS, **wrong})


def moved(times, coefficients):
    return QuinticSpline(np.array(times, dtype=float), np.array(coefficients, dtype=float))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            moved([0, 1, 2], np.zeros((2, 6, 3))),
            "the path's coefficients have shape (2, 6, 3); expected (K, 6, 2)",
        ),
        (
            moved([0, 1, 2], np.zeros((2, 5, 2))),
            "the path's coefficients have shape (2, 5, 2); expected (K, 6, 2)",
        ),
        (moved([0], np.zeros((0, 6, 2))), "the path's coefficients have shape (0, 6, 2); expected (K, 6, 2)"),
        (moved([0, 1, 2], LINES * OPEN), "the path has coefficients or times that are not finite"),
        (moved([0, 1, np.inf], LINES), "the path has coefficients or times that are not finite"),
        (moved([0, 1, 1], LINES), "the path's times must increase strictly"),
        (moved([0, 2, 1], LINES), "the path's times must increase strictly"),
        (
            moved([0, 1, 2], [np.eye(6, 2) * np.eye(6, 1)] * 2),
            "the path stands still: there is nothing to retime",
        ),
        ([[1.0, 2.0]], "the path has 1 point; it needs at least two"),
        ([[1.0], [2.0]], "path has shape (2, 1); expected (K, 2): K points of n joints"),
        ([[1, 2, 3]] * 2, "path has shape (2, 3); expected (K, 2): K points of n joints"),
        ([1.0, 2.0], "path has shape (2,); expected (K, 2): K points of n joints"),
        ([[0, 1], [2, 3], [2, OPEN]], "point 2 of the path: 'lift' is nan, not finite"),
        ([[0, 1], [2, 3], [2, 3], [4, 4]], "points 1 and 2 of the path are the same: leave one out"),
        ([[0, 1], [2, 3], [2 + 2e-9, 3], [4, 4]], "points 1 and 2 of the path are the same: leave one out"),
        ([[5.0, 1.0], [5.0, 1.0]], "points 0 and 1 of the path are the same: leave one out"),
    ],
)
def test_paths_that_are_none_are_refused(path, message):
    with pytest.raises(TrajectoryError) as found:
        retime(AXES, path, LIMITS)
    assert str(found.value) == message


def test_a_path_through_points_has_the_length_of_the_lines_as_its_parameter():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0], [9.0, -3.0]])
    path = through(points, ("a", "b"))
    np.testing.assert_allclose(path.times, [0.0, 5.0 / 16.0, 6.0 / 16.0, 1.0])
    slopes, bends = np.full((4, 2), OPEN), np.full((4, 2), OPEN)
    slopes[0], slopes[-1] = 16.0 * np.array([0.6, 0.8]), 16.0 * np.array([0.6, -0.8])
    bends[0] = bends[-1] = 0.0
    expected = waypoint_spline(path.times, points, slopes, bends)
    np.testing.assert_allclose(path.coefficients, expected.coefficients, atol=1e-9)
    small = through(1e-200 * points, ("a", "b"))
    np.testing.assert_allclose(small.times, path.times)
    two = through(points[:2], ("a", "b"))
    np.testing.assert_allclose(two.coefficients[0, 1], [3.0, 4.0])
    assert np.abs(two.coefficients[0, 2:]).max() < 1e-12


CODES = SimpleNamespace(
    RD_RETIMED=0, RD_NO_MEMORY=1, RD_NOT_FINITE=2, RD_RATE=9, RD_BEYOND=4, RD_START=5, RD_END=6, RD_BY_RATE=4
)  # fmt: skip
WEAK = "no motion was found that keeps the limits of the effort's rate: "


@pytest.mark.parametrize(
    ("code", "given", "message"),
    [
        (1, {}, "the path has too many points for this computer's memory"),
        (2, {}, "efforts along the path are not finite: its numbers are too large"),
        (
            4,
            {},
            "no motion was found that keeps the limits at s = 0.25: the path bends too sharply there for 123"
            " intervals; give more intervals, or a smoother path",
        ),
        (5, {}, "the path starts with the speed -7.5 along it; at most 2.5 can be kept within the limits"),
        (
            5,
            {"failed_limit": -2.5},
            "the path starts with the speed -7.5 along it; at least 2.5 can be kept within the limits",
        ),
        (
            5,
            {"failed_limit": 0.0},
            "the path starts with the speed -7.5 along it; at most 0 can be kept within the limits",
        ),
        (
            5,
            {"failed_limit": -0.5},
            "the path starts with the speed -7.5 along it; at least 0.5 can be kept within the limits",
        ),
        (6, {}, "the path ends with the speed -7.5 along it; the limits allow 2.5"),
        (7, {}, "lift cannot hold its weight and overcome its friction at s = 0.25: 7.5 N of 2.5"),
        (
            7,
            {"failed_joint": 0},
            "turn cannot hold its weight and overcome its friction at s = 0.25: 7.5 N·m of 2.5",
        ),
        (
            7,
            {"failed_joint": -1},
            "no motion passes s = 0.25 of the path within the limits, although each joint could hold its"
            " weight there: the path is too curved, or an acceleration limit too small",
        ),
        (9, {"failed_joint": -1}, WEAK + "the limits are too small"),
        (9, {"failed_kind": 0}, WEAK + "lift cannot pass s = 0.25 slowly: -7.5 N of 2.5"),
        (9, {}, WEAK + "the effort of lift changes by -7.5 N/s at s = 0.25, 2.5 are allowed"),
        (
            4,
            {"rate": 1, "failed_joint": 0},
            WEAK + "the effort of turn changes by -7.5 N·m/s at s = 0.25, 2.5 are allowed;"
            " the path starts or ends too fast",
        ),
        (
            4,
            {"rate": 1, "failed_kind": 1},
            "no motion was found that keeps the limits at s = 0.25: the path bends too sharply there for 123"
            " intervals; give more intervals, or a smoother path",
        ),
    ],
)
def test_reasons_name_the_joint_the_place_and_the_effort(code, given, message):
    usual = {
        "failed_at": 3.5,
        "failed_value": -7.5,
        "failed_limit": 2.5,
        "failed_joint": 1,
        "failed_kind": 4,
        "rate": 0,
    }
    problem = retiming._Problem(AXES, trajectory(), LIMITS.arrays(AXES.chain), 123)
    assert problem._reason(SimpleNamespace(**(usual | given)), code, CODES) == message


@pytest.mark.parametrize(
    ("segments", "least", "capacity"),
    [
        (2, 6, 12 * (500 + 14) + 64),
        (2000, 6, 12 * (500 + 14_000) + 64),
        (2001, 5, 12 * (500 + 6 * 2001) + 64),
        (15_000, 1, 12 * (500 + 30_000) + 64),
    ],
)
def test_arrays_have_room_for_the_intervals_of_all_segments(segments, least, capacity):
    path = QuinticSpline(np.arange(segments + 1.0), np.zeros((segments, 6, 2)))
    problem = retiming._Problem(AXES, path, LIMITS.arrays(AXES.chain), 500)
    assert (problem.least, problem.capacity, problem.joints, problem.variant) == (least, capacity, 2, 0)
    assert problem.rows.shape == (6, capacity + 3, 2)
    assert problem.columns.shape == (5, capacity) and problem.codes.shape == (2, capacity)
    np.testing.assert_array_equal(problem.friction, AXES.friction)
    np.testing.assert_array_equal(AXES.load_friction, [0.0, 0.0])


def test_the_computation_has_an_array_of_its_own_for_each_row_and_its_bounds():
    """The pointers of the problem, by their distances; the counts by their names in the header."""
    seen, path = {}, trajectory()
    problem = retiming._Problem(AXES, path, PathLimits(effort_rate=[4.0, np.inf]).arrays(AXES.chain), 123)
    problem.variant = 2
    problem.friction = np.arange(0.5, 0.5 + NO_FRICTION.matrix.size).reshape(2, -1)
    counts = ("joints", "segments", "variant", "start", "end", "cap", "intervals", "least", "rounds")
    library = SimpleNamespace(**vars(CODES))

    def computed(given):
        rows, columns = problem.rows[0].size, problem.capacity
        for name in (*counts, "capacity", "refinements", "solutions"):
            seen[name] = getattr(given, name)
        assert [getattr(given, name) - given.q for name in ("qp", "qpp", "a", "b", "c")] == [
            rows * k for k in range(1, 6)
        ]
        assert [getattr(given, name) - given.s for name in ("x", "share", "u", "h")] == [
            columns * k for k in range(1, 5)
        ]
        assert given.joint - given.kind == columns
        for name, values in (
            ("q", problem.rows), ("s", problem.columns), ("kind", problem.codes), ("knots", path.times),
            ("coefficients", path.coefficients), ("rate", np.array([4.0, np.inf])),
            ("velocity", np.full(2, np.inf)), ("friction", problem.friction),
        ):  # fmt: skip
            found = bytes(retiming.ffi().buffer(getattr(given, name), values.nbytes))
            assert found == values.tobytes(), name
        return CODES.RD_NO_MEMORY

    library.rd_retime = computed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retiming, "load_retiming", lambda: library)
        with pytest.raises(TrajectoryError, match="too many points for this computer"):
            problem.solve([0.25, 0.5], 9.0)
    assert [seen[name] for name in counts] == [2, 3, 2, 0.25, 0.5, 9.0, 123, 6, 100]
    assert (seen["capacity"], seen["refinements"], seen["solutions"]) == (problem.capacity, 10, 18)


def test_one_share_of_the_load_is_for_all_and_a_constant_speed_is_no_rest(monkeypatch):
    assert retiming._load_friction(0.2, 3).tolist() == [0.2]
    assert retiming._load_friction([0.1, 0.2, 0.3], 3).tolist() == [0.1, 0.2, 0.3]
    attempts = Attempts(monkeypatch)
    steady = np.zeros((1, 6, 2))
    steady[0, 1] = (0.5, 0.25)
    retime(AXES, QuinticSpline(np.array([0.0, 1.0]), steady), LIMITS)
    assert attempts.ends == [[1.0, 1.0]]


def test_arrays_have_two_million_points_at_most():
    path = QuinticSpline(np.arange(41.0), np.zeros((40, 6, 2)))
    assert retiming._Problem(AXES, path, LIMITS.arrays(AXES.chain), 200_000).capacity == 2_000_160
