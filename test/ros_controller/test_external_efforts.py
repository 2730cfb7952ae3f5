"""External efforts as topics, and the stop at a contact, of the node."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from two_links import NAMES, NODE, TWO_LINKS, Robot, controller, gravity_load

import robot_dynamics as rd
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

pytestmark = pytest.mark.ros
PARAMETERS = {
    "observer_gain": 1000.0,
    "on_contact": "hold",
    "contact_threshold": [2.0],
    "max_following_error": [-1.0],
    "start_motion": -1.0,
}


@pytest.mark.long
def test_an_arm_that_is_kept_from_its_reference_feels_it_and_stops():
    with controller(**PARAMETERS) as node, peer_with(node) as peer:
        robot = Robot(peer)
        efforts = peer.subscribe(JointState, f"/{NODE}/external_torque", qos.LOCKSTEP)
        wrenches = peer.subscribe(WrenchStamped, f"/{NODE}/external_wrench", qos.LOCKSTEP)
        robot.hold_at([0.2, 0.4])
        peer.repeat_until(
            lambda: robot.hold_at([0.2, 0.4]), lambda: efforts and wrenches, "no external efforts"
        )
        # At rest away from its reference: what holds it there is its weight less the effort.
        place = [0.2, 0.41]

        def felt():
            command = robot.hold_at(place)
            expected = gravity_load(place) - command
            return any(np.allclose(one.effort, expected, rtol=1e-3, atol=1e-3) for one in efforts[-5:])

        peer.repeat_until(lambda: None, felt, "the external effort is not weight less command")

        def pair():
            of = {stamp_to_nanoseconds(one.header.stamp): one for one in efforts}
            stamps = [(stamp_to_nanoseconds(one.header.stamp), one) for one in wrenches]
            return next(((one, of[stamp]) for stamp, one in reversed(stamps) if stamp in of), None)

        newest, joints = peer.wait_until(pair, "no wrench of a state with efforts")
        jacobian = rd.compile_dynamics(rd.load_urdf(TWO_LINKS)).jacobian(np.array(joints.position))
        force, torque = newest.wrench.force, newest.wrench.torque
        wrench = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        np.testing.assert_allclose(jacobian.T @ wrench, joints.effort, rtol=0.01, atol=0.01)
        assert newest.header.frame_id == rd.load_urdf(TWO_LINKS).tip

        for shoulder in np.arange(0.2, 0.26, 0.002):
            robot.hold_at([shoulder, 0.41])
        node.wait_for_output("shoulder feels an external effort of")
        peer.repeat_until(
            lambda: robot.hold_at([0.26, 0.41]),  # it is not reset before it rests
            lambda: peer.call(Trigger, f"/{NODE}/reset_fault", Trigger.Request()).success,
            "the stop is not reset",
        )


def test_a_frame_that_does_not_exist_is_refused_by_name():
    with controller(wrench_frame="hand") as node:
        node.wait_for_output("no frame 'hand'; choose from")


def test_an_arm_is_guided_while_the_button_is_repeated_and_holds_after_it():
    guiding = {"mode": "hand_guiding", "max_following_error": [-1.0], "start_motion": -1.0}
    with controller(**guiding) as node, peer_with(node) as peer:
        robot = Robot(peer)
        button = peer.publisher(Bool, f"{NODE}/guide", qos.COMMAND)
        robot.hold_at([0.2, 0.4])

        place = [0.204, 0.4]
        assert robot.hold_at(place)[0] < gravity_load(place)[0] - 0.01  # it is held

        def guided():
            button.publish(Bool(data=True))
            return np.allclose(robot.hold_at(place), gravity_load(place), atol=1e-6)

        peer.repeat_until(lambda: None, guided, "the arm is not guided")
        node.wait_for_output("guided by hand")
        button.publish(Bool(data=False))
        peer.repeat_until(
            lambda: robot.hold_at(place), lambda: "guiding has ended" in node.output, "guided on"
        )
        assert robot.hold_at([0.208, 0.4])[0] < gravity_load([0.208, 0.4])[0] - 0.01


def test_a_monitor_feels_a_push_under_another_controller_and_commands_nothing():
    """Efforts of the joint states are the weight less a push of 3 N·m at the shoulder."""
    given = {"robot_description": TWO_LINKS, "observer_gain": 1000.0, "contact_threshold": [1.0]}
    with NodeProcess("contact_monitor", given) as node, peer_with(node) as peer:
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        efforts = peer.subscribe(JointState, "contact_monitor/external_torque", qos.LOCKSTEP)
        place, sent = [0.2, 0.4], 0

        def send(push):
            nonlocal sent
            sent += 1
            message = JointState(name=NAMES, position=place, velocity=[0.0, 0.0])
            message.effort = (gravity_load(place) - [push, 0.0]).tolist()
            message.header.stamp = nanoseconds_to_stamp(sent * 2_000_000)
            states.publish(message)

        def felt(push):
            return efforts and np.allclose(efforts[-1].effort, [push, 0.0], atol=0.01)

        node.wait_for_output("model of")
        peer.repeat_until(lambda: send(0.0), lambda: felt(0.0), "no external efforts")
        peer.repeat_until(lambda: send(3.0), lambda: felt(3.0), "the push is not felt")
        node.wait_for_output("contact: shoulder feels an external effort of")
        peer.repeat_until(lambda: send(0.0), lambda: "has ended" in node.output, "the contact never ends")
        publishers = {
            name for name, _ in peer.node.get_publisher_names_and_types_by_node("contact_monitor", "/")
        }
        assert not [name for name in publishers if "command" in name]
