"""Streams are smoothed as least squares of local cubics, against numpy's and scipy's."""

import math

import numpy as np
import pytest

from robot_dynamics.control.smoothing import Smoothed, StreamFilter, check_stamp
from robot_dynamics.errors import TrajectoryError

PERIOD = 0.1


class Points(StreamFilter):
    """Samples are places (n,), or pairs of a place and its rate."""

    def ways(self, middle, samples):
        return np.array([self.place(sample) - self.place(middle) for sample in samples])

    def rates(self, samples):
        given = [sample[1] for sample in samples if isinstance(sample, tuple)]
        return np.array(given) if len(given) == len(samples) else None

    @staticmethod
    def place(sample):
        return sample[0] if isinstance(sample, tuple) else sample


def filled(times, places, timeout=1.0, period=PERIOD, rates=None):
    stream = Points(timeout)
    for k, (time, place) in enumerate(zip(times, places, strict=True)):
        assert stream.add(place if rates is None else (place, rates[k]), time, time, period)
    return stream


def local_cubic(times, places, at, behind, ahead, period, noise=0.0, rates=None):
    """Coefficients (4, n) of a cubic by weighted least squares and its mean scatter."""
    chosen = [k for k, time in enumerate(times) if at - behind <= time <= at + ahead]
    s = np.array([(times[k] - at) / period for k in chosen])
    reach = np.array([ahead / period if one > 0.0 else max(behind / period, -1.01 * s[0]) for one in s])
    roots = np.maximum(1.0 - (s / reach) ** 2, 0.0) ** 1.5
    middle = places[chosen[int(np.argmin(abs(s)))]]
    wanted = np.array([places[k] - middle for k in chosen])
    rows, right = [roots[:, None] * np.vander(s, 4, increasing=True)], [roots[:, None] * wanted]
    if rates is not None:
        slopes = np.stack([np.zeros_like(s), np.ones_like(s), 2.0 * s, 3.0 * s**2], axis=1)
        rows.append(roots[:, None] * slopes)
        right.append(roots[:, None] * period * np.array([rates[k] for k in chosen]))
    rows.append(np.diag(np.sqrt(1e-9 * (np.vstack(rows) ** 2).sum(axis=0))))
    right.append(np.zeros((4, wanted.shape[1])))
    rows.append([[0.0, 0.0, 0.0, math.sqrt(noise) / (10.0 * period**3 / 6.0)]])
    right.append(np.zeros((1, wanted.shape[1])))
    c = np.linalg.lstsq(np.vstack(rows), np.vstack(right), rcond=None)[0]
    off = roots[:, None] * (wanted - np.vander(s, 4, increasing=True) @ c)
    return middle, c, (off**2).sum(axis=0).mean() / (roots**2).sum()


def agrees(found, expected, period=PERIOD, rtol=1e-6):
    middle, c = expected
    assert isinstance(found, Smoothed)
    np.testing.assert_array_equal(Points.place(found.middle), middle)
    np.testing.assert_allclose(found.way, c[0], rtol=rtol, atol=1e-8)
    np.testing.assert_allclose(found.rate, c[1] / period, rtol=rtol, atol=1e-7)
    np.testing.assert_allclose(found.second, 2.0 * c[2] / period**2, rtol=rtol, atol=1e-5)
    np.testing.assert_allclose(found.third, 6.0 * c[3] / period**3, rtol=rtol, atol=1e-4)


def scattered(count=12, seed=3):
    random = np.random.default_rng(seed)
    times = 5.0 + PERIOD * (np.arange(count) + random.uniform(-0.2, 0.2, count))
    return times, np.sin(2.0 * times[:, None] + [0.0, 1.0, 2.5]) + random.normal(0.0, 0.03, (count, 3))


@pytest.mark.parametrize("with_rates", [False, True])
@pytest.mark.parametrize("place", [6.37, 7.84, 9.0, 10.5])
def test_a_window_of_samples_is_fitted_by_a_weighted_cubic(place, with_rates):
    times, places = scattered()
    rates = 2.0 * np.cos(2.0 * times[:, None] + [0.0, 1.0, 2.5]) if with_rates else None
    stream, at = filled(times, places, rates=rates), 5.0 + PERIOD * place
    middle, c, _ = local_cubic(times, places, at, 0.45, 0.15, PERIOD, rates=rates)
    agrees(stream.smoothed(at), (middle, c))


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_rates_count_where_all_samples_of_the_window_have_one(missing):
    """At the first sample the window ends 1.5 periods after it: with the second of them."""
    times, places = 5.0 + PERIOD * np.arange(8), scattered(8)[1]
    rates = 2.0 * np.cos(2.0 * times[:, None] + [0.0, 1.0, 2.5])
    stream = Points(1.0)
    for k, time in enumerate(times):
        stream.add(places[k] if k == missing else (places[k], rates[k]), time, time, PERIOD)
    counted = rates if missing > 1 else None
    agrees(stream.smoothed(5.0), local_cubic(times, places, 5.0, 0.45, 0.15, PERIOD, rates=counted)[:2])


def test_scatter_lowers_the_third_derivative_of_later_moments():
    times, places = scattered()
    stream, noise = filled(times, places), 0.0
    for at in (5.71, 5.78, 5.85, 5.93, 6.0):
        middle, c, scatter = local_cubic(times, places, at, 0.45, 0.15, PERIOD, noise)
        agrees(stream.smoothed(at), (middle, c))
        noise += 0.02 * (scatter - noise)
    assert noise > 1e-6


@pytest.mark.parametrize("late", [0.05, 0.9, 1.2])
def test_after_the_last_sample_the_window_is_three_times_as_long_as_the_time_since_it(late):
    times, places = scattered(20)
    stream, at = filled(times, places), times[-1] + late * PERIOD
    behind = max(0.45, 3.0 * late * PERIOD)
    agrees(stream.smoothed(at), local_cubic(times, places, at, behind, 0.15, PERIOD)[:2])
    stream.window = 0.8
    noise = local_cubic(times, places, at, behind, 0.15, PERIOD)[2] * 0.02
    agrees(stream.smoothed(at), local_cubic(times, places, at, 0.8, 0.15, PERIOD, noise)[:2])


def test_the_widened_window_counts_for_a_period_that_is_shorter_than_the_least_time_beyond():
    times = 1.0 + 1e-3 * np.arange(40)
    places = np.sin(40.0 * times[:, None] + [0.0, 2.0])
    stream, at = filled(times, places, period=1e-3), times[-1] + 0.008
    found, (middle, c, _) = stream.smoothed(at), local_cubic(times, places, at, 0.024, 0.0015, 1e-3)
    agrees(found, (middle, c), 1e-3)


def test_missing_samples_widen_the_window_to_the_next_one_on_both_sides():
    times = 1.0 + PERIOD * np.array([0, 1, 2, 3, 4, 5, 11, 12, 13, 14.0])
    random = np.random.default_rng(2)
    places = np.sin(times)[:, None] + random.normal(0.0, 0.02, (10, 2))
    for at, behind, ahead in (
        (1.0 + 5.3 * PERIOD, 0.45, 1.05 * 5.7 * PERIOD),
        (1.0 + 10.9 * PERIOD, 1.05 * 5.9 * PERIOD, 0.15),
        (1.0 + 8.0 * PERIOD, 0.45, 1.05 * 3.0 * PERIOD),
    ):
        stream = filled(times, places)
        inside = [time for time in times if at - behind <= time <= at + ahead]
        if len(inside) >= 4:
            agrees(stream.smoothed(at), local_cubic(times, places, at, behind, ahead, PERIOD)[:2])
        else:
            assert stream.smoothed(at) is not None


def test_four_samples_count_at_least_and_a_cubic_through_them_is_met():
    times = 1.0 + 0.2 * np.arange(12)
    cubic = np.polynomial.Polynomial([0.3, -0.7, 0.4, 1.1])
    stream = filled(times, cubic(times)[:, None], period=0.05)
    for at in (1.0 + 0.2 * 10.95, 1.0 + 0.2 * 11.02):
        found = stream.smoothed(at)
        nearest = times[np.argmin(abs(times - at))]
        np.testing.assert_allclose(found.middle, cubic(nearest))
        np.testing.assert_allclose(found.way, cubic(at) - cubic(nearest), rtol=1e-3, atol=1e-4)


def test_before_the_first_sample_the_motion_waits_at_its_fitted_begin():
    times, places = scattered()
    stream = filled(times, places)
    found = stream.smoothed(times[0] - 0.3)
    np.testing.assert_array_equal(found.middle, places[0])
    assert np.abs(found.way).max() < 0.1
    for value in (found.rate, found.second, found.third):
        np.testing.assert_array_equal(value, np.zeros(3))
    at_first = filled(times, places).smoothed(times[0])
    np.testing.assert_array_equal(found.way, at_first.way)
    assert np.abs(at_first.rate).min() > 0.0


@pytest.mark.parametrize(("period", "beyond"), [(0.5, 0.65), (0.01, 0.02)])
def test_the_motion_goes_on_for_so_long_after_the_last_sample(period, beyond):
    times = period * np.arange(8)
    stream = filled(times, np.sin(times)[:, None], period=period)
    assert stream.smoothed(times[-1] + 0.999 * beyond) is not None
    assert stream.smoothed(times[-1] + 1.001 * beyond) is None


def test_six_samples_make_a_stream():
    stream = Points(0.4)
    assert (stream.last, stream.latest, stream.count) == (None, -np.inf, 0)
    assert (stream.period, stream.window) == (0.0, 0.0)
    for k in range(6):
        assert not stream.ready and stream.smoothed(0.1 * k) is None and stream.gap == 0.25
        assert stream.add(np.array([0.5 * k]), 0.1 * k, 0.1 * k, 0.1)
        assert (stream.last[0], stream.latest, stream.count) == (0.5 * k, 0.1 * k, k + 1)
    assert stream.ready and stream.smoothed(0.45) is not None
    assert stream.gap == pytest.approx(0.45) and stream.period == 0.1
    assert stream.add(np.array([3.0]), 0.61, 0.61, 0.01) and stream.gap == 0.05
    stream.clear()
    assert (stream.last, stream.latest, stream.count, stream.period) == (None, -np.inf, 0, 0.0)


def test_samples_that_are_not_newer_are_left_out():
    stream = Points(0.4)
    assert stream.add("a", 0.0, 0.0, 0.1)
    assert not stream.add("b", 1e-5, 0.0, 0.2) and not stream.add("c", -1.0, 0.0, 0.2)
    assert (stream.count, stream.last, stream.period) == (1, "a", 0.1)
    assert stream.add("d", 1.1e-5, 0.0, 0.3)
    assert (stream.count, stream.last, stream.period) == (2, "d", 0.3)
    assert stream.add("e", 1.0, 1.0, 0.3) and not stream.add("f", 0.5, 1.0, 0.3)


@pytest.mark.parametrize(("timeout", "period", "allowed"), [(1.0, 0.1, 1.0), (0.25, 0.125, 0.5625)])
def test_a_stream_ends_after_its_timeout_or_a_gap_of_its_period(timeout, period, allowed):
    stream = Points(timeout)
    assert stream.ended(-1e9)
    stream.add("a", 2.0, 1.0, period)
    assert not stream.ended(2.0 + allowed) and stream.ended(2.0 + 1.001 * allowed)
    stream.add("late", 1.5, 3.0, 10.0)  # one that is too old says that the sender is alive
    assert not stream.ended(3.0 + allowed) and stream.ended(3.0 + 1.001 * allowed)


def test_64_samples_are_kept_and_those_that_the_motion_needs_still():
    stream = Points(1.0)
    for k in range(100):
        stream.add(k, 0.125 * k, 0.125 * k, 0.125)
    assert stream.count == 64 and stream.last == 99
    ahead = Points(1.0)
    for k in range(100):
        ahead.add(k, 0.125 * k, 0.0, 0.125)
    assert ahead.count == 100
    # At 4.5 periods before now the window begins: sample 85.5 of the motion at 90.
    ahead.add(100, 12.5, 90 * 0.125, 0.125)
    assert ahead.count == 64
    far = Points(1.0)
    for k in range(100):
        far.add(k, 0.125 * k, 0.0, 0.125)
    far.add(100, 12.5, 24.75 * 0.125, 0.125)  # the window begins at 20.25: 21 and later are needed
    assert far.count == 101 - 21
    far.window = 22 * 0.125
    far.add(101, 12.625, 44.5 * 0.125, 0.125)  # at 22.5
    assert far.count == 102 - 23
    np.testing.assert_array_equal(far._samples, np.arange(23, 102))
    np.testing.assert_array_equal(far._times, 0.125 * np.arange(23, 102))


@pytest.mark.parametrize(
    ("stamp", "message"),
    [
        (
            11.25,
            "its stamp is 1.25 s after that of the last joint state; it must be between 0.5 s before and",
        ),
        (
            9.25,
            "its stamp is 0.75 s before that of the last joint state; it must be between 0.5 s before and",
        ),
    ],
)
def test_stamps_of_another_clock_are_refused(stamp, message):
    with pytest.raises(TrajectoryError) as found:
        check_stamp(stamp, 10.0, 0.5)
    assert str(found.value) == (
        f"{message} 1 s after it; a stamp of 0 or stream_clock: recovered needs no common clock"
    )
    check_stamp(9.5, 10.0, 0.5)
    check_stamp(11.0, 10.0, 0.5)


def test_a_filter_of_its_own_says_its_ways_and_rates():
    for call in (lambda: StreamFilter(1.0).ways(0, [1]), lambda: StreamFilter(1.0).rates([1])):
        with pytest.raises(NotImplementedError):
            call()
