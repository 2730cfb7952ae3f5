"""Denavit-Hartenberg tables of a chain, written down from its placed frames.

A link from frame i-1 to frame i is Rx(alpha) Trans(a, y, r) Rz(theta). Without y that is a row of the
modified table, and the standard table differs only in where its rows begin. A shift y is a row of its own:

    Rx(alpha) Trans(a, y, 0) = Rx(alpha - pi/2) Tx(a) Tz(y) · Rx(pi/2)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import ConversionError
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.model.chain import ChainJoint, KinematicChain
from robot_dynamics.model.dh_table import DHRow, DHTable, check_convention
from robot_dynamics.model.frames import (
    TOLERANCE,
    Placement,
    Rounding,
    frame_along,
    place_frames,
    residual,
)
from robot_dynamics.spatial import Array, about_x, about_z, inverse_pose, pose, turn_about_z


def dh_parameters(
    chain: KinematicChain, convention: str = "modified", tolerance: float = TOLERANCE
) -> DHTable:
    """Denavit-Hartenberg parameters of ``chain``.

    The frames are those of `robot_dynamics.model.frames.place_frames`; frame 0 and the tool are kept as close
    to the root and tip frame as their axes allow. Where two axes are parallel but for a rounded number in the
    description (1.5708 for π/2), their common normal lies far outside the arm: there an auxiliary row, which
    moves nothing, leads over an axis at right angles, and every number stays small. Axes so nearly parallel
    that ``tolerance`` does not see the difference are made parallel.

    Args:
        chain: the chain; mimic joints have rows of their own.
        convention: ``modified`` (Craig, Khalil-Kleinfinger) or ``standard`` (Denavit-Hartenberg, Paul).
        tolerance: largest difference allowed between an entry of the table's pose of the tip and the chain's
            [m or 1]. A coarser one makes nearly parallel axes parallel.

    Raises:
        ParameterError: unknown convention, or a tolerance that is not positive.
        ModelError: the chain is a tree; each ``chain.branch(tip)`` has a table.
        ConversionError: the table misses the chain's forward kinematics by more than ``tolerance``.
    """
    check_convention(convention)
    of_type("chain", chain, KinematicChain)
    chain = chain.only_serial("a Denavit-Hartenberg table")
    placed = place_frames(chain, tolerance)
    base, pairs, tool = _pairs(chain, placed)
    table = DHTable(
        robot=chain.name,
        root=chain.root,
        tip=chain.tip,
        convention=convention,
        joint_names=chain.joint_names,
        rows=tuple(_modified(pairs) if convention == "modified" else _standard(pairs)),
        base=base,
        tool=tool,
    )
    missed = residual(chain, lambda q: [table.forward_kinematics(q)])
    if not missed <= tolerance:
        raise ConversionError(
            f"the {convention} DH parameters of {chain.root} -> {chain.tip} miss the forward kinematics by"
            f" {missed:.2g}, more than the tolerance {tolerance:.2g}"
        )
    return replace(table, residual=missed)


def dh_tables(
    chain: KinematicChain, convention: str = "modified", tolerance: float = TOLERANCE
) -> tuple[DHTable, ...]:
    """One table for each tip, in the order of ``chain.tips``: of a serial chain one.

    In the table of a branch, a joint that follows one of another branch moves by itself. Arguments and errors
    are those of :func:`dh_parameters`.
    """
    of_type("chain", chain, KinematicChain)
    branches = [chain] if chain.serial else [chain.branch(tip.link, True) for tip in chain.tips]
    return tuple(dh_parameters(branch, convention, tolerance) for branch in branches)


@dataclass(frozen=True)
class _Pair:
    """Rx(alpha) Tx(a) · Rz(theta) Tz(d): what leads to an axis, and what lies on it.

    ``joint`` moves along or about the axis; None for the axis of an auxiliary row. The frame that the pair
    ends in is fixed in ``link`` and has ``link_pose`` in its URDF frame.
    """

    alpha: float
    a: float
    theta: float
    d: float
    joint: ChainJoint | None
    link: str
    link_pose: Array


def _pairs(chain: KinematicChain, placed: Placement) -> tuple[Array, list[_Pair], Array]:
    """Base, the pairs of the whole chain and tool.

    The base takes from the first axis, and the tool from the last, what belongs to neither root nor tip.
    """
    near_root = pose(frame_along(placed.base[:3, 2]))
    (tool,) = placed.tips
    x = tool[:3, 0] if np.hypot(tool[0, 0], tool[1, 0]) > 1e-6 else tool[:3, 1]
    base, rounding = placed.base, placed.rounding
    pairs: list[_Pair] = []
    for joint, link, place in zip(chain.joints, placed.links, placed.poses, strict=True):
        screw = _Screw(link.offset, link.r) if link.revolute else _Screw(link.theta, link.offset)
        if link.parent < 0:
            onward = inverse_pose(near_root) @ base
            added, screw = screw.with_(turn_about_z(onward), float(onward[2, 3]), rounding)
            base = base @ inverse_pose(added)
        if link is placed.links[-1]:
            added, screw = screw.with_(float(np.arctan2(x[1], x[0])), float(tool[2, 3]), rounding)
            place, tool = place @ added, inverse_pose(added) @ tool
        alpha, a = link.alpha, link.a
        if link.y_shift:
            alpha = rounding.of_angle(alpha - np.pi / 2)
            before = chain.joints[link.parent].link
            beside = placed.poses[link.parent] @ about_x(alpha, a) @ about_z(0.0, link.y_shift)
            pairs.append(_Pair(alpha, a, 0.0, link.y_shift, None, before, beside))
            alpha, a = np.pi / 2, 0.0
        pairs.append(_Pair(alpha, a, screw.theta, screw.d, joint, joint.link, place))
    return base, pairs, tool


@dataclass(frozen=True)
class _Screw:
    """Rz(theta) Tz(d)."""

    theta: float
    d: float

    def with_(self, turn: float, slide: float, rounding: Rounding) -> tuple[Array, _Screw]:
        """The screw with about as much more as given, so that it is round; first what was really added."""
        theta, d = rounding.of_angle(self.theta + turn), rounding.of_length(self.d + slide)
        return about_z(theta - self.theta, d - self.d), _Screw(theta, d)


def _modified(pairs: list[_Pair]) -> list[DHRow]:
    """Every row is a pair; its frame lies on its own axis."""
    return [_row(pair, pair.alpha, pair.a, pair.link_pose) for pair in pairs]


def _standard(pairs: list[_Pair]) -> list[DHRow]:
    """Every row goes along its own axis and on to the next, on which its frame lies."""
    rows = []
    for pair, after in zip(pairs, (*pairs[1:], None), strict=True):
        alpha, a = (after.alpha, after.a) if after else (0.0, 0.0)
        rows.append(_row(pair, alpha, a, pair.link_pose @ about_x(alpha, a)))
    return rows


def _row(pair: _Pair, alpha: float, a: float, link_pose: Array) -> DHRow:
    joint = pair.joint
    return DHRow(
        joint=joint.name if joint else None,
        link=pair.link,
        kind=joint.kind if joint else None,
        alpha=alpha,
        a=a,
        theta=pair.theta,
        d=pair.d,
        coordinate=joint.coordinate if joint else None,
        multiplier=joint.multiplier if joint else 0.0,
        link_pose=link_pose,
    )
