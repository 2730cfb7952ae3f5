"""Operating modes of a platform without its core: changes of the mode, motions, park pose, descent."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from motion_base import HOME, MACHINE
from platform_legs import legs_of_machine, with_limits
from scipy.spatial.transform import Rotation

from robot_dynamics.control.stewart import operating_modes as module
from robot_dynamics.control.stewart.envelope import STROKE_MARGIN
from robot_dynamics.control.stewart.governed_motion import PoseGoal, StreamGoal
from robot_dynamics.control.stewart.operating_modes import RESTING, OperatingMode, OperatingModes
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.reference_governor import GovernedReference, PoseTarget
from robot_dynamics.control.stewart.stream import PoseFilter
from robot_dynamics.control.stop_memory import StopState

LEVEL = np.eye(3)
M = OperatingMode


def no_forces(positions, *_):
    return np.zeros((len(positions), 6))


def modes(machine=MACHINE, mode=None, **parameters):
    made = OperatingModes(machine, no_forces, StewartParameters(**parameters))
    made.mode = made.mode if mode is None else mode
    return made


def start(way=(0.0, 0.0, 0.0), twist=(0.0,) * 6, time=1.0):
    return GovernedReference(time, HOME + np.array(way), LEVEL, np.array(twist), np.zeros(6))


def length_at(height):
    """Length of each leg where the platform is level, at a height above its base."""
    return np.hypot(np.linalg.norm((MACHINE.legs[0].platform_point - MACHINE.legs[0].base_point)[:2]), height)


@pytest.mark.parametrize("parked", [False, True])
def test_a_platform_starts_in_operation_or_parked_on_its_brakes(parked):
    made = modes(start_parked=parked)
    assert made.mode is (M.PARKED if parked else M.OPERATIONAL)
    assert made.brakes.engaging is parked and made.motion is None
    assert made.brake_fields[0] is (not parked)
    assert made.brake_fields[1:] == made.brakes.fields()


RESTS = (M.PARKED, M.STRANDED, M.STOPPED, M.PROTECTED)
STATES = {
    M.OPERATIONAL: StopState.RELEASED,
    M.SETTLING: StopState.PARKED,
    M.PARKED: StopState.PARKED,
    M.STRANDED: StopState.STRANDED,
    M.STOPPING: StopState.STOPPED,
    M.STOPPED: StopState.STOPPED,
    M.RISING: None,
    M.PROTECTING: StopState.PROTECTED,
    M.PROTECTED: StopState.PROTECTED,
}


@pytest.mark.parametrize("mode", list(M))
def test_each_mode_has_its_rights_and_what_is_remembered_of_it(mode):
    made = modes(mode=mode)
    assert made.resting is (mode in RESTS)
    assert made.stands_on_brakes is (mode in RESTS and mode is not M.PARKED)
    assert made.active is (mode in (M.RISING, M.STOPPING))
    assert made.brake_fields[0] is (mode is M.OPERATIONAL)
    assert made.stop_state is STATES[mode]
    assert made.rejoins is False
    made.motion = SimpleNamespace(end=np.inf)
    assert made.active is True


def test_what_settles_at_the_end_of_a_stream_may_be_joined_again_and_parks_only_where_it_is_asked_to():
    for reaction, state in (("settle", StopState.RELEASED), ("park", StopState.PARKED)):
        made = modes(on_stream_end=reaction)
        made.motion = SimpleNamespace(end=2.0, goal=StreamGoal(PoseFilter(0.1), 0.1, np.eye(6)))
        found = made.next_motion(2.0, start(), rests=True)
        assert made.mode is M.SETTLING and found is made.motion
        assert made.rejoins is True and made.stop_state is state
        made.release()
        assert (made.mode, made.motion, made.rejoins) == (M.OPERATIONAL, None, False)
    made = modes(on_stream_end="hold")
    made.motion = SimpleNamespace(end=2.0, goal=StreamGoal(PoseFilter(0.1), 0.1, np.eye(6)))
    assert made.next_motion(2.0, start(), rests=True) is None
    assert (made.mode, made.motion) == (M.OPERATIONAL, None)
    # Settling that somebody asks for is not joined again.
    made.settle(1.0, start())
    assert made.rejoins is False and made.stop_state is StopState.PARKED


@pytest.mark.parametrize("state", list(RESTING))
def test_a_platform_that_begins_at_rest_has_its_brakes_engaged(state):
    made = modes()
    made.motion = SimpleNamespace(end=1.0)
    made.brakes.report(False, 0.0)
    timing = made.brakes.timing
    made.rest(state)
    assert made.mode is RESTING[state] and made.motion is None
    assert made.brakes.engaging is True
    assert made.brakes.timing is timing and made.brakes.reported is False


def test_other_parameters_change_the_timing_of_the_brakes_and_the_park_pose():
    made = modes(park_pose=(0.1, 0.0, 1.2, 0.0, 0.0, 0.0))
    first = made.park_pose
    made.use(replace(made._parameters, brake_engage_time=0.3, brake_release_time=0.4, safe_fade_time=0.7))
    timing = made.brakes.timing
    assert (timing.engage, timing.release, timing.fade) == (0.3, 0.4, 0.7)
    assert made.park_pose is first
    made.use(replace(made._parameters, park_pose=(0.2, 0.0, 1.2, 0.1, -0.2, 0.3)))
    np.testing.assert_allclose(made.park_pose.position, [0.2, 0.0, 1.2])
    turn = Rotation.from_euler("xyz", [0.1, -0.2, 0.3]).as_matrix()
    np.testing.assert_allclose(made.park_pose.rotation, turn, atol=1e-12)
    assert not made.park_pose.twist.any()


def test_the_pace_is_that_of_the_parameters_within_a_share_of_the_speeds():
    length = MACHINE.characteristic_length
    found = modes(max_acceleration=3.0, governed_share=0.8).pace
    assert (found.acceleration, found.angular_acceleration, found.share) == (3.0, 3.0 / length, 0.8)
    np.testing.assert_allclose(found.leg_speed, 0.8)
    given = modes(max_angular_acceleration=5.0).pace
    assert given.angular_acceleration == 5.0
    unlimited = modes(with_limits(MACHINE, speed=np.inf)).pace
    np.testing.assert_array_equal(unlimited.leg_speed, np.full(6, 1e3))


def test_settling_leads_to_the_park_pose_at_its_speed():
    made = modes(settle_speed=0.07, park_pose=(0.0, 0.0, 1.1, 0.0, 0.0, 0.0))
    moving = start(twist=(0.02, 0.0, 0.01, 0.0, 0.0, 0.0))
    motion = made.settle(1.5, moving)
    assert made.mode is M.SETTLING and made.motion is motion
    assert isinstance(motion.goal, PoseGoal)
    assert motion.goal.target(0.0, 0.0, motion.governor) is made.park_pose
    np.testing.assert_array_equal(motion.governor.pace.leg_speed, np.full(6, 0.07))
    assert motion.governor.reference.time == 1.5
    np.testing.assert_allclose(
        motion.governor.reference.position, HOME + np.array([0.01, 0.0, 0.005]), atol=1e-12
    )
    assert motion.end == np.inf and motion.governor.confined is False
    made.emergency_stop()
    assert (made.mode, made.motion) == (M.STOPPING, None)


def test_a_motion_may_begin_beyond_the_limits():
    """As where it stands on a stop: it may come back from there."""
    made = modes()
    low = start((0.0, 0.0, -0.4))
    motion = made.settle(1.0, low)
    assert (motion.governor.envelope.limits.shortest < 1.35).all()


@pytest.mark.parametrize("jerk", [0.0, 20.0, 500.0])
def test_a_stream_is_followed_quickly_within_its_jerk(jerk):
    """Without a declared one the maximum acceleration is reached in 0.05 s; in stops, at least so quickly."""
    made = modes(max_acceleration=4.0, max_angular_acceleration=6.0, stream_jerk=jerk, settle_speed=0.07,
                 mode="feedforward")  # fmt: skip
    made.mode, made._rejoins = M.SETTLING, True
    poses = PoseFilter(0.1)
    motion = made.stream(1.2, start(), poses)
    governor = motion.governor
    assert (made.mode, made.rejoins, made.motion) == (M.OPERATIONAL, False, motion)
    assert (governor.confined, governor.quickness, governor.ramp) == (True, 0.02, 0.005)
    parts = np.array([1.0, 1.0, 1.0, 1.5, 1.5, 1.5])
    np.testing.assert_allclose(governor.jerk, (jerk or 80.0) * parts)
    np.testing.assert_allclose(governor.stop_jerk, max(jerk, 80.0) * parts)
    assert motion.goal.stream is poses and motion.goal._speed == 0.07
    np.testing.assert_allclose(motion.goal._jacobian, legs_of_machine(MACHINE, HOME, LEVEL)[1], atol=1e-12)
    np.testing.assert_allclose(governor.pace.leg_speed, 0.9)
    assert governor.reference.time == 1.2


def test_the_deviation_of_a_stream_is_reported_once_where_it_is_followed(monkeypatch):
    made, goal = modes(), StreamGoal(PoseFilter(0.1), 0.1, np.eye(6))
    asked = (PoseTarget.rest(HOME, LEVEL),)
    monkeypatch.setattr(module, "cause_of_deviation", lambda governor, given: (governor, given))
    assert made.deviation() is None
    governor = SimpleNamespace(farthest=(0.1, 0.2, asked))
    made.motion = SimpleNamespace(goal=PoseGoal(asked[0]), governor=governor)
    assert made.deviation() is None and governor.farthest is not None
    made.motion = SimpleNamespace(goal=goal, governor=governor)
    assert made.deviation() is None, "it is on its way to the stream"
    assert governor.farthest is None
    goal._interrupted, governor.farthest = False, (0.1, 0.2, asked)
    assert made.deviation() == (0.1, 0.2, (governor, asked))
    assert made.deviation() is None and governor.farthest is None


def test_a_pose_is_reachable_where_the_platform_can_rest():
    made = modes()
    assert made.reachable(HOME, LEVEL) is True
    assert made.reachable(HOME + np.array([0.0, 0.0, 0.05]), LEVEL) is True
    assert made.reachable(HOME + np.array([0.0, 0.0, 0.5]), LEVEL) is False


# Changes of the mode


@pytest.mark.parametrize(("mode", "leads"), [(M.PARKED, True), (M.STOPPED, False), (M.STRANDED, False)])
def test_what_leaves_its_brakes_goes_home_from_the_park_pose_alone(mode, leads):
    made = modes(brake_release_time=0.2, safe_fade_time=0.3, settle_speed=0.06)
    made.rest({state: kind for kind, state in RESTING.items()}[mode])
    made.brakes.advance(5.0)
    made.rise(5.0)
    assert made.mode is M.RISING and not made.brakes.engaging
    here = start((0.0, 0.0, -0.05), time=5.4)
    assert made.changes(5.4) is True
    assert made.next_motion(5.4, here, rests=True) is None and made.mode is M.RISING
    assert made.changes(5.51) is True
    motion = made.next_motion(5.51, here, rests=True)
    assert made.mode is M.OPERATIONAL
    assert made.brakes.since == -np.inf
    assert (motion is not None) is leads and made.motion is motion
    if leads:
        target = motion.goal.target(0.0, 0.0, motion.governor)
        assert target.position is HOME and target.rotation is MACHINE.home_rotation
        np.testing.assert_array_equal(motion.governor.pace.leg_speed, np.full(6, 0.06))
        assert motion.governor.reference.time == 5.51


def test_a_stop_ends_on_the_brakes_when_the_platform_rests():
    made = modes(mode=M.STOPPING)
    assert made.changes(1.0) is True
    assert made.next_motion(1.0, start(), rests=False) is None
    assert made.mode is M.STOPPING and not made.brakes.engaging
    assert made.next_motion(1.1, start(), rests=True) is None
    assert made.mode is M.STOPPED and made.brakes.engaging and made.brakes.since == 1.1
    calm = modes()
    assert calm.changes(1.0) is False
    assert calm.next_motion(1.0, start(), rests=True) is None
    assert calm.mode is M.OPERATIONAL and not calm.brakes.engaging


@pytest.mark.parametrize(("end", "due"), [(2.0, True), (2.1, False), (1.9, True), (np.inf, False)])
def test_a_motion_ends_at_its_end(end, due):
    made = modes(mode=M.SETTLING)
    made.motion = motion = SimpleNamespace(
        end=end, goal=PoseGoal(None), governor=SimpleNamespace(stuck=False)
    )
    assert made.changes(2.0) is due
    assert made.next_motion(2.0, start(), rests=True) is None
    assert made.motion is (None if due else motion)
    assert made.mode is (M.PARKED if due else M.SETTLING)
    assert made.brakes.engaging is due
    made.motion, made.mode = motion, M.RISING
    assert made.changes(2.0) is True


@pytest.mark.parametrize(
    ("mode", "parks", "stuck", "expected"),
    [
        (M.SETTLING, True, False, M.PARKED),
        (M.SETTLING, True, True, M.STRANDED),
        (M.SETTLING, False, False, M.OPERATIONAL),
        (M.SETTLING, False, True, M.STRANDED),
        (M.OPERATIONAL, True, False, M.OPERATIONAL),
        (M.OPERATIONAL, False, True, M.OPERATIONAL),
    ],
)
def test_settling_ends_parked_or_in_operation_or_where_no_way_leads_on(mode, parks, stuck, expected):
    made = modes(mode=mode)
    made._parks = parks
    made.motion = SimpleNamespace(end=2.0, goal=PoseGoal(None), governor=SimpleNamespace(stuck=stuck))
    assert made.next_motion(2.0, start(), rests=True) is None
    assert made.mode is expected
    assert made.brakes.engaging is (expected in RESTS)
    if made.brakes.engaging:
        assert made.brakes.since == 2.0


def test_time_that_is_set_back_leaves_the_brakes_where_they_are():
    made = modes()
    made.changes(5.0)
    made.brakes.engage(5.0)
    made.changes(3.0)
    assert made.brakes.since == 3.0


# Protective stops


@pytest.mark.parametrize(
    ("steps", "braked"),
    [
        ([(0.0, 0.3), (0.1, 0.2), (0.2, 0.049)], True),
        ([(0.0, 0.3), (0.1, 0.2), (0.2, 0.05)], False),
        ([(0.0, 0.2), (0.1, 0.349)], False),
        ([(0.0, 0.2), (0.1, 0.351)], True),
        ([(0.0, 0.4), (0.1, 0.1), (0.2, 0.199)], False),
        ([(0.0, 0.4), (0.1, 0.1), (0.2, 0.201)], True),
        ([(0.0, 0.4), (0.9, 0.4), (1.0, 0.4)], False),
        ([(0.0, 0.4), (0.9, 0.4), (1.0001, 0.4)], True),
        ([(0.0, 0.01)], True),
    ],
)
def test_a_protective_stop_is_braked_at_rest_or_where_nothing_stops_it(steps, braked):
    """One that runs on, or takes longer than a second, is braked in motion."""
    made = modes(mode=M.SETTLING)
    made.motion = SimpleNamespace(end=np.inf)
    for time, speed in steps:
        made.protect(4.0 + time, speed, 0.05)
        assert made.motion is None
        if (time, speed) != steps[-1]:
            assert made.mode is M.PROTECTING
    assert made.mode is (M.PROTECTED if braked else M.PROTECTING)
    assert made.brakes.engaging is braked
    if braked:
        assert made.brakes.since == 4.0 + steps[-1][0]
    # Another stop begins with its own time and speed.
    again = modes()
    again.protect(1.0, 0.1, 0.05)
    again.mode = M.OPERATIONAL
    again.protect(3.0, 0.5, 0.05)
    again.protect(3.5, 0.5, 0.05)
    assert again.mode is M.PROTECTING


@pytest.mark.parametrize("mode", RESTS)
def test_what_rests_needs_no_protective_stop(mode):
    made = modes(mode=mode)
    made.protect(1.0, 0.0, 0.05)
    assert made.mode is mode and not made.brakes.engaging


@pytest.mark.parametrize("mode", list(M))
def test_the_end_of_a_protection_leaves_the_platform_on_its_brakes(mode):
    made = modes(mode=mode)
    made.end_protection(2.5)
    ends = mode in (M.PROTECTED, M.PROTECTING)
    assert made.mode is (M.STOPPED if ends else mode)
    assert made.brakes.engaging is ends
    assert made.brakes.since == (2.5 if ends else -np.inf)


@pytest.mark.parametrize("mode", list(M))
def test_a_hold_drops_the_motion_and_settling_with_it(mode):
    made = modes(mode=mode)
    made.motion = SimpleNamespace(end=np.inf)
    made.release()
    assert made.motion is None
    assert made.mode is (M.OPERATIONAL if mode is M.SETTLING else mode)


# The park pose and the way to it


def test_a_park_pose_that_is_not_declared_is_straight_down_until_a_limit_is_met():
    """Here the shortest length of all legs at once, whose heights are known."""
    made = modes()
    park = made.park_pose
    np.testing.assert_allclose(park.position[:2], HOME[:2], atol=1e-12)
    np.testing.assert_allclose(park.rotation, LEVEL, atol=1e-12)
    shortest = 1.35 + STROKE_MARGIN * 0.4
    height = np.sqrt(shortest**2 - length_at(0.0) ** 2)
    assert park.position[2] == pytest.approx(height, abs=2e-6)
    assert made.park_pose is park
    # It is a multiple of the way by the height of home, divided five times by 16.
    share = (HOME[2] - park.position[2]) / HOME[2] * 16.0**5
    assert abs(share - round(share)) < 1e-3
    # Down is where gravity points, however strong it is.
    moon = replace(MACHINE, gravity=1e-4 * MACHINE.gravity)
    np.testing.assert_allclose(modes(moon).park_pose.position, park.position, atol=1e-12)
    upside = replace(MACHINE, gravity=-MACHINE.gravity)
    assert modes(upside).park_pose.position[2] > HOME[2] + 0.1
    nowhere = replace(MACHINE, gravity=np.zeros(3))
    np.testing.assert_allclose(modes(nowhere).park_pose.position, HOME, atol=1e-9)


def test_a_home_beyond_the_limits_is_the_park_pose():
    made = modes(with_limits(MACHINE, shortest=1.58, longest=1.75))
    np.testing.assert_allclose(made.park_pose.position, HOME, atol=1e-3)


def descent(**parameters):
    made = modes(park_pose=(0.002, 0.0, HOME[2] - 0.004, 0.0, 0.0, 0.0), **parameters)
    return made, made.open_loop_descent()


def test_the_open_loop_descent_leads_from_home_to_the_park_pose_at_its_speed():
    made, path = descent(blind_speed=0.02)
    begin, end = path.sample(0.0), path.sample(path.end)
    np.testing.assert_allclose(begin.position, HOME, atol=1e-12)
    np.testing.assert_allclose(end.position, made.park_pose.position, atol=2e-6)
    assert path.start == 0.0
    np.testing.assert_allclose(np.diff(path.spline.times), 0.005, rtol=1e-9)
    rates = []
    for time in path.spline.times[:-1]:
        motion = path.sample(float(time))
        twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
        rates.append(np.abs(legs_of_machine(MACHINE, motion.position, motion.rotation)[1] @ twist).max())
    assert max(rates) == pytest.approx(0.95 * 0.02, rel=1e-3)


@pytest.mark.parametrize(("steps", "step"), [(1, 0.1), (10, None), (1000, 0.005)])
def test_steps_of_the_descent_are_shares_of_its_shortest_time(monkeypatch, steps, step):
    """Within 5 and 100 ms; the way of the leg that has most to go counts."""
    monkeypatch.setattr(module, "DESCENT_STEPS", steps)
    monkeypatch.setattr(module, "DESCENT_PATIENCE", (1.0, 0.0))
    made, path = descent(blind_speed=0.01)
    home, park = (legs_of_machine(MACHINE, place, LEVEL)[0] for place in (HOME, made.park_pose.position))
    shortest = np.abs(home - park).max() / 0.01
    expected = min(max(0.005, shortest / steps), 0.1) if step is None else step
    np.testing.assert_allclose(np.diff(path.spline.times), expected, rtol=1e-9)
    # A descent that takes longer than is allowed ends early: at the first step beyond it.
    assert shortest <= path.end < shortest + expected + 1e-9
    monkeypatch.setattr(module, "DESCENT_PATIENCE", (1.0, 0.1))
    assert shortest + 0.1 <= descent(blind_speed=0.01)[1].end < shortest + 0.1 + expected + 1e-9


def test_a_descent_has_six_hundred_steps_in_its_shortest_time(monkeypatch):
    monkeypatch.setattr(module, "DESCENT_PATIENCE", (0.01, 0.0))
    assert module.DESCENT_STEP == (0.005, 0.1)
    made = modes(blind_speed=0.02)
    change = length_at(HOME[2]) - length_at(made.park_pose.position[2])
    steps = np.diff(made.open_loop_descent().spline.times)
    np.testing.assert_allclose(steps, change / 0.02 / 600, rtol=1e-9)
    assert 6 <= len(steps) <= 7


def test_a_descent_may_take_three_times_its_shortest_time_and_two_seconds(monkeypatch):
    """Here no motion is ever at its end."""
    monkeypatch.setattr(module, "DESCENT_STEP", (0.1, 0.1))
    monkeypatch.setattr(PoseGoal, "reached", lambda self, governor, time: False)
    made = modes(blind_speed=0.1, park_pose=(0.0, 0.0, HOME[2] - 0.05, 0.0, 0.0, 0.0))
    change = length_at(HOME[2]) - length_at(HOME[2] - 0.05)
    end = made.open_loop_descent().end
    assert end - 0.1 < 3.0 * change / 0.1 + 2.0 <= end + 1e-9


def test_a_descent_of_slow_legs_counts_with_their_speed(monkeypatch):
    monkeypatch.setattr(module, "DESCENT_STEPS", 10)
    monkeypatch.setattr(module, "DESCENT_PATIENCE", (1.0, 0.0))
    made = modes(with_limits(MACHINE, speed=0.01), park_pose=(0.0, 0.0, HOME[2] - 0.004, 0.0, 0.0, 0.0))
    steps = np.diff(made.open_loop_descent().spline.times)
    change = length_at(HOME[2]) - length_at(HOME[2] - 0.004)
    np.testing.assert_allclose(steps, change / 0.009 / 10, rtol=1e-9)
    # A park pose out of reach is no farther than a stroke.
    far = modes(park_pose=(0.0, 0.0, 50.0, 0.0, 0.0, 0.0), blind_speed=0.9, governed_share=1.0)
    assert np.diff(far.open_loop_descent().spline.times)[0] == pytest.approx(0.4 / 0.9 / 10)


def test_descents_of_new_controllers_are_kept_of_each_platform(monkeypatch):
    made, calls = modes(park_pose=(0.0, 0.0, 1.1, 0.0, 0.0, 0.0)), []
    monkeypatch.setattr(OperatingModes, "open_loop_descent", lambda self: calls.append(self) or object())
    platform, other = type("Kept", (), {})(), type("Kept", (), {})()
    first = made.kept_descent(platform, "a")
    assert made.kept_descent(platform, "a") is first and len(calls) == 1
    assert made.kept_descent(other, "a") is not first and len(calls) == 2
    assert made.kept_descent(platform, None) is not made.kept_descent(platform, None) and len(calls) == 4
    # Another park pose is another descent.
    elsewhere = modes(park_pose=(0.0, 0.0, 1.1, 0.0, 0.0, 0.1))
    assert elsewhere.kept_descent(platform, "a") is not first and len(calls) == 5
    for name in "bc":
        made.kept_descent(platform, name)
    assert made.kept_descent(platform, "a") is first and len(calls) == 7
    made.kept_descent(platform, "d")
    assert made.kept_descent(platform, "d") is made.kept_descent(platform, "d") and len(calls) == 8
    assert made.kept_descent(platform, "a") is not first and len(calls) == 9


def test_modes_are_told_apart_by_their_words():
    words = [mode.value for mode in M]
    assert len(set(words)) == 9
    assert all(one is not other for one, other in pairwise(M))
    assert set(RESTING.values()) == set(RESTS) and len(RESTING) == 4
