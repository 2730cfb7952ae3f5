"""The platform's node with a law that fails where the first leg is longer than LONG."""

import sys

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.ros import stewart_platform

LONG = 0.95
"""Length of the first leg [m]."""

update = StewartController.update


def failing_update(self, time, position, velocity):
    if position[0] > LONG:
        raise ZeroDivisionError("a law that nobody tested")
    return update(self, time, position, velocity)


if __name__ == "__main__":
    # Here alone: a test that imports this module keeps its own process free of the faults.
    StewartController.update = failing_update
    sys.exit(stewart_platform.main())
