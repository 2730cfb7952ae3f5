"""Samples of efforts along a path: their error, how intervals are halved, and friction that builds up."""

import inspect
import math
from itertools import pairwise

import numpy as np
import pytest
from arms import Pendulum, two_joint_chain
from smooth_paths import smooth_path

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.sampling import (
    BuiltUp,
    BuiltUpNow,
    _check_can_split,
    _first_points,
    _interval_errors,
    _roots_inside,
    built_up,
    sample_efforts,
)
from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import TrajectoryError

SCALE = np.array([0.9, 0.3])


class Waves:
    """Efforts that bend with both joints."""

    def inverse_dynamics(self, q, v, a, heading=None):
        return np.stack(
            [np.sin(7.0 * q[..., 0]) + 0.2 * a[..., 1], 4.0 * q[..., 1] ** 2 + v[..., 0]], axis=-1
        )


def path(seed=1, knots=4, start=3.0):
    random = np.random.default_rng(seed)
    times = start + np.concatenate([[0.0], np.cumsum(np.round(random.uniform(0.4, 0.9, knots - 1), 3))])
    return smooth_path(times, random.normal(size=(knots, 2)) * SCALE)


def probed(spline, dynamics, begin, end, built=None):
    """Largest error at eight equal parts of an interval, and an eighth of the second difference besides."""
    times = np.array([begin + (end - begin) * k / 8.0 for k in range(9)])
    q, v, a = spline.at(times)
    effort = dynamics.inverse_dynamics(q, v, a) + (0.0 if built is None else built.efforts(times, v))
    worst, bent = np.zeros(2), np.zeros(2)
    for k in range(1, 8):
        line = effort[0] + (effort[8] - effort[0]) * k / 8.0
        worst = np.maximum(worst, np.abs(effort[k] - line))
        bent = np.maximum(bent, np.abs(effort[k - 1] - 2.0 * effort[k] + effort[k + 1]))
    return worst + bent / 8.0


LAW = DriveFriction(
    *(np.array(x) for x in ((0.0, 0.0), (2.0, 3.0), (2.0, 3.0), (0.1, 0.1), (0.0, 0.0), (0.0, 0.0))),
    presliding_friction=np.array([1.2, 0.7]), presliding_travel=np.array([0.03, 0.08]),
)  # fmt: skip


@pytest.mark.parametrize("with_friction", [False, True])
def test_the_error_of_an_interval_is_that_of_its_probes_and_of_what_is_between(with_friction):
    spline = path()
    built = BuiltUp(spline, LAW, np.array([0.4, -0.9])) if with_friction else None
    begin, end = np.array([3.05, 3.3, 4.1]), np.array([3.25, 3.32, 4.6])
    found = _interval_errors(spline, Waves(), built, begin, end)
    expected = [probed(spline, Waves(), *ends, built) for ends in zip(begin, end, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("with_friction", [False, True])
@pytest.mark.parametrize("tolerance", [(0.02, 0.3), (0.4, 0.01), (0.05, 0.05)])
def test_intervals_are_halved_where_a_joint_has_more_than_its_tolerance(tolerance, with_friction):
    """The same tree of halves by recursion."""
    spline = path(2)
    built = BuiltUp(spline, LAW, np.array([0.4, -0.9])) if with_friction else None
    tolerance = np.array(tolerance) * (4.0 if with_friction else 1.0)

    def halved(begin, end):
        error = probed(spline, Waves(), begin, end, built)
        if (error <= tolerance).all():
            return [begin], error
        middle = round((0.5 * (begin + end) - 3.0) * 1e9) * 1e-9 + 3.0
        (left, one), (right, other) = halved(begin, middle), halved(middle, end)
        return left + right, np.maximum(one, other)

    first = _first_points(spline)
    trees = [halved(*ends) for ends in pairwise(first.tolist())]
    found = sample_efforts(spline, Waves(), tolerance, built=built)
    times = np.array([time for tree, _ in trees for time in tree] + [first[-1]])
    assert len(times) > len(first)
    np.testing.assert_allclose(found.times, times, atol=1e-12)
    np.testing.assert_allclose(found.error, np.max([error for _, error in trees], axis=0), rtol=1e-9)
    assert (found.error <= tolerance).all()
    rows = spline.at(found.times)
    for given, expected in zip((found.positions, found.velocities, found.accelerations), rows, strict=True):
        np.testing.assert_array_equal(given, expected)
    efforts = Waves().inverse_dynamics(*rows)
    if built is not None:
        efforts = efforts + built.efforts(found.times, rows[1])
    np.testing.assert_allclose(found.efforts, efforts, rtol=1e-12)


def test_times_are_whole_nanoseconds_after_the_start():
    spline = path(4, start=1234.5678901234)
    spline.times[1:-1] += [2.71e-10, -3.14e-10]
    found = sample_efforts(spline, Waves(), np.array([0.01, 0.01]))
    since = (found.times - spline.times[0]) * 1e9
    np.testing.assert_allclose(since, np.round(since), atol=1e-3)
    assert found.times[0] == spline.times[0] and abs(found.times[-1] - spline.times[-1]) < 1e-9
    assert found.times[-1] <= spline.times[-1]
    for knot in spline.times:
        assert np.abs(found.times - knot).min() < 1e-9
    odd = QuinticSpline(np.array([0.0, 0.3000000007]), spline.coefficients[:1])
    assert _first_points(odd)[-1] == pytest.approx(0.300000001, abs=1e-12)
    short = QuinticSpline(np.array([0.0, 0.3000000004]), spline.coefficients[:1])
    assert _first_points(short)[-1] == pytest.approx(0.3, abs=1e-12)


def test_a_path_has_fifty_thousand_points_at_most():
    assert inspect.signature(sample_efforts).parameters["most_points"].default == 50_000


def test_points_nearer_than_twenty_microseconds_are_one():
    """A turning point just after a knot, and one a little farther away."""
    for turn, kept in ((1.5e-5, False), (2.5e-5, True)):
        coefficients = np.zeros((1, 6, 1))
        coefficients[0, :3, 0] = [0.0, -2.0 * turn, 1.0]  # (s - turn)²
        found = _first_points(QuinticSpline(np.array([0.0, 1.0]), coefficients * 0.1))
        assert (len(found), found[0], found[-1]) == (3 if kept else 2, 0.0, 1.0)
        assert not kept or found[1] == pytest.approx(turn, abs=1e-9)


@pytest.mark.parametrize(
    ("roots", "inside"),
    [
        ([0.25, 0.75, 1.5], [0.25, 0.75]),
        ([-0.3, 0.1, 0.999, 1.001], [0.1, 0.999]),
        ([0.0, 1.0, 0.6], [0.6]),
        ([0.5, 0.5], [0.5, 0.5]),
        ([2.0], []),
        ([0.3 + 1e-3j, 0.3 - 1e-3j, 0.4], [0.4]),
    ],
)
def test_real_roots_within_an_interval(roots, inside):
    polynomial = np.real(np.polynomial.polynomial.polyfromroots(roots)) * 3.0
    if 0.0 in roots:
        polynomial[0] = 0.0
    for tail in ([], [0.0], [1e-14], [1e-310]):  # a leading coefficient of rounding is none
        found = np.sort(_roots_inside(np.array([*polynomial, *tail])))
        np.testing.assert_allclose(found, inside, atol=1e-6)
    assert _roots_inside(np.zeros(4)).shape == (0,)
    small = np.sort(_roots_inside(1e-9 * polynomial))
    np.testing.assert_allclose(small, inside, atol=1e-6)


def test_a_joint_that_moves_far_is_cut_into_parts_of_a_quarter():
    coefficients = np.zeros((2, 6, 2))
    coefficients[:, 1] = [[0.1, -0.76], [0.24, 0.2]]
    coefficients[1, 0] = [0.1, -0.76]
    found = _first_points(QuinticSpline(np.array([2.0, 3.0, 5.0]), coefficients))
    np.testing.assert_allclose(found, [2.0, 2.25, 2.5, 2.75, 3.0, 5.0], atol=1e-9)


def splits(times, wide, most=100, bound=((9.0, 1.0), (2.0, 8.0), (3.0, 3.0)), tolerance=(2.0, 1.0)):
    _check_can_split(np.array(times), np.array(wide), np.array(bound), np.array(tolerance), most)


def test_intervals_are_halved_down_to_twenty_microseconds_and_up_to_so_many_points():
    splits([0.0, 1.0, 2.0, 3.0], [0, 2], most=6)
    splits([0.0, 4.0001e-5, 2.0, 3.0], [0, 1])
    splits([0.0, 1e-6, 2.0, 3.0], [1, 2])
    splits([0.0, 4e-5, 2.0, 3.0], [0, 1])
    for times, wide, most, reason, joint, tolerance, reached in (
        ([0.0, 1.0, 2.0, 3.0], [0, 2], 5, "more than 5 points", 1, "2", "9"),
        ([0.0, 4e-5, 2.0, 3.0], [0, 1], 4, "more than 4 points", 2, "1", "8"),
        ([0.0, 1.0, 2.0, 3.0], [1], 4, "more than 4 points", 2, "1", "8"),
        ([0.0, 3.9e-5, 2.0, 3.0], [0, 1], 100, "points too close together", 2, "1", "8"),
        ([0.0, 3.9e-5, 2.0, 3.0], [0, 2], 3, "points too close together", 1, "2", "9"),
    ):
        with pytest.raises(TrajectoryError) as told:
            splits(times, wide, most)
        assert str(told.value) == (
            f"keeping the interpolated effort of joint {joint} within {tolerance} (N·m or N) takes {reason};"
            f" {reached} is reached: allow a larger effort error or a slower path"
        )
    with pytest.raises(TrajectoryError, match=r"joint 2 within 1\.23 \(.*; 8\.77 is reached"):
        splits([0.0, 1e-6], [0], bound=[(1.0, 8.7654)], tolerance=(2.0, 1.2345))


def follow(states, travels):
    """z after travels, each in one direction, by its differential equation's solution."""
    state = np.array(states, dtype=float)
    for travel in travels:
        for j, way in enumerate(travel):
            if way:
                end = math.copysign(1.0, way)
                state[j] = end + (state[j] - end) * math.exp(-abs(way) / (0.03, 0.08)[j])
    return state


def test_friction_builds_up_along_a_path_from_reversal_to_reversal():
    spline, begin = path(6), np.array([0.4, -0.9])
    built = BuiltUp(spline, LAW, begin)
    corners = _first_points(spline)
    asked = np.array([2.0, corners[0], corners[1], 3.21, 3.9, corners[-2], spline.times[-1], 99.0])
    found = built.slid(asked)
    velocities = np.random.default_rng(3).normal(size=(len(asked), 2)) * 0.01
    efforts = built.efforts(asked, velocities)
    for k, time in enumerate(asked):
        time = float(np.clip(time, corners[0], corners[-1]))
        stops = [*corners[corners < time], time]
        places = spline.at(np.array(stops))[0]
        state = follow(begin, np.diff(places, axis=0))
        np.testing.assert_allclose(found[k], state, rtol=1e-9)
        for j in range(2):
            c = min(max(velocities[k, j] / 0.005, -1.0), 1.0)
            s = 0.5 * c * (3.0 - c * c)
            expected = (1.2, 0.7)[j] * (abs(s) * state[j] - s)
            assert efforts[k, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def drives(part=(0.9, 0.5)):
    return ActuatorParameters(friction=(2.0,), presliding_friction=part, presliding_travel=(0.03, 0.08))


def arm(part=(0.9, 0.5)):
    return ActuatedArm(Waves(), two_joint_chain(), drives(part))


def test_a_path_goes_on_with_the_states_of_the_one_before():
    spline, velocity = path(6), np.array([0.3, -0.2])
    first = built_up(arm(), spline, velocity, None)
    np.testing.assert_allclose(first.slid(spline.times[:1]), [[1.0, -1.0]])
    later = QuinticSpline(spline.times + 1.2, spline.coefficients)
    second = built_up(arm(), later, -velocity, first)
    np.testing.assert_allclose(second.slid(later.times[:1]), first.slid(np.array([later.times[0]])))
    assert np.abs(first.slid(later.times[:1]) - first.slid(spline.times[:1])).max() > 0.1
    for dynamics in (Pendulum(), arm((0.0,)), Waves()):
        assert built_up(dynamics, spline, velocity, None) is None
    assert built_up(arm((0.0, 0.5)), spline, velocity, None) is not None


def test_friction_builds_up_from_cycle_to_cycle_but_not_where_there_is_no_reference():
    now, dynamics = BuiltUpNow(), arm()
    places = [np.array([0.1, 0.2]), np.array([0.11, 0.17]), np.array([0.14, 0.1])]
    state = np.zeros(2)
    law = dynamics.drives.friction
    for k, place in enumerate(places):
        velocity = np.array([0.2, -0.3])
        found = now.efforts(dynamics, Reference(place, velocity, np.zeros(2)))
        if k:
            state = follow(state, [place - places[k - 1]])
        np.testing.assert_allclose(found, law.presliding_friction * (state - np.sign(velocity)), rtol=1e-9)
    effort = np.array([5.0, 6.0])
    assert now.carried(effort) is effort
    found = now.efforts(dynamics, Reference(places[0] + 1.0, velocity, np.zeros(2)))
    np.testing.assert_allclose(found, law.presliding_friction * (state - np.sign(velocity)), rtol=1e-9)
    assert now.efforts(Pendulum(), Reference.at_rest(np.zeros(2))) == 0.0
    assert BuiltUpNow().efforts(arm((0.0,)), Reference.at_rest(np.zeros(2))) == 0.0


def test_a_path_of_one_joint_is_sampled_too():
    coefficients = np.zeros((1, 6, 1))
    coefficients[0, 1] = 0.2
    spline = QuinticSpline(np.array([1.0, 2.0]), coefficients)
    found = sample_efforts(spline, Pendulum(), np.array([1.0]))
    assert found.times.tolist() == [1.0, 2.0]
    with pytest.raises(TrajectoryError, match="joint 1 within 1e-05"):
        sample_efforts(spline, Pendulum(), np.array([1e-5]), most_points=4)
