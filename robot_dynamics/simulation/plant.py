"""Interface of a simulated robot or platform, and checks of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.model.chain import JointLimits
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.spatial import Array

BRAKE = 1e6
"""Coulomb friction of an engaged brake [N·m or N]: more than any actuator can overcome."""
DIVERGED = 1e10
"""Positions and velocities [SI] beyond which MuJoCo's own checks call a motion unstable."""


class Plant(Protocol):
    """A machine that answers to efforts; positions and efforts are in the order of ``joint_names``."""

    parameters: PlantParameters

    @property
    def name(self) -> str:
        """The machine's name."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints."""

    @property
    def held_joints(self) -> Mapping[str, float]:
        """Positions of other joints, which are locked [rad or m]."""

    @property
    def tip_names(self) -> tuple[str, ...]:
        """Tips that can carry a payload; none where the machine has a payload of its own."""

    @property
    def dof(self) -> int:
        """Number of independent joints."""

    @property
    def limits(self) -> tuple[JointLimits, ...]:
        """Limits of the independent joints."""

    @property
    def idle_command(self) -> Array:
        """(n,) command that asks for no motion: no efforts, or setpoints of drives where the joints are."""

    @property
    def integrator(self) -> str:
        """The integrator in use."""

    @property
    def time(self) -> float:
        """Simulated time since the last reset [s]."""

    @property
    def position(self) -> Array:
        """(n,) joint positions [rad or m]."""

    @property
    def velocity(self) -> Array:
        """(n,) joint velocities [rad/s or m/s]."""

    def rest_position(self) -> Array:
        """(n,) where the machine starts when nothing else is said [rad or m]."""

    def check_start(self, position: ArrayLike) -> Array:
        """The position (n,) as an array, if the machine can start there; StateError if not."""

    def reset(self, position: ArrayLike) -> None:
        """Put the machine at rest at ``position`` (n,), at time zero, without a wrench."""

    def set_wrench(self, wrench: ArrayLike) -> None:
        """Load what the machine moves by force [N] and torque [N·m] (6,) until further notice."""

    def set_brakes(self, engaged: bool) -> None:
        """Lock all joints by dry friction, or release them."""

    def advance(self, duration: float, effort: ArrayLike) -> Array:
        """Move on for ``duration`` [s] under constant efforts or setpoints (n,); the efforts applied."""

    def check(self, parameters: PlantParameters) -> None:
        """ParameterError for a list of parameters that does not fit the joints."""

    def prepare(self, parameters: PlantParameters) -> Any:
        """Prepare for :meth:`reconfigure`, which takes a while; nothing changes, so any thread may."""

    def reconfigure(self, parameters: PlantParameters, prepared: Any = None) -> None:
        """Change faults, load or world, and keep the state."""


class JointChecks:
    """Checks what is handed to a plant, against its joints.

    Args:
        machine: its name, for messages.
        joint_names: its joints.
        expected: what a value per joint is, e.g. "six finite numbers, one for each leg".
    """

    def __init__(self, machine: str, joint_names: Sequence[str], expected: str) -> None:
        self._machine = machine
        self._names = tuple(joint_names)
        self._expected = expected

    def vector(self, what: str, values: ArrayLike) -> Array:
        """``values`` (n,) as an array; StateError when the shape is wrong or a number is not finite."""
        array = np.asarray(values, dtype=float)
        must = f"the {what} of {self._machine} must be {self._expected}"
        if array.shape != (len(self._names),):
            raise StateError(f"{must}; its shape is {array.shape}")
        finite = np.isfinite(array)
        if not finite.all():
            bad = [name for name, good in zip(self._names, finite, strict=True) if not good]
            raise StateError(f"{must}; that of {', '.join(bad)} is not")
        return array

    def start(self, position: ArrayLike, limits: Sequence[JointLimits] | None) -> Array:
        """A position (n,) as an array; StateError when it lies outside ``limits``, where these are given."""
        array = self.vector("position", position)
        for name, value, limit in zip(self._names, array, limits or (), strict=limits is not None):
            if not limit.lower - 1e-9 <= value <= limit.upper + 1e-9:
                raise StateError(
                    f"joint {name} cannot start at {value:g}, outside its limits {limit.lower:g} to"
                    f" {limit.upper:g}"
                )
        return array


def checked_wrench(wrench: ArrayLike, tips: int = 1) -> Array:
    """``wrench`` (6 t,) of t ``tips`` as an array; StateError when it is not so many finite numbers."""
    values = np.asarray(wrench, dtype=float)
    if values.shape != (6 * tips,) or not np.isfinite(values).all():
        count = "six" if tips == 1 else f"{6 * tips}"
        each = "" if tips == 1 else " for each tip"
        raise StateError(
            f"the wrench must be {count} finite numbers, force and torque{each}; it is {wrench!r}"
        )
    return values


def whole_steps(duration: float, timestep: float) -> int:
    """Number of steps of ``timestep`` [s] in a duration [s]; ParameterError when it is no whole number."""
    steps = round(duration / timestep)
    if steps < 0 or abs(steps * timestep - duration) > 1e-6 * timestep:
        raise ParameterError(f"the duration {duration} s is not a multiple of the timestep {timestep} s")
    return steps


def check_motion(plant: Plant, position: Array, velocity: Array) -> None:
    """StateError when the simulated coordinates say that the motion has diverged."""
    # NaN fails the comparison too.
    if not (np.abs(position).max() < DIVERGED and np.abs(velocity).max() < DIVERGED):
        raise StateError(
            f"the motion of {plant.name} has diverged at {plant.time:g} s; the efforts are too large, or the"
            f" timestep of {plant.parameters.physics_timestep:g} s is too long for its lightest link"
        )
