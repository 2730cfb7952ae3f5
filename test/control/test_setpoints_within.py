"""Setpoints of three drives in made-up states: bounds, ends, restarts, and stops without states."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

N, PERIOD = 3, 0.004
PLACE = np.array([0.1, 0.2, -0.3])
SPEED = np.array([3.0, 2.0, 4.0])
FOLLOWING = np.array([0.25, 0.5, 0.125])


class Drives(MadeUpArm):
    """Drives with a setpoint every 4 ms, the last one at 4 s; what lies behind arrays is 5 or 7."""

    def __init__(self, command="POSITION"):
        super().__init__(N)
        s, core = self.settings, self.core
        s.command = getattr(self.calls, f"RD_COMMAND_{command}")
        s.setpoint_speed, s.setpoint_deceleration, s.setpoint_gain = 0.2, 3.0, 5.0
        s.safe_fade_time = 0.5
        rules = self.rules = self.ffi.new("rd_rules *")
        rules.following = self._array([*FOLLOWING, 1e-9])
        s.rules = rules
        self.setting(setpoint_range=[-9.0] * 3 + [9.0] * 3, velocity_limits=[*SPEED, 1e-9])
        core.phase = self.calls.RD_TRACKING
        core.setpoints.known, core.setpoints.time, core.setpoints.period = 1, 4.0, PERIOD
        self.put(setpoints__position=PLACE, setpoints__velocity=0.0, state__position=PLACE,
                 state__velocity=5.0, felt=7.0, unlimited=7.0)  # fmt: skip
        core.scratch[3][0] = 5.0

    def advance(self, place, rate, time=4.0 + PERIOD):
        """Positions and velocities that are sent."""
        self.put(reference__position=place, reference__velocity=rate)
        self.calls.rd_advance_setpoints(self.core, time)
        return self.sent()

    def sent(self):
        np.testing.assert_array_equal(self.get("felt"), 7.0)
        assert self.core.scratch[3][0] == 5.0
        return np.array([self.get("setpoints__position"), self.get("setpoints__velocity")])


RATE = np.array([0.5, -0.3, 0.7])


@pytest.fixture
def drives():
    return Drives()


def test_on_the_reference_velocities_are_its_own_to_the_last_bit(drives):
    found = drives.advance(PLACE + PERIOD * RATE, RATE)
    np.testing.assert_array_equal(found[1], RATE)
    np.testing.assert_allclose(found[0], PLACE + PERIOD * RATE, rtol=1e-12)


def test_only_efforts_need_no_setpoints():
    made = Drives("EFFORT")
    np.testing.assert_array_equal(made.advance(PLACE + 0.1, RATE), [PLACE, np.zeros(3)])
    made.calls.rd_begin_setpoint_stop(made.core, 0.1)
    assert made.core.setpoints.stops == 0


@pytest.mark.parametrize("joint", range(N))
@pytest.mark.parametrize("sign", [1, -1])
def test_the_joint_that_is_farthest_away_slows_the_way_back_of_all(joint, sign):
    made = Drives()
    away = np.array([0.001, -0.002, 0.0015])
    away[joint] = 0.08 * sign
    found = made.advance(PLACE + PERIOD * RATE + away, RATE)
    share = PERIOD * (0.2 + 3.0 * PERIOD) / 0.08
    step = PERIOD * RATE + share * away
    np.testing.assert_allclose(found, [PLACE + step, step / PERIOD], rtol=1e-9)


@pytest.mark.parametrize("joint", range(N))
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("command", ["POSITION", "VELOCITY"])
def test_no_joint_is_sent_faster_than_it_may_be(command, joint, sign):
    made = Drives(command)
    rate = np.array([0.3, -0.2, 0.4])
    rate[joint] = 1.25 * sign * SPEED[joint]
    found = made.advance(PLACE + PERIOD * rate, rate)
    assert (np.abs(found[1]) <= SPEED).all() and abs(found[1][joint]) > SPEED[joint] * (1.0 - 3e-9)
    np.testing.assert_allclose(found[0] - PLACE, PERIOD * rate / 1.25, rtol=1e-7)
    if command == "POSITION":
        np.testing.assert_allclose(found[1], rate / 1.25, rtol=1e-7)


def test_velocities_are_corrected_by_the_position_within_the_speed_of_corrections():
    made = Drives("VELOCITY")
    made.put(state__position=np.add(PLACE, [0.02, -0.3, 0.3]))
    found = made.advance(PLACE + PERIOD * RATE, RATE)
    first = 5.0 * (PERIOD * RATE[0] - 0.02)
    np.testing.assert_allclose(found[1], np.add(RATE, [first, 0.2, -0.2]))


@pytest.mark.parametrize(("braked", "share", "stands"), [
    (1, 0.0, True), (1, 0.5, False), (1, 1.0, False), (0, 0.0, False),
])  # fmt: skip
def test_drives_stand_while_brakes_hold_all(braked, share, stands):
    made = Drives()
    s = made.settings
    made.core.braked, s.brakes, s.brake_fade = braked, made.calls.RD_FALLING, 1.0
    s.brake_from = 4.0 + PERIOD - (1.0 - share)
    found = made.advance(PLACE + PERIOD * RATE, RATE)
    np.testing.assert_allclose(
        found, [PLACE + 0.0 * RATE, 0.0 * RATE] if stands else [PLACE + PERIOD * RATE, RATE]
    )
    assert made.core.setpoints.restarts == int(stands)


@pytest.mark.parametrize(("restarts", "braked", "begins"), [
    (0, 0, False), (1, 0, True), (2, 0, True), (0, 1, False), (1, 1, False), (2, 1, True),
])  # fmt: skip
def test_setpoints_begin_where_the_joints_are_when_brakes_let_go(restarts, braked, begins):
    made = Drives()
    s = made.settings
    made.core.braked, s.brakes, s.brake_fade, s.brake_from = braked, made.calls.RD_FALLING, 0.5, 1.0
    made.core.setpoints.restarts = restarts
    made.put(state__position=PLACE + 0.03)
    found = made.advance(PLACE + PERIOD * RATE, RATE)
    expected = PLACE + 0.03 if begins else PLACE if braked else PLACE + PERIOD * RATE
    np.testing.assert_allclose(found[0], expected)
    np.testing.assert_allclose(found[1], 0.0 if begins or braked else RATE)


@pytest.mark.parametrize("joint", range(N))
@pytest.mark.parametrize("sign", [1, -1])
def test_drives_that_are_elsewhere_after_a_stop_begin_there(joint, sign):
    place = np.array([0.25, -0.5, 0.75])
    for stops, away, begins in ((1, 1.0, False), (1, 1.001, True), (0, 3.0, False)):
        made = Drives()
        made.core.setpoints.stops = stops
        measured = place.copy()
        measured[joint] += sign * away * FOLLOWING[joint]
        made.put(setpoints__position=place, state__position=measured)
        found = made.advance(place, np.zeros(3))
        np.testing.assert_array_equal(found[0], measured if begins else place)
        assert made.core.setpoints.stops == 0 and made.core.setpoints.period == pytest.approx(PERIOD)


def test_without_rules_drives_are_elsewhere_beyond_a_jump(drives):
    drives.settings.rules, drives.settings.state_jump = drives.ffi.NULL, 0.0625
    for away, begins in ((0.06, False), (0.07, True)):
        drives.core.setpoints.stops, drives.core.setpoints.time = 1, 4.0
        drives.put(setpoints__position=PLACE, state__position=np.add(PLACE, [0.0, away, 0.0]))
        found = drives.advance(PLACE, np.zeros(3))
        assert (found[0][1] != PLACE[1]) == begins


def test_the_same_time_twice_and_one_before_stand_and_have_no_period(drives):
    drives.advance(PLACE + PERIOD * RATE, RATE)
    for time in (4.0 + PERIOD, 3.9):
        before = drives.sent()[0]
        found = drives.advance(PLACE + 0.1, RATE, time)
        np.testing.assert_array_equal(found, [before, np.zeros(3)])
        assert drives.core.setpoints.period == 0.0
    found = drives.advance(before + 0.25 * RATE, RATE, 4.15)
    np.testing.assert_allclose(found[0], before + 0.25 * RATE, err_msg="then any time counts whole")


# Stops


def rested(drives, elapsed, deceleration, velocity, bounds=None):
    place, speed = (drives._array([*values, 9.0]) for values in (PLACE, velocity))
    bounds = drives.ffi.NULL if bounds is None else drives._array(bounds)
    drives.calls.rd_rest_setpoints(N, elapsed, deceleration, bounds, place, speed)
    assert place[N] == speed[N] == 9.0
    return np.array([list(place)[:N], list(speed)[:N]])


@pytest.mark.parametrize("fastest", range(N))
@pytest.mark.parametrize("deceleration", [0.5, 3.0])
def test_drives_rest_together_when_the_fastest_does(drives, fastest, deceleration):
    velocity = np.array([0.1, -0.15, 0.05])
    velocity[fastest] = -0.6
    for elapsed in (0.0, 0.05, 0.6 / deceleration, 9.0):
        time = min(elapsed, 0.6 / deceleration)
        left = 1.0 - time * deceleration / 0.6
        found = rested(drives, elapsed, deceleration, velocity)
        way = time * velocity - 0.5 * time**2 * velocity * deceleration / 0.6
        np.testing.assert_allclose(found, [PLACE + way, left * velocity], rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(rested(drives, 0.3, 0.0, velocity), [PLACE, np.zeros(3)])
    np.testing.assert_array_equal(rested(drives, -0.3, 0.5, velocity), [PLACE, velocity])
    ends = rested(drives, 9.0, 0.5, velocity, [*(PLACE - 0.01), *(PLACE + 0.01)])[0]
    np.testing.assert_allclose(ends, PLACE + 0.01 * np.sign(velocity))


@pytest.mark.parametrize(("command", "age", "stands"), [
    ("POSITION", 0.01, False), ("POSITION", 0.0101, True), ("VELOCITY", 0.05, False),
    ("VELOCITY", 0.001, False),
])  # fmt: skip
def test_a_stop_begins_where_the_drives_are_by_now(command, age, stands):
    made = Drives(command)
    made.put(setpoints__velocity=RATE)
    made.calls.rd_begin_setpoint_stop(made.core, age)
    np.testing.assert_allclose(
        made.sent(), [PLACE, 0.0 * RATE] if stands else [PLACE + age * RATE, RATE], rtol=1e-12
    )


def test_a_stop_goes_on_by_the_time_since_the_fault():
    made = Drives()
    made.settings.setpoint_deceleration = 2.0
    made.put(setpoints__velocity=RATE)
    velocity, place = RATE, PLACE
    for since, elapsed in ((0.0, PERIOD), (0.05, 0.05), (0.07, 0.02)):
        made.calls.rd_stop_setpoints(made.core, since)
        left = 1.0 - elapsed * 2.0 / np.abs(velocity).max()
        place, velocity = place + 0.5 * (1.0 + left) * elapsed * velocity, left * velocity
        np.testing.assert_allclose(made.sent(), [place, velocity], rtol=1e-9)


@pytest.mark.parametrize("joint", range(N))
def test_a_safe_output_of_setpoints_goes_on_until_all_of_them_rest(joint):
    made = Drives()
    goes_on = made.calls.rd_safe_output_goes_on
    made.put(effort=7.0)
    assert goes_on(made.core, 0.4999) == 1 and goes_on(made.core, 0.5) == 0
    made.core.setpoints.known = 0
    assert goes_on(made.core, 0.1) == 0
    made.core.setpoints.velocity[joint] = -1e-9
    assert goes_on(made.core, 0.6) == 1


@pytest.mark.parametrize("joint", range(N))
def test_a_safe_output_of_efforts_goes_on_until_all_of_them_are_zero(joint):
    made = Drives("EFFORT")
    goes_on = made.calls.rd_safe_output_goes_on
    made.put(setpoints__velocity=7.0, effort=0.0)
    assert goes_on(made.core, 0.1) == 0
    made.core.effort[joint] = -1e-9
    assert goes_on(made.core, 0.6) == 1
