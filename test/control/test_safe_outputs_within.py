"""Fail-safe outputs, losses, brakes and what a cycle hands on, from within."""

from __future__ import annotations

import numpy as np
import pytest
from test_cycle_within import LIMITS, PLACE, REST, WEIGHT, Cycle, at

HEAVY = np.array([60.0, -5.0, -33.0])
"""A load beyond the limits of the first and the last joint."""
CUT = np.array([40.0, -5.0, -20.0])


@pytest.fixture
def cycle():
    return Cycle()


def safe(cycle, since=0.25, **settings):
    """Efforts of the fail-safe output, and those that nothing has limited."""
    for name, value in settings.items():
        setattr(cycle.settings, name, value)
    cycle.core.scratch[0][0], cycle.core.has_left = 77.0, 0
    cycle.calls.rd_core_safe_command(cycle.core, since)
    assert cycle.core.scratch[0][0] == 77.0, "behind the last joint nothing is written"
    return cycle.get("effort"), cycle.get("unlimited")


def safe_load(cycle, **settings):
    """Efforts with which the fail-safe output would begin."""
    for name, value in settings.items():
        setattr(cycle.settings, name, value)
    made = cycle.ffi.new("double[4]", [55.0] * 4)
    cycle.calls.rd_core_safe_load(cycle.core, made)
    assert made[3] == 55.0
    return np.array(list(made)[:3])


def without_model(cycle, how):
    """Take away a part of what carries the load."""
    if how == "zero":
        cycle.settings.safe_output = cycle.calls.RD_ZERO
    elif how == "no state":
        cycle.core.time = -np.inf
    elif how == "no model":
        cycle.fails = "dynamics"
    elif how == "no number":
        cycle.load = np.array([1.0, np.nan, 1.0])


LACKS = ("zero", "no state", "no model", "no number")


def test_the_load_is_carried_within_the_limits_and_fades(cycle):
    cycle.load = HEAVY
    for since, share in ((0.0, 1.0), (0.25, 0.75), (1.0, 0.0), (2.0, 0.0)):
        effort, unlimited = safe(cycle, since)
        np.testing.assert_allclose(unlimited, share * HEAVY)
        np.testing.assert_allclose(effort, np.clip(share * HEAVY, -LIMITS, LIMITS))
    assert cycle.core.pace.relieved == cycle.core.time
    np.testing.assert_allclose(safe_load(cycle), CUT)


@pytest.mark.parametrize("how", LACKS)
def test_without_a_load_the_safe_output_is_zero(cycle, how):
    cycle.load = HEAVY
    cycle.put(before=(3.0, 4.0, 5.0))
    without_model(cycle, how)
    effort, unlimited = safe(cycle)
    assert not effort.any() and not unlimited.any()
    assert not safe_load(cycle).any()


def test_a_safe_output_may_take_away_at_once(cycle):
    core = cycle.core
    cycle.put(left=(30.0, 20.0, -15.0))
    core.has_left = 1
    cycle.calls.rd_core_safe_command(core, 9.0)
    assert not cycle.get("left").any() and not cycle.get("effort").any()


@pytest.mark.parametrize("share", [0.75, 0.0])
def test_a_safe_output_beside_brakes_is_what_they_leave(cycle, share):
    cycle.load = HEAVY
    s = cycle.settings
    s.brakes, s.brake_fade = cycle.calls.RD_FALLING, 0.5
    s.brake_from = cycle.core.time + 0.25 - (1.0 - share) * 0.5
    effort, unlimited = safe(cycle)
    np.testing.assert_allclose(unlimited, 0.75 * share * HEAVY, atol=1e-12)
    np.testing.assert_allclose(effort, share * np.clip(0.75 * HEAVY, -LIMITS, LIMITS), atol=1e-12)
    s.brake_from += 0.25 * (share > 0.0)
    expected = share * CUT if share else np.zeros(3)
    np.testing.assert_allclose(
        safe_load(cycle, brake_from=cycle.core.time - (1.0 - share) * 0.5), expected, atol=1e-9
    )


@pytest.mark.parametrize("how", [None, *LACKS])
def test_drives_that_close_the_loop_are_sent_the_load_or_what_left_last(cycle, how):
    cycle.load = HEAVY
    cycle.put(left=(3.0, 2.0, 1.0), setpoints__position=PLACE, setpoints__velocity=(0.4, 0.0, 0.0))
    cycle.core.setpoints.known, cycle.settings.setpoint_deceleration = 1, 2.0
    cycle.settings.command = cycle.calls.RD_COMMAND_POSITION
    without_model(cycle, how)
    effort, unlimited = safe(cycle, 9.0)
    carried = how in (None, "zero")
    np.testing.assert_allclose(effort, CUT if carried else (3.0, 2.0, 1.0))
    np.testing.assert_allclose(unlimited, HEAVY if carried else (3.0, 2.0, 1.0))
    assert cycle.core.setpoints.since == 9.0 and cycle.core.setpoints.stops
    np.testing.assert_allclose(safe_load(cycle), CUT if carried else REST)


def test_a_safe_output_rests_where_the_robot_is(cycle):
    cycle.put(reference__velocity=3.0, reference__position=9.0)
    safe(cycle)
    np.testing.assert_allclose(cycle.get("reference__position"), PLACE)
    assert not cycle.get("reference__velocity").any()


def test_a_machine_comes_to_rest_its_own_way_where_that_is_declared():
    asked = []

    def settle(core, since, begins, effort):
        asked.append((since, begins))
        effort[0], effort[1], effort[2] = 1.0, 2.0, 3.0
        return has[0]

    has, made = [1], Cycle()
    core, calls = made.core, made.calls
    made.own("settle", "int(struct rd_core *, double, int, double *)", settle)
    effort, unlimited = safe(made, 0.5, safe_output=calls.RD_SETTLE)
    assert effort.tolist() == unlimited.tolist() == [1.0, 2.0, 3.0] and asked == [(0.5, 1)]
    safe(made, 0.6)
    assert asked[1:] == [(0.6, 0)], "it has begun"
    made.update()
    assert core.settles == 0
    carried = 0.75 * WEIGHT
    for change in ("held", "no state", "another output", "none"):
        core.held, has[0] = change == "held", change != "none"
        core.settles = 0
        made.settings.safe_output = calls.RD_GRAVITY_FADE if change == "another output" else calls.RD_SETTLE
        time, core.time = core.time, -np.inf if change == "no state" else core.time
        effort, _ = safe(made)
        np.testing.assert_allclose(effort, 0.0 if change == "no state" else carried, err_msg=change)
        core.time = time
        assert core.settles == 0 and len(asked) == (3 if change == "none" else 2)
    made.machine.settle = made.ffi.NULL
    np.testing.assert_allclose(safe(made)[0], carried)


# Losses


def lose(cycle, age=0.01):
    cycle.calls.rd_core_lost_states(cycle.core, age)


def test_a_loss_of_states_drops_what_is_followed(cycle):
    core = cycle.core
    cycle.settings.safe_output = cycle.calls.RD_ZERO
    cycle.plan(cycle.time + 0.004)
    cycle.update()
    core.departs, core.has_sent, epoch = 1, 1, core.epoch
    lose(cycle)
    assert cycle.phase() == "STALE" and not core.current.plan and core.unseen == 0.01
    assert core.departs == core.has_sent == 0 and core.epoch == epoch + 1
    lose(cycle, 0.02)
    assert core.unseen == 0.01, "it has been noticed"
    waiting = Cycle(0)
    waiting.core.departs = waiting.core.has_sent = 1
    lose(waiting)
    assert waiting.phase() == "WAITING" and waiting.core.epoch == 0 and waiting.core.departs == 1


def test_a_loss_in_motion_is_a_stop_by_the_model_which_goes_on_as_long_as_no_state_comes(cycle):
    core = cycle.core
    cycle.put(state__velocity=(0.3, 0.0, 0.0), stopping__place=PLACE, stopping__rate=(0.3, 0.0, 0.0))
    core.stopping.kind, core.stopping.at, core.stopping.pace = cycle.calls.RD_STOP_HOLD, core.time, 1.0
    core.stopping.where = core.stopping.change = 0.0
    lose(cycle)
    assert core.blind.active and cycle.phase() == "STALE" and core.stopping.kind
    lose(cycle, 0.02)
    assert core.blind.active, "it has begun"
    cycle.calls.rd_core_safe_command(core, 0.02)
    braking = cycle.get("effort") - WEIGHT
    assert braking[0] < -1.0 and np.abs(braking[1:]).max() < 1e-9
    assert cycle.get("reference__velocity")[0] < 0.3 and cycle.get("unlimited")[0] == cycle.get("effort")[0]
    core.blind.active = 0
    lose(cycle, 0.03)
    assert not core.blind.active and not core.stopping.kind, "without control none begins"


def test_a_stop_by_the_model_is_within_the_limits(cycle):
    core = cycle.core
    core.blind.active, core.blind.since, core.blind.rested, core.stopping.kind = 1, 0.5, 0.5, 0
    cycle.put(blind__position=PLACE, hold=PLACE)
    cycle.load = HEAVY
    cycle.settings.safe_output, core.has_left = cycle.calls.RD_ZERO, 0
    cycle.calls.rd_core_safe_command(core, 0.75)
    np.testing.assert_allclose(cycle.get("effort"), 0.75 * CUT)
    np.testing.assert_allclose(cycle.get("unlimited"), 0.75 * CUT)
    core.blind.active = 0
    assert not safe(cycle, 0.75)[0].any()


def test_a_hold_ends_what_moves_and_leaves_what_rests(cycle):
    core, calls = cycle.core, cycle.calls
    for name in ("rd_core_hold", "rd_core_emergency_stop"):
        for moves in ("plan", "stop", None):
            made = Cycle()
            core = made.core
            if moves == "plan":
                made.plan(made.time + 0.004)
                made.update()
            core.stopping.kind = calls.RD_STOP_HOLD if moves == "stop" else 0
            core.has_sent = core.knows_inertia = 1
            getattr(calls, name)(core)
            assert core.has_sent == core.knows_inertia == (moves is None)
            assert not core.current.plan and made.phase() == "HOLDING"
    core.phase, core.current.plan, epoch = calls.RD_STALE, core.waiting[0].plan, core.epoch
    calls.rd_core_hold(core)
    assert core.epoch == epoch, "nothing is controlled"


@pytest.mark.parametrize("lacks", [None, "setpoints", "control", "known", "free"])
def test_a_stop_of_drives_that_close_the_loop_is_from_their_reference(cycle, lacks):
    core, calls = cycle.core, cycle.calls
    cycle.settings.command = calls.RD_COMMAND_EFFORT if lacks == "setpoints" else calls.RD_COMMAND_POSITION
    core.phase = calls.RD_STALE if lacks == "control" else calls.RD_HOLDING
    core.setpoints.known, core.braked = lacks != "known", lacks == "free"
    reference = PLACE + at(1, 0.2)
    cycle.put(reference__position=reference, reference__velocity=0.0)
    core.knows_inertia = core.has_sent = 1
    calls.rd_capture(core, calls.RD_STOP_EMERGENCY)
    np.testing.assert_allclose(cycle.get("hold"), reference if lacks is None else PLACE)
    assert core.knows_inertia == core.has_sent == 0


# Drives that are given a reference beside the effort


def drive_reference(cycle):
    made = cycle.ffi.new("double[8]", [55.0] * 8)
    cycle.calls.rd_core_drive_reference(cycle.core, made, made + 4)
    assert made[3] == made[7] == 55.0
    return np.array(list(made)).reshape(2, 4)[:, :3].tolist()


def test_references_for_drives_are_those_of_the_law_in_force(cycle):
    core, calls, s = cycle.core, cycle.calls, cycle.settings
    position, velocity, q, qd = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [0.1, 0.2, 0.3]
    set_position, set_velocity = [-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]
    cycle.put(
        reference__position=position, reference__velocity=velocity, state__position=q, state__velocity=qd,
        setpoints__position=set_position, setpoints__velocity=set_velocity,
    )  # fmt: skip
    core.setpoints.known, rest, none = 1, [0.0] * 3, [np.nan] * 3
    for command, mode, phase, known, expected in (
        ("EFFORT", "COMPUTED_TORQUE", "HOLDING", 1, [position, velocity]),
        ("EFFORT", "COMPUTED_TORQUE", "STALE", 1, [position, velocity]),
        ("EFFORT", "GRAVITY_COMPENSATION", "GUIDED", 1, [q, rest]),
        ("EFFORT", "GRAVITY_COMPENSATION", "STALE", 1, [position, velocity]),
        ("EFFORT", "COMPUTED_TORQUE", "WAITING", 1, [none, rest]),
        ("POSITION", "COMPUTED_TORQUE", "HOLDING", 1, [set_position, set_velocity]),
        ("VELOCITY", "COMPUTED_TORQUE", "HOLDING", 0, [none, rest]),
    ):
        s.command, s.mode = getattr(calls, f"RD_COMMAND_{command}"), getattr(calls, f"RD_{mode}")
        core.phase, core.setpoints.known = getattr(calls, f"RD_{phase}"), known
        np.testing.assert_array_equal(drive_reference(cycle), expected)


# Machines that watch their own limits


def watching(cycle, beyond):
    def watch(core):
        seen.append(cycle.core.discontinuity)
        cycle.calls.rd_note(cycle.core, cycle.calls.RD_BEYOND + 3, 0.5, 0.25)
        return beyond[0]

    seen = []
    cycle.own("watch", "int(struct rd_core *)", watch)
    return seen


def test_a_machine_that_comes_to_be_beyond_a_limit_holds_once(cycle):
    core, beyond = cycle.core, [0]
    seen = watching(cycle, beyond)
    epoch = core.epoch
    for now, counted, says in ((0, 0, 0), (1, 1, 3), (1, 1, 0), (0, 1, 0), (1, 2, 3)):
        beyond[0] = now
        cycle.update()
        assert (core.is_beyond, core.beyond, core.epoch - epoch) == (now, counted, counted)
        assert core.discontinuity == (cycle.calls.RD_BEYOND + 3 if says else 0)
    assert seen == [0] * 5
    cycle.update(place=PLACE + at(2, 0.3))
    assert len(seen) == 5 and core.discontinuity == cycle.calls.RD_JUMPED, "a jump comes first"
    cycle.settings.mode = cycle.calls.RD_CALLED
    cycle.update(place=PLACE + at(2, 0.3))
    assert len(seen) == 5, "there is no effort"


def test_a_rule_that_trips_stops_with_the_effort_of_the_same_state(cycle):
    cycle.rules.following = cycle._array([0.1] * 4)
    cycle.setting(effort_steps=[1e9] * 4)
    cycle.put(hold=PLACE + at(1, 0.15))
    for k in range(3):
        assert cycle.update(0.0125) == 1 and cycle.core.trip.latched == (k == 2)
        np.testing.assert_allclose(cycle.get("effort"), WEIGHT + at(1, 60.0 * 0.15 * (k < 2)))
    assert cycle.core.trip.rule == cycle.calls.RD_FOLLOWING_ERROR and cycle.phase() == "PROTECTIVE_STOP"


# Brakes


@pytest.mark.parametrize("case", [None, "free", "half", "stopping", "planned", "platform"])
def test_what_rests_on_brakes_stays_where_they_let_it_be(case):
    made = Cycle()
    core, s = made.core, made.settings
    if case == "platform":
        made.own("stray", "void(const struct rd_core *, double *, double *, double *)", lambda *given: None)
        made.rules.speed, s.rules = made._array([9.0] * 4), made.ffi.NULL
    s.brakes, s.brake_fade = (made.calls.RD_ALL if case == "free" else made.calls.RD_FALLING), 1.0
    s.brake_from = made.time - (0.5 if case == "half" else 0.996)
    if case == "planned":
        made.plan(made.time + 50.0)
    if case == "stopping":
        made.put(stopping__place=PLACE, stopping__rate=(0.2, 0.1, 0.1))
        core.stopping.kind, core.stopping.at, core.stopping.pace = made.calls.RD_STOP_HOLD, made.time, 1.0
        core.stopping.where = core.stopping.change = 0.0
    sunk = PLACE - 0.01
    made.update(place=sunk)
    held = made.get("hold")
    np.testing.assert_allclose(held, sunk if case is None else PLACE, atol=1e-12)
    if case is None:
        assert core.braked and not made.get("effort").any()
        made.update(place=sunk - 0.01)
        np.testing.assert_allclose(made.get("hold"), sunk - 0.01)


def test_efforts_grow_as_rising_brakes_let_go_and_a_fade_ends():
    made = Cycle()
    core, s = made.core, made.settings
    made.setting(effort_steps=[1e9] * 4)
    s.brakes, s.brake_from, s.brake_fade = made.calls.RD_RISING, made.time + 0.1, 0.5
    core.fades, core.fade_began, core.fade_duration = 1, made.time, 0.4
    made.put(difference=(1.0, 2.0, -3.0))
    for elapsed, rising, left in ((0.05, 0.0, 0.875), (0.15, 0.2, 0.5), (0.15, 0.5, 0.125), (0.1, 0.7, 0.0)):
        made.update(elapsed)
        expected = rising * (WEIGHT + left * np.array([1.0, 2.0, -3.0]))
        np.testing.assert_allclose(made.get("effort"), expected, atol=1e-9)
        assert bool(core.fades) == (left > 0.0) and bool(core.braked)
    made.calls.rd_end_fading_soon(core, made.time)
    assert core.fade_duration == 0.4
    core.fades, core.fade_began = 1, made.time
    made.calls.rd_end_fading_soon(core, made.time + 0.1)
    np.testing.assert_allclose(made.get("difference"), (0.75, 1.5, -2.25))
    assert (core.fade_began, core.fade_duration) == (made.time + 0.1, 0.05)


# External efforts


def observed(made):
    """An arm whose states and efforts show an external effort: its momentum is the velocity."""

    def momentum(given, out):
        for j in range(3):
            out[0][j], out[1][j], out[2][j] = given[1][j], 0.0, made.load[j]
        return 1

    made.kernels = made.ffi.callback("int(const double *const *, double *const *)", momentum)
    s = made.settings
    s.momentum, s.observer_gain, s.contact_points = made.kernels, 50.0, 1
    s.contact_floor = made._array([1.0] * 3)
    return made


def external(made, observer="observer"):
    values = made.calls.rd_observer_external(getattr(made.core, observer))
    return np.array([values[j] for j in range(3)])


def push(made, states=30, acceleration=(0.5, -0.25, 0.125), **change):
    """States that move as something pushes, beside efforts that carry the load only."""
    a, rate, place = np.array(acceleration), np.zeros(3), PLACE.copy()
    made.settings.mode = made.calls.RD_GRAVITY_COMPENSATION
    for _ in range(states):
        rate = rate + 0.004 * a
        place = place + 0.004 * rate
        made.update(place=place, rate=rate)
    return place, rate


def test_external_efforts_are_observed_from_what_left_since_the_last_state():
    for rules in (True, False):
        made = observed(Cycle(1))
        if not rules:
            made.settings.rules = made.ffi.NULL
        place, rate = push(made)
        shown = np.array([0.5, -0.25, 0.125]) + 0.5 * rate  # slight damping
        np.testing.assert_allclose(external(made), shown, rtol=0.2)
    made.update(place=place + 0.004 * rate, rate=rate)
    assert external(made).all(), "it goes on"
    for case in ("braked", "nothing left", "backwards", "lost"):
        made = observed(Cycle(1))
        place, rate = push(made)
        made.core.braked, made.core.has_left = case == "braked", case != "nothing left"
        made.core.phase = made.calls.RD_STALE if case == "lost" else made.core.phase
        made.update(-0.1 if case == "backwards" else 0.004, place=place, rate=rate)
        assert not external(made).any(), case


def test_measured_efforts_have_an_observer_of_their_own():
    made = observed(Cycle(1))
    about = made.ffi.new("rd_observed *")
    made.settings.measured = about

    def run(**change):
        for k in range(10):
            made.calls.rd_core_measure(made.core, made._array(np.add(made.load, (2.0, 3.0, -4.0))))
            for name, value in change.items():
                if k == 9:
                    setattr(made.core, name, value)
            made.update()

    run()
    np.testing.assert_allclose(
        external(made, "sensed"), -np.array([2.0, 3.0, -4.0]) * (1 - np.exp(-0.2 * 9)), rtol=0.1
    )
    run(braked=1)
    assert not external(made, "sensed").any()
    run()
    assert external(made, "sensed").all()
    run(phase=made.calls.RD_STALE)
    assert not external(made, "sensed").any()
    run()
    made.calls.rd_core_measure(made.core, made.ffi.NULL)
    made.update()
    assert not external(made, "sensed").any(), "none were measured"
    made.settings.momentum = made.ffi.NULL
    run()
    assert not external(made, "sensed").any()


# What else a cycle hands on


@pytest.mark.parametrize("how", [None, "lost", "backwards"])
def test_filters_of_what_yields_begin_anew_after_a_break(cycle, how):
    cycle.settings.mode = cycle.calls.RD_JOINT_IMPEDANCE
    cycle.setting(stiffness=[20.0] * 3, damping=[3.0] * 3, effort_rates=[1e9] * 3)
    cycle.settings.smoothing = [0.05, 0.05, 0.0]
    cycle.put(smoothed__position=PLACE, smoothed__velocity=0.0)
    cycle.core.phase = cycle.calls.RD_STALE if how == "lost" else cycle.core.phase
    now = PLACE + 0.001
    cycle.update(-0.004 if how == "backwards" else 0.004, place=now)
    share = 1.0 if how else 1.0 - np.exp(-0.08)
    seen = np.array([cycle.core.seen.position[j] for j in range(3)])
    np.testing.assert_allclose(seen - PLACE, share * 0.001)


@pytest.mark.parametrize("ahead", [True, False])
def test_measured_joints_are_where_they_will_be_half_a_period_later(ahead):
    made = Cycle(0)
    s, calls, ffi = made.settings, made.calls, made.ffi
    bounds = made._array([-9.0, -9.0, 9.0, 9.0, 9.0, 9.0])
    beside = ffi.gc(calls.rd_measured_new(2, 3, 1.0, made._array([0.0] * 6), bounds), calls.rd_measured_free)
    s.beside, s.looks_ahead, s.control_period = beside, int(ahead), 0.02
    assert made.update() == 0 and made.phase() == "WAITING", "none has been measured"
    calls.rd_measured_take(beside, 2.0, made._array([0.5, -0.5]), made._array([2.0, -1.0]))
    made.time = 2.0
    assert made.update() == 1 and made.phase() == "HOLDING"
    motion = made._array([0.0] * 6)
    calls.rd_measured_motion(beside, motion)
    later = 0.004 + (0.01 if ahead else 0.0)
    np.testing.assert_allclose(list(motion)[:4], [0.5 + 2.0 * later, -0.5 - later, 2.0, -1.0])
