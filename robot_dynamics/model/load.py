"""From a robot description to the chain that the rest of the package works on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence

from robot_dynamics.errors import ModelWarning
from robot_dynamics.inputs.arrays import plain_text
from robot_dynamics.model.builder import build_chain
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.urdf import parse_urdf


def load_urdf(
    source: str | bytes | os.PathLike[str],
    root: str | None = None,
    tip: str | None = None,
    locked_joints: Mapping[str, float] | None = None,
    tips: str | Sequence[str] | None = None,
    measured_joints: str | Sequence[str] | None = None,
) -> KinematicChain:
    """Load the chain between two links of a robot description, or the tree between one link and several.

    Every body counts. What a fixed joint carries is lumped into the moving link above it, and so is a side
    branch (a gripper, a camera on a pan joint) at the position where its joints are locked. A mimic joint
    follows its master, in the chain and in side branches. What hangs on the root link is fixed to the ground.

    Args:
        source: path of a URDF file, or its XML text as str or bytes.
        root: name of the link that is fixed to the ground; the root of the tree if None.
        tip: name of the link at the chain's end. If None, the only leaf below ``root``, or, where several
            leaves are equally many moving joints away, the last link on the way to all of them.
        locked_joints: positions [rad or m] at which joints are held, by name. Joints in the chain become
            fixed; joints of side branches that are not listed are held at zero, or at the limit nearest to
            it. A floating or planar joint can be locked at 0 only.
        tips: instead of ``tip`` names of several links: the tree of all joints on the way to them, in the
            order of the description; "all" for every joint.
        measured_joints: names of joints that somebody else moves, such as those of the other arm, or "all"
            for every other joint. The dynamics take their measured state as an input; the chain does not
            have them. Joints on the way to them that are not locked are measured, too.

    Returns:
        The chain, or the tree as a chain with several tips. Its ``warnings`` list what is odd about the
        description, such as links without mass; each is also issued as a ``ModelWarning``.

    Raises:
        ModelError: the description cannot be used, or no such chain is in it; the message names the link or
            joint.
        WrongTypeError: an argument of another type.
    """
    root, tip = (name if plain_text(name) is None else plain_text(name) for name in (root, tip))
    chain = build_chain(parse_urdf(source), root, tip, locked_joints, tips, measured_joints)
    for message in chain.warnings:
        warnings.warn(message, ModelWarning, stacklevel=2)
    return chain
