"""A ros2_control package for one arm: its generated model, the core in C, and what joins them to ROS."""
