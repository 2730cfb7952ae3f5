"""The serial chain that every formulation and controller works on.

A chain is what remains of a robot description once every body has been accounted for: fixed links and side
branches are lumped into the moving link that carries them, and only moving joints are left.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ModelError, ParameterError, quoted
from robot_dynamics.inputs.arrays import joint_vector, of_type, pose_matrix, whole_number
from robot_dynamics.spatial import Array, pose, rotation_about


class JointKind(enum.Enum):
    """How a joint moves along or about its axis."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"


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

    def __repr__(self) -> str:
        """Name, kind, link and mass, in a line."""
        return f"<ChainJoint {self.name}: {self.kind.value}, moves {self.link} of {self.body.mass:.4g} kg>"

    def displacement(self, value: float) -> Array:
        """(4, 4) pose of the link frame in the joint frame at joint variable ``value`` [rad or m]."""
        if self.kind is JointKind.PRISMATIC:
            return pose(position=value * self.axis)
        return pose(rotation_about(self.axis, value))


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
        for name in ("name", "root", "tip"):
            of_type(name, getattr(self, name), str)
        of_type("joints", self.joints, tuple)
        for joint in self.joints:
            of_type("joints has an entry that", joint, ChainJoint)
        of_type("coordinate_names", self.coordinate_names, tuple)
        pose_matrix("tip_transform", self.tip_transform, ModelError)

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
