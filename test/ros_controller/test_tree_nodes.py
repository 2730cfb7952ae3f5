"""One controller, one simulator and one model for both arms of a robot, each node a process of its own."""

import json
import re

import numpy as np
import pinocchio as pin
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_arms import JOINTS, TIPS, TWO_ARMS

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

pytestmark = pytest.mark.ros

CONTROLLER = "computed_torque_controller"
START = [0.2, 0.4, -0.5, -0.3, 0.6]
GOAL = [0.2, -0.2, 0.3, 0.5, -0.4]
COMMON = {"robot_description": TWO_ARMS, "tips": ["all"], "lockstep": True}
LOAD = (0.8, [0.05, 0.0, -0.1])
CARRIED = {"payload.left_hand.mass": LOAD[0], "payload.left_hand.center": LOAD[1]}
SIMULATED = {**COMMON, "initial_joints": JOINTS, "initial_positions": START, "rate": 250.0}


def weight(position, **loads):
    """Pinocchio's static efforts in the order of JOINTS, with point masses at the named tips."""
    model = pin.buildModelFromXML(TWO_ARMS)
    for tip, (mass, center) in loads.items():
        frame = model.frames[model.getFrameId(tip)]
        body = pin.Inertia(mass, np.array(center), np.zeros((3, 3)))
        model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
    index = [model.joints[model.getJointId(name)].idx_q for name in JOINTS]
    q = np.zeros(model.nq)
    q[index] = position
    return pin.rnea(model, model.createData(), q, np.zeros(model.nv), np.zeros(model.nv))[index]


def trajectory(names, positions, seconds):
    point = JointTrajectoryPoint(positions=positions)
    point.time_from_start.nanosec = round(seconds * 1e9)
    return JointTrajectory(joint_names=list(names), points=[point])


def frames(messages):
    return {message.header.frame_id for message in messages}


@pytest.mark.long
def test_one_controller_holds_and_moves_both_arms():
    gains = {"safe_fade_time": 0.0, "half_period_ahead": False}
    with (
        NodeProcess(CONTROLLER, {**COMMON, **CARRIED, **gains}) as controller,
        NodeProcess("simulator", {**SIMULATED, **CARRIED}) as simulator,
        peer_with(controller, simulator) as peer,
    ):
        commands = peer.subscribe(JointState, "joint_command", qos.LOCKSTEP)
        states = peer.subscribe(JointState, "joint_states", qos.LOCKSTEP)
        wrenches = peer.subscribe(WrenchStamped, f"{CONTROLLER}/external_wrench", qos.LOCKSTEP)
        peer.wait_until(lambda: commands and states, "nothing is controlled")
        assert list(commands[-1].name) == JOINTS == list(states[-1].name)
        expected = weight(START, left_hand=LOAD)
        np.testing.assert_allclose(commands[0].effort, expected, rtol=1e-9, atol=1e-9)
        peer.wait_until(lambda: frames(wrenches) >= set(TIPS), "no wrench at each tip")
        send = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory", qos.TRAJECTORY)
        # One trajectory for each arm, side by side.
        send.publish(trajectory(JOINTS[1:3], GOAL[1:3], 0.8))
        send.publish(trajectory(JOINTS[3:], GOAL[3:], 0.7))
        controller.wait_for_output("following a trajectory of 1 points for 0.800 s")
        controller.wait_for_output("following a trajectory of 1 points for 0.700 s")
        began = stamp_to_nanoseconds(states[-1].header.stamp)

        def arrived():
            after = stamp_to_nanoseconds(states[-1].header.stamp) - began
            return after > 1.0e9 and np.abs(np.array(states[-1].position) - GOAL).max() < 2e-4

        peer.wait_until(arrived, "the arms do not arrive")
        assert np.abs(states[-1].velocity).max() < 1e-2
        np.testing.assert_allclose(commands[-1].effort, weight(GOAL, left_hand=LOAD), atol=0.2)


def test_a_reference_of_measured_joints_before_the_first_state_is_no_fault():
    reference = "/left/reference"
    own = {"tip": "right_hand", "measured_joints": ["waist"], "measured_reference": reference}
    with (
        NodeProcess(CONTROLLER, {"robot_description": TWO_ARMS, "lockstep": True, **own}) as node,
        peer_with(node) as peer,
    ):
        node.wait_for_output("kp times inertia")  # it is active
        send = peer.publisher(JointState, reference, qos.COMMAND)
        state = peer.publisher(JointState, "joint_states", qos.LOCKSTEP)
        commands = peer.subscribe(JointState, "joint_command", qos.LOCKSTEP)
        peer.wait_until(
            lambda: send.get_subscription_count() and state.get_subscription_count(), "nobody listens"
        )
        for _ in range(5):  # those before the node has found the sender are lost
            send.publish(JointState(name=["waist"], position=[0.2], velocity=[0.1]))
            # The answer comes from the thread that the reference comes to, after it.
            assert peer.set_parameter(CONTROLLER, "payload_mass", 0.0).successful
        state.publish(JointState(name=JOINTS, position=START, velocity=[0.0] * 5))
        peer.wait_until(lambda: commands, "the state is not answered")
        assert list(commands[0].name) == JOINTS[3:] and "fault of the running node" not in node.output


def test_two_controllers_of_one_robot_know_each_others_joints():
    """MuJoCo moves the robot; one controller has the waist and the left arm, the other one the right arm."""
    left, right = JOINTS[:3], JOINTS[3:]
    shared = {"robot_description": TWO_ARMS, "lockstep": True, "safe_fade_time": 0.0}
    remaps = ["-r", "joint_states:=/joint_states", "-r", "joint_command:=/joint_command"]
    of_left = {**shared, "tip": "left_hand", "measured_joints": right}
    reference = f"/left/{CONTROLLER}/reference"
    of_right = {**shared, "tip": "right_hand", "measured_joints": ["waist"], "measured_reference": reference}
    with (
        NodeProcess(CONTROLLER, of_left, ["-r", "__ns:=/left", *remaps]) as one,
        NodeProcess(CONTROLLER, of_right, ["-r", "__ns:=/right", *remaps]) as other,
        NodeProcess("simulator", SIMULATED) as simulator,
        peer_with(one, other, simulator) as peer,
    ):
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        states = peer.subscribe(JointState, "joint_states", qos.LOCKSTEP)
        commands = peer.subscribe(JointState, "joint_command", qos.LOCKSTEP)
        peer.wait_until(lambda: len(states) > 5 and commands, "nothing is controlled")
        goal = [1.0, *GOAL[1:]]
        for side, names, places in [("left", left, goal[:3]), ("right", right, goal[3:])]:
            send = peer.publisher(JointTrajectory, f"{side}/{CONTROLLER}/joint_trajectory", qos.TRAJECTORY)
            send.publish(trajectory(names, places, 0.8))

        def arrived():
            last = states[-1]
            near = np.abs(np.array(last.position) - goal).max() < 0.02
            return near and np.abs(last.velocity).max() < 1e-3

        peer.wait_until(arrived, "the arms do not arrive")
        assert {tuple(message.name) for message in commands} == {tuple(left), tuple(right)}

        def told():
            found = [{v.key: v.value for v in report.status[0].values} for report in reports]
            of_right = [values for values in found if values.get("measured joints") == "waist"]
            return next((v for v in of_right if v["age of measured joints [s]"] != "inf"), None)

        values = peer.wait_until(told, "the measured joints are not reported")
        assert float(values["age of measured joints [s]"]) == 0.0
        assert len(values["effort of unknown accelerations [Nm or N]"].split(", ")) == 2


def test_the_feedforward_of_an_arm_knows_the_torso_that_another_controller_turns():
    options = {"robot_description": TWO_ARMS, "tip": "right_hand", "measured_joints": ["waist"]}
    with NodeProcess("trajectory_feedforward", options) as node, peer_with(node) as peer:
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        send = peer.publisher(JointTrajectory, "trajectory_feedforward/joint_trajectory", qos.TRAJECTORY)
        sent = peer.subscribe(JointTrajectory, "joint_trajectory_controller/joint_trajectory", qos.TRAJECTORY)
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        own = JointState(name=JOINTS[3:], position=START[3:])

        def told(value):
            states.publish(own)
            return any(value in report.status[0].message for report in reports)

        peer.wait_until(lambda: told("no joint state yet of the measured joints waist"), "not told")
        whole = JointState(name=JOINTS, position=[0.7, *START[1:]], velocity=[0.0] * 5)

        def planned():
            states.publish(whole)
            if not sent:
                send.publish(trajectory(JOINTS[3:], GOAL[3:], 0.5))
            return sent

        peer.wait_until(planned, "nothing is sent")
        expected = weight([0.7, 0.0, 0.0, *GOAL[3:]])[3:]
        np.testing.assert_allclose(sent[-1].points[-1].effort, expected, rtol=1e-9)


def test_the_model_of_a_tree_has_a_table_for_each_arm():
    with (
        NodeProcess(
            "robot_model",
            {**COMMON, **CARRIED, "load_period": 0.0},
        ) as node,
        peer_with(node) as peer,
    ):
        tables = peer.subscribe(String, "robot_model/dh_table_json", qos.DESCRIPTION)
        text = peer.subscribe(String, "robot_model/dh_table", qos.DESCRIPTION)
        properties = peer.subscribe(String, "robot_model/properties_json", qos.DESCRIPTION)
        loads = peer.subscribe(JointState, "robot_model/gravity_load", qos.RECORDING)
        told = peer.subscribe(ParameterEvent, "robot_model/live_parameters", qos.DESCRIPTION)
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        peer.wait_until(lambda: tables and text and properties, "no tables")
        found = json.loads(tables[-1].data)
        assert [table["tip"] for table in found] == TIPS == json.loads(properties[-1].data)["tips"]
        assert found[1]["joint_names"] == ["waist", "right_shoulder", "right_elbow"]
        assert all(f"-> {tip}" in text[-1].data for tip in TIPS)
        message = JointState(name=JOINTS[::-1], position=START[::-1])

        def loaded(**carried):
            def there():
                states.publish(message)
                return loads and np.allclose(loads[-1].effort, weight(START, **carried), rtol=1e-9, atol=1e-9)

            peer.wait_until(there, "no load with that payload")

        loaded(left_hand=LOAD)
        assert peer.set_parameter("robot_model", "payload.right_hand.mass", 1.5).successful
        loaded(left_hand=LOAD, right_hand=(1.5, np.zeros(3)))
        peer.wait_until(lambda: told[-1].changed_parameters[-3].value.double_value == 1.5, "not told")
        assert told[-1].changed_parameters[-3].name == "payload.right_hand.mass"
        for name, value, reason in [
            ("payload.right_hand.center", [9.0, 0.0, 0.0], "farther|m from the tip"),
            ("payload.right_hand.mass", -1.0, "out of range"),
            ("payload_mass", 1.0, "is for one tip.*set 'payload.left_hand.mass'"),
        ]:
            answer = peer.set_parameter("robot_model", name, value)
            assert not answer.successful and re.search(reason, answer.reason), answer.reason


def test_a_payload_of_a_tip_that_is_not_there_is_refused():
    node = NodeProcess("robot_model", {**COMMON, "payload.hand.mass": 1.0})
    with peer_with(node):
        node.wait_for_output("names the payload of 'hand'; the tips are left_hand, right_hand")
