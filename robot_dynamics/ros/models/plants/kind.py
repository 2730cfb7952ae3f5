"""Description of a kind of plant for the simulator node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from robot_dynamics.simulation.parameters import PlantParameters, SimulatorParameters
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class PlantKind:
    """A kind of plant.

    Attributes:
        chosen: whether the settings ask for it.
        from_description: whether it is made from a robot description, which may come later and change.
        make: the plant and what is odd about it, from settings, plant parameters and the description; raises
            RobotDynamicsError.
        command_topic: on which commands arrive by the wall clock, from the settings.
        pose_topic: on which the true pose of what the plant moves is published; empty: it is not published.
        brake_topic: on which its brakes are engaged and released by the wall clock; empty: it has none.
        pose: position (3,) [m] and rotation (3, 3) for that topic.
    """

    chosen: Callable[[SimulatorParameters], bool]
    from_description: bool
    make: Callable[[SimulatorParameters, PlantParameters, str], tuple[Plant, list[str]]]
    command_topic: Callable[[SimulatorParameters], str]
    pose_topic: str = ""
    brake_topic: str = ""
    pose: Callable[[Any], tuple[Array, Array]] | None = None
