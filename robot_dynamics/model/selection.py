"""Choice of the tip link where the caller names none."""

from __future__ import annotations

from collections.abc import Callable

from robot_dynamics.errors import ModelError
from robot_dynamics.model.urdf.tree import Joint, RobotTree


def choose_tip(tree: RobotTree, root: str, moves: Callable[[Joint], bool]) -> str:
    """Choose the tip link below ``root`` where nobody names one.

    The only leaf, or, where several leaves are equally many moving joints away, the last link on the way to
    all of them: a wrist that carries two tool frames, a hand that carries two fingers. A robot whose moving
    joints part before half of the way (two arms, a walking robot) has no such tip.

    Args:
        tree: the robot.
        root: name of the link where the chain starts.
        moves: whether a joint of the chain would move, that is, is neither fixed nor locked.

    Raises:
        ModelError: nothing moves below ``root``, or several chains could be meant.
    """
    if root not in tree.links:
        raise ModelError(
            f"root link {root!r} is not in robot {tree.name!r}; its links are: {', '.join(tree.links)}"
        )
    paths = {}
    for leaf in tree.leaves:
        try:
            paths[leaf] = tree.path(root, leaf)
        except ModelError:
            continue  # hangs elsewhere
    counts = {leaf: sum(map(moves, path)) for leaf, path in paths.items()}
    deepest = [leaf for leaf, count in counts.items() if count == max(counts.values())]
    if counts[deepest[0]] == 0:
        raise ModelError(f"robot {tree.name!r} has no moving joint below link {root!r}")
    common: list[Joint] = []
    for joints in zip(*(paths[leaf] for leaf in deepest), strict=False):
        if any(joint is not joints[0] for joint in joints):
            break
        common.append(joints[0])
    if 2 * sum(map(moves, common)) < counts[deepest[0]]:
        raise ModelError(
            f"robot {tree.name!r} has several chains below link {root!r}: take the whole tree with"
            f" tips='all', or name the tip link, for example one of: {', '.join(deepest)}"
        )
    return common[-1].child


def tips_of(tree: RobotTree, root: str, moves: Callable[[Joint], bool]) -> list[str]:
    """The tips of the whole tree below ``root``: one for every joint behind which nothing moves.

    It is the only leaf behind that joint, or, where there are several, the last link on the way to all.

    Raises:
        ModelError: there is no such link, or nothing moves below it.
    """
    if root not in tree.links:
        raise ModelError(
            f"root link {root!r} is not in robot {tree.name!r}; its links are: {', '.join(tree.links)}"
        )
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
