"""Oscillations that the feedback feeds, to the state: velocity errors of a pendulum that are made up."""

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters

KP, KV, LIMIT, PERIOD = 100.0, 20.0, 2.0, 0.002
FLOOR = 0.02 * LIMIT  # speed of an oscillation


class Swung:
    """A controller at rest that is told velocities."""

    def __init__(self, rests=20, **parameters):
        given = {
            "kp": (KP,), "kv": (KV,), "max_following_error": (-1.0,), "start_motion": -1.0,
            "loop_delay": -1.0, "half_period_ahead": False, **parameters,
        }  # fmt: skip
        self.control = ArmController(pendulum_chain(velocity=LIMIT), Pendulum(), ArmParameters(**given))
        self.time, self.count = 0.0, 0
        for _ in range(rests):
            self.state(0.0)

    def state(self, rate, place=0.0, elapsed=PERIOD):
        """A state; whether it is an oscillation."""
        self.time += elapsed
        self.command = self.control.update(self.time, np.array([place]), np.array([rate]))
        trip = self.control.trip
        return trip is not None and trip.rule == "oscillation"

    def halves(self, amplitudes, states=5, fed=0.5):
        """Half periods of square waves, each of so many states; how many until it is an oscillation.

        The position error pulls along the velocity with `fed` of what the damping takes.
        """
        for k, amplitude in enumerate(amplitudes):
            speed = amplitude * (-1.0) ** k
            for i in range(states):
                if self.state(speed, -fed * KV / KP * speed):
                    return k + i / states
        return None


def test_six_half_periods_in_a_row_are_an_oscillation():
    swung = Swung()
    assert swung.halves([1.02 * FLOOR] * 12) == 7.0 - 1.0
    trip = swung.control.trip
    np.testing.assert_allclose([trip.measured, trip.allowed], [1.02 * FLOOR, FLOOR])
    assert (trip.joint, trip.stops) == (0, True)
    assert Swung().halves([0.98 * FLOOR] * 12) is None
    assert Swung(oscillation=-1.0).halves([1.5 * FLOOR] * 12) is None
    assert Swung(oscillation=0.05).halves([2.4 * FLOOR] * 12) is None
    assert Swung(oscillation=0.05).halves([2.6 * FLOOR] * 12) is not None


def test_one_that_decays_by_more_than_a_tenth_is_none():
    for factor, found in (0.91, True), (0.89, False):
        amplitudes = 2.5 * FLOOR * factor ** np.arange(8)
        assert (Swung().halves(amplitudes) is not None) == found


def test_a_half_period_below_the_floor_begins_the_count_anew():
    assert Swung().halves([1.05 * FLOOR] * 5 + [0.99 * FLOOR] + [1.05 * FLOOR] * 5) is None
    assert Swung().halves([1.05 * FLOOR] * 5 + [0.99 * FLOOR] + [1.05 * FLOOR] * 8) == 12.0


def test_one_that_is_slower_than_the_loop_is_none():
    """Half a period of the loop is pi / (2 sqrt(kp)), 0.157 s."""
    assert Swung().halves([1.05 * FLOOR] * 8, states=78) is not None
    assert Swung().halves([1.05 * FLOOR] * 8, states=79) is None


def test_one_from_which_damping_takes_half_of_what_it_could_is_driven_by_something_else():
    """With five states in a half period four of five damp: 0.8 (1 - fed) of the whole."""
    assert Swung().halves([2.0 * FLOOR] * 12, fed=0.36) is None
    assert Swung().halves([2.0 * FLOOR] * 12, fed=0.39) is not None


def test_what_is_within_a_tenth_of_the_floor_has_no_sign():
    swung = Swung()
    for _ in range(20):
        for rate in (1.05, 1.05, -0.09, 1.05, 1.05):
            assert not swung.state(rate * FLOOR, -0.5 * KV / KP * rate * FLOOR)


def test_one_that_swells_evenly_counts_sooner():
    """Its growth times 2 for each half period has to come to 100; 3.4 to the fourth is more."""
    swells = 0.1 * FLOOR * 1.7 ** np.arange(7)
    assert Swung().halves(swells, states=2) == 4.0
    assert Swung().halves(swells[:4], states=2) is None
    assert Swung().halves(0.1 * FLOOR * 1.25 ** np.arange(12), states=2) is None
    assert Swung().halves(0.05 * FLOOR * 1.7 ** np.arange(5), states=2) is None, "below half of the floor"
    assert Swung(rests=6).halves(swells[:5], states=2) == 4.0
    assert Swung(rests=5).halves(swells[:5], states=2) is None, "the first states tell nothing"


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ((1.0, -2.0, 4.0, -8.0), True),
        ((-1.0, 2.0, -4.0, 8.0), True),
        ((1.0, -2.0, 4.0, -7.9), False),  # grows by less than twice
        ((1.0, -1.9, 4.0, -8.0), False),
        ((1.0, -2.0, 4.0, 8.0), False),  # does not turn
        ((1.0, 2.0, -4.0, 8.0), False),
        ((1.0, -2.0, 9.0, -18.0), False),  # unevenly
        ((1.0, -2.0, 4.0, -15.9), True),  # the last one as much as twice as fast
        ((1.0, -2.0, 4.0, -16.1), False),
        ((1.0, -4.0, 8.1, -16.2), True),
        ((1.0, -4.1, 8.2, -16.4), False),
    ],
)
def test_an_error_that_turns_and_doubles_in_three_states_is_an_oscillation(rates, found):
    swung = Swung()
    assert [swung.state(1e-3 * rate) for rate in rates] == [False] * 3 + [found]


def test_a_turning_error_counts_beyond_its_least_size_and_eight_times_the_noise():
    """2e-4 rad/s are 1e-4 of the velocity limit."""
    for scale, found in (0.26e-4, True), (0.24e-4, False):
        swung = Swung()
        assert [swung.state(scale * rate) for rate in (1.0, -2.0, 4.0, -8.0)][-1] == found
    for noise, found in (0.9e-3, True), (1.3e-3, False):
        swung = Swung(rests=400)
        for k in range(600):  # of a noise that does not turn in every state
            swung.state(noise * (-1.0) ** (k // 2))
        for _ in range(4):
            swung.state(0.0)
        assert [swung.state(1e-3 * rate) for rate in (1.0, -2.0, 4.0, -8.0)][-1] == found


def test_a_fast_error_counts_when_it_has_turned_twice_and_not_become_less():
    """Beyond a quarter of the velocity limit, 0.5 rad/s, and half of it before."""
    for rates, found in (
        ((0.26, -0.4, 0.51), True),
        ((0.24, -0.4, 0.51), False),
        ((0.26, -0.4, 0.49), False),
        ((0.41, -0.4, 0.51), False),
        ((0.26, 0.4, -0.51), False),
        ((0.26, -0.52, 0.51), False),
    ):
        swung = Swung()
        assert [swung.state(rate) for rate in rates] == [False, False, found], rates


def test_gains_fall_by_how_much_an_oscillation_swells():
    """By half where it does not: 1 / (1 + 1)."""
    for amplitudes, share in ([1.05 * FLOOR] * 12, 0.5), (None, 1.0 / 3.0):
        swung = Swung()
        if amplitudes is not None:
            assert swung.halves(amplitudes) is not None
        else:
            assert [swung.state(1e-3 * rate) for rate in (1.0, -2.0, 4.0, -8.0)][-1]
        for _ in range(5):
            swung.state(0.0)
        weight = float(swung.command.unlimited[0])
        swung.state(0.001)
        found = (float(swung.command.unlimited[0]) - weight - Pendulum.damping * 0.001) / Pendulum.inertia
        assert found / (-KV * 0.001) == pytest.approx(share, rel=0.02)
