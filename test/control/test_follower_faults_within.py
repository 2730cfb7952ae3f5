"""Faults, stops, measured joints and memory of a follower, and what other threads read of it."""

from __future__ import annotations

import ctypes
import time

import numpy as np
import pytest
from test_follower_references_within import SLOPE, Detailed, following
from test_follower_within import INERTIA, MS, PLACE, WEIGHT, at

UNTIL_KNOWN = 5
"""States after which their period is known."""


def weight(place):
    return WEIGHT + SLOPE * (np.array(place) - PLACE)


def fast(speed=0.4, **parameters):
    """A follower of a reference that moves, in the state of its reference."""
    made = Detailed(**parameters)
    made.cycles(3)
    for k in range(1, 161):
        now = min(1e-3 * k * 5.0, speed), 0.0
        way = 2.5 * (1e-3 * k) ** 2 if now[0] < speed else speed * 1e-3 * k - speed**2 / 10.0
        place = np.add(PLACE, [way, 0.0])
        made.cycle(at(place, now, (5.0 * (now[0] < speed), 0.0)), place=place, velocity=now)
    assert made.follows
    return made, place


# Faults


def test_a_fault_of_the_model_counts_like_lost_states():
    made = following()
    made.fails = True
    assert made.age == 0.0
    made.cycles(3, place=PLACE, velocity=(0.05, 0.0))
    assert made.core.phase in (made.calls.RD_STALE, made.calls.RD_FAULT)
    assert made.age == pytest.approx(0.002)
    made.fails = False
    made.cycles(2)
    assert made.age == 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_efforts_that_are_no_numbers_are_a_fault(value):
    made = following()

    def dynamics(given, out):
        out[0] = out[1] = value
        return 1

    kernel, made.settings.inverse_dynamics = (
        made.settings.inverse_dynamics,
        made.called("int(const double *const *, double *)", dynamics),
    )
    made.cycles(4)
    assert made.core.phase == made.calls.RD_FAULT and made.age == pytest.approx(0.003)
    made.settings.inverse_dynamics = kernel
    made.cycle()
    assert made.age == 0.0


def test_a_fade_has_ended_a_moment_after_its_duration():
    made = following(safe_fade_time=0.24)
    made.cycles(101, place=None)
    assert made.core.phase == made.calls.RD_STALE
    made.cycles(248, place=None)
    assert made.age == pytest.approx(0.249) and not made.calls.rd_follower_has_faded(made.handle)
    made.cycle(place=None)
    assert made.age == 0.25 and made.calls.rd_follower_has_faded(made.handle)


def test_a_fail_safe_output_that_brakes_has_not_faded():
    made, _ = fast(safe_fade_time=0.05, max_acceleration=(0.8, 0.8))
    made.cycles(101, place=None)
    assert made.core.blind.active and made.core.blind.rested < 0.0
    faded = []
    for _ in range(900):
        made.cycle(place=None)
        faded.append(bool(made.calls.rd_follower_has_faded(made.handle)))
        if faded[-1]:
            break
    rested = made.core.blind.rested
    assert rested > 0.2 and faded.count(True) == 1
    assert made.age == pytest.approx(rested + 0.06, abs=1.1e-3)


# Activation


def test_deactivation_in_motion_leaves_the_weight_where_the_arm_is():
    made, place = fast()
    left = made.ffi.unpack(made.calls.rd_follower_deactivate(made.handle), 2)
    np.testing.assert_allclose(left, weight(place), rtol=1e-6)
    assert made.core.phase == made.calls.RD_STALE and not made.core.stopping.kind


def test_deactivation_leaves_no_effort_that_brakes():
    made, _ = fast(safe_fade_time=0.5, max_acceleration=(0.8, 0.8))
    made.cycles(160, place=None)
    assert made.core.blind.active and made.core.stopping.kind
    braking = made.cycle(place=None)
    left = made.ffi.unpack(made.calls.rd_follower_deactivate(made.handle), 2)
    np.testing.assert_allclose(left, weight(list(made.core.hold[0:2])), rtol=1e-6)
    assert abs(np.array(left) - braking)[0] > 0.5


def test_deactivation_leaves_drives_where_their_setpoints_are():
    made, place = fast()
    made.settings.command = made.calls.RD_COMMAND_VELOCITY
    made.cycles(2, at(place, (0.4, 0.0)), place=place, velocity=(0.4, 0.0))
    before, moving = made.reference()
    made.calls.rd_follower_deactivate(made.handle)
    assert moving[0] > 0.1
    np.testing.assert_allclose(made.reference()[0], before, atol=0.001)


def test_deactivation_in_a_fade_leaves_what_is_left_of_it():
    made, _ = fast(safe_fade_time=0.5)
    made.cycles(300, place=None)
    assert made.core.blind.active and not made.core.stopping.kind and made.core.blind.rested > 0.0
    last = made.cycle(place=None)
    left = np.array(made.ffi.unpack(made.calls.rd_follower_deactivate(made.handle), 2))
    np.testing.assert_array_equal(left, last)
    assert 0.0 < abs(left[0]) < 0.9 * abs(weight(list(made.core.hold[0:2]))[0])


def test_deactivation_before_the_first_state_leaves_nothing():
    made = Detailed()
    assert made.ffi.unpack(made.calls.rd_follower_deactivate(made.handle), 2) == [0.0, 0.0]


def test_activation_forgets_bad_states_of_before():
    made = following()
    made.fails = True
    made.cycles(200, velocity=(0.05, 0.0))
    made.calls.rd_follower_deactivate(made.handle)
    made.now += 50 * MS
    made.activate()
    found = made.cycle(velocity=(0.05, 0.0))
    np.testing.assert_allclose(found, WEIGHT, rtol=0.01)


def test_activation_begins_anew():
    made = following()
    made.cycles(3, at(PLACE + 0.09))
    made.cycles(150, place=None)
    made.calls.rd_follower_deactivate(made.handle)
    made.leads = 1
    made.activate()
    assert made.age == 0.0 and not made.calls.rd_follower_has_faded(made.handle)
    np.testing.assert_array_equal(made.cycle(place=None), 0.0)
    made.cycles(2, at(PLACE - 0.02, (0.05, 0.05)))
    assert made.follows
    np.testing.assert_allclose(made.own()[0], PLACE - 0.02)


def test_velocities_that_were_zeros_are_so_until_a_driver_gives_others():
    made = Detailed()
    for k in range(300):
        made.cycle(place=PLACE + 1e-4 * k)
    estimates = made.calls.rd_follower_estimates_velocity
    assert estimates(made.handle) == 1
    made.cycles(150, place=None)
    assert estimates(made.handle) == 1
    made.calls.rd_follower_deactivate(made.handle)
    made.activate()
    made.cycles(3, place=PLACE + 0.03)
    assert estimates(made.handle) == 1, "the driver is the same"
    np.testing.assert_array_equal(list(made.core.state.velocity[0:2]), 0.0)
    made.cycle(place=PLACE + 0.03, velocity=(0.0, 1e-6))
    assert estimates(made.handle) == 0


# Other threads


def test_the_period_is_known_from_the_fifth_state_on():
    made = Detailed()
    place, external, period = (made.ffi.new("double[2]") for _ in range(3))
    for k in range(1, 8):
        made.cycle(after=3 * MS)
        period[0] = 0.0
        made.calls.rd_follower_standing(made.handle, place, external, period)
        assert period[0] == (0.0 if k < UNTIL_KNOWN else pytest.approx(0.003, rel=0.05))
    period[0] = 0.75
    made.calls.rd_follower_standing(made.handle, place, external, period)
    assert period[0] == 0.75


def test_records_and_the_standing_have_the_arrays_of_the_core():
    made = following()
    machine = made.ffi.new("rd_machine *", made.settings.machine[0])

    def report(core, telemetry):
        for k in range(4):
            telemetry[k] = 71.0 + k

    machine.report, made.settings.machine = made.called("void(const rd_core *, double *)", report), machine
    record, arrays = made.ffi.new("rd_record *"), made.ffi.new("double[]", 19)
    while made.calls.rd_follower_read(made.handle, record, arrays):
        pass
    arrays[18] = 7.0
    expected = at(np.add(PLACE, [0.01, -0.02]), (0.02, 0.03), (0.1, 0.2))
    effort = made.cycle(expected, place=PLACE + 0.005, velocity=(0.015, 0.025))
    assert made.calls.rd_follower_read(made.handle, record, arrays) == 1
    assert record.kind == made.calls.RD_ANSWERED and record.stamp == made.now - 1000 * MS
    found = np.array(list(arrays)).reshape(-1)
    state = np.concatenate([PLACE + 0.005, (0.015, 0.025), *expected])
    np.testing.assert_allclose(found[:10], state)
    np.testing.assert_allclose(found[10:14], [*effort, *effort])
    np.testing.assert_array_equal(found[14:], (71.0, 72.0, 73.0, 74.0, 7.0))
    place, external = made.ffi.new("double[3]"), made.ffi.new("double[3]")
    place[2] = external[2] = 7.0
    assert made.calls.rd_follower_standing(made.handle, place, external, made.ffi.new("double *", 1.0)) == 1
    assert list(place) == [*(PLACE + 0.005), 7.0] and list(external) == [71.0, 72.0, 7.0]
    assert made.calls.rd_follower_read(made.handle, record, arrays) == 0


def test_a_record_has_the_steady_time_at_which_its_answer_left():
    made = Detailed()
    record, arrays = made.ffi.new("rd_record *"), made.ffi.new("double[18]")
    for _ in range(20):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        made.cycle()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        assert made.calls.rd_follower_read(made.handle, record, arrays)
        assert before <= record.left <= after


def test_largest_values_are_those_of_the_rules():
    made = following()
    count = made.calls.RD_RULES
    for rule in range(count):
        made.core.supervision.rules[rule].largest = 0.125 + rule
    made.cycle(at(PLACE))
    found = made.ffi.new("double[]", count + 1)
    found[count] = 7.0
    made.calls.rd_follower_largest(made.handle, found)
    assert list(found) == [*(made.core.shown.largest[rule] for rule in range(count)), 7.0]
    assert found[count - 1] >= 0.125 + count - 1


@pytest.mark.parametrize(("rule", "latched", "doubts"), [
    ("OVERSPEED", 1, 1), ("OVERSPEED", 0, 0), ("CONTACT", 1, 0), ("NO_RULE", 0, 0),
])  # fmt: skip
def test_doubts_are_those_of_the_rule_that_is_latched(rule, latched, doubts):
    made = following()
    made.core.trip.rule, made.core.trip.latched = getattr(made.calls, f"RD_{rule}"), latched
    made.cycle()
    assert made.calls.rd_follower_doubts(made.handle) == doubts


def test_the_former_settings_are_the_oldest_that_may_come_back():
    made = following()
    former = made.ffi.new("rd_settings *", made.settings[0])
    made.core.former, made.core.changed_at = former, made.core.time
    former.number = 3
    made.settings.number = 5
    made.cycle()
    assert made.calls.rd_follower_oldest_settings(made.handle) == 3
    made.core.former = made.ffi.NULL
    made.cycle()
    assert made.calls.rd_follower_oldest_settings(made.handle) == 5


def test_pushes_and_the_button_count_from_the_last_state_on():
    made = following()
    now = made.core.time
    wrench = [1.5, -2.5, 3.5, -4.5, 5.5, 6.5]
    made.calls.rd_follower_push(made.handle, made.ffi.new("double[]", wrench), 0.25)
    assert list(made.core.push) == wrench and made.core.pushed_until == pytest.approx(now + 0.25)
    made.calls.rd_follower_guide(made.handle, 1, 0.75)
    assert made.core.guided_until == pytest.approx(now + 0.75)
    made.calls.rd_follower_guide(made.handle, 0, 0.75)
    assert made.core.guided_until == -np.inf


# Measured joints


class Beside(Detailed):
    """A follower beside one measured joint, whose states come with some cycles."""

    def __init__(self):
        super().__init__()
        rest, bounds = (self.ffi.new("double[]", values) for values in ([0.1, 0.0, 0.0], [-2.0, 2.0, 5.0]))
        new, free = self.inner.calls.rd_measured_new, self.inner.calls.rd_measured_free
        self.measured = self.ffi.gc(new(1, 2, 0.5, rest, bounds), free)
        self.settings.beside, self.settings.looks_ahead = self.measured, 0

    def motion(self):
        found = self.ffi.new("double[3]")
        self.inner.calls.rd_measured_motion(self.measured, found)
        return list(found)


def test_no_state_counts_before_all_measured_joints_have_one():
    made = Beside()
    np.testing.assert_array_equal(made.cycle(at(PLACE)), 0.0)
    assert made.core.phase == made.calls.RD_WAITING
    made.cycle(at(PLACE), beside=((np.nan,), (0.2,)))
    assert made.core.phase == made.calls.RD_WAITING
    np.testing.assert_allclose(made.cycle(at(PLACE), beside=((0.5,), (0.2,))), WEIGHT)
    assert made.motion() == [pytest.approx(0.5), pytest.approx(0.2), 0.0]
    made.cycles(10)
    assert made.motion()[0] == pytest.approx(0.5 + 0.01 * 0.2)
    made.cycle(beside=((0.6,), None))
    assert made.motion()[0] == pytest.approx(0.6)


def test_accelerations_of_measured_joints_count_from_the_last_state_on():
    made = Beside()
    made.cycle(beside=((0.5,), (0.2,)))
    made.calls.rd_follower_accelerate(made.handle, made.ffi.new("double[]", [0.75]), 0.01)
    for k in range(1, 15):
        made.cycle()
        assert made.motion()[2] == (0.75 if k <= 10 else 0.0)


def test_without_measured_joints_accelerations_are_for_nobody():
    made = following()
    made.calls.rd_follower_accelerate(made.handle, made.ffi.NULL, 0.01)
    assert made.cycle(at(PLACE)) == pytest.approx(WEIGHT)


def test_measured_efforts_are_those_of_the_cycle():
    made = following()
    made.cycle(effort=(3.0, -1.0))
    assert list(made.core.measured[0:2]) == [3.0, -1.0] and made.core.measures
    made.cycle()
    assert not made.core.measures


# Memory


def kept(run):
    """Bytes of the heap that somebody has since then, for each of many runs."""

    class Info(ctypes.Structure):
        _fields_ = tuple((f"of_{k}", ctypes.c_size_t) for k in range(10))

    call, found = ctypes.CDLL(None).mallinfo2, []
    call.restype = Info
    for _ in range(2):  # the heap keeps some blocks of the first ones for later
        for _ in range(20):
            run()
        info = call()
        found.append(info.of_7 + info.of_4)
    return (found[1] - found[0]) / 20


def test_a_follower_that_is_freed_gives_all_of_its_memory_back():
    made = Detailed()
    new, free = made.calls.rd_follower_new, made.calls.rd_follower_free
    free(made.ffi.NULL)
    assert kept(lambda: free(new(2, made.settings, 0))) < 100


def test_a_follower_without_memory_is_none():
    made = Detailed()
    for new in (lambda: made.calls.rd_follower_new(2**30, made.settings, 0),
                lambda: made.inner.calls.rd_core_new(2**30, made.settings)):  # fmt: skip
        assert new() == made.ffi.NULL
        assert kept(new) < 100


@pytest.mark.parametrize("n", [2, 3])
def test_arrays_of_a_follower_have_room(n):
    made = Detailed()
    room = made.ffi.gc(made.calls.rd_follower_new(n, made.settings, 0), made.calls.rd_follower_free)
    made.calls.rd_follower_activate(room, 0, 0)
    effort = made.calls.rd_follower_update(room, made.ffi.new("rd_cycle *"))
    size = ctypes.CDLL(None).malloc_usable_size
    size.argtypes, size.restype = [ctypes.c_void_p], ctypes.c_size_t
    store = int(made.ffi.cast("uintptr_t", effort)) - 8 * 9 * n
    assert size(store) >= 8 * 15 * n


def test_settled_efforts_of_both_joints_follow_their_references():
    made = following()
    found = made.cycle(at(np.add(PLACE, [0.01, -0.02])), place=PLACE, velocity=(0.0, 0.0))
    expected = WEIGHT + INERTIA * np.array([100.0, 20.0]) * [0.01, -0.02]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
