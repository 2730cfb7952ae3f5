"""Rests from which payloads are estimated: their lengths, and the sides from which joints came."""

import numpy as np
import pytest

from robot_dynamics.control.arm.payload_estimate import rests


def steps(*parts):
    """Times, and velocities of three joints, for so many states of 0.125 s with each velocity."""
    velocities = np.array([one for count, one in parts for _ in range(count)])
    return 7.0 + 0.125 * np.arange(len(velocities)), velocities


def test_rests_have_the_side_from_which_each_joint_came():
    """Longer than 0.3 s, after an approach; joints that stood keep the side of their last approach."""
    times, velocities = steps(
        (2, (0.0, 0.0, 0.0)),
        (3, (0.5, -0.03, 0.0)),
        (5, (0.0, 0.0, 0.0)),
        (2, (0.0, 0.04, -0.015)),
        (6, (0.004, -0.005, 0.005)),
        (3, (-0.2, 0.0, 0.0)),
        (2, (0.0, 0.0, 0.0)),
        (2, (0.0, 0.0, 0.3)),
        (5, (0.0, 0.0, 0.0)),
    )
    found = rests(times, np.zeros_like(velocities), velocities)
    assert [k for k, _ in found] == [9, 17, 29]
    np.testing.assert_array_equal(
        [came for _, came in found], [[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 1.0]]
    )


def test_a_rest_is_long_comes_after_an_approach_and_may_end_the_motion():
    """0.02 is no approach yet, and 0.005 no motion; a rest without an approach is none of its own."""
    still, slow, fast = (0.0, 0.0, 0.0), (0.02, 0.01, 0.0), (0.0, 0.0, -0.021)
    for parts, expected in (
        ([(9, still)], []),
        ([(3, slow), (9, still)], []),
        ([(3, fast), (5, still)], [7]),
        ([(3, fast), (3, still)], []),
        ([(3, fast), (4, still)], [6]),
        ([(3, fast), (5, still), (1, slow), (9, still)], [7]),
        ([(3, fast), (5, still), (1, slow), (9, still), (1, fast), (5, still)], [7, 23]),
        ([(3, fast), (9, (0.005, -0.005, 0.0))], [11]),
        ([(3, fast), (5, still), (1, (0.0051, 0.0, 0.0)), (1, still)], [7]),
        ([(3, fast)], []),
    ):
        times, velocities = steps(*parts)
        found = rests(times, np.zeros_like(velocities), velocities)
        assert [k for k, _ in found] == expected, parts
        assert all(came.tolist() == [0.0, 0.0, -1.0] for _, came in found)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_rest_is_longer_than_three_tenths_of_a_second(goes_on):
    fast = (0.5, -0.5)
    velocities = np.array([fast, fast, (0.0, 0.0), (0.0, 0.0), fast if goes_on else (0.0, 0.0)])
    for end, found in ((0.3, []), (0.301, [3 if goes_on else 4])):
        times = np.array([-0.2, -0.1, 0.0, 0.1, end])
        assert [k for k, _ in rests(times, np.zeros((5, 2)), velocities)] == found
