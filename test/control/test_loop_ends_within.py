"""The loop around a core, driven by hand: requests, halts, brakes, and states without an effort."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain
from inner_core import Inner
from test_loop_within import MS, NEVER, SECOND, WEIGHT, Loop

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters

FASTEST = 0.5
"""The model knows no faster motion [rad/s]."""


@lru_cache
def controlled(parameters):
    """A controller of a pendulum, for its settings."""
    given = {"state_timeout": 0.1, "safe_fade_time": 0.4} | dict(parameters)
    return Inner(ArmController(pendulum_chain(), Pendulum(), ArmParameters(**given)))


class Ending(Loop):
    """A loop whose robot follows plans, and whose model ends at a velocity."""

    def __init__(self, lockstep=0, brakes=0.0, **parameters):
        self.inner = controlled(tuple(parameters.items()))
        self.ffi, self.calls = self.inner.ffi, self.inner.calls
        self.kept, self.found, self.sent, self.steady = [], [], [], 50 * SECOND
        self.settings = self.ffi.new("rd_settings *", self.inner.settings[0])
        self.settings.brake_delay = brakes
        self.settings.inverse_dynamics = self.own("int(const double *const *, double *)", self._dynamics)
        self.core = self.ffi.gc(self.calls.rd_core_new(1, self.settings), self.calls.rd_core_free)
        self.session = self.new_session()
        self.loop = self.ffi.new("rd_loop *")
        clock = self.own("int64_t(void)", lambda: self.steady + MS)
        send = self.own("void(void *, rd_session *, int64_t, const double *)", self._take)
        self.calls.rd_loop_init(self.loop, clock, send, self.ffi.NULL, lockstep)
        size = self.calls.rd_session_record_size(self.session)
        self.buffer = self.ffi.new("char[]", size)
        self.record = self.ffi.cast("rd_record *", self.buffer)

    def own(self, kind, function):
        made = self.ffi.callback(kind, function)
        self.kept.append(made)
        return made

    def new_session(self):
        made = self.ffi.gc(self.calls.rd_session_new(self.core, 0), self.calls.rd_session_free)
        self.kept.append(made)
        return made

    def _dynamics(self, given, out):
        q, qd, qdd = (given[k][0] for k in range(3))
        out[0] = Pendulum().inverse_dynamics(q, qd, qdd)
        return abs(qd) < FASTEST

    def state(self, *given, **named):
        super().state(*given, **named)
        self.found += super().records()

    def records(self):
        found, self.found = self.found + super().records(), []
        return found

    def states(self, count, after=MS, **given):
        for _ in range(count):
            self.state(after=after, **given)

    def plan(self, seconds, begins=0.001, place=0.3, way=0.1):
        """Plan a motion by a way, from a time after the last state on."""
        core, ffi = self.core, self.ffi
        times = ffi.new("double[]", [core.time + begins, core.time + begins + seconds])
        shape = ffi.new("double[]", [place, 0.0, 0.0, 10.0 * way, -15.0 * way, 6.0 * way])
        fields = {"knots": 2, "times": times, "coefficients": shape, "epoch": core.epoch}
        plan = ffi.new("rd_plan *", {"number": core.considered + 1, **fields})
        self.kept.append((times, shape, plan))
        self.calls.rd_core_offer_plan(core, plan)
        return plan

    def follow(self, count, after=MS):
        """States on the reference."""
        parts = [self.ffi.new("double[1]") for _ in range(3)]
        here = self.ffi.new("rd_motion *", parts)
        for _ in range(count):
            self.calls.rd_refer(self.core, self.core.time + 1e-9 * after, here)
            self.state(parts[0][0], after=after, velocity=parts[1][0])

    @property
    def phase(self):
        return self.core.phase

    @property
    def holds(self):
        return self.core.phase == self.calls.RD_HOLDING

    @property
    def sends_safe(self):
        return self.loop.safe == self.session

    def silence(self, seconds):
        for _ in range(round(100 * seconds)):
            self.tick(10 * MS)


def moving(seconds=0.5, **given):
    """In the middle of a plan."""
    made = Ending(max_acceleration=(2.0,), **given).begin()
    made.plan(seconds)
    made.follow(round(200 * seconds), after=2 * MS)
    assert made.phase == made.calls.RD_TRACKING
    return made


# Requests


COUNTERS = {
    "HOLD": "hold_requests", "EMERGENCY_STOP": "stop_requests", "LATCH": "latch_requests",
    "TAKE_PLAN": "plan_requests", "RESET_FAULT": "reset_requests",
}  # fmt: skip


@pytest.mark.parametrize("what", COUNTERS)
def test_each_request_is_counted_as_itself(what):
    made = Ending()
    made.request(what)
    counts = {name: getattr(made.loop, name) for name in (*COUNTERS.values(), "wanted", "asked")}
    assert counts == {name: int(name in ("asked", COUNTERS[what])) for name in counts}


def test_the_last_request_to_activate_or_halt_counts():
    made, before = Ending(), 0
    for what in ("ACTIVATE", "HALT", "ACTIVATE", "ACTIVATE", "HALT", "HALT", "ACTIVATE"):
        made.request(what)
        assert made.loop.wanted > before and made.loop.wanted % 2 == int(what == "ACTIVATE")
        before = made.loop.wanted


def test_without_a_core_requests_are_met_by_nothing():
    made = Ending().begin()
    made.calls.rd_loop_offer(made.loop, made.ffi.NULL)
    made.request("HALT")
    for what in (*COUNTERS, "ACTIVATE"):
        made.request(what)
        assert made.tick() == pytest.approx(100.0)
        assert made.loop.done == made.loop.asked
    assert made.loop.active == 1 and not made.loop.session
    made.request("HALT")
    made.tick()
    assert not made.loop.active and not made.loop.safe and made.loop.ending == 0


def test_a_request_is_seen_before_it_counts_as_met():
    made = Ending().begin()
    made.request("HALT")
    made.tick()
    assert (made.loop.shown_active, made.loop.shown_halting) == (0, 1)
    assert made.loop.shown_last_state == made.loop.last_state and made.loop.shown_session == made.session


@pytest.mark.parametrize(("what", "kind"), [("HOLD", "STOP_HOLD"), ("EMERGENCY_STOP", "STOP_EMERGENCY")])
def test_stops_are_asked_for_and_begin_at_once(what, kind):
    made = moving()
    made.request(what)
    made.tick()
    assert made.core.stopping.kind == getattr(made.calls, f"RD_{kind}")
    epoch = made.core.epoch
    made.tick()
    assert made.core.epoch == epoch


def test_latches_resets_and_plans_are_met_once():
    made = Ending().begin()
    made.request("LATCH")
    made.tick()
    assert made.core.trip.latched
    made.core.trip.latched = 0
    made.tick()
    assert not made.core.trip.latched
    made.request("RESET_FAULT")
    made.core.trip.latched = 1
    made.tick()
    assert not made.core.trip.latched
    made.core.trip.latched = 1
    made.tick()
    assert made.core.trip.latched == 1
    made.core.trip.latched = 0
    first = made.plan(1.0)
    made.tick()
    assert made.core.considered != first.number, "it waits for a state"
    made.request("TAKE_PLAN")
    made.tick()
    assert made.core.considered == first.number
    second = made.plan(1.0)
    made.tick()
    assert made.core.considered != second.number


# Bad states


def test_without_an_effort_the_load_fades_from_the_first_such_state_on():
    made = Ending().begin()
    weight = WEIGHT * np.sin(0.3)
    for k in range(60):
        made.state(after=MS, velocity=1.0)
        assert made.sent[-1] == (
            made.steady - SECOND,
            pytest.approx(weight * (1.0 - 0.001 * k / 0.4), rel=1e-3),
        )
    assert made.kinds() == [made.calls.RD_NO_EFFORT] * 60 and not made.loop.safe
    assert made.core.unseen == 0.0
    assert made.loop.answered == 3 and made.session.troubled == 1
    made.tick(100 * MS + 1)
    assert made.loop.safe and made.steady - made.loop.safe_began == 59 * MS
    assert made.sent[-1][1] == pytest.approx(weight * (1.0 - 0.059 / 0.4), rel=1e-3)
    assert made.loop.safe_for_front == 0
    count = len(made.sent)
    made.state(after=MS, velocity=1.0)
    assert len(made.sent) == count, "the safe output goes on by itself"
    assert made.loop.safe and made.kinds()[-1] == made.calls.RD_NO_EFFORT
    made.state(after=MS)
    assert made.session.troubled == 0 and not made.loop.safe
    made.state(after=MS, velocity=1.0)
    assert made.sent[-1][1] == pytest.approx(weight, rel=1e-3), "a later one begins anew"


def test_lost_states_after_good_ones_fade_from_the_loss_on():
    made = Ending().begin()
    made.tick(100 * MS)
    assert made.loop.safe_began == made.steady == made.loop.safe_due - 10 * MS
    assert made.core.unseen == pytest.approx(0.1)


@pytest.mark.parametrize(("lockstep", "used", "state", "unseen"), [
    (0, 0, True, 0.25), (1, 0, True, 0.0), (0, 1, True, 0.0), (0, 0, False, 0.0),
])  # fmt: skip
def test_the_robot_has_gone_on_since_the_last_state_by_the_wall_clock_alone(lockstep, used, state, unseen):
    made = Ending(lockstep).begin()
    made.loop.time.used = used
    if not state:
        made.loop.last_state = NEVER
    made.request("HALT")
    made.core.unseen = 9.0
    made.steady += 250 * MS
    made.settings.state_timeout = 10.0
    made.tick()
    assert made.sends_safe and made.core.unseen == pytest.approx(unseen)


# Halts


def test_a_halt_at_rest_begins_the_safe_output_at_once():
    made = Ending().begin()
    made.request("HALT")
    made.tick()
    assert made.sends_safe and not made.loop.active and made.core.held == 0


def test_a_halt_waits_until_the_brakes_hold():
    made = Ending(brakes=0.2).begin()
    made.request("HALT")
    assert made.tick() == pytest.approx(100.0) and made.loop.active
    assert (made.loop.shown_active, made.loop.shown_halting) == (0, 1)
    assert made.loop.ending == made.calls.RD_BRAKES and not made.sends_safe
    began = made.loop.ending_since
    assert began == made.steady
    made.states(1)
    assert made.tick(49 * MS) == pytest.approx(51.0, abs=1e-3), "states may be lost before"
    made.states(90)
    assert made.tick() == pytest.approx(60.0)
    made.request("HALT")
    made.states(1)
    assert made.loop.ending_since == began, "a second request changes nothing"
    made.tick(59 * MS - 1)
    assert made.loop.active and not made.sends_safe
    made.tick(1)
    assert not made.loop.active and made.sends_safe and made.core.held == 1


def test_a_halt_on_brakes_ends_with_a_state_as_well():
    made = Ending(brakes=0.02).begin()
    made.request("HALT")
    made.states(20)
    assert made.loop.active
    made.states(1)
    assert not made.loop.active and made.sends_safe and made.core.held == 1


@pytest.mark.parametrize("case", ["lockstep", "lost", "released"])
def test_nobody_waits_for_brakes_that_carry_nothing_from_the_efforts(case):
    made = Ending(lockstep=int(case == "lockstep"), brakes=0.2).begin()
    if case == "lost":
        made.tick(100 * MS)
    if case == "released":
        made.settings.brakes, made.settings.brake_from = (
            made.calls.RD_FALLING,
            made.core.time - 9.0,
        )
    made.request("HALT")
    made.tick()
    assert not made.loop.active and made.sends_safe == (case != "released") and made.core.held == 0


def test_brakes_that_have_taken_half_of_the_efforts_are_waited_for():
    made = Ending(brakes=0.2).begin()
    s = made.settings
    s.brakes, s.brake_from, s.brake_fade = made.calls.RD_FALLING, made.core.time - 0.05, 0.1
    made.request("HALT")
    made.tick()
    assert made.loop.active and made.loop.ending == made.calls.RD_BRAKES


def test_a_halt_in_motion_comes_to_rest_first():
    made = moving()
    made.request("HALT")
    made.follow(1)
    epoch = made.core.epoch
    assert made.phase == made.calls.RD_STOPPING and made.loop.ending == made.calls.RD_COMES_TO_REST
    made.request("HALT")
    made.follow(1)
    assert made.core.epoch == epoch, "a second request does not begin it again"
    for _ in range(500):
        made.follow(1)
        if not made.loop.active:
            break
    assert made.sends_safe and made.core.reference.velocity[0] == 0.0


def test_a_plan_that_waits_is_dropped_by_a_halt():
    made = Ending().begin()
    made.plan(1.0, begins=0.5)
    made.follow(1)
    assert made.core.waits == 1
    made.request("HALT")
    made.tick()
    assert not made.core.waits and made.sends_safe


def test_a_halt_beside_a_safe_output_stops_nothing():
    made = moving()
    made.tick(100 * MS)
    epoch, began = made.core.epoch, made.loop.safe_began
    made.request("HALT")
    made.tick()
    assert made.core.epoch == epoch and made.loop.safe_began == began
    assert not made.loop.active and made.sends_safe


@pytest.mark.parametrize("later", [0, 1])
def test_a_halt_waits_three_seconds_for_rest(later):
    made = moving()
    made.request("HALT")
    made.follow(1)
    made.loop.ending_since = made.steady - 3 * SECOND + MS
    made.follow(1, after=MS + later)
    assert made.loop.active == 1 - later


def test_activation_in_a_halt_goes_on():
    made = Ending(brakes=0.2).begin()
    made.request("HALT")
    made.tick()
    made.request("ACTIVATE")
    made.states(300)
    assert made.loop.active and made.loop.ending == 0 and made.holds and not made.sends_safe


def test_a_core_that_is_taken_away_in_a_halt_ends_safely():
    made = moving()
    made.request("HALT")
    made.follow(1)
    made.calls.rd_loop_offer(made.loop, made.ffi.NULL)
    count = len(made.sent)
    made.tick()
    assert made.sends_safe and not made.loop.session and not made.loop.active
    assert len(made.sent) == count + 1
    made.silence(1.0)
    assert not made.loop.safe and made.sent[-1][1] == 0.0


def test_another_core_in_a_halt_comes_after_the_safe_output_of_the_first_has_begun():
    made = Ending(brakes=0.2).begin()
    made.request("HALT")
    made.tick()
    other = made.new_session()
    made.calls.rd_loop_offer(made.loop, other)
    made.tick()
    assert made.sends_safe and made.loop.session == other and made.core.held == 1


def test_a_second_core_while_active_takes_over_at_once():
    made = Ending().begin()
    other = made.new_session()
    made.calls.rd_loop_offer(made.loop, other)
    made.tick()
    assert made.loop.session == other and made.loop.active and not made.loop.safe
