"""Trajectories that no controller follows, and arms that others move: the next one departs from the arm."""

import itertools

import numpy as np
import pytest
from ros_harness import peer_with
from test_trajectory_feedforward import Robot, column, feeder, holds, started, trajectory
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros
TOPIC = "joint_trajectory_controller/joint_trajectory"


def test_without_a_controller_a_trajectory_is_refused_and_one_that_was_sent_ends():
    """ "sent 15 points" was said while nobody listened, and the reference went 1.21 rad from the arm."""
    with feeder() as node, peer_with(node) as peer:
        robot = started(peer)
        (subscription,) = [s for s in peer.node.subscriptions if s.topic_name.endswith(TOPIC)]
        robot.give(trajectory([(20.0, [0.1, 0.1])]))
        peer.node.destroy_subscription(subscription)
        node.wait_for_output(f"trajectory ended: nobody listens to /{TOPIC} any more")

        # A publisher that is found by the node, so that the trajectory arrives; nobody would hear the answer.
        def refused():
            robot.input.publish(trajectory([(1.0, [0.1, 0.1])]))
            return f"trajectory refused: nobody listens to /{TOPIC}: start or activate" in node.output

        peer.wait_until(refused, "a trajectory for nobody is not refused")
        assert node.output.count("sent ") == 1

        # Who begins to listen is served.
        robot.sent = peer.subscribe(JointTrajectory, TOPIC, qos.TRAJECTORY)

        def served():
            robot.be([0.0, 0.0])
            robot.input.publish(trajectory([(1.0, [0.1, 0.1])]))
            return robot.sent

        peer.wait_until(served, "nothing is sent")


def test_a_trajectory_departs_from_an_arm_that_did_not_follow_the_last_one_and_never_from_a_moving_one():
    """Asked for +0.61 rad, the arm went -1.00 rad first, at 2.0 times its limit."""
    with feeder() as node, peer_with(node) as peer:
        robot: Robot = started(peer)

        def stay():
            robot.be([0.0, 0.0])
            return "and the arm does not move: no controller follows it" in node.output

        # The controller was stopped by others: the arm stays, while the reference goes on to -1.
        robot.give(trajectory([(1.0, [-1.0, 0.0])]))
        peer.wait_until(stay, "a trajectory that nobody follows goes on")
        node.wait_for_output(
            "trajectory ended: joint 'shoulder' is .* rad from its reference, allowed are 0.200 rad"
        )
        peer.wait_until(lambda: holds(robot.sent[-1], [0.0, 0.0]), "the controller is not told to hold")
        message = robot.give(trajectory([(2.0, [0.61, 0.0])]))
        path = column(message, "positions")[:, 0]
        assert path.min() > -0.01
        np.testing.assert_allclose(path[[0, -1]], [0.0, 0.61], atol=0.01)

        # Somebody else moves the arm: a new trajectory would depart from where it is not.
        steps, before = itertools.count(), len(robot.sent)

        def moved():
            place = -0.6 + 0.3 * np.sin(0.3 * next(steps))
            robot.be([place, 0.0])
            robot.input.publish(trajectory([(9.0, [0.1, 0.0])]))
            return "and the arm moves: the controller is told to hold" in node.output

        peer.wait_until(moved, "a trajectory departs from where a moving arm is not")
        node.wait_for_output("trajectory refused: joint 'shoulder' is .* from its reference")

        # What came after the refusal departs from the hold, and may have been sent by now.
        def told():
            return [message for message in robot.sent[before:] if len(message.points) == 1]

        (hold, *_) = peer.wait_until(told, "the controller is not told to hold")
        assert hold.points[0].positions[0] < -0.25
        assert "Traceback" not in node.output
