"""The reference of a platform after a gap between two states restarts where the platform is."""

import numpy as np
import pytest
from motion_base import motion_base

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint

PERIOD, KP, KV = 0.004, 100.0, 20.0
HOLD = np.array([2.0, 3.0])  # decelerations, of position and of orientation


@pytest.fixture(scope="module")
def base():
    return motion_base()


def turned(yaw):
    return [0.0, 0.0, np.sin(0.5 * yaw), np.cos(0.5 * yaw)]


class Turning:
    """A platform in motion, translating and turning about the vertical; states are those of the reference."""

    def __init__(self, base, **parameters):
        self.base, self.home = base, base.machine.home_position
        given = {"kp": (KP,), "kv": (KV,), "max_acceleration": HOLD[0], "max_angular_acceleration": HOLD[1]}
        self.control = StewartController(
            base, StewartParameters(safe_output="gravity_fade", **given | parameters)
        )
        self.time = 0.0
        self.state(np.zeros(4), np.zeros(4))
        goal = self.home + np.array([0.1, -0.05, 0.04])
        self.plan = self.control.follow([PoseWaypoint(1.5, goal, turned(0.1))])

    def entries(self, motion):
        """(3, 4) position from home and yaw, their rates and accelerations."""
        yaw = np.arctan2(motion.rotation[1, 0], motion.rotation[0, 0])
        return np.array(
            [
                [*(motion.position - self.home), yaw],
                [*motion.linear_velocity, motion.angular_velocity[2]],
                [*motion.linear_acceleration, motion.angular_acceleration[2]],
            ]
        )

    def expected(self, time):
        """Reference of the plan."""
        return self.entries(self.plan.sample(time))

    def state(self, place, rate):
        """A cycle with the platform there; the reference of its command."""
        legs = self.base.legs(self.home + place[:3], turned(place[3]))
        rates = legs.jacobian @ np.array([*rate[:3], 0.0, 0.0, rate[3]])
        return self.entries(self.control.update(self.time, legs.lengths, rates).reference)

    def run(self, until):
        while self.time + PERIOD < until - 1e-9:
            self.time += PERIOD
            self.state(*self.expected(self.time)[:2])


def bend(s):
    """The quintics of a distance and of a rate of 1 and 0, with their derivatives."""
    place = [
        1 - 10 * s**3 + 15 * s**4 - 6 * s**5,
        -30 * s**2 + 60 * s**3 - 30 * s**4,
        -60 * s + 180 * s**2 - 120 * s**3,
    ]
    rate = [
        s - 6 * s**3 + 8 * s**4 - 3 * s**5,
        1 - 18 * s**2 + 32 * s**3 - 15 * s**4,
        -36 * s + 96 * s**2 - 60 * s**3,
    ]
    return np.array(place), np.array(rate)


@pytest.mark.parametrize(
    ("away", "rate"),
    [
        ((0.015, -0.02, 0.0, 0.004), (0.0, 0.0, 0.0, 0.0)),  # the position takes longest
        ((0.002, 0.0, 0.0, 0.03), (0.0, 0.0, 0.0, 0.1)),  # the angle
        ((0.0, 0.0, 0.001, 0.0), (0.05, 0.12, 0.0, -0.05)),  # the velocity
        ((0.0, 0.0, 0.001, 0.0), (0.02, 0.0, 0.0, 0.25)),  # the rate of the angle
    ],
)
def test_the_reference_restarts_where_the_platform_is_and_fades_back_with_the_hold_s_deceleration(
    base, away, rate
):
    turning = Turning(base)
    turning.run(0.5)
    turning.time += 0.03
    began, d, v = turning.time, np.array(away), np.array(rate)
    place, velocity, _ = turning.expected(began)
    found = turning.state(place + d, velocity + v)
    np.testing.assert_allclose(found[:2], [place + d, velocity + v], atol=1e-8)
    parts = (np.linalg.norm(d[:3]), d[3]), (np.linalg.norm(v[:3]), v[3])
    duration = max(
        *(np.sqrt(5.78 * abs(size) / most) for size, most in zip(parts[0], HOLD, strict=True)),
        *(4.0 * abs(size) / most for size, most in zip(parts[1], HOLD, strict=True)),
    )
    while turning.time < began + 1.1 * duration:
        turning.time += PERIOD
        expected, share = turning.expected(turning.time), (turning.time - began) / duration
        if share < 1.0:
            of_place, of_rate = bend(share)
            scales = np.array([[1.0], [1.0 / duration], [1.0 / duration**2]])
            expected = expected + scales * (np.outer(of_place, d) + duration * np.outer(of_rate, v))
        found = turning.state(*expected[:2])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("gap", "away", "rejoins"),
    [
        (0.0201, 0.021, True),
        (0.0199, 0.021, False),  # no gap yet
        (0.03, 0.019, False),  # feedback asks for less than the deceleration of a hold
        (0.03, -0.021, True),
    ],
)
def test_short_gaps_and_small_distances_are_left_to_feedback(base, gap, away, rejoins):
    turning = Turning(base)
    turning.run(0.5)
    turning.time += gap
    place, velocity, _ = turning.expected(turning.time)
    found = turning.state(place + np.array([away, 0.0, 0.0, 0.0]), velocity)
    np.testing.assert_allclose(found[0, 0], place[0] + rejoins * away, atol=1e-8)


def test_with_longer_periods_a_gap_is_longer(base):
    for gap, rejoins in (0.049, False), (0.051, True):
        turning = Turning(base)
        for _ in range(40):
            turning.time += 0.01
            turning.state(*turning.expected(turning.time)[:2])
        turning.time += gap
        place, velocity, _ = turning.expected(turning.time)
        found = turning.state(place + np.array([0.021, 0.0, 0.0, 0.0]), velocity)
        np.testing.assert_allclose(found[0, 0], place[0] + rejoins * 0.021, atol=1e-8)
