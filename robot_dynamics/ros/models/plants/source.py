"""The plant of the simulator node: from its description or its file, with faults that change live."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.ros.models.description import NAME, DescriptionSource
from robot_dynamics.ros.models.plants.kind import PlantKind
from robot_dynamics.ros.models.tip_payloads import TipPayloads
from robot_dynamics.ros.support import parameters, qos
from robot_dynamics.ros.support.background import Background
from robot_dynamics.simulation.parameters import PlantParameters, SimulatorParameters
from robot_dynamics.simulation.plant import Plant


class PlantSource:
    """Makes the plant of every new description, and another one of the same when its parameters change.

    The first plant is made at once, and in lockstep every plant. By the wall clock a later one is made in a
    thread of its own while the old one moves on; what is refused leaves the old one in use.

    Args:
        node: gets the parameters of the plant, and the description where the plant is made of one.
        kind: of the plant.
        settings: of the simulator.
        period: of its loop [ns].
        use: called in the node's thread with every new plant; it may refuse it.
    """

    def __init__(
        self,
        node: Node,
        kind: PlantKind,
        settings: SimulatorParameters,
        period: int,
        use: Callable[[Plant], None],
    ) -> None:
        self._node = node
        self._kind = kind
        self._settings = settings
        self._period = 1e-9 * period
        self._use = use
        self._plant: Plant | None = None
        self._source: DescriptionSource | None = None
        self._background = Background(node)
        self._faults = parameters.declare(node, PlantParameters)
        parameters.watch(node, self._faults, self._on_parameters, check=self._check)
        self._tips = TipPayloads(node, lambda: self._on_parameters(self._faults), self._check_loads)
        self._publisher = None
        if settings.publish_description:
            self._publisher = node.create_publisher(String, NAME, qos.DESCRIPTION)
        if kind.from_description:
            self._source = DescriptionSource(node, self._on_description, check=self._check_description)

    def start(self) -> None:
        """Make the plant of what the node was given, or wait for a description.

        Raises:
            RobotDynamicsError: the machine, or the description in the parameter, cannot be used.
        """
        if self._source is not None:
            self._source.start()
        else:
            self._take(self._make(""))

    @property
    def missing(self) -> str:
        """Reason why there is no plant yet."""
        return "waiting for a robot description" if self._source is None else self._source.missing

    def _on_description(self, text: str) -> None:
        if self._plant is None or self._settings.lockstep:
            self._take(self._make(text))
            return

        def refused(reason: str) -> None:
            self._node.get_logger().error(f"the new description is refused, the old plant stays: {reason}")
            if self._source is not None:
                self._source.refuse(reason)

        self._background.submit("description", lambda: self._make(text), self._take, refused)

    def _check_description(self, text: str) -> None:
        wanted = self._settings
        if self._plant is None or wanted.lockstep:
            self._make(text)
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted.load(text)

    def _make(self, text: str) -> tuple[str, Plant, list[str]]:
        """A description, its plant and what is odd about it."""
        return text, *self._kind.make(self._settings, self._fitted(self._faults), text)

    def _take(self, made: tuple[str, Plant, list[str]]) -> None:
        text, plant, notes = made
        for note in notes:
            self._node.get_logger().warning(note)
        self._tips.declare(plant.tip_names)
        self._use(plant)
        self._plant = plant
        if self._tips.of(plant.tip_names) != plant.parameters.tip_payloads:
            self._on_parameters(self._faults)
        if self._publisher is not None and text:
            self._publisher.publish(String(data=text))

    def _fitted(self, wanted: PlantParameters) -> PlantParameters:
        """The same with the longest timestep of which a period is a whole number."""
        steps = math.ceil(self._period / wanted.physics_timestep - 1e-6)
        loads = self._tips.of(self._plant.tip_names) if self._plant is not None else {}
        return dataclasses.replace(wanted, physics_timestep=self._period / steps, tip_payloads=loads)

    def _check_loads(self, loads: Mapping[str, PayloadParameters]) -> None:
        if self._plant is not None and self._settings.lockstep:
            tips = self._plant.tip_names
            present = {tip: load for tip, load in loads.items() if tip in tips}
            self._plant.prepare(dataclasses.replace(self._fitted(self._faults), tip_payloads=present))

    def _check(self, candidate: PlantParameters) -> None:
        if self._plant is None:
            return
        self._plant.check(candidate)
        if self._settings.lockstep:
            self._plant.prepare(self._fitted(candidate))

    def _on_parameters(self, accepted: PlantParameters) -> None:
        self._faults = accepted
        plant, fitted = self._plant, self._fitted(accepted)
        if plant is None:
            return
        if self._settings.lockstep:
            plant.reconfigure(fitted)
            return

        def take(prepared: Any) -> None:
            if plant is self._plant:
                plant.reconfigure(fitted, prepared)

        def refused(reason: str) -> None:
            self._node.get_logger().error(f"the plant stays as it was: {reason}")

        self._background.submit("parameters", lambda: plant.prepare(fitted), take, refused)


def initial_position(plant: Plant, wanted: SimulatorParameters) -> np.ndarray:
    """(n,) where the plant starts [rad or m].

    Raises:
        ParameterError: ``initial_joints`` names a joint that it has not.
        StateError: it cannot start there.
    """
    position = plant.rest_position()
    for name, value in zip(wanted.initial_joints, wanted.initial_positions, strict=True):
        if name not in plant.joint_names:
            raise ParameterError(
                f"parameter 'initial_joints' names {name}; the joints of {plant.name} are"
                f" {', '.join(plant.joint_names)}"
            )
        position[plant.joint_names.index(name)] = value
    plant.check_start(position)
    return position
