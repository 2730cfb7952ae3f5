"""Deadlines of the loop by the wall clock, and its lateness figures against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.ros.support import pacing
from robot_dynamics.ros.support.pacing import Lateness, Pacer

PERIOD = 2_000_000


def test_percentiles_are_those_of_the_samples():
    samples = np.random.default_rng(1).exponential(2e5, 5000).astype(int)
    lateness = Lateness(PERIOD)
    for sample in samples:
        lateness.add(int(sample))
    figures = lateness.summary()
    assert figures["cycles"] == 5000
    assert figures["late_by_a_period"] == np.sum(samples > PERIOD)
    assert figures["late_us_max"] == samples.max() // 1000
    for key, share in (("late_us_p50", 50), ("late_us_p99", 99), ("late_us_p99.9", 99.9)):
        assert figures[key] == pytest.approx(np.percentile(samples, share) / 1000, rel=0.02, abs=1.0)


def test_cycles_that_begin_early_or_very_late_are_counted():
    lateness = Lateness(PERIOD)
    lateness.add(-500)
    lateness.add(10**10)
    assert lateness.summary()["late_us_max"] == 10**7
    assert lateness.over == 1


def test_deadlines_do_not_drift_and_lost_time_is_given_up(monkeypatch):
    now = 0
    monkeypatch.setattr(pacing.time, "monotonic_ns", lambda: now)
    pacer = Pacer(PERIOD)
    for k in range(1, 6):
        now = k * PERIOD + 300_000 * (k % 2)
        pacer.start_cycle()
        assert pacer.remaining() == (k + 1) * PERIOD - now
    now = 10 * PERIOD
    pacer.start_cycle()
    assert pacer.remaining() == 7 * PERIOD - now
    now += 2 * pacing.GIVE_UP
    pacer.start_cycle()
    assert pacer.remaining() == PERIOD
