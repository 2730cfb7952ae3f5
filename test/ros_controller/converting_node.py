"""The controller as a node that makes objects of trajectories on ``~/objects``, as rclpy does it of goals."""

import sys
import time

from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.ros import computed_torque_controller
from robot_dynamics.ros.computed_torque_controller import ComputedTorqueController
from robot_dynamics.ros.support import qos

begin = ComputedTorqueController.__init__


def begin_with_objects(self):
    begin(self)

    def convert(data):
        since = time.monotonic()
        points = len(deserialize_message(data, JointTrajectory).points)
        self.get_logger().info(f"{points} points are objects after {time.monotonic() - since:.3f} s")

    qos.subscription(self, JointTrajectory, "~/objects", convert, qos.TRAJECTORY, raw=True)


if __name__ == "__main__":
    ComputedTorqueController.__init__ = begin_with_objects
    sys.exit(computed_torque_controller.main())
