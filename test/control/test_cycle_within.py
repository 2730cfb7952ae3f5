"""The cycle of the core from within, state by state: three joints with a made-up model."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

PLACE, WEIGHT = np.array([0.3, -0.2, 0.4]), np.array([7.0, -5.0, 3.0])
LIMITS, STEPS = np.array([40.0, 30.0, 20.0]), np.array([8.0, 6.0, 4.0])
REST = np.zeros(3)
KP, KV = np.array([80.0, 60.0, 50.0]), np.array([15.0, 12.0, 10.0])
PHASES = ("WAITING", "HOLDING", "TRACKING", "STALE", "FAULT", "PROTECTIVE_STOP", "STOPPING", "GUIDED")


def at(joint, value):
    """(3,) a value of one joint alone."""
    return np.where(np.arange(3) == joint, value, 0.0)


class Cycle(MadeUpArm):
    """An arm of unit inertia that bears a constant load: its efforts are the load and the feedback.

    Arrays of settings have a value more than joints.
    """

    def __init__(self, states=3, **settings):
        super().__init__(3, 2, driven=False)
        ffi = self.ffi
        self.load, self.machine = WEIGHT.copy(), ffi.new("rd_machine *", self.settings.machine[0])
        self.rules = ffi.new("rd_rules *")
        self.settings.machine, self.settings.rules = self.machine, self.rules
        self.rules.following = self._array([0.5, 0.5, 0.5, 1e-9])
        self.rules.speed = self._array([9.0] * 3 + [1e-9])
        self.rules.pose, self.rules.delay = [np.inf, np.inf], -1.0
        self.setting(
            kp=[*KP, 1.0], kv=[*KV, 1.0], ki=[0.0] * 4, limits=[*LIMITS, 1e-9], effort_steps=[*STEPS, 1e-9],
            velocity_limits=[4.0, 4.0, 4.0, 1e-9], velocity_bounds=[40.0] * 4, following=[0.5] * 4,
            stop_deceleration=[3.0] * 4, hold_deceleration=[2.0] * 4,
        )  # fmt: skip
        s, self.time = self.settings, 2.0
        s.mode, s.state_jump, s.stamp_step, s.safe_fade_time = self.calls.RD_COMPUTED_TORQUE, 0.2, 0.5, 1.0
        s.model_change_time, s.number, s.model, s.law = 0.4, 1, 1, 1
        for name, value in settings.items():
            setattr(s, name, value)
        core = self.core
        core.time = core.last_time = -np.inf
        core.period = 0.0
        for _ in range(states):
            self.update()

    def dynamics_of(self, q, qd, qdd):
        return qdd + self.load

    def own(self, name, kind, call):
        """A function of the machine's own."""
        made = self.ffi.callback(kind, call)
        self._kept.append(made)
        setattr(self.machine, name, made)

    def update(self, elapsed=0.004, place=PLACE, rate=REST):
        """The verdict of a cycle on a state, so long after the last one."""
        self.time += elapsed
        given = [
            self._array([*values, 5.0]) for values in (np.broadcast_to(each, 3) for each in (place, rate))
        ]
        return self.calls.rd_core_update(self.core, self.time, *given)

    def plan(self, start, end=99.0, number=9, **fields):
        """A plan that rests at the place of now, which the next cycle takes up."""
        times, rows = self._array([start, end]), self._array([*PLACE, *np.zeros(15)])
        given = {"knots": 2, "times": times, "coefficients": rows, "number": number, "epoch": self.core.epoch}
        made = self.ffi.new("rd_plan *", given | fields)
        self._kept.append(made)
        self.calls.rd_core_offer_plan(self.core, made)
        return made

    def another(self, **fields):
        """Settings beside those in force."""
        made = self.ffi.new("rd_settings *", self.settings[0])
        self._kept.append(made)
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    def rule(self, name):
        return self.core.supervision.rules[getattr(self.calls, f"RD_{name}")]

    def phase(self):
        """Name of the phase."""
        return next(name for name in PHASES if getattr(self.calls, f"RD_{name}") == self.core.phase)


@pytest.fixture
def cycle():
    return Cycle()


def test_a_state_is_answered_by_the_load_and_the_feedback():
    made = Cycle(0)
    assert made.phase() == "WAITING" and not made.core.has_left
    assert made.update() == 1 and made.phase() == "HOLDING"
    np.testing.assert_allclose(made.get("effort"), WEIGHT)
    away = np.array([0.01, -0.02, 0.015])
    made.core.held = 1
    assert made.update(place=PLACE + away) == 1
    expected = WEIGHT - KP * away
    for name in ("effort", "unlimited", "last_effort", "sent", "left"):
        np.testing.assert_allclose(made.get(name), expected)
    assert made.core.knows_effort and made.core.has_sent and made.core.settles == made.core.held == 0
    assert made.core.supervision.faults == 0 and made.core.time == made.time


def test_efforts_are_within_the_limits():
    made = Cycle()
    made.core.has_sent = 0
    made.load = np.array([60.0, 0.0, 0.0])
    made.update()
    assert made.core.unlimited[0] == pytest.approx(60.0) and made.core.sent[0] == pytest.approx(40.0)


# Faults of the model


def test_a_model_without_efforts_answers_nothing_and_counts_as_one_fault(cycle):
    cycle.fails = "dynamics"
    cycle.put(effort=1e6)  # nothing that could be compared with the last one
    assert cycle.update() == 0
    core = cycle.core
    assert (core.supervision.faults, core.discontinuity, cycle.phase()) == (1, 0, "HOLDING")
    cycle.put(hold=5.0)
    assert cycle.update() == 0 and cycle.rule("FOLLOWING_ERROR").states == 0, "nothing is supervised"
    assert core.supervision.faults == 2


def test_efforts_that_are_no_numbers_are_replaced_by_the_safe_output_from_its_begin_on(cycle):
    core, load = cycle.core, WEIGHT.copy()
    cycle.load = np.array([np.nan, 1.0, 1.0])
    assert cycle.update() == 1 and cycle.phase() == "FAULT" and core.supervision.faults == 1
    began = cycle.time
    assert core.fault_began == began and core.effort[1] == 0.0, "the load is no number, either"
    assert cycle.update() == 1 and core.supervision.faults == 1, "one fault is one"
    assert core.fault_began == began
    cycle.load, cycle.settings.mode = load, cycle.calls.RD_CALLED
    broken = cycle.ffi.callback("rd_law", lambda context, given, out: out.__setitem__(0, np.inf) or 1)
    cycle.settings.called = broken
    assert cycle.update(0.25 - 0.004) == 1 and cycle.phase() == "FAULT"
    np.testing.assert_allclose(core.time - core.fault_began, 0.25)
    np.testing.assert_allclose(cycle.get("effort"), 0.75 * WEIGHT)
    cycle.settings.mode = cycle.calls.RD_COMPUTED_TORQUE
    assert cycle.update() == 1 and cycle.phase() == "HOLDING"
    cycle.settings.mode = cycle.calls.RD_CALLED
    cycle.update()
    assert core.fault_began == cycle.time and core.supervision.faults == 2
    np.testing.assert_allclose(cycle.get("effort"), WEIGHT, err_msg="it has just begun")


def test_a_speed_that_cannot_be_is_a_fault(cycle):
    assert cycle.update(rate=(0.0, 41.0, 0.0)) == 1
    assert cycle.phase() == "FAULT" and cycle.core.supervision.faults == 1
    np.testing.assert_allclose(cycle.get("effort"), WEIGHT)


# Steps of the effort


def test_an_effort_that_steps_too_far_begins_a_stop_that_leaves_in_steps(cycle):
    core, before = cycle.core, cycle.core.epoch
    core.fades, core.fade_began, core.fade_duration = 1, cycle.time, 9.0
    cycle.put(difference=0.0, hold=PLACE + at(2, 0.01))
    cycle.load = WEIGHT + at(1, 6.6)
    assert cycle.update() == 1
    assert core.discontinuity == cycle.calls.RD_EFFORT_STEP and core.discontinuity_more == 0.0
    assert core.discontinuity_size == pytest.approx(6.6 / 30.0)
    assert core.supervision.faults == 1 and core.epoch == before + 1 and core.fades == 0
    np.testing.assert_allclose(cycle.get("unlimited"), cycle.load, err_msg="from where the robot is")
    np.testing.assert_allclose(cycle.get("left"), WEIGHT + at(1, 6.0), err_msg="as much as a step may be")
    cycle.load = WEIGHT + at(1, 9.0)
    assert cycle.update() == 1 and core.discontinuity == 0 and core.supervision.faults == 1


@pytest.mark.parametrize("case", ["small", "not sent", "stopping", "latched", "setpoints"])
def test_steps_that_are_none(cycle, case):
    core = cycle.core
    core.has_sent = case != "not sent"
    if case == "stopping":
        cycle.put(stopping__place=PLACE, stopping__rate=(0.2, 0.1, 0.1))
        core.stopping.kind, core.stopping.at, core.stopping.pace = cycle.calls.RD_STOP_HOLD, cycle.time, 1.0
        core.stopping.where, core.stopping.change, core.has_sent = 0.0, 0.0, 1
    core.trip.latched = case == "latched"
    if case == "setpoints":
        cycle.settings.command = cycle.calls.RD_COMMAND_POSITION
    cycle.load = WEIGHT + at(1, 5.9 if case == "small" else 9.0)
    cycle.update()
    assert core.discontinuity == 0 and core.supervision.faults == 0


def test_the_third_step_within_five_seconds_is_a_protective_stop(cycle):
    core = cycle.core
    for k in range(3):
        core.has_sent = 1
        cycle.load = cycle.load + at(1, 9.0 * (-1) ** k)
        assert core.trip.latched == 0
        cycle.update()
        core.stopping.kind = 0
        cycle.put(sent=cycle.load)
    assert core.trip.latched and core.trip.rule == cycle.calls.RD_REPEATED_FAULTS
    assert core.discontinuity == cycle.calls.RD_EFFORT_STEP and cycle.phase() == "PROTECTIVE_STOP"


def test_a_command_follows_what_left_in_steps_and_is_no_safe_output(cycle):
    core = cycle.core
    core.has_sent = 0
    cycle.load = WEIGHT - at(0, 9.0)
    cycle.put(left=WEIGHT)
    cycle.update()
    assert core.left[0] == pytest.approx(-1.0), "7 and a step of 8, though a safe output may pass no zero"


# States that do not follow


def broken_by(cycle, how):
    """A state after a break; the time that has passed."""
    if how == "backwards":
        cycle.update(-0.1)
    elif how == "jump":
        cycle.update(place=PLACE + at(1, 0.3))
    elif how == "lost":
        cycle.core.phase = cycle.calls.RD_STALE
        cycle.update()


@pytest.mark.parametrize("how", ["backwards", "jump", "lost"])
def test_after_a_break_the_robot_stops_where_it_is_and_what_was_remembered_is_forgotten(cycle, how):
    core, epoch = cycle.core, cycle.core.epoch
    core.fades, core.fade_began, core.fade_duration, core.is_beyond, core.departs = 1, 2.0, 99.0, 1, 2
    core.replaced = cycle.another()
    cycle.put(departing=9.0)
    cycle.rule("FOLLOWING_ERROR").states, core.pace.recent[0] = 2, 0.75
    broken_by(cycle, how)
    assert core.epoch == epoch + 1 and cycle.phase() == "HOLDING"
    assert core.is_beyond == 0 and not core.replaced and core.departs == 0
    assert core.fades == (how == "lost"), "what left last before a loss departs to the law"
    assert cycle.rule("FOLLOWING_ERROR").states == 0 and core.pace.recent[0] == 0.0
    assert core.pace.began == cycle.time and core.estimate.begun == (how == "lost")
    np.testing.assert_allclose(cycle.get("hold"), cycle.get("state__position"))
    assert core.discontinuity == {"backwards": cycle.calls.RD_BACKWARDS, "jump": cycle.calls.RD_JUMPED}.get(
        how, 0
    )
    if how != "lost":
        np.testing.assert_allclose(cycle.get("unlimited"), WEIGHT)
    cycle.update(place=cycle.get("state__position"))
    assert core.epoch == epoch + 1 and core.discontinuity == 0


@pytest.mark.parametrize("how", ["backwards", "jump", "lost", None])
@pytest.mark.parametrize("doubted", [True, False])
def test_a_stop_from_a_speed_that_is_doubted_begins_anew_in_the_next_state(cycle, how, doubted):
    core = cycle.core
    cycle.put(last_velocity=(0.0, 0.0 if doubted else 0.3, 0.0))
    if how == "lost":
        core.phase = cycle.calls.RD_STALE
    elapsed = -0.1 if how == "backwards" else 0.004
    place = PLACE + at(1, 0.4 if how == "jump" else 0.001)
    cycle.update(elapsed, place, rate=(0.0, 0.3, 0.0))
    epoch, again = core.epoch, bool(how) and doubted
    assert core.recaptures == (cycle.calls.RD_STOP_EMERGENCY if again else 0)
    cycle.update(place=place, rate=(0.0, 0.3, 0.0))
    assert core.epoch == epoch + again and core.recaptures == 0


@pytest.mark.parametrize("how", ["backwards", "lost"])
def test_a_stop_that_is_to_begin_anew_waits_for_no_break(cycle, how):
    core = cycle.core
    core.recaptures = cycle.calls.RD_STOP_HOLD
    epoch = core.epoch
    broken_by(cycle, how)
    assert core.epoch == epoch + 1, "the break has begun one already"


def test_a_state_of_another_kind_of_machine_that_fits_nowhere_changes_nothing(cycle):
    core, found = cycle.core, [0]
    cycle.own(
        "find_place",
        "int(struct rd_core *, double, const double *, const double *)",
        lambda core, time, position, velocity: found[0],
    )
    before = cycle.get("state__position"), core.time, core.period, cycle.phase()
    assert cycle.update(place=PLACE + 0.01) == 0
    np.testing.assert_array_equal(cycle.get("state__position"), before[0])
    assert (core.time, core.period, cycle.phase()) == before[1:]
    core.stopping.kind, core.blind.active, core.setpoints.restarts = 1, 1, 0
    given = cycle._array([9.0] * 4)
    cycle.calls.rd_core_observe(core, given)
    assert (core.stopping.kind, core.blind.active, core.setpoints.restarts) == (1, 1, 0)
    np.testing.assert_array_equal(cycle.get("state__position"), before[0])
    found[0] = 1
    cycle.calls.rd_core_observe(core, given)
    assert (core.stopping.kind, core.blind.active) == (0, 0) and core.setpoints.restarts > 1
    assert cycle.get("state__position").tolist() == [9.0] * 3
    assert cycle.get("state__velocity").tolist() == [0.0] * 3
    core.stopping.kind = 0
    assert cycle.update(place=PLACE) == 1


def test_a_clock_that_is_set_back_leaves_what_is_remembered_as_long_ago(cycle):
    core, watch = cycle.core, cycle.core.supervision
    core.set_back, watch.began, watch.doubted, watch.stopped_at = 0.5, 1.0, 7.0, -3.0
    cycle.update(-1.25)
    assert core.set_back == pytest.approx(1.75)
    assert (watch.doubted, watch.stopped_at) == (pytest.approx(5.75), pytest.approx(-4.25))
    cycle.update()
    assert core.set_back == pytest.approx(1.75) and watch.doubted == pytest.approx(5.75)


# Periods


def test_periods_that_count_for_gains_are_positive_and_no_gaps(cycle):
    core = cycle.core
    for elapsed, counts in ((0.03125, True), (0.25, False), (0.0, False), (0.125, True)):
        core.pace.recent[0], core.pace.began, core.discontinuity = 0.75, core.time, 0
        core.time = core.last_time = cycle.time = 4.0
        cycle.update(elapsed)
        assert core.pace.recent[0] == (elapsed if counts else 0.75)
    core.time = core.last_time = cycle.time = 0.0
    core.pace.recent[0] = 0.75
    cycle.update(0.2)
    assert core.pace.recent[0] == 0.75, "a fifth of a second is a gap"


def test_a_period_is_not_that_of_an_effort_that_a_safe_output_has_replaced(cycle):
    core = cycle.core
    for relieved, held in ((False, 0.0078125), (True, 0.25)):
        core.pace.longest[0] = 0.25 if relieved else 0.0
        core.pace.turned = cycle.time = core.time = core.last_time = 4.0
        core.pace.relieved = 4.0 if relieved else np.nan
        cycle.update(0.0078125 if not relieved else 0.125)
        assert core.pace.longest[0] == held
    core.pace.longest[0], core.pace.relieved, core.pace.turned = 0.0, core.time, core.time
    cycle.update(0.125)
    assert core.pace.longest[0] == 0.0


def last_period(*elapsed):
    """After states that come so long after one another, of which the first has no predecessor."""
    made = Cycle(0)
    made.time = 0.0
    for step in (0.0, *elapsed):
        made.core.last_time = made.time + step  # stamps that jump are another matter
        made.update(step)
    return made.core.period


EIGHT = 2.0**-7


@pytest.mark.parametrize(("elapsed", "period"), [
    ((EIGHT, 2.0 * EIGHT), EIGHT),
    ((EIGHT, 0.5 * EIGHT), EIGHT),
    ((EIGHT, 2.0 * EIGHT, 2.0 * EIGHT), 2.0 * EIGHT),
    ((EIGHT, 0.5 * EIGHT, 0.5 * EIGHT), 0.5 * EIGHT),
    ((EIGHT, 4.0 * EIGHT, 8.0 * EIGHT), EIGHT),
    ((EIGHT, 8.0 * EIGHT, 4.0 * EIGHT), EIGHT),
    ((0.01, 0.004), 0.01),
    ((0.01, 0.004, 0.004), 0.004),
    ((0.01, 0.05, 0.021), 0.01),
    ((0.01, 0.03, 0.0, 0.04), 0.04),
    ((0.01, 0.014), 0.0102), ((0.01, 0.0199), 0.010495), ((0.01, 0.0051), 0.009755),
    ((0.2,), 0.0),
])  # fmt: skip
def test_at_half_and_twice_a_period_a_gap_begins(elapsed, period):
    assert last_period(*elapsed) == pytest.approx(period, abs=1e-12)


# Who is followed


def predecessor(**fields):
    other = Cycle(0)
    other.core.has_left = other.core.knows_effort = 1
    other.core.phase = other.calls.RD_HOLDING
    other.put(left=(1.0, 2.0, 3.0), last_effort=(9.0, -4.0, 6.0))
    for name, value in fields.items():
        setattr(other.core, name, value)
    return other


def test_a_core_goes_on_with_the_efforts_of_the_one_before():
    made, other = Cycle(0), predecessor()
    made.setting(effort_steps=[1e9] * 4)
    made.calls.rd_core_succeed(made.core, other.core)
    made.update()
    np.testing.assert_allclose(made.get("unlimited"), (9.0, -4.0, 6.0))
    assert made.core.fades and made.core.departs == 0 and made.core.supervision.begins == 0
    made.update(0.1)
    np.testing.assert_allclose(made.get("unlimited"), WEIGHT + 0.75 * ((9.0, -4.0, 6.0) - WEIGHT))
    for fields, left, goes_on in (
        ({"has_left": 0}, WEIGHT, True), ({"knows_effort": 0}, (1.0, 2.0, 3.0), False),
        ({"phase": other.calls.RD_STALE}, (1.0, 2.0, 3.0), False),
    ):  # fmt: skip
        made, other = Cycle(0), predecessor(**fields)
        made.setting(effort_steps=[1e-3] * 4)
        made.calls.rd_core_succeed(made.core, other.core)
        made.update()
        given = np.array((9.0, -4.0, 6.0)) if goes_on else WEIGHT
        np.testing.assert_allclose(made.get("unlimited"), given)
        bounded = given if fields.get("has_left") == 0 else np.asarray(left) + 1e-3 * np.sign(given - left)
        np.testing.assert_allclose(made.get("left"), bounded)
        assert made.core.supervision.begins == (not goes_on)


def test_control_begins_once():
    made = Cycle(1)
    began = made.time
    made.update()
    assert made.core.supervision.begins == 1 and made.core.supervision.began == began


def test_of_an_effort_beside_another_law_only_its_part_beside_this_one_fades(cycle):
    core = cycle.core
    core.departs, core.fades, core.fade_began, core.fade_duration = 2, 1, cycle.time, 9.0
    core.has_sent = 0
    cycle.put(departing=(1.0, 2.0, -3.0), difference=50.0)
    cycle.update()
    np.testing.assert_allclose(cycle.get("unlimited"), np.add(WEIGHT, (1.0, 2.0, -3.0)))
    assert core.departs == 0 and core.fades
    np.testing.assert_allclose(cycle.get("difference"), (1.0, 2.0, -3.0))


def test_a_model_that_is_replaced_fades_and_must_have_efforts(cycle):
    core, other = cycle.core, cycle.another()

    def load(given, out):
        for j in range(3):
            out[j] = given[2][j] + 9.0
        return fails[0]

    fails = [1]
    kernel = cycle.ffi.callback("rd_kernel", load)
    other.inverse_dynamics, core.replaced, core.has_sent = kernel, other, 0
    cycle.update()
    np.testing.assert_allclose(cycle.get("unlimited"), 9.0)
    assert not core.replaced
    cycle.update(0.1)
    np.testing.assert_allclose(cycle.get("unlimited"), WEIGHT + 0.75 * (9.0 - WEIGHT))
    fails[0], core.replaced = 0, other
    assert cycle.update() == 0


def test_plans_that_others_go_on_with_are_those_that_are_followed_or_wait(cycle):
    core, calls = cycle.core, cycle.calls
    cycle.plan(3.0, 3.5, 4)
    calls.rd_core_take_plan(core)
    for number, start, continues, accepted in (
        (5, 4.0, 4, True), (6, 5.0, 4, True), (7, 6.0, 9, False), (8, 5.5, 6, True),
    ):  # fmt: skip
        cycle.plan(start, start + 0.5, number, continues=continues, epoch=77)
        calls.rd_core_take_plan(core)
        assert (core.verdict == calls.RD_ACCEPTED) == accepted
        assert accepted or core.verdict == calls.RD_SUPERSEDED
    core.waits = 2  # the plans 6 and 8 wait no more
    for continues in (6, 8):
        cycle.plan(7.0, 8.0, 9, continues=continues, epoch=77)
        calls.rd_core_take_plan(core)
        assert core.verdict == calls.RD_SUPERSEDED
    core.current.plan = core.waiting[0].plan
    core.waits = 0
    cycle.plan(7.0, 8.0, 9, continues=4, epoch=77)
    calls.rd_core_take_plan(core)
    assert core.verdict == calls.RD_ACCEPTED


def test_a_plan_for_later_leaves_a_stop_as_it_is(cycle):
    core, calls = cycle.core, cycle.calls
    for kind, start, phase in ((1, 0.1, "STOPPING"), (0, 0.1, "TRACKING"), (1, 0.0, "TRACKING")):
        core.phase, core.stopping.kind, core.waits = calls.RD_HOLDING, kind, 0
        cycle.plan(core.time + start)
        calls.rd_core_take_plan(core)
        assert cycle.phase() == phase
        core.stopping.kind = 0


def test_what_goes_on_after_a_plan_that_was_taken_back(cycle):
    core, calls = cycle.core, cycle.calls
    core.before_plan.epoch = core.epoch
    assert calls.rd_core_withdraw_plan(core, 0) == 0, "there was none"
    first = cycle.plan(core.time - 0.0, 99.0, 1)
    calls.rd_core_take_plan(core)
    cycle.update()
    assert core.current.plan == first and cycle.phase() == "TRACKING"
    cycle.plan(9.0, 10.0, 2)
    calls.rd_core_take_plan(core)
    assert calls.rd_core_withdraw_plan(core, 1) == 0
    core.epoch += 1
    assert calls.rd_core_withdraw_plan(core, 2) == 0, "something else has come since"
    core.epoch -= 1
    assert calls.rd_core_withdraw_plan(core, 2) == 1
    assert core.current.plan == first and core.waits == 0 and cycle.phase() == "TRACKING"
