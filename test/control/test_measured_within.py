"""Measured joints from within: their states, how they go on, what is missed, and their memory."""

from __future__ import annotations

import ctypes
import re
import resource
from functools import lru_cache
from pathlib import Path

import cffi
import numpy as np
import pytest
from inner_core import FOLDER, inner

M, N = 2, 4
REST = np.array([[0.1, -0.2], [0.0, 0.0], [0.0, 0.0]])
LOWEST, HIGHEST, FASTEST = np.array([-2.0, -0.5]), np.array([1.5, 0.7]), np.array([5.0, 3.0])
TIMEOUT, SMOOTHING, GUARD = 0.25, 0.02, 7.0


@lru_cache
def structure():
    """Measured joints as their source has them."""
    text = (FOLDER / "measured.c").read_text(encoding="utf-8")
    found = re.search(r"struct rd_measured (\{.*?\n\});", text, re.DOTALL)[1]
    own = cffi.FFI()
    own.cdef("typedef struct " + found.replace("_Atomic(double)", "double") + " measured_joints;")
    return own


class Beside:
    """Two measured joints of a robot of four, and their motion."""

    def __init__(self, m=M, n=N, rest=REST, bounds=(LOWEST, HIGHEST, FASTEST)):
        self.ffi, self.calls = inner()
        self.m, self.n, self.kept = m, n, []
        given = [self.array(np.ravel(values)) for values in (rest, bounds)]
        made = self.calls.rd_measured_new(m, n, TIMEOUT, *given)
        self.measured = self.ffi.gc(made, self.calls.rd_measured_free)
        address = int(self.ffi.cast("uintptr_t", made))
        self.inside = structure().cast("measured_joints *", address)

    def array(self, values, behind=1e6):
        made = self.ffi.new("double[]", [*(float(value) for value in values), behind])
        self.kept.append(made)
        return made

    def take(self, time, position, velocity=None):
        speed = self.ffi.NULL if velocity is None else self.array(velocity)
        self.calls.rd_measured_take(self.measured, time, self.array(position), speed)

    def accelerate(self, values, until):
        self.calls.rd_measured_accelerate(self.measured, self.array(values), until)

    def advance(self, time, period=0.0):
        """Positions, velocities and accelerations in a cycle."""
        self.calls.rd_measured_advance(self.measured, time, period)
        return self.motion()

    def motion(self):
        found = self.array([GUARD] * 3 * self.m, GUARD)
        self.calls.rd_measured_motion(self.measured, found)
        assert found[3 * self.m] == GUARD
        return np.array(list(found)[: 3 * self.m]).reshape(3, self.m)

    def report(self):
        """Efforts that were missed, and the age of the oldest state."""
        found = self.array([GUARD] * self.n, GUARD)
        age = self.calls.rd_measured_report(self.measured, found)
        assert found[self.n] == GUARD
        return np.array(list(found)[: self.n]), age

    @property
    def change(self):
        return np.array(list(self.inside.change[0 : self.m]))


@pytest.fixture
def beside():
    return Beside()


# States


def test_joints_are_known_once_each_of_them_has_had_a_state(beside):
    known = beside.calls.rd_measured_known
    assert known(beside.ffi.NULL) == 1 and known(beside.measured) == 0
    np.testing.assert_array_equal(beside.motion(), REST)
    assert beside.report()[1] == np.inf
    beside.take(3.0, (0.4, np.nan))
    assert known(beside.measured) == 0
    beside.take(3.0, (np.inf, 0.3))
    assert known(beside.measured) == 1
    np.testing.assert_allclose(beside.advance(3.0), [(0.4, 0.3), (0.0, 0.0), (0.0, 0.0)])
    alone = Beside()
    alone.take(3.0, (np.nan, 0.3))
    assert known(alone.measured) == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_states_stay_within_their_limits(beside, sign):
    beside.take(3.0, (0.4, 0.3), (0.5, -0.25))
    np.testing.assert_allclose(beside.advance(3.0)[:2], [(0.4, 0.3), (0.5, -0.25)])
    beside.take(3.01, np.multiply(sign, (90.0, -80.0)), np.multiply(sign, (70.0, -60.0)))
    ends = (HIGHEST[0], LOWEST[1]) if sign > 0 else (LOWEST[0], HIGHEST[1])
    np.testing.assert_allclose(beside.advance(3.01)[:2], [ends, np.multiply(sign, FASTEST * (1.0, -1.0))])


def test_velocities_and_their_changes_are_filtered_differences():
    made, draw = Beside(), np.random.default_rng(3)
    p, v, change = np.array([0.4, -0.3]), np.zeros(2), np.zeros(2)
    made.take(0.0, p)
    time = 0.0
    for elapsed in (0.01, 0.004, 0.05, 0.099, 0.02):
        time += elapsed
        after, share = p + draw.normal(size=2) * 0.03, 1.0 - np.exp(-elapsed / SMOOTHING)
        made.take(time, after)
        was, v = v, np.clip(v + share * ((after - p) / elapsed - v), -FASTEST, FASTEST)
        change = change + share * ((v - was) / elapsed - change)
        p = after
        np.testing.assert_allclose(made.advance(time)[:2], [p, v], rtol=1e-9)
        np.testing.assert_allclose(made.change, change, rtol=1e-6)
    measured = np.array([0.7, -0.9])
    made.take(time + 0.03, p, measured)
    share = 1.0 - np.exp(-0.03 / SMOOTHING)
    change = change + share * ((measured - v) / 0.03 - change)
    np.testing.assert_allclose(made.change, change, rtol=1e-6)
    np.testing.assert_allclose(made.advance(time + 0.03)[1], measured)


@pytest.mark.parametrize("velocity", [None, (0.5, -0.25)])
@pytest.mark.parametrize(("last", "now"), [(0.0, 0.1), (0.2, 0.35), (0.1, 0.0), (0.2, 0.0)])
def test_over_a_gap_or_a_reset_nothing_is_estimated(last, now, velocity):
    made = Beside()
    for time in (last - 0.02, last - 0.01, last):
        made.take(time, (9.0 * (time - last), 0.3), (0.3, time))
    assert abs(made.change[1]) > 0.1
    made.take(now, (0.6, 0.1), velocity)
    np.testing.assert_array_equal(made.change, 0.0)
    np.testing.assert_array_equal(made.advance(now)[:2], [(0.6, 0.1), velocity or (0.0, 0.0)])


@pytest.mark.parametrize("later", [0.0, -0.001, -0.0999])
def test_states_that_are_no_newer_are_left_out(later):
    made = Beside()
    made.take(3.0, (0.4, 0.3), (0.5, -0.25))
    made.take(3.0 + later, (0.6, 0.1), (0.1, 0.1))
    np.testing.assert_array_equal(made.advance(3.0)[:2], [(0.4, 0.3), (0.5, -0.25)])
    made.take(3.01, (np.nan, 0.2), (0.1, 0.2))
    np.testing.assert_allclose(made.advance(3.01)[:2], [(0.405, 0.2), (0.5, 0.2)])
    made.take(3.02, (0.7, 0.1), (np.nan, 0.1))
    assert made.advance(3.02)[1][1] == 0.1 and made.advance(3.02)[1][0] not in (0.0, 0.5)


# How they go on


@pytest.mark.parametrize(("later", "period"), [(0.0, 0.0), (0.05, 0.0), (0.03, 0.008), (TIMEOUT, 0.02)])
def test_joints_go_on_with_velocity_and_intended_acceleration(later, period):
    made = Beside()
    p, v, a = np.array([0.4, -0.3]), np.array([0.5, 0.25]), np.array([0.75, -0.625])
    made.take(0.0, p, v)
    made.accelerate(a, later)
    ahead = later + 0.5 * period
    np.testing.assert_allclose(
        made.advance(later, period), [p + ahead * v + 0.5 * ahead**2 * a, v + ahead * a, a]
    )
    assert made.report()[1] == later
    np.testing.assert_array_equal(made.report()[0], 0.0)
    made.accelerate(a, later - 1e-6)
    np.testing.assert_allclose(made.advance(later, period), [p + ahead * v, v, (0.0, 0.0)])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_intended_acceleration_that_is_no_number_counts_as_none(wrong):
    made = Beside()
    made.take(0.0, (0.4, -0.3), (0.5, 0.25))
    made.accelerate((wrong, 0.75), 9.0)
    found = made.advance(0.1)
    np.testing.assert_allclose(found[:, 0], (0.45, 0.5, 0.0))
    np.testing.assert_allclose(found[:, 1], (-0.3 + 0.025 + 0.00375, 0.325, 0.75))


def test_joints_whose_states_are_late_stand():
    made = Beside()
    made.take(0.0, (0.4, -0.3), (0.5, 0.25))
    made.take(0.1, (0.4, np.nan), (0.5, 0.25))
    made.accelerate((0.75, -0.625), 9.0)
    found = made.advance(TIMEOUT + 1e-3)
    ahead = TIMEOUT + 1e-3 - 0.1
    np.testing.assert_allclose(found[:, 1], (-0.3, 0.0, 0.0))
    np.testing.assert_allclose(found[:, 0], (0.4 + ahead * 0.5 + 0.375 * ahead**2, 0.5 + 0.75 * ahead, 0.75))
    assert made.report()[1] == pytest.approx(TIMEOUT + 1e-3)


def test_a_cycle_before_the_last_state_has_no_age():
    made = Beside()
    made.take(1.0, (0.4, -0.3), (0.5, 0.25))
    np.testing.assert_allclose(made.advance(0.5)[:2], [(0.4, -0.3), (0.5, 0.25)])
    assert made.report()[1] == 0.0


@pytest.mark.parametrize("sign", [1, -1])
def test_what_goes_on_stays_within_the_limits(sign):
    made = Beside()
    made.take(0.0, np.multiply(sign, (1.4, -0.45)), np.multiply(sign, (4.9, -2.9)))
    made.accelerate(np.multiply(sign, (90.0, -90.0)), 9.0)
    ends = (HIGHEST[0], LOWEST[1]) if sign > 0 else (-1.4 - 0.1 * 4.9 - 0.005 * 90.0, HIGHEST[1])
    ends = np.clip(ends, LOWEST, HIGHEST)
    np.testing.assert_allclose(made.advance(0.1)[:2], [ends, sign * FASTEST * (1.0, -1.0)])


def test_lost_states_stop_the_joints_where_they_are():
    made = Beside()
    made.take(0.0, (0.4, -0.3), (0.5, 0.25))
    made.accelerate((0.75, -0.625), 9.0)
    made.advance(0.1)
    place = made.motion()[0]
    made.calls.rd_measured_lost(made.measured)
    np.testing.assert_array_equal(made.motion(), [place, (0.0, 0.0), (0.0, 0.0)])
    made.calls.rd_measured_lost(made.ffi.NULL)
    made.calls.rd_measured_advance(made.ffi.NULL, 1.0, 1.0)
    np.testing.assert_array_equal(made.report()[0], 0.0)


# What is missed


class Missing(Beside):
    """Joints beside a model whose efforts are linear in the accelerations that are measured."""

    def __init__(self):
        super().__init__()
        self.effects = np.array([[3.0, -1.0], [-2.0, 0.5], [0.25, 4.0], [-1.5, -2.5]])
        self.given, self.fails_at = [], None
        kernel = self.ffi.callback("int(const double *const *, double *)", self._dynamics)
        self.settings = self.ffi.new("rd_settings *")
        self.kept.append(kernel)
        self.settings.inverse_dynamics = kernel
        self.gravity, self.payload = self.array([1.0] * 3), self.array([2.0] * 10)
        self.settings.gravity, self.settings.payload = self.gravity, self.payload
        self.place = self.array((0.1, 0.2, 0.3, 0.4))

    def _dynamics(self, given, out):
        assert (given[0], given[3], given[4]) == (self.place, self.gravity, self.payload)
        assert not any(given[k][j] for k in (1, 2) for j in range(N))
        motion = np.array([given[5][k] for k in range(3 * M)]).reshape(3, M)
        self.given.append(motion)
        effort = self.effects @ motion[2] + np.arange(4.0) + motion[0].sum()
        for j in range(N):
            out[j] = effort[j]
        return len(self.given) != self.fails_at

    def miss(self):
        self.given = []
        self.calls.rd_measured_miss(self.measured, self.settings, self.place)
        return len(self.given)

    def moved(self, change):
        """With such measured accelerations, of which 0.25 and -0.5 are intended."""
        self.take(0.0, (0.4, -0.3), (0.0, 0.0))
        self.accelerate((0.25, -0.5), 9.0)
        self.advance(0.0)
        for j in range(M):
            self.inside.change[j] = change[j]


@pytest.mark.parametrize("change", [(0.75, -0.5), (0.25, 0.5), (-0.25, 1.5), (1.25, -2.5)])
def test_what_the_measured_accelerations_take_beside_the_intended_ones_is_missed(change):
    made = Missing()
    made.moved(change)
    assert made.miss() == 2
    beyond = np.subtract(change, (0.25, -0.5))
    np.testing.assert_array_equal(made.given[0], [(0.4, -0.3), (0.0, 0.0), (0.0, 0.0)])
    np.testing.assert_array_equal(made.given[1], [(0.4, -0.3), (0.0, 0.0), beyond])
    assert made.inside.missed[N] == 0.0
    np.testing.assert_allclose(made.report()[0], np.abs(made.effects @ beyond))
    np.testing.assert_array_equal(made.report()[0], 0.0)


def test_the_largest_effort_that_was_missed_is_reported():
    made = Missing()
    made.moved((0.75, -0.5))
    made.miss()
    made.moved((0.25, -0.25))
    made.miss()
    expected = np.maximum(np.abs(made.effects[:, 0] * 0.5), np.abs(made.effects[:, 1] * 0.25))
    np.testing.assert_allclose(made.report()[0], expected)
    made.accelerate((1.0, 1.0), 9.0)
    np.testing.assert_array_equal(made.report()[0], 0.0)


def test_where_nothing_is_missed_the_model_is_asked_once():
    made = Missing()
    made.moved((0.25, -0.5))
    assert made.miss() == 1
    np.testing.assert_array_equal(made.report()[0], 0.0)
    made.calls.rd_measured_miss(made.ffi.NULL, made.settings, made.place)


@pytest.mark.parametrize("call", [1, 2])
def test_a_model_without_an_effort_misses_none(call):
    made = Missing()
    made.moved((0.75, 0.5))
    made.fails_at = call
    assert made.miss() == call
    np.testing.assert_array_equal(made.report()[0], 0.0)


# Memory


@pytest.mark.parametrize(("m", "n"), [(2, 4), (3, 5), (1, 2), (5, 7)])
def test_arrays_of_measured_joints_lie_apart_and_within_their_store(m, n):
    rest, bounds = np.arange(3.0 * m), np.arange(3.0 * m) + 50.0
    made = Beside(m, n, rest, bounds)
    sizes = {"rest": 3 * m, "now": 3 * m, "bounds": 3 * m, "given": 3 * m, "position": m, "velocity": m}
    sizes |= {"change": m, "time": m, "zero": n, "with": n, "without": n}

    def begin(name):
        return int(structure().cast("uintptr_t", getattr(made.inside, name)))

    room = ctypes.CDLL(None).malloc_usable_size
    room.argtypes, room.restype = [ctypes.c_void_p], ctypes.c_size_t
    last = store = begin("rest")
    for name in sorted(sizes, key=begin):
        assert begin(name) >= last, name
        last = begin(name) + 8 * sizes[name]
    assert last <= store + room(store)
    assert begin("missed") == begin("acceleration") + 8 * m
    assert room(begin("acceleration")) >= 8 * (m + n)
    for name, expected in (("rest", rest), ("now", rest), ("bounds", bounds), ("time", [-np.inf] * m)):
        np.testing.assert_array_equal(list(getattr(made.inside, name)[0 : len(expected)]), expected)
    for name in ("given", "position", "velocity", "change", "zero", "with", "without"):
        assert not any(getattr(made.inside, name)[0 : sizes[name]]), name
    assert (made.inside.until, made.inside.age) == (-np.inf, np.inf)
    made.calls.rd_measured_free(made.ffi.NULL)


def test_measured_joints_without_memory_are_none():
    ffi, calls = inner()
    given = ffi.new("double[]", 3)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (used + (16 << 30), before[1])
    )  # one array fits, the other one not
    try:
        made = calls.rd_measured_new(1, 2**30, TIMEOUT, given, given)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert made == ffi.NULL
