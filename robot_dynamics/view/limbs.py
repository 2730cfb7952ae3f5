"""Limbs of a robot: moving joints that follow each other without a branch."""

from __future__ import annotations

from robot_dynamics.model.urdf import RobotTree

OTHERS = "other joints"
"""Name of the joints that make no limb of their own."""


def limbs(tree: RobotTree) -> dict[str, str]:
    """Name of the limb of each moving joint, in the tree's order; empty where there is one limb only.

    A limb is called by what the names of its joints begin with, or by its first joint.
    """
    ways: list[list[str]] = []
    pending: list[tuple[str, list[str]]] = [(tree.root, [])]
    while pending:
        link, way = pending.pop()
        moving = _moving_below(tree, link)
        while len(moving) == 1:
            joint, link = moving[0]
            way.append(joint)
            moving = _moving_below(tree, link)
        if way:
            ways.append(way)
        pending += [(child, [joint]) for joint, child in reversed(moving)]
    named: dict[str, list[str]] = {}
    for way in ways:
        name = _name(way)
        named.setdefault(name if len(way) > 1 else OTHERS, []).extend(way)
    if len(named) < 2:
        return {}
    return {joint: name for name, joints in named.items() for joint in joints}


def _moving_below(tree: RobotTree, link: str) -> list[tuple[str, str]]:
    """Next moving joints below a link, and their children."""
    found: list[tuple[str, str]] = []
    pending = [link]
    while pending:
        for joint in tree.child_joints[pending.pop()]:
            if joint.kind.moves_on_axis:
                found.append((joint.name, joint.child))
            else:
                pending.append(joint.child)
    return found


def _name(joints: list[str]) -> str:
    first, last = min(joints), max(joints)
    same = next((k for k, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first))
    return first[:same].rstrip("0123456789").rstrip("_- ").removesuffix("_joint") or joints[0]
