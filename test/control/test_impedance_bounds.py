"""Bounds of an impedance with the period of the states: closed forms, and eigenvalues by SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import joints_in_a_row, two_joint_chain
from scipy.linalg import eigh

from robot_dynamics.control.arm.impedance import (
    ImpedanceParameters,
    TooFast,
    at_most,
    fastest,
    least_damped,
    poses,
    rounded_down,
)
from robot_dynamics.errors import ParameterError

DIAGONAL = np.diag([0.5, 2.0, 0.125])
COUPLED = np.array([[2.0, 0.9, 0.3], [0.9, 1.0, 0.25], [0.3, 0.25, 0.5]])
PERIOD, DELAY = 0.004, 0.001
LATENCY = 1.3 * (0.5 * PERIOD + DELAY)
"""Half a period and the delay, for an inertia that is 1.3 times too small."""


class Inert:
    """An arm with the same mass matrix everywhere, and a weight."""

    def __init__(self, mass):
        self.mass = np.array(mass)

    def inverse_dynamics(self, q, qd, qdd):
        return self.mass @ qdd + 7.0 * np.cos(q)


def chain():
    return joints_in_a_row([(-1.0, 2.0, 4.0), (-np.inf, np.inf, 4.0), (-20.0, 0.5, 4.0)])


def given(stiffness, damping=(-1.0,), **other):
    return ImpedanceParameters(tuple(stiffness), tuple(damping), **other)


def test_values_of_the_law_are_one_for_each_joint():
    parameters = ImpedanceParameters((10.0, 20.0, 30.0), (-1.0, 0.0, 2.0), (0.1, 0.2, 0.3), (0.0, 5.0, 6.0))
    found = parameters.impedance(chain())
    assert {name: array.tolist() for name, array in found.items()} == {
        "stiffness": [10.0, 20.0, 30.0],
        "damping": [-1.0, 0.0, 2.0],
        "error_clip": [0.1, 0.2, 0.3],
        "effort_rates": [np.inf, 5.0, 6.0],
    }
    usual = ImpedanceParameters().impedance(chain())
    assert {name: array.tolist() for name, array in usual.items()} == {
        "stiffness": [50.0] * 3, "damping": [-1.0] * 3, "error_clip": [0.5] * 3, "effort_rates": [np.inf] * 3,
    }  # fmt: skip
    with pytest.raises(ParameterError, match="'max_effort_rate' has 2 values"):
        ImpedanceParameters(max_effort_rate=(1.0, 2.0)).impedance(chain())


def test_filters_delay_by_the_longer_of_two_and_that_of_the_efforts():
    assert ImpedanceParameters().smoothing == (0.0, 0.0, 0.0)
    first = ImpedanceParameters(position_filter=0.01, velocity_filter=0.02, effort_filter=0.004)
    assert first.smoothing == (0.01, 0.02, 0.004) and first.smoothing_delay == pytest.approx(0.024)
    second = ImpedanceParameters(position_filter=0.03, velocity_filter=0.02, effort_filter=0.05)
    assert second.smoothing_delay == pytest.approx(0.08)


def test_empty_lists_and_negative_dampings_are_refused():
    for name in ("joint_stiffness", "joint_damping", "joint_error_clip"):
        with pytest.raises(ParameterError) as told:
            ImpedanceParameters(**{name: ()})
        assert str(told.value) == f"parameter '{name}' is empty; give one value, or one per joint"
    for value in (-0.5, -0.001, -0.999):
        with pytest.raises(ParameterError) as told:
            ImpedanceParameters(joint_damping=(3.0, value))
        assert str(told.value) == (
            f"parameter 'joint_damping' is {value:g}; it must not be negative, or -1: critical"
        )
    assert ImpedanceParameters(joint_damping=(-1.0, 0.0)).joint_damping == (-1.0, 0.0)


def test_poses_cover_the_range_of_each_joint_or_a_turn_with_their_masses():
    skewed = np.array([[2.0, 0.7, 0.3], [0.9, 1.0, 0.25], [0.1, 0.2, 0.5]])
    found = list(poses(chain(), Inert(skewed)))
    places = np.array([place for place, _ in found])
    assert places.shape[1] == 3 and len(places) >= 64
    lower, upper = np.array([-1.0, -np.pi, -np.pi]), np.array([2.0, np.pi, 0.5])
    assert (places >= lower).all() and (places <= upper).all()
    assert (np.ptp(places, axis=0) > 0.9 * (upper - lower)).all()
    assert np.abs(np.corrcoef(places.T) - np.eye(3)).max() < 0.35
    for _, mass in found:
        np.testing.assert_allclose(mass, skewed, atol=1e-14)


def test_the_fastest_direction_is_that_of_the_largest_eigenvalues_of_all_systems():
    springs, dampers = np.diag([30.0, 90.0, 2.0]), np.diag([9.0, 0.5, 3.0])
    systems = [(DIAGONAL, springs, dampers), (COUPLED, springs, 2.0 * dampers)]
    expected = [
        max(eigh(springs, DIAGONAL)[0][-1], eigh(springs, COUPLED)[0][-1]),
        max(eigh(dampers, DIAGONAL)[0][-1], eigh(2.0 * dampers, COUPLED)[0][-1]),
    ]
    assert fastest(systems) == pytest.approx(tuple(expected))
    assert fastest(systems[::-1]) == pytest.approx(tuple(expected))
    assert fastest([]) == (0.0, 0.0)


def test_a_direction_with_less_damping_for_its_stiffness_counts():
    """kv is at most kp over the largest ratio of stiffness to given damping."""
    stiffness, damping = np.array([40.0, 90.0, 0.0, 500.0]), np.array([4.0, 3.0, 2.0, -1.0])
    assert least_damped(600.0, 25.0, stiffness, damping) == pytest.approx(600.0 / 30.0)
    assert least_damped(900.0, 25.0, stiffness, damping) == 25.0
    assert least_damped(600.0, 30.0, stiffness, damping) == 30.0
    assert least_damped(600.0, 31.0, stiffness, damping) == 31.0
    assert least_damped(600.0, 0.5, np.array([40.0, 9.0]), np.array([-1.0, 0.0])) == 0.5
    assert least_damped(0.2, 0.5, np.array([0.9]), np.array([1.2])) == pytest.approx(0.2 / 0.75)


def test_stability_with_a_latency_in_closed_form():
    """Critical: kv ≤ 1/latency and kv ≥ kp latency, by the square of a share; given: the one that fails."""
    half = 1.0 / 1.3
    for gains, critical, expected in (
        ((400.0, 40.0), True, (min(1.0 / (40.0 * LATENCY), 40.0 / (400.0 * LATENCY)) ** 2, False)),
        ((9e4, 300.0), True, ((300.0 / (9e4 * LATENCY)) ** 2, False)),
        ((4e3, 300.0), True, ((1.0 / (300.0 * LATENCY)) ** 2, False)),
        ((0.0, 300.0), True, (math.inf, False)),
        ((0.5, 3.0), True, ((1.0 / (3.0 * LATENCY)) ** 2, False)),
        ((400.0, 300.0), False, (1.0 / (300.0 * LATENCY), True)),
        ((400.0, 40.0), False, (40.0 / (400.0 * LATENCY), False)),
        ((9e4, 100.0), False, (100.0 / (9e4 * LATENCY), False)),
        ((0.0, 40.0), False, (math.inf, False)),
        ((0.5, 3.0), False, (3.0 / (0.5 * LATENCY), False)),
    ):
        found = TooFast.of(gains, critical, PERIOD, DELAY)
        assert found == pytest.approx(expected), (gains, critical)
        assert found.damping is expected[1]
    assert TooFast.of((3.0, 0.25), False, 2.0 * half, half) == (pytest.approx(0.25 / 6.0), False)
    assert TooFast.of((3.0, 1.0), False, 2.0 * half, 0.0).damping is (1.3 * half >= 1.0)
    assert TooFast.of((3.0, 1.0), False, 2.0 * half, 1e-9).damping is True


def test_values_are_rounded_down_to_two_digits():
    given = np.array([12.34, 0.0999, 1.0, 55.0, 999.0, 3e-7, 0.0, 1.29, 130.0])
    expected = [12.0, 0.099, 1.0, 55.0, 990.0, 3e-7, 0.0, 1.2, 130.0]
    np.testing.assert_allclose(rounded_down(given), expected, rtol=1e-9)
    assert rounded_down(np.array([2.5, 25.0, 250.0])).tolist() == [2.5, 25.0, 250.0]
    assert rounded_down(np.array([0.29 / 0.1 - 1e-13])).tolist() == pytest.approx([2.9])


def test_a_refusal_names_values_period_and_what_is_stable():
    values, stable = np.array([120.0, 0.5, 30.0]), np.array([45.6, 0.5, 0.0])
    assert at_most("joint_stiffness", values, stable, 0.00412) == (
        "parameter 'joint_stiffness' is 120, 0.5, 30: with a state every 4.12 ms at most 45, 0.5, 0 is stable"
    )
    assert at_most("joint_damping", values, np.array([0.0, 0.0, 0.456]), 0.004) == (
        "parameter 'joint_damping' is 120, 0.5, 30: with a state every 4 ms at most 0, 0, 0.45 is stable"
    )
    assert at_most("joint_stiffness", values, np.zeros(3), 0.004) == (
        "parameter 'joint_stiffness' is 120, 0.5, 30: no stiffness is stable without damping; a damping of -1"
        " is critical"
    )


def test_gains_of_joints_alone_are_stiffness_and_damping_over_inertia():
    kp, kv = given((50.0, 30.0, 20.0), (-1.0, 9.0, 4.0)).equivalent_gains(chain(), Inert(DIAGONAL))
    np.testing.assert_allclose(kp, [100.0, 15.0, 160.0])
    largest = max(2.0 * math.sqrt(100.0), 4.5, 32.0)
    np.testing.assert_allclose(kv, np.array([20.0, 4.5, 32.0]) / 32.0 * largest)
    free, none = given((0.0,), (0.0,)).equivalent_gains(chain(), Inert(DIAGONAL))
    assert not free.any() and not none.any()


def test_gains_of_coupled_joints_are_shared_by_their_mobility():
    stiffness, damping = np.array([50.0, 30.0, 20.0]), np.array([6.0, -1.0, 4.0])
    kp, kv = given(stiffness, damping).equivalent_gains(chain(), Inert(COUPLED))
    critical = 2.0 * np.sqrt(stiffness * np.diag(COUPLED))
    all_of_it = eigh(np.diag(stiffness), COUPLED)[0][-1]
    rates = eigh(np.diag(np.where(damping < 0.0, critical, damping)), COUPLED)[0][-1]
    assert rates > max(50.0 / 6.0, 20.0 / 4.0)
    mobility = np.diag(np.linalg.inv(COUPLED))
    np.testing.assert_allclose(kp, all_of_it * stiffness * mobility / (stiffness * mobility).max())
    alone = np.where(damping < 0.0, 2.0 * np.sqrt(stiffness * mobility), damping * mobility)
    np.testing.assert_allclose(kv, rates * alone / alone.max())


def test_stiffness_with_critical_damping_is_bounded_for_each_joint():
    """kp ≤ 1 / (2 latency)²: joints that are slow enough keep what they have."""
    bound = 1.0 / (2.0 * LATENCY) ** 2
    inertias = np.diag(DIAGONAL)
    parameters = given((40.0 * bound * 0.5, 0.3 * bound * 2.0, 0.99 * bound * 0.125))
    assert given(0.999 * bound * inertias).unstable(chain(), Inert(DIAGONAL), PERIOD, DELAY) == ""
    values = np.array(parameters.joint_stiffness)
    stable = rounded_down(np.minimum(values, bound * inertias * [1.0, 1.0, 1.0]))
    assert parameters.unstable(chain(), Inert(DIAGONAL), PERIOD, DELAY) == at_most(
        "joint_stiffness", values, stable, PERIOD
    )


def test_damping_is_bounded_where_it_is_too_strong():
    """kv < 1 / latency, of the joint that is too fast alone."""
    most = np.diag(DIAGONAL) / LATENCY
    damping = np.array([0.9, 3.0, 0.5]) * most
    parameters = given((1.0,), damping)
    assert given((1.0,), 0.95 * most).unstable(chain(), Inert(DIAGONAL), PERIOD, DELAY) == ""
    stable = rounded_down(np.array([damping[0], most[1], damping[2]]))
    assert parameters.unstable(chain(), Inert(DIAGONAL), PERIOD, DELAY) == at_most(
        "joint_damping", damping, stable, PERIOD
    )


def judged(stiffness, mass):
    """Margin of critical damping of every joint of a coupled arm; it is stable above 1."""
    kp = eigh(np.diag(stiffness), mass)[0][-1]
    kv = eigh(np.diag(2.0 * np.sqrt(stiffness * np.diag(mass))), mass)[0][-1]
    return min(1.0 / (kv * LATENCY), kv / (kp * LATENCY)) ** 2


@pytest.mark.parametrize("scale", [1.5, 4.0, 60.0])
@pytest.mark.parametrize("mass", [COUPLED, COUPLED + np.diag([0.0, -0.45, -0.25])])
def test_coupled_joints_give_way_by_the_first_share_that_is_stable(mass, scale):
    """Of 1, 0.8, 0.6, 0.4, 0.25, 0.15 and 0.1 of what each stands by itself."""
    eigenvalues = np.linalg.eigvalsh(mass)
    assert eigenvalues.min() > 0.0
    stiffness = np.array([1.0, 0.2, 0.6])
    stiffness *= scale * judged(stiffness, mass)
    kp, kv = given(stiffness).equivalent_gains(chain(), Inert(mass))
    own = np.minimum(1.0 / (kv * LATENCY), kv / (kp * LATENCY)) ** 2
    expected = next(
        rounded
        for share in (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.1)
        for rounded in (rounded_down(stiffness * np.minimum(share * own, 1.0)),)
        if judged(rounded, mass) > 1.0
    )
    assert given(stiffness).unstable(chain(), Inert(mass), PERIOD, DELAY) == at_most(
        "joint_stiffness", stiffness, expected, PERIOD
    )


def test_a_stiffness_without_damping_is_never_stable():
    text = given((30.0,), (0.0,)).unstable(chain(), Inert(DIAGONAL), PERIOD, DELAY)
    assert text == (
        "parameter 'joint_stiffness' is 30, 30, 30: no stiffness is stable without damping; a damping of"
        " -1 is critical"
    )


def test_slides_are_judged_over_their_range_too():
    places = np.array([place for place, _ in poses(two_joint_chain(), Inert(np.diag([1.0, 2.0])))])
    assert places[:, 1].min() >= -0.5 and places[:, 1].max() <= 0.5 and np.ptp(places[:, 1]) > 0.9
