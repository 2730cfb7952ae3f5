"""Ages of joint states by the steady clock, by stamps and by a simulated clock."""

import math

import pytest

from robot_dynamics.control.state_age import SimulatedTime, StateAge

S = 1_000_000_000


def test_a_state_is_as_old_as_it_was_when_it_came_and_the_time_since():
    age = StateAge(simulated=False)
    assert age.seconds(50 * S, 7 * S, 0.5) == math.inf
    assert age.objection(50 * S, 7 * S, 0.5) == "there is no joint state yet"
    age.note(50 * S, 7 * S, 50 * S - S // 4, 0.5)
    assert age.seconds(60 * S, 7 * S, 0.5) == pytest.approx(0.25)
    assert age.seconds(60 * S, 7 * S + S // 8, 0.5) == pytest.approx(0.375)
    assert age.objection(60 * S, 7 * S + S // 4, 0.5) == ""
    assert age.objection(60 * S, 7 * S + S // 4 + 1000, 0.5) == "no joint state for 0.5 s"
    age.forget()
    assert age.seconds(60 * S, 8 * S, 0.5) == math.inf
    age.note(60 * S, 8 * S, 0, 0.5)  # without a stamp
    assert age.seconds(60 * S, 8 * S, 0.5) == 0.0


@pytest.mark.parametrize(
    ("behind", "seconds"),
    [(3 * S, 3.0), (10 * S - 1, 10.0), (10 * S, 0.0), (11 * S, 0.0), (-2 * S, 0.0), (50 * S, 0.0), (0, 0.0)],
)
def test_stamps_of_another_clock_and_of_the_future_do_not_count(behind, seconds):
    age = StateAge(simulated=False)
    age.note(40 * S, 3 * S, 39 * S, 0.5)
    age.note(50 * S, 7 * S, 50 * S - behind, 0.5)
    assert age.seconds(50 * S, 7 * S, 0.5) == pytest.approx(seconds)
    age.note(60 * S, 8 * S, 60 * S - S // 2, 0.5)
    age.forget()
    age.note(60 * S, 9 * S, 60 * S, 0.5)
    assert age.seconds(61 * S, 9 * S, 0.5) == 0.0


def test_states_that_come_late_are_objected_to_with_their_delay():
    age = StateAge(simulated=False)
    age.note(50 * S, 7 * S, 50 * S - 1_234_500_000, 0.5)
    told = "joint states come 1.23 s after their stamps"
    assert age.objection(50 * S, 7 * S, 0.5) == told
    assert age.objection(50 * S, 7 * S + S // 2, 0.5) == told
    assert age.objection(50 * S, 7 * S + S // 2 + 1000, 0.5) == "no joint state for 0.5 s"
    exact = StateAge(simulated=False)
    exact.note(50 * S, 7 * S, 50 * S - S // 2, 0.5)
    assert exact.objection(50 * S, 7 * S, 0.5) == ""
    assert exact.objection(50 * S, 7 * S + 1000, 0.5) == "no joint state for 0.5 s"


def simulated(alone=False):
    """A state at 20 s of a clock that runs."""
    nobody = [alone]
    age = StateAge(simulated=True, alone=lambda: nobody[0])
    age.look(20 * S, 7 * S)
    age.note(20 * S, 7 * S, 20 * S, 0.5)
    return age, nobody


def test_a_pause_of_a_simulation_loses_nothing_and_a_clock_that_goes_on_does():
    age, _ = simulated()
    assert age.seconds(20 * S, 90 * S, 0.5) == 0.0 and age.objection(20 * S, 90 * S, 0.5) == ""
    assert age.seconds(20 * S + S // 4, 91 * S, 0.5) == pytest.approx(0.25)
    assert age.seconds(20 * S + 3 * S // 4, 92 * S, 0.5) == pytest.approx(0.75)
    assert age.objection(20 * S + 3 * S // 4, 92 * S, 0.5) == "no joint state for 0.5 s"
    at_once, _ = simulated()
    assert at_once.seconds(20 * S + S // 20, 7 * S, 0.5) == pytest.approx(0.05)
    fast, _ = simulated()
    assert fast.seconds(23 * S, 7 * S + S // 4, 0.5) == 0.5  # by the steady clock none is missing


def test_without_anybody_who_publishes_states_a_pause_loses_them():
    age, nobody = simulated()
    assert age.seconds(20 * S, 8 * S, 0.5) == 0.0
    nobody[0] = True
    assert age.seconds(20 * S, 7 * S + S // 2, 0.5) == pytest.approx(0.5)
    assert age.seconds(20 * S, 9 * S, 0.5) == pytest.approx(2.0)
    assert age.seconds(20 * S, 7 * S + S // 4, 0.5) == 0.0
    assert age.objection(20 * S, 9 * S, 0.5) == "no joint state for 0.5 s"


def test_nobody_is_asked_before_a_state_is_missing_and_by_default_somebody_publishes():
    asked = []
    age = StateAge(simulated=True, alone=lambda: asked.append(1) or False)
    age.note(20 * S, 7 * S, 20 * S, 0.5)
    age.seconds(20 * S, 7 * S + S // 2 - 1, 0.5)
    assert not asked
    age.seconds(20 * S, 7 * S + S // 2, 0.5)
    assert asked
    usual = StateAge(simulated=True)
    usual.note(20 * S, 7 * S, 20 * S, 0.5)
    assert usual.seconds(20 * S, 9 * S, 0.5) == 0.0


def test_states_that_go_on_while_the_clock_stands_count_no_more():
    age, _ = simulated()
    for k in range(8):  # a state each quarter of a second, by the steady clock alone
        steady = 7 * S + k * S // 4
        age.note(20 * S, steady, 20 * S + k * S // 4, 0.5)
    # ahead by more than half a second at 7.75 s, and so for half a second at 8.25 s
    assert age.seconds(20 * S, 9 * S, 0.5) == pytest.approx(0.5 + 0.75)
    assert age.objection(20 * S, 9 * S, 0.5) == "joint states go on while /clock has stood still"
    age.look(20 * S + 1, 9 * S)
    age.note(20 * S + 1, 9 * S, 20 * S, 0.5)
    assert age.objection(20 * S + 1, 9 * S, 0.5) == ""
    assert age.seconds(20 * S + 1, 9 * S, 0.5) <= 1e-8
    age.note(20 * S + 1, 30 * S, 25 * S, 0.5)
    age.note(20 * S + 1, 31 * S, 26 * S, 0.5)
    assert "stood still" in age.objection(20 * S + 1, 31 * S, 0.5)
    age.forget()
    assert age.objection(20 * S + 1, 31 * S, 0.5) == "there is no joint state yet"


def test_a_simulated_clock_that_was_never_published_is_missed_when_states_come():
    age = StateAge(simulated=True)
    assert age.objection(0, 7 * S, 0.5) == "there is no joint state yet"
    age.note(0, 7 * S, 20 * S, 0.5)
    assert age.objection(0, 7 * S, 0.5) == "there is no /clock, which use_sim_time asks for"
    assert age.objection(20 * S, 8 * S, 0.5) == "there is no joint state yet"
    known, _ = simulated()
    assert known.objection(0, 7 * S, 0.5) == "there is no /clock, which use_sim_time asks for"


def test_the_core_judges_states_by_a_simulated_clock():
    time = SimulatedTime()
    time.tell(None, 5 * S)
    assert time.runs_away(3 * S, 5 * S, S)  # there is no clock
    time.tell(3 * S, 6 * S)
    assert time.runs_away(3 * S, 6 * S, S) is False
    time.note_state(3 * S)
    time.tell(4 * S, 7 * S)
    assert time.lost(6 * S, 7 * S, S) == pytest.approx(1.0)
    assert time.lost(6 * S, 7 * S - 1, S) == 0.0
    time.tell(3 * S + S // 2, 7 * S)
    assert time.lost(6 * S, 9 * S, S) == pytest.approx(1.0)  # a clock that was set back counts on
    assert time.lost(6 * S, 9 * S, S, alone=True) == pytest.approx(3.0)
    assert time.lost(6 * S, 9 * S, 2 * S) == 0.0


def test_timeouts_are_in_seconds_to_the_nanosecond():
    for missing, lost in ((50 * S - 10, False), (50 * S, True)):
        age, _ = simulated(alone=True)
        assert (age.objection(20 * S, 7 * S + missing + 10, 50.0) != "") == (missing + 10 > 50 * S)
        assert (age.seconds(20 * S, 7 * S + missing, 50.0) > 0.0) == lost
    for ahead, away in ((50 * S, False), (50 * S + 10, True)):
        age, _ = simulated()
        age.note(20 * S, 60 * S, 20 * S + ahead, 50.0)
        age.note(20 * S, 120 * S, 20 * S + ahead, 50.0)
        assert (age.objection(20 * S, 120 * S, 50.0) != "") == away
