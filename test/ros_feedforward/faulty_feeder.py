"""The feeder with efforts that fail where the first joint is beyond LIMIT, run as a node of its own."""

import sys

from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.ros import trajectory_feedforward

LIMIT = 2.0
"""Position of the first joint [rad]."""

effort = Feedforward.effort


def failing_effort(self, time, ahead=0.0):
    if self.position[0] > LIMIT:
        raise ZeroDivisionError("a law that nobody tested")
    return effort(self, time, ahead)


if __name__ == "__main__":
    # Here alone: a test that imports this module keeps its own process free of the faults.
    Feedforward.effort = failing_effort
    sys.exit(trajectory_feedforward.main())
