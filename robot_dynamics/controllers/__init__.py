"""A ros2_control package for one arm: generated model, C core, wrappers."""
