"""Protective stops from within: load, model, path and place by the rule that trips, and resets."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

RULES = (
    "NO_RULE", "FOLLOWING_ERROR", "POSE_ERROR", "OVERSPEED", "OSCILLATION", "START_SPEED",
    "START_DISPLACEMENT", "START_LOAD", "REPEATED_FAULTS", "SLOW_STATES", "CONTACT", "DISPUTE",
    "START_EFFORT",
)  # fmt: skip
ALONG = {"NO_RULE", "REPEATED_FAULTS", "SLOW_STATES", "DISPUTE"}
"""Rules that doubt neither the robot's place nor its path."""
STARTS = {"START_EFFORT", "START_SPEED", "START_DISPLACEMENT"}
PLACE = np.array([0.25, -0.5, 0.75])


class Latching(MadeUpArm):
    """Three joints that are controlled at 5 s; calls of their machine are noted."""

    def __init__(self):
        super().__init__(3)
        ffi, calls = self.ffi, self.calls
        self.machine = ffi.new("rd_machine *", self.settings.machine[0])
        self.restored, self.taken = 0, []
        restore = ffi.callback("void(struct rd_core *)", lambda core: self.note())
        take = ffi.callback("void(struct rd_core *, double)", lambda core, factor: self.taken.append(factor))
        self.momentum = ffi.callback("int(const double *const *, double *const *)", lambda given, out: 1)
        self._kept += [restore, take]
        self.machine.restore_load, self.machine.take_load, self.machine.keep_load = restore, take, ffi.NULL
        self.settings.machine, self.settings.momentum = self.machine, self.momentum
        self.rules = ffi.new("rd_rules *")
        self.settings.rules, self.settings.observer_gain = self.rules, 3.0
        self.settings.mode = calls.RD_COMPUTED_TORQUE
        self.setting(
            stop_deceleration=[2.0, 3.0, 4.0],
            hold_deceleration=[1.0, 1.5, 2.0],
            following=[*np.full(3, 0.5), 9.0],
        )
        self.core.phase = calls.RD_HOLDING
        self.put(place=PLACE, hold=PLACE, believed=(0.2, -0.3, 0.4))

    def note(self):
        self.restored += 1

    def rule(self, name):
        return getattr(self.calls, f"RD_{name}")

    def protect(self, rule="NO_RULE"):
        self.calls.rd_begin_protective_stop(self.core, self.rule(rule))

    def plan(self):
        """A plan in force that passes the present place."""
        self.times, rows = np.array([4.0, 7.0]), np.zeros((6, 3))
        rows[0], rows[1] = PLACE - 0.1, 0.3
        self.rows_of_plan = rows
        self.planned = self.ffi.new("rd_plan *")
        self.planned.times = self.ffi.from_buffer("double[]", self.times)
        self.planned.coefficients = self.ffi.from_buffer("double[]", rows)
        self.planned.knots, self.core.current.plan = 2, self.planned
        return self.planned


def test_rules_that_doubt_a_start_or_the_states():
    arm = Latching()
    doubting = {"OVERSPEED", "START_SPEED", "START_DISPLACEMENT", "START_LOAD", "START_EFFORT"}
    doubting |= {"REPEATED_FAULTS", "SLOW_STATES"}
    assert {name for name in RULES if arm.calls.rd_rule_doubts(arm.rule(name))} == doubting
    assert [arm.rule(name) for name in RULES] == list(range(13))


@pytest.mark.parametrize("rule", RULES)
def test_a_protective_stop_goes_along_the_path_unless_its_rule_doubts_that_it_is_followed(rule):
    arm = Latching()
    core, plan = arm.core, arm.plan()
    core.knows_inertia = core.has_sent = core.fades = 1
    core.replaced = arm.settings
    arm.protect(rule)
    assert arm.restored == 1
    assert core.stopping.kind == arm.calls.RD_STOP_EMERGENCY
    assert (core.stopping.path.plan == plan) == (rule in ALONG)
    if rule not in ALONG:
        np.testing.assert_array_equal(arm.get("stopping__rate"), arm.get("believed"))
    assert not (core.knows_inertia or core.has_sent or core.fades or core.replaced)
    np.testing.assert_array_equal(arm.get("supervision__stopped"), arm.get("hold"))
    assert core.supervision.stopped_at == 5.0


@pytest.mark.parametrize("rule", RULES)
def test_a_new_model_is_taken_back_unless_states_or_another_node_are_at_fault(rule):
    arm = Latching()
    core = arm.core
    before = arm.ffi.new("rd_settings *", arm.settings[0])
    before.model, arm.settings.model, before.law, arm.settings.law = 7, 9, 4, 4
    core.former, core.changed_at = before, 4.5
    arm.protect(rule)
    kept = rule in ("NO_RULE", "SLOW_STATES", "DISPUTE")
    assert core.trip.reverted == (0 if kept else 7)
    assert core.settings == (arm.settings if kept else before)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("since", [0.5, 0.02])
def test_at_a_start_the_load_that_the_observer_has_begun_to_show_is_taken(rule, since):
    """1 - exp(-gain t) of it is shown, and a fifth at least counts."""
    arm = Latching()
    arm.core.supervision.began = 5.0 - since
    arm.protect(rule)
    shown = max(0.2, 1.0 - np.exp(-3.0 * since))
    assert arm.taken == ([pytest.approx(1.0 / shown)] if rule in STARTS else [])
    arm.settings.momentum = arm.ffi.NULL
    arm.protect(rule)
    arm.settings.momentum, arm.machine.take_load = arm.momentum, arm.ffi.NULL
    arm.protect(rule)
    assert len(arm.taken) == (rule in STARTS), "without momentum or a load nothing is taken"


# Another stop at the same place


def again(arm, rule="FOLLOWING_ERROR", since=4.0, hold=PLACE, stopped=PLACE + 0.1):
    """Return whether a stop so long after another one keeps the place of that."""
    core = arm.core
    core.supervision.stopped_at = core.time - since
    arm.put(place=PLACE, hold=hold, supervision__stopped=stopped)
    arm.protect(rule)
    kept = core.supervision.stopped_at != core.time
    assert (arm.get("hold") == arm.get("supervision__stopped")).all()
    assert core.stopping.kind == (0 if kept else 2)
    assert kept or (arm.get("hold") == PLACE).all()
    core.stopping.kind = 0
    return kept


@pytest.mark.parametrize("rule", RULES)
def test_a_stop_within_five_seconds_takes_no_new_place_unless_it_is_for_speed(rule):
    if rule in ALONG:
        arm = Latching()
        arm.core.supervision.stopped_at = 1.0
        arm.put(supervision__stopped=PLACE + 0.1)
        arm.protect(rule)
        np.testing.assert_array_equal(arm.get("supervision__stopped"), PLACE)
        assert arm.core.supervision.stopped_at == 1.0
        return
    assert again(Latching(), rule) == (rule != "OVERSPEED")


def test_what_counts_as_the_same_place():
    arm = Latching()
    assert again(arm, since=np.nextafter(5.0, 0.0)) and not again(arm, since=5.0)
    for j in range(3):
        for side in (0.5, -0.5):
            away = side * (np.arange(3) == j)
            assert again(arm, stopped=PLACE + away)
            assert not again(arm, stopped=PLACE + away * (1.0 + 1e-12))
    arm.plan()
    assert not again(arm), "it follows a plan"
    arm.core.current.plan, arm.core.stopping.kind = arm.ffi.NULL, 1
    assert not again(arm), "it has not come to rest"


def test_behind_the_last_joint_there_is_no_place():
    arm = Latching()
    arm.core.setpoints.position[0] = 99.0
    arm.core.last_effort[0] = arm.core.state.velocity[0] = 0.4
    assert again(arm)
    assert arm.core.setpoints.position[0] == 99.0


def test_of_two_places_each_joint_keeps_the_nearer_one():
    arm = Latching()
    hold, stopped = PLACE + np.array([0.125, -0.25, 0.25]), PLACE + np.array([-0.25, 0.125, -0.25])
    assert again(arm, hold=hold, stopped=stopped)
    np.testing.assert_array_equal(arm.get("hold"), [hold[0], stopped[1], stopped[2]])


# Trips


@pytest.mark.parametrize("stops", [0, 1])
@pytest.mark.parametrize("latched", [0, 1])
def test_a_trip_is_noted_and_latches_where_it_stops(latched, stops):
    arm = Latching()
    core = arm.core
    core.trip.latched, core.trip.count, core.guides = latched, 4, 1
    arm.calls.rd_note_trip(core, arm.rule("CONTACT"), 2, 1.5, 1.25, stops)
    trip = core.trip
    assert (trip.count, trip.time, trip.measured, trip.allowed) == (5, 5.0, 1.5, 1.25)
    assert (trip.rule, trip.joint, trip.stops) == (arm.rule("CONTACT"), 2, stops)
    assert trip.latched == (latched or stops) and core.guides == (not stops)


@pytest.mark.parametrize("rule", ["OVERSPEED", "CONTACT"])
@pytest.mark.parametrize("latched", [0, 1])
def test_a_rule_that_trips_begins_a_stop_and_in_a_stop_only_speed_does(latched, rule):
    arm = Latching()
    arm.core.trip.latched = latched
    arm.calls.rd_trip_rule(arm.core, arm.rule(rule), 1, 2.0, 1.0)
    assert arm.restored == (not latched or rule == "OVERSPEED")
    assert arm.core.trip.stops == 1 and arm.core.trip.latched == 1


@pytest.mark.parametrize("phase", ["HOLDING", "STALE"])
def test_a_protective_stop_that_is_asked_for_latches_once(phase):
    arm = Latching()
    core, calls = arm.core, arm.calls
    core.phase = getattr(calls, f"RD_{phase}")
    calls.rd_core_protect(core, arm.rule("CONTACT"))
    assert (core.trip.rule, core.trip.joint, core.trip.latched) == (arm.rule("CONTACT"), -1, 1)
    assert arm.restored == (phase == "HOLDING")
    calls.rd_core_protect(core, arm.rule("OVERSPEED"))
    assert core.trip.rule == arm.rule("CONTACT") and arm.restored == (phase == "HOLDING")


@pytest.mark.parametrize("phase", ["HOLDING", "STALE"])
def test_a_latch_without_a_stop_voids_what_was_planned(phase):
    arm = Latching()
    core, calls, epoch = arm.core, arm.calls, arm.core.epoch
    core.phase, core.trip.rule, core.trip.joint = getattr(calls, f"RD_{phase}"), 5, 2
    for _ in range(2):
        calls.rd_core_latch(core)
        assert (core.trip.rule, core.trip.joint, core.trip.latched) == (0, -1, 1)
        assert core.epoch == epoch + 1 and not arm.restored
        assert core.phase == (calls.RD_PROTECTIVE_STOP if phase == "HOLDING" else calls.RD_STALE)


# The reset


def latched(mode="COMPUTED_TORQUE", rule="CONTACT", contact="REPORT"):
    """An arm in a protective stop."""
    arm = Latching()
    core = arm.core
    arm.settings.mode, arm.rules.contact = arm.rule(mode), arm.rule(f"CONTACT_{contact}")
    core.trip.latched, core.trip.rule = 1, arm.rule(rule)
    core.phase, core.supervision.faults, core.has_sent, core.knows_effort = (
        arm.calls.RD_PROTECTIVE_STOP,
        2,
        1,
        1,
    )
    arm.put(swung=0.4, last_effort=(3.0, -4.0, 5.0))
    core.recaptures, core.departs, core.supervision.doubted = 0, 0, 1.0
    core.retreat.begins = core.retreat.active = 1
    return arm


def test_a_reset_ends_the_latch_and_moves_nothing():
    arm = latched()
    core, epoch = arm.core, arm.core.epoch
    for j in range(3):
        core.swings[j].swings = 1
    arm.calls.rd_core_reset_fault(core)
    assert not (core.trip.latched or core.guides or core.supervision.faults or core.has_sent)
    assert not (core.retreat.begins or core.retreat.active or core.departs or core.recaptures)
    assert core.phase == arm.calls.RD_HOLDING and core.epoch == epoch + 1
    np.testing.assert_array_equal(arm.get("swung"), 1.0)
    np.testing.assert_array_equal(arm.get("hold"), PLACE)
    assert core.supervision.doubted == 1.0 and not any(core.swings[j].swings for j in range(3))
    arm.calls.rd_core_reset_fault(core)
    assert core.epoch == epoch + 1, "there is nothing to reset"
    other = latched()
    other.core.phase = other.calls.RD_STALE
    other.calls.rd_core_reset_fault(other.core)
    assert other.core.phase == other.calls.RD_STALE


@pytest.mark.parametrize("known", [0, 1])
@pytest.mark.parametrize("case", ["yielded", "stiff", "no feedback", "no law of its own"])
def test_after_a_stop_with_a_law_of_its_own_efforts_depart_from_the_last(case, known):
    arm = {
        "yielded": lambda: latched(contact="YIELD"),
        "stiff": latched,
        "no feedback": lambda: latched("FEEDFORWARD", "OVERSPEED"),
        "no law of its own": latched,
    }[case]()
    core = arm.core
    core.knows_effort = known
    if case == "stiff":
        core.stiffened[1] = 1.5
    arm.calls.rd_core_reset_fault(core)
    assert core.departs == (known and case != "no law of its own")
    np.testing.assert_array_equal(arm.get("departing"), (3.0, -4.0, 5.0) if core.departs else 0.0)
    assert core.recaptures == (arm.calls.RD_STOP_HOLD if case == "yielded" else 0)
    assert core.supervision.doubted == (7.0 if case == "stiff" else 1.0)


def test_an_arm_has_yielded_to_a_contact_where_its_own_law_does_not():
    arm = latched(contact="YIELD")
    core, s, calls = arm.core, arm.settings, arm.calls

    def found():
        return calls.rd_has_yielded(core, s), calls.rd_yields(core)

    assert found() == (1, 1)
    for owner, name, value in (
        (core.trip, "latched", 0),
        (core.trip, "rule", arm.rule("OVERSPEED")),
        (s, "rules", arm.ffi.NULL),
        (arm.rules, "contact", arm.rule("CONTACT_HOLD")),
        (core, "guides", 1),
    ):
        before = getattr(owner, name)
        setattr(owner, name, value)
        assert found() == (0, 0), name
        setattr(owner, name, before)
    s.mode = arm.rule("JOINT_IMPEDANCE")
    assert found() == (0, 1)
    core.trip.latched = 0
    assert found() == (0, 1)


# Motion


def test_a_joint_moves_beyond_a_twentieth_of_its_speed_limit():
    arm = Latching()
    core, limits = arm.core, np.array([2.0, 4.0, 3.0])
    arm.setting(velocity_limits=[*limits, 1e-6])
    core.ahead.position[0] = 1.0
    for braked in 0, 1:
        core.braked = braked
        for j in range(3):
            for side in (1.0, -1.0):
                for share, moves in ((1.0, False), (1.0 + 1e-12, True)):
                    core.supervision.moved = 1.0
                    arm.put(state__velocity=side * share * 0.05 * limits * (np.arange(3) == j))
                    arm.calls.rd_watch_motion(core)
                    assert core.supervision.moved == (5.0 if moves and not braked else 1.0)


def test_a_robot_has_moved_within_a_fifth_of_a_second_of_control():
    arm = Latching()
    core, calls = arm.core, arm.calls
    core.supervision.moved = 0.0
    for time, moves in ((0.1, 1), (np.nextafter(0.2, 0.0), 1), (0.2, 0), (3.0, 0)):
        core.time, core.phase, core.braked = time, calls.RD_HOLDING, 0
        assert calls.rd_moves(core) == moves
        core.braked = 1
        assert calls.rd_moves(core) == 0
        core.braked, core.phase = 0, calls.RD_STALE
        assert calls.rd_moves(core) == 0
    core.time, core.phase, core.supervision.moved = 5.2, calls.RD_HOLDING, 4.9
    assert calls.rd_moves(core) == 0
    core.time = 5.0
    assert calls.rd_moves(core) == 1
