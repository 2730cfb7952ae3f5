"""The controller as a node of its own, with faults that a test calls up by positions of the first joint."""

import sys

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.ros import computed_torque_controller
from robot_dynamics.ros.models.arm_model import ModelLoader

CYCLE, SAFE_OUTPUT_TOO = 2.0, 2.5
"""Positions [rad] at which the control law fails, and at which the safe output fails with it."""
IMPOSSIBLE = "impossible"
"""Name of a robot whose model generation fails."""

update, safe_command, loaded = ArmController.update, ArmController.safe_command, ModelLoader._loaded


def failing_update(self, time, position, velocity):
    if position[0] >= CYCLE:
        self.observe(position)
        raise ZeroDivisionError("a law that nobody tested")
    return update(self, time, position, velocity)


def failing_safe_command(self, since):
    if self._observer.state.position[0] >= SAFE_OUTPUT_TOO:
        raise ArithmeticError("no load")
    return safe_command(self, since)


def failing_generation(self, chain):
    if chain.name == IMPOSSIBLE:
        raise RecursionError("too deep")
    return loaded(self, chain)


if __name__ == "__main__":
    # Here alone: a test that imports this module keeps its own process free of the faults.
    ArmController.update = failing_update
    ArmController.safe_command = failing_safe_command
    ModelLoader._loaded = failing_generation
    sys.exit(computed_torque_controller.main())
