"""Splines against closed forms and against the property that defines them: least squared jerk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smooth_paths import smooth_path

from robot_dynamics.control.spline import QuinticSpline, minimum_jerk_spline
from robot_dynamics.errors import TrajectoryError

OPEN = np.nan


def squared_jerk(spline: QuinticSpline) -> float:
    """Gauss-Legendre quadrature of the jerk from the polynomials' third derivative."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    total = 0.0
    for k, h in enumerate(np.diff(spline.times)):
        for joint in range(spline.coefficients.shape[2]):
            third = np.polynomial.polynomial.polyder(spline.coefficients[k, :, joint], 3)
            jerk = np.polynomial.polynomial.polyval(0.5 * (nodes + 1.0), third) / h**3
            total += float(0.5 * h * weights @ jerk**2)
    return total


@pytest.mark.parametrize("duration", [0.3, 2.0, 40.0])
def test_a_single_segment_is_the_classic_quintic(duration):
    start, goal = np.array([0.4, -1.0]), np.array([1.3, 2.0])
    spline = smooth_path([5.0, 5.0 + duration], [start, goal])
    for s in np.linspace(0.0, 1.0, 11):
        position, velocity, acceleration = spline.sample(5.0 + s * duration)
        np.testing.assert_allclose(position, start + (goal - start) * (10 * s**3 - 15 * s**4 + 6 * s**5))
        np.testing.assert_allclose(velocity, (goal - start) * 30 * s**2 * (1 - s) ** 2 / duration, atol=1e-12)
        np.testing.assert_allclose(
            acceleration, (goal - start) * 60 * s * (1 - s) * (1 - 2 * s) / duration**2, atol=1e-11
        )


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(3, 8), st.integers(0, 10_000))
def test_positions_only_give_continuous_fourth_derivatives(knots, seed):
    random = np.random.default_rng(seed)
    times = np.cumsum(random.uniform(0.05, 2.0, knots))
    spline = smooth_path(times, random.normal(size=(knots, 2)))
    h = np.diff(times)
    for order in range(5):
        factor = np.array([np.prod(np.arange(i - order + 1, i + 1)) if i >= order else 0.0 for i in range(6)])
        left = np.einsum("i,kij->kj", factor, spline.coefficients)[:-1] / h[:-1, None] ** order
        right = factor[order] * spline.coefficients[1:, order] / h[1:, None] ** order
        np.testing.assert_allclose(left, right, atol=1e-8 * np.abs(left).max())


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(0, 10_000))
def test_no_other_choice_of_the_open_derivatives_has_less_jerk(seed):
    random = np.random.default_rng(seed)
    times = np.cumsum(random.uniform(0.1, 1.0, 4))
    positions = random.normal(size=(4, 1))
    velocities, accelerations = random.normal(size=(4, 1)), np.full((4, 1), OPEN)
    velocities[1] = OPEN
    best = minimum_jerk_spline(times, positions, velocities, accelerations)
    knots = [best.sample(t) for t in times]
    for _ in range(5):
        other_v = np.array([v for _, v, _ in knots])
        other_v[1] += 0.1 * random.normal()
        other_a = np.array([a for _, _, a in knots]) + 0.1 * random.normal(size=(4, 1))
        other = minimum_jerk_spline(times, positions, other_v, other_a)
        assert squared_jerk(other) >= squared_jerk(best) * (1.0 - 1e-9)


def test_given_derivatives_are_met():
    times = np.array([0.0, 0.5, 2.0])
    positions, velocities = np.array([[0.0], [1.0], [0.5]]), np.array([[0.3], [-0.2], [0.0]])
    accelerations = np.array([[1.0], [OPEN], [0.0]])
    spline = minimum_jerk_spline(times, positions, velocities, accelerations)
    for k, t in enumerate(times):
        position, velocity, acceleration = spline.sample(t)
        np.testing.assert_allclose(position, positions[k], atol=1e-12)
        np.testing.assert_allclose(velocity, velocities[k], atol=1e-12)
        if np.isfinite(accelerations[k]).all():
            np.testing.assert_allclose(acceleration, accelerations[k], atol=1e-11)


def test_extremes_of_an_overshooting_path():
    spline = smooth_path([0.0, 1.0, 1.2, 2.0], [[0.0], [1.0], [1.0], [0.0]])
    grid = np.array([spline.sample(t)[0] for t in np.linspace(0, 2, 4001)])
    rates = np.array([spline.sample(t)[1] for t in np.linspace(0, 2, 4001)])
    lowest, highest, speed = spline.extremes()
    np.testing.assert_allclose([lowest, highest], [grid.min(axis=0), grid.max(axis=0)], atol=2e-3)
    np.testing.assert_allclose(speed, np.abs(rates).max(axis=0), rtol=5e-3)


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.0], [1.0, 0.5]])
def test_times_must_increase(times):
    values = np.zeros((len(times), 1))
    with pytest.raises(TrajectoryError, match="strictly increasing"):
        minimum_jerk_spline(np.array(times), values, values, values)
