"""Implausible states, permitted commands, and a reference after a gap: numbers, from made-up states."""

from __future__ import annotations

import numpy as np
import pytest
from arms import two_joint_chain
from inner_core import Inner
from test_cycle_within import Cycle

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters

LIMITS = np.array([40.0, 15.0])
SPEED, PLACE, RATE = np.array([3.0, 2.0]), np.array([0.3, -0.1]), np.array([0.4, -0.2])


class Checked:
    """A core whose last state was at 4 s."""

    def __init__(self):
        self.inner = Inner(ArmController(two_joint_chain(), None, ArmParameters()))
        self.core, self.calls, self.settings = self.inner.core, self.inner.calls, self.inner.settings
        self.settings.state_jump, self.settings.stamp_step = 0.1, 0.5
        self.following = np.array(list(self.settings.rules.following[0:2]))
        self.last()

    def last(self, place=PLACE, rate=RATE):
        self.core.last_time, self.core.knows_last = 4.0, 1
        self.put(last_position=place, last_velocity=rate)

    def put(self, **fields):
        for name, values in fields.items():
            place = self.core
            for part in name.split("__"):
                place = getattr(place, part)
            for j in range(2):
                place[j] = values[j]

    def get(self, name):
        return np.array(list(getattr(self.core, name)[0:2]))

    def state(self, place, rate, time=4.01, expected=1):
        """Verdict on a state: the discontinuity, its size and its second number."""
        given = [self.inner.ffi.new("double[]", list(values)) for values in (place, rate)]
        self.calls.rd_check_state(self.core, time, *given, expected)
        core = self.core
        return core.discontinuity, core.discontinuity_size, core.discontinuity_more


@pytest.fixture
def checked():
    return Checked()


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_jump_is_more_than_speeds_and_an_acceleration_explain(checked, joint, side):
    """0.1, three times the lesser of both speeds, and 500 rad/s² over the time between the states."""
    for last, now, elapsed in ((0.4, 0.3, 0.01), (0.2, 0.9, 0.01), (-0.5, 0.4, 0.02), (0.0, 0.7, 0.02)):
        explained = 0.1 + elapsed * (3.0 * min(abs(last), abs(now)) + 250.0 * elapsed)
        for share, jumped in ((0.999, False), (1.001, True)):
            rate = np.array([0.01, -0.02])
            rate[joint] = last
            checked.last(rate=rate)
            place, rate = PLACE.copy(), rate.copy()
            place[joint] += side * share * explained
            rate[joint] = now
            found, size, more = checked.state(place, rate, 4.0 + elapsed)
            assert found == (checked.calls.RD_JUMPED if jumped else 0)
            if jumped:
                assert (size, more) == (pytest.approx(share * explained), pytest.approx(elapsed))
    np.testing.assert_allclose(checked.get("last_position"), place)
    np.testing.assert_allclose(checked.get("last_velocity"), rate)
    assert checked.core.last_time == 4.0 + elapsed and checked.core.knows_last


def test_a_joint_that_rests_where_no_motion_has_led_has_leapt(checked):
    """Half of the following error, and 0.45 of a jump at least."""
    core, checked.settings.state_jump = checked.core, 0.3
    for joint in range(2):
        least = max(0.5 * checked.following[joint], 0.45 * 0.3)
        for share, rate, leapt in ((0.99, 0.0, False), (1.01, 0.049, True), (1.01, 0.051, False)):
            core.supervision.leapt = 0.0
            checked.last(rate=(0.0, 0.0))
            place, now = PLACE.copy(), np.zeros(2)
            place[joint] += share * least + 250.0 * 1e-4
            now[joint] = rate
            checked.state(place, now)
            assert (core.supervision.leapt == 4.01) == leapt
            if leapt:
                assert core.supervision.leap == pytest.approx(share * least + 0.025)


def test_times_that_cannot_follow(checked):
    calls = checked.calls
    assert checked.state(PLACE, RATE, 3.99)[:2] == (calls.RD_BACKWARDS, pytest.approx(0.01))
    checked.last()
    assert checked.state(PLACE, RATE, 4.501)[:2] == (calls.RD_AHEAD, pytest.approx(0.501))
    checked.last()
    assert checked.state(PLACE, RATE, 4.499)[0] == 0
    checked.last()
    assert checked.state(PLACE, RATE, 4.501, expected=0)[0] == 0
    checked.core.knows_last = 0
    assert checked.state(PLACE + 3.0, RATE, 4.51)[0] == 0, "nothing is known of the state before"


@pytest.mark.parametrize("joint", [0, 1])
def test_of_speeds_that_no_joint_has_the_worst_is_told(checked, joint):
    bounds = np.array(list(checked.settings.velocity_bounds[0:2]))
    for share, found in ((0.999, 0), (1.001, checked.calls.RD_TOO_FAST)):
        checked.last()
        rate = np.zeros(2)
        rate[joint] = -share * bounds[joint]
        assert checked.state(PLACE, rate)[0] == found
    checked.last()
    rate = np.array([1.5, -1.5]) * bounds
    rate[joint] *= 2.0
    found, size, more = checked.state(PLACE, rate)
    assert (found, size, more) == (checked.calls.RD_TOO_FAST, abs(rate[joint]), bounds[joint])


def test_believed_is_the_lesser_of_two_speeds_in_one_direction_within_the_limit(checked):
    for last, now, believed in (
        ((0.4, -0.2), (0.3, -0.9), (0.3, -0.2)),
        ((-0.4, 0.2), (0.3, -0.9), (0.0, 0.0)),
        ((7.0, -7.0), (8.0, -9.0), (3.0, -2.0)),
        ((0.0, -0.2), (0.3, 0.0), (0.0, 0.0)),
    ):
        checked.last(rate=last)
        checked.state(PLACE, now)
        np.testing.assert_allclose(checked.get("believed"), believed)
    checked.core.knows_last = 0
    checked.state(PLACE, (0.3, -0.9))
    np.testing.assert_allclose(checked.get("believed"), (0.3, -0.9))


@pytest.mark.parametrize("joint", [0, 1])
def test_a_speed_is_doubted_that_is_far_from_the_believed_one(checked, joint):
    for away, doubted in ((0.049, 0), (-0.049, 0), (0.051, 1), (-0.051, 1)):
        rate = np.array([0.3, -0.4])
        checked.put(believed=rate)
        rate[joint] += away
        checked.put(state__velocity=rate)
        assert checked.calls.rd_speed_is_doubted(checked.core) == doubted


def test_the_largest_step_of_an_effort_is_told_by_its_share_of_the_limit(checked):
    core = checked.core
    for j in range(2):
        checked.settings.limits[j], checked.settings.effort_steps[j] = LIMITS[j], 0.3 * LIMITS[j]
    for steps, expected in (
        ((0.29, -0.29), 0.0), ((0.31, 0.0), 0.31), ((0.0, -0.31), 0.31), ((0.35, -0.4), 0.4),
        ((-0.2, 0.33), 0.33),
    ):  # fmt: skip
        checked.put(sent=(3.0, -2.0), effort=np.add((3.0, -2.0), steps * LIMITS))
        assert checked.calls.rd_effort_step(core) == pytest.approx(expected)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_steps_are_bounded_and_a_safe_one_passes_no_zero(checked, side):
    calls, ffi = checked.calls, checked.inner.ffi

    def bounded(last, asked, safe=0, step=(2.0, 1.0), limits=LIMITS):
        given = ffi.new("double[]", list(side * np.asarray(asked)))
        arrays = [
            ffi.new("double[]", list(np.asarray(values)))
            for values in (side * np.asarray(last), step, limits)
        ]
        calls.rd_bound_steps(2, *arrays, safe, given)
        return side * np.array(list(given))

    np.testing.assert_allclose(bounded((5.0, 3.0), (8.0, 3.9)), (7.0, 3.9))
    np.testing.assert_allclose(bounded((5.0, 3.0), (2.0, 1.0)), (3.0, 2.0))
    np.testing.assert_allclose(bounded((1.0, 3.0), (-6.0, 1.0)), (-1.0, 2.0))
    np.testing.assert_allclose(
        bounded((5.0, 3.0), (0.0, 0.0), safe=1), (0.0, 0.0), err_msg="less leaves at once"
    )
    np.testing.assert_allclose(bounded((5.0, 3.0), (-4.0, -4.0), safe=1), (0.0, 0.0))
    np.testing.assert_allclose(bounded((5.0, 3.0), (9.0, 9.0), safe=1), (7.0, 4.0))
    np.testing.assert_allclose(bounded((-5.0, -3.0), (9.0, 9.0), safe=1), (0.0, 0.0))
    np.testing.assert_allclose(bounded((5.0, 3.0), (9.0, 9.0), limits=(6.0, 3.5)), (6.0, 3.5))


def test_a_stop_leaves_in_steps_that_keep_the_proportions_of_the_joints(checked):
    core = checked.core
    for j in range(2):
        checked.settings.limits[j], checked.settings.effort_steps[j] = LIMITS[j], 0.1 * LIMITS[j]
    core.has_left, core.stopping.kind = 1, checked.calls.RD_STOP_EMERGENCY
    checked.put(left=(10.0, -5.0), effort=(22.0, -6.0))
    checked.calls.rd_leave(core, 0)
    np.testing.assert_allclose(checked.get("effort"), (10.0 + 8.0, -5.0 - 8.0 / 12.0))
    np.testing.assert_allclose(checked.get("left"), checked.get("effort"))
    checked.put(left=(10.0, -5.0), effort=(17.0, -6.0))
    checked.calls.rd_leave(core, 0)
    np.testing.assert_allclose(checked.get("effort"), (17.0, -6.0))
    core.stopping.kind = 0
    checked.put(left=(10.0, -5.0), effort=(22.0, -6.0))
    checked.calls.rd_leave(core, 0)
    np.testing.assert_allclose(checked.get("effort"), (14.0, -6.0), err_msg="without a stop each by itself")
    core.trip.latched = 1
    checked.put(left=(10.0, -5.0), effort=(22.0, -6.0))
    checked.calls.rd_leave(core, 1)
    np.testing.assert_allclose(checked.get("effort"), (14.0, -6.0), err_msg="a safe output is none")
    core.trip.latched = core.has_left = 0
    checked.put(effort=(22.0, -6.0))
    checked.calls.rd_leave(core, 0)
    assert list(checked.get("effort")) == [22.0, -6.0] and core.has_left


def test_after_a_gap_the_reference_comes_back_along_a_quintic(checked):
    """With the distance and the velocity of the gap at its begin, and without any at its end."""
    core, ffi = checked.core, checked.inner.ffi
    gap, length = core.rejoining, 0.8
    gap.active, gap.began, gap.duration = 1, 5.0, length
    away, rate = np.array([0.2, -0.1]), np.array([-0.7, 0.5])
    checked.put(rejoining__place=away, rejoining__rate=rate)
    ends = np.array(
        [np.eye(6)[0], np.eye(6)[1], 2.0 * np.eye(6)[2], np.ones(6), np.arange(6), [0, 0, 2, 6, 12, 20]]
    )
    given = np.array([away, rate * length, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    paths = [np.polynomial.Polynomial(np.linalg.solve(ends, given[:, j])) for j in range(2)]
    made = ffi.new("double[6]")
    motion = ffi.new("rd_motion *", [made, made + 2, made + 4])

    def added(time):
        for k in range(6):
            made[k] = 10.0 * k
        checked.calls.rd_add_rejoining(core, time, motion[0:1])
        return np.array(list(made)).reshape(3, 2) - 10.0 * np.arange(6).reshape(3, 2)

    for s in (0.0, 0.2, 0.55, 0.9):
        expected = [[p.deriv(k)(s) / length**k if k else p(s) for p in paths] for k in range(3)]
        np.testing.assert_allclose(added(5.0 + s * length), expected, atol=1e-12)
    for time in (4.99, 5.0 + length, 6.5):
        assert not added(time).any()
    gap.active = 0
    assert not added(5.2).any()


@pytest.mark.parametrize("joint", [0, 1])
def test_a_robot_moves_for_a_fifth_of_a_second_after_a_twentieth_of_its_speed(checked, joint):
    core, calls = checked.core, checked.calls
    core.phase, core.time = calls.RD_HOLDING, 7.0
    for share, moved in ((0.049, -1.0), (0.051, 7.0), (-0.051, 7.0)):
        core.supervision.moved, core.braked = -1.0, 0
        rate = np.zeros(2)
        rate[joint] = share * SPEED[joint]
        checked.put(state__velocity=rate)
        calls.rd_watch_motion(core)
        assert core.supervision.moved == moved
    for time, moves in ((7.199, 1), (7.201, 0)):
        core.time = time
        assert calls.rd_moves(core) == moves
    core.time, core.braked = 7.1, 1
    assert not calls.rd_moves(core)
    core.braked, core.phase = 0, calls.RD_STALE
    assert not calls.rd_moves(core)


def test_a_second_stop_soon_takes_the_place_of_the_first_one(checked):
    core, calls, watch = checked.core, checked.calls, checked.core.supervision

    def held(rule="RD_FOLLOWING_ERROR", time=8.0, away=0.9):
        """Place where the second joint is held after a stop at 4 s, at rest now some way off that place."""
        core.time, core.phase, core.trip.latched = time, calls.RD_HOLDING, 1
        core.current.plan, core.stopping.kind, watch.stopped_at = checked.inner.ffi.NULL, 0, 4.0
        place = np.array([0.1, -0.2])
        place[1] += away * checked.settings.following[1]
        for j in range(2):
            watch.stopped[j] = (0.1, -0.2)[j]
        checked.put(state__position=place, state__velocity=(0.0, 0.0), believed=(0.0, 0.0))
        checked.put(hold=(0.1, 1.0))  # it has been captured elsewhere since
        calls.rd_begin_protective_stop(core, getattr(calls, rule))
        return core.hold[1]

    near = -0.2 + 0.9 * checked.settings.following[1]
    assert held() == -0.2
    assert held(time=8.99) == -0.2
    assert held(time=9.01) == pytest.approx(near)
    assert held(away=1.1) == pytest.approx(-0.2 + 1.1 * checked.settings.following[1])
    assert held("RD_OVERSPEED") == pytest.approx(near)
    assert watch.stopped[1] == pytest.approx(near) and watch.stopped_at == 8.0


def test_rules_that_leave_model_or_states_in_doubt(checked):
    calls = checked.calls
    doubts = {
        "OVERSPEED",
        "START_SPEED",
        "START_DISPLACEMENT",
        "START_LOAD",
        "START_EFFORT",
        "REPEATED_FAULTS",
        "SLOW_STATES",
    }
    others = {"NO_RULE", "FOLLOWING_ERROR", "POSE_ERROR", "OSCILLATION", "CONTACT", "DISPUTE"}
    for name in doubts | others:
        assert bool(calls.rd_rule_doubts(getattr(calls, f"RD_{name}"))) == (name in doubts)


# At the bounds, and of these joints alone: arrays of the settings have a value more


@pytest.fixture
def three():
    """Three joints that had their last state at 4 s."""
    made = Cycle()
    made.core.time = made.core.last_time = made.time = 4.0
    made.core.knows_last = 1
    made.put(last_position=0.5, last_velocity=0.0)
    return made


def check(made, place=0.5, rate=0.0, time=4.0):
    """The verdict on a state of three joints, beside a value behind them that none could have."""
    given = [
        made._array([*np.broadcast_to(values, 3), 77.0]) for values in (place, np.asarray(rate, dtype=float))
    ]
    made.calls.rd_check_state(made.core, time, *given, 1)
    core = made.core
    return core.discontinuity, core.discontinuity_size, core.discontinuity_more


def test_times_and_places_at_their_bounds_are_possible(three):
    calls = three.calls
    assert check(three) == (0, 0.0, 0.0), "the same time again"
    assert check(three, time=4.5)[0] == 0, "a gap of half a second"
    assert check(three, time=4.25) == (calls.RD_BACKWARDS, 0.25, 0.0)
    assert check(three, time=5.0) == (calls.RD_AHEAD, 0.75, 0.0)
    three.settings.state_jump = 0.25
    three.put(last_position=0.5)
    assert check(three, (0.75, 0.5, 0.25), time=5.0)[0] == 0, "a way of a jump"
    three.put(last_position=0.5)
    assert check(three, (0.5, 0.5, 0.2499), time=5.0)[:2] == (calls.RD_JUMPED, pytest.approx(0.2501))


def test_a_leap_is_more_than_half_of_the_following_error_and_ends_at_rest(three):
    core = three.core
    three.rules.following = three._array([0.25] * 4)
    for place, rate, leapt in (
        (0.625, 0.0, False),
        (0.626, 0.0, True),
        (0.626, 0.05, False),
        (0.626, 0.0499, True),
    ):
        core.supervision.leapt = 0.0
        three.put(last_position=0.5)
        check(three, (0.5, place, 0.5), (0.0, rate, 0.0))
        assert (core.supervision.leapt == 4.0) == leapt
    three.settings.rules = three.ffi.NULL
    core.supervision.leapt = 0.0
    check(three, (0.5, 0.69, 0.5))
    assert core.supervision.leapt == 0.0


def test_of_equal_shares_the_first_speed_is_told_and_one_that_is_confirmed_is_none(three):
    three.setting(velocity_bounds=[40.0, 20.0, 10.0, 1e-9])
    three.rules.speed = three._array([9.0, 9.0, 9.0, 1e-9])
    assert check(three, rate=(20.0, 30.0, 15.0)) == (three.calls.RD_TOO_FAST, 30.0, 20.0)
    three.put(last_position=0.5, last_velocity=(0.0, 28.0, 0.0))
    assert check(three, (0.5, 0.5 + 0.14, 0.5), (0.0, 30.0, 0.0), 4.005)[0] == 0
    assert check(three, rate=(40.0, -20.0, 10.0), time=4.006)[0] == 0, "as fast as they may be"


def test_believed_and_doubted_speeds_are_those_of_these_joints(three):
    core = three.core
    core.blind.position[0] = 66.0
    check(three, rate=(0.3, -0.2, 0.1))
    assert core.blind.position[0] == 66.0
    three.put(state__velocity=(0.05, -0.05, 0.05), believed=0.0)
    core.ahead.position[0] = 77.0
    assert not three.calls.rd_speed_is_doubted(core), "as far as it may be"


def test_positions_of_continuous_joints_go_on_over_whole_turns(three):
    core, turn = three.core, 2.0 * np.pi

    def unwrap(*position):
        core.last_position[0] = 66.0
        given = three._array([*position, 77.0])
        found = three.calls.rd_unwrap(core, given)
        assert core.last_position[0] == 66.0
        return found == given, [found[j] for j in range(3)]

    assert unwrap(3.0, -3.0, 3.0)[0], "no joint is continuous"
    three.setting(turn=[turn, turn, 0.0, turn])
    core.knows_turns = 0
    assert unwrap(9.0, -3.0, 3.0)[1] == [9.0, -3.0, 3.0]
    place = [3.1, -3.1, 3.1]
    for k in range(40):
        place = [place[0] + 0.5, place[1] - 0.5, 3.1]
        wrapped = [(each + np.pi) % turn - np.pi for each in place]
        found = unwrap(*wrapped[:2], 3.1)[1]
        np.testing.assert_allclose(found[:2], np.add(place[:2], (turn, 0.0)))
        if k == 20:
            assert unwrap(np.nan, 0.0, 0.0)[0], "what is no number is none of it"


def test_steps_just_as_large_as_they_may_be_are_none(three):
    core, calls = three.core, three.calls
    three.setting(effort_steps=[8.0, 6.0, 4.0, 1e-9])
    last, asked = np.array([7.0, -5.0, 3.0]), np.array([15.0, -11.0, 7.0])
    three.put(sent=last, effort=asked)
    assert calls.rd_effort_step(core) == 0.0
    three.put(effort=np.add(asked, (0.0, -0.25, 0.0)))
    assert calls.rd_effort_step(core) == pytest.approx(6.25 / 30.0)
    given = three._array([*asked, 55.0])
    arrays = [three._array([*values, 1e-9]) for values in (last, (8.0, 6.0, 4.0), (40.0, 30.0, 20.0))]
    calls.rd_bound_steps(3, *arrays, 0, given)
    assert list(given) == [*asked, 55.0]


def test_a_safe_step_ends_at_zero_from_however_near_it_comes(three):
    def bounded(last, asked):
        given = three._array([asked])
        arrays = [three._array([value]) for value in (last, 2.0, 40.0)]
        three.calls.rd_bound_steps(1, *arrays, 1, given)
        return given[0]

    for side in (1.0, -1.0):
        assert bounded(side * 2.5, 0.0) == 0.0
        assert bounded(side * 2.5, -side * 9.0) == 0.0
        assert side * bounded(-side * 1.5, side * 9.0) == pytest.approx(0.5)
        assert side * bounded(-side * 2.5, side * 9.0) == 0.0


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("stopping", (15.0, -9.5, 4.5)),
        ("safe", (15.0, -11.0, 7.0)),
        ("first", (23.0, -14.0, 6.0)),
        ("just", (15.0, -8.0, 5.0)),
        ("second", (9.0, -11.0, 3.75)),
    ],
)
def test_a_stop_leaves_in_steps_of_its_own(three, case, expected):
    core, steps = three.core, np.array([8.0, 6.0, 4.0])
    last = np.array([7.0, -5.0, 3.0])
    most = {"just": (8.0, -3.0, 2.0), "safe": (16.0, -9.0, 6.0), "second": (8.0, -24.0, 3.0)}
    further = most.get(case, (16.0, -9.0, 3.0))
    asked = np.add(last, further)
    three.setting(effort_steps=[*steps, 1e-9], limits=[40.0, 30.0, 20.0, 1e-9])
    core.stopping.kind, core.has_left = three.calls.RD_STOP_HOLD, case != "first"
    three.put(left=last if core.has_left else 0.0, effort=asked, unlimited=asked)
    three.calls.rd_leave(core, int(case == "safe"))
    if case == "just":
        assert three.get("effort").tolist() == list(expected)
    np.testing.assert_allclose(three.get("effort"), expected)
    assert core.unlimited[0] == asked[0]
