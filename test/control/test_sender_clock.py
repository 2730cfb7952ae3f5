"""Clocks of senders against least squares, closed forms of their memories, hand-made losses and bursts."""

import math

import numpy as np
import pytest

from robot_dynamics.control import stream_clock
from robot_dynamics.control.stream_clock import LeastDelay, SenderClock

PERIOD = 0.02
SPEED = np.array([0.01, -0.02, 0.005, 0.002, 0.003, -0.004])
STILL = np.zeros(6)
BEND = np.array([3e-5, 2e-5, -1e-5, 0.0, 4e-5, 1e-5])


def moving(number):
    """The place of a pose of a motion with constant acceleration."""
    return number * SPEED + number**2 * BEND


def standing(number):
    """The place of a pose that does not move."""
    return STILL


def run_in(clock, count=20, period=PERIOD, place=moving, begin=0.0):
    """Send ``count`` poses exactly on their ticks; returns the tick of the last."""
    return [clock.tick(begin + k * period, place(k)) for k in range(count)][-1]


class Recursion:
    """The alpha-beta filter of a line with a growing memory (Kalata 1984), whose steps are known."""

    def __init__(self, times):
        self.count, self.position, self.period = 2, times[1], times[1] - times[0]
        self.mean = self.square = self.missing = self.gaps = 0.0

    def take(self, time, steps):
        n = self.count = min(self.count + 1, 128)
        late = time - (self.position + steps * self.period)
        cut = late
        if n > 8:
            most = 3.0 * max(math.sqrt(self.square), 0.05 * self.period)
            cut = float(np.clip(late, -most, most))
        alpha, beta = (4 * n - 2) / (n * n + n), 6 / (n * n + n)
        self.position += max(steps * self.period + alpha * cut, 0.1 * self.period)
        self.period = max(self.period + beta * cut / steps, 0.1 * self.period)
        weight = 1 / n if n < 16 else 1 / 16
        self.mean = (1 - weight) * self.mean + weight * float(np.clip(late, -self.period, self.period))
        self.square = (1 - weight) * self.square + weight * cut**2
        self.missing = 15 / 16 * self.missing + min(steps - 1, 3) / 16
        self.gaps = 15 / 16 * self.gaps + min(steps - 1, 1) / 16
        if abs(self.mean) > 0.4 * self.period:
            self.count, self.mean = 8, 0.0
        elif self.gaps > 0.75:
            self.period *= 1 + self.missing / self.gaps
            self.missing = self.gaps = 0.0
            self.count = 8


def agree(times, steps):
    """Check ticks, periods and jitter of a clock against the recursion, after each pose."""
    clock, numbers = SenderClock(), np.concatenate(([0], np.cumsum([1, *steps[2:]])))
    for k, time in enumerate(times[:2]):
        assert clock.tick(time, moving(numbers[k])) == time
    plain = Recursion(times)
    for k in range(2, len(times)):
        found = clock.tick(times[k], moving(numbers[k]))
        plain.take(times[k], steps[k])
        assert found == pytest.approx(plain.position, rel=1e-12), k
        assert clock.period == pytest.approx(plain.period, rel=1e-9), k
        assert clock.jitter == pytest.approx(math.sqrt(plain.square), rel=1e-6, abs=1e-15), k
    return clock


def test_the_least_difference_of_two_clocks_drifts_and_follows_a_step_after_a_second():
    delay = LeastDelay()
    assert delay.note(0.5, 10.0) == 0.5
    assert delay.note(0.51, 15.0) == pytest.approx(0.501, rel=1e-12)
    assert delay.note(0.515, 12.0) == pytest.approx(0.501, rel=1e-12)  # a clock that was set back drifts not
    assert delay.note(0.45, 12.5) == 0.45
    assert delay.note(0.47, 12.75) == pytest.approx(0.45005)  # as late as this, it may be the way
    assert delay.note(0.48, 13.5) == pytest.approx(0.4502)
    assert delay.note(0.48, 13.7) == pytest.approx(0.45024)
    assert delay.note(0.48, 13.8) == 0.48


def test_a_difference_exactly_two_hundredths_of_a_second_above_the_least_is_a_step():
    delay = LeastDelay()
    delay.note(0.0, 10.0)
    assert delay.note(2e-4 * 0.5 + 0.02, 10.5) == 2e-4 * 0.5
    assert delay.note(0.3, 11.0) == pytest.approx(2e-4)  # exactly a second later not yet
    assert delay.note(0.3, 11.25) == 0.3
    other = LeastDelay()
    other.note(-3.0, 2.0)
    other.note(-3.0 + 0.0199, 2.5)
    assert other.note(-2.5, 3.25) == pytest.approx(-3.0 + 1.25 * 2e-4, abs=1e-12)


def test_the_first_ticks_are_those_of_a_straight_line_through_all_times():
    random = np.random.default_rng(4)
    times = 100.0 + PERIOD * (np.arange(8) + random.uniform(-0.3, 0.3, 8))
    clock, squares = SenderClock(), 0.0
    assert clock.period == 0.0 and clock.known == 0.0 and clock.on_ticks and clock.jitter == 0.0
    for k, time in enumerate(times):
        if k > 1:
            before = np.polyfit(np.arange(k), times[:k] - 100.0, 1)
            squares += (time - 100.0 - np.polyval(before, k)) ** 2
        tick = clock.tick(time, moving(k))
        if k:
            slope, offset = np.polyfit(np.arange(k + 1), times[: k + 1] - 100.0, 1)
            assert tick - 100.0 == pytest.approx(offset + k * slope, abs=1e-10)
            assert clock.period == pytest.approx(slope, rel=1e-9)
            assert clock.jitter == pytest.approx(math.sqrt(squares / (k + 1)), rel=1e-8, abs=1e-15)
        else:
            assert tick == time and clock.period == 0.0


def test_the_memory_grows_to_128_poses():
    random = np.random.default_rng(5)
    times = PERIOD * (np.arange(140) + random.uniform(-0.06, 0.06, 140))
    clock = SenderClock()
    for k, time in enumerate(times[:128]):
        tick = clock.tick(time, moving(k))
    slope, offset = np.polyfit(np.arange(128), times[:128], 1)
    assert tick == pytest.approx(offset + 127 * slope, abs=1e-12)
    assert clock.period == pytest.approx(slope, rel=1e-10)
    agree(times, [1] * 140)


@pytest.mark.parametrize("late", [0.4, -0.4, 0.14, -0.14])
def test_a_sender_that_is_late_once_counts_as_three_standard_deviations(late):
    clock = SenderClock()
    last = run_in(clock)
    cut = min(abs(late), 0.15) * PERIOD * np.sign(late)
    tick = clock.tick(20 * PERIOD + late * PERIOD, moving(20))
    assert tick - last - PERIOD == pytest.approx(cut * 82 / (21 * 22), rel=1e-9)
    assert clock.period - PERIOD == pytest.approx(cut * 6 / (21 * 22), rel=1e-9)
    assert clock.jitter == pytest.approx(abs(cut) / 4, rel=1e-9)


def test_scattering_times_with_outliers_and_lost_poses_follow_the_recursion():
    random = np.random.default_rng(6)
    steps = np.where(random.uniform(size=200) < 0.08, random.integers(2, 4, 200), 1)
    steps[:12] = 1
    scatter = random.uniform(-0.1, 0.1, 200)
    scatter[:10] *= 0.4
    numbers = np.concatenate(([0], np.cumsum(steps[1:])))
    times = PERIOD * (numbers + np.where(random.uniform(size=200) < 0.1, 3.0, 1.0) * scatter)
    agree(times, steps.tolist())


@pytest.mark.parametrize(("factor", "found"), [(2, 2), (3, 3), (4, 4), (5, 4)])
def test_a_sender_that_becomes_slower_has_another_period_after_22_poses(factor, found):
    """The mean of the gaps passes three quarters then: 1 - (15/16)**22 = 0.758."""
    clock = SenderClock()
    run_in(clock)
    for k in range(1, 23):
        assert clock.period == pytest.approx(PERIOD, rel=1e-9)
        clock.tick((19 + factor * k) * PERIOD, moving(19 + factor * k))
    assert clock.period == pytest.approx(found * PERIOD, rel=1e-9)
    agree(PERIOD * np.concatenate((np.arange(20), 19 + factor * np.arange(1, 23))), [1] * 20 + [factor] * 22)


def test_a_sender_that_becomes_slower_twice_is_found_twice():
    clock = SenderClock()
    last = run_in(clock, place=standing)
    for period in (2 * PERIOD, 4 * PERIOD):
        for _ in range(22):
            assert clock.period == pytest.approx(period / 2, rel=1e-9)
            last += period
            assert clock.tick(last, STILL) == pytest.approx(last, rel=1e-12)
        assert clock.period == pytest.approx(period, rel=1e-9)
    assert clock.tick(last, STILL) > last + 0.1 * PERIOD  # no pose is missing at the new rate
    other = SenderClock()
    last = run_in(other, place=standing) + 44 * PERIOD
    for k in range(21, -1, -1):
        other.tick(last - 2 * k * PERIOD, STILL)
    one_lost = other.tick(last + 4 * PERIOD, STILL)
    assert one_lost == pytest.approx(last + 4 * PERIOD, rel=1e-12)
    assert other.tick(last + 4 * PERIOD, STILL) == pytest.approx(one_lost, rel=1e-12)


def test_gaps_that_bursts_make_good_are_no_other_rate():
    """Four of five poses are one after a missing one, and the fifth is one of these."""
    clock = SenderClock()
    last = run_in(clock, place=standing)
    for _ in range(15):
        for _ in range(4):
            last += 2 * PERIOD
            assert clock.tick(last, STILL) == pytest.approx(last, rel=1e-12)
        assert clock.tick(last, STILL) == pytest.approx(last, rel=1e-12)
    assert clock.period == pytest.approx(PERIOD, rel=1e-9)


def test_the_first_eight_poses_are_taken_as_successive():
    clock, times = SenderClock(), PERIOD * np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    ticks = [clock.tick(time, moving(round(time / PERIOD))) for time in times]
    for k in range(2, 9):
        assert ticks[k - 1] == pytest.approx(np.polyval(np.polyfit(range(k), times[:k], 1), k - 1))


@pytest.mark.parametrize("factor", [1.05, 0.75, 0.55])
def test_another_rate_without_losses_is_found_with_a_short_memory(factor):
    times = PERIOD * np.concatenate((np.arange(30), 29 + factor * np.arange(1, 60)))
    clock = agree(times, [1] * 89)
    assert clock.period == pytest.approx(factor * PERIOD, rel=0.03)


def test_the_first_poses_of_a_burst_have_one_tick_and_no_period():
    clock = SenderClock()
    assert clock.tick(0.0, STILL) == 0.0
    assert clock.tick(1e-4, STILL) == 0.0 and clock.period == 0.0
    later = SenderClock()
    assert [later.tick(3.0, STILL), later.tick(3.00005, STILL), later.period] == [3.0, 3.0, 0.0]
    assert clock.tick(1.001e-4, STILL) == 1.001e-4 and clock.period == 1.001e-4
    third = clock.tick(1.5e-4, STILL)
    assert third == pytest.approx(np.polyval(np.polyfit([0, 1, 2], [0.0, 1.001e-4, 1.5e-4], 1), 2))


def test_ticks_go_on_by_a_tenth_of_a_period_at_least():
    clock, times = SenderClock(), [0.0, *[1.0] * 6]
    ticks = [clock.tick(time, moving(k)) for k, time in enumerate(times)]
    plain, expected = Recursion(times), times[:2]
    for time in times[2:]:
        plain.take(time, 1)
        expected.append(plain.position)
    np.testing.assert_allclose(ticks, expected, rtol=1e-12)
    assert ticks[2] == pytest.approx(7 / 6) and clock.period == pytest.approx(plain.period)


@pytest.mark.parametrize(
    ("interval", "period", "memory"), [(0.7, 0.5, 8), (0.3, 0.5, 8), (0.75, 0.75, 2), (0.25, 0.25, 2)]
)
def test_the_rate_before_a_gap_counts_where_the_first_interval_is_near_it(interval, period, memory):
    clock = SenderClock()
    clock.tick(0.0, STILL)
    clock.tick(0.5, moving(1))
    clock.pause()
    assert (clock.known, clock.period, clock.jitter) == (0.5, 0.0, 0.0)
    clock.pause()
    assert clock.known == 0.5
    clock.tick(4.0, STILL)
    assert clock.period == 0.0
    assert clock.tick(4.0 + interval, moving(1)) == 4.0 + interval
    assert clock.period == period
    n, late = memory + 1, 0.0625
    tick = clock.tick(4.0 + interval + period + late, moving(2))
    assert tick - (4.0 + interval + period) == pytest.approx(late * (4 * n - 2) / (n * n + n))
    clock.clear()
    assert (clock.known, clock.period, clock.on_ticks) == (0.0, 0.0, True)


@pytest.mark.parametrize(("apart", "steps"), [(1, 1), (2, 2), (3, 3), (3.09, 3), (3.11, 1), (4, 1), (7, 1)])
def test_of_poses_that_do_not_move_a_late_one_has_lost_two_before_it_at_most(apart, steps):
    """A lost pose costs 8, a late one 20: three lost ones cost more."""
    clock = SenderClock()
    last = run_in(clock, place=standing)
    tick = clock.tick(last + apart * PERIOD, STILL)
    late = min(apart - steps, 0.15) * PERIOD
    assert tick == pytest.approx(last + steps * PERIOD + late * 82 / (21 * 22), rel=1e-12)


@pytest.mark.parametrize(
    ("apart", "number", "steps"),
    [
        (1, 2, 2),
        (2, 1, 1),
        (1, 1, 1),
        (3, 2, 2),
        (9, 10, 10),
        (9, 8, 8),
        (30, 30, 30),
        (1, 3, 2),
        (0.3, 2, 1),
    ],
)
def test_places_say_the_number_of_a_pose_that_comes_early_or_late(apart, number, steps):
    clock = SenderClock()
    last = run_in(clock)
    tick = clock.tick(last + apart * PERIOD, moving(19 + number))
    late = np.clip(apart - steps, -0.15, 0.15) * PERIOD
    assert tick == pytest.approx(last + steps * PERIOD + late * 82 / (21 * 22), rel=1e-12)


@pytest.mark.parametrize(("way", "number"), [(5.0e-5, 1), (5.5e-5, 2)])
def test_the_least_noise_of_places_is_a_hundredth_of_a_millimetre(way, number):
    """A pose of the second tick that comes at the first costs 28, which is 5.29 squared."""
    clock, place = SenderClock(), np.array([0.0, 0.0, -way, 0.0, 0.0, 0.5 * way])
    last = run_in(clock, place=lambda k: k * place)
    tick = clock.tick(last + PERIOD, 21 * place)
    late = np.clip(1 - number, -0.15, 0.15) * PERIOD
    assert tick == pytest.approx(last + number * PERIOD + late * 82 / (21 * 22), rel=1e-12)


def test_a_gap_has_65_ticks_at_most():
    clock = SenderClock()
    last = run_in(clock, place=lambda k: k * SPEED)
    tick = clock.tick(last + 100 * PERIOD, 119 * SPEED)
    assert tick == pytest.approx(last + 65 * PERIOD + 0.15 * PERIOD * 82 / (21 * 22), rel=1e-12)


def test_poses_that_were_taken_for_lost_come_together_without_new_ticks():
    clock = SenderClock()
    last = run_in(clock, place=standing)
    late = last + 3 * PERIOD
    assert [clock.tick(late, STILL) for _ in range(3)] == pytest.approx([late, late, late], rel=1e-12)
    assert clock.tick(late, STILL) > late + 0.1 * PERIOD  # no more were missing
    other = SenderClock()
    last = run_in(other, period=0.5, place=standing)
    other.tick(last + 1.5, STILL)
    assert other.tick(last + 1.75, STILL) > last + 1.75  # half a period later is no burst


def test_a_lost_pose_that_comes_after_the_next_one_has_the_tick_before():
    clock = SenderClock()
    last = run_in(clock) + 3 * PERIOD
    assert clock.tick(last, moving(22)) == pytest.approx(last, rel=1e-12)
    back = clock.tick(last, moving(21))
    assert back == pytest.approx(last - PERIOD + 0.15 * PERIOD * 86 / (22 * 23), rel=1e-12)


@pytest.mark.parametrize(
    ("second", "third", "moved"),
    [(0.7, 1.1, False), (0.85, 1.1, True), (0.7, 1.25, True), (0.7, 1.19, False)],
)
def test_after_a_pose_that_comes_early_more_of_its_burst_may_come(second, third, moved):
    """Early is more than a fifth of a period before the tick, together is nearer than half a period."""
    clock = SenderClock()
    last = run_in(clock, place=standing) + 3 * PERIOD
    clock.tick(last, STILL)
    before = clock.tick(last + second * PERIOD, STILL)
    assert 0.9 * PERIOD < before - last < PERIOD
    after = clock.tick(last + third * PERIOD, STILL)
    assert (after > before + 0.5 * PERIOD) == moved


def test_a_place_decides_between_no_tick_and_one_in_a_burst():
    """No tick costs 16 for its time and 6 for its place, one tick costs 20 for its time alone."""
    clock, place = SenderClock(), np.array([0.0, 0.0, 2.45e-5, 0.0, 1e-5, 0.0])
    last = run_in(clock, place=lambda k: k * place) + 3 * PERIOD
    assert clock.tick(last, 22 * place) == pytest.approx(last, rel=1e-12)
    assert clock.tick(last + 0.2 * PERIOD, 23 * place) > last + 0.5 * PERIOD


@pytest.mark.parametrize(("share", "number"), [(0.97, 1), (1.03, 2)])
def test_noise_of_places_fades_by_a_sixteenth_with_each_pose(share, number):
    """A place that is off by 1 mm is 1, 3, 3 and 1 mm from parabolas through three."""
    noise = 0.0
    for off in (1e-3, 3e-3, 3e-3, 1e-3, *[0.0] * 5):
        noise += (off - noise) / 16
    place = np.array([share * math.sqrt(28.0) * noise, 0.0, 0.0, 0.0, 0.0, 0.0])
    aside = np.array([0.0, 0.0, 0.0, 1e-3, 0.0, 0.0])
    clock = SenderClock()
    last = run_in(clock, 32, place=lambda k: k * place + (k == 23) * aside)
    tick = clock.tick(last + PERIOD, 33 * place)
    assert round((tick - last) / PERIOD) == number


@pytest.mark.parametrize(("place", "number"), [(3.5, 1), (3.62, 2), (4.0, 2)])
def test_after_a_gap_parabolas_begin_with_the_third_pose(place, number):
    """The third is a step away from the second, of which a sixteenth is noise."""
    clock, step = SenderClock(), np.array([0.0, -0.016, 0.0, 0.0, 0.0, 0.0])
    run_in(clock)
    clock.pause()
    last = run_in(clock, 3, place=lambda k: k * step, begin=7.0)
    tick = clock.tick(last + PERIOD, place * step)
    assert round((tick - last) / PERIOD) == number


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_poses_are_found_to_follow_their_times_by_third_differences(sense):
    """Leading coefficients of cubics through four poses, over times and over ticks."""
    random = np.random.default_rng(8)
    clock, rows, score, changes = SenderClock(), [], 0.0, 0
    for k in range(220):
        time = PERIOD * (k + 0.35 * random.uniform(-1.0, 1.0))
        if k % 29 == 28:
            time = PERIOD * (k - 1) + 0.1 * PERIOD  # some come nearly together
        over_times = (k < 110) == (sense > 0.0)
        moment = time if over_times else PERIOD * k
        place = np.sin(9.0 * moment + np.arange(6)) * 0.1
        before = clock.on_ticks
        tick = clock.tick(time, place)
        rows = [*[row for row in rows if row[1] < tick], (time, tick, place)][-4:]
        if len(rows) == 4 and min(np.diff([row[0] for row in rows])) >= 0.2 * clock.period:
            bends = [
                (
                    np.polyfit(np.array([row[i] for row in rows]) - tick, [row[2] for row in rows], 3)[0] ** 2
                ).sum()
                for i in (0, 1)
            ]
            score += (
                np.clip(math.log(bends[1] / bends[0]), -2 * math.log(4.5), 2 * math.log(4.5)) - score
            ) / 16
        expected = score < 0.0 if abs(score) > 2 * math.log(1.5) else before
        assert clock.on_ticks == expected, k
        changes += before != clock.on_ticks
    assert changes in (1, 2) and clock.on_ticks == (sense > 0.0)


def test_poses_that_follow_their_times_lose_as_many_as_the_times_say():
    clock = SenderClock()
    last = run_in(clock, place=standing)
    clock.on_ticks = False
    tick = clock.tick(last + 5 * PERIOD, 7.0 * SPEED)
    assert tick == pytest.approx(last + 5 * PERIOD, rel=1e-12)


def test_memories_are_what_the_documentation_says():
    assert (stream_clock.MEMORY, stream_clock.RESTART, stream_clock.FARTHEST) == (128, 8, 64)
