"""The loop around a core, driven by hand: what is sent, recorded and asked for, at made-up times."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from arms import WEIGHT, Pendulum, pendulum_chain
from inner_core import Inner

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters

MS = 1_000_000
SECOND = 1000 * MS
NEVER = -(2**63)


class Loop:
    """A pendulum under a loop; states come at `steady`, with stamps that are a second older.

    Args:
        lockstep: whether the age of states is not judged.
        parameters: of the controller.
    """

    def __init__(self, lockstep=0, **parameters):
        given = {"state_timeout": 0.1, "safe_fade_time": 0.4} | parameters
        self.inner = Inner(ArmController(pendulum_chain(), Pendulum(), ArmParameters(**given)))
        self.ffi, self.calls, self.core = self.inner.ffi, self.inner.calls, self.inner.core
        self.steady, self.sent = 50 * SECOND, []
        self.clock = self.ffi.callback("int64_t(void)", lambda: self.steady + MS)
        self.send = self.ffi.callback("void(void *, rd_session *, int64_t, const double *)", self._take)
        self.loop = self.ffi.new("rd_loop *")
        self.calls.rd_loop_init(self.loop, self.clock, self.send, self.ffi.NULL, lockstep)
        self.session = self.ffi.gc(self.calls.rd_session_new(self.core, 0), self.calls.rd_session_free)
        size = self.calls.rd_session_record_size(self.session)
        self.buffer = self.ffi.new("char[]", size)
        self.record = self.ffi.cast("rd_record *", self.buffer)

    def _take(self, to, session, stamp, effort):
        self.sent.append((stamp, effort[0]))

    def begin(self, states=3):
        """In use, active, with some states at rest."""
        self.calls.rd_loop_offer(self.loop, self.session)
        self.request("ACTIVATE")
        for _ in range(states):
            self.state()
        self.records()
        return self

    def request(self, what):
        self.calls.rd_loop_request(self.loop, getattr(self.calls, f"RD_{what}"))

    def state(self, place=0.3, after=2 * MS, stamp=None, velocity=0.0):
        self.steady += after
        stamp = self.steady - SECOND if stamp is None else stamp
        speed = self.ffi.NULL if velocity is None else self.ffi.new("double[]", [velocity])
        self.calls.rd_loop_state(self.loop, stamp, self.steady, self.ffi.new("double[]", [place]), speed)

    def tick(self, after=0):
        """Time until the next check [ms]."""
        self.steady += after
        return (self.calls.rd_loop_tick(self.loop, self.steady, 7) - self.steady) / MS

    def records(self):
        found = []
        while self.calls.rd_session_read(self.session, self.record):
            r = self.record
            found.append((r.kind, r.phase, r.back, r.age))
        return found

    def kinds(self):
        return [kind for kind, _, _, _ in self.records()]


def test_states_are_answered_while_it_is_active_and_recorded_always():
    made = Loop()
    calls, loop = made.calls, made.loop
    made.state()
    assert not made.sent and loop.states == 0, "nothing to use"
    calls.rd_loop_offer(loop, made.session)
    made.state(0.2)
    assert not made.sent and loop.states == 1
    made.request("ACTIVATE")
    assert loop.asked == 2 and loop.done == 1 and not loop.shown_active
    made.state(0.2)
    assert loop.done == 2 and loop.shown_active and loop.states == 2 and loop.answered == 1
    assert made.sent == [(made.steady - SECOND, pytest.approx(WEIGHT * np.sin(0.2)))]
    assert made.kinds() == [calls.RD_OBSERVED, calls.RD_ANSWERED]
    made.request("HALT")
    made.tick()
    assert not loop.shown_active


def test_a_record_has_times_phase_and_arrays():
    made = Loop().begin(2)
    made.state(0.25, velocity=0.01)
    assert made.calls.rd_session_read_many(made.session, made.buffer, 1) == 1
    r = made.record
    assert (r.stamp, r.arrived, r.left) == (made.steady - SECOND, made.steady, made.steady + MS)
    assert r.time == pytest.approx(1e-9 * (r.stamp - made.calls.rd_session_epoch(made.session)))
    arrays = made.ffi.cast("double *", r + 1)
    assert (arrays[0], arrays[1], arrays[6]) == (0.25, 0.01, made.core.effort[0])
    assert arrays[5] == made.core.unlimited[0] and arrays[2] == made.core.reference.position[0]
    size = made.ffi.sizeof("rd_record") + 8 * (7 + 2)
    assert made.calls.rd_session_record_size(made.session) == size
    assert made.calls.rd_session_read_many(made.session, made.buffer, 1) == 0


def test_states_that_are_lost_begin_a_safe_output_every_ten_milliseconds():
    made = Loop().begin()
    assert made.tick(10 * MS) == pytest.approx(90.0, abs=1e-3)
    count = len(made.sent)
    assert made.tick(89 * MS) == pytest.approx(1.0, abs=1e-3) and len(made.sent) == count
    assert made.tick(MS + 1) == pytest.approx(10.0) and len(made.sent) == count + 1
    assert made.sent[-1][0] == 7, "stamped by the wall clock"
    [(kind, phase, _, age)] = made.records()
    assert (kind, phase) == (made.calls.RD_STATES_LOST, made.calls.RD_STALE) and age == pytest.approx(0.1)
    assert made.loop.shown_halting
    assert made.tick(4 * MS) == pytest.approx(6.0) and len(made.sent) == count + 1
    assert made.tick(6 * MS) == pytest.approx(10.0) and len(made.sent) == count + 2
    made.state()
    [(kind, phase, back, _)] = made.records()
    assert (kind, phase, back) == (made.calls.RD_ANSWERED, made.calls.RD_HOLDING, 1)
    assert not made.loop.shown_halting


def test_the_safe_output_fades_from_the_time_of_the_loss():
    made = Loop().begin()
    made.tick(100 * MS + 1)
    began = made.steady
    weight = made.sent[-1][1]
    assert weight == pytest.approx(WEIGHT * np.sin(0.3), rel=0.01)
    for _ in range(25):
        made.tick(10 * MS)
    share = 1.0 - 1e-9 * (made.steady - began) / 0.4
    assert made.sent[-1][1] == pytest.approx(share * weight, rel=0.02)
    for _ in range(20):
        made.tick(10 * MS)
    assert made.sent[-1][1] == 0.0 and made.loop.shown_halting, "while it is active it goes on"


def test_a_state_after_an_unnoticed_loss_is_answered_by_a_hold():
    made = Loop().begin()
    made.state(after=101 * MS)
    kinds = made.records()
    assert [kind for kind, *_ in kinds] == [made.calls.RD_STATES_LOST, made.calls.RD_ANSWERED]
    assert kinds[0][2] == 1 and made.core.phase == made.calls.RD_HOLDING
    made.state(after=99 * MS)
    assert made.kinds() == [made.calls.RD_ANSWERED]


def test_in_lockstep_no_state_is_late():
    made = Loop(lockstep=1).begin()
    assert made.tick(500 * MS) == pytest.approx(100.0)
    made.state(after=SECOND)
    assert made.kinds() == [made.calls.RD_ANSWERED]


def test_states_that_waited_are_no_place_to_hold():
    made = Loop().begin()
    late = made.steady - SECOND + 2 * MS
    made.tick(500 * MS)
    made.kinds()
    made.state(stamp=late)
    assert made.kinds() == [made.calls.RD_OBSERVED] and made.core.phase == made.calls.RD_STALE
    made.state(stamp=made.steady - SECOND - 90 * MS)
    assert made.kinds() == [made.calls.RD_ANSWERED]


def test_states_that_seem_old_for_a_second_are_of_another_clock():
    made = Loop().begin()
    made.tick(500 * MS)
    answered = 0
    while made.core.phase != made.calls.RD_HOLDING:
        made.state(after=20 * MS, stamp=made.steady - 3 * SECOND)
        answered += 1
    assert answered == 1 + 1000 / 20 + 1


def test_a_state_without_a_stamp_has_the_time_of_the_simulation():
    made = Loop()
    made.loop.time.used = 1
    made.begin(0)
    for k in range(4):
        made.calls.rd_loop_clock(made.loop, (k + 2) * MS, made.steady)
        made.state(stamp=0)
    assert made.loop.time.at_state == 5 * MS
    assert [stamp for stamp, _ in made.sent] == [2 * MS, 3 * MS, 4 * MS, 5 * MS]


@pytest.mark.parametrize("moving", [False, True])
def test_a_halt_waits_until_the_robot_rests(moving):
    made = Loop(max_acceleration=(20.0,)).begin()
    if moving:
        made.core.reference.velocity[0] = 0.5
        for k in range(60):
            made.state(0.3 + 0.0005 * k, velocity=0.25)
    made.request("HALT")
    made.tick()
    assert made.loop.shown_halting and not made.loop.shown_active
    for _ in range(200):
        made.state()
        if not made.loop.active:
            break
    assert made.loop.safe and made.loop.ending == 0


def test_a_halt_that_has_faded_is_over():
    made = Loop().begin()
    made.request("HALT")
    for _ in range(60):
        made.tick(10 * MS)
    assert not made.loop.shown_halting and made.sent[-1][1] == 0.0
    count = len(made.sent)
    made.tick(50 * MS)
    made.state()
    assert len(made.sent) == count and made.kinds()[-1] == made.calls.RD_OBSERVED
    made.request("ACTIVATE")
    made.state()
    assert len(made.sent) == count + 1 and made.loop.shown_active


def test_requests_are_met_once_each():
    made = Loop().begin()
    epoch = made.core.epoch
    for what in ("HOLD", "EMERGENCY_STOP", "TAKE_PLAN"):
        made.request(what)
    made.tick()
    after = made.core.epoch
    made.tick()
    assert after > epoch and made.core.epoch == after and made.loop.done == made.loop.asked
    made.request("LATCH")
    made.tick()
    assert made.core.trip.latched and made.core.phase == made.calls.RD_PROTECTIVE_STOP
    made.request("RESET_FAULT")
    made.tick()
    assert not made.core.trip.latched


def test_a_silent_front_ends_in_a_safe_output_when_nothing_is_left_of_its_plans():
    made = Loop(front_timeout=0.5).begin()
    made.loop.front_seen = made.steady
    for _ in range(12):
        made.state(after=40 * MS)
    assert made.kinds() == [made.calls.RD_ANSWERED] * 12
    made.state(after=40 * MS)
    assert made.records()[0][0] == made.calls.RD_FRONT_LOST
    made.state(after=10 * MS)
    assert made.kinds() == [made.calls.RD_OBSERVED], "states alone end it not"
    made.loop.front_seen = made.steady
    made.state(after=10 * MS)
    assert made.records()[0][2] == 1


def test_another_session_takes_the_place_of_one_and_none_ends_it():
    made = Loop().begin()
    made.calls.rd_loop_offer(made.loop, made.ffi.NULL)
    count = len(made.sent)
    made.state()
    assert len(made.sent) == count and not made.loop.session and made.loop.shown_session == made.ffi.NULL


def test_a_loop_that_hung_goes_on_from_what_its_watchdog_has_sent():
    made = Loop().begin()
    began = made.steady - 200 * MS
    left, rest = made.ffi.new("double[]", [1.25]), made.ffi.new("double[2]")
    made.calls.rd_loop_hung(made.loop, made.steady, began, 0.3, left, rest)
    [(kind, phase, _, age)] = made.records()
    assert (kind, phase, age) == (made.calls.RD_LOOP_HUNG, made.calls.RD_STALE, 0.3)
    assert made.core.left[0] == 1.25 and made.loop.safe_began == began
    made.tick()
    assert abs(made.sent[-1][1]) < 0.6 * WEIGHT * np.sin(0.3)


# Records


def test_records_without_room_are_counted_and_room_is_kept_for_what_must_be_said():
    made = Loop().begin()
    note = made.ffi.new("rd_record *", {"kind": made.calls.RD_ANSWERED})

    def fits(**fields):
        lost = made.calls.rd_session_lost(made.session)
        for name, value in {"kind": made.calls.RD_ANSWERED, "back": 0, "discontinuity": 0, **fields}.items():
            setattr(note, name, value)
        made.calls.rd_session_note(made.session, note)
        return made.calls.rd_session_lost(made.session) == lost

    def count(**fields):
        return next(k for k in itertools.count() if not fits(**fields))

    assert count() == 64 - 32
    assert count(discontinuity=1) == 16
    assert count(back=1) == 16 and not fits(kind=made.calls.RD_STATES_LOST)
    made.core.trip.count += 1
    assert not fits()
    assert len(made.kinds()) == 64
    assert fits() and made.calls.rd_session_read(made.session, made.record)
    assert made.record.trip.count == made.core.trip.count, "told with the next record that fits"


@pytest.mark.parametrize(("wanted", "slots"), [(0, 64), (100, 100), (10**6, 4096)])
def test_a_ring_has_64_to_4096_slots(wanted, slots):
    made = Loop()
    size = made.calls.rd_session_record_size(made.session)
    session = made.calls.rd_session_new(made.core, wanted * size)
    assert session.ring.count == slots and made.calls.rd_session_epoch(session) == NEVER
    made.calls.rd_session_free(session)


@pytest.mark.parametrize(("field", "value", "urgent"), [
    ("kind", "RD_OBSERVED", 0), ("kind", "RD_NO_EFFORT", 1), ("kind", "RD_STATES_LOST", 1), ("back", 1, 1),
    ("discontinuity", 1, 1),
])  # fmt: skip
def test_what_must_be_told_at_once_is_urgent(field, value, urgent):
    made = Loop().begin()
    made.session.ring.urgent = 0
    number = getattr(made.calls, value) if isinstance(value, str) else value
    note = made.ffi.new("rd_record *", {field: number})
    made.calls.rd_session_note(made.session, note)
    assert made.session.ring.urgent == urgent
    made.core.trip.count += 1
    made.session.ring.urgent = 0
    made.calls.rd_session_note(made.session, made.ffi.new("rd_record *"))
    assert made.session.ring.urgent
