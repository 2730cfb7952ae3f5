"""The core's memory, and the picture of it that other threads read."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from made_up_arm import MadeUpArm

N = 3
INFINITE = np.inf
ONES = ("softness", "swung", "stiffened", "overcome")
ARRAYS = (
    "effort", "unlimited", "reference__position", "reference__velocity", "reference__acceleration",
    "state__position", "state__velocity", "ahead__position", "ahead__velocity", "ahead__acceleration",
    "hold", "last_effort", "departing", "difference", "inertia", "unwrapped", "last_position",
    "last_velocity", "before", "zero", "sent", "left", "stopping__place", "stopping__rate", "believed",
    "blind__position", "blind__velocity", "blind__acceleration", "disturbance", "undisturbed", "softness",
    "swung", "stiffened", "led", "strayed", "cut_at", "overcome", "rubbed", "shown_friction", "slid",
    "slid_at", "supervision__place", "supervision__shaken", "supervision__stopped", "setpoints__position",
    "setpoints__velocity", "felt", "retreat__way", "rejoining__place", "rejoining__rate", "estimate__place",
    "estimate__velocity", "estimate__from", "measured", "acted", "smoothed__position", "smoothed__velocity",
)  # fmt: skip


class Core(MadeUpArm):
    """Three joints under a machine of its own, which reports numbers from 71 on."""

    def __init__(self):
        super().__init__(N)
        machine = self.machine = self.ffi.new("rd_machine *", self.calls.rd_machine_arm()[0])
        machine.telemetry, machine.telemetry_of_joints = 2, 1
        machine.report = self.own("void(const rd_core *, double *)", self._report)
        self.settings.machine = machine
        self.core = self.new()

    def own(self, kind, function):
        made = self.ffi.callback(kind, function)
        self._kept.append(made)
        return made

    def new(self, n=N):
        return self.ffi.gc(self.calls.rd_core_new(n, self.settings), self.calls.rd_core_free)

    def _report(self, core, telemetry):
        for k in range(core.n + 2):
            telemetry[k] = 71.0 + k

    def snapshot(self):
        """Header and arrays of a snapshot, of which no word beside it is touched."""
        size = self.calls.rd_core_snapshot_size(self.core)
        room = np.full(3 * size // 8, 7, dtype=np.uint64)
        words = size // 8
        place = self.ffi.cast("rd_snapshot *", room[words:].ctypes.data)
        self.calls.rd_core_snapshot(self.core, place)
        assert (room[:words] == 7).all() and (room[2 * words :] == 7).all()
        header = self.ffi.sizeof("rd_snapshot") // 8
        self._kept.append(room)
        return place, room[words + header : 2 * words].view(float)


@pytest.fixture
def made():
    return Core()


def field(core, name):
    for part in name.split("__"):
        core = getattr(core, part)
    return core


def address(made, pointer):
    return int(made.ffi.cast("uintptr_t", pointer))


# Memory


def usable(address):
    """Bytes of a block of the heap."""
    size = ctypes.CDLL(None).malloc_usable_size
    size.argtypes, size.restype = [ctypes.c_void_p], ctypes.c_size_t
    return size(address)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_arrays_of_a_core_lie_apart_and_within_its_store(made, n):
    core = made.new(n)
    sizes = dict.fromkeys(ARRAYS, n) | {f"scratch__{k}": n for k in range(4)}
    sizes |= {"matrix": n * n, "task__rows": 20 * n, "retreat__coefficients": 6 * n}
    begins = {}
    for name in sizes:
        place = core.scratch[int(name[-1])] if name.startswith("scratch") else field(core, name)
        begins[name] = address(made, place)
    store = address(made, core.store)
    last = store
    for name in sorted(sizes, key=begins.get):
        assert begins[name] >= last, name
        last = begins[name] + 8 * sizes[name]
    assert last <= store + usable(store)
    words = made.ffi.sizeof("rd_snapshot") // 8 + 6 * n + n + 2
    assert made.calls.rd_core_snapshot_size(core) == 8 * words
    for block, size in ((core.shown, 8 * words), (core.published, 8 * words), (core.swings, 8 * n)):
        assert usable(address(made, block)) >= size


def test_results_are_the_first_five_arrays(made):
    core, found = made.core, made.ffi.new("rd_results *")
    core.discontinuity, core.discontinuity_size, core.discontinuity_more, core.phase = 2, 0.25, 0.75, 4
    core.trip.count = 6
    for k, name in enumerate(ARRAYS[:5]):
        made.put(**{name: 10.0 * k + np.arange(3)})
    made.calls.rd_core_results(core, found)
    expected = (10.0 * np.arange(5)[:, None] + np.arange(3)).ravel()
    np.testing.assert_array_equal(list(found.results[0:15]), expected)
    assert (found.phase[0], found.discontinuity, found.trip.count) == (4, 2, 6)
    assert (found.discontinuity_size, found.discontinuity_more) == (0.25, 0.75)


def test_a_new_core_has_whole_gains_and_nothing_has_been_yet(made):
    core = made.core
    for name in ARRAYS:
        expected = 1.0 if name in ONES else -INFINITE if name == "cut_at" else 0.0
        np.testing.assert_array_equal(made.get(name), expected, err_msg=name)
    assert core.pace.share == 1.0 and np.isnan(core.pace.relieved)
    for name in ("time", "last_time", "slid_time", "guided_until", "pushed_until"):
        assert getattr(core, name) == -INFINITE, name
    for name in ("stopped_at", "leapt", "moved"):
        assert getattr(core.supervision, name) == -INFINITE, name
    for rows in (core.task.modes, core.task.frame):
        found = np.array([list(row.of) for row in rows])
        np.testing.assert_array_equal(found, np.eye(6, 8))
    assert core.seen == made.ffi.addressof(core, "state") and core.place == core.state.position


def test_a_machine_begins_its_own_state_and_place(made):
    seen = []

    def begin(core):
        seen.append(address(made, core.machine_state))
        assert core.place != core.state.position
        for j in range(N):
            core.place[j] = 0.5 + j

    made.machine.begin = made.own("void(rd_core *)", begin)
    found = "int(rd_core *, double, const double *, const double *)"
    made.machine.find_place = made.own(found, lambda *given: 1)
    made.machine.state_size = 40
    core = made.new()
    assert seen == [address(made, core.machine_state)] and usable(seen[0]) >= 41
    assert list(core.hold[0:N]) == [0.5, 1.5, 2.5]
    made.calls.rd_core_free(made.ffi.NULL)


# The picture


def test_a_snapshot_has_what_the_core_has(made):
    core, calls = made.core, made.calls
    made.settings.model = 12
    core.epoch, core.finished, core.considered, core.beyond, core.verdict = 21, 22, 23, 24, 3
    core.time, core.period, core.late, core.phase = 5.5, 0.004, 0.75, calls.RD_TRACKING
    core.refused, core.estimate.replaces, core.supervision.moved = [30, 31], 1, 5.4
    core.trip.count, core.trip.measured = 4, 1.25
    for rule in range(calls.RD_RULES):
        core.supervision.rules[rule].largest = 0.25 + rule
    for k, name in enumerate(ARRAYS[2:7]):
        made.put(**{name: 10.0 * k + np.arange(1, 4)})
    made.put(hold=(0.1, 0.2, 0.3))
    calls.rd_core_publish(core)
    shown, arrays = made.snapshot()
    assert (shown.epoch, shown.finished, shown.considered, shown.beyond, shown.verdict) == (21, 22, 23, 24, 3)
    assert (shown.time, shown.period, shown.late, shown.phase) == (5.5, 0.004, 0.75, calls.RD_TRACKING)
    assert (shown.model, shown.refused, shown.estimates, shown.moves) == (12, 31, 1, 1)
    assert (shown.trip.count, shown.trip.measured, shown.rests) == (4, 1.25, 5.5)
    assert list(shown.largest) == [0.25 + rule for rule in range(calls.RD_RULES)]
    reference = [10.0 * k + i for k in range(3) for i in range(1, 4)]
    state = [10.0 * k + i for k in (3, 4) for i in range(1, 4)]
    np.testing.assert_array_equal(arrays, [0.1, 0.2, 0.3, *state, *reference, *range(71, 76)])


def test_a_machine_without_a_report_shows_none(made):
    made.machine.report = made.ffi.NULL
    made.machine.telemetry = made.machine.telemetry_of_joints = 0
    made.core = made.new()
    made.put(reference__acceleration=(1.0, 2.0, 3.0))
    made.calls.rd_core_publish(made.core)
    np.testing.assert_array_equal(made.snapshot()[1][-3:], (1.0, 2.0, 3.0))


@pytest.mark.parametrize(("seen", "median", "shown"), [(0, 0.3, 0.0), (1, 0.3, 0.3)])
def test_the_usual_period_is_shown_once_it_is_known(made, seen, median, shown):
    made.core.pace.seen, made.core.pace.median = seen, median
    made.calls.rd_core_publish(made.core)
    assert made.snapshot()[0].usual_period == shown


def test_a_stop_rests_when_its_pace_has_gone(made):
    core, stop = made.core, made.core.stopping
    core.time, core.phase = 5.0, made.calls.RD_STOPPING
    stop.kind, stop.at, stop.pace, stop.change = made.calls.RD_STOP_HOLD, 5.0, 0.5, -2.0
    made.calls.rd_core_publish(core)
    assert made.snapshot()[0].rests == pytest.approx(5.25)


def plan(made, number):
    found = made.ffi.new("rd_plan *", {"number": number})
    made._kept.append(found)
    return found


@pytest.mark.parametrize(("given", "current", "oldest"), [
    ({}, 0, 41),
    ({"waits": 9}, 0, 9),
    ({"waits": 9, "current": 7}, 7, 7),
    ({"waits": 4, "current": 7}, 7, 7),
    ({"stops": 5, "current": 7}, 7, 5),
    ({"stopped": 5, "current": 7}, 7, 7),
    ({"stops": None, "current": 7}, 7, 7),
    ({"current": 7, "before": 3}, 7, 3),
    ({"current": 7, "before": 3, "epoch": 8}, 7, 7),
    ({"current": 7, "before_waits": 2}, 7, 2),
    ({"current": 7, "before": 3, "before_waits": 2}, 7, 3),
    ({"current": 7, "before": 8}, 7, 7),
    ({"before": 3}, 0, 3),
    ({"before": 3, "epoch": 8}, 0, 41),
    ({"before": 3, "waits": 2}, 0, 2),
])  # fmt: skip
def test_the_oldest_plan_is_the_first_that_is_used_or_may_come_back(made, given, current, oldest):
    core, null = made.core, made.ffi.NULL
    core.considered, core.epoch, core.before_plan.epoch = 40, 9, given.get("epoch", 9)
    number = {name: given.get(name) for name in ("current", "stops", "stopped", "before")}
    plans = {name: plan(made, n) if n else null for name, n in number.items()}
    core.current.plan, core.before_plan.current.plan = plans["current"], plans["before"]
    core.stopping.kind = int("stops" in given)
    core.stopping.path.plan = plans["stops"] or plans["stopped"]
    core.stopping.at = core.time = 5.0
    for place, name in ((core, "waits"), (core.before_plan, "before_waits")):
        place.waits = int(name in given)
        place.waiting[0].plan = plan(made, given.get(name, 1))
    made.calls.rd_core_publish(core)
    shown = made.snapshot()[0]
    core.current.plan = core.stopping.path.plan = null
    assert (shown.current, shown.oldest_plan) == (current, oldest)


def test_plans_that_wait_are_shown_as_long_as_they_wait(made):
    core = made.core
    for k in range(10):
        core.waiting[k].plan = plan(made, 51 + k)
    for waits in (10, 3, 1, 4, 0):
        core.waits = waits
        made.calls.rd_core_publish(core)
        expected = [51 + k if k < waits else 0 for k in range(10)]
        assert list(made.snapshot()[0].waiting) == expected


@pytest.mark.parametrize("reports", [True, False])
def test_publishing_writes_no_word_beside_the_picture(made, reports):
    if not reports:
        made.machine.report = made.ffi.NULL
        made.machine.telemetry = made.machine.telemetry_of_joints = 0
    core, ffi = made.new(), made.ffi
    own = core.shown, core.published
    shown, published = (np.full(3 * core.words, 7, dtype=np.uint64) for _ in range(2))
    middle = slice(core.words, 2 * core.words)
    core.shown = ffi.cast("rd_snapshot *", shown[middle].ctypes.data)
    core.published = ffi.cast("atomic_uint_fast64_t *", published[middle].ctypes.data)
    core.waits = 10
    for k in range(10):
        core.waiting[k].plan = plan(made, 51 + k)
    made.calls.rd_core_publish(core)
    np.testing.assert_array_equal(published[middle], shown[middle])
    core.shown, core.published = own
    for words in (shown, published):
        assert (words[: core.words] == 7).all() and (words[2 * core.words :] == 7).all()


def test_a_reader_waits_until_the_picture_is_whole(made):
    core, found = made.core, []
    began = core.sequence
    made.calls.rd_core_publish(core)
    assert core.sequence == began + 2 and core.sequence % 2 == 0
    core.sequence += 1
    reader = threading.Thread(target=lambda: found.append(made.snapshot()[0].epoch))
    reader.start()
    reader.join(0.01)
    assert reader.is_alive() and not found
    core.published[0] = 77
    core.sequence += 1
    reader.join()
    assert found == [77]


def test_a_picture_that_is_being_written_is_marked(made):
    made.machine.report = made.ffi.NULL
    for size in (400_000, 8_000_000):  # longer than what a busy processor gives to one of both at once
        made.machine.telemetry = size
        core = made.new()
        for _ in range(20):
            writer = threading.Thread(target=made.calls.rd_core_publish, args=(core,))
            writer.start()
            seen = set()
            while writer.is_alive():
                seen.add(core.sequence % 2)
            if 1 in seen:
                return
    raise AssertionError("no odd number while it is written")
