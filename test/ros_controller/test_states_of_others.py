"""Joint states of grippers, from processes of their own, beside those of the controller's arm."""

import time

import numpy as np
import pytest
from patience import RESEND
from ros_harness import UNSUPERVISED, NodeProcess, peer_with
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, SECOND, TWO_LINKS, Robot, controller, gravity_load
from wall_clock import WallClock

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytestmark = pytest.mark.ros
PLACE = [0.3, 0.2]
GRIPPERS = 5
"""Grippers, whose messages come right behind each state of the arm."""
BURSTS = 60


@pytest.mark.parametrize("host", ["on", "off"])
def test_states_without_our_joints_displace_none(host):
    """Two to 66 % of the arm's states stayed unanswered, and a trajectory was dropped at 0.3 s."""
    with controller(native_loop=host) as node, peer_with(node) as peer:
        robot = Robot(peer)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        gripper = peer.node.create_publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        peer.wait_until(lambda: gripper.get_subscription_count() > 0, "nobody hears the gripper")
        lost = 0
        for number in range(BURSTS):
            # In one burst, so that they wait together until the node looks; names that it has never seen.
            message = robot.state(PLACE)
            robot.now += 2_000_000
            robot.states.publish(message)
            for finger in range(GRIPPERS):
                gripper.publish(JointState(name=[f"finger_{number}_{finger}"], position=[0.0]))
            count = len(robot.stamped)

            def came(stamp=message.header.stamp, count=count):
                return any(one.header.stamp == stamp for one in robot.stamped[count:])

            try:
                peer.wait_until(came, "no answer", patience=RESEND)
            except AssertionError:
                lost += 1  # states go best effort
                assert lost <= BURSTS // 10, "grippers displace states"
        assert "refused" not in node.output


def test_states_of_a_computer_with_another_clock_are_named():
    with controller() as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.now = time.time_ns() - 3600 * SECOND
        robot.hold_at(PLACE)
        node.wait_for_output(
            r"joint states are stamped 36\d\d(\.\d+)? s behind this computer's clock: synchronise"
        )
        assert node.output.count("are stamped") == 1
        robot.now = time.time_ns()
        robot.hold_at(PLACE)
        node.wait_for_output("the stamps of the joint states agree with this computer's clock again")
        robot.now = time.time_ns() + 3600 * SECOND
        robot.hold_at(PLACE)
        node.wait_for_output("joint states are stamped .* s ahead of this computer's clock")


@pytest.mark.long
def test_clocks_of_computers_that_disagree_are_named(tmp_path):
    """The arm's computer is an hour ahead of the controller's, a sender's another hour."""
    clock, given = WallClock(tmp_path), {"robot_description": TWO_LINKS, "rate": 100.0}
    node = controller(**UNSUPERVISED)
    simulator = NodeProcess("simulator", given, environment=clock.environment)
    with clock.ahead(3600), peer_with(node, simulator) as peer:
        hour = r"3[56]\d\d(\.\d+)? s"
        node.wait_for_output(f"joint states are stamped {hour} ahead of this computer's clock: synchronise")
        send = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        point = JointTrajectoryPoint(positions=PLACE)
        point.time_from_start.sec = 1
        message = JointTrajectory(joint_names=NAMES, points=[point])
        far = r"the trajectory would begin 3[56]\S+ s from now; max_start_delay allows 60"
        for ahead, said in ((1, "every waypoint lies in the past"), (7200, far)):
            message.header.stamp = nanoseconds_to_stamp(time.time_ns() + ahead * SECOND)
            send.publish(message)
            node.wait_for_output(said)
