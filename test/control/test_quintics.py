"""Quintics and their bounds against scipy's piecewise polynomials and dense least squares."""

import numpy as np
import pytest
from scipy.interpolate import BPoly, PPoly
from smooth_paths import rows_at_ends

from robot_dynamics.control import path_bounds
from robot_dynamics.control.path_bounds import Extremes, bernstein, extremes, hulls, subdivision
from robot_dynamics.control.spline import (
    QuinticSpline,
    check_finite,
    check_knots,
    hermite_coefficients,
    hermite_spline,
    least_jerk_derivatives,
    minimum_jerk_spline,
)
from robot_dynamics.errors import TrajectoryError

OPEN = np.nan


def knots(count, joints=3, seed=1):
    random = np.random.default_rng(seed)
    return np.cumsum(random.uniform(0.3, 2.0, count)) - 4.0, random.normal(size=(3, count, joints))


def powers_of(spline):
    """The same path in scipy's power basis, per unit of time."""
    h = np.diff(spline.times)[:, None, None] ** np.arange(6)[:, None]
    return PPoly((spline.coefficients / h).transpose(1, 0, 2)[::-1], spline.times)


def test_quintics_between_given_ends_are_those_of_scipy():
    times, values = knots(6)
    path = QuinticSpline(times, hermite_coefficients(np.diff(times), *values))
    expected = BPoly.from_derivatives(times, values.transpose(1, 0, 2))
    moments = np.concatenate([np.linspace(times[0], times[-1], 53), times])
    found = path.at(moments)
    for order in range(3):
        np.testing.assert_allclose(
            found[order], expected.derivative(order)(moments) if order else expected(moments), atol=1e-9
        )
    for moment in moments:
        for one, several in zip(path.sample(float(moment)), path.at(np.array([[moment]])), strict=True):
            assert one.shape == (3,) and several.shape == (1, 1, 3)
            np.testing.assert_allclose(one, several[0, 0], atol=1e-9)


def test_before_and_after_its_ends_a_path_stays_there():
    times, values = knots(4)
    path = QuinticSpline(times, hermite_coefficients(np.diff(times), *values))
    for order in range(3):
        np.testing.assert_allclose(path.sample(times[0] - 0.7)[order], values[order, 0], atol=1e-9)
        np.testing.assert_allclose(path.sample(times[-1] + 0.7)[order], values[order, -1], atol=1e-9)
        outside = path.at(np.array([times[0] - 3.0, times[-1] + 3.0]))[order]
        np.testing.assert_allclose(outside, values[order, [0, -1]], atol=1e-9)


def test_ends_that_jump_are_met_by_each_piece():
    times, values = knots(5, joints=2)
    begins, ends = values[:, :-1].transpose(1, 0, 2), values[::-1, 1:].transpose(1, 0, 2)
    found = powers_of(hermite_spline(times, begins, ends))
    for k in range(4):
        for order in range(3):
            piece = PPoly(found.c[:, [k]], times[k : k + 2]).derivative(order)
            np.testing.assert_allclose(piece(times[k]), begins[k, order], atol=1e-10)
            np.testing.assert_allclose(piece(times[k + 1]), ends[k, order], atol=1e-10)


def test_thousands_of_pieces_are_those_of_their_ends():
    """They are computed 1024 at a time."""
    random = np.random.default_rng(3)
    h, values = random.uniform(0.2, 0.7, 3000), random.normal(size=(3, 3001, 1))
    c = hermite_coefficients(h, *values)
    assert c.shape == (3000, 6, 1)
    np.testing.assert_allclose(c[:, 0], values[0, :-1], rtol=1e-12)
    np.testing.assert_allclose(c.sum(axis=1), values[0, 1:], atol=1e-10)
    np.testing.assert_allclose(c[:, 1], values[1, :-1] * h[:, None], rtol=1e-12)
    np.testing.assert_allclose((np.arange(6)[:, None] * c).sum(axis=1), values[1, 1:] * h[:, None], atol=1e-9)
    np.testing.assert_allclose(c[:, 2], values[2, :-1] * h[:, None] ** 2 / 2.0, rtol=1e-12)
    bent = (np.arange(6) * np.arange(-1, 5))[:, None] * c
    np.testing.assert_allclose(bent.sum(axis=1), values[2, 1:] * h[:, None] ** 2, atol=1e-9)


@pytest.mark.parametrize(
    ("seed", "most"), [*((seed, 7) for seed in range(6)), *((seed, 12) for seed in range(6, 40))]
)
def test_open_derivatives_are_those_of_dense_least_squares(seed, most):
    """Jerks at Gauss points are linear in all derivatives; given ones go to the right."""
    random = np.random.default_rng(seed)
    count = int(random.integers(2, most + 1))
    times, values = knots(count, joints=2, seed=seed + 10)
    free = random.uniform(size=(2, count)) < 0.6
    if seed == 0:
        free[:] = True
    nodes, weights = np.polynomial.legendre.leggauss(4)
    rows, right = [], []
    for k, h in enumerate(np.diff(times)):
        coefficients = np.linalg.inv(rows_at_ends(h))
        for node, weight in zip(nodes, weights, strict=True):
            t = 0.5 * h * (node + 1.0)
            row = np.sqrt(0.5 * h * weight) * np.array([0, 0, 0, 6.0, 24.0 * t, 60.0 * t * t]) @ coefficients
            full = np.zeros(2 * count)
            full[[2 * k, 2 * k + 1, 2 * k + 2, 2 * k + 3]] = row[[1, 2, 4, 5]]
            rows.append(full)
            right.append(-(row[0] * values[0, k] + row[3] * values[0, k + 1]))
    rows, right, opened = np.array(rows), np.array(right), free.T.ravel()
    known = values[1:].transpose(1, 0, 2).reshape(2 * count, 2)
    expected = known.copy()
    expected[opened] = np.linalg.lstsq(
        rows[:, opened], right - rows[:, ~opened] @ known[~opened], rcond=None
    )[0]
    given = [np.where(free[i][:, None], OPEN, values[1 + i]) for i in (0, 1)]
    found = least_jerk_derivatives(times, values[0], *given)
    np.testing.assert_allclose(found[0], expected[0::2], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found[1], expected[1::2], rtol=1e-7, atol=1e-8)
    path = minimum_jerk_spline(times, values[0], *given)
    places, velocities, accelerations = path.at(times)
    np.testing.assert_allclose(places, values[0], atol=1e-8)
    np.testing.assert_allclose(velocities, expected[0::2], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(accelerations, expected[1::2], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(least_jerk_derivatives(times, values[0], *values[1:])[1], values[2])


def test_a_joint_whose_derivatives_are_given_in_part_leaves_the_knot_open():
    times, values = knots(3, joints=2)
    given = values[1].copy()
    given[1, 0] = OPEN
    found = least_jerk_derivatives(times, values[0], given, values[2])[0]
    everything = values[1].copy()
    everything[1] = OPEN
    np.testing.assert_allclose(found, least_jerk_derivatives(times, values[0], everything, values[2])[0])


def test_whole_numbers_are_times_and_two_are_enough():
    assert check_knots([1, 2]).dtype == float
    for times in ([], [1.0], [1.0, 1.0], [1.0, 2.0, 2.0], [2.0, 1.0], [1.0, OPEN]):
        with pytest.raises(TrajectoryError) as found:
            check_knots(times)
        assert str(found.value) == "a path needs at least two knots at strictly increasing times"


@pytest.mark.parametrize(
    ("power", "value", "h", "finite"),
    [
        (5, 8.9e306, 1.0, True),
        (5, 9.0e306, 1.0, False),
        (5, -9.0e306, 2.0, False),
        (5, -8.9e306, 2.0, True),
        (5, 1e300, 1e-5, False),
        (5, 1e290, 1e-5, True),
        (1, -1e300, 2e-5, False),
        (3, np.inf, 1.0, False),
        (3, OPEN, 1.0, False),
    ],
)
def test_places_and_rates_of_a_path_have_to_be_finite(power, value, h, finite):
    """The second derivative of the fifth power is 20 at the end, and by time that over h²."""
    times, c = np.array([0.0, 0.5, 0.5 + h]), np.zeros((2, 6, 3))
    c[-1, power, 2] = value
    path = QuinticSpline(times, c)
    if finite:
        check_finite(path)
        return
    with pytest.raises(TrajectoryError) as found:
        check_finite(path)
    assert str(found.value) == (
        f"value 2 has no finite position, velocity and acceleration between knots 1 and 2,"
        f" {times[-1] - times[-2]:.3g} s apart; give smaller numbers, or more time between them"
    )


def test_the_first_of_several_infinite_pieces_is_named():
    c = np.zeros((3, 6, 2))
    c[1, 4, 1] = c[2, 4, 0] = np.inf
    with pytest.raises(TrajectoryError, match=r"^value 1 .* between knots 1 and 2, 0\.25 s apart"):
        check_finite(QuinticSpline(np.array([0.0, 1.0, 1.25, 3.0]), c))


@pytest.mark.parametrize("order", range(6))
def test_bernstein_coefficients_are_those_of_scipy(order):
    c = np.random.default_rng(2).normal(size=(6, 2, 3))
    path = PPoly(c.reshape(6, 1, 6)[::-1], [0.0, 1.0])
    expected = BPoly.from_power_basis(path.derivative(order) if order else path).c[:, 0]
    found = bernstein(c, order)
    assert found.shape == (6 - order, 2, 3)
    np.testing.assert_allclose(found.reshape(6 - order, 6), expected, rtol=1e-11)
    lower, upper = hulls(c, order)
    np.testing.assert_allclose(lower, expected.min(axis=0).reshape(2, 3))
    np.testing.assert_allclose(upper, expected.max(axis=0).reshape(2, 3))
    parts = subdivision(5 - order, 2) @ expected
    assert parts.shape == (4 * (6 - order), 6)
    for k in range(4):
        one = BPoly(parts.reshape(4, 6 - order, 1, 6)[k], [0.25 * k, 0.25 * (k + 1)])
        places = np.linspace(0.25 * k, 0.25 * (k + 1), 7)
        derivative = path.derivative(order) if order else path
        np.testing.assert_allclose(one(places), derivative(places), rtol=1e-9, atol=1e-10)
    tight = hulls(c, order, levels=2)
    np.testing.assert_allclose(tight[0].ravel(), parts.min(axis=0))
    np.testing.assert_allclose(tight[1].ravel(), parts.max(axis=0))


def test_without_an_order_and_levels_bounds_are_those_of_the_path_itself():
    c = np.random.default_rng(7).normal(size=(6, 4))
    np.testing.assert_array_equal(bernstein(c), bernstein(c, 0))
    np.testing.assert_array_equal(hulls(c)[0], bernstein(c, 0).min(axis=0))
    np.testing.assert_array_equal(subdivision(3, 0), np.eye(4))


def test_extremes_have_the_times_at_which_they_are_reached():
    """Two joints on parabolas, whose vertices are at a third of one piece and at 0.7 of another."""
    times, c = np.array([1.0, 3.0, 7.0, 8.0]), np.zeros((3, 6, 2))
    c[:, 0, 0] = (0.0, 0.0, -0.5)
    c[1, :3, 0] = (-0.1, 6.0 * 0.3, -3.0 * 0.9)
    c[2, :3, 1] = (2.0, -2.0 * 0.7 * 9.0, 9.0)
    found = extremes(times, c)
    np.testing.assert_allclose(found.highest, [1.8 / 10.8 * 1.8 - 0.1, 2.0])
    np.testing.assert_allclose(found.lowest, [-0.1 + 1.8 - 2.7, 2.0 - 9.0 * 0.49])
    assert found.lowest_time[0] == 7.0 and found.highest_time[1] == 7.0
    np.testing.assert_allclose(found.highest_time[0], 3.0 + 4.0 / 3.0, atol=1e-4)
    np.testing.assert_allclose(found.lowest_time[1], 7.7, atol=1e-4)
    np.testing.assert_allclose(found.largest, [1.0, 2.41])
    np.testing.assert_allclose(found.largest_time, [7.0, 7.7], atol=1e-4)


def test_extremes_at_ends_are_exact():
    """The quintic from rest to rest by 1, and one that ends with a velocity of 3."""
    c = np.zeros((1, 6, 2))
    c[0, 3:, 0], c[0, 3, 1] = (10.0, -15.0, 6.0), 1.0
    places, rates = (extremes(np.array([0.0, 1.0]), sign * c, order) for sign, order in ((1.0, 0), (-1.0, 1)))
    assert (places.highest.tolist(), places.highest_time.tolist()) == ([1.0, 1.0], [1.0, 1.0])
    assert (rates.lowest[1], rates.lowest_time[1]) == (-3.0, 1.0)


def test_of_equal_extremes_the_first_has_its_time():
    times, c = np.array([0.0, 1.0, 3.0, 4.0, 6.0]), np.zeros((4, 6, 1))
    c[0, :2, 0], c[1, :2, 0], c[2, :2, 0], c[3, :2, 0] = (0.5, 1.5), (2.0, -4.0), (-2.0, 4.0), (2.0, -4.0)
    found = extremes(times, c)
    assert (found.highest[0], found.highest_time[0]) == (2.0, 1.0)
    assert (found.lowest[0], found.lowest_time[0]) == (-2.0, 3.0)
    assert found.largest_time[0] == 1.0
    still = extremes(times, np.full((4, 6, 1), 3.0) * (np.arange(6) == 0)[:, None])
    assert (still.highest_time[0], still.lowest_time[0]) == (0.0, 0.0)


def test_rates_are_by_time_and_their_magnitude_has_the_larger_side():
    times, c = np.array([2.0, 2.5, 6.5]), np.zeros((2, 6, 2))
    c[0, 3, 0], c[1, 2, 0], c[0, 1, 1], c[1, 1, 1] = 1.0, -32.0, 1.0, 4.0
    rates, bends = extremes(times, c, 1), extremes(times, c, 2)
    np.testing.assert_allclose((rates.lowest, rates.highest), [[-16.0, 1.0], [6.0, 2.0]])
    np.testing.assert_allclose(rates.largest, [16.0, 2.0])
    np.testing.assert_allclose(rates.largest_time, [6.5, 2.0])
    np.testing.assert_allclose((bends.lowest[0], bends.highest[0]), (-4.0, 24.0))
    np.testing.assert_allclose((bends.largest[0], bends.largest_time[0]), (24.0, 2.5))
    lower, upper, speed = QuinticSpline(times, c).extremes()
    np.testing.assert_allclose((lower, upper, speed), [[-32.0, 0.0], [1.0, 4.0], [16.0, 2.0]])


def test_a_magnitude_that_both_sides_reach_has_the_time_of_the_highest():
    one = np.ones(2)
    found = Extremes(-2.0 * one, 2.0 * one, 0.25 * one, 0.75 * one)
    np.testing.assert_array_equal(found.largest_time, 0.75 * one)
    np.testing.assert_array_equal(found.largest, 2.0 * one)


def test_extremes_are_as_near_as_the_documentation_says():
    assert path_bounds.PRECISION == 1e-10 and path_bounds.HALVINGS == 45
    c = np.zeros((1, 6, 1))
    c[0, :3, 0] = (0.0, 2.0 / 3.0, -1.0)
    found = extremes(np.array([0.0, 1.0]), c)
    assert abs(found.highest[0] - 1.0 / 9.0) <= 1e-10
