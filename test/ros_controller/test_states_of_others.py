"""Joint states of grippers, from processes of their own, beside those of the controller's arm."""

import numpy as np
import pytest
from ros_harness import peer_with
from sensor_msgs.msg import JointState
from two_links import Robot, controller, gravity_load

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros
PLACE = [0.3, 0.2]
GRIPPERS = 5
"""Messages of a gripper behind each state of the arm."""


@pytest.mark.parametrize("host", ["on", "off"])
def test_states_without_our_joints_displace_none(host):
    with controller(native_loop=host) as node, peer_with(node) as peer:
        robot = Robot(peer)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        gripper = peer.node.create_publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        peer.wait_until(lambda: gripper.get_subscription_count() > 0, "nobody hears the gripper")
        finger = JointState(name=["finger"], position=[0.0])
        gripper.publish(finger)
        # In one burst, so that they wait together until the node looks.
        answered = 0
        for _ in range(100):
            message = robot.state(PLACE)
            robot.now += 2_000_000
            robot.states.publish(message)
            for _ in range(GRIPPERS):
                gripper.publish(finger)
            count = len(robot.stamped)

            def came(stamp=message.header.stamp, count=count):
                return any(one.header.stamp == stamp for one in robot.stamped[count:])

            try:
                peer.wait_until(came, "no answer", patience=0.3)
                answered += 1
            except AssertionError:
                pass
        assert answered > 90, "the gripper displaces states"
        assert "refused" not in node.output
