"""Trajectories of one arm beside those of the other: what is not named goes on as it was."""

import numpy as np
import pytest
from closed_loop import Loop
from two_arms import JOINTS, TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.path_rules import PathRules, TorqueCheckParameters
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

LEFT, RIGHT = ["left_shoulder", "left_elbow"], ["right_elbow", "right_shoulder"]
IDEAL = {"damping": (0.0,), "friction": (0.0,), "rotor_inertia": (0.0,)}
START = np.array([0.1, 0.4, -0.5, -0.3, 0.6])


@pytest.fixture(scope="module")
def model():
    chain = rd.load_urdf(TWO_ARMS, tips="all")
    return chain, ActuatedArm(compile_dynamics(chain, friction=False), chain, ActuatorParameters(**IDEAL))


@pytest.fixture
def loop(model):
    chain, dynamics = model
    plant = ArmPlant(chain, parameters=PlantParameters(**IDEAL))
    plant.reset(START)
    loop = Loop(ArmController(chain, dynamics, ArmParameters(half_period_ahead=False)), plant)
    loop.run(0.01)
    return loop


def indices(names):
    return [JOINTS.index(name) for name in names]


def references(control, times):
    return np.array([[*vars(control.reference(time)).values()] for time in times])


def test_both_arms_arrive_when_each_was_told_and_neither_disturbs_the_other(loop):
    control = loop.control
    left = control.follow(LEFT, [Waypoint(1.0, (-0.2, 0.3))])
    ahead = np.linspace(loop.time, loop.time + 1.2, 61)
    loop.run(0.4)
    before = references(control, ahead)
    right = control.follow(RIGHT, [Waypoint(1.0, (-0.4, 0.5))])
    after = references(control, ahead)
    other = ahead >= right.start
    assert other.any()
    kept = indices([*LEFT, "waist"])
    np.testing.assert_allclose(after[other][..., kept], before[other][..., kept], atol=1e-11)
    assert right.arrival == right.end == pytest.approx(right.start + 1.0)
    loop.run(left.end - loop.time + 0.01)
    assert control.follows(left) and control.follows(right)
    np.testing.assert_allclose(loop.plant.position[indices(LEFT)], [-0.2, 0.3], atol=1e-3)
    loop.run(right.end - loop.time + 0.1)
    goal = [START[0], -0.2, 0.3, 0.5, -0.4]
    np.testing.assert_allclose(loop.plant.position, goal, atol=5e-4)
    assert max(np.abs(loop.references - loop.positions)[:, j].max() for j in range(5)) < 5e-3
    # Without jumps: the reference moves no farther in a cycle than the fastest motion.
    assert np.abs(np.diff(loop.references, axis=0)).max() < 3.0 * loop.period


def test_a_shorter_trajectory_beside_a_longer_one_ends_by_itself_and_what_waits_stays(loop):
    control = loop.control
    later = control.follow(LEFT, [Waypoint(1.0, (0.0, 0.0))], start=loop.time + 0.8)
    short = control.follow(RIGHT, [Waypoint(0.4, (0.0, 0.0))])
    assert control.follows(later) and control.follows(short)
    assert (short.until, short.end) == (pytest.approx(short.start + 0.4), pytest.approx(later.end))
    times = np.linspace(loop.time, later.end + 0.1, 80)
    found = references(control, times)
    np.testing.assert_array_equal(found[times < later.start][:, 0][:, indices(LEFT)[0]], START[1])
    np.testing.assert_allclose(found[-1, 0], [START[0], 0.0, 0.0, 0.0, 0.0], atol=1e-12)
    assert np.abs(found[times > short.arrival][:, 1][:, indices(RIGHT)]).max() == 0.0
    # One that shares a joint takes over, and what else it had goes on.
    waist = control.follow(["waist", "left_elbow"], [Waypoint(0.5, (0.2, -0.1))])
    assert control.follows(waist) and control.follows(short) and not control.follows(later)
    assert control.reference(later.end).position == pytest.approx([0.2, 0.0, -0.1, 0.0, 0.0], abs=1e-12)
    whole = control.follow(JOINTS, [Waypoint(0.5, tuple(START))])
    assert control.follows(whole) and not control.follows(waist) and not control.follows(short)
    assert whole.joints == whole.carried == ()


@pytest.mark.long
def test_random_trajectories_leave_every_joint_alone_that_they_do_not_name(loop):
    control, rng = loop.control, np.random.default_rng(3)
    for _ in range(40):
        names = rng.permutation(JOINTS)[: rng.integers(1, 4)].tolist()
        others = [j for j in range(5) if JOINTS[j] not in names]
        count = int(rng.integers(1, 4))
        times = np.cumsum(rng.uniform(0.4, 0.8, count))
        points = [Waypoint(time, tuple(rng.uniform(-0.4, 0.4, len(names)))) for time in times.tolist()]
        start = loop.time + rng.choice([0.0, 0.0, rng.uniform(0.0, 1.0)])
        ahead = np.linspace(start, start + 4.0, 60)
        before = references(control, ahead)
        trajectory = control.follow(names, points, start)
        after = references(control, ahead)
        np.testing.assert_allclose(after[:, 0, others], before[:, 0, others], atol=1e-11)
        np.testing.assert_allclose(after[:, 1, others], before[:, 1, others], atol=1e-9)
        np.testing.assert_allclose(after[:, 2, others], before[:, 2, others], atol=2e-4)
        arrived = control.reference(trajectory.arrival).position[indices(names)]
        np.testing.assert_allclose(arrived, points[-1].positions, atol=1e-9)
        loop.run(rng.uniform(0.0, 0.3))


def test_some_joints_stop_while_the_others_go_on(loop):
    control = loop.control
    control.follow(LEFT, [Waypoint(1.0, (-0.4, 0.5))])
    right = control.follow(RIGHT, [Waypoint(1.0, (-0.4, 0.5))])
    loop.run(0.4)
    ahead = np.linspace(loop.time + 0.03, right.end, 40)
    before = references(control, ahead)
    control.hold_joints(indices(LEFT))
    after = references(control, ahead)
    kept = indices([*RIGHT, "waist"])
    np.testing.assert_allclose(after[..., kept], before[..., kept], atol=1e-9)
    assert control.follows(right)
    left = after[:, :, indices(LEFT)]
    assert np.abs(left[-1, 1]).max() == 0.0
    assert (np.abs(left[-1, 0] - before[-1, 0, indices(LEFT)]) > 0.05).all()


def test_a_chain_of_one_arm_must_name_all_joints_unless_it_is_allowed(model):
    chain = rd.load_urdf(TWO_ARMS, tip="left_hand")
    control = ArmController(chain)
    control.update(0.0, START[:3], np.zeros(3))
    with pytest.raises(TrajectoryError, match="missing joint names"):
        control.follow(LEFT, [Waypoint(1.0, (0.0, 0.0))])
    rules = PathRules(partial=True, torque=TorqueCheckParameters(torque_check="off"))
    control.follow(["waist", *LEFT], [Waypoint(1.0, (0.5, 0.0, 0.0))])
    control.update(0.002, START[:3], np.zeros(3))
    planned = control.plan(LEFT, [Waypoint(0.5, (0.2, 0.2))], control.plan_start(None), rules)
    assert control.accept(planned) == ""
    assert control.reference(2.0).position == pytest.approx([0.5, 0.2, 0.2])


def test_efforts_that_are_fed_forward_have_both_arms_in_motion(model):
    chain, dynamics = model
    feeder = Feedforward(chain, dynamics, FeedforwardParameters())
    feeder.observe(START, 0.0)
    first = feeder.plan(LEFT, [Waypoint(1.0, (-0.2, 0.3))], None, 0.0)
    assert feeder.accept(first, 0.0) == ""
    second = feeder.plan(RIGHT, [Waypoint(1.0, (-0.4, 0.5))], 0.4, 0.4)
    assert feeder.accept(second, 0.4) == ""
    for time in (0.5, 0.9, 1.2):
        reference, other = second.trajectory.sample(time), first.trajectory.sample(time)
        left = indices(LEFT)
        np.testing.assert_allclose(reference.position[left], other.position[left], atol=1e-12)
        expected = dynamics.inverse_dynamics(*vars(reference).values())
        np.testing.assert_allclose(feeder.effort(time), expected, rtol=1e-9, atol=1e-9)
