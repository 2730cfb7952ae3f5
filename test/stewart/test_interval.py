"""Interval arithmetic: its bounds are the extremes of a box of values and slopes, and hold for functions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from robot_dynamics.stewart.interval import Interval, joined, motion_intervals, polynomials

WIDE = np.full(3, 1e6)
"""Half widths at which the mean value theorem bounds nothing."""
F = Interval(
    np.array([2.5, -3.0, 4.0]),
    np.array([0.5, 0.25, 1.5]),
    np.array([1.5, -2.0, 0.75]),
    np.array([0.125, 0.5, 0.25]),
    WIDE,
)
G = Interval(
    np.array([-1.5, -4.0, 3.0]),
    np.array([0.25, 0.75, 0.5]),
    np.array([-0.5, 3.0, 2.0]),
    np.array([0.375, 0.25, 1.5]),
    WIDE,
)


def single(*numbers):
    """An interval of one function: value, radius, slope, its radius, half width."""
    return Interval(*(np.array([number]) for number in numbers))


def box(f, k):
    """Extremes of value and slope of the k-th function."""
    value, radius, slope, spread = (float(x[k]) for x in (f.value, f.radius, f.slope, f.slope_radius))
    return [(value - radius, value + radius), (slope - spread, slope + spread)]


def expect(found, operation, *given):
    """``operation`` takes values and slopes; both it and its slope are extreme in the corners of the box."""
    for k in range(3):
        corners = [operation(*corner) for corner in itertools.product(*(x for f in given for x in box(f, k)))]
        middle = operation(*(float(x[k]) for f in given for x in (f.value, f.slope)))
        assert found.value[k] == pytest.approx(middle[0], rel=1e-14)
        assert found.slope[k] == pytest.approx(middle[1], rel=1e-14)
        away = [max(abs(corner[i] - middle[i]) for corner in corners) for i in (0, 1)]
        assert found.radius[k] == pytest.approx(away[0], rel=1e-13, abs=1e-14)
        assert found.slope_radius[k] == pytest.approx(away[1], rel=1e-13, abs=1e-14)
    assert found.half is given[0].half


def farthest(*ranges):
    """Greatest distance of the product of two numbers from the product of their middles."""
    middle = np.prod([0.5 * (low + high) for low, high in ranges])
    return max(abs(x * y - middle) for x, y in itertools.product(*ranges))


def expect_product(found, f, g):
    """The two products in the slope f' g + f g' are bounded each on its own."""
    np.testing.assert_allclose(found.value, f.value * g.value, rtol=1e-15)
    np.testing.assert_allclose(found.slope, f.slope * g.value + f.value * g.slope, rtol=1e-14)
    for k in range(3):
        (x, dx), (y, dy) = box(f, k), box(g, k)
        assert found.radius[k] == pytest.approx(farthest(x, y), rel=1e-13)
        assert found.slope_radius[k] == pytest.approx(farthest(dx, y) + farthest(x, dy), rel=1e-13)
    assert found.half is f.half


def test_two_intervals_have_bounds_of_the_extremes():
    expect(F + G, lambda x, dx, y, dy: (x + y, dx + dy), F, G)
    expect(F - G, lambda x, dx, y, dy: (x - y, dx - dy), F, G)
    expect_product(F * G, F, G)
    inverse = G.reciprocal()
    expect(inverse, lambda y, dy: (1.0 / y, -dy / y**2), G)
    expect_product(F / G, F, inverse)


@pytest.mark.parametrize("number", [3.0, -2.5, np.float64(0.5), 2])
def test_numbers_shift_and_scale_an_interval(number):
    expect(F + number, lambda x, dx: (x + number, dx), F)
    expect(number + F, lambda x, dx: (x + number, dx), F)
    expect(F - number, lambda x, dx: (x - number, dx), F)
    expect(number - F, lambda x, dx: (number - x, -dx), F)
    expect(F * number, lambda x, dx: (x * number, dx * number), F)
    expect(number * F, lambda x, dx: (x * number, dx * number), F)
    expect(F / number, lambda x, dx: (x / number, dx / number), F)
    expect(-F, lambda x, dx: (-x, -dx), F)
    expect(F.scaled(number), lambda x, dx: (x * number, dx * number), F)
    inverse = F.reciprocal()
    expect(number / F, lambda x, dx: (x * number, dx * number), inverse)


def test_zero_times_an_interval_is_the_number_zero_but_for_a_scaled_one():
    assert F * 0.0 == 0.0 == 0.0 * F
    assert isinstance(F.scaled(0.0), Interval)
    np.testing.assert_array_equal(F.scaled(0.0).radius, np.zeros(3))


def test_a_square_root_has_bounds_of_the_extremes():
    positive = Interval(np.array([2.5, 4.0, 9.0]), F.radius, F.slope, F.slope_radius, WIDE)
    expect(positive.sqrt(), lambda x, dx: (x**0.5, dx / (2.0 * x**0.5)), positive)


def test_the_root_of_what_may_vanish_has_a_bound_but_no_known_slope():
    near = Interval(
        np.array([1.0, 0.25, -0.5]),
        np.array([4.0, 0.25, 1.0]),
        np.ones(3),
        np.full(3, 0.5),
        np.full(3, 0.125),
    )
    root = near.sqrt()
    np.testing.assert_array_equal(root.value, [1.0, 0.5, 0.0])
    np.testing.assert_allclose(root.radius, [5.0**0.5 - 1.0, 0.5, 0.5**0.5], rtol=1e-15)
    np.testing.assert_allclose(root.slope[:2], [0.5, 1.0])
    np.testing.assert_array_equal(root.slope_radius, np.full(3, np.inf))
    assert root.half is near.half
    small = single(0.25, 0.1875, 0.5, 0.25, 1e6).sqrt()
    assert small.slope_radius[0] == pytest.approx(0.75 / (2.0 * 0.25) - 0.5 / (2.0 * 0.5), rel=1e-14)


def test_a_constant_that_may_vanish_has_no_known_slope_of_its_root_and_reciprocal():
    constant = single(1.0, 1.0, 0.0, 0.0, 0.5)
    assert constant.sqrt().slope_radius[0] == constant.reciprocal().slope_radius[0] == np.inf
    assert constant.reciprocal().radius[0] == np.inf
    assert constant.sqrt().radius[0] == 1.0


def test_nothing_is_known_of_the_reciprocal_of_what_may_vanish():
    near = Interval(np.array([1.0, -0.5, 2.0]), np.array([1.0, 0.75, 1.5]), np.ones(3), np.ones(3), WIDE)
    inverse = near.reciprocal()
    np.testing.assert_array_equal(inverse.value, [1.0, -2.0, 0.5])
    np.testing.assert_array_equal(inverse.slope, [-1.0, -4.0, -0.25])
    np.testing.assert_array_equal(np.isinf(inverse.radius), [True, True, False])
    np.testing.assert_array_equal(np.isinf(inverse.slope_radius), [True, True, False])


@pytest.mark.parametrize(
    ("half", "radius"), [(0.25, 0.5), (0.5, 0.75 + 0.25), (1.0, 1.25), (2.0, 1.25)], ids=str
)
def test_the_mean_value_theorem_tightens_a_bound(half, radius):
    """Closed form: half the width times the greatest slope, where it is below what is known otherwise."""
    loose = single(3.0, 1.25, -1.5, 0.5, half)
    tight = loose.tight()
    np.testing.assert_array_equal(tight.radius, [min(radius, 1.25)])
    for name in ("value", "slope", "slope_radius", "half"):
        assert getattr(tight, name) is getattr(loose, name)
    unknown = Interval(loose.value, loose.radius, np.array([np.nan]), loose.slope_radius, loose.half)
    np.testing.assert_array_equal(unknown.tight().radius, [1.25])


@pytest.mark.parametrize("half", [0.01, 0.25])
def test_quotients_and_roots_use_the_mean_value_theorem(half):
    narrow = single(4.0, 1.0, 0.5, 0.25, half)
    inverse, root = narrow.reciprocal(), narrow.sqrt()
    steepest = 0.75 / 9.0, 0.75 / (2.0 * 3.0**0.5)
    assert inverse.radius[0] == pytest.approx(min(half * steepest[0], 1.0 / 12.0), rel=1e-14)
    assert root.radius[0] == pytest.approx(min(half * steepest[1], 2.0 - 3.0**0.5), rel=1e-14)


@pytest.mark.parametrize("radius", [0.0, 0.125, 0.5, 1.75, 3.0])
def test_cosine_and_sine_are_within_taylors_remainder(radius):
    """The remainder is half the square of the angle's deviation; no two cosines differ by more than 2."""
    angle, slope, spread = 0.75, -1.5, 0.25
    given = single(angle, radius, slope, spread, 1e6)
    cosine, sine = given.cosine_and_sine()
    c, s, bow = np.cos(angle), np.sin(angle), 0.5 * radius**2
    for found, value, rate in ((cosine, c, -s), (sine, s, c)):
        away = min(abs(rate) * radius + bow, 2.0)
        turned = min(abs(value) * radius + bow, 2.0)
        assert found.value[0] == pytest.approx(value, rel=1e-15)
        assert found.slope[0] == pytest.approx(rate * slope, rel=1e-15)
        assert found.radius[0] == pytest.approx(away, rel=1e-14)
        assert found.slope_radius[0] == pytest.approx(abs(rate) * spread + turned * 1.75, rel=1e-14)
        assert found.half is given.half
    for turn in np.linspace(angle - radius, angle + radius, 41):
        for rate in (slope - spread, slope + spread):
            for found, value, moved in (
                (cosine, np.cos(turn), -np.sin(turn) * rate),
                (sine, np.sin(turn), np.cos(turn) * rate),
            ):
                assert abs(value - found.value[0]) <= found.radius[0] + 1e-15
                assert abs(moved - found.slope[0]) <= found.slope_radius[0] + 1e-15


COEFFICIENTS = np.array(
    [
        [[0.5, -1.25], [2.0, 0.75]],
        [[-1.5, 2.0], [0.25, -3.0]],
        [[0.75, 1.0], [-2.5, 0.5]],
        [[2.25, -0.5], [1.5, 1.25]],
        [[-0.25, 3.0], [0.5, -1.75]],
        [[1.75, -2.0], [-0.75, 0.25]],
    ]
)


def test_polynomials_have_exact_middles_and_bounds_by_the_powers_about_them():
    """Taylor's series in fractions: about the centre, every power at its greatest."""
    before = COEFFICIENTS.copy()
    centers, halves, widths = np.array([0.25, 0.625]), np.array([0.125, 0.375]), np.array([2.0, 0.5])
    values, deviations = polynomials(COEFFICIENTS, centers, halves, widths)
    np.testing.assert_array_equal(COEFFICIENTS, before)
    assert values.shape == deviations.shape == (4, 2, 2)
    for m, n in np.ndindex(2, 2):
        row = [Fraction(x) for x in COEFFICIENTS[:, m, n]]
        center, half, width = (Fraction(float(x[n])) for x in (centers, halves, widths))
        for order in range(4):
            taylor, factor = [], 1
            derived = row
            for _ in range(order):
                derived = [k * c for k, c in enumerate(derived)][1:]
            while derived:
                taylor.append(sum(c * center**k for k, c in enumerate(derived)) / factor)
                factor *= len(taylor)
                derived = [k * c for k, c in enumerate(derived)][1:]
            scale = width**order
            bound = sum(abs(c) * half**k for k, c in enumerate(taylor) if k)
            assert values[order, m, n] == pytest.approx(float(taylor[0] / scale), rel=1e-14)
            assert deviations[order, m, n] == pytest.approx(float(bound / scale), rel=1e-14)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_joined_intervals_reach_as_far_as_the_farthest_of_a_group(size):
    rng = np.random.default_rng(size)
    values, deviations = rng.normal(size=(4, 2, 6)), rng.uniform(0.0, 2.0, (4, 2, 6))
    middle, away = joined(values, deviations, size)
    assert middle.shape == away.shape == (4, 2, 6 // size)
    for k, m, group in np.ndindex(middle.shape):
        members = range(group * size, (group + 1) * size)
        center = values[k, m, members[size // 2]]
        far = max(abs(values[k, m, i] - center + s * deviations[k, m, i]) for i in members for s in (-1, 1))
        assert middle[k, m, group] == center
        assert away[k, m, group] == pytest.approx(far, rel=1e-14)


def test_motions_are_intervals_of_every_coordinate_its_rate_and_its_acceleration():
    rng = np.random.default_rng(4)
    values, deviations = rng.normal(size=(4, 2, 3)), rng.uniform(0.1, 2.0, (4, 2, 3))
    half = np.array([0.01, 0.5, 5.0])
    found = motion_intervals(values, deviations, half)
    assert [len(row) for row in found] == [2, 2, 2]
    for k, i in np.ndindex(3, 2):
        one = found[k][i]
        np.testing.assert_array_equal(one.value, values[k, i])
        np.testing.assert_array_equal(one.slope, values[k + 1, i])
        np.testing.assert_array_equal(one.slope_radius, deviations[k + 1, i])
        steepest = half * (np.abs(values[k + 1, i]) + deviations[k + 1, i])
        np.testing.assert_array_equal(one.radius, np.minimum(deviations[k, i], steepest))
        assert one.half is half
