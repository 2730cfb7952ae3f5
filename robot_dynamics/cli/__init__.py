"""The robot_dynamics command: one module for each subcommand."""
