"""The moving joints of a robot from its root to one tip or several.

A chain is what remains of a robot description once every body has been accounted for: fixed links and what is
locked are lumped into the moving link that carries them, and only moving joints are left. With one tip it is
serial; with several it is a tree.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np

from robot_dynamics.errors import ModelError, ParameterError, quoted
from robot_dynamics.inputs.arrays import joint_vector, of_type, whole_number
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

MOST_SHOWN = 4
"""Frames behind the tip that a line names."""


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


@dataclass(frozen=True)
class Tip:
    """A link at whose frame a chain ends.

    Attributes:
        link: its name.
        joint: index of the last joint before it.
        transform: (4, 4) pose of its frame in the frame of the link that this joint moves.
    """

    link: str
    joint: int
    transform: Array

    def __post_init__(self) -> None:
        check_fields(self, {"link": text, "joint": index, "transform": numbers(4, 4)})


@dataclass(frozen=True)
class AttachedFrame:
    """Frame of a link that does not move relative to a moving link of the chain.

    Attributes:
        name: name of the link.
        link: name of the moving link.
        parent: name of the link that carries it: the moving link, or another attached one.
        pose: (4, 4) pose of the frame in the frame of the moving link.
    """

    name: str
    link: str
    parent: str
    pose: Array

    def __post_init__(self) -> None:
        check_fields(self, {"name": text, "link": text, "parent": text, "pose": numbers(4, 4)})


_CHAIN = {
    "name": text,
    "root": text,
    "tip": text,
    "joints": several(a(ChainJoint)),
    "coordinate_names": several(text),
    "tip_transform": numbers(4, 4),
    "warnings": several(text),
    "parents": several(index),
    "tip_joint": index,
    "other_tips": several(a(Tip)),
    "frames": several(a(AttachedFrame)),
}


@dataclass(frozen=True)
class KinematicChain:
    """A chain from a root link to a tip link, or a tree with several tips.

    Attributes:
        name: the robot's name.
        root: name of the link that is fixed to the ground.
        tip: name of the link whose frame is the chain's end; the first of several.
        joints: every moving joint between root and tips, each behind the joint that carries it.
        coordinate_names: name of the joint that each entry of ``q`` belongs to, in chain order.
        tip_transform: (4, 4) pose of the tip frame in the frame of the link that carries it.
        warnings: what is odd about the description of the links and joints that matter to this chain.
        parents: index of the joint that carries each joint, -1 for the root; empty: each carries the next.
        tip_joint: index of the joint that carries the tip; -1: the last.
        other_tips: the other tips of a tree.
        frames: frames of the links that fixed or locked joints attach to the moving links.
        whole: the tree that also has the measured joints, which somebody else moves; this chain has them
            locked. None: there are none. Its tips are those of this chain.
    """

    name: str
    root: str
    tip: str
    joints: tuple[ChainJoint, ...]
    coordinate_names: tuple[str, ...]
    tip_transform: Array
    warnings: tuple[str, ...] = ()
    parents: tuple[int, ...] = ()
    tip_joint: int = -1
    other_tips: tuple[Tip, ...] = ()
    frames: tuple[AttachedFrame, ...] = ()
    whole: KinematicChain | None = None

    def __post_init__(self) -> None:
        check_fields(self, _CHAIN)
        if self.whole is not None:
            of_type("whole", self.whole, KinematicChain)
        if self.parents and len(self.parents) != len(self.joints):
            raise ModelError(f"parents has {len(self.parents)} entries for {len(self.joints)} joints")
        for i, parent in enumerate(self.parents):
            if not -1 <= parent < i:
                raise ModelError(
                    f"the parent of joint {quoted(self.joints[i].name)} is {quoted(parent)}; it must be"
                    f" -1, or the index of a joint before it, below {i}"
                )
        for tip in self.tips:
            if self.joints and not 0 <= tip.joint < len(self.joints):
                raise ModelError(
                    f"tip {quoted(tip.link)} is carried by joint {quoted(tip.joint)}; there are"
                    f" {len(self.joints)}"
                )
        if len({tip.link for tip in self.tips}) != len(self.tips):
            raise ModelError("a tip is given twice")
        for joint in self.joints:
            if not 0 <= joint.coordinate < self.dof:
                raise ModelError(
                    f"joint {quoted(joint.name)} moves with coordinate {quoted(joint.coordinate)};"
                    f" coordinate_names has {self.dof}"
                )
        if self.whole is not None and not (
            self.whole.whole is None
            and set(self.coordinate_names) < set(self.whole.coordinate_names)
            and [tip.link for tip in self.tips] == [tip.link for tip in self.whole.tips]
        ):
            raise ModelError("whole has other tips, or not all joints of the chain and further ones")
        moving = {joint.name for joint in self.joints}
        for name in self.coordinate_names:
            if name not in moving:
                raise ModelError(f"coordinate_names has {quoted(name)}, which is the name of no joint")

    def __repr__(self) -> str:
        return f"<KinematicChain {self.name}: {self.ends}, {self.dof} joints: {', '.join(self.joint_names)}>"

    @property
    def tips(self) -> tuple[Tip, ...]:
        """All tips, in the order of what is given per tip, such as wrenches."""
        last = len(self.joints) - 1
        first = Tip(self.tip, last if self.tip_joint < 0 else self.tip_joint, self.tip_transform)
        return (first, *self.other_tips)

    @property
    def ends(self) -> str:
        """Root and tips in words."""
        return f"{self.root} -> {', '.join(tip.link for tip in self.tips)}"

    @property
    def carriers(self) -> tuple[int, ...]:
        """Index of the joint that carries each joint, -1 for the root."""
        return self.parents or tuple(range(-1, len(self.joints) - 1))

    @property
    def serial(self) -> bool:
        """True when every joint but the last carries the next one, and the last carries the only tip."""
        last = len(self.joints) - 1
        return self.carriers == tuple(range(-1, last)) and [tip.joint for tip in self.tips] == [last]

    def only_serial(self, purpose: str) -> KinematicChain:
        """This chain, where it is serial.

        Args:
            purpose: what only serial chains can do, for the message.

        Raises:
            ModelError: it is a tree.
        """
        if self.serial:
            return self
        raise ModelError(
            f"{self.name} is a tree with the tips {', '.join(tip.link for tip in self.tips)}; {purpose} takes"
            " a serial chain: give one tip, or take chain.branch(tip)"
        )

    def branch(self, tip: str, followers_free: bool = False) -> KinematicChain:
        """The serial chain to one tip of a tree; the bodies of the other branches are left out.

        Args:
            tip: name of the tip.
            followers_free: whether a joint that follows one of another branch moves by itself; else refused.

        Raises:
            ModelError: there is no such tip, or a joint of the branch follows one of another branch.
        """
        found = next((known for known in self.tips if known.link == tip), None)
        if found is None:
            known = ", ".join(known.link for known in self.tips)
            raise ModelError(f"{self.name} has no tip {quoted(tip)}; its tips are {known}")
        path, at = [], found.joint
        while at >= 0:
            path.append(at)
            at = self.carriers[at]
        joints = [self.joints[i] for i in reversed(path)]
        names = list(self.coordinate_names)
        if followers_free:
            on_path = {joint.name for joint in joints}
            for k, joint in enumerate(joints):
                if names[joint.coordinate] not in on_path:
                    names.append(joint.name)
                    joints[k] = replace(joint, coordinate=len(names) - 1, multiplier=1.0, offset=0.0)
        drivers = [joint.name for joint in joints if joint.name in names]
        for joint in joints:
            if names[joint.coordinate] not in drivers:
                leader = names[joint.coordinate]
                raise ModelError(
                    f"joint {quoted(joint.name)} follows {quoted(leader)}, which is not on the branch to"
                    f" {quoted(tip)}"
                )
        own = [replace(joint, coordinate=drivers.index(names[joint.coordinate])) for joint in joints]
        links = {joint.link for joint in own}
        return KinematicChain(
            self.name,
            self.root,
            tip,
            tuple(own),
            tuple(drivers),
            found.transform,
            self.warnings,
            frames=tuple(frame for frame in self.frames if frame.link in links),
        )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints: the order of ``q`` and of every torque."""
        return self.coordinate_names

    @property
    def dof(self) -> int:
        """Number of independent joints."""
        return len(self.coordinate_names)

    @property
    def modelled(self) -> KinematicChain:
        """The tree whose dynamics are computed: with the measured joints, where there are any."""
        return self if self.whole is None else self.whole

    @property
    def own_coordinates(self) -> tuple[int, ...]:
        """Place of each coordinate among those of ``modelled``."""
        return tuple(map(self.modelled.coordinate_names.index, self.coordinate_names))

    @property
    def measured_coordinates(self) -> tuple[int, ...]:
        """Places of the measured joints among the coordinates of ``modelled``."""
        own = set(self.own_coordinates)
        return tuple(i for i in range(self.modelled.dof) if i not in own)

    @property
    def measured_joints(self) -> tuple[str, ...]:
        """Names of the joints that somebody else moves, and whose measured state the dynamics take."""
        return tuple(self.modelled.coordinate_names[i] for i in self.measured_coordinates)

    def frames_behind_tips(self) -> dict[str, float]:
        """Distances from their tip of the attached frames that a tip carries [m], by name.

        Frames that coincide with the tip are left out.
        """
        found = {}
        for tip in self.tips:
            behind = {tip.link}
            from_link = np.linalg.inv(tip.transform)
            for frame in self.frames:
                if frame.parent in behind:
                    behind.add(frame.name)
                    offset = from_link @ frame.pose
                    if np.abs(offset - np.eye(4)).max() > 1e-9:
                        found[frame.name] = float(np.linalg.norm(offset[:3, 3]))
        return found

    def description(self) -> str:
        """One line with root, tip and joints, and the fixed frames behind the tip."""
        behind = self.frames_behind_tips()
        shown = [f"{name} {1e3 * distance:.3g} mm" for name, distance in list(behind.items())[:MOST_SHOWN]]
        further = f" and {len(behind) - MOST_SHOWN} more" if len(behind) > MOST_SHOWN else ""
        fixed = f"; fixed behind the tip, for --tip: {', '.join(shown)}{further}" if behind else ""
        joints = f"{self.dof} joint{'s' if self.dof > 1 else ''}: {', '.join(self.joint_names)}"
        tips = f"tip{'s' if self.other_tips else ''} {', '.join(tip.link for tip in self.tips)}"
        return f"root {self.root}, {tips}, {joints}{fixed}"

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

    def link_poses(self, q: Array) -> list[Array]:
        """(4, 4) pose of every moving link's frame in the root frame at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` is not (n,) finite numbers.
        """
        poses: list[Array] = []
        for joint, value, parent in zip(self.joints, self.joint_values(q), self.carriers, strict=True):
            before = poses[parent] if parent >= 0 else np.eye(4)
            poses.append(before @ joint.origin @ joint.displacement(value))
        return poses

    def forward_kinematics(self, q: Array) -> Array:
        """(4, 4) pose of the (first) tip frame in the root frame at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` is not (n,) finite numbers.
        """
        poses = self.link_poses(q)
        return np.asarray((poses[self.tips[0].joint] if poses else np.eye(4)) @ self.tip_transform)


def same_model(one: KinematicChain, other: KinematicChain) -> bool:
    """Check whether two chains agree in everything but what is odd about their descriptions."""
    return _alike(replace(one, warnings=()), replace(other, warnings=()))


def _alike(one: object, other: object) -> bool:
    """Check whether two values agree: arrays and the fields of records number by number."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return np.array_equal(one, np.asarray(other), equal_nan=True)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(_alike(*pair) for pair in zip(one, other, strict=True))
    if is_dataclass(one):
        return all(_alike(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return one == other
