"""The arm of a robot description as a plant."""

from __future__ import annotations

import warnings

from robot_dynamics.ros.models.plants.kind import PlantKind
from robot_dynamics.simulation.parameters import PlantParameters, SimulatorParameters
from robot_dynamics.simulation.plant import Plant


def _make(
    settings: SimulatorParameters, parameters: PlantParameters, description: str
) -> tuple[Plant, list[str]]:
    from robot_dynamics.simulation.arm import ArmPlant

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plant = ArmPlant(
            description,
            root=settings.root or None,
            tip=settings.tip or None,
            tips=settings.ends,
            parameters=parameters,
            locked_joints=settings.locked,
        )
    return plant, [str(warning.message) for warning in caught]


KIND = PlantKind(
    chosen=lambda settings: True,
    from_description=True,
    make=_make,
    command_topic=lambda settings: "effort_controller/commands",
    brake_topic="computed_torque_controller/brake",
)
