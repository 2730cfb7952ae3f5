"""A robot description as a tree of links and joints, nothing lumped yet."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from robot_dynamics.errors import ModelError
from robot_dynamics.model.chain import JointLimits, RigidBody
from robot_dynamics.spatial import Array


class JointType(enum.Enum):
    """The joint types of URDF."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"
    FLOATING = "floating"
    PLANAR = "planar"

    @property
    def moves_on_axis(self) -> bool:
        """True when the joint has exactly one degree of freedom."""
        return self in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)


@dataclass(frozen=True)
class Link:
    """A link; ``body`` is None when the description gives it no ``<inertial>``."""

    name: str
    body: RigidBody | None


@dataclass(frozen=True)
class Mimic:
    """A joint variable tied to another: ``multiplier * (variable of joint) + offset``."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A joint as described.

    Attributes:
        name: unique in the robot.
        kind: URDF's joint type.
        parent: name of the link that carries the joint.
        child: name of the link that the joint moves.
        origin: (4, 4) pose of the joint frame (the child frame at joint variable zero) in the parent frame.
        axis: (3,) unit vector in the joint frame; x where the description gives none.
        limits: of the joint variable; infinite where none are given.
        damping: viscous friction [N·m·s/rad or N·s/m].
        friction: Coulomb friction [N·m or N].
        mimic: the joint that this one follows, as written, or None.
        zero_limits: which of its limits ("velocity", "effort") are written as 0 and so count as not given.
    """

    name: str
    kind: JointType
    parent: str
    child: str
    origin: Array
    axis: Array
    limits: JointLimits = field(default_factory=JointLimits)
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    zero_limits: tuple[str, ...] = ()


@dataclass(frozen=True)
class DescriptionFinding:
    """Something odd about a link or joint that does not make the description unusable."""

    kind: str
    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}: {self.message}"


@dataclass(frozen=True)
class RobotTree:
    """Every link and joint of a description that has been validated.

    Attributes:
        name: the robot's name.
        links: by name, in the order of the description.
        joints: by name, in the order of the description.
        findings: what is odd about single links and joints.
    """

    name: str
    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    findings: tuple[DescriptionFinding, ...] = ()

    @cached_property
    def parent_joint(self) -> Mapping[str, Joint]:
        """The joint that carries each link; the root has none."""
        return {joint.child: joint for joint in self.joints.values()}

    @cached_property
    def child_joints(self) -> Mapping[str, tuple[Joint, ...]]:
        """The joints that each link carries, in the order of the description."""
        children: dict[str, list[Joint]] = {name: [] for name in self.links}
        for joint in self.joints.values():
            children[joint.parent].append(joint)
        return {name: tuple(joints) for name, joints in children.items()}

    @cached_property
    def root(self) -> str:
        """Name of the one link that no joint carries."""
        return next(name for name in self.links if name not in self.parent_joint)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """Names of the links that carry nothing."""
        return tuple(name for name in self.links if not self.child_joints[name])

    def path(self, root: str, tip: str) -> tuple[Joint, ...]:
        """The joints from link ``root`` down to link ``tip``, fixed ones included.

        Raises:
            ModelError: one of the links is unknown, or ``tip`` does not hang below ``root``.
        """
        for role, name in (("root", root), ("tip", tip)):
            if name not in self.links:
                raise ModelError(
                    f"{role} link {name!r} is not in robot {self.name!r}; its links are:"
                    f" {', '.join(self.links)}"
                )
        joints: list[Joint] = []
        link = tip
        while link != root:
            if link not in self.parent_joint:
                raise ModelError(f"link {tip!r} does not hang below link {root!r} in robot {self.name!r}")
            joints.append(self.parent_joint[link])
            link = joints[-1].parent
        return tuple(reversed(joints))

    def subtree(self, link: str) -> Iterator[Joint]:
        """Every joint below ``link``, parents before children."""
        pending = list(reversed(self.child_joints[link]))
        while pending:
            joint = pending.pop()
            yield joint
            pending.extend(reversed(self.child_joints[joint.child]))
