"""The markers node as a process of its own; this test plays the robot over DDS."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytestmark = pytest.mark.ros

ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="slide"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="40" velocity="5"/></joint>
  <joint name="rail" type="prismatic"><parent link="upper"/><child link="slide"/><axis xyz="1 0 0"/>
    <origin xyz="0.4 0 0"/><limit lower="0" upper="0.3" effort="50" velocity="5"/></joint>
</robot>
"""
NAMES = ["shoulder", "rail"]
POSTURE = np.array([0.5, 0.1])


class Robot:
    """Publishes states, and finds the picture that shows one of them."""

    def __init__(self, peer, namespace=""):
        self.peer = peer
        self.publisher = peer.node.create_publisher(
            JointState, f"{namespace}/joint_states", qos.STATE_PUBLISHER
        )
        self.pictures = peer.subscribe(MarkerArray, f"{namespace}/markers", qos.TRAJECTORY)
        self.now = 1_000_000_000

    def picture(self, effort, position=POSTURE, names=NAMES):
        """The markers of a state, by namespace and number."""
        self.now += 1_000_000
        message = JointState(name=names, position=list(position), effort=list(map(float, effort)))
        message.header.stamp = nanoseconds_to_stamp(self.now)

        def shown():
            self.publisher.publish(message)
            return next(
                (p for p in self.pictures if any(m.header.stamp == message.header.stamp for m in p.markers)),
                None,
            )

        found = self.peer.wait_until(shown, "the state is not shown")
        return {(m.ns, m.id): m for m in found.markers}


@pytest.fixture(scope="module")
def scene():
    node = NodeProcess("markers", {"robot_description": ARM, "frame_prefix": "left/", "update_rate": 50.0})
    with peer_with(node) as peer:
        yield Robot(peer)


def points(marker):
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def test_arcs_and_arrows_are_in_proportion_to_the_limits(scene):
    arcs = {}
    for effort in (10.0, -20.0):
        shown = scene.picture([effort, 5.0 * effort / 2.0])
        arc = points(shown["effort", 0])
        # Right-handed about the joint's axis, y of the link.
        turned = np.unwrap(np.arctan2(arc[:, 0], arc[:, 2]))
        arcs[effort] = turned[-1] - turned[0]
        rail = points(shown["effort", 2])
        assert np.sign(rail[1] - rail[0])[0] == np.sign(effort)
        assert shown["effort", 0].header.frame_id == "left/upper"
        assert shown["effort", 2].header.frame_id == "left/slide"
    assert arcs[-20.0] == pytest.approx(-2.0 * arcs[10.0])
    beyond = points(scene.picture([400.0, 0.0])["effort", 0])
    at_limit = points(scene.picture([40.0, 0.0])["effort", 0])
    np.testing.assert_allclose(beyond, at_limit)


def test_colors_go_from_green_to_red(scene):
    little = scene.picture([1.0, 0.0])["effort", 0].color
    much = scene.picture([40.0, 0.0])["effort", 0].color
    assert little.g > 2 * little.r and much.r > 2 * much.g


def test_weights_hang_straight_down_from_the_centres_of_mass(scene):
    shown = scene.picture([0.0, 0.0])
    model = pin.buildModelFromXML(ARM)
    data = model.createData()
    pin.framesForwardKinematics(model, data, POSTURE)
    lengths = []
    for number, (link, center) in enumerate([("upper", [0.2, 0, 0]), ("slide", [0.1, 0, 0])]):
        marker = shown["gravity_load", number]
        start, tip = points(marker)
        assert marker.header.frame_id == f"left/{link}"
        np.testing.assert_allclose(start, center, atol=1e-9)
        down = data.oMf[model.getFrameId(link, pin.FrameType.BODY)].rotation @ (tip - start)
        lengths.append(np.linalg.norm(down))
        np.testing.assert_allclose(down, [0.0, 0.0, -lengths[-1]], atol=1e-9)
    assert lengths[0] == pytest.approx(2.0 * lengths[1])


def test_numbers_tell_effort_share_and_static_load(scene):
    shown = scene.picture([10.0, -25.0])
    model = pin.buildModelFromXML(ARM)
    load = pin.computeGeneralizedGravity(model, model.createData(), POSTURE)
    assert shown["numbers", 0].text == f"shoulder: 10.0 N m (25 %)\nweight: {load[0]:.1f} N m"
    assert shown["numbers", 1].text == f"rail: -25.0 N (50 %)\nweight: {load[1]:.1f} N"


def test_rviz_can_draw_the_numbers(scene):
    """Its font ends with ASCII, and its spaces fit the text only if scale.x tells their width."""
    shown = scene.picture([-0.01, 0.0])
    for number in (0, 1):
        label = shown["numbers", number]
        assert label.text.isascii() and "-0.0" not in label.text
        assert 0.2 * label.scale.z < label.scale.x < label.scale.z


def test_numbers_stand_in_a_column_over_the_robot_with_a_line_to_each_joint(scene):
    """A column is what no side shows one label of over another: see ``test_labels``."""
    posture = np.array([0.0, 0.0])
    shown = scene.picture([10.0, 10.0], posture)
    model = pin.buildModelFromXML(ARM)
    data = model.createData()
    pin.framesForwardKinematics(model, data, posture)
    lines = points(shown["leaders", 0])
    for number, link in enumerate(["upper", "slide"]):
        label, place = shown["numbers", number], data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
        assert label.header.frame_id == "left/base"
        position = label.pose.position
        assert (position.x, position.y) == (0.0, 0.0) and position.z > place.translation[2]
        np.testing.assert_allclose(lines[2 * number], [0.0, 0.0, position.z], atol=1e-12)
        np.testing.assert_allclose(lines[2 * number + 1], place.translation, atol=1e-9)
    height = shown["numbers", 0].scale.z
    assert shown["numbers", 1].pose.position.z - shown["numbers", 0].pose.position.z > 2.0 * height


def test_what_has_no_frame_is_drawn_in_the_one_before(scene):
    """Beyond a joint without a state robot_state_publisher has no transforms, which rviz takes for errors."""
    whole = scene.picture([10.0, 10.0], np.array([0.5, 0.0]))
    shown = scene.picture([10.0], [0.5], names=NAMES[:1])
    assert {("effort", 0), ("numbers", 0)} <= {key for key, m in shown.items() if m.action == Marker.ADD}
    assert shown["effort", 2].action == shown["numbers", 1].action == Marker.DELETE
    assert {marker.header.frame_id for marker in shown.values()} <= {"left/base", "left/upper"}
    slide = shown["gravity_load", 1]
    offset = points(slide) - points(whole["gravity_load", 1])
    np.testing.assert_allclose(offset, [[0.4, 0.0, 0.0]] * 2, atol=1e-9)


def test_no_effort_leaves_no_arc(scene):
    scene.picture([10.0, 10.0])
    shown = scene.picture([])
    assert shown["effort", 0].action == Marker.DELETE
    assert "no effort known" in shown["numbers", 0].text


def test_silence_clears_the_picture(scene):
    scene.picture([10.0, 10.0])
    count = len(scene.pictures)
    scene.peer.wait_until(
        lambda: any(m.action == Marker.DELETEALL for p in scene.pictures[count:] for m in p.markers),
        "old markers stay",
    )


def test_a_bad_description_on_the_topic_is_refused_and_the_node_goes_on():
    with peer_with(NodeProcess("markers", {"update_rate": 50.0}, ["-r", "__ns:=/other"])) as peer:
        robot = peer.publisher(String, "/other/robot_description", qos.DESCRIPTION)
        robot.publish(String(data="<robot name='broken'><link name='a'/><link name='a'/></robot>"))
        node = peer.processes[0]
        node.wait_for_output(r"refused: .*two links are named 'a'")
        robot.publish(String(data=ARM))
        node.wait_for_output("markers of arm")
        assert Robot(peer, "/other").picture([1.0, 0.0])["effort", 0].header.frame_id == "upper"


def test_a_bad_parameter_ends_the_node_with_one_line():
    with NodeProcess("markers", {"gravity": [0.0, 1.0]}) as node:
        assert node.wait_for_exit() == 1
        assert "gravity" in node.output and "Traceback" not in node.output
