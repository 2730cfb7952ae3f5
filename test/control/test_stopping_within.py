"""Arithmetic of stops and plans: how fast a reference slows down, and where it is, state by state."""

from __future__ import annotations

import numpy as np
import pytest
from arms import two_joint_chain
from inner_core import Inner

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.dynamics.compiled import compile_dynamics

DECELERATION = np.array([2.5, 0.8])
PLACE, RATE = np.array([0.3, 0.02]), np.array([-1.2, 0.5])


class Stop:
    """Two joints that stop straight on from a place and a rate at 4 s."""

    def __init__(self, **parameters):
        self.links = compile_dynamics(two_joint_chain(), friction=False)
        self.inner = Inner(ArmController(two_joint_chain(), self.links, ArmParameters(**parameters)))
        self.core, self.calls, self.settings = self.inner.core, self.inner.calls, self.inner.settings
        self.stop = self.core.stopping
        self.held = [
            DECELERATION.copy(),
            np.array([1e9, 1e9]),
            np.array([-50.0, -50.0, 50.0, 50.0]),
            DECELERATION / 2,
        ]
        pointers = [self.inner.ffi.from_buffer("double[]", array) for array in self.held]
        self.settings.stop_deceleration, self.settings.limits, self.settings.position_limits, gentle = (
            pointers
        )
        self.settings.hold_deceleration = gentle
        self.pointers = pointers
        self.limits, self.range = self.held[1], self.held[2]
        self.settings.looks_ahead, self.settings.control_period = 0, 0.002
        self.core.pace.turned = 4.0
        self.begin()

    def begin(self, place=PLACE, rate=RATE, pace=1.0, kind="RD_STOP_EMERGENCY"):
        self.stop.kind, self.stop.path.plan = getattr(self.calls, kind), self.inner.ffi.NULL
        self.stop.where, self.stop.pace, self.stop.at, self.stop.change = 0.0, pace, 4.0, 0.0
        for j in range(2):
            self.stop.place[j], self.stop.rate[j] = place[j], rate[j]
            self.core.place[j] = place[j]

    def change(self, time=4.0):
        """Rate of the pace from a state on [1/s]."""
        self.core.time = time
        self.calls.rd_advance_stop(self.core, time)
        return self.stop.change

    def reference(self, time):
        """Reference at a time: position, velocity and acceleration."""
        made = self.inner.ffi.new("double[6]")
        motion = self.inner.ffi.new("rd_motion *", [made, made + 2, made + 4])
        self.calls.rd_refer_stop(self.core, time, motion)
        return np.array(list(made)).reshape(3, 2)


SLOWEST = -min(2.5 / 1.2, 0.8 / 0.5)


def test_the_joint_that_brakes_least_decides_for_all():
    stop = Stop()
    assert stop.change() == pytest.approx(SLOWEST)
    stop.begin(kind="RD_STOP_HOLD")
    assert stop.change() == pytest.approx(0.5 * SLOWEST)
    stop.begin(rate=(-1.2, 0.0))
    assert stop.change() == pytest.approx(-2.5 / 1.2), "what rests brakes nobody"
    stop.begin(rate=(0.0, 0.5), pace=0.3)
    assert stop.change() == pytest.approx(-0.8 / 0.5)
    stop.begin(rate=(0.0, 0.0))
    stop.change()
    assert stop.stop.kind == 0 and list(stop.core.hold[0:2]) == list(PLACE)


def test_pace_and_place_of_a_stop_are_those_of_an_even_deceleration():
    stop = Stop()
    stop.change()
    rests = 4.0 - 1.0 / SLOWEST
    assert stop.calls.rd_stop_end(stop.core) == pytest.approx(rests)
    for since in 0.0, 0.1, 0.4:
        place, velocity, acceleration = stop.reference(4.0 + since)
        np.testing.assert_allclose(place, PLACE + RATE * (since + 0.5 * SLOWEST * since**2))
        np.testing.assert_allclose(velocity, RATE * (1.0 + SLOWEST * since))
        np.testing.assert_allclose(acceleration, RATE * SLOWEST)
    place, velocity, acceleration = stop.reference(rests + 0.3)
    np.testing.assert_allclose(place, PLACE - 0.5 * RATE / SLOWEST)
    assert not velocity.any() and not acceleration.any()
    place, _, _ = stop.reference(3.9)
    np.testing.assert_allclose(place, PLACE), "not before its begin"
    for j in range(2):
        stop.core.place[j] = PLACE[j] + RATE[j] * 0.25
    assert stop.change(4.25) == pytest.approx(SLOWEST), "and from where it is"
    assert stop.stop.pace == pytest.approx(1.0 + 0.25 * SLOWEST)
    assert stop.stop.where == pytest.approx(0.25 + 0.5 * SLOWEST * 0.0625)
    assert stop.calls.rd_stop_end(stop.core) == pytest.approx(rests)


def test_the_last_effort_ends_what_is_left_and_no_more():
    """The pace that is left in a period of 2 ms is less than the deceleration takes in it."""
    stop = Stop()
    stop.change()
    rests = 4.0 - 1.0 / SLOWEST
    for left, share in ((0.004, 1.0), (0.0021, 1.0), (0.001, 0.5), (0.0003, 0.15)):
        np.testing.assert_allclose(stop.reference(rests - left)[2], share * RATE * SLOWEST, rtol=1e-6)
    stop.settings.looks_ahead = 1
    np.testing.assert_allclose(stop.reference(rests - 0.001)[2], RATE * SLOWEST, rtol=1e-6)
    np.testing.assert_allclose(stop.reference(rests)[2], 0.5 * RATE * SLOWEST, rtol=1e-6)
    stop.settings.control_period = stop.core.period = 0.0
    assert not stop.reference(4.1)[2].any(), "no period is known yet"


def test_where_cycles_were_late_a_stop_takes_as_long_as_the_longest():
    stop = Stop()
    stop.core.pace.longest[0] = 0.9
    assert stop.change() == pytest.approx(-1.0 / 0.9)
    np.testing.assert_allclose(stop.reference(4.0)[2], -RATE / 0.9)
    stop.begin(pace=0.4)
    assert stop.change() == pytest.approx(-0.4 / 0.9)
    stop.begin(pace=0.05)
    assert stop.change() == pytest.approx(-0.1 / 0.9), "a tenth at least: it ends"
    stop.core.pace.longest[0], stop.core.pace.longest[1] = 0.0, 0.3
    stop.begin()
    assert stop.change() == pytest.approx(SLOWEST), "of late cycles that the deceleration outlasts"
    stop.range[2] = PLACE[0] + 5.0
    stop.range[0] = PLACE[0] - 0.1
    stop.core.pace.longest[1] = 0.9
    assert stop.change() == pytest.approx(-1.2 / (2.0 * 0.9 * 0.1)), "a limit that is near goes first"


@pytest.mark.parametrize(("joint", "side"), [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)])
def test_a_joint_near_its_limit_brakes_harder_than_declared(joint, side):
    stop = Stop()
    rate = np.array([0.1, 0.1])
    rate[joint] = side * 0.9
    room = 0.1
    stop.range[joint + (2 if side > 0.0 else 0)] = PLACE[joint] + side * room
    stop.begin(rate=rate)
    assert stop.change() == pytest.approx(-0.9 / (2.0 * 0.9 * room))
    stop.begin(rate=rate, pace=0.5)
    weak = -DECELERATION[joint] / 0.9, -0.25 * 0.9 / (2.0 * 0.9 * room)
    assert stop.change() == pytest.approx(min(max(weak[0], -DECELERATION[1 - joint] / 0.1), weak[1]))
    stop.begin(rate=-rate)
    assert stop.change() == pytest.approx(-DECELERATION[joint] / 0.9), "away from it"
    stop.range[joint + (2 if side > 0.0 else 0)] = PLACE[joint]
    stop.begin(rate=rate)
    assert stop.change() == pytest.approx(-0.9 / (2.0 * 1e-3)), "at it: a millimetre or milliradian"


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_efforts_of_a_stop_stay_within_nine_tenths_of_the_limits(joint, side):
    stop = Stop()
    rate = side * np.array([1.2, 0.5])
    stop.begin(rate=rate)
    whole = stop.change()

    def effort(change):
        gravity = np.array(list(stop.settings.gravity[0:3])) if stop.settings.gravity else None
        assert gravity is None or gravity[2] < 0.0
        return stop.links.inverse_dynamics(PLACE, rate, rate * change)

    cruising, slowing = effort(0.0), effort(whole)
    assert abs(slowing[joint] - cruising[joint]) > 0.1
    direction = np.sign(slowing[joint] - cruising[joint])
    wanted = cruising[joint] + 0.6 * (slowing[joint] - cruising[joint])
    if direction * wanted > abs(cruising[joint]):
        stop.limits[joint] = abs(wanted) / 0.9
        stop.begin(rate=rate)
        assert effort(stop.change())[joint] == pytest.approx(wanted)
    stop.limits[joint] = 0.5 * abs(cruising[joint])
    stop.begin(rate=rate)
    change = stop.change()
    if direction * cruising[joint] >= 0.0:
        assert change == pytest.approx(0.2 * whole), "an effort beyond its limit grows no more than this"
    else:
        assert abs(effort(change)[joint]) <= abs(cruising[joint]) * (1.0 + 1e-9)


def test_a_stop_without_a_model_of_efforts_brakes_as_declared():
    stop = Stop()
    stop.limits[:] = np.inf
    assert stop.change() == pytest.approx(SLOWEST)


def test_far_from_the_reference_a_stop_begins_anew_where_the_robot_is():
    stop = Stop()
    core, most = stop.core, np.array(list(stop.settings.following[0:2]))
    for away, anew in ((most * (0.9, -0.9), False), (most * (1.1, 0.0), True), (most * (0.0, -1.1), True)):
        stop.begin()
        for j in range(2):
            core.place[j] = PLACE[j] + away[j]
            core.believed[j] = (0.7, -0.1)[j]
        stop.change()
        assert list(stop.stop.rate[0:2]) == ([0.7, -0.1] if anew else list(RATE))
        assert stop.stop.change == pytest.approx(-2.5 / 0.7 if anew else SLOWEST)


# Plans


class Plan:
    """A plan of made-up quintics, and its value by numpy."""

    def __init__(self, inner, knots=7, seed=3, start=1.0):
        draw = np.random.default_rng(seed)
        self.times = start + np.cumsum(draw.uniform(0.1, 0.9, knots)) - 0.5
        self.coefficients = draw.normal(size=(knots - 1, 6, 2))
        self.plan = inner.ffi.new("rd_plan *")
        self.plan.times = inner.ffi.from_buffer("double[]", self.times)
        self.plan.coefficients = inner.ffi.from_buffer("double[]", self.coefficients)
        self.plan.knots, self.plan.number = knots, 5

    def at(self, time):
        """Position, velocity and acceleration by the segment that contains a time; at rest after it."""
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, len(self.times) - 2))
        h = self.times[k + 1] - self.times[k]
        polynomials = [np.polynomial.Polynomial(self.coefficients[k, :, j]) for j in range(2)]
        s = float(np.clip((time - self.times[k]) / h, 0.0, 1.0))
        found = np.array([[p(s), p.deriv()(s) / h, p.deriv(2)(s) / h**2] for p in polynomials]).T
        if time >= self.times[-1]:
            found[1:] = 0.0
        return found


def test_a_plan_is_its_quintic_from_any_segment_on():
    stop = Stop()
    plan, draw = Plan(stop.inner, knots=12), np.random.default_rng(1)
    made = stop.inner.ffi.new("double[6]")
    motion = stop.inner.ffi.new("rd_motion *", [made, made + 2, made + 4])
    cursor = stop.inner.ffi.new("rd_cursor *", [plan.plan, 0])
    times = [
        *draw.uniform(plan.times[0], plan.times[-1], 60),
        *plan.times,
        plan.times[0] - 1.0,
        plan.times[-1] + 1.0,
    ]
    for time in times:
        cursor.segment = int(draw.integers(0, 11))
        stop.calls.rd_sample(cursor, 2, time, motion)
        np.testing.assert_allclose(np.array(list(made)).reshape(3, 2), plan.at(time), rtol=1e-9, atol=1e-9)
        if plan.times[0] < time < plan.times[-1]:
            assert plan.times[cursor.segment] <= time < plan.times[cursor.segment + 1]


def test_the_slowing_of_a_plan_keeps_each_joint_within_its_deceleration():
    """The acceleration p'' r² + p' r' of the joint that decides is the deceleration."""
    stop = Stop()
    plan = Plan(stop.inner)
    plan.coefficients[:, 2:] *= 0.02
    for seed in range(6):
        time, pace = 1.2 + 0.3 * seed, (1.0, 0.6)[seed % 2]
        stop.begin(pace=pace)
        stop.stop.path.plan, stop.stop.where = plan.plan, time
        position, first, second = plan.at(time)
        for j in range(2):
            stop.core.place[j] = position[j]
        change = stop.change()
        found = second * pace**2 + first * change
        nominal = 0.2 * np.max(-DECELERATION / np.abs(first))
        assert change < 0.0
        held = np.abs(found) <= np.maximum(DECELERATION, np.abs(second) * pace**2) * (1.0 + 1e-9)
        assert held.all() or change == pytest.approx(nominal)
        tight = np.isclose(np.abs(found), np.maximum(DECELERATION, np.abs(second) * pace**2))
        assert tight.any() or change == pytest.approx(nominal)


def test_of_plans_that_wait_a_new_one_drops_those_that_begin_no_earlier():
    stop = Stop()
    inner, core = stop.inner, stop.core
    stop.stop.kind = 0
    plans = {start: Plan(inner, start=start) for start in (5.0, 7.0, 9.0, 8.0)}
    for k, start in enumerate((5.0, 7.0, 9.0)):
        plans[start].plan.number = k + 1
        assert inner.calls.rd_follow(core, plans[start].plan)
    assert core.waits == 3
    plans[8.0].plan.number = 4
    assert inner.calls.rd_follow(core, plans[8.0].plan)
    assert [core.waiting[i].plan.number for i in range(core.waits)] == [1, 2, 4]
    assert core.before_plan.waits == 3 and core.before_plan.number == 4
    assert [core.before_plan.waiting[i].plan.number for i in range(3)] == [1, 2, 3]
    made = inner.ffi.new("double[6]")
    motion = inner.ffi.new("rd_motion *", [made, made + 2, made + 4])

    def position(time):
        inner.calls.rd_refer(core, time, motion)
        return list(made[0:2])

    for j in range(2):
        core.hold[j] = PLACE[j]
    first, second = plans[5.0], plans[7.0]
    assert position(first.times[0] - 0.01) == list(PLACE)
    np.testing.assert_allclose(position(first.times[0] + 0.2), first.at(first.times[0] + 0.2)[0])
    np.testing.assert_allclose(position(second.times[0] + 0.1), second.at(second.times[0] + 0.1)[0])
    inner.calls.rd_advance(core, second.times[0])
    assert core.current.plan.number == 2 and core.waits == 1 and core.waiting[0].plan.number == 4
    inner.calls.rd_advance(core, second.times[-1])
    assert core.finished == (2 if second.times[-1] < plans[8.0].times[0] else 0)


def test_at_most_ten_plans_wait():
    stop = Stop()
    plans = [Plan(stop.inner, start=float(k)) for k in range(5, 17)]
    taken = [stop.calls.rd_follow(stop.core, plan.plan) for plan in plans]
    assert taken == [1] * 10 + [0] * 2 and stop.core.waits == 10
    assert stop.core.before_plan.waits == 9


def motion_of(stop):
    """Six numbers, and the motion that points into them."""
    made = stop.inner.ffi.new("double[6]", [0.77] * 6)
    return made, stop.inner.ffi.new("rd_motion *", [made, made + 2, made + 4])


def test_a_segment_contains_its_first_moment_from_any_guess():
    """The knots of a made-up plan are jumps."""
    stop = Stop()
    plan = Plan(stop.inner, knots=9)
    made, motion = motion_of(stop)
    for k in range(1, 8):
        for segment in range(8):
            for time in (plan.times[k], np.nextafter(plan.times[k], 0.0)):
                cursor = stop.inner.ffi.new("rd_cursor *", [plan.plan, segment])
                stop.calls.rd_sample(cursor, 2, time, motion)
                np.testing.assert_allclose(np.array(list(made)).reshape(3, 2), plan.at(time), rtol=1e-9)


def test_after_its_end_a_plan_rests_exactly():
    stop = Stop()
    plan = Plan(stop.inner)
    made, motion = motion_of(stop)
    cursor = stop.inner.ffi.new("rd_cursor *", [plan.plan, 0])
    for time in (plan.times[-1], plan.times[-1] + 0.5):
        stop.calls.rd_sample(cursor, 2, time, motion)
        np.testing.assert_allclose(list(made[0:2]), plan.at(time)[0])
        assert list(made[2:6]) == [0.0] * 4


def test_references_from_outside_are_ahead_after_their_time():
    stop = Stop()
    plan, ffi = Plan(stop.inner), stop.inner.ffi
    stream = ffi.new("rd_stream *")
    rows = [ffi.new("double[2]", [k, k + 0.5]) for k in range(6)]
    stream.time, plan.plan.stream = 4.0, stream
    for k, motion in enumerate((stream.now, stream.ahead)):
        motion.position, motion.velocity, motion.acceleration = rows[3 * k : 3 * k + 3]
    cursor = ffi.new("rd_cursor *", [plan.plan, 0])
    for time, first in ((3.0, 0), (4.0, 0), (np.nextafter(4.0, 5.0), 3)):
        made, motion = motion_of(stop)
        stop.calls.rd_sample(cursor, 2, time, motion)
        expected = [[k, k + 0.5] for k in range(first, first + 3)]
        np.testing.assert_array_equal(np.array(list(made)).reshape(3, 2), expected)


class Schedule(Stop):
    """Plans that wait from 5, 7 and 9 s on, behind one in force from 4.5 s on; all last until 20 s."""

    def __init__(self, current=True, waits=3):
        super().__init__()
        self.plans = [Plan(self.inner, knots=4, seed=k) for k in range(4)]
        for k, (plan, start) in enumerate(zip(self.plans, (4.5, 5.0, 7.0, 9.0), strict=True)):
            plan.times[:] = start, 10.0, 15.0, 20.0
            plan.plan.number = k + 1
        core = self.core
        self.stop.kind = 0
        core.current.plan = self.plans[0].plan if current else self.inner.ffi.NULL
        core.waits = waits
        for k in range(3):
            core.waiting[k].plan = self.plans[1 + k].plan
        for j in range(2):
            core.hold[j] = PLACE[j]

    def refer(self, time):
        """(3, 2) reference at a time."""
        made, motion = motion_of(self)
        self.calls.rd_refer(self.core, time, motion)
        return np.array(list(made)).reshape(3, 2)

    def waiting(self):
        """Numbers of the plans that wait."""
        return [self.core.waiting[k].plan.number for k in range(self.core.waits)]


def test_the_reference_is_that_of_the_plan_that_began_last():
    schedule = Schedule()
    for time, k in ((4.5, 0), (4.9, 0), (5.0, 1), (6.9, 1), (7.0, 2), (8.9, 2), (9.0, 3), (12.0, 3)):
        np.testing.assert_allclose(schedule.refer(time), schedule.plans[k].at(time), err_msg=f"{time}")
    rest = schedule.refer(4.4)
    assert list(rest[0]) == list(PLACE) and not rest[1:].any()
    alone = Schedule(current=False, waits=1)
    np.testing.assert_allclose(alone.refer(5.0), alone.plans[1].at(5.0))
    assert list(alone.refer(4.9)[0]) == list(PLACE)
    alone.begin()
    alone.stop.change = -2.0
    np.testing.assert_allclose(alone.refer(4.1)[1], 0.8 * RATE)
    none = Schedule(current=False, waits=0)
    rest = none.refer(8.0)
    assert list(rest[0]) == list(PLACE) and not rest[1:].any()


def test_plans_come_into_force_at_their_starts_in_their_order():
    schedule = Schedule(current=False)
    core, calls = schedule.core, schedule.calls
    calls.rd_advance(core, np.nextafter(5.0, 0.0))
    assert not core.current.plan and schedule.waiting() == [2, 3, 4]
    schedule.stop.kind = 1
    calls.rd_advance(core, 5.0)
    assert core.current.plan.number == 2 and schedule.waiting() == [3, 4] and schedule.stop.kind == 0
    calls.rd_advance(core, 6.0)
    assert core.current.plan.number == 2 and schedule.waiting() == [3, 4]
    calls.rd_advance(core, 9.0)
    assert core.current.plan.number == 4 and schedule.waiting() == []
    last, core.finished = schedule.plans[3], 1
    calls.rd_advance(core, np.nextafter(20.0, 0.0))
    assert core.current.plan.number == 4 and core.finished == 1
    calls.rd_advance(core, 20.0)
    assert not core.current.plan and core.finished == 4
    np.testing.assert_allclose(list(core.hold[0:2]), last.at(20.0)[0])
    calls.rd_advance(core, 21.0)
    assert core.finished == 4


def test_only_the_first_plan_comes_into_force_while_the_others_wait():
    schedule = Schedule(waits=1)
    schedule.calls.rd_advance(schedule.core, 9.5)
    assert schedule.core.current.plan.number == 2 and schedule.core.waits == 0, "what is behind does not wait"


def test_a_plan_that_begins_with_another_takes_its_place():
    schedule = Schedule()
    other = Plan(schedule.inner)
    other.times[0], other.plan.number = 7.0, 9
    assert schedule.calls.rd_follow(schedule.core, other.plan) == 1
    assert schedule.waiting() == [2, 9]
    assert schedule.core.before_plan.current.plan.number == 1
    schedule.core.waits = 0
    assert schedule.calls.rd_follow(schedule.core, other.plan) == 1
    assert schedule.waiting() == [9], "what waited once does not wait any more"


def test_what_is_followed_is_dropped_for_the_present_place():
    schedule = Schedule()
    core, epoch = schedule.core, schedule.core.epoch
    schedule.stop.kind = 2
    core.blind.active = core.rejoining.active = 1
    for j in range(2):
        core.place[j] = (0.6, -0.7)[j]
    schedule.calls.rd_stop(core)
    assert list(core.hold[0:2]) == [0.6, -0.7] and core.epoch == epoch + 1
    assert not core.current.plan and core.waits == 0 and schedule.stop.kind == 0
    assert not core.blind.active and not core.rejoining.active
