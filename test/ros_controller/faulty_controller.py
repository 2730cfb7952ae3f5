"""The controller as a node of its own, with faults that a test calls up by positions of the first joint."""

import sys

from robot_dynamics.ros import computed_torque_controller
from robot_dynamics.ros.computed_torque_controller import ComputedTorqueController
from robot_dynamics.ros.models.arm_model import ModelLoader

CYCLE = 2.0
"""Position [rad] at which the work of the node's own thread after a cycle fails."""
IMPOSSIBLE = "impossible"
"""Name of a robot whose model generation fails."""

on_cycles, loaded = ComputedTorqueController.on_cycles, ModelLoader._loaded


def failing_on_cycles(self, cycles, controller):
    if cycles.array("position")[:, 0].max() >= CYCLE:
        raise ZeroDivisionError("a report that nobody tested")
    return on_cycles(self, cycles, controller)


def failing_generation(self, chain):
    if chain.name == IMPOSSIBLE:
        raise RecursionError("too deep")
    return loaded(self, chain)


if __name__ == "__main__":
    # Here alone: a test that imports this module keeps its own process free of the faults.
    ComputedTorqueController.on_cycles = failing_on_cycles
    ModelLoader._loaded = failing_generation
    sys.exit(computed_torque_controller.main())
