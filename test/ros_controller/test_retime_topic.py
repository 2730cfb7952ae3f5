"""``retime`` makes trajectories executable before limits refuse them; ``~/retime`` answers without moving."""

import pytest
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import peer_with
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, Robot, controller

from robot_dynamics.ros.support import diagnostics, qos

HERE = [0.3, 0.2]
HEAVY = [1.3, -1.4]
"""Reached in a tenth of a second, which takes more than the limits."""


def trajectory(goal, seconds, nanoseconds=0):
    point = JointTrajectoryPoint(positions=list(map(float, goal)))
    point.time_from_start = Duration(sec=seconds, nanosec=nanoseconds)
    return JointTrajectory(joint_names=NAMES, points=[point])


@pytest.mark.ros
def test_a_trajectory_that_is_too_fast_is_slowed_down_and_followed():
    with controller(torque_check="refuse", retime="slower") as node, peer_with(node) as peer:
        robot = Robot(peer)
        verdicts = peer.subscribe(DiagnosticArray, f"{NODE}/retime/verdict", qos.TRAJECTORY)
        results = peer.subscribe(JointTrajectory, f"{NODE}/retime/trajectory", qos.TRAJECTORY)
        retime = peer.publisher(JointTrajectory, f"{NODE}/retime", qos.TRAJECTORY)
        follow = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        robot.hold_at(HERE)
        retime.publish(trajectory(HEAVY, 0, 100_000_000))
        peer.wait_until(lambda: verdicts and results, "no result")
        status, points = verdicts[-1].status[0], results[-1].points
        assert status.level == diagnostics.OK and status.message.startswith("keeps every limit")
        last = points[-1].time_from_start
        assert last.sec + 1e-9 * last.nanosec > 0.15
        assert list(points[0].positions) == pytest.approx(HERE, abs=1e-6)
        assert list(points[-1].positions) == pytest.approx(HEAVY)
        retime.publish(JointTrajectory(joint_names=["wrist"], points=trajectory([0.0], 1).points))
        peer.wait_until(lambda: len(verdicts) > 1, "no verdict")
        assert "cannot be retimed: unknown joint names" in verdicts[-1].status[0].message
        robot.hold_at(HERE)
        follow.publish(trajectory(HEAVY, 0, 100_000_000))
        node.wait_for_output("following a trajectory of 1 points for ")
        assert "refused" not in node.output
