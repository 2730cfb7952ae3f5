"""Controllers without ROS: one state machine, control laws, trajectories, safe outputs."""
