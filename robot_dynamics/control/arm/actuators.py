"""What the joints' drives add to the rigid-body model: rotor inertia and friction.

Friction is D v + s(v) (F + (F_s − F) exp(−|v| / v_S)) + O s(v)²: viscous; Coulomb, which goes from F_s at the
onset of motion to F (Tustin, "The effects of backlash and of speed-dependent friction on the stability of
closed-cycle control systems", J. IEE 94 (1947) 143-151), and is larger in one direction than in the other. In
many gears F_s is the smaller one: friction grows less than in proportion to speed. s is the sign of the
velocity, smooth through standstill. As D, F, F_s ≥ 0 and |O| ≤ min(F, F_s), friction never drives a joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import InverseDynamics
from robot_dynamics.dynamics.generator.friction import STICTION_VELOCITY as STICTION_VELOCITY
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.inputs.arrays import listed, of_type
from robot_dynamics.model.chain import ChainJoint, KinematicChain
from robot_dynamics.parameters import MOST_ELEMENTS, parameter, per_joint, validate
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class ActuatorParameters:
    """Drives of the joints. URDF has no place for rotor inertia, and its friction is often missing."""

    rotor_inertia: tuple[float, ...] = parameter(
        (0.0,),
        "Inertia of the motors as seen at the joints (rotor inertia times gear ratio squared), one per joint"
        " or one for all",
        unit="kg·m² or kg",
        minimum=0.0,
        maximum=1e6,
    )
    damping: tuple[float, ...] = parameter(
        (),
        "Viscous friction, one per joint or one for all; empty: as in the description",
        unit="N·m·s/rad or N·s/m",
        minimum=0.0,
        maximum=1e6,
    )
    friction: tuple[float, ...] = parameter(
        (),
        "Coulomb friction, one per joint or one for all; empty: as in the description",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    static_friction: tuple[float, ...] = parameter(
        (),
        "Dry friction at the onset of motion, from which it goes to the Coulomb friction, one per joint or"
        " one for all; empty: the Coulomb friction",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    stribeck_velocity: tuple[float, ...] = parameter(
        (0.1,),
        "Velocity at which friction has come within 1/e of the way from static to Coulomb friction, one per"
        " joint or one for all",
        unit="rad/s or m/s",
        minimum=0.01,
        maximum=1e3,
    )
    friction_offset: tuple[float, ...] = parameter(
        (0.0,),
        "What forward motion has more of Coulomb friction, and backward motion less, one per joint or one for"
        " all; at most the smaller of static and Coulomb friction",
        unit="N·m or N",
        minimum=-1e6,
        maximum=1e6,
    )

    def __post_init__(self) -> None:
        validate(self)

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
        friction = _values(self.friction, [joint.friction for joint in joints], names, "friction")
        drives = Drives(
            rotor_inertia=per_joint(self.rotor_inertia or (0.0,), names, "rotor_inertia"),
            damping=_values(self.damping, [joint.damping for joint in joints], names, "damping"),
            friction=friction,
            static_friction=_values(self.static_friction, friction.tolist(), names, "static_friction"),
            stribeck_velocity=per_joint(self.stribeck_velocity or (0.1,), names, "stribeck_velocity"),
            friction_offset=per_joint(self.friction_offset or (0.0,), names, "friction_offset"),
        )
        least = np.minimum(drives.friction, drives.static_friction)
        for j in np.flatnonzero(np.abs(drives.friction_offset) > least):
            raise ParameterError(
                f"parameter 'friction_offset' is {drives.friction_offset[j]:g} for {names[j]}; with more than"
                f" its friction, {least[j]:g}, friction would drive the joint"
            )
        return drives


def _values(given: Sequence[float], described: list[float], names: Sequence[str], name: str) -> Array:
    return per_joint(given, names, name) if given else np.array(described)


def direction(qd: Array) -> Array:
    """The sign of the velocities ``qd``, smooth through standstill."""
    slow = np.clip(qd / STICTION_VELOCITY, -1.0, 1.0)
    # Not a hyperbolic tangent: its tail would leave light joints stuck far from their goal.
    return np.asarray(0.5 * slow * (3.0 - slow * slow))


@dataclass(frozen=True)
class Drives:
    """The drives of an arm's joints, (n,) each; see :class:`ActuatorParameters`.

    Attributes:
        rotor_inertia: as seen at the joints [kg·m² or kg].
        damping: [N·m·s/rad or N·s/m].
        friction: Coulomb friction [N·m or N].
        static_friction: at the onset of motion [N·m or N].
        stribeck_velocity: [rad/s or m/s].
        friction_offset: asymmetry of Coulomb friction [N·m or N].
    """

    rotor_inertia: Array
    damping: Array
    friction: Array
    static_friction: Array
    stribeck_velocity: Array
    friction_offset: Array

    @cached_property
    def ideal(self) -> bool:
        """Whether the drives add nothing."""
        parts = (self.rotor_inertia, self.damping, self.friction, self.static_friction)
        return not any(part.any() for part in parts)

    @cached_property
    def plain(self) -> bool:
        """Whether friction is as URDF has it: viscous, and the same at all velocities of both directions."""
        return not self.friction_offset.any() and bool((self.static_friction == self.friction).all())

    def dry_friction(self, qd: Array, heading: Array | None = None) -> Array:
        """(..., n) Coulomb friction at the velocities ``qd``, overcome along ``heading`` if not None."""
        along = direction(qd if heading is None else heading)
        return np.asarray(along * self.friction_size(qd, along))

    def friction_size(self, qd: Array, along: Array) -> Array:
        """(..., n) magnitude of Coulomb friction at the velocities ``qd`` in the `direction` ``along``."""
        if self.plain:
            return self.friction
        drop = (self.static_friction - self.friction) * np.exp(-np.abs(qd) / self.stribeck_velocity)
        return np.asarray(self.friction + drop + self.friction_offset * along)


class ActuatedArm:
    """The inverse dynamics of the links and of the drives that move them.

    Attributes:
        links: the rigid-body model.
        drives: what moves them.

    Args:
        links: the rigid-body model.
        chain: of the arm.
        parameters: of the drives.
    """

    def __init__(self, links: InverseDynamics, chain: KinematicChain, parameters: ActuatorParameters) -> None:
        of_type("chain", chain, KinematicChain)
        of_type("parameters", parameters, ActuatorParameters)
        if not callable(getattr(links, "inverse_dynamics", None)):
            raise TypeError(f"links is {quoted(links)}; it must be a model with inverse_dynamics()")
        self.links = links
        self.drives = parameters.of(chain)
        self._ideal = self.drives.ideal

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
        dry = self.drives.dry_friction(qd, heading)
        return np.asarray(effort + self.drives.rotor_inertia * qdd + self.drives.damping * qd + dry)
