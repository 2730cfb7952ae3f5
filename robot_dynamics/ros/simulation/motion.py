"""A plant under the command that is in force, from one instant of simulated time to the next."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from robot_dynamics.errors import StateError
from robot_dynamics.ros.models.plants.source import initial_position
from robot_dynamics.simulation.parameters import COMMANDS, SimulatorParameters
from robot_dynamics.simulation.plant import Plant
from robot_dynamics.spatial import Array


class SimulatedMotion:
    """Moves a plant on, period by period.

    Attributes:
        plant: that moves.
        now: simulated time [ns].
        effort: (n,) of the command in force, or setpoints of drives; idle without one [N·m or N].
        applied: (n,) the efforts of the last period, within the plant's limits [N·m or N].
        moved_at: steady time at which the plant was moved last [s].

    Args:
        plant: put into its initial state.
        settings: of the simulator.
        period: of its loop [ns].
        now: simulated time to go on from [ns].
    """

    def __init__(self, plant: Plant, settings: SimulatorParameters, period: int, now: int) -> None:
        self.plant = plant
        self.now = now
        self.effort: Array = plant.idle_command
        self.applied: Array = np.zeros(plant.dof)
        self._drives = settings.drives != COMMANDS[0]
        self.moved_at = time.monotonic()
        self._period = period
        self._commanded_at: int | None = None
        self._braked = False
        self.reset(settings)

    @property
    def commanded(self) -> bool:
        """Return whether a command is in force."""
        return self._commanded_at is not None

    @property
    def command_age(self) -> float:
        """Simulated seconds since the command in force came, 0 without one."""
        return 1e-9 * (self.now - self._commanded_at) if self._commanded_at is not None else 0.0

    @property
    def saturated(self) -> Sequence[str]:
        """Joints whose efforts were cut in the last period."""
        if self._drives:
            return []
        cut = self.applied != self.effort
        return [name for name, one in zip(self.plant.joint_names, cut, strict=True) if one]

    def reset(self, settings: SimulatorParameters) -> None:
        """Back to the initial state; simulated time goes on, so that no stamp comes twice."""
        self.plant.reset(initial_position(self.plant, settings))
        self.halt(settings)

    def halt(self, settings: SimulatorParameters) -> None:
        """No command is in force: until one comes, the plant does what ``on_timeout`` says."""
        self.effort, self.applied = self.plant.idle_command, np.zeros(self.plant.dof)
        self._commanded_at = None
        if not settings.lockstep:
            self.plant.set_brakes(self._braked or settings.on_timeout == "brake")

    def accept(self, effort: Array) -> None:
        """A command (n,) is in force from now on."""
        if not self.commanded:
            self.plant.set_brakes(self._braked)
        self.effort, self._commanded_at = effort, self.now

    def brake(self, engaged: bool, settings: SimulatorParameters) -> None:
        """Engage or release the machine's own brakes."""
        self._braked = engaged
        self.plant.set_brakes(engaged or (not self.commanded and settings.on_timeout == "brake"))

    def advance(self, settings: SimulatorParameters) -> str:
        """Move on by one period under the command in force; what went wrong, after which it is reset."""
        try:
            applied, trouble = self.plant.advance(1e-9 * self._period, self.effort), ""
        except StateError as error:
            self.reset(settings)
            applied, trouble = self.applied, f"{error}; back to the initial state"
        self.step(applied)
        return trouble

    def step(self, applied: Array) -> None:
        """The next instant of simulated time; ``applied`` are the efforts (n,) that led to it."""
        self.applied = applied
        self.moved_at = time.monotonic()
        self.now += self._period
