"""Quintics and smooth paths from rest to rest, for the control tests."""

import numpy as np

from robot_dynamics.control.spline import minimum_jerk_spline


def rest_to_rest(begin, end):
    """Coefficients of the quintic from rest at one place to rest at another, of times from 0 to 1."""
    way = end - begin
    return [begin, 0.0, 0.0, 10.0 * way, -15.0 * way, 6.0 * way]


def rows_at_ends(end=1.0):
    """(6, 6) value, first and second derivative of the powers of time at 0 and at the end."""
    polynomials = np.polynomial.polynomial
    return np.array(
        [
            [polynomials.polyval(time, polynomials.polyder(power, order)) for power in np.eye(6)]
            for time in (0.0, end)
            for order in range(3)
        ]
    )


def opened(count, joints=1):
    """(count, joints) derivatives at waypoints: zero at both ends, and open between them."""
    rates = np.full((count, joints), np.nan)
    rates[[0, -1]] = 0.0
    return rates


def smooth_path(times, positions):
    """Path of least jerk through positions (K, n), from rest to rest."""
    times, positions = np.asarray(times, dtype=float), np.asarray(positions, dtype=float)
    return minimum_jerk_spline(times, positions, opened(*positions.shape), opened(*positions.shape))
