"""Functions that the core offers beside its cycle: ramps, setpoints of a stop, and steps of efforts."""

import numpy as np
import pytest

from robot_dynamics.control.core.library import doubles, ffi, load_core

CORE = load_core


def test_a_load_goes_in_a_line_and_at_once_without_a_duration():
    shares = [CORE().rd_ramp_down(since, 2.0) for since in (0.0, 0.5, 1.5, 2.0, 3.0)]
    assert shares == [1.0, 0.75, 0.25, 0.0, 0.0]
    assert CORE().rd_ramp_down(-1.0, 0.0) == 0.0
    assert CORE().rd_ramp_down(0.25, 1.0) == 0.75


def stopped(position, velocity, elapsed, deceleration, span=None):
    place, rate = np.array(position, dtype=float), np.array(velocity, dtype=float)
    limits = ffi().NULL if span is None else doubles(np.array(span, dtype=float).ravel())
    CORE().rd_rest_setpoints(len(place), elapsed, deceleration, limits, doubles(place), doubles(rate))
    return place, rate


@pytest.mark.parametrize("elapsed", [0.0, 0.1, 0.3, 0.5, 0.7, -0.2])
def test_setpoints_of_a_stop_slow_down_together_straight_on(elapsed):
    """The fastest one decelerates with 2 from 1 within 0.5; the others as long, and all rest then."""
    place, velocity = np.array([1.0, -2.0, 3.0]), np.array([0.4, -1.0, 0.0])
    time = min(max(elapsed, 0.0), 0.5)
    found = stopped(place, velocity, elapsed, 2.0)
    left = 1.0 - time / 0.5
    np.testing.assert_allclose(found[1], left * velocity, atol=1e-15)
    np.testing.assert_allclose(found[0], place + (time - time**2) * velocity, rtol=1e-14)


def test_setpoints_of_a_stop_without_a_deceleration_stand_at_once():
    np.testing.assert_array_equal(stopped([1.0, 2.0], [0.5, -0.5], 0.1, 0.0), [[1.0, 2.0], [0.0, 0.0]])


def test_setpoints_of_a_stop_stay_within_their_range_and_return_from_beyond_it_no_farther():
    place, velocity, span = (
        [0.95, -0.95, 1.2, -1.2, 0.0],
        [1.0, -1.0, 1.0, -1.0, 1.0],
        [[-1.0] * 5, [1.0] * 5],
    )
    found = stopped(place, velocity, 1.0, 2.0, span)[0]
    np.testing.assert_allclose(found, [1.0, -1.0, 1.2, -1.2, 0.25])
    inward = stopped([1.2, -1.2], [-1.0, 1.0], 1.0, 2.0, [[-1.0] * 2, [1.0] * 2])[0]
    np.testing.assert_allclose(inward, [0.95, -0.95])


def bounded(wanted, last, steps, limits, safe):
    effort = np.array(wanted, dtype=float)
    given = (doubles(np.array(values, dtype=float)) for values in (last, steps, limits))
    CORE().rd_bound_steps(len(effort), *given, safe, doubles(effort))
    return effort


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("safe", [False, True])
def test_efforts_step_no_further_and_a_safe_output_takes_away_at_once(sign, safe):
    wanted, last = sign * np.array([5.0, 3.0, 1.0, -4.0, 0.0]), sign * np.array([1.0, 2.5, 6.0, 4.0, 5.0])
    expected = sign * (np.array([3.0, 3.0, 1.0, 0.0, 0.0]) if safe else np.array([3.0, 3.0, 4.0, 2.0, 3.0]))
    found = bounded(wanted, last, [2.0] * 5, [100.0] * 5, safe)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert (np.abs(found - last) <= 2.0 + 100.0 * safe).all(), "rounding passes no step"


def test_a_limit_that_is_lowered_counts_at_once():
    np.testing.assert_array_equal(
        bounded([5.0, -5.0], [5.5, -5.5], [0.1, 0.1], [3.0, 3.0], False), [3.0, -3.0]
    )
    np.testing.assert_array_equal(bounded([5.0], [5.05], [0.1], [3.0], False), [5.0])


def test_a_step_that_is_just_allowed_is_taken():
    np.testing.assert_array_equal(
        bounded([3.0, -1.0], [1.0, 1.0], [2.0, 2.0], [9.0, 9.0], False), [3.0, -1.0]
    )
