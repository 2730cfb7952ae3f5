"""Sampling points of a path before any effort is checked: knots, turning points, and no long way between."""

import numpy as np
import pytest
from smooth_paths import smooth_path

from robot_dynamics.control.arm.sampling import LARGEST_TURN, SHORTEST_INTERVAL, sample_efforts
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import TrajectoryError


class Free:
    """No effort at all, so that no interval is ever halved."""

    def inverse_dynamics(self, q, qd, qdd):
        return np.zeros_like(q)


def points(spline):
    return sample_efforts(spline, Free(), np.ones(spline.coefficients.shape[2]))


def wavy(seed, joints=3, knots=6):
    random = np.random.default_rng(seed)
    times = 10.0 + np.cumsum(random.uniform(0.3, 1.0, knots))
    return smooth_path(times, random.uniform(-1.5, 1.5, (knots, joints)))


def sign_changes(times, values):
    """Places where the sampled values (N,) of a smooth function change their sign, to the width of a step."""
    where = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    return 0.5 * (times[where] + times[where + 1])


@pytest.mark.parametrize("seed", range(6))
def test_every_turning_point_of_position_and_velocity_is_a_point(seed):
    spline = wavy(seed)
    found = points(spline).times
    times = np.linspace(spline.times[0] + 1e-6, spline.times[-1] - 1e-6, 200_001)
    step = times[1] - times[0]
    _, velocities, accelerations = spline.at(times)
    turns = 0
    for rates in (velocities, accelerations):
        for joint in range(rates.shape[1]):
            for turn in sign_changes(times, rates[:, joint]):
                assert np.abs(found - turn).min() <= step + SHORTEST_INTERVAL
                turns += 1
    assert turns > 10


@pytest.mark.parametrize("seed", range(6))
def test_no_joint_moves_far_between_two_points_and_none_is_without_need(seed):
    spline = wavy(seed)
    samples = points(spline)
    steps = np.abs(np.diff(samples.positions, axis=0)).max(axis=1)
    # Equal times are not equal ways: where a joint speeds up the last part is longer.
    assert steps.max() <= 2.0 * LARGEST_TURN
    travel = np.abs(np.diff(spline.at(np.linspace(*spline.times[[0, -1]], 5001))[0], axis=0)).sum(axis=0)
    must = len(spline.times) + 3 * 2 * 5 * len(spline.times)
    assert len(samples.times) <= must + travel.sum() / LARGEST_TURN


def test_a_steady_motion_is_cut_into_equal_parts_of_a_quarter_radian_at_most():
    coefficients = np.zeros((1, 6, 2))
    coefficients[0, 1] = [1.1, -0.4]
    samples = points(QuinticSpline(np.array([2.0, 4.0]), coefficients))
    np.testing.assert_allclose(samples.times, 2.0 + 2.0 * np.arange(6) / 5, atol=1e-9)
    coefficients[0, 1] = [0.2, -0.25]
    assert points(QuinticSpline(np.array([2.0, 4.0]), coefficients)).times.tolist() == [2.0, 4.0]


def test_an_arm_that_stands_still_needs_its_knots_alone():
    times = np.array([0.0, 0.5, 2.0])
    assert points(QuinticSpline(times, np.zeros((2, 6, 2)))).times.tolist() == times.tolist()


@pytest.mark.parametrize(
    ("degree", "turns"), [(2, [0.5]), (3, [0.5 - np.sqrt(1 / 12), 0.5, 0.5 + np.sqrt(1 / 12)])]
)
def test_polynomials_of_lower_degree_turn_where_they_should(degree, turns):
    """s(s - 1) turns in its middle; s(s - 1/2)(s - 1) twice, with its greatest speed between."""
    coefficients = np.zeros((1, 6, 1))
    coefficients[0, : degree + 1, 0] = {2: [0.0, -1.0, 1.0], 3: [0.0, 0.5, -1.5, 1.0]}[degree]
    coefficients *= 0.1
    # What rounding leaves of a coefficient that is none.
    coefficients[0, 5] = 1e-16
    found = points(QuinticSpline(np.array([0.0, 1.0]), coefficients)).times
    np.testing.assert_allclose(found, [0.0, *turns, 1.0], atol=1e-8)


def test_points_are_in_order_and_never_too_close():
    for seed in range(4):
        spline = wavy(seed, joints=5, knots=9)
        samples = points(spline)
        assert np.diff(samples.times).min() > 0.5 * SHORTEST_INTERVAL
        assert samples.times[0] == spline.times[0]
        assert samples.times[-1] == pytest.approx(spline.times[-1], abs=1e-9)


class Spike:
    """An effort that a straight line misses, by a known amount: a tent of height 1 over the whole way."""

    def inverse_dynamics(self, q, qd, qdd):
        return 1.0 - np.abs(q / 0.1 - 1.0)


def test_intervals_are_halved_until_the_tolerance_is_kept_and_no_further():
    coefficients = np.zeros((1, 6, 1))
    coefficients[0, 1] = 0.2
    spline = QuinticSpline(np.array([0.0, 1.0]), coefficients)
    halved = sample_efforts(spline, Spike(), np.array([0.01]))
    np.testing.assert_allclose(halved.times, [0.0, 0.5, 1.0])
    assert halved.error[0] < 1e-9
    whole = sample_efforts(spline, Spike(), np.array([2.0]))
    assert whole.times.tolist() == [0.0, 1.0]
    # The tent's height, and an eighth of the kink between two of the eight probes.
    assert whole.error[0] == pytest.approx(1.0 + 2.0 * 0.25 / 8.0)
    np.testing.assert_allclose(whole.efforts[:, 0], [0.0, 0.0], atol=1e-12)


def test_which_joint_cannot_be_kept_and_what_is_reached_is_told():
    class Steps:
        def inverse_dynamics(self, q, qd, qdd):
            return np.stack([0.0 * q[:, 0], 3.0 * np.sign(q[:, 1] - 0.05)], axis=1)

    coefficients = np.zeros((1, 6, 2))
    coefficients[0, 1] = 0.2
    spline = QuinticSpline(np.array([0.0, 1.0]), coefficients)
    with pytest.raises(
        TrajectoryError, match=r"joint 2 within 0\.5 .* takes points too close .*; [3-9]\.?\d* is"
    ):
        sample_efforts(spline, Steps(), np.array([0.5, 0.5]))
    with pytest.raises(TrajectoryError, match=r"joint 2 .* takes more than 6 points"):
        sample_efforts(spline, Steps(), np.array([0.5, 0.5]), most_points=6)
