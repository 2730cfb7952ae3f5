"""ROS 2 nodes, and what they are made of: the only room that knows rclpy and messages."""
