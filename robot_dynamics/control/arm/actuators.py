"""What the joints' drives add to the rigid-body model: rotor inertia, viscous and Coulomb friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import InverseDynamics
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

STICTION_VELOCITY = 0.005
"""Below this speed Coulomb friction goes smoothly through zero and cannot chatter [rad/s or m/s]."""


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

    def __post_init__(self) -> None:
        validate(self)

    def of(self, chain: KinematicChain) -> tuple[Array, Array, Array]:
        """Rotor inertia, damping and Coulomb friction (n,) of the joints of ``chain``.

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints.
        """
        joints = [chain.driving_joint(j) for j in range(chain.dof)]
        names = chain.joint_names
        return (
            per_joint(self.rotor_inertia or (0.0,), names, "rotor_inertia"),
            _values(self.damping, [joint.damping for joint in joints], names, "damping"),
            _values(self.friction, [joint.friction for joint in joints], names, "friction"),
        )


def _values(given: Sequence[float], described: list[float], names: Sequence[str], name: str) -> Array:
    return per_joint(given, names, name) if given else np.array(described)


def dry_friction(qd: Array) -> Array:
    """Coulomb friction of magnitude 1 at the velocities ``qd``, smooth through standstill."""
    slow = np.clip(qd / STICTION_VELOCITY, -1.0, 1.0)
    # Not a hyperbolic tangent: its tail would leave light joints stuck far from their goal.
    return np.asarray(0.5 * slow * (3.0 - slow * slow))


class ActuatedArm:
    """The inverse dynamics of the links and of the drives that move them.

    Attributes:
        links: the rigid-body model.
        rotor_inertia: (n,) as seen at the joints [kg·m² or kg].
        damping: (n,) [N·m·s/rad or N·s/m].
        friction: (n,) Coulomb friction [N·m or N].
        ideal: whether the drives add nothing.

    Args:
        links: the rigid-body model.
        chain: of the arm.
        parameters: of the drives.
    """

    def __init__(self, links: InverseDynamics, chain: KinematicChain, parameters: ActuatorParameters) -> None:
        self.links = links
        self.rotor_inertia, self.damping, self.friction = parameters.of(chain)
        self.ideal = not (self.rotor_inertia.any() or self.damping.any() or self.friction.any())

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, heading: Array | None = None) -> Array:
        """Joint efforts (n,) for the motion [N·m or N].

        Args:
            q: (n,) positions [rad or m].
            qd: (n,) velocities [rad/s or m/s].
            qdd: (n,) accelerations [rad/s² or m/s²].
            heading: (n,) velocities along which Coulomb friction is overcome; ``qd`` when None.
        """
        effort = self.links.inverse_dynamics(q, qd, qdd)
        if self.ideal:
            return effort
        coulomb = self.friction * dry_friction(qd if heading is None else heading)
        return np.asarray(effort + self.rotor_inertia * qdd + self.damping * qd + coulomb)
