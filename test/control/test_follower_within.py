"""The follower of a generated controller, cycle by cycle, at made-up times."""

from __future__ import annotations

import numpy as np
import pytest
from arms import two_joint_chain
from inner_core import Inner
from inner_follower import follower

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters

MS = 1_000_000
INERTIA, WEIGHT = np.array([2.0, 3.0]), np.array([10.0, -4.0])
PLACE = np.array([0.3, -0.1])
NAN = np.nan


class Model:
    """Two masses that do not feel one another, under constant weights."""

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        return INERTIA * qdd + WEIGHT


def controlled(**parameters):
    """A controller of two joints, for its settings."""
    given = {"kp": (100.0, 20.0), "kv": (20.0, 30.0), "ki": -1.0, "max_acceleration": (20.0, 10.0)}
    given |= {"state_timeout": 0.1, "safe_fade_time": 0.4} | parameters
    return Inner(ArmController(two_joint_chain(), Model(), ArmParameters(**given)))


class Follower:
    """A follower that is active, with a state every millisecond.

    Args:
        parameters: of the controller.
    """

    def __init__(self, **parameters):
        self.inner = controlled(**parameters)
        self.ffi, self.calls = follower()
        self.settings = self.inner.settings
        self.handle = self.ffi.gc(
            self.calls.rd_follower_new(2, self.settings, 0), self.calls.rd_follower_free
        )
        self.now, self.kept = 5000 * MS, []
        self.leads, self.most_step = 0, 0.1
        self.activate()

    def activate(self, lockstep=0):
        self.calls.rd_follower_activate(self.handle, self.now, lockstep)

    @property
    def core(self):
        loop = self.ffi.cast("rd_loop *", self.handle)
        return loop.session.core

    def array(self, values):
        if values is None:
            return self.ffi.NULL
        made = self.ffi.new("double[]", [float(value) for value in values])
        self.kept.append(made)
        return made

    def cycle(self, reference=None, place=PLACE, velocity=(0.0, 0.0), after=MS, effort=None, beside=None):
        """Efforts of a cycle; a reference has 3 parts, a state of measured joints 2."""
        self.now += after
        self.kept.clear()
        given = self.ffi.new("rd_cycle *")
        given.stamp, given.steady = self.now - 1000 * MS, self.now
        given.position, given.velocity, given.effort = map(self.array, (place, velocity, effort))
        given.reference = [self.array(part) for part in (reference or [None] * 3)]
        given.beside = [self.array(part) for part in (beside or [None] * 2)]
        given.leads, given.most_step = self.leads, self.most_step
        found = self.calls.rd_follower_update(self.handle, given)
        return np.array(self.ffi.unpack(found, 2))

    def cycles(self, count, *arguments, **named):
        for _ in range(count):
            found = self.cycle(*arguments, **named)
        return found

    @property
    def follows(self):
        return self.core.phase == self.calls.RD_TRACKING

    @property
    def age(self):
        return self.calls.rd_follower_fault_age(self.handle)

    def reference(self):
        place, velocity = self.ffi.new("double[2]"), self.ffi.new("double[2]")
        self.calls.rd_follower_drive_reference(self.handle, place, velocity)
        return np.array([*place]), np.array([*velocity])

    def own(self):
        own = self.core.reference
        return [np.array(self.ffi.unpack(a, 2)) for a in (own.position, own.velocity, own.acceleration)]


def at(place, velocity=(0.0, 0.0), acceleration=(0.0, 0.0)):
    return [np.array(part, float) for part in (place, velocity, acceleration)]


def test_without_a_state_there_is_no_effort():
    made = Follower()
    for place in (None, (NAN, 0.1), (0.1, np.inf)):
        np.testing.assert_array_equal(made.cycle(place=place), 0.0)
    np.testing.assert_array_equal(made.cycle(velocity=(0.0, NAN)), 0.0)
    assert np.isnan(made.reference()[0]).all()
    np.testing.assert_allclose(made.cycle(), WEIGHT)
    np.testing.assert_allclose(made.reference()[0], PLACE)


def test_a_reference_near_the_arm_is_followed():
    made = Follower()
    made.cycles(3)
    made.cycle(at(np.add(PLACE, [0.09, -0.09])))
    assert made.follows
    found = made.cycle(at(np.add(PLACE, [0.09, -0.09]), acceleration=(0.5, -0.7)))
    np.testing.assert_allclose(made.own()[0], np.add(PLACE, [0.09, -0.09]))
    expected = WEIGHT + INERTIA * ([0.5, -0.7] + np.array([100.0, 20.0]) * [0.09, -0.09])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_reference_is_joined_by_position_and_velocity_of_every_joint(joint, sign):
    made = Follower()
    made.cycles(3)
    unit = sign * np.eye(2)[joint]
    most = 0.01 * made.settings.hold_deceleration[joint]
    made.cycles(2, at(PLACE + 0.11 * unit))
    assert not made.follows
    made.cycles(2, at(PLACE, 1.05 * most * unit))
    assert not made.follows
    made.cycles(2, at(PLACE, 0.95 * most * unit))
    assert made.follows


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_of_the_reference_ends_in_a_hold(joint, sign):
    made = Follower()
    made.cycles(3, at(PLACE))
    unit = sign * np.eye(2)[joint]
    made.cycle(at(PLACE + 0.099 * unit))
    made.cycle(at(PLACE))
    assert made.follows
    made.cycle(at(PLACE + 0.101 * unit))
    assert not made.follows
    np.testing.assert_allclose(made.own()[0], PLACE)
    made.cycles(2, at(PLACE + 0.05 * unit))
    assert made.follows


@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("value", [NAN, np.inf, -np.inf])
def test_a_reference_that_is_finite_in_part_is_none(missing, value):
    made = Follower()
    made.cycles(3, at(PLACE))
    wrong = at(PLACE)
    wrong[missing][1] = value
    made.cycle(wrong)
    assert not made.follows
    wrong[missing] = None
    made.cycles(2, wrong)
    assert not made.follows


def test_infinite_in_all_is_no_joint_that_holds():
    made = Follower()
    made.cycles(3, at(PLACE))
    made.cycle(at([PLACE[0], np.inf], [0.0, np.inf], [0.0, np.inf]))
    assert not made.follows


@pytest.mark.parametrize("joint", [0, 1])
def test_a_joint_without_a_reference_holds_beside_others(joint):
    made = Follower()
    made.cycles(3)
    reference = at(PLACE + 0.05)
    for part in reference:
        part[joint] = NAN
    made.cycles(3, reference, place=PLACE + 0.01)
    assert made.follows
    expected = PLACE + 0.05
    expected[joint] = PLACE[joint]
    np.testing.assert_allclose(made.own()[0], expected)
    np.testing.assert_allclose(made.own()[1], 0.0)
    made.cycles(2, at([NAN, NAN], [NAN, NAN], [NAN, NAN]))
    assert not made.follows


def test_a_joint_without_a_reference_has_to_rest_first():
    made = Follower()
    made.cycles(2)
    for k in range(40):
        place = np.add(PLACE, [0.0, 2.5 * (1e-3 * k) ** 2])
        made.cycle(at(place, (0.0, 0.005 * k), (0.0, 5.0)), place=place, velocity=(0.0, 0.005 * k))
    assert made.follows and made.own()[1][1] > 0.15
    only = at([PLACE[0], NAN], [0.0, NAN], [0.0, NAN])
    made.cycle(only, place=place, velocity=(0.0, 0.195))
    assert not made.follows
    made.cycles(200, only, place=place)
    assert made.follows


def test_a_leading_reference_is_that_of_the_cycle_before():
    made = Follower()
    made.leads = 1
    made.cycles(3, at(PLACE))
    made.cycle(at(PLACE + 0.01, (0.02, 0.03), (1.0, 3.0)))
    np.testing.assert_allclose(made.own()[0], PLACE)
    found = made.cycle(at(PLACE + 0.02, (0.05, 0.07), (2.0, 7.0)))
    np.testing.assert_allclose(made.own()[0], PLACE + 0.01)
    np.testing.assert_allclose(made.own()[1], (0.02, 0.03))
    error, rate = np.full(2, 0.01), np.array([0.02, 0.03])
    law = np.array([1.5, 5.0]) + np.array([100.0, 20.0]) * error + np.array([20.0, 30.0]) * rate
    np.testing.assert_allclose(found, WEIGHT + INERTIA * law, rtol=1e-6)


def test_lost_states_begin_the_fail_safe_output_that_fades():
    made = Follower()
    made.cycles(3, at(PLACE))
    assert made.age == 0.0 and not made.calls.rd_follower_has_faded(made.handle)
    made.cycles(99, place=None)
    assert made.age == 0.0 and made.core.phase != made.calls.RD_STALE
    np.testing.assert_allclose(made.cycle(place=None), WEIGHT, rtol=0.01)
    assert made.age == 0.0 and made.core.phase == made.calls.RD_STALE
    found = made.cycles(200, place=None)
    assert made.age == pytest.approx(0.2)
    np.testing.assert_allclose(found, WEIGHT / 2, rtol=0.04)
    made.cycles(209, place=None)
    assert made.age == pytest.approx(0.409) and not made.calls.rd_follower_has_faded(made.handle)
    np.testing.assert_array_equal(made.cycles(2, place=None), 0.0)
    assert made.calls.rd_follower_has_faded(made.handle)
    made.cycle()
    assert made.age == 0.0 and not made.calls.rd_follower_has_faded(made.handle)


def test_a_fail_safe_output_of_zero_needs_no_fade():
    made = Follower(safe_output="zero")
    made.cycles(3)
    np.testing.assert_array_equal(made.cycles(101, place=None), 0.0)
    assert made.calls.rd_follower_has_faded(made.handle)


def test_in_lockstep_nothing_is_lost():
    made = Follower()
    made.activate(lockstep=1)
    made.cycles(3)
    made.cycles(500, place=None)
    assert made.age == 0.0


def test_states_that_never_come_are_lost_from_the_activation_on():
    made = Follower()
    made.cycles(100, place=None)
    assert made.core.phase != made.calls.RD_HOLDING
    np.testing.assert_array_equal(made.cycles(10, place=None), 0.0)


def test_deactivation_leaves_the_weight_of_the_load_at_rest():
    made = Follower()
    made.cycles(3, at(PLACE))
    made.cycle(at(PLACE + 0.05))
    assert abs(made.cycle(at(PLACE + 0.05)) - WEIGHT).max() > 1.0
    left = made.ffi.unpack(made.calls.rd_follower_deactivate(made.handle), 2)
    np.testing.assert_allclose(left, WEIGHT)


def test_deactivation_leaves_the_last_effort_of_a_fail_safe_output():
    made = Follower()
    made.cycles(3)
    last = made.cycles(250, place=None)
    left = made.ffi.unpack(made.calls.rd_follower_deactivate(made.handle), 2)
    np.testing.assert_array_equal(left, last)
    assert 0.0 < last[0] < 0.7 * WEIGHT[0]
    made.activate()
    np.testing.assert_array_equal(made.cycle(place=None), 0.0)
    np.testing.assert_allclose(made.cycle(), WEIGHT)
    assert made.age == 0.0


def test_an_emergency_stop_stays_until_it_is_reset_at_rest():
    made = Follower()
    calls, handle = made.calls, made.handle
    made.cycles(3, at(PLACE))
    assert not calls.rd_follower_is_stopped(handle) and not calls.rd_follower_doubts(handle)
    calls.rd_follower_emergency_stop(handle)
    made.cycles(3, at(PLACE))
    assert calls.rd_follower_is_stopped(handle) and not made.follows and made.core.trip.latched
    assert made.core.phase == calls.RD_PROTECTIVE_STOP
    made.cycles(50, at(PLACE))
    assert calls.rd_follower_reset_fault(handle) == 1 and not calls.rd_follower_is_stopped(handle)
    made.cycle(at(np.add(PLACE, [0.0, 0.021])))
    made.cycles(2, at(np.add(PLACE, [0.0, 0.021])))
    assert not made.core.trip.latched and not made.follows, "too far"
    made.cycles(2, at(PLACE, (0.0, -0.021)))
    assert not made.follows, "too fast"
    made.cycles(2, at(np.add(PLACE, [-0.019, 0.0]), (0.019, 0.0)))
    assert made.follows
    made.cycles(2, at(np.add(PLACE, [0.03, 0.03])))
    assert made.follows, "once joined it leads on"


def test_an_emergency_stop_before_the_activation_begins_with_it():
    made = Follower()
    made.calls.rd_follower_emergency_stop(made.handle)
    made.activate()
    made.cycles(2, at(PLACE))
    assert made.core.trip.latched and not made.follows


def test_nothing_is_reset_while_the_arm_moves():
    made = Follower()
    made.cycles(3)
    for k in range(100):
        place = np.add(PLACE, [2.5 * (1e-3 * k) ** 2, 0.0])
        made.cycle(at(place, (0.005 * k, 0.0), (5.0, 0.0)), place=place, velocity=(0.005 * k, 0.0))
    made.calls.rd_follower_emergency_stop(made.handle)
    made.cycles(2, place=place, velocity=(0.495, 0.0))
    assert made.calls.rd_follower_reset_fault(made.handle) == 0
    assert made.calls.rd_follower_is_stopped(made.handle)


def test_records_and_the_state_are_read_by_another_thread():
    made = Follower()
    record, arrays = made.ffi.new("rd_record *"), made.ffi.new("double[18]")
    assert not made.calls.rd_follower_read(made.handle, record, arrays)
    made.cycles(3, at(PLACE))
    made.cycle(at(PLACE + 0.05), velocity=(0.01, 0.02))
    for _ in range(4):
        assert made.calls.rd_follower_read(made.handle, record, arrays)
    assert not made.calls.rd_follower_read(made.handle, record, arrays)
    assert (record.stamp, record.arrived) == (made.now - 1000 * MS, made.now)
    assert [*arrays[0:4]] == [*PLACE, 0.01, 0.02] and [*arrays[4:6]] == pytest.approx(PLACE + 0.05)
    place, external, period = (made.ffi.new("double[2]") for _ in range(3))
    assert made.calls.rd_follower_standing(made.handle, place, external, period) == 1
    assert [*place] == [*PLACE]
    period[0] = 0.02
    made.cycles(150, place=None)
    assert made.calls.rd_follower_standing(made.handle, place, external, period) == 0 and period[0] == 0.02


def test_settings_are_in_use_until_newer_ones_have_taken_their_place():
    made = Follower()
    made.cycles(3)
    first = made.settings.number
    assert made.calls.rd_follower_oldest_settings(made.handle) == first
    newer = made.ffi.new("rd_settings *", made.settings[0])
    newer.number = first + 1
    made.calls.rd_follower_offer_settings(made.handle, newer)
    made.cycles(1000)
    assert made.calls.rd_follower_oldest_settings(made.handle) == first + 1


def test_velocities_that_are_zeros_while_joints_move_are_estimated():
    made = Follower()
    made.cycles(3)
    assert not made.calls.rd_follower_estimates_velocity(made.handle)
    for k in range(300):
        made.cycle(place=PLACE + 1e-4 * k)
    assert made.calls.rd_follower_estimates_velocity(made.handle)


@pytest.mark.parametrize(("ahead", "clock", "cycle", "passed"), [
    (0, 3, 1, 3), (0, 0, 1, 1), (5, 3, 1, 1), (5, 8, 1, 3), (5, 6, 1, 1), (990, 0, 20, 10), (1000, 0, 20, 0),
    (995, 3, 20, 8), (1000, 2000, 1, 1000),
])  # fmt: skip
def test_cycles_of_a_clock_that_stands_are_counted_up_to_a_second(ahead, clock, cycle, passed):
    made = Follower()
    sum_ahead = made.ffi.new("int64_t *", ahead * MS)
    found = made.calls.rd_time_of_cycle(sum_ahead, clock * MS, cycle * MS)
    assert (found, sum_ahead[0]) == (passed * MS, (ahead + passed - clock) * MS)
