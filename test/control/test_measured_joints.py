"""Two controllers on one robot: each knows the measured state of the joints that the other one moves."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from two_arms import JOINTS, TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.arm.laws import arm_law
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.payload import with_payload
from robot_dynamics.control.arm.trajectory import PathRules
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import ModelError, ParameterError, StateError, TrajectoryError
from robot_dynamics.model.chain import RigidBody

PERIOD = 0.002
START = np.array([0.2, 0.4, -0.5, -0.3, 0.6])
RIGHT = ["right_shoulder", "right_elbow"]
PLAIN = ArmParameters(safe_fade_time=0.0, half_period_ahead=False)
MODEL = pin.buildModelFromXML(TWO_ARMS)
DATA = MODEL.createData()
ORDER = [MODEL.joints[MODEL.getJointId(name)].idx_v for name in JOINTS]
PLACES = np.array(ORDER)


def inverse_dynamics(q, qd, qdd):
    """Pinocchio's efforts, in the order of JOINTS."""
    q, qd, qdd = (np.array(values)[np.argsort(PLACES)] for values in (q, qd, qdd))
    return pin.rnea(MODEL, DATA, q, qd, qdd)[PLACES]


def forward_dynamics(q, qd, effort):
    q, qd, effort = (np.array(values)[np.argsort(PLACES)] for values in (q, qd, effort))
    return pin.aba(MODEL, DATA, q, qd, effort)[PLACES]


def chain(tip="right_hand", measured="all"):
    return rd.load_urdf(TWO_ARMS, tip=tip, measured_joints=measured)


@pytest.fixture(scope="module")
def right():
    """The right arm, whose waist another controller moves."""
    return chain(measured=["waist"])


def test_the_joints_that_act_on_a_chain_are_measured():
    right, left = chain(measured=["waist"]), chain("left_hand", RIGHT)
    assert right.joint_names == tuple(RIGHT)
    assert right.measured_joints == ("waist",)
    assert left.joint_names == tuple(JOINTS[:3])
    assert left.measured_joints == tuple(RIGHT)
    with pytest.warns(rd.ModelWarning, match="left out: left_shoulder, left_elbow"):
        assert chain(measured=JOINTS[:3]).measured_joints == ("waist",)
    for bad, reason in [
        (["right_shoulder", "tail"], "'tail'; it must be a moving joint"),
        (["right_wrist"], "'right_wrist'; it must be a moving joint"),
        (3, "measured_joints"),
        (["waist", *RIGHT], "none is left to control"),
    ]:
        with pytest.raises(ModelError, match=reason):
            chain(measured=bad)
    with pytest.raises(ModelError, match="the chain has every joint"):
        rd.load_urdf(TWO_ARMS, tips="all", measured_joints="all")


@pytest.mark.long
def test_efforts_are_those_of_the_whole_robot(right):
    random = np.random.default_rng(3)
    left = chain("left_hand", RIGHT)
    for arm, own in [(right, [3, 4]), (left, [0, 1, 2])]:
        others = [i for i in range(5) if JOINTS[i] in arm.measured_joints]
        model = rd.compile_dynamics(arm, friction=False)
        for _ in range(5):
            q, qd, qdd = random.uniform(-1.0, 1.0, (3, 5))
            if 1 not in others + own:
                q[1:3] = qd[1:3] = qdd[1:3] = 0.0  # the left arm acts by the waist alone
            dynamics = model.with_measured(q[others], qd[others], qdd[others])
            effort = dynamics.inverse_dynamics(q[own], qd[own], qdd[own])
            np.testing.assert_allclose(effort, inverse_dynamics(q, qd, qdd)[own], rtol=1e-12, atol=1e-12)
            pin.crba(MODEL, DATA, q[np.argsort(PLACES)])
            whole = np.triu(DATA.M) + np.triu(DATA.M, 1).T
            inertia = whole[np.ix_(PLACES, PLACES)][np.ix_(own, own)]
            np.testing.assert_allclose(dynamics.mass_matrix(q[own]), inertia, rtol=1e-11, atol=1e-13)
        assert arm.dof == len(own)
    with pytest.raises(ParameterError, match="position of measured joints"):
        model.with_measured([0.0])
    with pytest.raises(ParameterError, match="has no measured joints"):
        rd.compile_dynamics(rd.load_urdf(TWO_ARMS, tip="left_hand"), friction=False).with_measured([0.0])
    with pytest.raises(ModelError, match="with measured joints"):
        model.regressor(q[own], qd[own], qdd[own])


def test_a_payload_is_in_the_whole_robot_too(right):
    loaded = with_payload(right, 1.5, [0.1, 0.0, 0.02])
    q, qd, qdd = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 2))
    live = rd.compile_dynamics(right, payload=RigidBody(1.5, np.array([0.1, 0.0, 0.02]), np.zeros((3, 3))))
    expected = live.with_measured([0.3], [0.5]).inverse_dynamics(q, qd, qdd)
    found = rd.compile_dynamics(loaded, friction=False).with_measured([0.3], [0.5])
    np.testing.assert_allclose(found.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12)


def test_a_controller_waits_for_the_measured_joints_and_reports_what_it_cannot_know(right):
    controller = ArmController(right, parameters=PLAIN)
    assert controller.measured_joints == ("waist",)
    with pytest.raises(StateError, match="no joint state yet of the measured joints waist"):
        controller.update(0.0, START[3:], np.zeros(2))
    acceleration = 3.0
    for k in range(80):  # the waist turns ever faster
        t = PERIOD * k
        controller.measured.take(t, [0.2 + 0.5 * acceleration * t * t], [acceleration * t])
        command = controller.update(t, START[3:], np.zeros(2))
    q = START.copy()
    q[0] += 0.5 * acceleration * t * t
    still, turning, unknown = np.zeros(5), np.zeros(5), np.zeros(5)
    turning[0], unknown[0] = acceleration * t, acceleration
    expected = inverse_dynamics(q, turning, still)[3:]
    np.testing.assert_allclose(command.effort, expected, rtol=1e-9)
    missed = controller.measured.missed()
    error = np.abs(inverse_dynamics(q, still, unknown) - inverse_dynamics(q, still, still))[3:]
    np.testing.assert_allclose(missed.effort, error, rtol=0.05)
    assert missed.age == 0.0
    assert not controller.measured.missed().effort.any()  # since the last call
    # With the acceleration that their own controller intends, nothing is missed.
    controller.measured.accelerate([acceleration], t + 1.0)
    t += PERIOD
    controller.measured.take(t, [0.2 + 0.5 * acceleration * t * t], [acceleration * t])
    command = controller.update(t, START[3:], np.zeros(2))
    q[0], turning[0] = 0.2 + 0.5 * acceleration * t * t, acceleration * t
    np.testing.assert_allclose(command.effort, inverse_dynamics(q, turning, unknown)[3:], rtol=1e-9)
    assert controller.measured.missed().effort.max() < 0.05 * error.max()
    # States of the measured joints stay away: they count as at rest where they were.
    for k in range(1, 200):
        command = controller.update(t + PERIOD * k, START[3:], np.zeros(2))
    np.testing.assert_allclose(command.effort, inverse_dynamics(q, still, still)[3:], rtol=1e-9)
    assert controller.measured.missed().age == pytest.approx(199 * PERIOD)


class Others:
    """The right arm's joints as the left arm's controller sees them: states go on, within limits."""

    TIMEOUT, GAP, SMOOTHING, FARTHEST, FASTEST = 0.1, 0.1, 0.02, 3.0, 10.0

    def __init__(self):
        self.states = np.array([[-np.inf, 0.0, 0.0, 0.0]] * 2)  # time, position, velocity and its rate
        self.acceleration, self.until = np.zeros(2), -np.inf

    def take(self, time, position, velocity):
        for j, (last, q0, v0, change) in enumerate(self.states):
            if np.isnan(position[j]) or 0.0 <= last - time < self.GAP:
                continue
            elapsed, q = time - last, np.clip(position[j], -self.FARTHEST, self.FARTHEST)
            share = 1.0 - np.exp(-elapsed / self.SMOOTHING) if 0.0 < elapsed < self.GAP else 0.0
            v = velocity[j]
            if np.isnan(v):
                v = v0 + share * ((q - q0) / elapsed - v0) if share else 0.0
            v = np.clip(v, -self.FASTEST, self.FASTEST)
            self.states[j] = time, q, v, change + share * ((v - v0) / elapsed - change) if share else 0.0

    def motion(self, time, half):
        last, q, v, _ = self.states.T
        age = np.maximum(0.0, time - last)
        fresh, ahead = age <= self.TIMEOUT, age + half
        a = self.acceleration * fresh * (time <= self.until)
        q, v = q + fresh * ahead * (v + 0.5 * ahead * a), fresh * (v + ahead * a)
        return np.array(
            [np.clip(q, -self.FARTHEST, self.FARTHEST), np.clip(v, -self.FASTEST, self.FASTEST), a]
        ), age.max()


@pytest.mark.parametrize("half", [0.0, 0.002])
def test_states_of_the_measured_joints_go_on_within_their_limits_and_what_they_lack_is_reported(half):
    given = {"control_period": 2.0 * half, "half_period_ahead": half > 0.0}
    controller = ArmController(chain("left_hand", RIGHT), parameters=replace(PLAIN, **given))
    others, random, time, own = Others(), np.random.default_rng(5), 0.0, START[:3]
    takes = [  # time since the last one, positions, velocities
        (0.0, [0.5, np.nan], [np.nan, np.nan]),
        (0.004, [0.51, 0.3], [np.nan, 0.2]),
        *(
            (random.uniform(0.002, 0.02), START[3:] + 0.1 * random.normal(size=2), [np.nan] * 2)
            for _ in range(8)
        ),
        *((random.uniform(0.002, 0.02), START[3:], 4.0 * random.normal(size=2)) for _ in range(8)),
        (0.05, [2.99, -2.99], [8.0, -8.0]),  # farther than their limits, while nothing else comes
        (0.09, [0.1, 0.2], [30.0, -30.0]),
        (0.11, [0.4, 0.1], [np.nan, np.nan]),  # after a gap
        (0.11, [0.3, 0.2], [1.0, -2.0]),
        (0.09, [0.3, 0.2], [0.5, -1.0]),
        (0.0, [0.9, 0.8], [0.0, 0.0]),  # not later than the last one
        (-0.05, [0.7, 0.6], [0.0, 0.0]),
        (-0.2, [0.5, 0.4], [0.1, 0.1]),  # a simulation was reset
    ]
    for k, (elapsed, position, velocity) in enumerate(takes):
        time += elapsed
        if k % 3 == 2:
            others.acceleration, others.until = random.normal(size=2), time + 0.03
            controller.measured.accelerate(others.acceleration, others.until)
        controller.measured.take(time, np.array(position), np.array(velocity))
        others.take(time, position, velocity)
        if k == 0:
            with pytest.raises(StateError, match="no joint state yet of the measured joints"):
                controller.update(time, own, np.zeros(3))
            assert controller.measured.missed().age == np.inf
            continue
        for later in (0.0, 0.013, 0.1001 if elapsed == 0.09 else 0.035):
            controller.update(time + later, own, np.zeros(3))
            expected, age = others.motion(time + later, half)
            np.testing.assert_allclose(controller.measured.motion(), expected, rtol=1e-10, atol=1e-12)
            missed, whole = controller.measured.missed(), np.array([*own, *expected[0]])
            lacks = np.array([0.0, 0.0, 0.0, *(others.states[:, 3] - expected[2])])
            error = inverse_dynamics(whole, 0.0 * whole, lacks) - inverse_dynamics(
                whole, 0.0 * whole, 0.0 * whole
            )
            np.testing.assert_allclose(missed.effort, np.abs(error[:3]), rtol=1e-7, atol=1e-9)
            assert missed.age == pytest.approx(age)
    controller.lost_states()
    assert not controller.measured.motion()[1:].any(), "without states of its own, the rest is at rest too"


def test_timeouts_and_gaps_of_measured_joints_end_at_their_own_length(right):
    """A state of 0.1 s ago counts, the next tells no velocity, and one as much earlier is a reset."""
    controller, own = ArmController(right, parameters=PLAIN), START[3:]
    controller.measured.take(0.0, [0.2], [0.5])
    controller.measured.accelerate([2.0], 0.1)
    controller.update(0.1, own, np.zeros(2))
    np.testing.assert_allclose(controller.measured.motion(), [[0.2 + 0.1 * 0.6], [0.7], [2.0]])
    controller.measured.take(0.1, [0.4])
    controller.update(0.102, own, np.zeros(2))
    np.testing.assert_array_equal(controller.measured.motion(), [[0.4], [0.0], [0.0]])
    controller.measured.take(0.0, [0.3])
    controller.update(0.104, own, np.zeros(2))
    np.testing.assert_array_equal(controller.measured.motion(), [[0.3], [0.0], [0.0]])


def test_nothing_that_is_measured_makes_an_effort_that_the_robot_cannot_need(right):
    controller = ArmController(right, parameters=PLAIN)
    for k in range(100):
        wrong = [1e300, -np.inf, np.nan, -4e9][k % 4]
        controller.measured.take(PERIOD * k, [0.2 if k == 0 else wrong], [-wrong])
        controller.measured.accelerate([0.0], 1e9)
        command = controller.update(PERIOD * k, START[3:], np.zeros(2))
        assert np.abs(command.effort).max() < 60.0
    for bad in ([np.nan], [0.0, 0.0]):
        with pytest.raises(ParameterError, match="acceleration"):
            controller.measured.accelerate(bad, 1.0)
    controller = ArmController(right, parameters=PLAIN)
    controller.measured.take(0.0, [0.2])
    controller.update(0.0, START[3:], np.zeros(2))
    with pytest.raises(TrajectoryError, match="a pose has no fixed joint positions"):
        controller.plan_pose(None, controller.plan_start(None))


def test_a_feedforward_has_the_measured_joints_where_they_are_and_reports_their_motion(right):
    arm = ActuatedArm(rd.compile_dynamics(right, friction=False), right, ActuatorParameters())
    fed = Feedforward(right, arm, FeedforwardParameters(effort_error=(1e-3,)))
    assert "no joint state yet of the measured joints waist" in fed.awaits
    waist, speed, rest = 0.7, 0.5, np.zeros(5)
    fed.measured.take(0.0, np.array([waist]), np.array([0.0]))
    fed.observe(START[3:], 0.0)
    plan = fed.plan(RIGHT, [Waypoint(1.0, (0.5, -0.4))], None, 0.0)
    assert not fed.awaits and not fed.accept(plan, 0.0)
    for k in (0, 3, -1):  # at rest where the waist is
        given = [getattr(plan.samples, name)[k] for name in ("positions", "velocities", "accelerations")]
        motion = [[still, 0.0, 0.0, *own] for still, own in zip((waist, 0.0, 0.0), given, strict=True)]
        np.testing.assert_allclose(plan.samples.efforts[k], inverse_dynamics(*motion)[3:], rtol=1e-9)
    fed.effort(0.25)
    assert fed.missed().effort.max() < 1e-9
    fed.measured.take(0.5, np.array([waist]), np.array([speed]))  # the waist turns during the trajectory
    fed.observe(START[3:], 0.5)
    reference = fed._core.reference(0.5)
    given = reference.position, reference.velocity, reference.acceleration
    motion = [[still, 0.0, 0.0, *own] for still, own in zip((waist, 0.0, 0.0), given, strict=True)]
    planned = inverse_dynamics(*motion)[3:]
    motion[1][0] = speed
    moved = inverse_dynamics(*motion)[3:]
    np.testing.assert_allclose(fed.effort(0.5), moved, rtol=1e-9)
    np.testing.assert_allclose(fed.missed().effort, np.abs(moved - planned), rtol=1e-6)
    assert not fed.missed().effort.any()
    # Efforts of the moment have the waist's motion, so nothing is missed.
    fed.parameters = FeedforwardParameters(effort_path="commands")
    fed.effort(0.51)
    assert not fed.missed().effort.any()
    held = fed.effort(9.0)  # the state of the waist is old: it counts as at rest
    place = fed._core.reference(9.0).position if fed.moving(9.0) else START[3:]
    np.testing.assert_allclose(held, inverse_dynamics([waist, 0, 0, *place], rest, rest)[3:], rtol=1e-9)


def test_a_law_in_python_has_the_measured_joints_too(right):
    @arm_law("weightless")
    def weightless(model, given):
        return model.inverse_dynamics(given.position, np.zeros(2), np.zeros(2))

    controller = ArmController(right, parameters=replace(PLAIN, mode="weightless"))
    controller.measured.take(0.0, [0.7], [0.4])
    turning = np.array([0.4, 0.0, 0.0, 0.0, 0.0])
    expected = inverse_dynamics([0.7, 0.0, 0.0, *START[3:]], turning, np.zeros(5))[3:]
    np.testing.assert_allclose(controller.update(0.0, START[3:], np.zeros(2)).effort, expected, rtol=1e-9)


def simulate(controllers, goals, given):
    """Largest error of the right arm, and the one at rest [rad]; Pinocchio moves the robot."""
    q, qd = START.copy(), np.zeros(5)
    worst = 0.0
    for k in range(700):
        t, effort = PERIOD * k, np.zeros(5)
        for controller in controllers:
            own = [JOINTS.index(name) for name in controller.chain.joint_names]
            others = [JOINTS.index(name) for name in controller.measured_joints]
            if controller.measured is not None:
                controller.measured.take(t, q[others], qd[others])
            effort[own] = controller.update(t, q[own], qd[own]).effort
            if k == 5:
                names = controller.chain.joint_names
                way = [Waypoint(1.0, tuple(goals[own]))]
                plan = controller.plan(names, way, controller.plan_start(None), PathRules(), False)
                assert not controller.accept(plan)
        if given:
            reference = controllers[0].reference(t)
            controllers[1].measured.accelerate(reference.acceleration[:1], t + 0.1)
        for _ in range(2):
            step = PERIOD / 2
            middle = qd + 0.5 * step * forward_dynamics(q, qd, effort)
            q_middle = q + 0.5 * step * qd
            q, qd = q + step * middle, qd + step * forward_dynamics(q_middle, middle, effort)
        reference = controllers[1].reference(t + PERIOD).position
        error = float(np.abs(q[3:] - reference).max())
        worst = max(worst, error)
    return worst, error


@pytest.mark.long
def test_an_arm_on_a_torso_that_another_controller_turns_follows_its_path(right):
    goals = np.array([1.1, -0.2, 0.3, 0.5, -0.4])
    left = chain("left_hand", RIGHT)
    deaf = rd.load_urdf(TWO_ARMS, root="torso", tip="right_hand")

    def errors(of_left, of_right, given=False):
        controllers = [ArmController(each, parameters=PLAIN) for each in (of_left, of_right)]
        return simulate(controllers, goals, given)

    alone = errors(rd.load_urdf(TWO_ARMS, tip="left_hand"), deaf)
    measured, given = errors(left, right), errors(left, right, True)
    assert given[0] < 0.1 * alone[0]
    assert measured[1] < 0.2 * alone[1]
