"""The platform's node whose own thread fails after a cycle where the first leg is longer than LONG."""

import sys

from robot_dynamics.ros import stewart_platform
from robot_dynamics.ros.stewart_platform import StewartPlatformNode

LONG = 0.6235
"""Length of the first leg [m], half a millimetre more than at home."""

on_cycles = StewartPlatformNode.on_cycles


def failing_on_cycles(self, cycles, controller):
    if cycles.array("position")[:, 0].max() > LONG:
        raise ZeroDivisionError("a report that nobody tested")
    return on_cycles(self, cycles, controller)


if __name__ == "__main__":
    # Here alone: a test that imports this module keeps its own process free of the faults.
    StewartPlatformNode.on_cycles = failing_on_cycles
    sys.exit(stewart_platform.main())
