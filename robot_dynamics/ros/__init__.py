"""ROS 2 nodes, and what they are made of: the only room that knows rclpy and messages."""

from robot_dynamics.interrupts import end_quietly_at_sigint

end_quietly_at_sigint("robot_dynamics.ros", 0)
