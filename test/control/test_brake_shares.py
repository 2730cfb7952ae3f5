"""Brakes and the share of the efforts beside them, second by second."""

import math

import numpy as np
import pytest

from robot_dynamics.control.brakes import (
    ALL,
    FALLING,
    GIVING_WAY,
    RETURN,
    RISING,
    BrakeParameters,
    Brakes,
    BrakeTiming,
)
from robot_dynamics.errors import ParameterError

TIMING = BrakeTiming(engage=0.25, release=0.5, fade=2.0)


def test_delays_have_the_defaults_and_bounds_of_the_documentation():
    assert BrakeParameters() == BrakeParameters(brake_engage_time=0.1, brake_release_time=0.1)
    BrakeParameters(brake_engage_time=0.0, brake_release_time=10.0)
    for name in ("brake_engage_time", "brake_release_time"):
        with pytest.raises(ParameterError, match=name):
            BrakeParameters(**{name: -1e-9})
    assert (ALL, FALLING, RISING) == (0, 1, 2)
    assert (RETURN, GIVING_WAY) == (0.05, 2.5)


def test_a_robot_begins_released_or_parked():
    free, parked = Brakes(TIMING), Brakes(TIMING, parked=True)
    assert (free.engaging, free.reported, free.slips, free.carried) == (False, None, False, False)
    assert free.share(5.0) == 1.0 and free.free(5.0) and not free.engaged(5.0)
    assert free.fields()[0] == ALL and free.fields()[2] == 2.0
    assert parked.engaging and parked.share(5.0) == 0.0 and parked.engaged(5.0) and not parked.free(5.0)
    assert parked.fields() == (FALLING, -math.inf, 2.0)
    assert Brakes(TIMING, reported=True).reported is True


def test_efforts_stay_until_the_brakes_hold_and_fade_then():
    brakes = Brakes(TIMING)
    brakes.engage(10.0)
    assert brakes.engaging and brakes.engaged(10.0) and not brakes.free(20.0)
    for after, share in (
        (0.0, 1.0),
        (0.25, 1.0),
        (0.75, 0.75),
        (1.25, 0.5),
        (2.0, 0.125),
        (2.25, 0.0),
        (9.0, 0.0),
    ):
        assert brakes.share(10.0 + after) == share
    assert brakes.fields() == (FALLING, 10.25, 2.0)
    brakes.engage(11.0)  # once is enough
    assert brakes.share(11.25) == 0.5


def test_efforts_rise_before_the_command_and_the_robot_moves_after_the_delay():
    brakes = Brakes(TIMING, parked=True)
    brakes.release(10.0)
    for after, share in ((0.0, 0.0), (0.5, 0.25), (1.5, 0.75), (2.0, 1.0), (9.0, 1.0)):
        assert brakes.share(10.0 + after) == share
    assert brakes.fields() == (RISING, 10.0, 2.0)
    assert brakes.engaged(11.99) and not brakes.engaged(12.0)
    assert not brakes.free(12.49) and brakes.free(12.5)
    brakes.release(11.0)
    assert brakes.share(11.0) == 0.5
    brakes.forget()
    assert brakes.share(10.0) == 1.0 and brakes.fields()[0] == ALL and brakes.free(10.0)


def test_a_release_in_the_middle_of_fading_goes_up_from_there():
    brakes = Brakes(TIMING)
    brakes.engage(10.0)
    brakes.release(11.75)
    assert (brakes.share(11.75), brakes.share(12.25)) == (0.25, 0.5)
    assert not brakes.engaging and brakes.engaged(13.24) and not brakes.engaged(13.25)


def test_a_stop_in_the_middle_of_rising_goes_down_from_there_at_once():
    brakes = Brakes(TIMING, parked=True)
    brakes.release(10.0)
    brakes.engage(11.5)
    assert (brakes.share(11.5), brakes.share(12.0), brakes.share(13.0)) == (0.75, 0.5, 0.0)
    early = Brakes(TIMING, parked=True)
    early.release(10.0)
    early.engage(10.0)
    assert early.share(10.0) == 0.0
    nearly = Brakes(TIMING, parked=True)
    nearly.release(10.0)
    nearly.engage(12.0 - 1e-8)  # 5e-9 of the efforts are missing
    assert nearly.share(12.2) == pytest.approx(0.9, abs=1e-6)
    almost = Brakes(TIMING, parked=True)
    almost.release(10.0)
    almost.engage(12.0 - 1e-9)  # half a billionth is none: they stay for the whole delay
    assert almost.share(12.24) == 1.0


def test_without_a_fade_efforts_step():
    brakes = Brakes(BrakeTiming(0.25, 0.5, 0.0))
    brakes.engage(1.0)
    assert (brakes.share(1.249), brakes.share(1.25)) == (1.0, 0.0)
    brakes.release(3.0)
    assert brakes.share(3.0) == 1.0 and not brakes.engaged(3.0)
    assert brakes.free(3.5) and not brakes.free(3.49)


def test_engaging_again_begins_with_all_efforts():
    brakes = Brakes(TIMING, parked=True)
    assert brakes.share(4.0) == 0.0
    brakes.engage_again(4.0)
    assert (brakes.share(4.25), brakes.share(5.25)) == (1.0, 0.5)
    released = Brakes(TIMING)
    released.engage_again(4.0)
    assert released.fields()[0] == ALL and not released.engaging


def test_a_clock_that_steps_back_takes_all_beginnings_with_it():
    brakes = Brakes(TIMING)
    brakes.advance(10.0)
    brakes.engage(10.0)
    brakes.advance(11.25)
    brakes.advance(3.25)
    assert brakes.share(3.25) == 0.5 and brakes.since == 2.0
    brakes.advance(4.0)
    assert brakes.since == 2.0
    slipping = parked_and_moved(0.011)
    slipping.advance(20.03125)
    slipping.advance(5.03125)
    assert slipping.share(5.03125) == pytest.approx(0.625)


def parked_and_moved(way):
    brakes = Brakes(TIMING, parked=True)
    brakes.watch(19.0, np.array([0.5, -0.5]), 0.01)
    brakes.watch(20.0, np.array([0.5, -0.5 - way]), 0.01)
    return brakes


def test_efforts_come_back_in_a_twentieth_of_a_second_where_the_robot_moves_on_its_brakes():
    assert not parked_and_moved(0.01 - 1e-9).slips
    for way in (0.0101, -0.0101):
        brakes = parked_and_moved(way)
        assert brakes.slips
        assert brakes.share(20.0) == 0.0 and brakes.share(20.025) == pytest.approx(0.5)
        assert brakes.share(20.05) == pytest.approx(1.0) and brakes.share(30.0) == 1.0
        assert brakes.fields() == (RISING, 20.0, 0.05)
        brakes.watch(21.0, np.array([7.0, 7.0]), 0.01)
        assert brakes.fields() == (RISING, 20.0, 0.05)
        brakes.engage_again(22.0)
        assert not brakes.slips and brakes.share(22.25) == 1.0 and brakes.share(23.25) == 0.5
    released = parked_and_moved(0.02)
    released.release(20.025)
    assert not released.slips and released.share(20.025) == pytest.approx(0.5)
    forgotten = parked_and_moved(0.02)
    forgotten.forget()
    assert not forgotten.slips


def test_brakes_that_take_over_may_give_way_two_and_a_half_times_as_far():
    for way, slips in ((0.0249, False), (0.0251, True)):
        brakes = Brakes(TIMING)
        brakes.engage(10.0)
        brakes.watch(10.25, np.array([1.0]), 0.01)  # all efforts are there still
        brakes.watch(10.5, np.array([2.0]), 0.01)
        brakes.watch(11.25, np.array([2.0 - way]), 0.01)
        assert brakes.slips == slips
        if slips:  # half of the efforts is there: they rise from it
            assert brakes.share(11.25) == pytest.approx(0.5)
            assert brakes.share(11.2625) == pytest.approx(0.75)
        else:
            brakes.watch(12.25, np.array([2.02]), 0.01)  # faded: from here on it counts anew
            brakes.watch(12.5, np.array([2.0295]), 0.01)
            assert not brakes.slips
            brakes.watch(13.0, np.array([2.0305]), 0.01)
            assert brakes.slips


def test_a_place_is_forgotten_when_the_efforts_are_back():
    brakes = Brakes(TIMING, parked=True)
    place = np.array([1.0])
    brakes.watch(1.0, place, 0.01)
    place[:] = 1.005  # the place is a copy
    brakes.watch(1.5, place, 0.01)
    assert not brakes.slips
    brakes.release(2.0)
    brakes.watch(3.0, np.array([5.0]), 0.01)
    brakes.engage(9.0)
    brakes.watch(9.0, np.array([5.0]), 0.01)
    brakes.watch(13.0, np.array([5.0]), 0.01)
    assert not brakes.slips


def test_a_driver_that_reports_is_believed():
    brakes = Brakes(TIMING)
    brakes.report(False, 9.0)
    assert brakes.free(9.0) and not brakes.carried
    brakes.engage(10.0)
    assert brakes.carried and brakes.share(15.0) == 1.0 and brakes.fields() == (ALL, 10.0, 2.0)
    brakes.report(False, 15.0)
    assert brakes.share(15.5) == 1.0
    brakes.report(True, 16.0)  # they hold now: the fade begins at once
    assert not brakes.carried and brakes.share(16.0) == 1.0 and brakes.share(17.0) == 0.5
    brakes.report(True, 16.5)
    assert brakes.share(17.0) == 0.5
    brakes.release(20.0)
    assert not brakes.free(40.0)  # it reports that they are engaged still
    brakes.report(False, 21.0)
    assert brakes.free(21.0)
    lost = Brakes(TIMING, reported=False)
    lost.engage(10.0)
    lost.report(None, 12.0)  # nobody knows more: after the usual delay
    assert (lost.share(12.25), lost.share(13.25)) == (1.0, 0.5)
