"""The robot_dynamics command: one module for each subcommand."""

from robot_dynamics.interrupts import end_quietly_at_sigint

end_quietly_at_sigint("robot_dynamics.cli", 130)
