"""Intake of a stream: times of poses, gaps, two senders, twists beside poses, and a rate that is too low.

Poses come on even ticks that doubles have exactly; what is expected follows from sums over them.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from motion_base import HOME, MACHINE
from scipy.spatial.transform import Rotation

from robot_dynamics.control.smoothing import NEEDED
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.stream_intake import Contradiction, StreamIntake
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.stewart.kinematics import leg_geometry

LEVEL = np.eye(3)
TICK = 1.0 / 64.0
STEEP = float(np.abs(leg_geometry(MACHINE, HOME, LEVEL).jacobian[:, 2]).min())
"""Rate of a leg for a vertical speed of 1; the machine is symmetric."""


def intake(**parameters):
    return StreamIntake(MACHINE, StewartParameters(**parameters))


def pose(time, way=(0.0, 0.0, 0.0), twist=None, turn=(0.0, 0.0, 0.0), arrival=None):
    """A pose beside a place that is not home."""
    place = HOME + np.array([0.03, -0.02, 0.05]) + np.array(way)
    return PoseSample(time, place, Rotation.from_rotvec(turn).as_matrix(), twist, arrival)


def feed(made, heights, tick=TICK, begin=0.0, late=0.0):
    """Send heights on ticks; the number of the one that contradicts those before it, None: none does."""
    for k, height in enumerate(heights):
        time = begin + k * tick
        try:
            assert made.add(pose(time, (0.0, 0.0, height)), time + late)
        except Contradiction:
            return k
    return None


def test_rate_and_lag_are_those_of_the_times():
    made, late = intake(), 0.003
    assert (made.rate, made.count, made.ready) == (0.0, 0, False)
    for k in range(20):
        assert made.ready is (k >= NEEDED)
        assert made.count == k
        assert made.add(pose(k * TICK), k * TICK + late)
    assert made.rate == pytest.approx(64.0, rel=1e-9)
    assert made.lag == pytest.approx(1.7 * TICK + late * (1.0 - 0.9**20), rel=1e-9)
    assert made.coming(19 * TICK + 0.1) and not made.coming(19 * TICK + 0.11)
    assert made.remarks == []
    made.clear()
    assert (made.rate, made.lag, made.count) == (0.0, 0.0, 0)


def test_a_pose_that_is_not_newer_is_left_out_by_its_stamp():
    made = intake()
    feed(made, np.zeros(8))
    rate, lag = made.rate, made.lag
    for time, way, taken in ((7 * TICK, 5.0, False), (6.5 * TICK, -5.0, False), (7.5 * TICK, 0.0, True)):
        assert made.add(pose(time, (0.0, 0.0, way)), 8 * TICK) is taken
        assert taken or (made.rate, made.lag, len(made._places)) == (rate, lag, 5)
    assert made.count == 9


def test_poses_without_stamps_come_in_their_order_whatever_their_arrivals_say():
    made = intake()
    for k in range(8):
        assert made.add(pose(None, arrival=k * TICK), 99.0)
    # One that comes before another counts as come with it, and one at the same time is taken too.
    for arrival in (6.9, 7.0, 8.0):
        latest = made.filter.latest
        assert made.add(pose(None, arrival=arrival * TICK), 99.0) is True
        assert made.filter.latest > latest
    assert made._raw == 8 * TICK
    # Without an arrival it is the present.
    other = intake()
    for k in range(8):
        other.add(pose(None), 5.0 + k * TICK)
    assert other.clock.period == pytest.approx(TICK)
    assert other.filter.latest == pytest.approx(5.0 + 7 * TICK)


@pytest.mark.parametrize(("off", "refused"), [(-0.101, True), (-0.099, False), (1.001, True), (0.999, False)])
def test_a_stamp_of_another_clock_is_refused_where_stamps_are_believed(off, refused):
    made = intake()
    if refused:
        with pytest.raises(TrajectoryError, match="that of the last joint state"):
            made.add(pose(10.0 + off), 10.0)
    else:
        assert made.add(pose(10.0 + off), 10.0)
    assert intake(stream_clock="recovered").add(pose(10.0 + off), 10.0)


@pytest.mark.parametrize(("off", "believed"), [(-0.26, False), (-0.24, True), (0.24, True), (0.26, False)])
def test_recovered_times_are_those_of_arrival_where_the_stamp_is_of_another_clock(off, believed):
    """Farther than the timeout and than the longest period of a stream, which is the gap before the first."""
    made = intake(stream_clock="recovered", stream_timeout=0.1)
    made.add(pose(10.0 + off, arrival=10.001), 10.0)
    assert made.filter.latest == (10.0 + off if believed else 10.001)
    patient = intake(stream_clock="recovered", stream_timeout=0.5)
    patient.add(pose(10.0 + off), 10.0)
    assert patient.filter.latest == 10.0 + off


def test_times_are_recovered_on_the_ticks_of_the_sender_and_smoothed_over_a_window():
    random = np.random.default_rng(1)
    made, trusted = intake(stream_clock="recovered", stream_window=0.3), intake()
    assert made.filter.window == trusted.filter.window == 0.0
    for k in range(60):
        stamp = k * TICK + random.uniform(0.0, 0.2 * TICK)
        way = (0.0, 0.0, 0.01 * np.sin(2.0 * k * TICK))
        made.add(pose(stamp, way), stamp)
        trusted.add(pose(stamp, way), stamp)
    assert made.filter.window == 0.3 and trusted.filter.window == 0.0
    assert trusted.filter.latest == stamp
    assert made.clock.on_ticks and made.filter.latest != stamp
    assert made.filter.latest == pytest.approx(59 * TICK + 0.1 * TICK, abs=0.1 * TICK)
    # Where the poses follow the times, these count.
    made.clock.on_ticks = False
    made.clock._score = 9.0
    made.add(pose(60.3 * TICK), 60.3 * TICK)
    assert made.filter.latest == 60.3 * TICK
    unstamped = intake(stream_window=0.2)
    unstamped.add(pose(None), 1.0)
    assert unstamped.filter.window == 0.2


def test_after_a_gap_the_stream_begins_anew_with_the_rate_that_is_known():
    for pause, kept in ((4.4, 9), (4.6, 1)):
        made = intake()
        feed(made, np.zeros(8))
        made.add(pose((7 + pause) * TICK), (7 + pause) * TICK)
        assert made.count == kept
        assert made.clock.known == (pytest.approx(TICK) if kept == 1 else 0.0)
    # A stamp far in the past is of a clock that has been set back: nothing is known then.
    for back, taken in ((4.4, False), (4.6, True)):
        made = intake()
        feed(made, np.zeros(8), begin=1.0)
        assert made.add(pose(1.0 + (7 - back) * TICK), 1.1) is taken
        assert (made.count, made.clock.known) == ((1 if taken else 8), 0.0)


def test_of_poses_that_have_waited_in_a_gap_the_last_counts():
    """With recovered times: they come at once, at no fifth of a period."""
    for distance, count in ((0.19, 1), (0.21, 2)):
        made = intake(stream_clock="recovered")
        feed(made, np.zeros(8))
        made.add(pose(1.0), 1.0)
        made.add(pose(1.0 + distance * TICK), 1.0 + distance * TICK)
        assert made.count == count
    trusted = intake()
    feed(trusted, np.zeros(8))
    trusted.add(pose(1.0), 1.0)
    trusted.add(pose(1.0 + 0.19 * TICK), 1.0)
    assert trusted.count == 2


# Jumps


@pytest.mark.parametrize(
    ("elapsed", "allowed"), [(TICK, TICK), (0.1, 0.1), (2e-4, 1e-3)], ids=["usual", "long", "shortest"]
)
def test_a_way_beyond_three_times_the_speed_of_a_leg_begins_a_new_stream(elapsed, allowed):
    """As long as it has not begun; the legs allow 1 m/s."""
    for share, count in ((0.999, 2), (1.001, 1)):
        for sign in (1.0, -1.0):
            made = intake()
            made.add(pose(0.0), 0.0)
            made.add(pose(elapsed, (0.0, 0.0, sign * share * 3.0 * allowed / STEEP)), elapsed)
            assert made.count == count
            assert made.rate == (0.0 if count == 1 else pytest.approx(1.0 / elapsed))


def test_a_jump_within_a_burst_is_measured_by_the_period():
    for share, count in ((0.999, 4), (1.001, 1)):
        made = intake()
        feed(made, np.zeros(3))
        time = 2.1 * TICK
        made.add(pose(time, (0.0, 0.0, share * 3.0 * made.clock.period / STEEP)), time)
        assert made.count == count


def test_turns_are_places_too():
    made = intake()
    made.add(pose(0.0), 0.0)
    made.add(pose(TICK, turn=(0.0, 0.0, 0.9)), TICK)
    assert made.count == 1


def test_a_jump_in_a_stream_that_has_begun_leaves_it():
    made = intake()
    feed(made, np.zeros(8))
    made.add(pose(8 * TICK, (0.0, 0.0, 0.2)), 8 * TICK)
    assert made.count == 9


# Two senders


def test_three_returns_within_a_second_are_two_senders():
    """Each of the ways there and back is a jump; the third pose is the first that returns."""
    made = intake(max_acceleration=1e3)
    assert feed(made, np.tile([0.0, 0.1], 6)) == 4
    for k in range(4):
        made.add(pose(5.0 + k * TICK, (0.0, 0.0, -0.2 * (k % 2))), 5.0 + k * TICK)
    with pytest.raises(Contradiction, match=r"^poses jump back and forth by 0\.210 m or rad: two senders\?$"):
        made.add(pose(5.0 + 4 * TICK, (0.0, 0.0, 0.01)), 5.0 + 4 * TICK)
    assert issubclass(Contradiction, TrajectoryError)


@pytest.mark.parametrize(("left", "caught"), [(0.299, True), (0.301, False)])
def test_a_jump_that_leaves_three_tenths_of_its_way_back_is_no_return(left, caught):
    made = intake(max_acceleration=1e3)
    assert (feed(made, np.tile([0.0, 0.2, 0.2 * left / (1.0 + left)], 8)) is not None) is caught


@pytest.mark.parametrize(("rest", "caught"), [(29, True), (30, False)])
def test_returns_count_within_a_second(rest, caught):
    """Each one is a jump down from a height and back after two ticks: 32 ticks apart they take a second."""
    made = intake(max_acceleration=1e3)
    way = [0.0] * 10
    for _ in range(3):
        way += [0.2, 0.0] + [0.0] * rest
    assert (feed(made, way) is not None) is caught


def test_a_return_is_counted_by_the_way_there():
    """A slow rise and a jump back are none."""
    made = intake(max_acceleration=1e3)
    assert feed(made, np.tile([0.0, 0.04, 0.08, 0.12, 0.16], 8)) is None


@pytest.mark.parametrize(
    ("tick", "apart", "caught"),
    [
        (TICK, 1.001e-3, True),
        (TICK, 0.999e-3, False),
        (2.0 * TICK, 1.01 * 4.0 * (2.0 * TICK) ** 2, True),
        (2.0 * TICK, 0.99 * 4.0 * (2.0 * TICK) ** 2, False),
        (TICK / 32.0, 1.1e-3, True),
    ],
)
def test_sixteen_small_returns_are_two_senders_where_no_motion_explains_them(tick, apart, caught):
    """More than a millimetre, and 2·way/period² beyond twice the acceleration limit of 4 m/s²."""
    made = intake(max_acceleration=4.0)
    assert feed(made, np.tile([0.0, apart], 20), tick) == (17 if caught else None)


def test_small_turns_count_with_the_characteristic_length():
    assert MACHINE.characteristic_length == 1.2
    tick = 2.0 * TICK
    for share, caught in ((1.01, True), (0.99, False)):
        made, found = intake(max_acceleration=4.0), False
        for k in range(24):
            turn = (0.0, 0.02 + (k % 2) * share * 4.0 * tick**2 / 1.2, 0.0)
            try:
                made.add(pose(k * tick, turn=turn), k * tick)
            except Contradiction:
                found = True
                break
        assert found is caught


@pytest.mark.parametrize(("most", "caught"), [(179.0, True), (181.0, False)])
def test_periods_below_a_millisecond_count_as_one_for_returns(most, caught):
    """2·way/period² is 360 m/s² for 1.5 mrad of a characteristic length of 0.12 m."""
    small = replace(MACHINE, characteristic_length=0.12)
    made, found = StreamIntake(small, StewartParameters(max_acceleration=most)), False
    for k in range(24):
        try:
            made.add(pose(k / 2048.0, turn=(0.0, 1.5e-3 * (k % 2), 0.0)), k / 2048.0)
        except Contradiction:
            found = True
            break
    assert found is caught


@pytest.mark.parametrize(("share", "caught"), [(0.19, True), (0.21, False)])
def test_a_small_return_leaves_less_than_a_fifth(share, caught):
    made = intake()
    way = np.cumsum(0.04 * (-1.0 / (1.0 + share)) ** np.arange(20))
    assert (feed(made, way) is not None) is caught


@pytest.mark.parametrize(("rest", "caught"), [(7, True), (8, False)])
def test_sixteen_of_twenty_four_poses_are_needed(rest, caught):
    """Fifteen returns, then poses that rest, then another return; the first one out of the rest is none."""
    made = intake()
    way = [0.004 * (k % 2) for k in range(17)] + [0.0] * rest + [0.004, 0.0]
    assert (feed(made, way) is not None) is caught


def test_a_contradiction_begins_anew():
    made = intake()
    feed(made, np.tile([0.0, 0.1], 6))
    assert (made.count, made.rate) == (0, 0.0)
    assert feed(made, np.zeros(8), begin=3.0) is None


# Twists


def twists_taken(claimed, speed, tick=TICK, count=36):
    """Numbers of the poses of a constant speed with a claimed twist whose twist is believed."""
    made, found, ignored = intake(), [], []
    for k in range(count):
        time = k * tick
        way, twist = np.array(speed) * time, np.array(claimed, dtype=float)
        sample = PoseSample(time, HOME + 0.1 + way[:3], Rotation.from_rotvec(way[3:]).as_matrix(), twist)
        made.add(sample, time)
        found.append(made.filter.last.twist is not None)
        ignored.append(made.twists_ignored)
    return np.array(found), np.array(ignored)


SPEED = np.array([0.04, -0.03, 0.05, 0.0, 0.0, 0.06])


def test_twists_are_believed_after_half_a_second():
    found, ignored = twists_taken(SPEED, SPEED)
    assert not found[:32].any() and found[32:].all()
    assert not ignored.any()


@pytest.mark.parametrize(
    ("share", "believed"), [(1.95, True), (2.05, False), (0.55, True), (0.45, False), (-1.0, False)]
)
def test_twists_may_be_off_by_half_of_the_longer_way(share, believed):
    for part in range(6):
        if SPEED[part]:
            claimed = SPEED.copy()
            claimed[part] *= share
            found, ignored = twists_taken(claimed, SPEED)
            assert found[32:].all() == believed
            assert ignored[32:].all() == (not believed)
            assert not ignored[:32].any()


def test_a_twist_of_a_pose_that_stands_may_be_off_by_five_millimetres():
    for speed, ignored in ((0.0099, False), (0.0101, True)):
        claimed = np.array([0.0, 0.0, 0.0, 0.0, speed, 0.0])
        assert twists_taken(claimed, np.zeros(6), count=33)[1][32] == ignored


def test_twists_are_compared_over_the_last_three_quarters_of_a_second():
    """A twist that stands beside a pose that stops: its error has to leave the window."""
    made = intake()
    ignored = []
    for k in range(200):
        time = k * TICK
        wrong = k < 40
        twist = np.array([0.0, 0.0, 0.1 if wrong else 0.0, 0.0, 0.0, 0.0])
        made.add(pose(time, twist=twist), time)
        ignored.append(made.twists_ignored)
    # Of the trapezes that have an error the last ends at the 40th pose, and 5 mm of 0.1 m/s take 3.2 ticks.
    last = int(np.flatnonzero(ignored)[-1])
    begin = last - 48
    error = TICK * 0.1 * (39 - begin + 0.5)
    assert error > 0.005 >= error - TICK * 0.1


def test_a_pose_without_a_twist_begins_the_comparison_anew():
    made = intake()
    for k in range(80):
        time = k * TICK
        made.add(pose(time, twist=None if k == 40 else np.zeros(6)), time)
        assert (made.filter.last.twist is None) == (k < 32 or 40 <= k < 73)


def test_the_integral_of_twists_is_that_of_straight_lines_between_them():
    """A speed that swings from pose to pose has its mean; the way back and forth counts whole."""
    made = intake()
    for k in range(64):
        time = k * TICK
        twist = np.array([0.0, 0.2 * (-1.0) ** k, 0.0, 0.0, 0.0, 0.0])
        made.add(pose(time, twist=twist), time)
    assert not made.twists_ignored
    assert made.filter.last.twist is not None


# A rate that is too low


def swinging(made, amplitude, tick, count, skipped=()):
    """Feed a sine of 1 Hz; the mean of the errors, by its fourth difference."""
    mean, run = 0.0, 0
    for k in range(count):
        if k in skipped:
            run = 0
            continue
        run += 1
        made.add(pose(k * tick, (0.0, 0.0, amplitude * np.sin(2.0 * np.pi * k * tick))), k * tick)
        if run >= 5:
            bend = (2.0 - 2.0 * np.cos(2.0 * np.pi * tick)) ** 2 * np.sin(2.0 * np.pi * (k - 2) * tick)
            mean += 0.05 * (0.3 * abs(amplitude * bend) - mean)
    return mean


@pytest.mark.parametrize("skipped", [(), (20, 33)])
def test_a_stream_that_is_too_slow_for_its_motion_is_reported_with_the_rate_that_is_needed(skipped):
    made, tick = intake(stream_timeout=0.5), 5.0 * TICK
    mean = swinging(made, 0.15, tick, 60, skipped)
    assert made._curved == pytest.approx(mean, rel=0.02)
    assert mean > 1e-3
    rate = made.rate
    assert rate == pytest.approx(12.8, rel=0.03)
    (said,) = made.remarks
    needed = rate * (1e3 * made._curved) ** 0.25
    assert f" {1e3 * made._curved:.3f} mm or mrad off: send {needed:.3f} Hz" in said
    numbers = [float(word) for word in said.replace(",", " ").split() if word[0].isdigit()]
    assert numbers == pytest.approx([rate, 1e3 * mean, rate * (1e3 * mean) ** 0.25], rel=0.02)
    assert re.sub(r"\d+\.\d+", "#", said) == (
        "a stream of # Hz is too slow for its motion, which may be # mm or mrad off: send # Hz or more"
    )


def test_a_slow_stream_whose_error_is_tolerated_is_not_reported_and_a_quick_one_neither():
    made, tick = intake(stream_timeout=0.5), 5.0 * TICK
    mean = swinging(made, 0.15, tick, 60)
    small = intake(stream_timeout=0.5)
    assert swinging(small, 0.147e-3 / mean, tick, 60) < 1e-3 and small.remarks == []
    quick = intake()
    quick._curved = 0.1
    assert quick.remarks == []
    feed(quick, np.zeros(8), 0.0249)
    quick._curved = 0.1
    assert quick.remarks == []
    slow = intake()
    feed(slow, np.zeros(8), 0.0251)
    for slow._curved, count in ((0.1, 1), (1e-3, 0)):
        assert len(slow.remarks) == count
    slow.clock.period, slow._curved = 0.025, 0.1
    assert slow.remarks == []


@pytest.mark.parametrize(("early", "counts"), [(0.45, True), (0.55, False), (-0.4, True), (-0.6, False)])
def test_poses_that_come_unevenly_say_nothing_about_the_curve(early, counts):
    """One of them comes early or late by a part of the period."""
    made = intake()
    feed(made, np.zeros(40))
    before = made._curved
    assert before < 1e-15
    for k in range(40, 45):
        time = (k - (early if k == 42 else 0.0)) * TICK
        made.add(pose(time, (0.0, 0.0, 0.01 * (k == 42))), time)
        if k == 44:
            assert (made._curved > 1e-6) is counts


def test_twists_that_contradict_are_remarked():
    made = intake()
    for k in range(40):
        made.add(pose(k * TICK, twist=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])), k * TICK)
    assert made.remarks == ["twists contradict the poses and are ignored: m/s and rad/s in the base frame?"]


def test_places_are_relative_to_home_and_its_turn():
    home = Rotation.from_rotvec([0.3, -0.2, 0.4])
    turned = replace(MACHINE, home_position=np.array([0.1, -0.2, 1.159]), home_rotation=home.as_matrix())
    made = StreamIntake(turned, StewartParameters())
    turn = Rotation.from_rotvec([0.05, 0.1, -0.2])
    sample = PoseSample(0.0, np.array([0.3, 0.1, 1.0]), (turn * home).as_matrix(), None)
    expected = [0.2, 0.3, -0.159, 0.05, 0.1, -0.2]
    np.testing.assert_allclose(made._place(sample), expected, atol=1e-12)
