"""A client of FollowJointTrajectory in a process of its own: it sends one goal and prints how it ends."""

from __future__ import annotations

import sys

import rclpy
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint


def main() -> int:
    """Send the goal of the parameters; 0 where it was reached."""
    rclpy.init()
    node = rclpy.create_node("goal_client")
    given = {
        name: node.declare_parameter(name, kind).value
        for name, kind in {
            "action": rclpy.Parameter.Type.STRING,
            "joints": rclpy.Parameter.Type.STRING_ARRAY,
            "positions": rclpy.Parameter.Type.DOUBLE_ARRAY,
            "seconds": rclpy.Parameter.Type.DOUBLE,
        }.items()
    }
    client = ActionClient(node, FollowJointTrajectory, given["action"])
    client.wait_for_server()
    end = Duration(seconds=given["seconds"]).to_msg()
    point = JointTrajectoryPoint(positions=given["positions"], time_from_start=end)
    trajectory = JointTrajectory(joint_names=given["joints"], points=[point])
    sent = client.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory))
    rclpy.spin_until_future_complete(node, sent)
    print("accepted" if sent.result().accepted else "rejected", flush=True)
    if not sent.result().accepted:
        return 1
    ended = sent.result().get_result_async()
    rclpy.spin_until_future_complete(node, ended)
    result = ended.result().result
    print(f"ended with {result.error_code}: {result.error_string}", flush=True)
    return int(result.error_code != FollowJointTrajectory.Result.SUCCESSFUL)


if __name__ == "__main__":
    sys.exit(main())
