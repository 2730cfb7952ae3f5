"""Longest chain of a robot, and the joints that must be locked for it."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf.tree import Joint, RobotTree


@dataclass(frozen=True)
class LongestChain:
    """The chain with the most joints that move by themselves.

    Attributes:
        tip: link at its end.
        joints: names of its independent joints, from the root on.
        locked: joints that must be named as locked for the chain to stand alone, and where [rad or m].
        held: names of all independent joints that are not in the chain.
        rivals: tips of other chains that are as long.
    """

    tip: str
    joints: tuple[str, ...]
    locked: dict[str, float]
    held: tuple[str, ...]
    rivals: tuple[str, ...]


def longest_chain(tree: RobotTree, root: str | None = None, tip: str | None = None) -> LongestChain:
    """The chain from ``root`` that has the most independent joints; of several the first in the description.

    Everything else is held: at zero, or at the limit next to it.

    Args:
        tree: the robot.
        root: link where the chain starts; the tree's root when None.
        tip: link where it ends; None for the end of the longest chain.

    Raises:
        ModelError: nothing moves below ``root``, or a link is unknown.
    """
    start = tree.root if root is None else root
    ends = {leaf: _independent(tree, start, leaf) for leaf in tree.leaves if _hangs_below(tree, start, leaf)}
    if tip is None:
        most = max(map(len, ends.values()), default=0)
        if most == 0:
            raise ModelError(f"robot {tree.name!r} has no moving joint below link {start!r}")
        best = [leaf for leaf, joints in ends.items() if len(joints) == most]
        tip, rivals = best[0], tuple(leaf for leaf in best[1:] if ends[leaf] != ends[best[0]])
    else:
        rivals = ()
    path = tree.path(start, tip)
    chain = tuple(joint.name for joint in path if _moves_by_itself(joint))
    return LongestChain(
        tip=tip,
        joints=chain,
        locked=_locked(tree, {joint.name for joint in path}),
        held=tuple(
            joint.name
            for joint in tree.joints.values()
            if _moves_by_itself(joint) and joint.name not in chain
        ),
        rivals=rivals,
    )


def rest_position(joint: Joint) -> float:
    """Zero, or the limit next to it [rad or m]."""
    return min(max(0.0, joint.limits.lower), joint.limits.upper)


def _hangs_below(tree: RobotTree, root: str, leaf: str) -> bool:
    try:
        tree.path(root, leaf)
    except ModelError:
        if root not in tree.links:
            raise
        return False
    return True


def _moves_by_itself(joint: Joint) -> bool:
    return joint.kind.moves_on_axis and joint.mimic is None


def _independent(tree: RobotTree, root: str, leaf: str) -> list[str]:
    return [joint.name for joint in tree.path(root, leaf) if _moves_by_itself(joint)]


def _locked(tree: RobotTree, on_path: set[str]) -> dict[str, float]:
    """Joints that couple the chain to the rest, and those with more than one degree of freedom."""
    locked: dict[str, float] = {}
    for joint in tree.joints.values():
        if joint.mimic is not None:
            together = joint.name in on_path and _master(tree, joint) in on_path
            apart = joint.name not in on_path and _master(tree, joint) not in on_path
            if not (together or apart):
                locked[joint.name] = rest_position(joint)
        elif not joint.kind.moves_on_axis and joint.kind.value != "fixed":
            locked[joint.name] = 0.0
    return locked


def _master(tree: RobotTree, joint: Joint) -> str:
    """Name of the independent joint that ``joint`` follows in the end."""
    while joint.mimic is not None:
        joint = tree.joints[joint.mimic.joint]
    return joint.name
