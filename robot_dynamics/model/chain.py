"""The serial chain that every formulation and controller works on.

A chain is what remains of a robot description once every body has been accounted for: fixed links and side
branches are lumped into the moving link that carries them, and only moving joints are left.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ModelError, ParameterError, quoted
from robot_dynamics.inputs.arrays import joint_vector, whole_number
from robot_dynamics.inputs.records import (
    a,
    check_fields,
    index,
    number,
    number_or_infinity,
    numbers,
    several,
    text,
)
from robot_dynamics.spatial import Array, pose, rotation_about


class JointKind(enum.Enum):
    """Motion of a joint: along its axis or about it."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"


_BODY = {"mass": number, "center_of_mass": numbers(3), "inertia": numbers(3, 3)}


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint; infinite where the description gives none.

    A description's effort or velocity limit of 0 stands for "not given": the loader makes it infinite.

    Units are rad, rad/s and N·m for a revolute joint, m, m/s and N for a prismatic one.
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf

    def __post_init__(self) -> None:
        check_fields(self, dict.fromkeys(("lower", "upper", "velocity", "effort"), number_or_infinity))


@dataclass(frozen=True)
class RigidBody:
    """Mass properties of one moving link, everything that it carries included.

    Attributes:
        mass: [kg].
        center_of_mass: (3,) [m], in the link frame.
        inertia: (3, 3) [kg·m²], about the center of mass, in the axes of the link frame.
    """

    mass: float
    center_of_mass: Array
    inertia: Array

    def __post_init__(self) -> None:
        check_fields(self, _BODY)


_JOINT = {
    "name": text,
    "link": text,
    "kind": a(JointKind),
    "origin": numbers(4, 4),
    "axis": numbers(3),
    "body": a(RigidBody),
    "limits": a(JointLimits),
    "damping": number,
    "friction": number,
    "coordinate": index,
    "multiplier": number,
    "offset": number,
}


@dataclass(frozen=True)
class ChainJoint:
    """A moving joint and the link that it moves.

    The link frame is the joint frame of URDF: it coincides with ``origin`` when the joint variable is zero,
    and turns about, or slides along, ``axis``.

    Attributes:
        name: the joint's name in the description.
        link: name of the moving link.
        kind: revolute (continuous joints too) or prismatic.
        origin: (4, 4) pose of the joint frame in the previous link frame (the root frame for the first).
        axis: (3,) unit vector, in the joint frame.
        body: mass properties of the moving link, in its link frame.
        limits: of the joint variable.
        damping: viscous friction [N·m·s/rad or N·s/m].
        friction: Coulomb friction [N·m or N].
        coordinate: index of the coordinate in ``q`` that moves this joint.
        multiplier: joint variable = ``multiplier * q[coordinate] + offset``; 1 unless the joint is a mimic.
        offset: see ``multiplier`` [rad or m].
    """

    name: str
    link: str
    kind: JointKind
    origin: Array
    axis: Array
    body: RigidBody
    limits: JointLimits = JointLimits()
    damping: float = 0.0
    friction: float = 0.0
    coordinate: int = 0
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, _JOINT)

    def __repr__(self) -> str:
        """Name, kind, link and mass, in a line."""
        return f"<ChainJoint {self.name}: {self.kind.value}, moves {self.link} of {self.body.mass:.4g} kg>"

    def displacement(self, value: float) -> Array:
        """(4, 4) pose of the link frame in the joint frame at joint variable ``value`` [rad or m]."""
        if self.kind is JointKind.PRISMATIC:
            return pose(position=value * self.axis)
        return pose(rotation_about(self.axis, value))


_CHAIN = {
    "name": text,
    "root": text,
    "tip": text,
    "joints": several(a(ChainJoint)),
    "coordinate_names": several(text),
    "tip_transform": numbers(4, 4),
    "warnings": several(text),
}


@dataclass(frozen=True)
class KinematicChain:
    """A serial chain from a root link to a tip link.

    Attributes:
        name: the robot's name.
        root: name of the link that is fixed to the ground.
        tip: name of the link whose frame is the chain's end.
        joints: every moving joint between root and tip, in order.
        coordinate_names: name of the joint that each entry of ``q`` belongs to, in chain order.
        tip_transform: (4, 4) pose of the tip frame in the last link frame.
        warnings: what is odd about the description of the links and joints that matter to this chain.
    """

    name: str
    root: str
    tip: str
    joints: tuple[ChainJoint, ...]
    coordinate_names: tuple[str, ...]
    tip_transform: Array
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, _CHAIN)
        for joint in self.joints:
            if not 0 <= joint.coordinate < self.dof:
                raise ModelError(
                    f"joint {quoted(joint.name)} moves with coordinate {quoted(joint.coordinate)};"
                    f" coordinate_names has {self.dof}"
                )
        moving = {joint.name for joint in self.joints}
        for name in self.coordinate_names:
            if name not in moving:
                raise ModelError(f"coordinate_names has {quoted(name)}, which is the name of no joint")

    def __repr__(self) -> str:
        return (
            f"<KinematicChain {self.name}: {self.root} -> {self.tip}, {self.dof} joints:"
            f" {', '.join(self.joint_names)}>"
        )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints: the order of ``q`` and of every torque."""
        return self.coordinate_names

    @property
    def dof(self) -> int:
        """Number of independent joints."""
        return len(self.coordinate_names)

    def driving_joint(self, coordinate: int) -> ChainJoint:
        """The joint that coordinate ``coordinate`` is named after."""
        coordinate = whole_number("coordinate", coordinate)
        if not -self.dof <= coordinate < self.dof:
            raise ParameterError(f"coordinate is {quoted(coordinate)}; the chain has {self.dof}")
        name = self.coordinate_names[coordinate]
        return next(joint for joint in self.joints if joint.name == name)

    def joint_values(self, q: Array) -> Array:
        """Joint variable of every moving joint, mimic joints included, for coordinates ``q`` (n,).

        Raises:
            StateError: ``q`` is not (n,) finite numbers.
        """
        q = joint_vector("q", q, self.joint_names)
        return np.array([j.multiplier * q[j.coordinate] + j.offset for j in self.joints])

    def forward_kinematics(self, q: Array) -> Array:
        """(4, 4) pose of the tip frame in the root frame at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` is not (n,) finite numbers.
        """
        link = np.eye(4)
        for joint, value in zip(self.joints, self.joint_values(q), strict=True):
            link = link @ joint.origin @ joint.displacement(value)
        return np.asarray(link @ self.tip_transform)
