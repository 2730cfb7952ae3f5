"""Paths of some joints beside those of others: their order in time, their polynomials, and where they end."""

from types import SimpleNamespace

import numpy as np
import pytest
from smooth_paths import smooth_path

from robot_dynamics.control.arm.side_by_side import SHORTEST, Ahead, _between, ahead_of, beside
from robot_dynamics.control.arm.trajectory import Trajectory
from robot_dynamics.control.spline import QuinticSpline

EPS = 1e-7


def spline(start, end, seed=0, knots=3):
    """A smooth path from rest to rest."""
    times = np.linspace(start, end, knots)
    return smooth_path(times, np.random.default_rng(seed).normal(size=(knots, 3)))


def wild(times, seed=0, joints=2):
    """Polynomials that do not fit together."""
    return QuinticSpline(
        np.array(times), np.random.default_rng(seed).normal(size=(len(times) - 1, 6, joints))
    )


def trajectory(start, end, seed=0, **more):
    return Trajectory(spline(start, end, seed), **more)


def test_what_is_followed_begins_with_the_newest_and_ends_where_it_began_before():
    first, second, third = trajectory(0.0, 3.0), trajectory(2.0, 5.0), trajectory(4.0, 9.0)
    queue = [third, second, first]
    for start, expected in (
        (1.0, queue),
        (2.0, queue[:2]),
        (3.5, queue[:2]),
        (4.0, queue[:1]),
        (8.9, queue[:1]),
    ):
        found = ahead_of(queue, start)
        assert found.trajectories == tuple(reversed(expected))
        assert found.since == tuple(one.start for one in reversed(expected))
        assert found.end == 9.0
    assert ahead_of(queue, 9.0) is None and ahead_of(queue, 10.0) is None and ahead_of([], 1.0) is None
    assert ahead_of(queue, -1.0).trajectories == (first, second, third)
    # One that was to begin no sooner than its successor never counts.
    late, same = trajectory(4.5, 20.0), trajectory(4.0, 20.0)
    for never in (late, same):
        found = ahead_of([third, never, second, first], 2.5)
        assert found.trajectories == (second, third) and found.since == (2.0, 4.0)
    # The last one decides whether anything moves on.
    assert ahead_of([trajectory(1.0, 2.0), trajectory(0.0, 50.0)], 2.0) is None


def moving(joints, until, carried=()):
    """A trajectory of some joints that arrive at a time."""
    return SimpleNamespace(joints=joints, arrival=until, carried=carried, end=until)


def test_trajectories_go_on_whole_where_nothing_replaces_them_and_no_joint_is_shared():
    inner = moving((4,), 6.0)
    gone = moving((2,), 2.5)
    whole = moving((), 8.0)
    first = moving((0, 1), 3.0, (gone, inner))
    last = moving((3,), 7.0, (moving((0,), 5.0),))
    ahead = Ahead((0.0, 4.0), (first, last))
    assert ahead.going_on((9,), 2.0) == (first, gone, last, last.carried[0])
    assert ahead.going_on((9,), 2.5) == (first, last, last.carried[0])
    assert ahead.going_on((9,), 3.0) == (last, last.carried[0])
    assert ahead.going_on((1, 9), 2.0) == (gone, last, last.carried[0])
    assert ahead.going_on((0,), 2.0) == (gone, last)
    assert ahead.going_on((3, 9), 6.9) == () and ahead.going_on((9,), 6.9) == (last,)
    assert ahead.going_on((9,), 7.0) == ()
    assert Ahead((0.0, 3.0), (first, last)).going_on((9,), 2.0)[0] is first  # it arrives just in time
    assert Ahead((0.0, 2.9), (first, last)).going_on((9,), 2.0) == (gone, last, last.carried[0])
    assert Ahead((0.0,), (whole,)).going_on((9,), 2.0) == ()


def test_knots_are_those_of_each_trajectory_while_it_counts_and_its_begin():
    first, second = Trajectory(wild([0.0, 1.0, 2.0, 3.0])), Trajectory(wild([1.5, 2.5, 3.5, 4.5]))
    ahead = Ahead((0.0, 2.0), (first, second))
    assert sorted(ahead.knots(-1.0)) == [0.0, 0.0, 1.0, 2.0, 2.0, 2.5, 3.5, 4.5]
    assert sorted(ahead.knots(0.5)) == [1.0, 2.0, 2.0, 2.5, 3.5, 4.5]
    assert sorted(ahead.knots(1.0)) == [2.0, 2.0, 2.5, 3.5, 4.5]
    assert sorted(ahead.knots(3.0)) == [3.5, 4.5]


def values(polynomials, share):
    return np.einsum("p,pn->n", share ** np.arange(6), polynomials)


@pytest.mark.parametrize("joints", [1, 3])
def test_a_part_of_a_polynomial_is_the_same_polynomial(joints):
    given = wild([2.0, 3.0, 5.0], 4, joints)
    begins, ends = np.array([2.0, 2.25, 3.5, 3.0, 4.9]), np.array([2.25, 3.0, 4.75, 5.0, 5.0])
    found = _between(given, begins, ends)
    assert found.shape == (5, 6, joints)
    for k, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        for share in (0.0, 0.3, 0.8, 1.0):
            time = begin + share * (end - begin)
            piece = 0 if 0.5 * (begin + end) < 3.0 else 1
            s = (time - given.times[piece]) / (given.times[piece + 1] - given.times[piece])
            np.testing.assert_allclose(
                values(found[k], share), values(given.coefficients[piece], s), rtol=1e-12, atol=1e-12
            )
    outside = _between(given, np.array([0.0, 5.0, 6.0]), np.array([2.0, 6.0, 7.5]))
    for row, place in zip(
        outside, (given.coefficients[0, 0], *[given.coefficients[1].sum(axis=0)] * 2), strict=True
    ):
        np.testing.assert_allclose(row[0], place, rtol=1e-12)
        assert not row[1:].any()


def test_pieces_are_those_of_the_trajectory_that_counts_then():
    first, second = Trajectory(wild([0.0, 1.0, 3.0], 1)), Trajectory(wild([2.0, 4.0], 2))
    ahead = Ahead((0.0, 2.0), (first, second))
    times = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
    found = ahead.segments(times)
    assert found.shape == (7, 6, 2)
    for k, (one, time) in enumerate(
        [(first, -0.5), (first, 0.25), (first, 0.75), (first, 1.5), (second, 2.5), (second, 3.5)]
    ):
        np.testing.assert_allclose(values(found[k], 0.5), one.spline.sample(time)[0], rtol=1e-12)
    np.testing.assert_allclose(found[6, 0], second.spline.sample(4.0)[0], rtol=1e-12)


def test_the_whole_path_has_each_joint_where_it_belongs():
    """Before and after: in values and first derivatives at random times of every piece."""
    first, second = trajectory(0.0, 2.5, 1), trajectory(2.0, 6.0, 2)
    ahead, own = Ahead((0.0, 2.0), (first, second)), spline(1.0, 4.0, 3, 4)
    whole = beside(own, (2, 0), ahead)
    assert (whole.times[0], whole.times[-1]) == (1.0, 6.0)
    np.testing.assert_allclose(whole.times, [1.0, 1.25, 2.0, 3.0, 4.0, 6.0])
    for time in np.random.default_rng(7).uniform(1.0, 6.0, 60).tolist():
        other = (first if time < 2.0 else second).spline.sample(time)
        for k, (rows, mine, others) in enumerate(
            zip(whole.sample(time), own.sample(time), other, strict=True)
        ):
            mine = mine if time < 4.0 or k == 0 else 0.0 * mine
            np.testing.assert_allclose(rows[[0, 2]], mine[[0, 2]], atol=1e-9)
            np.testing.assert_allclose(rows[1], others[1], atol=1e-9)
    shorter = beside(spline(1.0, 9.0, 3), (0,), ahead)
    assert shorter.times[-1] == 9.0
    np.testing.assert_allclose(shorter.sample(8.0)[0][1:], second.spline.sample(6.0)[0][1:], atol=1e-12)


@pytest.mark.parametrize(("gap", "kept"), [(0.99 * SHORTEST, False), (1.01 * SHORTEST, True), (0.0, False)])
def test_pieces_that_are_too_short_are_left_to_the_one_before(gap, kept):
    other = Trajectory(wild([0.0, 1.0, 2.0, 3.0], 1))
    for knot, expected in ((1.0 + gap, 1.0), (2.0 - gap, 2.0)):
        own = wild([0.5, knot, 5.0], 2)
        times = beside(own, (0,), Ahead((0.0,), (other,))).times
        inside = sorted({1.0, 2.0, 3.0} | {knot})
        if not kept and gap:
            inside.remove(max(knot, expected))
        np.testing.assert_allclose(times, [0.5, *inside, 5.0], atol=1e-12)
    # Also before the end: there the end stays.
    own = wild([0.5, 3.0 + gap], 2)
    times = beside(own, (0,), Ahead((0.0,), (other,))).times
    expected = [0.5, 1.0, 2.0, *([3.0] if kept else []), 3.0 + gap]
    np.testing.assert_allclose(times, expected, atol=1e-12)


def test_the_shortest_piece_is_ten_microseconds():
    assert SHORTEST == 1e-5
    started = Trajectory(wild([0.0, 2.0], 1))
    times = beside(wild([1.0, 1.0 + 1e-5 + EPS, 2.0]), (0,), Ahead((0.0,), (started,))).times
    assert len(times) == 3
