"""A ros2_control package of one arm, generated whole."""
