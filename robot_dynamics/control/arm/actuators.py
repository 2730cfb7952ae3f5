"""Actuators of the joints, beside the rigid-body model: rotor inertia and friction."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.dynamics.friction import DriveFriction, FrictionParameters
from robot_dynamics.errors import ParameterError, WrongTypeError, quoted
from robot_dynamics.inputs.arrays import listed, of_type
from robot_dynamics.model.chain import ChainJoint, KinematicChain
from robot_dynamics.model.driver_profile import DriverProfile
from robot_dynamics.parameters import MOST_ELEMENTS, parameter, per_joint, validate
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class RotorParameters:
    """Motors of the joints; URDF has no place for their inertia."""

    rotor_inertia: tuple[float, ...] = parameter(
        (0.0,),
        "Inertia of the motors as seen at the joints (rotor inertia times gear ratio squared), one per joint"
        " or one for all",
        unit="kg·m² or kg",
        minimum=0.0,
        maximum=1e6,
    )

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class ActuatorParameters(FrictionParameters, RotorParameters):
    """Drives of the joints. URDF has no place for rotor inertia, and its friction is often missing."""

    def of(self, chain: KinematicChain) -> Drives:
        """The drives of the joints of ``chain``; see :meth:`of_joints`."""
        of_type("chain", chain, KinematicChain)
        return self.of_joints([chain.driving_joint(j) for j in range(chain.dof)])

    def of_joints(self, joints: Sequence[ChainJoint]) -> Drives:
        """The drives of ``joints``.

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints, or an asymmetry that
                would make friction drive a joint.
        """
        of_type("joints", joints, Sequence)
        joints = listed("joints", joints, ParameterError, MOST_ELEMENTS)
        for joint in joints:
            of_type("a joint", joint, ChainJoint)
        names = [joint.name for joint in joints]
        rotor_inertia = per_joint(self.rotor_inertia or (0.0,), names, "rotor_inertia")
        return Drives(rotor_inertia, self.friction_of(joints))


@dataclass(frozen=True)
class Drives:
    """The drives of an arm's joints.

    Attributes:
        rotor_inertia: (n,) as seen at the joints [kg·m² or kg].
        friction: of the joints.
    """

    rotor_inertia: Array
    friction: DriveFriction

    @cached_property
    def ideal(self) -> bool:
        """True if the drives add nothing."""
        return not self.rotor_inertia.any() and self.friction.is_zero


@dataclass(frozen=True)
class MeasuredEfforts:
    """Meaning of the efforts in joint states.

    Attributes:
        side: of the gear where they are measured: ``motor``, ``link``, or empty where that is not known.
        gravity: (3,) whose weight is in them [m/s²]; None: the weight that commands carry.
        friction: of the joints, compensated by the drive or not.
    """

    side: str
    gravity: Array | None
    friction: DriveFriction


class ActuatedArm:
    """The inverse dynamics of the links and of the drives that move them.

    Attributes:
        links: the rigid-body model.
        drives: what moves them.
        measured: meaning of the efforts in joint states.

    Args:
        links: the rigid-body model.
        chain: of the arm.
        parameters: of the drives.
        driver: profile of the driver that gets the efforts; the friction that it compensates is left out.
        gravity: (3,) of the world, where the links may have none because the robot carries its weight [m/s²].
    """

    def __init__(
        self,
        links: EffortModel,
        chain: KinematicChain,
        parameters: ActuatorParameters,
        driver: DriverProfile | None = None,
        gravity: Sequence[float] | None = None,
    ) -> None:
        of_type("chain", chain, KinematicChain)
        of_type("parameters", parameters, ActuatorParameters)
        if not callable(getattr(links, "inverse_dynamics", None)):
            raise WrongTypeError(f"links is {quoted(links)}; it must be a model with inverse_dynamics()")
        self.links = links
        self.drives = parameters.of(chain)
        side, carried = "", None
        if driver is not None and driver.state.quantity == "torque" and driver.state.side != "unknown":
            side = driver.state.side
            weights = {"removed": np.zeros(3), "included": None if gravity is None else np.array(gravity)}
            carried = weights.get(driver.state.gravity)
        self.measured = MeasuredEfforts(side, carried, self.drives.friction)
        if driver is not None:
            left = driver.friction_left(chain.joint_names)
            self.drives = Drives(self.drives.rotor_inertia, self.drives.friction.left(*left))
        self._ideal = self.drives.ideal

    def with_measured(self, position: Array, *rates: Array) -> ActuatedArm:
        """The same arm with the measured joints in another state, see ``CompiledDynamics.with_measured``."""
        links: Any = self.links
        other = copy(self)
        other.links = links.with_measured(position, *rates)
        return other

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, heading: Array | None = None) -> Array:
        """Joint efforts (n,) for the motion [N·m or N].

        Args:
            q: (n,) positions [rad or m].
            qd: (n,) velocities [rad/s or m/s].
            qdd: (n,) accelerations [rad/s² or m/s²].
            heading: (n,) velocities along which Coulomb friction is overcome; ``qd`` when None.
        """
        effort = self.links.inverse_dynamics(q, qd, qdd)
        if self._ideal:
            return effort
        friction = self.drives.friction.effort(qd, heading, effort)
        return np.asarray(effort + self.drives.rotor_inertia * qdd + friction)
