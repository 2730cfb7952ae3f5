"""The node robot_model as a process of its own, and the live model that every node shares."""

import json
import re

import numpy as np
import pinocchio as pin
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from reports import OK, WARN, Report
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from robot_dynamics.control.arm.payload import inertia_matrix
from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros

NODE = "robot_model"
ARM = """<robot name="two"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="hand"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="40" velocity="5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="5" velocity="5"/></joint>
  <joint name="wrist" type="fixed"><parent link="lower"/><child link="hand"/>
    <origin xyz="0.3 0 0" rpy="0 0.5 0"/></joint></robot>"""
Q = [0.3, -0.4]
CENTER, INERTIA = [0.0, 0.1, 0.05], [0.01, 0.0, 0.0, 0.02, 0.0, 0.015]


def load(mass=0.0, gravity=(0.0, 0.0, -9.81)):
    """Pinocchio's static efforts with the payload appended at the hand."""
    model = pin.buildModelFromXML(ARM)
    model.gravity.linear = np.array(gravity)
    hand = model.frames[model.getFrameId("hand")]
    body = pin.Inertia(mass, np.array(CENTER), inertia_matrix(INERTIA))
    model.appendBodyToJoint(hand.parentJoint, body, hand.placement)
    return pin.rnea(model, model.createData(), np.array(Q), np.zeros(2), np.zeros(2))


class Listener:
    def __init__(self, peer):
        self.peer = peer
        self.states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        self.loads = peer.subscribe(JointState, f"{NODE}/gravity_load", qos.RECORDING)

    def wait_for(self, expected, what, meanwhile=lambda: None):
        def there():
            meanwhile()
            self.states.publish(JointState(name=["elbow", "shoulder"], position=[Q[1], Q[0]]))
            return self.loads and np.allclose(self.loads[-1].effort, expected, rtol=1e-9, atol=1e-9)

        self.peer.wait_until(there, what)


def test_table_and_load_follow_what_changes_live():
    parameters = {"robot_description": ARM, "payload_center": CENTER, "load_period": 0.0}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        text = peer.subscribe(String, f"{NODE}/dh_table", qos.DESCRIPTION)
        document = peer.subscribe(String, f"{NODE}/dh_table_json", qos.DESCRIPTION)
        peer.wait_until(lambda: text and document, "no table for a late subscriber")
        assert "shoulder" in text[-1].data
        table = json.loads(document[-1].data)
        assert table["convention"] == "modified"
        assert [row["joint"] for row in table["rows"]] == ["shoulder", "elbow"]
        assert table["rows"][1]["a"] == pytest.approx(0.4)
        assert peer.set_parameter(NODE, "dh_convention", "standard").successful
        peer.wait_until(lambda: json.loads(document[-1].data)["convention"] == "standard", "old convention")

        listener = Listener(peer)
        listener.wait_for(load(), "no load of gravity")
        assert peer.set_parameter(NODE, "payload_inertia", INERTIA).successful
        assert peer.set_parameter(NODE, "payload_mass", 1.7).successful
        listener.wait_for(load(1.7), "the payload does not count")
        tilted = [3.0, 0.0, -9.0]
        assert peer.set_parameter(NODE, "gravity", tilted).successful
        listener.wait_for(load(1.7, tilted), "the tilt does not count")
        answer = peer.call(SetBool, f"{NODE}/robot_compensates_gravity", SetBool.Request(data=True))
        assert answer.success
        listener.wait_for([0.0, 0.0], "the robot's own compensation does not count")
        answer = peer.call(SetBool, f"{NODE}/robot_compensates_gravity", SetBool.Request(data=False))
        listener.wait_for(load(1.7, tilted), "the load does not come back")
        for name, value, reason in [
            ("payload_mass", -1.0, ""),
            ("payload_inertia", [1.0, 0.0, 0.0, 1.0, 0.0, 3.0], "no rigid body"),
            ("payload_center", [0.0], "must have 3"),
            ("gravity", [0.0, 1.0], "must have 3"),
            ("dh_convention", "craig", "modified"),
        ]:
            result = peer.set_parameter(NODE, name, value)
            assert not result.successful, name
            assert reason in result.reason
        listener.wait_for(load(1.7, tilted), "a refused value has changed the load")
        printed = peer.call(Trigger, f"{NODE}/print")
        assert printed.success
        assert "standard" in printed.message
        count = len(text)
        assert peer.call(Trigger, f"{NODE}/publish").success
        peer.wait_until(lambda: len(text) > count, "not published again")


def test_an_odd_description_is_used_with_warnings_and_a_bad_one_is_refused():
    with NodeProcess(NODE) as node, peer_with(node) as peer:
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        assert not peer.call(Trigger, f"{NODE}/print").success
        describe.publish(String(data=ARM.replace('type="revolute"', 'type="floating"')))
        node.wait_for_output("refused: .*floating")
        describe.publish(String(data=ARM.replace('effort="5" velocity="5"', 'effort="5" velocity="0"')))
        node.wait_for_output("robot description: .*elbow")

        def warned():
            status = [r.status[0] for r in reports if "odd" in r.status[0].message]
            return status and status[-1]

        status = peer.wait_until(warned, "no diagnostic about the description")
        assert status.level == DiagnosticStatus.WARN
        assert any("elbow" in value.value for value in status.values)


def test_gravity_comes_from_the_imu_where_it_is_asked_for():
    parameters = {"robot_description": ARM, "gravity_from_imu": True, "imu_time_constant": 0.0}
    parameters |= {"imu_roll_pitch_yaw": [3.141592653589793, 0.0, 0.0], "load_period": 0.0}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        listener = Listener(peer)
        listener.wait_for(load(), "gravity of the parameter until the first sample")
        imu = peer.publisher(Imu, "imu", qos.STATE_PUBLISHER)
        sample = Imu()
        # Upside down: what the sensor feels upwards along its -z is upwards along the root's z.
        sample.linear_acceleration.x, sample.linear_acceleration.z = -4.0, -8.95
        tilted = load(gravity=(4.0, 0.0, -8.95))
        # The node takes samples as best effort: one alone may get lost.
        listener.wait_for(tilted, "the tilt is not seen", lambda: imu.publish(sample))
        sample.linear_acceleration.z = 30.0

        def refused():
            imu.publish(sample)
            return re.search("imu ignored: .*30", node.output)

        peer.wait_until(refused, "a jolt was taken for gravity")
        listener.wait_for(tilted, "a jolt was taken for gravity")
        result = peer.set_parameter(NODE, "gravity", [0.0, 0.0, 9.81])
        assert not result.successful
        assert "gravity_from_imu" in result.reason


def test_locked_joints_are_part_of_the_link_above_them():
    """The elbow locked at 0.6 rad: Pinocchio's reduced model."""
    parameters = {"robot_description": ARM, "locked_joints": ["elbow"], "locked_positions": [0.6]}
    with NodeProcess(NODE, {**parameters, "load_period": 0.0}) as node, peer_with(node) as peer:
        document = peer.subscribe(String, f"{NODE}/dh_table_json", qos.DESCRIPTION)
        peer.wait_until(lambda: document, "no table")
        assert [row["joint"] for row in json.loads(document[-1].data)["rows"]] == ["shoulder"]
        model = pin.buildModelFromXML(ARM)
        model.gravity.linear = np.array([0.0, 0.0, -9.81])
        reduced = pin.buildReducedModel(model, [model.getJointId("elbow")], np.array([0.0, 0.6]))
        expected = pin.rnea(reduced, reduced.createData(), np.array(Q[:1]), np.zeros(1), np.zeros(1))
        # What the joint state says of the locked joint does not count.
        Listener(peer).wait_for(expected, "the locked joint is not carried")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"locked_joints": ["wrench"], "locked_positions": [0.0]}, "wrench"),
        ({"locked_joints": ["elbow"]}, "'locked_positions' has 0 values for 1 'locked_joints'"),
        ({"locked_joints": ["elbow", "elbow"], "locked_positions": [0.0, 0.0]}, "names a joint twice"),
        ({"locked_joints": ["elbow"], "locked_positions": [9.0]}, "elbow"),
        ({"locked_joints": ["elbow", "shoulder"], "locked_positions": [0.0, 0.0]}, "no moving joint"),
    ],
)
def test_locks_that_cannot_be_end_with_one_clear_line(given, reason):
    with NodeProcess(NODE, {"robot_description": ARM, **given}) as node:
        assert node.wait_for_exit() == 1
        node.wait_for_output(reason)
        assert "Traceback" not in node.output


def test_a_sound_description_is_well_and_gravity_without_samples_is_in_doubt():
    sound = ARM.replace('<link name="hand"/>', "").replace(
        ARM[ARM.index('<joint name="wrist"') :], "</robot>"
    )
    parameters = {"robot_description": sound, "payload_mass": 1.5}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        values = Report(peer).wait_for(OK, "the description is sound")
        assert values["model"] == "two: base -> lower, 2 joints"
        assert values["payload [kg]"] == "1.5 at 0, 0, 0 m"
        assert float(values["mass of the moving links [kg]"]) == pytest.approx(4.5)
        assert values["robot compensates gravity"] == "False"
    with NodeProcess(NODE, {**parameters, "gravity_from_imu": True}) as node, peer_with(node) as peer:
        assert Report(peer).wait_for(WARN, "no usable sample on imu yet")["gravity from imu"] == "True"
    with NodeProcess(NODE) as node, peer_with(node) as peer:
        Report(peer).wait_for(WARN, "there is no robot description yet")


def test_a_description_can_be_given_on_the_command_line_whatever_its_comments_say():
    text = resource("urdf/scara.urdf").read_text(encoding="utf-8")
    assert ": " in text
    with NodeProcess(NODE, arguments=["-p", f"robot_description:={text}"]) as node, peer_with(node) as peer:
        Report(peer).wait_for(OK, "the description is sound")


def test_drives_that_do_not_fit_the_arm_end_with_one_clear_line():
    with NodeProcess(NODE, {"robot_description": ARM, "friction": [1.0, 2.0, 3.0]}) as node:
        assert node.wait_for_exit() == 1
        node.wait_for_output("parameter 'friction' has 3 values; give 1, or 2 in the order shoulder, elbow")
