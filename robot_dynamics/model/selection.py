"""Choice of the chain: its tip where the caller names none, and the joints that must be locked for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.model.urdf.tree import Joint, JointType, RobotTree

ALL = "all"
"""Instead of names of tips: the whole tree."""
SUGGESTED = 6
"""Largest number of tips that a message suggests."""


def choose_tip(tree: RobotTree, root: str, locked: Iterable[str] = ()) -> str:
    """Choose the tip link below ``root`` where nobody names one.

    The tip is the only leaf. Where several leaves are equally many moving joints away, it is the last link on
    the way to all of them: a wrist that carries two tool frames, a hand that carries two fingers. A robot
    whose moving joints part before half of the way (two arms, a walking robot) has no such tip.

    Args:
        tree: the robot.
        root: name of the link where the chain starts.
        locked: names of locked joints.

    Raises:
        ModelError: nothing moves below ``root``, or the robot has several arms; the message names their ends.
    """
    ends = limb_ends(tree, root, locked)
    if len(ends) > 1:
        several = ", ".join(ends[:SUGGESTED])
        raise ModelError(
            f"robot {tree.name!r} has several chains below link {root!r}: take the whole tree with"
            " tips='all' (node: tips: [all]; command: --tips all), or name the tip link, for example"
            f" one of: {several}"
        )
    return ends[0]


def limb_ends(tree: RobotTree, root: str, locked: Iterable[str] = ()) -> list[str]:
    """Tips of the arms, legs and other limbs below ``root``, those with the most moving joints first.

    Arguments and errors are those of :func:`choose_tip`; a robot with one limb has one tip.
    """
    moves = _motion(tree, root, locked)
    paths = []
    for leaf in tree.leaves:
        try:
            path = tree.path(root, leaf)
        except ModelError:
            continue  # hangs elsewhere
        if any(map(moves, path)):
            paths.append(path)
    if not paths:
        raise ModelError(f"robot {tree.name!r} has no moving joint below link {root!r}")
    ends = _ends(paths, moves)
    return [tip for _, tip in sorted(ends, key=lambda end: -end[0])]


def _motion(tree: RobotTree, root: str, locked: Iterable[str]) -> Callable[[Joint], bool]:
    """Test whether a joint moves, that is, is neither fixed nor locked; ``root`` must be a link."""
    if root not in tree.links:
        raise ModelError(
            f"root link {root!r} is not in robot {tree.name!r}; its links are: {', '.join(tree.links)}"
        )
    still = set(locked)
    return lambda joint: joint.kind is not JointType.FIXED and joint.name not in still


def _ends(paths: list[tuple[Joint, ...]], moves: Callable[[Joint], bool]) -> list[tuple[int, str]]:
    """(moving joints from the root on, link) of every limb that the paths make up."""
    counts = [sum(map(moves, path)) for path in paths]
    most = max(counts)
    common = _common([path for path, count in zip(paths, counts, strict=True) if count == most])
    shared = sum(map(moves, common))
    if 2 * shared >= most:
        return [(shared, common[-1].child)]
    split = len(_common(paths))
    limbs: dict[str, list[tuple[Joint, ...]]] = {}
    for path in paths:
        if any(map(moves, path[split:])):
            limbs.setdefault(path[split].name, []).append(path)
    return [end for limb in limbs.values() for end in _ends(limb, moves)]


def _common(paths: list[tuple[Joint, ...]]) -> list[Joint]:
    """The joints with which all paths begin."""
    common: list[Joint] = []
    for first, *others in zip(*paths, strict=False):
        if any(joint is not first for joint in others):
            break
        common.append(first)
    return common


def tips_of(tree: RobotTree, root: str, locked: Iterable[str] = ()) -> list[str]:
    """Tips of the whole tree below ``root``: one for every joint behind which nothing moves.

    The tip is the only leaf behind that joint, or, where there are several, the last link on the way to all.
    Arguments and errors are those of :func:`choose_tip`.
    """
    moves = _motion(tree, root, locked)
    tips = []
    for joint in tree.subtree(root):
        if moves(joint) and not any(map(moves, tree.subtree(joint.child))):
            link = joint.child
            while len(tree.child_joints[link]) == 1:
                link = tree.child_joints[link][0].child
            tips.append(link)
    if not tips:
        raise ModelError(f"robot {tree.name!r} has no moving joint below link {root!r}")
    return tips


@dataclass(frozen=True)
class ChainSelection:
    """A chain of a robot, and the joints beside it.

    Attributes:
        tip: link at its end; the first of several.
        tips: all of them.
        joints: names of its independent joints, from the root on.
        locked: joints that must be named as locked for the chain to stand alone, and their positions
            [rad or m].
        held: names of all independent joints that are not in the chain.
        others: tips of the robot's other limbs, where it has several and the caller has named no tip.
    """

    tip: str
    joints: tuple[str, ...]
    locked: dict[str, float]
    held: tuple[str, ...]
    others: tuple[str, ...]
    tips: tuple[str, ...]


def select_chain(
    tree: RobotTree,
    root: str | None = None,
    tip: str | None = None,
    locked: Mapping[str, float] | None = None,
    tips: str | Sequence[str] | None = None,
) -> ChainSelection:
    """Select a chain, and lock every joint that would couple it to the rest of the robot.

    Without ``tip`` the chain ends at the tip that :func:`choose_tip` chooses; of several limbs the one with
    the most moving joints is selected, of equal ones the first in the description.

    Args:
        tree: the robot.
        root: link where the chain starts; the tree's root when None.
        tip: link where the chain ends.
        locked: positions of joints that the caller locks [rad or m], by name.
        tips: instead of ``tip`` the links where a tree ends, or "all".

    Raises:
        ModelError: nothing moves below ``root``, or a link is unknown.
    """
    start = tree.root if root is None else root
    others: tuple[str, ...] = ()
    if tips is not None:
        named = (
            tips_of(tree, start, locked or ()) if tips == ALL else [tips] if isinstance(tips, str) else tips
        )
    elif tip is None:
        end, *rest = limb_ends(tree, start, locked or ())
        named, others = [end], tuple(rest)
    else:
        named = [tip]
    ways = {joint.name for end in named for joint in tree.path(start, end)}
    path = [joint for joint in tree.subtree(start) if joint.name in ways]
    chain = tuple(joint.name for joint in path if _moves_by_itself(joint))
    if not chain:
        ends = ", ".join(map(quoted, named))
        raise ModelError(f"robot {tree.name!r} has no moving joint between {quoted(start)} and {ends}")
    beside = [joint for joint in tree.joints.values() if _moves_by_itself(joint) and joint.name not in chain]
    return ChainSelection(
        named[0],
        chain,
        _locked(tree, {joint.name for joint in path}),
        tuple(joint.name for joint in beside),
        others,
        tuple(named),
    )


NEAR_END = 0.05
"""Share of a joint's range at each end."""


def rest_position(joint: Joint) -> float:
    """Zero, or the limit next to it [rad or m]."""
    return min(max(0.0, joint.limits.lower), joint.limits.upper)


def ready_position(joint: Joint) -> float:
    """Zero, or the middle of the limits where zero is at their end or outside [rad or m].

    A joint whose range ends at zero is stretched, folded or at its stop there. A sliding joint at its end
    is retracted, which is its usual place.
    """
    low, high = joint.limits.lower, joint.limits.upper
    if joint.kind is JointType.PRISMATIC or not (math.isfinite(low) and math.isfinite(high)):
        return rest_position(joint)
    margin = NEAR_END * (high - low)
    return 0.0 if low + margin < 0.0 < high - margin else 0.5 * (low + high)


def _moves_by_itself(joint: Joint) -> bool:
    return joint.kind.moves_on_axis and joint.mimic is None


def _locked(tree: RobotTree, on_path: set[str]) -> dict[str, float]:
    """Joints that couple the chain to the rest, and those with more than one degree of freedom."""
    locked: dict[str, float] = {}
    for joint in tree.joints.values():
        if joint.mimic is not None:
            if (joint.name in on_path) != (_master(tree, joint) in on_path):
                locked[joint.name] = rest_position(joint)
        elif not joint.kind.moves_on_axis and joint.kind is not JointType.FIXED:
            locked[joint.name] = 0.0
    return locked


def followers(tree: RobotTree, leaders: Collection[str], locked: Collection[str]) -> list[str]:
    """Names of the joints that follow one of ``leaders`` in the end, and are not locked."""
    return [
        joint.name
        for joint in tree.joints.values()
        if joint.mimic is not None and joint.name not in locked and _master(tree, joint) in leaders
    ]


def _master(tree: RobotTree, joint: Joint) -> str:
    """Name of the independent joint that ``joint`` follows in the end."""
    while joint.mimic is not None:
        joint = tree.joints[joint.mimic.joint]
    return joint.name
