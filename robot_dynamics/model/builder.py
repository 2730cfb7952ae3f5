"""Reduces a robot's tree to the chain between its root and one tip or several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import ModelError, WrongTypeError, quoted, readable
from robot_dynamics.inputs.arrays import listed, real_number
from robot_dynamics.inputs.records import MOST_ENTRIES
from robot_dynamics.model.chain import AttachedFrame, ChainJoint, JointKind, KinematicChain, Tip
from robot_dynamics.model.lumping import MASSLESS, lumped_body, moved_body
from robot_dynamics.model.selection import ALL, choose_tip, followers, rest_position, tips_of
from robot_dynamics.model.urdf.tree import Joint, JointType, RobotTree
from robot_dynamics.model.urdf.validation import LARGEST, check_moving_body
from robot_dynamics.spatial import Array, pose, rotation_about

VAST = 100.0
"""Distance between two joints beyond which the description asks for its unit [m]."""


@dataclass(frozen=True)
class _Coupling:
    """Joint variable = multiplier * (coordinate named ``driver``) + offset; constant without a driver.

    ``rest`` names the joint whose position nobody chose, when the constant follows from it.
    """

    offset: float
    driver: str | None = None
    multiplier: float = 0.0
    rest: str | None = None

    def followed(self, multiplier: float, offset: float) -> _Coupling:
        if multiplier == 0.0:
            return _Coupling(offset)
        return _Coupling(
            multiplier * self.offset + offset, self.driver, multiplier * self.multiplier, self.rest
        )


def build_chain(
    tree: RobotTree,
    root: str | None = None,
    tip: str | None = None,
    locked_joints: Mapping[str, float] | None = None,
    tips: str | Sequence[str] | None = None,
    measured_joints: str | Sequence[str] | None = None,
) -> KinematicChain:
    """The chain from ``root`` to ``tip`` or ``tips``, every body that moves with it accounted for.

    The arguments, the result and the errors are those of ``load_urdf``.
    """
    for argument, name in (("root", root), ("tip", tip)):
        if name is not None and not isinstance(name, str):
            raise WrongTypeError(f"{argument} is {quoted(name)}; it must be the name of a link")
    if locked_joints is not None and not isinstance(locked_joints, Mapping):
        raise WrongTypeError(
            f"locked_joints is {quoted(locked_joints)}; it must be a mapping of joints to positions"
        )
    if tip is not None and tips is not None:
        raise ModelError(f"tip is {quoted(tip)} and tips is {quoted(tips)}; give one of them")
    named = tips if tip is None else [tip]
    locked = dict(locked_joints or {})
    if measured_joints is None or measured_joints in ((), []):
        return _Builder(tree, root, named, locked).build()
    return _with_measured(tree, root, named, locked, measured_joints)


def _with_measured(
    tree: RobotTree,
    root: str | None,
    tips: str | Sequence[str] | None,
    locked: dict[str, float],
    given: str | Sequence[str],
) -> KinematicChain:
    """The chain without the measured joints, which hold their place at rest, and the whole with them."""
    everything = _Builder(tree, root, tips, locked)
    named = _measured_joints(tree, everything, given)
    moving = [name for name in everything.on_way if everything.moves_by_itself(tree.joints[name])]
    if set(moving) <= set(named):
        raise ModelError("measured_joints has every joint of the chain, so none is left to control")
    measured = _coupled(tree, everything, named)
    apart = [] if given == ALL else [name for name in named if name not in measured]
    told = f"measured joints that act on no joint of the chain are left out: {', '.join(apart)}"
    if not measured:
        alone = _Builder(tree, root, everything.tips, locked).build()
        return replace(alone, warnings=(*alone.warnings, *([told] if apart else [])))
    rest = {name: rest_position(tree.joints[name]) for name in measured}
    own = _Builder(tree, root, everything.tips, locked | rest).build()
    carried = [tree.joints[name].child for name in (*measured, *followers(tree, measured, locked))]
    ends = [*everything.tips, *(link for link in dict.fromkeys(carried) if link not in everything.tips)]
    whole = _Builder(tree, root, ends, locked).build()
    first, *others = whole.tips[: len(everything.tips)]
    whole = replace(whole, parents=whole.carriers, tip_joint=first.joint, other_tips=tuple(others))
    return replace(own, warnings=(*whole.warnings, *([told] if apart else [])), whole=whole)


def _measured_joints(tree: RobotTree, chain: _Builder, given: str | Sequence[str]) -> list[str]:
    """Names of the measured joints, checked."""
    if given == ALL:
        below = [joint for joint in tree.subtree(chain.root) if chain.moves_by_itself(joint)]
        names = [joint.name for joint in below if joint.name not in chain.on_way]
        if not names:
            raise ModelError(f"measured_joints is {quoted(given)}; the chain has every joint of the robot")
        return names
    names = [given] if isinstance(given, str) else listed("measured_joints", given, ModelError, MOST_ENTRIES)
    for name in names:
        joint = tree.joints.get(name) if isinstance(name, str) else None
        if joint is None or not chain.moves_by_itself(joint):
            raise ModelError(
                f"measured_joints has {quoted(name)}; it must be a moving joint that is neither locked nor"
                " follows another one"
            )
    return names


def _coupled(tree: RobotTree, chain: _Builder, measured: list[str]) -> list[str]:
    """The measured joints that carry a joint of the chain, or are carried by one.

    A limb beside the chain acts on it only through a joint of its own, whose measured motion says it all.
    """
    own = [tree.joints[name] for name in chain.on_way if name not in measured]
    own = [joint for joint in own if chain.moves_by_itself(joint)]
    carried = {joint.name for mine in own for joint in tree.subtree(mine.child)}
    carrying = {joint.name for mine in own for joint in tree.path(chain.root, mine.parent)}

    def acts(name: str) -> bool:
        moved = {name, *followers(tree, [name], ())}
        return bool(moved & (carried | carrying))

    return [name for name in measured if acts(name)]


class _Builder:
    def __init__(
        self,
        tree: RobotTree,
        root: str | None,
        tips: str | Sequence[str] | None,
        locked: dict[str, float],
    ) -> None:
        self._tree = tree
        self._locked = locked
        self._check_locked()
        self._root = root if root is not None else tree.root
        self._tips = self._named(tips)
        self._paths = [tree.path(self._root, tip) for tip in self._tips]
        self._on_path = {joint.name for path in self._paths for joint in path}
        # Depth first, in the order of the description: a joint stands behind the one that carries it.
        self._path = [joint for joint in tree.subtree(self._root) if joint.name in self._on_path]
        self._bodiless: list[str] = []
        self._massless: list[str] = []
        self._concerned: set[tuple[str, str]] = set()

    @property
    def root(self) -> str:
        """Link that is fixed to the ground."""
        return self._root

    @property
    def tips(self) -> list[str]:
        """Links at the ends."""
        return self._tips

    @property
    def on_way(self) -> set[str]:
        """Names of the joints between the root and the tips."""
        return self._on_path

    def moves_by_itself(self, joint: Joint) -> bool:
        """Check whether a joint of the tree is neither fixed, locked nor a follower."""
        return joint.kind.moves_on_axis and joint.mimic is None and joint.name not in self._locked

    def build(self) -> KinematicChain:
        self._check_couplings()
        motions = [(joint, self._motion(joint)) for joint in self._path]
        drivers = [j.name for j, motion in motions if motion.driver == j.name]
        if not drivers:
            raise ModelError(
                f"robot {self._tree.name!r} has no moving joint between {self._root!r} and"
                f" {', '.join(map(repr, self._tips))}"
            )
        joints: list[ChainJoint] = []
        parents: list[int] = []
        # Of every link on the way: the last moving joint before it, and its pose in that joint's link.
        places = {self._root: (-1, np.eye(4))}
        for joint, motion in motions:
            carrier, reached = places[joint.parent]
            origin = reached @ joint.origin
            if motion.driver is None:
                places[joint.child] = (carrier, origin @ _displacement(joint, motion.offset))
                continue
            places[joint.child] = (len(joints), np.eye(4))
            joints.append(self._chain_joint(joint, motion, origin, drivers))
            parents.append(carrier)
        still = [tip for tip in self._tips if places[tip][0] < 0]
        if still:
            raise ModelError(
                f"robot {self._tree.name!r} has no moving joint between {self._root!r} and {still[0]!r}"
            )
        first, *others = (Tip(tip, *places[tip]) for tip in self._tips)
        serial = not others
        return KinematicChain(
            name=self._tree.name,
            root=self._root,
            tip=first.link,
            joints=tuple(joints),
            coordinate_names=tuple(drivers),
            tip_transform=first.transform,
            warnings=self._warnings(joints, parents),
            parents=() if serial else tuple(parents),
            tip_joint=-1 if serial else first.joint,
            other_tips=tuple(others),
            frames=tuple(frame for joint in joints for frame in self._frames(joint.link)),
        )

    def _named(self, tips: str | Sequence[str] | None) -> list[str]:
        """The tips that were asked for."""
        if tips is None:
            return [choose_tip(self._tree, self._root, self._locked)]
        if tips == ALL:
            return tips_of(self._tree, self._root, self._locked)
        names = [tips] if isinstance(tips, str) else listed("tips", tips, ModelError, MOST_ENTRIES)
        for name in names:
            if not isinstance(name, str):
                raise WrongTypeError(f"tips has {quoted(name)}; it must be the name of a link")
        if not names:
            raise ModelError("tips is empty; name links, or give 'all'")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ModelError(f"tips names {quoted(twice[0])} twice")
        return names

    def _chain_joint(self, joint: Joint, motion: _Coupling, origin: Array, drivers: list[str]) -> ChainJoint:
        assert motion.driver is not None
        body = lumped_body(
            moved_body(self._tree.links[link].body or MASSLESS, where)
            for link, where in self._carried(joint.child)
        )
        check_moving_body(f"link {joint.child!r}", body)
        self._concerned.add(("joint", joint.name))
        prismatic = joint.kind is JointType.PRISMATIC
        return ChainJoint(
            name=joint.name,
            link=joint.child,
            kind=JointKind.PRISMATIC if prismatic else JointKind.REVOLUTE,
            origin=origin,
            axis=joint.axis,
            body=body,
            limits=joint.limits,
            damping=joint.damping,
            friction=joint.friction,
            coordinate=drivers.index(motion.driver),
            multiplier=motion.multiplier,
            offset=motion.offset,
        )

    def _frames(self, moving: str) -> Iterator[AttachedFrame]:
        """Frames of the links that fixed or locked joints attach to a moving link."""
        pending = [(moving, np.eye(4))]
        while pending:
            parent, where = pending.pop()
            for joint in self._tree.child_joints[parent]:
                motion = self._motion(joint)
                if motion.driver is None and motion.rest is None:
                    placed = where @ joint.origin @ _displacement(joint, motion.offset)
                    yield AttachedFrame(joint.child, moving, parent, placed)
                    pending.append((joint.child, placed))

    def _carried(self, link: str) -> Iterator[tuple[str, Array]]:
        """Every link that moves as one with ``link``, itself first, and its pose (4, 4) there."""
        pending = [(link, np.eye(4), True)]
        while pending:
            name, where, movable = pending.pop()
            self._concerned.add(("link", name))
            body = self._tree.links[name].body
            # A frame without mass on a fixed joint is no omission.
            if movable and body is None:
                self._bodiless.append(name)
            elif movable and body is not None and body.mass == 0.0:
                self._massless.append(name)
            yield name, where
            for joint in self._tree.child_joints[name]:
                motion = self._motion(joint)
                if motion.driver is None:
                    placed = where @ joint.origin @ _displacement(joint, motion.offset)
                    pending.append((joint.child, placed, joint.kind is not JointType.FIXED))

    def _motion(self, joint: Joint) -> _Coupling:
        """Coordinate of the chain that moves ``joint``, or its constant position."""
        followers: list[Joint] = []
        while joint.mimic is not None and joint.name not in self._locked:
            followers.append(joint)
            joint = self._tree.joints[joint.mimic.joint]
        motion = self._own_motion(joint)
        for follower in reversed(followers):
            assert follower.mimic is not None
            motion = motion.followed(follower.mimic.multiplier, follower.mimic.offset)
            if not max(abs(motion.multiplier), abs(motion.offset)) <= LARGEST:
                raise ModelError(
                    f"joint {follower.name!r}: its <mimic> and those that it follows make a multiplier of"
                    f" {motion.multiplier:g} and an offset of {motion.offset:g}, beyond {LARGEST:g}"
                )
        return motion

    def _own_motion(self, joint: Joint) -> _Coupling:
        if joint.name in self._locked:
            return _Coupling(self._locked[joint.name])
        if joint.kind is JointType.FIXED:
            return _Coupling(0.0)
        if not joint.kind.moves_on_axis:
            raise ModelError(
                f"joint {joint.name!r} is {joint.kind.value}, which a chain cannot have; lock it with"
                f" locked_joints={{{joint.name!r}: 0.0}}, or choose a root below it"
            )
        if joint.name in self._on_path:
            return _Coupling(0.0, joint.name, 1.0)
        return _Coupling(rest_position(joint), rest=joint.name)

    def _check_locked(self) -> None:
        for name, value in self._locked.items():
            joint = self._tree.joints.get(name)
            if joint is None:
                moving = [j.name for j in self._tree.joints.values() if j.kind is not JointType.FIXED]
                raise ModelError(
                    f"locked joint {quoted(name)} does not exist; the moving joints are: {', '.join(moving)}"
                )
            position = real_number(f"locked joint {name!r}: its position", value, ModelError)
            self._locked[name] = position
            if not abs(position) <= LARGEST:
                raise ModelError(f"locked joint {name!r}: its position {position:g} is beyond {LARGEST:g}")
            if not joint.kind.moves_on_axis:
                if position != 0.0:
                    raise ModelError(f"joint {name!r} is {joint.kind.value}: it can be locked at 0 only")
            elif not joint.limits.lower - 1e-9 <= position <= joint.limits.upper + 1e-9:
                raise ModelError(
                    f"locked joint {name!r}: its position {position:g} is outside its limits,"
                    f" {joint.limits.lower:g} to {joint.limits.upper:g}"
                )

    def _check_couplings(self) -> None:
        """A joint on the chain and one off it must not move together."""
        for joint in self._tree.joints.values():
            if joint.mimic is None or joint.name in self._locked:
                continue
            motion = self._motion(joint)
            on_path = joint.name in self._on_path
            if motion.driver is not None and not on_path:
                raise ModelError(
                    f"joint {joint.name!r} mimics {motion.driver!r}, which is in the chain, but is on"
                    " a side branch, whose mass cannot be lumped while it moves: lock one of them with"
                    " locked_joints"
                )
            if on_path and motion.rest is not None:
                raise ModelError(
                    f"joint {joint.name!r} is in the chain but mimics {motion.rest!r}, which is not: lock one"
                    " of them with locked_joints, or choose a chain with both"
                )

    def _warnings(self, joints: list[ChainJoint], parents: list[int]) -> tuple[str, ...]:
        found = [str(f) for f in self._tree.findings if (f.kind, f.name) in self._concerned]
        found.extend(self._zero_limits(joints))
        found.extend(self._led_by_locked())
        lengths = {joint.name: float(np.linalg.norm(joint.origin[:3, 3])) for joint in joints}
        name = max(lengths, key=lengths.__getitem__)
        if lengths[name] > VAST:
            found.append(
                f"joint {name!r} is {lengths[name]:.3g} m from the joint before: was the description meant in"
                " millimetres?"
            )
        if self._bodiless:
            found.append(f"links without <inertial>, taken as massless: {', '.join(self._bodiless)}")
        if self._massless:
            found.append(f"links of zero mass: {', '.join(self._massless)}")
        ends = [joint for i, joint in enumerate(joints) if i not in parents and joint.body.mass == 0.0]
        for last in ends:
            found.append(
                f"link {last.link!r}, the last that moves, has no mass: the mass matrix is singular, so"
                " forward dynamics and simulation are impossible"
            )
        return tuple(readable(message) for message in found)

    def _led_by_locked(self) -> list[str]:
        """One warning for every joint on the way to a tip that stands still because its leader is locked."""
        warnings = []
        for joint in self._path:
            if joint.mimic is not None and joint.name not in self._locked:
                motion = self._motion(joint)
                if motion.driver is None:
                    still = "by the multiplier 0" if joint.mimic.multiplier == 0.0 else "which is locked"
                    limit = self._tree.joints[joint.name].limits
                    beyond = not limit.lower <= motion.offset <= limit.upper
                    bounds = f", outside its limits, {limit.lower:g} to {limit.upper:g}" if beyond else ""
                    warnings.append(
                        f"joint {joint.name!r} follows {joint.mimic.joint!r}, {still}: it stays at"
                        f" {motion.offset:g}{bounds}"
                    )
        return warnings

    def _zero_limits(self, joints: list[ChainJoint]) -> list[str]:
        """One warning for all limits that were written as 0."""
        parts = []
        for limit in ("effort", "velocity"):
            names = [j.name for j in joints if limit in self._tree.joints[j.name].zero_limits]
            if names:
                parts.append(f"{limit} of {', '.join(names)}")
        return [f"limits of 0 are taken as not given, so there is none: {'; '.join(parts)}"] if parts else []


def _displacement(joint: Joint, value: float) -> Array:
    if joint.kind is JointType.PRISMATIC:
        return pose(position=value * joint.axis)
    return pose(rotation_about(joint.axis, value))
