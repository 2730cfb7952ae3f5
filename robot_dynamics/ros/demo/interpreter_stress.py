"""The controller in an interpreter that others keep busy: one thread never rests, one generates a model.

The model has as many joints as one may have. It is generated, not compiled: no compiler outlives the run.
"""

from __future__ import annotations

import sys
import threading

import numpy as np

from robot_dynamics.benchmark.arms import random_arm
from robot_dynamics.dynamics.programs import MAX_JOINTS, make_program
from robot_dynamics.ros import computed_torque_controller


def _never_rest() -> None:
    while True:
        pass


def _generate() -> None:
    while True:
        make_program(random_arm(MAX_JOINTS), np.array([0.0, 0.0, -9.81]), "inverse_dynamics")


def main(args: list[str] | None = None) -> int:
    """Entry point of the module."""
    for work in (_never_rest, _generate):
        threading.Thread(target=work, daemon=True).start()
    return computed_torque_controller.main(args)


if __name__ == "__main__":
    sys.exit(main())
