"""Stops of made-up robots: along a plan, straight on, of one that strays, and without states."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_stop import TIME, Path, Stopping

SLOWEST = -min(2.5 / 1.2, 0.8 / 0.5, 1.7 / 0.7)


# Deceleration


@pytest.mark.parametrize("seed", range(6))
def test_groups_of_coordinates_slow_down_by_the_norms_of_their_accelerations(seed):
    """Each root of |b r² + d x|² = a² by numpy; a path that bends more than that keeps its bend."""
    most = (0.6, 0.9)
    arm = Stopping(6, 3, np.repeat(most, 3), seed)
    path, pace = Path(arm), (1.0, 0.7)[seed % 2]
    if seed == 4:
        path.coefficients[1:, 0:3] = 0.0
    arm.along(path, pace)
    _, d, b = path.at(TIME)
    roots, nominal = [], []
    for k, a in enumerate(most):
        dk, bk = d[3 * k : 3 * k + 3], b[3 * k : 3 * k + 3] * pace**2
        if np.linalg.norm(dk) > 0.0:
            a_k = max(a, np.linalg.norm(bk))
            roots.append(np.roots([dk @ dk, 2.0 * (bk @ dk), bk @ bk - a_k**2]).real.min())
            nominal.append(-a / np.linalg.norm(dk))
    assert arm.change() == pytest.approx(min(max(roots), 0.2 * max(nominal)))


def test_a_bend_beyond_the_deceleration_slows_down_by_a_fifth_of_it():
    """Along d the path already brakes with 4 m/s², which is more than declared: its root would be 0."""
    arm = Stopping(1, 0, (0.8,))
    path = Path(arm, [[0.2], [3.6], [-18.0], [0.0], [0.0], [0.0]])
    d, b = path.at(4.0)[1:, 0]
    assert d > 0.0 and b == pytest.approx(-4.0)
    path.times += 1.0  # it begins now
    arm.along(path)
    assert arm.change() == pytest.approx(-0.2 * 0.8 / d)


@pytest.mark.parametrize("rate", [0.001, 0.03])
def test_where_no_cycle_was_late_a_slow_motion_ends_by_its_deceleration(rate):
    arm = Stopping(1, 0, (2.5,))
    arm.begin([0.3], [rate])
    assert arm.change() == pytest.approx(-2.5 / rate)
    arm.settings.control_period = arm.core.period = 0.0
    arm.core.pace.longest[0] = 0.9
    assert arm.change() == pytest.approx(-2.5 / rate), "without a period no cycle is late"


def test_a_stop_that_has_come_to_rest_holds_where_it_is():
    arm = Stopping()
    arm.begin(pace=0.0)
    arm.stop.where = 0.25
    arm.put(place=np.array([0.0, 0.145, -0.225]))
    arm.change()
    assert arm.stop.kind == arm.calls.RD_NO_STOP
    np.testing.assert_allclose(arm.get("hold"), [0.0, 0.145, -0.225], atol=1e-15)


def test_a_pace_without_a_change_goes_on():
    arm = Stopping()
    arm.begin(pace=0.6)
    arm.stop.change, arm.core.believed[0] = 0.0, 0.4
    assert arm.calls.rd_stop_end(arm.core) == TIME
    place, velocity, acceleration = arm.reference(TIME + 0.5)
    rate = np.array([-1.2, 0.5, 0.7])
    np.testing.assert_allclose(place, np.array([0.3, 0.02, -0.4]) + 0.3 * rate)
    np.testing.assert_allclose(velocity, 0.6 * rate)
    assert not acceleration.any()


def test_along_a_plan_a_reference_has_its_bend_by_the_square_of_the_pace():
    arm = Stopping()
    path = Path(arm)
    arm.along(path, 0.6)
    arm.stop.change = -0.8
    place, velocity, acceleration = arm.reference(TIME + 0.1)
    pace = 0.6 - 0.08
    position, first, second = path.at(TIME + 0.1 * (0.6 + pace) / 2.0)
    np.testing.assert_allclose(place, position)
    np.testing.assert_allclose(velocity, pace * first)
    np.testing.assert_allclose(acceleration, pace**2 * second - 0.8 * first)


# Limits


@pytest.mark.parametrize("seed", range(4))
def test_the_joint_whose_effort_meets_its_limit_first_decides(seed):
    arm = Stopping(3, 0, (9.0, 9.0, 9.0), seed)
    path, pace = Path(arm), 0.9
    arm.along(path, pace)
    free = arm.change()
    q, d, b = path.at(TIME)

    def effort(change):
        links = arm.dynamics_of(q, pace * d, pace**2 * b + change * d)
        return links + arm.rotors * (pace**2 * b + change * d)

    cruising, wanted = effort(0.0), effort(0.6 * free)
    limits = np.full(4, 1e4)
    j = seed % 3
    if abs(wanted[j]) <= abs(cruising[j]):
        wanted[j] = -wanted[j]
    limits[j], limits[3] = abs(wanted[j]) / 0.9, 0.01
    most = np.maximum(0.9 * limits[:3], np.abs(cruising))
    changes = np.linspace(free, 0.0, 40001)
    slope = effort(1.0) - cruising
    fits = (np.abs(cruising + changes[:, None] * slope) <= most * (1.0 + 1e-9)).all(axis=1)
    arm.setting(limits=limits)
    arm.core.scratch[2][0] = 1e3
    arm.along(path, pace)
    nominal = 0.2 * np.max(-9.0 / np.abs(d))
    assert arm.change() == pytest.approx(min(changes[fits].min(), nominal), abs=2e-4 * abs(free))


@pytest.mark.parametrize("spared", [0, 1])
def test_where_the_model_has_no_effort_a_stop_brakes_as_declared(spared):
    arm = Stopping()
    arm.setting(limits=np.full(4, 0.5))
    arm.begin()
    assert arm.change() > SLOWEST
    arm.fails, arm.spared = "dynamics", spared
    arm.begin()
    assert arm.change() == pytest.approx(SLOWEST)


def test_position_limits_harden_no_stop_along_a_plan_nor_where_there_are_none():
    arm = Stopping()
    path = Path(arm, np.array([[0.3, 0.02, -0.4], [-3.6, 1.5, 2.1], *np.zeros((4, 3))]))
    near = np.concatenate([path.at(TIME)[0] - 0.001, path.at(TIME)[0] + 0.001])
    arm.setting(position_limits=near)
    arm.along(path)
    assert arm.change() == pytest.approx(SLOWEST)
    arm.settings.position_limits = arm.ffi.NULL
    arm.begin()
    assert arm.change() == pytest.approx(SLOWEST)


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_room_to_a_limit_is_that_of_the_side_to_which_a_joint_moves(joint, side):
    arm = Stopping()
    place, rate = np.array([0.3, 0.02, -0.4]), np.full(3, 0.05)
    rate[joint] = side * 0.4
    low, high = place - 0.01, place + 0.01
    (high if side > 0.0 else low)[joint] = place[joint] + side * 0.02
    low[rate > 0.0] = place[rate > 0.0] - 1e-3
    arm.setting(position_limits=[*low, *high])
    arm.begin(place, rate, 0.8)
    at_limit = -0.4 * 0.64 / (2.0 * 0.9 * 0.02)
    others = np.delete(-arm.deceleration / np.abs(rate), joint).max()
    assert at_limit < max(others, -arm.deceleration[joint] / 0.4)
    assert arm.change() == pytest.approx(at_limit)


def test_limits_behind_those_of_the_last_joint_do_not_count():
    arm = Stopping()
    arm.setting(position_limits=[*np.full(3, -9.0), *np.full(3, 9.0), -40.0])
    arm.begin(rate=(0.3, 0.2, 0.4))
    arm.put(reference__acceleration=0.0)
    expected = -min(2.5 / 0.3, 0.8 / 0.2, 1.7 / 0.4)
    assert arm.change() == pytest.approx(expected)
    arm.core.pace.longest[0] = 0.5
    assert arm.change() == pytest.approx(-1.0 / 0.5)
    np.testing.assert_allclose(arm.reference(TIME)[2], -np.array([0.3, 0.2, 0.4]) / 0.5)


def test_without_late_cycles_no_limit_takes_more_than_what_is_left_of_a_motion():
    """1.2 rad/s in 2 ms are 600 rad/s²; the millimetre before a limit would take more."""
    arm = Stopping(1, 0, (2.5,))
    arm.setting(position_limits=[-9.0, 0.3])
    arm.begin([0.3], [1.2])
    assert arm.change() == pytest.approx(-1.2 / 2e-3)
    np.testing.assert_allclose(arm.reference(TIME)[2], -1.2 / 0.002)


# Where a robot strays


def stays(arm, hold, place):
    """Return whether a robot at rest keeps its reference in a stop; else it is taken where the robot is."""
    arm.stop.kind, arm.core.current.plan = 0, arm.ffi.NULL
    arm.put(hold=hold, place=place)
    arm.core.reference.velocity[0] = 0.0
    arm.calls.rd_stop_along(arm.core, arm.calls.RD_STOP_HOLD)
    found = arm.get("hold")
    assert (found == hold).all() or (found == place).all()
    return (found == hold).all()


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_robot_strays_beyond_the_following_error_of_any_joint(joint, side):
    arm = Stopping()
    hold, away = np.array([0.25, -0.5, 4.5]), np.zeros(3)
    arm.put(state__velocity=(0.3, 0.0, 0.0))
    away[joint] = side * 0.5
    assert stays(arm, hold, hold + away)
    away[joint] *= 1.0 + 1e-12
    assert not stays(arm, hold, hold + away)


@pytest.mark.parametrize(("n", "group"), [(6, 3), (4, 2)])
def test_angles_of_a_platform_are_the_same_after_whole_turns(n, group):
    arm = Stopping(n, group, np.full(n, 2.0))
    for j in range(n):
        hold, away = np.linspace(0.1, 0.4, n), np.zeros(n)
        for turns, rest in ((1, -0.3), (-1, 0.45), (2, 0.3)):
            away[j] = 2.0 * np.pi * turns + rest
            assert stays(arm, hold, hold + away) == (j >= group), j
        for rest in (0.6, -0.6, np.pi, 3.0 * np.pi + 0.2):
            away[j] = 2.0 * np.pi + rest
            assert not stays(arm, hold, hold + away)


def test_coordinates_that_a_deceleration_limits_one_by_one_are_no_angles():
    for group in 0, 1:
        arm = Stopping(group=group)
        for j in range(3):
            hold = np.array([0.1, 0.2, 0.3])
            assert not stays(arm, hold, hold + 2.0 * np.pi * (np.arange(3) == j))


def test_drives_that_take_setpoints_stray_only_while_brakes_hold():
    arm = Stopping()
    hold, place = np.array([0.1, 0.2, 0.3]), np.array([0.9, -0.2, 0.3])
    arm.settings.command = arm.calls.RD_COMMAND_POSITION
    for braked in 0, 1:
        arm.core.braked = braked
        assert stays(arm, hold, place) == (not braked)


@pytest.mark.parametrize("believed", [(0.6, -0.4, 0.2), (0.3, -0.4, 0.2), (-0.6, -0.1, 0.2), (0.0, 0.0, 0.0)])
def test_rates_of_other_coordinates_are_scaled_as_far_as_joints_are_believed(believed):
    """The least share of a measured velocity that is believed is that of every coordinate."""
    arm = Stopping()
    measured, found = np.array([0.6, -0.4, 0.2]), np.array([0.11, 0.0, -0.09])

    @arm.ffi.callback("void(const struct rd_core *, double *)")
    def find_rate(core, rate):
        for j in range(3):
            rate[j] = found[j]

    arm.machine.find_rate = find_rate
    arm.core.believed[3], arm.core.state.velocity[3] = 0.0, 1.0
    arm.put(place=(0.1, 0.2, 0.3), believed=believed, state__velocity=measured)
    arm.core.blind.position[0], arm.core.ahead.position[0] = 0.0, 1.0
    arm.calls.rd_stop_straight(arm.core, arm.calls.RD_STOP_HOLD)
    share = np.min(np.abs(np.array(believed)) / np.abs(measured))
    np.testing.assert_allclose(arm.get("stopping__rate"), share * found)
    arm.put(believed=0.0, state__velocity=0.0)
    arm.calls.rd_stop_straight(arm.core, arm.calls.RD_STOP_HOLD)
    np.testing.assert_array_equal(arm.get("stopping__rate"), found)


# Beginnings


def begun(arm, function, *arguments):
    """The result of a function; what is followed has been dropped for a stop."""
    core, epoch = arm.core, arm.core.epoch
    core.waits, core.blind.active, core.rejoining.active = 1, 1, 1
    core.waiting[0].plan = arm.later.plan
    found = getattr(arm.calls, function)(core, *arguments)
    assert core.epoch == epoch + 1 and core.waits == 0 and not core.current.plan
    return found


@pytest.fixture
def arm():
    """Three joints that believe what is measured; a plan waits until 9 s."""
    made = Stopping()
    made.put(believed=(0.2, -0.3, 0.1), state__velocity=(0.2, -0.3, 0.1))
    made.later = Path(made, start=9.0)
    return made


def check_straight(arm, place, rate, time=TIME):
    """It has begun straight on from here."""
    stop = arm.stop
    assert not stop.path.plan and stop.where == 0.0 and stop.pace == 1.0 and stop.at == time
    assert not arm.core.blind.active and not arm.core.rejoining.active
    assert arm.core.phase == arm.calls.RD_STOPPING
    np.testing.assert_allclose(arm.get("stopping__place"), place)
    np.testing.assert_allclose(arm.get("stopping__rate"), rate)


def test_a_stop_at_rest_keeps_the_reference_and_drops_what_waits(arm):
    arm.put(hold=(0.3, 0.1, 0.2), place=(0.4, 0.2, 0.1))
    begun(arm, "rd_stop_along", arm.calls.RD_STOP_EMERGENCY)
    assert arm.stop.kind == arm.calls.RD_NO_STOP and arm.core.phase == arm.calls.RD_HOLDING
    np.testing.assert_array_equal(arm.get("hold"), [0.3, 0.1, 0.2])
    np.testing.assert_array_equal(arm.get("reference__position"), [0.3, 0.1, 0.2])
    assert not arm.get("reference__velocity").any()


@pytest.mark.parametrize(("kind", "share"), [("EMERGENCY", 1.0), ("HOLD", 0.5)])
@pytest.mark.parametrize("away", [0.4, 0.6])
def test_a_stop_goes_along_the_plan_in_force_or_from_the_measured_state(arm, kind, share, away):
    path = Path(arm, np.array([[0.3, 0.02, -0.4], [-3.6, 1.5, 2.1], *np.zeros((4, 3))]))
    arm.core.current.plan, arm.core.phase = path.plan, arm.calls.RD_TRACKING
    place = path.at(TIME)[0] + np.array([0.0, away, 0.0])
    arm.put(place=place)
    begun(arm, "rd_stop_along", getattr(arm.calls, f"RD_STOP_{kind}"))
    if away > 0.5:
        check_straight(arm, place, (0.2, -0.3, 0.1))
        assert arm.stop.change == pytest.approx(-share * min(2.5 / 0.2, 0.8 / 0.3, 1.7 / 0.1))
    else:
        assert arm.stop.path.plan == path.plan and arm.stop.where == TIME and arm.stop.pace == 1.0
        assert arm.core.phase == arm.calls.RD_STOPPING and arm.stop.at == TIME
        assert arm.stop.change == pytest.approx(share * SLOWEST)
    assert arm.stop.kind == getattr(arm.calls, f"RD_STOP_{kind}")


def stream_of(arm):
    """A reference that comes from outside: now it moves."""
    now = [(0.5, 0.6, 0.7), (0.3, 0.2, -0.4), (2.0, 3.0, 4.0)]
    path = Path(arm, stream=[now, np.full((3, 3), 9.0)])
    arm.core.current.plan, arm.core.phase = path.plan, arm.calls.RD_TRACKING
    return path


def test_a_reference_from_outside_goes_straight_on_in_a_stop(arm):
    stream = stream_of(arm)
    arm.put(place=(0.6, 0.5, 0.8))
    begun(arm, "rd_stop_along", arm.calls.RD_STOP_EMERGENCY)
    assert stream.plan.stream
    check_straight(arm, (0.5, 0.6, 0.7), (0.3, 0.2, -0.4))
    assert arm.stop.change == pytest.approx(-min(2.5 / 0.3, 0.8 / 0.2, 1.7 / 0.4))


@pytest.mark.parametrize(("before", "kind"), [("EMERGENCY", "HOLD"), ("HOLD", "EMERGENCY")])
def test_a_stop_within_a_stop_goes_on_by_the_harder_one(arm, before, kind):
    arm.begin(kind=before)
    arm.stop.at, arm.stop.change = TIME - 0.1, -2.0
    arm.put(place=np.array([0.3, 0.02, -0.4]) + 0.09 * np.array([-1.2, 0.5, 0.7]))
    begun(arm, "rd_stop_along", getattr(arm.calls, f"RD_STOP_{kind}"))
    assert arm.stop.kind == arm.calls.RD_STOP_EMERGENCY
    assert arm.stop.where == pytest.approx(0.09) and arm.stop.pace == pytest.approx(0.8)
    assert arm.stop.change == pytest.approx(SLOWEST) and arm.stop.at == TIME


def test_a_stop_of_the_reference_begins_where_it_was_last(arm):
    arm.put(reference__position=(0.5, 0.6, 0.7), reference__velocity=(0.3, 0.2, -0.4), place=(5.0, 6.0, 7.0))
    begun(arm, "rd_stop_reference", arm.calls.RD_STOP_HOLD)
    check_straight(arm, (0.5, 0.6, 0.7), (0.3, 0.2, -0.4))
    assert arm.stop.change == pytest.approx(-0.5 * min(2.5 / 0.3, 0.8 / 0.2, 1.7 / 0.4))
    np.testing.assert_array_equal(arm.get("hold"), [0.5, 0.6, 0.7])


def test_while_states_are_lost_no_measured_place_is_astray(arm):
    arm.begin()
    arm.put(place=7.0)
    arm.core.blind.active = 1
    arm.change()
    np.testing.assert_allclose(arm.get("stopping__rate"), [-1.2, 0.5, 0.7])
    arm.core.blind.active = 0
    arm.change()
    np.testing.assert_allclose(arm.get("stopping__rate"), [0.2, -0.3, 0.1])


# Lost states

AGE = 0.04


def from_lost(arm, place, rate=(0.4, -0.2, 0.3)):
    """Return whether a robot moves that is here when states are lost."""
    given = [arm.ffi.new("double[]", [*values, 50.0]) for values in (place, rate)]
    return begun(arm, "rd_stop_from", AGE, *given)


def test_a_robot_at_rest_has_no_stop_when_its_states_are_lost(arm):
    given = [arm.ffi.new("double[]", [0.1, 0.2, 0.3]), arm.ffi.new("double[]", [0.4, -0.2, 0.3])]
    epoch, arm.core.phase = arm.core.epoch, arm.calls.RD_HOLDING
    assert arm.calls.rd_stop_from(arm.core, AGE, *given) == 0
    assert arm.core.epoch == epoch and arm.core.phase == arm.calls.RD_HOLDING


FARTHER = [(0.5, -0.5, 0.5), (0.5 + 1e-9, 0.0, 0.0), (0.0, -0.5 - 1e-9, 0.0), (0.0, 0.0, 0.5 + 1e-9)]


@pytest.mark.parametrize("away", FARTHER)
def test_without_states_a_stop_goes_along_the_plan_near_which_the_robot_is(arm, away):
    """Places of multiples of a quarter are exact."""
    path = Path(arm, np.array([[0.25, 0.5, -0.75], np.zeros(3), [-2.25, 4.5, 9.0], *np.zeros((3, 3))]))
    path.times[1] = path.times[0] + 3.0
    arm.core.current.plan = path.plan
    time = TIME + AGE
    position = path.at(time)[0]
    arm.put(place=50.0, reference__velocity=0.0)
    inside = np.abs(away) <= 0.5
    place = position + np.array(away) * np.where(inside, 1.0 - 1e-9, 1.0)
    assert from_lost(arm, place) == 1
    assert arm.stop.at == time and arm.stop.kind == arm.calls.RD_STOP_EMERGENCY
    if inside.all():
        assert arm.stop.path.plan == path.plan and arm.stop.where == time and arm.stop.pace == 1.0
        expected = path.at(time)[1]
    else:
        check_straight(arm, place, (0.4, -0.2, 0.3), time)
        expected = np.array([0.4, -0.2, 0.3])
    straight = -np.min(arm.deceleration / np.abs(expected))
    assert arm.stop.change == pytest.approx(straight) or inside.all()


def test_without_states_a_robot_exactly_at_its_following_error_is_near(arm):
    path = Path(arm, np.array([[0.25, 0.5, -0.75], *np.zeros((4, 3)), [0.0, 0.0, 1e-3]]))
    arm.core.current.plan = path.plan
    place = path.at(TIME + AGE)[0] + np.array([0.5, -0.5, 0.0])
    assert from_lost(arm, place) == 1
    assert arm.stop.path.plan == path.plan


def test_without_states_a_reference_from_outside_is_dropped_for_the_robot_s_own_motion(arm):
    stream_of(arm)
    assert from_lost(arm, (0.2, 0.3, 0.1)) == 1
    check_straight(arm, (0.2, 0.3, 0.1), (0.4, -0.2, 0.3), TIME + AGE)


@pytest.mark.parametrize("far", [False, True])
def test_without_states_a_stop_goes_on_until_it_rests(arm, far):
    arm.begin(kind="HOLD")
    arm.stop.change = -2.0
    where = AGE - AGE**2
    place = np.array([0.3, 0.02, -0.4]) + where * np.array([-1.2, 0.5, 0.7]) + np.array([0.6 * far, 0.0, 0.0])
    assert from_lost(arm, place) == 1
    assert arm.stop.kind == arm.calls.RD_STOP_EMERGENCY
    if far:
        check_straight(arm, place, (0.4, -0.2, 0.3), TIME + AGE)
        return
    assert arm.stop.where == pytest.approx(where) and arm.stop.pace == pytest.approx(1.0 - 2.0 * AGE)
    np.testing.assert_allclose(arm.get("stopping__rate"), [-1.2, 0.5, 0.7])
    assert arm.stop.change == pytest.approx(SLOWEST)
    arm.stop.change = -100.0
    arm.stop.at = TIME
    assert from_lost(arm, arm.get("stopping__place")) == 0
    assert arm.stop.kind == arm.calls.RD_NO_STOP
