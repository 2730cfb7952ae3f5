"""Simulated time by itself: pauses, states ahead of the clock, and lost states, to the nanosecond."""

import pytest

from robot_dynamics.control.core.library import ffi, load_core

SECOND, MILLISECOND = 10**9, 10**6
TIMEOUT = 100 * MILLISECOND
START = 50 * SECOND  # of the simulation's clock; the steady one begins at 0


class Clock:
    """Simulated time of a loop: what it is told, and what it answers."""

    def __init__(self):
        self.core, self.time = load_core(), ffi().new("rd_sim_time *")
        self.core.rd_time_init(self.time)

    def says(self, now, steady):
        self.core.rd_time_tell(self.time, now, steady)

    def state(self, stamp):
        self.core.rd_time_note_state(self.time, stamp)

    def runs_away(self, stamp, steady):
        return bool(self.core.rd_time_runs_away(self.time, stamp, steady, TIMEOUT))

    def lost(self, last_state, steady):
        """For how long states have been missing [ns]."""
        return round(SECOND * self.core.rd_time_lost(self.time, last_state, steady, TIMEOUT))


@pytest.fixture
def clock():
    return Clock()


def test_states_are_lost_when_the_clock_went_on_without_them_for_the_timeout(clock):
    clock.says(START, 0)
    clock.state(START)
    clock.says(START + TIMEOUT - 1, TIMEOUT)
    assert clock.lost(0, TIMEOUT) == 0
    clock.says(START + TIMEOUT, TIMEOUT)
    assert clock.lost(1, TIMEOUT) == 0, "a state came less than the timeout ago"
    assert clock.lost(0, TIMEOUT) == TIMEOUT
    clock.says(START + 3 * TIMEOUT, TIMEOUT)
    assert clock.lost(0, TIMEOUT) == 3 * TIMEOUT, "by the simulation's clock"


def test_in_a_pause_nothing_is_lost_unless_nobody_publishes(clock):
    assert clock.lost(0, 100 * SECOND) == 0, "there is no clock yet"
    clock.says(START, 0)
    assert clock.lost(0, 100 * SECOND) == 0, "there was no state yet"
    clock.state(START)
    assert clock.lost(0, 100 * SECOND) == 0
    clock.time.alone = 1
    assert clock.lost(0, TIMEOUT - 1) == 0
    assert clock.lost(MILLISECOND, 100 * SECOND) == 100 * SECOND - MILLISECOND, "by the steady clock"


def test_a_clock_that_is_set_back_counts_on_from_there(clock):
    clock.says(START, 0)
    clock.state(START)
    clock.says(START + 60 * MILLISECOND, 0)
    clock.says(SECOND, 0)
    clock.says(SECOND + 39 * MILLISECOND, 0)
    assert clock.lost(0, SECOND) == 0
    clock.says(SECOND + 41 * MILLISECOND, 0)
    assert clock.lost(0, SECOND) == 101 * MILLISECOND


def test_a_clock_that_is_set_back_before_the_first_state_makes_none(clock):
    clock.says(START, 0)
    clock.says(START - SECOND, 0)
    assert clock.time.at_state == -(2**63) and clock.time.now == START - SECOND
    clock.says(START + 100 * SECOND, 0)
    assert clock.lost(0, 100 * SECOND) == 0


def test_a_clock_that_catches_up_with_the_states_has_not_gone_on_without_them(clock):
    clock.says(START, 0)
    clock.state(START + SECOND)
    clock.says(START + SECOND + TIMEOUT - 1, 0)
    assert clock.lost(0, SECOND) == 0
    clock.says(START + SECOND + TIMEOUT, 0)
    assert clock.lost(0, SECOND) == TIMEOUT
    clock.says(START, 0)
    clock.state(START + SECOND + 1)  # of another time
    clock.says(START + SECOND, 0)
    assert clock.lost(0, SECOND) == SECOND


def test_states_from_a_clock_that_stands_run_away_after_the_timeout(clock):
    clock.says(START, 0)
    assert not clock.runs_away(START + SECOND, TIMEOUT - 1), "the clock does not stand yet"
    clock.says(START, TIMEOUT - 1)  # nothing new
    assert not clock.runs_away(START + TIMEOUT, TIMEOUT), "no farther ahead than the timeout"
    clock.says(START, 3 * TIMEOUT - 1)  # nothing new either
    first = 3 * TIMEOUT
    assert not clock.runs_away(START + TIMEOUT + 1, first)
    assert not clock.runs_away(START + TIMEOUT + 2, first + TIMEOUT - 1)
    assert clock.runs_away(START + TIMEOUT + 3, first + TIMEOUT)
    clock.says(START + 1, first + TIMEOUT)
    assert not clock.runs_away(START + SECOND, first + 2 * TIMEOUT - 1), "the clock goes on"
    assert not clock.runs_away(START + SECOND, first + 2 * TIMEOUT)
    assert clock.runs_away(START + SECOND, first + 3 * TIMEOUT)


def test_states_without_a_stamp_are_ahead_of_a_clock_that_stands(clock):
    clock.says(START, 0)
    assert not clock.runs_away(0, TIMEOUT)
    assert clock.runs_away(0, 2 * TIMEOUT)


def test_a_clock_that_was_never_published_is_a_fault_of_every_state(clock):
    assert clock.runs_away(START, 0)
    assert clock.time.ahead_since == 0
    assert clock.runs_away(START, SECOND)
    assert clock.time.ahead_since == 0, "the first one counts"
