"""Plants of the simulator node.

A plant is one module here and one line in ``KINDS``; the first kind that the settings choose is taken.
"""

from __future__ import annotations

import importlib

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.ros.models.plants import arm, stewart
from robot_dynamics.ros.models.plants.kind import PlantKind
from robot_dynamics.simulation.parameters import SimulatorParameters

KINDS: tuple[PlantKind, ...] = (
    stewart.KIND,
    arm.KIND,
)


def kind_of(settings: SimulatorParameters) -> PlantKind:
    """The kind of plant that the settings choose.

    Raises:
        RobotDynamicsError: MuJoCo, which simulates them all, is not installed.
    """
    try:
        importlib.import_module("mujoco")
    except ImportError as error:
        raise RobotDynamicsError(lacking("the simulator needs", "mujoco", reason=str(error))) from error
    return next(kind for kind in KINDS if kind.chosen(settings))
