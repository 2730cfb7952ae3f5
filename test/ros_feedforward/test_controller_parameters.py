"""Parameters of the controller behind the feeder: read from a node of its name, and followed live."""

import numpy as np
import pytest
import rclpy
from ros_harness import peer_with
from test_trajectory_feedforward import column, feeder, started, times, trajectory

from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

pytestmark = pytest.mark.ros
REPLACEMENT = "allow_trajectory_replacement"


def test_a_controller_that_blends_gets_the_plan_from_now_on():
    """Of an arm in motion without what leads to it; set to false, as every other controller."""
    with feeder() as node, peer_with(node) as peer:
        controller = rclpy.create_node(
            "joint_trajectory_controller", context=peer.context, use_global_arguments=False
        )
        controller.declare_parameter(REPLACEMENT, True)
        peer.executor.add_node(controller)
        robot = started(peer)
        node.wait_for_output(
            f"/joint_trajectory_controller has {REPLACEMENT}: true, and takes stamps in the past"
        )

        def begun(message):
            """Time from its begin to its first moving point [s]."""
            moving = np.abs(column(message, "velocities")).max(axis=1) > 1e-9
            return times(message)[max(0, int(np.argmax(moving)) - 1)]

        def in_motion():
            at = robot.now() + 10**9
            peer.wait_until(lambda: robot.now() > at, "time stands still")

        # At rest one point leads to it; the arm stays there whenever the controller begins.
        asked = robot.now()
        first = robot.give(trajectory([(20.0, [0.4, -0.4])]))
        assert stamp_to_nanoseconds(first.header.stamp) > asked
        assert times(first)[0] == 0.0 < begun(first)
        np.testing.assert_allclose(first.points[0].positions, first.points[1].positions, atol=1e-12)
        in_motion()
        second = robot.give(trajectory([(20.0, [0.4, 0.4])]))
        assert times(second)[0] > 0.0999  # five times the way of a message
        assert stamp_to_nanoseconds(second.header.stamp) == 0  # however late, it is not refused
        assert any(second.points[0].velocities)

        controller.set_parameters([rclpy.parameter.Parameter(REPLACEMENT, value=False)])
        in_motion()

        def leads():
            return times(robot.give(trajectory([(20.0, [0.4, -0.4])])))[0] == 0.0

        peer.wait_until(leads, "a change of the parameter is not noticed")
        peer.executor.remove_node(controller)
        controller.destroy_node()
