"""A node of somebody else: plain rclpy, listening to joint states; prints when a hundred have come."""

import contextlib

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

ENOUGH = 100


def main() -> None:
    """Listen until a signal comes."""
    rclpy.init()
    node, heard = rclpy.create_node("plain_listener"), []

    def hear(state: JointState) -> None:
        heard.append(state)
        if len(heard) == ENOUGH:
            print(f"heard {ENOUGH} joint states", flush=True)

    node.create_subscription(JointState, "joint_states", hear, qos_profile_sensor_data)
    print("listening", flush=True)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)


if __name__ == "__main__":
    main()
