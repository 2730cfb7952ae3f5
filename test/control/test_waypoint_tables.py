"""Waypoints as a user gives them: the table that they make, and the words about each that makes none."""

import inspect
import re

import numpy as np
import pytest

from robot_dynamics.control import waypoints
from robot_dynamics.control.waypoints import (
    SHORTEST_SEGMENT,
    Waypoint,
    WaypointTable,
    check_count,
    check_finite,
    check_lengths,
    check_times,
    joint_order,
    tabulate,
    waypoints_ahead,
)
from robot_dynamics.errors import TrajectoryError, WrongTypeError

NAMES = ("a", "b", "c")
NAN = np.nan
P = (0.5, -1.5, 2.5)


def refused(call, *given, error=TrajectoryError):
    with pytest.raises(error) as told:
        call(*given)
    return str(told.value)


def test_points_become_rows_and_what_they_leave_open_is_not_a_number():
    points = [
        Waypoint(0.5, P, [1.0, 2.0, 3.0]),
        Waypoint(1.25, np.array(P) + 1.0, accelerations=(4.0, 5.0, 6.0)),
        Waypoint(2.0, [7.0, 8.0, 9.0]),
    ]
    table = tabulate(points, NAMES)
    assert table.times.tolist() == [0.5, 1.25, 2.0]
    assert table.positions.tolist() == [[*P], [1.5, -0.5, 3.5], [7.0, 8.0, 9.0]]
    np.testing.assert_array_equal(table.velocities, [[1.0, 2.0, 3.0], [NAN] * 3, [NAN] * 3])
    np.testing.assert_array_equal(table.accelerations, [[NAN] * 3, [4.0, 5.0, 6.0], [NAN] * 3])
    assert (Waypoint(1.0, P).velocities, Waypoint(1.0, P).accelerations) == ((), ())
    ordered = table.in_order([2, 0])
    assert ordered.positions.tolist() == [[2.5, 0.5], [3.5, 1.5], [9.0, 7.0]]
    np.testing.assert_array_equal(ordered.velocities[0], [3.0, 1.0])
    np.testing.assert_array_equal(ordered.accelerations[1], [6.0, 4.0])
    chosen = table.where(np.array([False, True, True]))
    assert chosen.times.tolist() == [1.25, 2.0] and chosen.positions[0].tolist() == [1.5, -0.5, 3.5]
    np.testing.assert_array_equal(chosen.velocities, [[NAN] * 3] * 2)
    np.testing.assert_array_equal(chosen.accelerations[0], [4.0, 5.0, 6.0])
    assert ordered.times is table.times and tabulate([Waypoint(1, [2])], "x").positions.tolist() == [[2.0]]


class Lazy(list):
    """A list of a kind of its own."""


def test_lists_of_any_kind_are_kept_as_lists_and_others_refused_at_once():
    made = Waypoint(1.0, range(3), Lazy([1.0, 2.0]), accelerations=np.array([0.5]))
    assert made.positions == [0, 1, 2] and type(made.velocities) is list
    kept = [1.0, 2.0]
    assert Waypoint(1.0, kept).positions is kept and type(Waypoint(1.0, tuple(kept)).positions) is tuple
    for field in ("positions", "velocities", "accelerations"):
        given = {"positions": P} | {field: 5.0}
        assert refused(lambda given=given: Waypoint(1.0, **given)).startswith(
            f"{field} of a Waypoint is 5.0; it must be a sequence of at most 100000 entries"
        )
    assert refused(lambda: Waypoint("soon", P)).startswith("time of a Waypoint")
    assert Waypoint(1, P).time == 1 and Waypoint(np.float64(2.0), P).time == 2.0
    assert refused(lambda: Waypoint(None, P)).startswith("time of a Waypoint")


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([], "0 waypoints; 1 to 100000 are accepted"),
        ([Waypoint(1.0, P), Waypoint(2.0, P[:2])], "waypoint 1 has 2 positions for 3 joints"),
        ([Waypoint(1.0, P), Waypoint(2.0, ())], "waypoint 1 has 0 positions for 3 joints"),
        ([Waypoint(1.0, P, P[:1])], "waypoint 0 has 1 velocities for 3 joints"),
        ([Waypoint(1.0, P), Waypoint(1.0, P, (), (*P, 1.0))], "waypoint 1 has 4 accelerations for 3 joints"),
        (
            [Waypoint(1.0, P), Waypoint(2.0, (0.0, NAN, 1.0))],
            "waypoint 1: positions of joint 'b' is nan, not finite",
        ),
        ([Waypoint(1.0, P, (0.0, 1.0, -np.inf))], "waypoint 0: velocities of joint 'c' is -inf, not finite"),
        (
            [Waypoint(1.0, P, P, (np.inf, NAN, 0.0))],
            "waypoint 0: accelerations of joint 'a' is inf, not finite",
        ),
        ([Waypoint(1.0, [P, P, P])], "positions of the waypoints: each must be one number a joint"),
        (
            [Waypoint(1.0, [[1.0]] * 3)],
            "positions of the waypoints: each must be one number a joint",
        ),
    ],
)
def test_points_that_make_no_table_are_named(points, words):
    assert refused(tabulate, points, NAMES) == words


def altered(**fields):
    """A waypoint whose fields were changed after its checks."""
    made = Waypoint(1.0, P)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize("value", ["abc", b"abc", 5.0, np.array(5.0), None])
def test_a_field_that_is_no_list_is_named_with_its_waypoint(value):
    points = [Waypoint(1.0, P), altered(velocities=value)]
    words = refused(tabulate, points, NAMES)
    assert re.fullmatch(r"waypoint 1: velocities is .*; it must be a list of numbers", words)
    with pytest.raises(WrongTypeError):
        tabulate(points, NAMES)


def test_times_are_one_number_each_and_points_are_waypoints():
    words = refused(tabulate, [altered(time=[1.0, 2.0]), altered(time=[1.0, 2.0])], NAMES)
    assert words == "time of the waypoints: each must be one number"
    assert "a waypoint is 7; it must be a Waypoint" in refused(
        tabulate, [Waypoint(1.0, P), 7], NAMES, error=WrongTypeError
    )
    assert "waypoints is 7" in refused(tabulate, 7, NAMES, error=WrongTypeError)
    many = [Waypoint(1.0, P)] * 100_001
    assert refused(tabulate, many, NAMES) == "100001 waypoints; 1 to 100000 are accepted"
    assert "at most 1000000 entries" in refused(tabulate, [None] * 1_000_001, NAMES)


def test_counts_and_lengths_have_their_bounds():
    for count in (1, 2, 99_999, 100_000):
        check_count(count)
    for count in (0, -1, 100_001):
        assert refused(check_count, count) == f"{count} waypoints; 1 to 100000 are accepted"
    check_lengths(np.array([2, 2]), "positions", 2)
    check_lengths(np.array([2, 0]), "velocities", 2)
    assert (
        refused(check_lengths, np.array([2, 0, 1]), "positions", 2)
        == "waypoint 1 has 0 positions for 2 joints"
    )
    assert (
        refused(check_lengths, np.array([2, 0, 1]), "velocities", 2)
        == "waypoint 2 has 1 velocities for 2 joints"
    )
    assert refused(check_lengths, np.array([3]), "positions", 2) == "waypoint 0 has 3 positions for 2 joints"


def test_open_rows_need_not_be_finite():
    rows = np.array([[NAN, NAN], [1.0, 2.0], [3.0, NAN]])
    check_finite(rows, np.array([0, 2, 0]), "velocities", ("a", "b"))
    words = "waypoint 2: velocities of joint 'b' is nan, not finite"
    assert refused(check_finite, rows, np.array([0, 2, 2]), "velocities", ("a", "b")) == words
    words = "waypoint 0: velocities of joint 'a' is nan, not finite"
    assert refused(check_finite, rows, np.array([1, 2, 2]), "velocities", ("a", "b")) == words


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([], "0 waypoints; 1 to 100000 are accepted"),
        ([1.0, NAN, np.inf], "time_from_start of waypoint 1 is nan s, not finite"),
        ([-0.25, 1.0], "time_from_start of the first waypoint is -0.25; it must not be negative"),
        (
            [0.5, 1.0, 2.5, 2.5, 2.0],
            "time_from_start of waypoint 3 (2.5 s) is not later than that of waypoint 2 (2.5 s); times must"
            " increase strictly",
        ),
        (
            [0.0, 3.0, 2.0, 4.0],
            "time_from_start of waypoint 2 (2.0 s) is not later than that of waypoint 1 (3.0 s); times must"
            " increase strictly",
        ),
    ],
)
def test_times_that_do_not_increase_are_named(times, words):
    assert refused(check_times, np.array(times)) == words


def test_times_may_begin_at_zero_and_be_near_each_other():
    for times in ([0.0], [0.0, 1e-12, 0.5], [0.25, 0.75, 1.75], [3.0, 3.5]):
        check_times(np.array(times))


def test_waypoints_less_than_a_microsecond_ahead_are_skipped():
    times = np.array([0.0, 1.0, 1.0 + 0.9e-6, 1.0 + 1.2e-6, 2.0])
    assert waypoints_ahead(times, 4.0, 5.0, 4.5).tolist() == [False, False, False, True, True]
    assert waypoints_ahead(times, 8.0, 8.0, 4.5).tolist() == [False, True, True, True, True]
    assert SHORTEST_SEGMENT == 1e-6
    words = "every waypoint lies in the past: the last one is due at 6.000 s, the clock says 6.125 s"
    assert refused(waypoints_ahead, np.array([1.0, 2.0]), 4.0, 7.0, 6.125) == words


def test_joints_are_found_in_any_order_and_each_once():
    assert joint_order(NAMES, ["c", "a", "b"]) == [1, 2, 0]
    assert joint_order(["b"], np.array(["b"])) == [0]
    once = "; a trajectory must name each of ['a', 'b', 'c'] once"
    assert refused(joint_order, NAMES, ["c", "z", "b", "y"]) == "unknown joint names ['y', 'z']" + once
    assert refused(joint_order, NAMES, ["b"]) == "missing joint names ['a', 'c']" + once
    assert (
        refused(joint_order, NAMES, ["c", "a", "b", "c", "a", "a"])
        == "repeated joint names ['a', 'c']" + once
    )
    assert refused(joint_order, NAMES, ["a", 3, "b"]).startswith(
        "joint_names is ['a', 3, 'b']; it must be a list of texts"
    )
    with pytest.raises(WrongTypeError):
        joint_order(NAMES, ["a", None, "b"])
    assert "joint_names is 'abc'" in refused(joint_order, NAMES, "abc")


@pytest.mark.parametrize("count", [4, 5, 6, 39, 40, 41])
def test_long_lists_of_names_are_quoted_in_part(count):
    """Five of those at fault, forty of those that are needed."""
    names = [f"j{k:02}" for k in range(count)]
    words = refused(joint_order, names, [])
    missing = f"{names[:5]}" + (f" and {count - 5} more" if count > 5 else "")
    needed = f"{names[:40]}" + (f" and {count - 40} more" if count > 40 else "")
    assert words == f"missing joint names {missing}; a trajectory must name each of {needed} once"


def test_the_longest_trajectory_is_what_the_words_say():
    assert waypoints.LONGEST_TRAJECTORY == 100_000
    assert list(inspect.signature(WaypointTable).parameters) == [
        "times",
        "positions",
        "velocities",
        "accelerations",
    ]
    listed = [f"n{k}" for k in range(100_001)]
    assert "at most 100000 entries" in refused(joint_order, NAMES, listed)
    assert refused(joint_order, listed[:-1], listed[:-2]).startswith("missing joint names ['n99999'];")
