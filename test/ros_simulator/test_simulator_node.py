"""The simulator node as a process of its own; this test plays the controller over DDS."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import NodeProcess, peer_with
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

pytestmark = pytest.mark.ros

PUMA = (Path(__file__).parents[2] / "urdf" / "puma560.urdf").read_text()
NAMES = [f"joint{i}" for i in range(1, 7)]
START = {"initial_joints": ["joint2", "joint3"], "initial_positions": [-0.4, 0.7]}
START_POSITION = np.array([0.0, -0.4, 0.7, 0.0, 0.0, 0.0])
PERIOD = 10_000_000


def simulator(**parameters):
    return NodeProcess("simulator", {"robot_description": PUMA, "rate": 100.0, **START, **parameters})


def test_states_are_measured_as_encoders_and_torque_sensors_do():
    step = 1e-3
    with simulator(lockstep=True, encoder_step=step, effort_noise=0.05) as node, peer_with(node) as peer:
        controller = Controller(peer)
        applied = np.array([5.0, -40.0, 20.0, 2.0, -2.0, 1.0])
        reported = []
        for _ in range(60):
            controller.step(applied)
            state = controller.states[-1]
            steps = np.array(state.position) / step
            np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
            reported.append(state.effort)
    shares = np.array(reported) / applied - 1.0
    assert 0.03 < shares.std() < 0.07 and abs(shares.mean()) < 0.02


def summary(node):
    """The figures that a simulator leaves in its log at the end."""
    return json.loads(re.search(r"summary: (\{.*\})", node.output)[1])


def latest(states):
    return np.array(states[-1].position)


class Controller:
    """Answers the states of a simulator in lockstep, when told to."""

    def __init__(self, peer):
        self.peer = peer
        self.states = []
        self.publisher = peer.node.create_publisher(JointState, "joint_command", qos.LOCKSTEP)
        peer.node.create_subscription(JointState, "joint_states", self.states.append, qos.LOCKSTEP)
        peer.wait_until(self.publisher.get_subscription_count, "no simulator")
        peer.wait_until(lambda: self.states, "no state")

    def answer(self, stamp, effort, names=NAMES):
        message = JointState(name=list(names), effort=list(map(float, effort)))
        message.header.stamp = nanoseconds_to_stamp(stamp)
        self.publisher.publish(message)

    def step(self, effort):
        """Answer the newest state and wait for the next."""
        stamp = stamp_to_nanoseconds(self.states[-1].header.stamp)
        self.answer(stamp, effort)
        self.wait_for(stamp + PERIOD)

    def wait_for_repetition(self):
        count = len(self.states)
        self.peer.wait_until(lambda: len(self.states) >= count + 2, "the state is not repeated")

    def wait_for(self, stamp):
        self.peer.wait_until(
            lambda: stamp_to_nanoseconds(self.states[-1].header.stamp) == stamp, f"no state at {stamp} ns"
        )


def test_lockstep_runs_as_its_protocol_says():
    node = simulator(lockstep=True, publish_clock=True, mass_scale=1.2)
    with peer_with(node) as peer:
        clock = peer.subscribe(Clock, "/clock", qos.CLOCK)
        controller = Controller(peer)
        states = controller.states
        first = states[0]
        assert stamp_to_nanoseconds(first.header.stamp) == PERIOD
        assert list(first.name) == NAMES
        np.testing.assert_array_equal(first.position, START_POSITION)
        np.testing.assert_array_equal(first.velocity, np.zeros(6))

        # Unanswered, the state comes again and nothing moves.
        controller.wait_for_repetition()
        assert all(state == first for state in states)

        # Neither an old stamp nor one to come moves it, nor a command that cannot be used.
        controller.answer(PERIOD - 1, np.zeros(6))
        controller.answer(PERIOD + 1, np.zeros(6))
        controller.answer(PERIOD, [np.nan] * 6)
        controller.answer(PERIOD, np.zeros(5), NAMES[:5])
        controller.wait_for_repetition()
        assert all(state == first for state in states)

        # Efforts are taken by name, and the motion is that of the arm with the faulty masses.
        model = pin.buildModelFromXML(PUMA)
        for inertia in model.inertias:
            inertia.mass *= 1.2
            inertia.inertia = inertia.inertia * 1.2
        data = model.createData()
        effort = np.array([5.0, -20.0, 3.0, 0.5, 0.2, -0.1])
        controller.answer(PERIOD, effort[::-1], NAMES[::-1])
        controller.wait_for(2 * PERIOD)
        np.testing.assert_array_equal(states[-1].effort, effort)
        q, qd = START_POSITION, np.zeros(6)
        for _ in range(1000):
            qdd = pin.aba(model, data, q, qd, effort)
            q = q + 1e-5 * (qd + 0.5e-5 * qdd)
            qd = qd + 1e-5 * qdd
        np.testing.assert_allclose(states[-1].position, q, rtol=0, atol=1e-6)
        np.testing.assert_allclose(states[-1].velocity, qd, rtol=1e-3, atol=1e-5)

        # A second answer to the same state is not taken for an answer to the next.
        controller.answer(PERIOD, effort)
        controller.wait_for_repetition()
        assert stamp_to_nanoseconds(states[-1].header.stamp) == 2 * PERIOD
        for _ in range(20):
            controller.step(np.zeros(6))
        peer.wait_until(lambda: stamp_to_nanoseconds(clock[-1].clock) == 22 * PERIOD, "the clock is behind")

        # Reset: the initial state at a new stamp, so that no answer can be mistaken.
        response = peer.call(Trigger, "simulator/reset")
        assert response.success, response.message
        controller.wait_for(23 * PERIOD)
        np.testing.assert_array_equal(states[-1].position, START_POSITION)

        # Refused: the stamp to come, the NaN, the missing joint.
        assert node.stop() == 0
        assert summary(node)["refused_commands"] == 3


def test_lockstep_does_not_depend_on_delays():
    runs = []
    for pause in (False, True):
        with peer_with(simulator(lockstep=True)) as peer:
            controller = Controller(peer)
            for k in range(15):
                if pause and k % 5 == 0:
                    controller.wait_for_repetition()
                controller.step(3.0 * np.sin(0.3 * k + np.arange(6)))
            runs.append(latest(controller.states))
    np.testing.assert_array_equal(runs[0], runs[1])


def test_wall_clock_commands_watchdog_reset_and_live_parameters():
    node = simulator(rate=200.0, command_timeout=0.5, publish_clock=True)
    with peer_with(node) as peer:
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        commands = peer.publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        peer.wait_until(lambda: len(states) > 20, "no states")

        # Without commands the brakes hold the arm.
        assert np.abs(latest(states) - START_POSITION).max() < 1e-5
        stamps = [stamp_to_nanoseconds(state.header.stamp) for state in states]
        assert all(stamp % 5_000_000 == 0 for stamp in stamps)

        # A command releases them; the efforts reported are those applied, clamped to the limits.
        commands.publish(Float64MultiArray(data=[0.0] * 5 + [1000.0]))
        peer.wait_until(lambda: states[-1].effort[5] == 21.3, "the command is not applied")

        # Bad commands are refused and the one before stays in force, until the watchdog brakes.
        commands.publish(Float64MultiArray(data=[np.nan] + [0.0] * 5))
        node.wait_for_output(
            r"command refused: it must have 6 finite efforts, of joint1.*it has \[nan.* 6 in all"
        )
        assert states[-1].effort[5] == 21.3
        peer.wait_until(lambda: "no command for" in node.output, "the watchdog sleeps")
        peer.wait_until(lambda: not np.any(states[-1].effort), "the effort is still applied")
        assert np.abs(latest(states) - START_POSITION).max() > 0.01
        peer.wait_until(lambda: np.abs(states[-1].velocity).max() < 1e-3, "the brakes do not hold")

        response = peer.call(Trigger, "simulator/reset")
        assert response.success
        peer.wait_until(lambda: np.abs(latest(states) - START_POSITION).max() < 1e-5, "the arm is not reset")

        # Parameters: live changes, and refusals with their reason.
        assert peer.set_parameter("simulator", "payload_mass", 2.5).successful
        assert "payload_inertia" in peer.set_parameter("simulator", "payload_inertia", [1.0, -1.0]).reason
        assert "gravity" in peer.set_parameter("simulator", "gravity", [0.0, 0.0, float("nan")]).reason
        assert "read-only" in peer.set_parameter("simulator", "rate", 10.0).reason
        assert "7 values" in peer.set_parameter("simulator", "rotor_inertia", [0.1] * 7).reason
        assert "joint9" in _set_start(peer, ["joint9"], [0.0]).reason
        assert "outside its limits" in _set_start(peer, ["joint2"], [9.0]).reason
        assert _set_start(peer, ["joint1"], [0.3]).successful
        assert peer.call(Trigger, "simulator/reset").success
        peer.wait_until(lambda: abs(latest(states)[0] - 0.3) < 1e-5, "the new start is not used")

        status = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        found = peer.wait_until(lambda: status and status[-1].status[0], "no diagnostics")
        assert found.message == "no command: brake"
        values = {entry.key: entry.value for entry in found.values}
        assert float(values["late_us_p50"]) >= 0.0
        assert int(values["refused commands"]) == 1

        # The brakes let go when they are no longer wanted.
        assert peer.set_parameter("simulator", "on_timeout", "zero_effort").successful
        peer.wait_until(lambda: np.abs(states[-1].velocity).max() > 0.1, "the arm does not fall")

        assert node.stop() == 0
        assert summary(node)["cycles"] > 0
        assert summary(node)["refused_commands"] == 1


def _set_start(peer, joints, positions):
    """Both parameters of the initial state in one atomic change."""
    from rcl_interfaces.srv import SetParametersAtomically
    from rclpy.parameter import Parameter

    request = SetParametersAtomically.Request()
    for name, value in (("initial_joints", joints), ("initial_positions", positions)):
        request.parameters.append(Parameter(name, value=value).to_parameter_msg())
    return peer.call(SetParametersAtomically, "simulator/set_parameters_atomically", request).result


def test_free_arm_on_timeout_falls_and_a_new_description_is_a_new_arm():
    node = NodeProcess(
        "simulator",
        {"rate": 100.0, "on_timeout": "zero_effort", "publish_description": True},
        ["-r", "__ns:=/cell"],
    )
    with peer_with(node) as peer:
        node.wait_for_output("waiting for the topic /cell/robot_description")
        states = peer.subscribe(JointState, "/cell/joint_states", qos.STATE_SUBSCRIPTION)
        descriptions = peer.publisher(String, "/cell/robot_description", qos.DESCRIPTION)
        response = peer.call(Trigger, "/cell/simulator/reset")
        assert not response.success
        assert "no robot description" in response.message

        descriptions.publish(String(data="<robot name='broken'><link name='a'>"))
        node.wait_for_output("the description on the topic robot_description is refused")
        assert not states
        descriptions.publish(String(data=PUMA))
        peer.wait_until(lambda: states, "no states")
        peer.wait_until(lambda: np.abs(latest(states)).max() > 0.05, "the arm does not fall")

        other = PUMA.replace('"joint1"', '"waist"')
        descriptions.publish(String(data=other))
        peer.wait_until(lambda: states[-1].name[0] == "waist", "the new description is not used")
        descriptions.publish(String(data="/etc/passwd"))
        node.wait_for_output("must hold the URDF itself, not a path")
        count = len(states)
        peer.wait_until(lambda: len(states) > count, "the node has stopped")
        assert states[-1].name[0] == "waist"


def test_description_of_the_parameter_is_published_for_others():
    with peer_with(simulator(publish_description=True)) as peer:
        found = peer.subscribe(String, "robot_description", qos.DESCRIPTION)
        assert peer.wait_until(lambda: found and found[0].data, "no description") == PUMA


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"robot_description": "<robot name='r'><link name='a'/>"}, r"FATAL.*\[simulator\]: .*robot"),
        ({"rate": 0.0}, "parameter 'rate' must be 1 to 2000"),
        (
            {"initial_joints": ["elbow"], "initial_positions": [0.0]},
            "names elbow; the joints of puma560 are joint1",
        ),
        ({"tip": "hand"}, "'hand' is not in robot 'puma560'"),
    ],
)
def test_what_cannot_start_says_why_in_one_line(parameters, message):
    with simulator(**parameters) as node:
        assert node.wait_for_exit() == 1
    assert re.search(message, node.output), node.output
    assert "Traceback" not in node.output


def test_locked_joints_are_held_and_take_no_effort():
    node = simulator(locked_joints=NAMES[4:], locked_positions=[0.5, -0.3], on_timeout="zero_effort")
    with peer_with(node) as peer:
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        peer.wait_until(lambda: states, "no state")
        assert list(states[-1].name) == NAMES, "the frames behind a held joint would be unknown"
        commands = peer.publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        commands.publish(Float64MultiArray(data=[1.0, 2.0, 3.0, 4.0]))
        applied = [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]
        peer.wait_until(lambda: list(states[-1].effort) == applied, "the efforts are refused")
        assert list(states[-1].position[4:]) == [0.5, -0.3]


def test_efforts_by_name_command_it_as_hardware_of_ros2_control():
    """Not a number in every effort is what ros2_control writes until a controller commands."""
    settings = {"command_message": "sensor_msgs/JointState", "command_timeout": 60.0}
    with simulator(**settings) as node, peer_with(node) as peer:
        states = peer.subscribe(JointState, "joint_states", qos.LOCKSTEP)
        commands = peer.publisher(JointState, "robot_joint_commands", qos.COMMAND)
        peer.wait_until(lambda: states, "no state")
        commands.publish(JointState(name=NAMES, effort=[float("nan")] * 6))
        commands.publish(JointState(name=NAMES[:2], effort=[0.0, 0.0]))
        node.wait_for_output("command refused: .*joint3")
        assert "nan" not in node.output and not any(states[-1].effort)
        count, given = len(states), [1.0, -30.0, 12.0, 0.5, -0.25, 0.125]
        peer.wait_until(lambda: len(states) > count, "the arm stands still")
        np.testing.assert_allclose(states[-1].position, START_POSITION, atol=1e-6)
        commands.publish(JointState(name=NAMES[::-1], effort=given[::-1]))
        peer.wait_until(lambda: list(states[-1].effort) == given, "the efforts are not applied by name")
        peer.wait_until(lambda: abs(states[-1].velocity[1]) > 1e-3, "the brakes stay closed")


def test_a_live_payload_reaches_the_plant_while_it_moves_on():
    """Drives so heavy that the posture hardly changes, so the acceleration tells the payload."""
    heavy = 5000.0
    node = simulator(rate=200.0, command_timeout=60.0, rotor_inertia=[heavy], joint_friction=False)
    with peer_with(node) as peer:
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        commands = peer.publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        commands.publish(Float64MultiArray(data=[0.0] * 6))

        def falls_with(mass):
            model = pin.buildModelFromXML(PUMA)
            tip = next(frame for frame in model.frames if frame.name == "link6")
            body = pin.Inertia(mass, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3)))
            model.appendBodyToJoint(tip.parentJoint, body, tip.placement)
            model.armature = np.full(6, heavy)
            expected = pin.aba(model, model.createData(), START_POSITION, np.zeros(6), np.zeros(6))
            if len(states) < 20:
                return False
            first, last = states[-20], states[-1]
            elapsed = stamp_to_nanoseconds(last.header.stamp) - stamp_to_nanoseconds(first.header.stamp)
            found = (np.array(last.velocity) - np.array(first.velocity)) / (1e-9 * elapsed)
            return np.allclose(found, expected, rtol=0.02, atol=1e-5)

        peer.wait_until(lambda: falls_with(0.0), "the arm does not fall")
        assert peer.set_parameter("simulator", "payload_center", [0.0, 0.0, 0.1]).successful
        assert peer.set_parameter("simulator", "payload_mass", 20.0).successful
        result = peer.set_parameter("simulator", "payload_inertia", [1.0, 0.0, 0.0, 1.0, 0.0, 3.0])
        assert not result.successful
        assert "no rigid body" in result.reason
        peer.wait_until(lambda: falls_with(20.0), "the payload does not count")
