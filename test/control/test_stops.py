"""Stops of arms and platforms in MuJoCo: along the path, monotone, within the computed time."""

from dataclasses import replace

import numpy as np
import pytest
from arms import two_joint_chain
from motion_base import motion_base, platform_mappings
from stop_rigs import PANDA, UR5, ArmRig, PlatformRig

from robot_dynamics import stewart
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import StoppingError, TrajectoryError
from robot_dynamics.stewart.kinematics import leg_geometry

MARGIN = 1.05
TURN = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def panda():
    return ArmRig(PANDA)


@pytest.fixture(scope="module")
def base():
    return motion_base()


def at_speed(rig, seed, share=0.99):
    """Bring an arm to its limit of speed in the middle of a random move."""
    random = np.random.default_rng(seed)
    lower = np.array([max(limit.lower, -3.0) for limit in rig.plant.limits]) + 0.05
    upper = np.array([min(limit.upper, 3.0) for limit in rig.plant.limits]) - 0.05
    start, end = random.uniform(lower, upper), random.uniform(lower, upper)
    speed = (1.875 * np.abs(end - start) / rig.speeds).max()
    duration = max(speed, np.sqrt((5.78 * np.abs(end - start) / (10.0 * rig.speeds)).max())) / share
    rig.plant.reset(start)
    rig.control.lost_states()
    rig.time, rig.log = rig.time + 1.0, []
    rig.cycle(3)
    trajectory = rig.go(end - rig.plant.position, duration)
    rig.run(round(0.5 * duration / rig.period) * rig.period)
    return trajectory


@pytest.mark.parametrize("seed", [0, 3, 8])
def test_a_hold_at_speed_stays_on_the_path_and_within_the_limits(panda, seed):
    """A Panda's joint was driven to 5.5 rad/s, 2.1 times its limit, and swung back by 0.11 rad."""
    trajectory = at_speed(panda, seed)
    begun, speed = panda.time, np.abs(panda.plant.velocity)
    panda.control.hold()
    assert panda.control.phase is Phase.STOPPING
    with pytest.raises(StoppingError):
        panda.control.plan_start(None)
    panda.run(0.5)
    q, qd, phases = panda.column(1, begun), np.abs(panda.column(2, begun)), panda.column(4, begun)
    stopping = int((phases == Phase.STOPPING).sum()) * panda.period
    assert panda.share_of_speed(begun) < MARGIN
    # stopping.c allows five times what the deceleration alone needs; efforts permit nearly all of it.
    assert stopping <= 1.2 * (speed / (10.0 * panda.speeds)).max() + 0.03 < 0.5
    assert (np.diff(qd.max(axis=1)[: round(stopping / panda.period)]) < 0.02).all(), "it only slows down"
    swung = (np.abs(q - q[0]).max(axis=0) - np.abs(q[-1] - q[0])).max()
    assert swung < 0.006
    times = np.linspace(trajectory.start, trajectory.end, 4000)
    path = np.array([trajectory.sample(t).position for t in times])
    away = [np.abs(path - place).max(axis=1).min() for place in q[:: len(q) // 20]]
    assert max(away) < 0.01, "it stays on the path"
    assert np.abs(panda.plant.velocity).max() < 0.01


def test_a_hold_keeps_to_max_acceleration_and_an_emergency_stop_to_its_own():
    rig = ArmRig(UR5, max_acceleration=(4.0,), stop_deceleration=(8.0,))
    rig.cycle(3)
    needed = {}
    for stop in ("hold", "stop_at_once"):
        rig.go(np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0]), 1.0)
        rig.run(0.5)
        begun, speed = rig.time, np.abs(rig.plant.velocity).max()
        getattr(rig.control, stop)()
        rig.run(1.0)
        phases = rig.column(4, begun)
        needed[stop] = int((phases == Phase.STOPPING).sum()) * rig.period / speed
        rig.plant.reset(rig.home)
        rig.control.lost_states()
        rig.run(0.1)
    assert needed["hold"] == pytest.approx(1.0 / 4.0, rel=0.05)
    assert needed["stop_at_once"] == pytest.approx(1.0 / 8.0, rel=0.05)


def test_an_arm_that_is_far_from_its_reference_brakes_straight_from_where_it_is():
    """New references left the arm 1 rad behind; a hold pulled it there at 5.5 rad/s."""
    rig = ArmRig(UR5)
    rig.cycle(3)
    rig.go(np.array([1.5, 0.0, 0.0, 0.0, 0.0, 0.0]), 2.0)
    rig.plant.set_brakes(True)
    rig.run(1.0)
    rig.plant.set_brakes(False)
    begun, blocked = rig.time, rig.plant.position
    rig.control.hold()
    rig.run(1.0)
    assert rig.share_of_speed(begun) < 0.1
    np.testing.assert_allclose(rig.plant.position, blocked, atol=0.02)


def near_the_end_stop(rig, gap=0.0028):
    """Height at which the longest leg is so far from its end stop, and the pose there."""
    machine = rig.machine
    low, high = 0.0, 0.5
    for _ in range(50):
        middle = 0.5 * (low + high)
        place = machine.home_position + np.array([0.0, 0.0, middle])
        longest = leg_geometry(machine, place, machine.home_rotation).lengths.max()
        low, high = (middle, high) if longest < rig.strokes[0, 1] - gap else (low, middle)
    return low, machine.home_position + np.array([0.0, 0.0, low])


@pytest.mark.parametrize("stop", ["hold", "emergency_stop"])
@pytest.mark.parametrize("share", [0.6, 0.8])
def test_a_platform_that_stops_near_its_end_stop_does_not_reach_it(base, stop, share):
    """A hold or an emergency stop hit the end stop at 0.46 m/s where the motion ended 2.8 mm before it."""
    rig = PlatformRig(base)
    rig.cycle(3)
    rise, top = near_the_end_stop(rig)
    duration = 1.05 * max(1.875 * rise / (0.95 * rig.speeds.min()), np.sqrt(5.78 * rise / 4.0))
    rig.control.follow([PoseWaypoint(duration, top.tolist(), (0.0, 0.0, 0.0, 1.0))])
    rig.run(round(share * duration / rig.period) * rig.period)
    begun, speed = rig.time, np.abs(rig.plant.velocity).max()
    getattr(rig.control, stop)()
    rig.run(0.6)
    assert speed > 0.2
    assert rig.gap(begun) > 0.0025
    assert np.abs(rig.plant.velocity).max() < 1e-3
    if stop == "hold":
        assert rig.control.phase is Phase.HOLDING
        assert rig.control.modes.mode is OperatingMode.OPERATIONAL
    else:
        assert rig.control.modes.mode is OperatingMode.STOPPED
        assert rig.control.brake


def test_efforts_beyond_the_limits_keep_the_direction_of_the_motion():
    """Efforts cut joint by joint undid the decoupling: other joints were driven beyond their limits."""
    limits = (12.6, 36.0, 12.6, 23.4, 2.7, 3.15, 1.08)
    rig = ArmRig(PANDA, max_acceleration=(1e4,), max_effort=limits)
    rig.cycle(3)
    move = np.array([0.35, 0.25, -0.3, 0.3, 0.35, 0.3, 0.4])
    rig.go(move, 0.38)
    rig.run(0.8)
    cut = (np.abs(rig.column(3)) > 0.999 * np.array(limits)).any(axis=1)
    assert cut.mean() > 0.1, "the limits are met"
    assert rig.share_of_speed() < MARGIN
    moved = rig.column(1) - rig.log[0][1]
    along = moved @ move / (move @ move)
    assert np.abs(moved - along[:, None] * move).max() < 0.005, "0.12 joint by joint"


@pytest.mark.parametrize("arm", [PANDA, UR5])
def test_an_error_asks_for_no_more_speed_than_there_is(arm):
    """Brakes block the arm, a return of 10 s is sent, brakes open: 5.5 rad/s, where the limit is 3.15."""
    rig = ArmRig(arm)
    rig.cycle(3)
    rig.plant.set_brakes(True)
    far = np.array([1.5, 0.3, 0.5, 0.3, 0.5, 0.5, 0.5][: rig.chain.dof])
    rig.go(far, 2.0)
    rig.run(2.1)
    rig.plant.set_brakes(False)
    begun = rig.time
    rig.run(1.0)
    assert rig.share_of_speed(begun) < MARGIN


@pytest.mark.parametrize(("arm", "travel"), [(UR5, 0.2), (PANDA, 0.2)])
def test_an_arm_without_states_stops_by_its_model(arm, travel):
    """Joint states lost at 3 rad/s: 6.7 rad travelled."""
    rig = ArmRig(arm)
    at_speed(rig, 3)
    assert rig.share_of_speed() > 0.9
    unseen, last = 0.1, rig.command.effort
    for _ in range(round(unseen / rig.period)):
        rig.plant.advance(rig.period, last)  # the last effort stays until the loss is noticed
    noticed = rig.plant.position
    rig.control.lost_states(unseen + rig.period)
    travelled = []
    for k in range(50):
        rig.plant.advance(0.01, rig.control.safe_command(0.01 * k).effort)
        travelled.append(np.abs(rig.plant.position - noticed).max())
    assert max(travelled) < travel
    assert np.abs(rig.plant.velocity).max() < 0.8


@pytest.mark.parametrize("value", [{"max_effort_step": 0.012}, {"model_change_time": 10.0}])
def test_a_stop_obeys_no_value_that_would_delay_it(value):
    """A small max_effort_step, then a hold at speed; model_change_time 10, accelerating: 4.2 rad."""
    rig = ArmRig(UR5)
    rig.cycle(3)
    rig.go(np.array([1.5, 0.3, -0.5, 0.3, 0.5, 0.5]), 1.2)
    rig.run(0.4)
    rig.control.parameters = replace(rig.control.parameters, **value, kp=(101.0,))
    rig.run(0.1)
    begun, place = rig.time, rig.plant.position
    rig.control.hold()
    rig.run(0.6)
    assert rig.share_of_speed(begun) < MARGIN
    assert np.abs(rig.column(1, begun) - place).max() < 0.3
    assert np.abs(rig.plant.velocity).max() < 0.05


def test_plans_keep_to_the_accelerations_the_limits_and_the_delay_that_are_declared():
    """A late stamp planned 60 rad/s²; a start ten hours ahead and 3.09 beyond 2.79 were accepted."""
    rig = ArmRig(UR5, max_acceleration=(6.0,))
    rig.cycle(3)
    names, home = rig.chain.joint_names, rig.plant.position
    far = [Waypoint(2.0, (home + 0.8).tolist())]
    with pytest.raises(TrajectoryError, match=r"acceleration .* after the start; the limit is 6"):
        rig.control.follow(names, far, rig.time - 1.2)
    rig.control.follow(names, far, rig.time - 0.005)  # a few milliseconds are nothing
    with pytest.raises(TrajectoryError, match="max_start_delay allows 60"):
        rig.control.follow(names, far, rig.time + 36000.0)
    chain = two_joint_chain()
    arm = ArmController(chain)
    arm.update(0.0, np.array([0.0, 0.6]), np.zeros(2))
    with pytest.raises(TrajectoryError, match="only a way back"):
        arm.follow(chain.joint_names, [Waypoint(1.0, [0.0, 0.54])])
    arm.follow(chain.joint_names, [Waypoint(1.0, [0.0, 0.49])])


def test_an_arm_in_gravity_compensation_is_slow_and_stays_off_its_limits():
    """-10 % of the mass: 5.6 rad/s, the state said "holding position"; a limit stop was hit at 1.5 rad/s."""
    rig = ArmRig(UR5, plant={"payload_mass": 2.0}, mode="gravity_compensation")
    rig.cycle(3)
    assert rig.control.phase is Phase.GUIDED
    rig.run(3.0)
    assert np.abs(rig.plant.velocity).max() > 0.05, "a load that the model lacks moves it"
    assert rig.share_of_speed() < 0.4


@pytest.mark.parametrize(("arm", "joint", "push"), [(UR5, 2, 15.0), (PANDA, 3, 8.0)])
def test_a_hand_that_pushes_an_arm_against_its_limit_is_braked(arm, joint, push):
    """Such a push drove a UR5 into the stop at 1.9 rad/s, and a Panda at 1.25 of its velocity limit."""
    rig = ArmRig(arm, mode="gravity_compensation")
    rig.cycle(3)
    hand, limit = push * np.eye(rig.chain.dof)[joint], rig.plant.limits[joint]
    met = []
    for _ in range(2500):
        rig.cycle(effort=rig.control.update(rig.time, rig.plant.position, rig.plant.velocity).effort + hand)
        if limit.upper - rig.plant.position[joint] < 0.02:
            met.append(abs(rig.plant.velocity[joint]))
    assert rig.share_of_speed() < 0.4
    assert met and max(met) < 0.35
    assert rig.control.phase is Phase.GUIDED


def test_the_disturbance_estimate_removes_the_error_of_a_load_that_the_model_lacks():
    """1 kg undeclared leaves a UR5 0.052 rad beside its place; the estimate leaves 0.02."""
    error = {}
    for ki in (-1.0, 0.0):
        rig = ArmRig(UR5, plant={"payload_mass": 1.0}, ki=ki)
        rig.run(3.0)
        error[ki] = np.abs(rig.plant.position - rig.home).max()
        assert np.abs(rig.plant.velocity).max() < 0.02
    assert error[-1.0] > 0.03
    assert error[0.0] < 0.02


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("cycle", [0, 20])
def test_an_arm_that_all_but_rests_is_stopped_without_a_kick(ahead, cycle):
    """The whole deceleration, for a cycle, moves an arm that stands."""
    period, place, noise = 0.002, np.array([0.3, 0.2]), np.array([1e-6, -1e-6])
    control = ArmController(two_joint_chain(), None, ArmParameters(half_period_ahead=ahead))
    for k in range(cycle):
        carried = control.update(k * period, place, 0.0 * place).effort
    if cycle:
        control.lost_states()
    stopped = control.update(cycle * period, place, noise).effort
    rested = ArmController(two_joint_chain(), None, ArmParameters()).update(0.0, place, 0.0 * place).effort
    np.testing.assert_allclose(stopped, rested, atol=0.01)
    if cycle:
        np.testing.assert_allclose(carried, rested, atol=1e-9)


@pytest.mark.parametrize("robot", ["arm", "platform"])
def test_twenty_holds_keep_one_place_under_a_load_that_the_model_lacks(robot):
    """A UR5's tip sank by 0.70 m with 3 kg, a platform by 0.21 m with 300 kg."""
    if robot == "arm":
        rig = ArmRig(UR5, plant={"payload_mass": 3.0}, start_motion=-1.0, max_following_error=(-1.0,))
    else:
        rig = PlatformRig(
            stewart.load(platform_mappings()["platform_2_t"]),
            plant={"payload_mass": 300.0},
            start_motion=-1.0,
            max_following_error=(-1.0,),
        )
    rig.run(1.5)
    place = rig.plant.position
    for _ in range(20):
        rig.control.hold()
        rig.run(0.05)
    assert np.abs(rig.plant.position - place).max() < 0.005
    assert rig.control.trip is None


def test_a_trajectory_that_waits_is_dropped_by_a_change_of_the_mode():
    """One whose start lay ahead ran through it."""
    rig = ArmRig(UR5)
    rig.cycle(3)
    rig.go(0.3 * np.ones(6), 0.5, start=rig.time + 0.5)
    for mode in ("gravity_compensation", "computed_torque"):
        rig.control.parameters = replace(rig.control.parameters, mode=mode)
        rig.run(0.1)
    place = rig.plant.position
    rig.run(1.2)
    assert rig.control.phase is Phase.HOLDING
    np.testing.assert_allclose(rig.plant.position, place, atol=1e-3)


@pytest.mark.parametrize("name", [UR5, "puma560"])
def test_back_from_gravity_compensation_an_arm_stays_where_it_was_led(name):
    """A 1 rad trajectory was "reached", or a hand came: then it snapped, a PUMA at twice its limit."""
    rig = ArmRig(name, mode="gravity_compensation")
    rig.run(0.1)
    with pytest.raises(TrajectoryError, match="follows no trajectory"):
        rig.go(TURN, 2.0)
    for phase in np.linspace(0.0, np.pi, 1000):
        rig.plant.reset(rig.home + 0.5 * (1.0 - np.cos(phase)) * TURN, 0.25 * np.pi * np.sin(phase) * TURN)
        rig.cycle()
    led, back = rig.column(3)[-1], rig.time
    rig.control.parameters = replace(rig.control.parameters, mode="computed_torque")
    rig.run(0.4)
    assert np.abs(rig.column(3, back) - led).max() < 0.02 * np.abs(led).max()
    assert rig.share_of_speed(back) < 0.02
    np.testing.assert_allclose(rig.plant.position, rig.home + TURN, atol=1e-3)


@pytest.mark.long
def test_a_stream_towards_an_end_stop_leaves_room_for_what_the_legs_lag_behind():
    """A find of the sweep ``operators``: legs of a lighter platform met the stop that the reference kept."""
    rig = PlatformRig(stewart.load(platform_mappings()["platform_25_kg"]), plant={"mass_scale": 0.8})
    rig.run(0.3)
    for k in range(80):
        since = max(k / 60.0 - 0.6, 0.0)
        up = np.array([0.0, 0.0, 0.4 * (since - 0.2 * (1.0 - np.exp(-since / 0.2)))])
        pose = PoseSample(rig.time - rig.period, rig.machine.home_position + up, np.eye(3), None)
        rig.control.command_pose(pose)
        rig.cycle(8 if k % 3 else 9)
    rig.run(0.15)
    assert 1e-4 < rig.gap() < 5e-3


def test_states_that_become_far_too_rare_do_not_feed_a_light_joint():
    """After three states of 20 ms instead of 2 the last joint of a PUMA in its impedance had 28 rad/s."""
    rig = ArmRig("puma560", mode="joint_impedance")
    rig.run(0.3)
    rig.plant.reset(rig.plant.position, 0.06 * np.ones(6))
    for _ in range(28):
        rig.cycle()
        rig.stand_still(9 * rig.period)
        assert (np.abs(rig.plant.velocity) < 0.5 * rig.speeds).all()


@pytest.mark.parametrize(
    ("name", "mass", "most"), [(PANDA, 5.0, 0.1), (UR5, 5.0, 0.1), ("puma560", 2.0, 0.2)]
)
def test_a_stop_with_soft_springs_lowers_a_load_that_the_model_lacks_slowly(name, mass, most):
    """Braked by the model's inertia alone, the arms were at 0.24, 0.16 and 0.24 of a speed limit."""
    rig = ArmRig(name, plant={"payload_mass": mass}, mode="joint_impedance", joint_stiffness=(5.0,))
    rig.control.protect()
    rig.run(1.5)
    assert rig.share_of_speed() < most


@pytest.mark.parametrize("late", [0.07, 0.09])
def test_a_stop_with_weak_gains_and_a_late_state_swings_no_load(late):
    """Stiffened it kept its little damping: the wrist went 1.2 rad away, at 1.5 of its speed limit."""
    rig = ArmRig("puma560", plant={"payload_mass": 1.744})
    rig.plant.reset(rig.home + 0.5 * np.array([0.31, -0.99, 0.87, 0.3, -0.23, 0.15]))
    rig.cycle(5)
    rig.control.parameters = replace(rig.control.parameters, kp=(5.0,), kv=(1.087,))
    rig.run(late - rig.time)
    assert rig.control.phase is Phase.PROTECTIVE_STOP
    rig.cycle()
    rig.stand_still(5 * rig.period)
    rig.run(1.0)
    assert rig.share_of_speed() < 0.4
    assert np.abs(rig.plant.velocity).max() < 0.05


def puma_in_motion():
    """At a millisecond a state, 0.8 s after it has set out."""
    rig = ArmRig("puma560", period=0.001)
    rig.cycle(300)
    rig.go(np.array([0.5, -0.3, 0.4, 0.5, 0.3, -0.4]), 2.0)
    rig.run(0.8)
    return rig


@pytest.mark.parametrize("late", [0.04, 0.09])
def test_a_late_cycle_in_a_stop_does_not_drive_the_arm_back(late):
    """Braking was held for 0.09 s: joint3 went back at 5 times its speed. A cycle had been as late before."""
    rig = puma_in_motion()
    rig.stand_still(late - rig.period)
    rig.run(0.3)
    begun, speed = rig.time, np.abs(rig.plant.velocity)
    rig.control.stop_at_once()
    rig.cycle(2)
    rig.stand_still(late - rig.period)
    rig.run(1.0)
    assert (np.abs(rig.column(2, begun)).max(axis=0) < 1.05 * speed + 0.01).all()
    assert np.abs(rig.plant.velocity).max() < 0.01
    assert np.abs(rig.plant.position - rig.column(1, begun)[0]).max() < 0.1


@pytest.mark.parametrize("cycles", [8, 12])
def test_a_late_cycle_in_an_emergency_stop_meets_no_stiffened_gains(cycles):
    """Its reference slows down faster than the efforts: gains rose, and 0.28 rad/s became 1.27 rad/s back."""
    rig = puma_in_motion()
    rig.stand_still(0.056)
    rig.run(0.1)
    begun, speed = rig.time, np.abs(rig.plant.velocity)
    rig.control.stop_at_once()
    rig.control.latch()
    rig.cycle(cycles)
    rig.stand_still(0.1)
    rig.run(1.0)
    assert (np.abs(rig.column(2, begun)).max(axis=0) < 1.05 * speed + 0.01).all()
    assert np.abs(rig.plant.velocity).max() < 0.01


def test_lost_states_are_no_late_cycle():
    """The safe output has replaced the last effort. The stop after it took 65 mm, down to an end stop."""
    rig = PlatformRig(stewart.load(platform_mappings()["platform_25_kg"]))
    rig.run(0.3)
    down = rig.machine.home_position - [0.0, 0.0, 0.08]
    rig.control.follow([PoseWaypoint(0.8, down.tolist(), (0.0, 0.0, 0.0, 1.0))])
    rig.run(0.36)
    rig.control.lost_states()
    for k in range(17):
        rig.plant.advance(0.01, rig.control.safe_command(0.01 * k).effort)
        rig.time += 0.01
    begun, lengths = rig.time, rig.plant.position
    assert np.abs(rig.plant.velocity).max() > 0.3
    rig.run(1.0)
    assert np.abs(rig.column(1, begun) - lengths).max() < 0.015
