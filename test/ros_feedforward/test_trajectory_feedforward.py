"""The feeder as a process of its own; the test plays the robot and its joint_trajectory_controller."""

import itertools
import math

import numpy as np
import pinocchio as pin
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import Lifecycle, NodeProcess, peer_with
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.dynamics.friction import STICTION_VELOCITY
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

pytestmark = pytest.mark.ros

NODE = "trajectory_feedforward"
NAMES = ["shoulder", "elbow"]
SECOND = 1_000_000_000
DAMPING, FRICTION, ROTOR = 0.4, 1.5, 0.2
ARM = """<robot name="two"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <dynamics damping="0.4" friction="1.5"/><limit lower="-3" upper="3" effort="40" velocity="5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <dynamics damping="0.4" friction="1.5"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="20" velocity="5"/></joint></robot>"""
MODEL = pin.buildModelFromXML(ARM)
DATA = MODEL.createData()


def effort(q, qd, qdd, gravity=True):
    """Pinocchio's efforts of the links and the textbook's of the drives."""
    q, qd, qdd = (np.array(values, dtype=float) for values in (q, qd, qdd))
    links = pin.rnea(MODEL, DATA, q, qd, qdd)
    if not gravity:
        links = links - pin.computeGeneralizedGravity(MODEL, DATA, q)
    slow = np.clip(np.asarray(qd) / STICTION_VELOCITY, -1.0, 1.0)
    return links + ROTOR * qdd + DAMPING * qd + FRICTION * (1.5 * slow - 0.5 * slow**3)


class Robot:
    def __init__(self, peer, commands=False):
        self.peer = peer
        self.states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        topic = "joint_trajectory_controller/joint_trajectory"
        self.sent = peer.subscribe(JointTrajectory, topic, qos.TRAJECTORY)
        self.input = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        self.commands = (
            peer.subscribe(Float64MultiArray, "effort_controller/commands", qos.RECORDING) if commands else []
        )
        self.position = [0.0, 0.0]

    def now(self):
        return self.peer.node.get_clock().now().nanoseconds

    def be(self, position):
        self.position = list(position)
        self.states.publish(JointState(name=NAMES[::-1], position=self.position[::-1]))

    def give(self, message):
        """Send a trajectory once the node has seen a state, and return what it sends on."""
        count = len(self.sent)
        self.be(self.position)
        self.input.publish(message)

        def answered():
            self.be(self.position)
            return len(self.sent) > count

        self.peer.wait_until(answered, "no trajectory was sent on")
        return self.sent[-1]


def feeder(**parameters):
    drives = {"rotor_inertia": [ROTOR], "state_timeout": 60.0, "safe_fade_time": 0.3}
    return NodeProcess(NODE, {"robot_description": ARM, **drives, **parameters})


def started(peer, commands=False):
    robot = Robot(peer, commands)
    reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)

    def ready():
        robot.be([0.0, 0.0])
        return reports and reports[-1].status[0].message == "ready"

    peer.wait_until(ready, "the node does not become ready")
    return robot


def trajectory(points, names=NAMES, stamp=0):
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = nanoseconds_to_stamp(stamp)
    for seconds, positions in points:
        point = JointTrajectoryPoint(positions=[float(p) for p in positions])
        point.time_from_start.sec = math.floor(seconds)
        point.time_from_start.nanosec = round((seconds % 1) * SECOND)
        message.points.append(point)
    return message


def times(message):
    return np.array([1e-9 * stamp_to_nanoseconds(point.time_from_start) for point in message.points])


def ends(message):
    return stamp_to_nanoseconds(message.header.stamp) + stamp_to_nanoseconds(
        message.points[-1].time_from_start
    )


def column(message, field):
    return np.array([getattr(point, field) for point in message.points])


def holds(message, position):
    """One point at rest where the arm is, with what carries it there."""
    points = message.points
    return (
        len(points) == 1
        and np.allclose(points[0].positions, position)
        and not any(points[0].velocities)
        and np.allclose(points[0].effort, effort(position, [0.0, 0.0], [0.0, 0.0]))
    )


def assert_interpolates(message, tolerance, gravity=True):
    """Quintics between the points, straight lines between the efforts: as the controller would do it."""
    t, u = times(message), column(message, "effort")
    state = [column(message, field) for field in ("positions", "velocities", "accelerations")]
    worst = np.zeros(2)
    for k in range(len(t) - 1):
        h = t[k + 1] - t[k]
        rows = []
        for s in (0.0, h):
            rows += [[s**i for i in range(6)], [i * s ** max(i - 1, 0) for i in range(6)]]
            rows += [[i * (i - 1) * s ** max(i - 2, 0) for i in range(6)]]
        values = [state[d][k + e] for e in (0, 1) for d in range(3)]
        c = np.linalg.solve(np.array(rows), np.array(values))
        for share in (0.13, 0.5, 0.81):
            s = share * h
            powers = np.array([s**i for i in range(6)])
            first = np.array([i * s ** max(i - 1, 0) for i in range(6)])
            second = np.array([i * (i - 1) * s ** max(i - 2, 0) for i in range(6)])
            exact = effort(powers @ c, first @ c, second @ c, gravity)
            worst = np.maximum(worst, np.abs(u[k] + share * (u[k + 1] - u[k]) - exact))
    assert np.all(worst <= tolerance), worst
    return worst


def test_points_carry_the_models_efforts_within_the_stated_error():
    with feeder(effort_error_share=0.005) as node, peer_with(node) as peer:
        robot = started(peer)
        robot.position = [0.2, -0.1]
        before = robot.now()
        sent = robot.give(trajectory([(0.6, [0.8, -0.6]), (1.2, [0.1, 0.5])]))
        assert list(sent.joint_names) == NAMES
        # It begins with what is under way, so that the controller may take it up before it departs.
        assert before < stamp_to_nanoseconds(sent.header.stamp) < robot.now()
        lead = times(sent)[-1] - 1.2
        assert 0.02 < lead < 10.0
        np.testing.assert_allclose([sent.points[k].positions for k in (0, 1)], [[0.2, -0.1]] * 2)
        np.testing.assert_allclose(sent.points[-1].positions, [0.1, 0.5], atol=1e-9)
        assert times(sent)[0] == 0.0
        assert times(sent)[1] == pytest.approx(lead, abs=1e-8)
        assert np.any(np.abs(times(sent) - lead - 0.6) < 1e-4), "a waypoint was left out"
        assert np.all(np.diff(times(sent)) > 0.0)
        assert not any(sent.points[-1].velocities)
        worst = assert_interpolates(sent, 0.005 * np.array([40.0, 20.0]))
        assert np.any(worst > 0.0005 * np.array([40.0, 20.0])), "far more points than needed"

        # Live: a coarser error for the same path, and a robot that carries its own weight.
        def held(as_wanted=lambda message: holds(message, [0.2, -0.1])):
            peer.wait_until(
                lambda: peer.call(Trigger, f"{NODE}/hold") and as_wanted(robot.sent[-1]),
                "the controller is not told to hold",
            )

        held()
        assert peer.set_parameter(NODE, "effort_error", [1.0]).successful
        coarse = robot.give(trajectory([(0.6, [0.8, -0.6]), (1.2, [0.1, 0.5])]))
        assert len(coarse.points) < len(sent.points)
        held()
        assert peer.set_parameter(NODE, "robot_compensates_gravity", True).successful

        def light():
            filled = robot.give(trajectory([(1.0, [0.8, -0.6])]))
            held(lambda message: len(message.points) == 1)
            return np.allclose(filled.points[0].effort, 0.0, atol=1e-9) and filled

        assert_interpolates(peer.wait_until(light, "gravity is still in the efforts"), 1.0, gravity=False)


def test_a_new_trajectory_continues_the_old_one_without_a_jump():
    with feeder() as node, peer_with(node) as peer:
        robot = started(peer)
        begin = robot.now() + SECOND
        first = robot.give(trajectory([(20.0, [1.0, -1.0])], stamp=begin))
        assert stamp_to_nanoseconds(first.header.stamp) < begin
        assert ends(first) == begin + 20 * SECOND
        peer.wait_until(lambda: robot.now() > begin + SECOND // 5, "time stands still")
        second = robot.give(trajectory([(2.0, [0.0, 0.5])]))
        at = 1e-9 * (stamp_to_nanoseconds(second.header.stamp) - begin)
        s = at / 20.0
        q = np.array([1.0, -1.0]) * (10 * s**3 - 15 * s**4 + 6 * s**5)
        qd = np.array([1.0, -1.0]) * (30 * s**2 - 60 * s**3 + 30 * s**4) / 20.0
        assert at > 0.2
        np.testing.assert_allclose(second.points[0].positions, q, atol=1e-7)
        np.testing.assert_allclose(second.points[0].velocities, qd, atol=1e-7)
        # On an empty one the reference slows down on its path, from its velocity and with its efforts.
        goes = ends(second) - 2 * SECOND + SECOND // 3
        places = itertools.cycle([0.0, 0.01])

        def after(condition):
            """Of an arm that moves."""
            robot.be([0.0, next(places)])
            return condition()

        peer.wait_until(lambda: after(lambda: robot.now() > goes), "time stands still")
        robot.input.publish(JointTrajectory())
        stop = peer.wait_until(lambda: robot.sent[-1] is not second and robot.sent[-1], "it does not stop")
        begin = stamp_to_nanoseconds(stop.header.stamp) - stamp_to_nanoseconds(second.header.stamp)
        since = times(second) - 1e-9 * begin
        before = int(np.flatnonzero(since <= 0.0)[-1])
        first, last = stop.points[0], stop.points[-1]
        assert first.velocities[1] > 0.01
        low, high = (second.points[k].positions[1] for k in (before, before + 1))
        assert low - 1e-9 <= first.positions[1] <= high + 1e-9
        assert (np.diff(column(stop, "positions")[:, 1]) > -1e-9).all()
        assert not np.any(last.velocities)
        np.testing.assert_allclose(last.accelerations, 0.0, atol=1e-9)
        assert times(stop)[-1] < 1.0
        assert_interpolates(stop, 0.01 * np.array([40.0, 20.0]))
        # The arm goes on, because its controller has refused the stop: it is held where it is.
        peer.wait_until(lambda: after(lambda: robot.sent[-1] is not stop), "the arm is not held")
        node.wait_for_output("the arm moves on after its stop, which the controller has not taken")
        (held,) = robot.sent[-1].points
        assert held.positions[1] in (0.0, 0.01)
        assert not any(held.velocities)


def test_what_cannot_be_followed_is_refused_with_its_reason():
    weak = ARM.replace('effort="40"', 'effort="15"')
    with feeder(torque_check="refuse", robot_description=weak) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.input.publish(trajectory([(1.0, [0.1, 0.1])]))
        node.wait_for_output("trajectory refused: there is no joint state yet")
        robot.be([0.0, 0.0])
        robot.give(trajectory([(2.0, [0.1, 0.1])]))
        peer.set_parameter(NODE, "tested_velocity", [0.01, 1.0])
        for _ in range(2):
            robot.give(trajectory([(2.0, [0.1, 0.1])]))
        node.wait_for_output("not identified for this trajectory: shoulder moves at")
        assert node.output.count("was not identified") == 1
        count = len(robot.sent)
        for bad, reason in [
            (trajectory([(1.0, [0.5])], ["shoulder"]), "missing joint names .*elbow"),
            (trajectory([(1.0, [0.5, 9.0])]), "outside its limits"),
            (trajectory([(1.0, [0.5, math.nan])]), "not finite"),
            (trajectory([(0.4, [1.0, 0.0])]), "'shoulder' needs .* limit is 15"),
            (trajectory([(1.0, [0.5, 0.5])], stamp=1), "in the past"),
        ]:
            robot.input.publish(bad)
            node.wait_for_output(f"trajectory refused: .*{reason}")
        assert len(robot.sent) == count
        assert not peer.set_parameter(NODE, "effort_error", [1.0, 1.0, 1.0]).successful
        assert not peer.set_parameter(NODE, "effort_error", [0.0]).successful
        assert not peer.set_parameter(NODE, "effort_path", "commands").successful
        assert not peer.set_parameter(NODE, "payload_mass", -1.0).successful
        assert not peer.set_parameter(NODE, "friction", [1.0, 1.0, 1.0]).successful


def test_efforts_go_on_the_command_topic_in_time_where_the_controller_refuses_them():
    with feeder(effort_path="commands", command_rate=100.0) as node, peer_with(node) as peer:
        robot = started(peer, commands=True)
        idle = effort([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
        peer.wait_until(
            lambda: robot.commands and np.allclose(robot.commands[-1].data, idle), "no holding effort"
        )
        sent = robot.give(trajectory([(0.4, [0.3, -0.3])]))
        assert all(len(point.effort) == 0 for point in sent.points)
        assert len(sent.points) == 3, "the path's ends, and what leads to it"
        assert stamp_to_nanoseconds(sent.header.stamp) > 0
        # Every effort on the way is the model's at some moment of the path; the last holds where the arm is.
        begun = len(robot.commands)
        robot.be([0.3, -0.3])
        rest = effort([0.3, -0.3], [0.0, 0.0], [0.0, 0.0])
        peer.wait_until(lambda: robot.now() > ends(sent), "the clock stands")
        peer.wait_until(lambda: np.allclose(robot.commands[-1].data, rest), "no holding effort at the end")
        moments = np.linspace(0.0, 1.0, 4001)[:, None]
        goal = np.array([[0.3, -0.3]])
        q = goal * (10 * moments**3 - 15 * moments**4 + 6 * moments**5)
        qd = goal * (30 * moments**2 - 60 * moments**3 + 30 * moments**4) / 0.4
        qdd = goal * (60 * moments - 180 * moments**2 + 120 * moments**3) / 0.16
        path = np.array([effort(*state) for state in zip(q, qd, qdd, strict=True)])
        on_the_way = [np.array(c.data) for c in robot.commands[begun:] if not np.allclose(c.data, rest)]
        assert on_the_way
        for command in on_the_way:
            near = np.abs(path - command).max(axis=1).min()
            assert near < 0.1 or np.allclose(command, idle), command
        lifecycle = Lifecycle(peer, NODE)
        assert lifecycle.change(lifecycle.DEACTIVATE)
        peer.wait_until(lambda: not np.any(robot.commands[-1].data), "deactivate does not fade to zero")


@pytest.mark.long
def test_a_simulation_in_a_pause_is_fed_and_one_without_a_clock_is_not():
    with feeder(use_sim_time=True, state_timeout=0.1) as node, peer_with(node) as peer:
        robot, clock = Robot(peer), peer.publisher(Clock, "/clock", qos.CLOCK)
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)

        def told(reason, act):
            reports.clear()

            def met():
                act()
                return reports and reports[-1].status[0].message == reason

            peer.wait_until(met, f"no diagnostics: {reason}")

        def at(seconds):
            state = JointState(name=NAMES, position=robot.position)
            state.header.stamp = nanoseconds_to_stamp(round(1e9 * seconds))
            robot.states.publish(state)

        def tell(seconds):
            clock.publish(Clock(clock=nanoseconds_to_stamp(round(1e9 * seconds))))

        told("there is no /clock, which use_sim_time asks for", lambda: at(5.0))
        told("ready", lambda: (tell(5.0), at(5.08)))
        # The clock was late: it catches up with the states, and then the simulation pauses.
        told("ready", lambda: tell(5.15))
        robot.input.publish(trajectory([(0.5, [0.1, 0.1])]))
        peer.wait_until(lambda: robot.sent, "no trajectory is sent on in a pause")
        told("no joint state for 0.1 s", lambda: tell(5.5))
        told("ready", lambda: (tell(6.5), at(6.5)))
        told("joint states go on while /clock has stood still", lambda: at(8.0))
        # A clock that was set back counts on from there.
        told("ready", lambda: (tell(2.0), at(2.0)))
        tenths = itertools.count(10)
        told("no joint state for 0.1 s", lambda: tell(0.1 * next(tenths)))


def test_an_interrupt_before_the_first_joint_state_ends_the_node():
    with feeder(effort_path="commands") as node:
        with peer_with(node) as peer:
            peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        assert node.stop() == 0
