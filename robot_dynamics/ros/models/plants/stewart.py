"""The Stewart platform of a YAML file as a plant."""

from __future__ import annotations

from typing import Any

from robot_dynamics.ros.models.machines import load_machine
from robot_dynamics.ros.models.plants.kind import PlantKind
from robot_dynamics.simulation.parameters import PlantParameters, SimulatorParameters
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.spatial import Array


def _make(settings: SimulatorParameters, parameters: PlantParameters, _: str) -> tuple[Plant, list[str]]:
    from robot_dynamics.simulation.stewart import StewartPlant

    platform, notes = load_machine(settings.machine)
    return StewartPlant(platform, parameters, settings.drives), notes


def _pose(plant: Any) -> tuple[Array, Array]:
    position, rotation = plant.platform_pose
    return position, rotation


KIND = PlantKind(
    chosen=lambda settings: bool(settings.machine),
    from_description=False,
    make=_make,
    command_topic=lambda settings: f"leg_{settings.drives}_controller/commands",
    pose_topic="~/platform_pose",
    brake_topic="stewart_platform/brake",
    pose=_pose,
)
