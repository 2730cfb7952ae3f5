"""Rules of supervision to the state: thresholds, durations, releases. States of a pendulum are made up."""

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint

LIMIT, FOLLOWING = 2.0, 0.1
SETTLED = {"start_motion": -1.0}


class Told:
    """A controller, and a pendulum whose states are told to it.

    Attributes:
        time, place: of the last state [s, rad].
    """

    def __init__(self, rate=0.0, **parameters):
        given = {"max_following_error": (FOLLOWING,), "loop_delay": -1.0, "oscillation": -1.0, **parameters}
        self.control = ArmController(pendulum_chain(velocity=LIMIT), Pendulum(), ArmParameters(**given))
        self.time = self.place = 0.0
        self.control.update(0.0, np.zeros(1), np.array([rate]))

    def state(self, place=None, rate=0.0, elapsed=0.002):
        """A state after some time; the rule that has just tripped, if any."""
        before = self.control.trip
        self.time += elapsed
        self.place = self.place if place is None else place
        self.control.update(self.time, np.array([self.place]), np.array([rate]))
        trip = self.control.trip
        return trip.rule if trip is not None and (before is None or trip.count > before.count) else ""

    def rest(self, duration, elapsed=0.002):
        for _ in range(round(duration / elapsed)):
            assert self.state(elapsed=elapsed) == ""

    def walk(self, place, rate=0.5, elapsed=0.002):
        """States on the way to a place, which keep within every rule."""
        while abs(place - self.place) > 1e-12:
            step = np.clip(place - self.place, -rate * elapsed, rate * elapsed)
            assert self.state(self.place + step, np.sign(step) * rate, elapsed) == ""

    def until_tripped(self, most=1.0, elapsed=0.002, **state):
        """Time that a rule takes with states that stay as they are [s]; its name, or "" after `most`."""
        began = self.time
        while self.time < began + most:
            if rule := self.state(elapsed=elapsed, **state):
                return rule, self.time - began
        return "", most


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("elapsed", "takes"), [(0.002, 0.02), (0.008, 0.024), (0.015, 0.03), (0.05, 0.1)])
def test_a_following_error_trips_after_its_duration_and_three_states(elapsed, takes, side):
    told = Told(**SETTLED)
    told.walk(side * 0.0999)
    assert told.until_tripped(elapsed=elapsed) == ("", 1.0)
    told.state(side * 0.1001, elapsed=elapsed)
    rule, after = told.until_tripped(elapsed=elapsed)
    assert (rule, told.control.phase) == ("following_error", Phase.PROTECTIVE_STOP)
    assert after == pytest.approx(takes)
    trip = told.control.trip
    assert (trip.joint, trip.time, trip.stops, trip.latched) == (0, told.time, True, True)
    np.testing.assert_allclose([trip.measured, trip.allowed], [0.1001, 0.1], atol=1e-12)


def test_an_error_that_goes_below_its_threshold_counts_anew():
    told = Told(**SETTLED)
    told.walk(0.0999)
    told.state(0.1001)
    for _ in range(9):
        assert told.state(0.1001) == ""
    told.state(0.0999)
    told.state(0.1001)
    assert told.until_tripped() == ("following_error", pytest.approx(0.02))


def test_observed_a_rule_warns_again_only_after_its_release():
    told = Told(supervision="observe", **SETTLED)
    told.walk(0.0999)
    told.state(0.101)
    assert told.until_tripped() == ("following_error", pytest.approx(0.02))
    assert told.control.phase is Phase.HOLDING and not told.control.trip.stops
    told.rest(0.1)
    told.state(0.081)  # above 0.8 of the threshold
    told.state(0.101)
    told.rest(0.1)
    told.state(0.079)
    told.state(0.101)
    assert told.until_tripped() == ("following_error", pytest.approx(0.02))
    assert told.control.trip.count == 2


@pytest.mark.parametrize(
    ("kv", "begins", "felt"), [(10.0, 0.205, 2.0), (100.0, 0.49, 2.0 * np.exp(-0.5 * 0.285))]
)
@pytest.mark.parametrize(("share", "trips"), [(0.9, False), (1.1, True)])
def test_an_accelerated_reference_may_lag_by_what_a_wrong_mass_takes(kv, begins, felt, share, trips):
    """By 0.375 of its acceleration over kp, which fades from 2 rad/s² with the time constant kv/kp."""
    told = Told(kp=(50.0,), kv=(kv,), **SETTLED)
    told.control.follow(["swing"], [Waypoint(1.0, (2.0 / 5.7735,))])
    error, behind, found = 0.1 + share * 0.375 * felt / 50.0, 0.0, ""
    while told.time < begins + 0.035:
        behind = min(0.0999, behind + 0.002) if told.time < begins else error
        reference = told.control.reference(told.time + 0.002)
        found = told.state(reference.position[0] - behind, reference.velocity[0] - 0.3) or found
    assert found == ("following_error" if trips else "")


@pytest.mark.parametrize(("elapsed", "takes"), [(0.002, 0.02), (0.015, 0.03)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_overspeed_is_braked_when_positions_have_confirmed_it(elapsed, takes, sign):
    told = Told(max_following_error=(-1.0,), **SETTLED)
    for speed, rule in (2.39, ""), (2.41, "overspeed"):
        began = told.time
        found = ""
        while not found and told.time < began + 0.1:
            found = told.state(told.place + sign * speed * elapsed, sign * speed, elapsed)
        assert found == rule
    assert told.time - began == pytest.approx(takes + elapsed)
    trip = told.control.trip
    np.testing.assert_allclose([trip.measured, trip.allowed], [2.41, 2.4])
    assert told.control.phase in (Phase.PROTECTIVE_STOP, Phase.STOPPING)


@pytest.mark.parametrize(("shown", "trips"), [(0.51, True), (0.49, False), (-1.0, False)])
def test_positions_confirm_a_speed_that_they_show_by_half(shown, trips):
    told = Told(max_following_error=(-1.0,), **SETTLED)
    found = ""
    for _ in range(50):
        found = found or told.state(told.place + shown * 3.0 * 0.002, 3.0)
    assert found == ("overspeed" if trips else "")


def test_a_switched_off_overspeed_trips_nothing():
    told = Told(max_following_error=(-1.0,), overspeed=-1.0, **SETTLED)
    for _ in range(50):
        assert told.state(told.place + 0.006, 3.0) == ""


def test_in_the_first_second_the_robot_stays_within_a_share_of_the_following_error():
    for began, place, rule in ((0.5, 0.0899, ""), (0.5, 0.0901, "start_displacement"), (1.01, 0.0901, "")):
        told = Told()
        told.rest(began)
        told.walk(0.089, 0.2)
        told.state(place)
        found, after = told.until_tripped(0.1)
        assert found == rule
        assert not rule or after == pytest.approx(0.01)
    told = Told()
    told.rest(0.9)
    told.walk(0.0, 0.2)
    while told.place < 0.0905:  # beyond only after the second
        assert told.state(told.place + 0.0004, 0.2) == ""
        assert told.time < 2.0


@pytest.mark.parametrize(
    ("kp", "allowed"),
    [
        (1.0, 0.24),  # 0.12 of the velocity limit
        (100.0, 0.75),  # 0.75 of the spring of the following error
    ],
)
def test_in_the_first_second_the_robot_is_slow(kp, allowed):
    for speed, rule in (0.999 * allowed, ""), (1.001 * allowed, "start_speed"):
        told = Told(kp=(kp,), max_following_error=(FOLLOWING,))
        told.rest(0.3)
        found, began = "", told.time
        while not found and told.time < began + 0.03:
            found = told.state(told.place + 0.002 * speed, speed)
        assert found == rule
        if rule:
            assert told.time - began == pytest.approx(0.012)
            np.testing.assert_allclose(
                [told.control.trip.measured, told.control.trip.allowed], [speed, allowed], rtol=1e-12
            )


def test_a_robot_that_moves_when_control_begins_has_that_speed_to_lose():
    for faster, rule in (1.09, ""), (1.11, "start_speed"):
        told = Told(rate=0.48, kp=(1.0,), max_following_error=(0.5,))
        found = ""
        for _ in range(8):
            found = found or told.state(told.place + 0.002 * faster * 0.48, faster * 0.48)
        assert found == rule


@pytest.mark.parametrize(("last", "latches"), [(5.0, True), (5.002, False)])
def test_three_faults_within_five_seconds_latch(last, latches):
    told = Told(**SETTLED)
    told.rest(0.1)
    began = told.time
    for after in (0.0, 2.0, last):
        told.rest(began + after - 0.002 - told.time)
        told.time = began + after - 0.002
        rule = told.state(rate=100.0)
        assert told.control.phase is Phase.FAULT or rule
    told.rest(0.01)
    assert told.control.latched == latches
    assert (told.control.trip is not None) == latches
    if latches:
        trip = told.control.trip
        assert (trip.rule, trip.joint, trip.measured, trip.allowed) == ("repeated_faults", -1, 3.0, 2.0)
