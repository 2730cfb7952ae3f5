"""``~/check_trajectory`` answers without moving anything, and ``torque_check`` decides about trajectories."""

import pytest
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import peer_with
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, Robot, controller

from robot_dynamics.ros.support import diagnostics, qos

HERE = [0.3, 0.2]
HEAVY = [1.2, -0.7]
"""Half of the elbow's effort limit if reached in half a second, much more than all limits in a tenth."""


def trajectory(goal, seconds, nanoseconds=0):
    point = JointTrajectoryPoint(positions=list(map(float, goal)))
    point.time_from_start = Duration(sec=seconds, nanosec=nanoseconds)
    return JointTrajectory(joint_names=NAMES, points=[point])


@pytest.mark.ros
def test_the_verdict_names_what_is_exceeded_and_nothing_moves():
    with controller(torque_check="refuse", torque_margin=0.7) as node, peer_with(node) as peer:
        robot = Robot(peer)
        verdicts = peer.subscribe(DiagnosticArray, f"{NODE}/check_trajectory/verdict", qos.TRAJECTORY)
        check = peer.publisher(JointTrajectory, f"{NODE}/check_trajectory", qos.TRAJECTORY)
        follow = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        robot.hold_at(HERE)

        def verdict(message):
            before = len(verdicts)
            check.publish(message)
            peer.wait_until(lambda: len(verdicts) > before, "no verdict")
            return verdicts[-1].status

        first, *joints = verdict(trajectory(HERE, 9))
        assert first.level == diagnostics.OK and first.message == "keeps every limit in 9.000 s"
        assert [one.name.rsplit(": ")[-1] for one in joints] == NAMES
        values = {one.key: one.value for one in joints[0].values}
        assert float(values["position [rad]"]) == pytest.approx(HERE[0])
        first, *joints = verdict(trajectory(HEAVY, 0, 100_000_000))
        assert first.level == diagnostics.ERROR and first.message.startswith("exceeds ")
        assert any("effort" in one.message for one in joints)
        (first,) = verdict(JointTrajectory(joint_names=["wrist"], points=trajectory([0.0], 1).points))
        assert first.level == diagnostics.ERROR and "unknown joint names" in first.message
        robot.hold_at(HERE)
        follow.publish(trajectory(HEAVY, 0, 500_000_000))
        needs = r"joint 'elbow' needs 2\.\d+ N·m 0\.\d+ s after the start; its effort limit is 5\.\d+ N·m"
        node.wait_for_output(f"trajectory refused: {needs}, of which torque_margin leaves 1.5")
        peer.set_parameter(NODE, "torque_check", "warn")
        robot.hold_at(HERE)
        follow.publish(trajectory(HEAVY, 0, 500_000_000))
        node.wait_for_output(rf"following a trajectory(.|\n)*{needs}")
        # Ranges of an identification are left by far; that is said once.
        assert "was not identified" not in node.output
        peer.set_parameter(NODE, "tested_lower", [0.2, 0.1])
        peer.set_parameter(NODE, "tested_upper", [0.4, 0.3])
        for _ in range(2):
            before = node.output.count("following a trajectory")
            follow.publish(trajectory(HEAVY, 9))
            peer.wait_until(lambda: node.output.count("following a traj") > before, "no trajectory")  # noqa: B023
        node.wait_for_output(r"not identified for this trajectory: shoulder goes to 1\.2.* \(tested 0\.2")
        assert node.output.count("was not identified") == 1
