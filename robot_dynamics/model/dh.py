"""Converts a serial chain to Denavit-Hartenberg parameters.

Every link is looked at by itself: with a frame on each of its two joint axes (z along the axis), the fixed
transform between them is taken apart into

    Rz(phi) Tz(s) · Tx(a) Rx(alpha) · Rz(psi) Tz(t)

The middle belongs to the link. The ends lie on the joint axes, commute with the motion of the joints, and add
up there: theta of a joint is the psi before it plus the phi behind it, and d likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import ConversionError, ParameterError
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain
from robot_dynamics.model.dh_table import DHRow, DHTable, about_x, about_z, check_convention
from robot_dynamics.spatial import Array, inverse_pose, pose, rotation_x, rotation_z

# Beyond this distance [m] of the common normal, d has too few digits left for 1e-9 m.
_FARTHEST_NORMAL = 1e5
# Angles [rad] and lengths [m] this close to a quarter turn or to zero differ from it by rounding only.
_ROUNDING = 1e-14
_COINCIDENT = 1e-12
_SAMPLES = 16


@dataclass(frozen=True)
class _Span:
    """Rz(phi) Tz(s) · Tx(a) Rx(alpha) · Rz(psi) Tz(t), from one axis to the next."""

    phi: float
    s: float
    a: float
    alpha: float
    psi: float
    t: float


def dh_parameters(chain: KinematicChain, convention: str = "modified", tolerance: float = 1e-9) -> DHTable:
    """Denavit-Hartenberg parameters of ``chain``.

    z of every frame points along its joint's own axis. Where the convention leaves a choice, x is turned as
    little as possible from the x before it, so that joint offsets stay within ±π/2; the common normal of
    parallel axes is drawn through the frame of the first one; frame 0 and the tool are kept as close to the
    root and tip frame as their axes allow.

    Two axes that are parallel but for a rounded number in the description (1.5708 for π/2) have their common
    normal kilometres away. As long as double precision can express that, the row simply has a large d; beyond
    it, an auxiliary row that moves nothing leads over an axis at right angles, and every number stays small.
    Axes so nearly parallel that ``tolerance`` does not see the difference are made parallel.

    Args:
        chain: the chain; mimic joints have rows of their own.
        convention: ``modified`` (Craig, Khalil-Kleinfinger) or ``standard`` (Denavit-Hartenberg, Paul).
        tolerance: largest difference allowed between an entry of the table's pose of the tip and the chain's
            [m or 1]. A coarser one makes nearly parallel axes parallel.

    Raises:
        ParameterError: unknown convention, or a tolerance that is not positive.
        ConversionError: the table misses the chain's forward kinematics by more than ``tolerance``.
    """
    check_convention(convention)
    if not 0.0 < tolerance < np.inf:
        raise ParameterError(f"tolerance {tolerance}: must be positive and finite")
    base, spans, tool = _spans(chain, tolerance)
    rows = _rows(chain, spans, convention)
    table = DHTable(
        robot=chain.name,
        root=chain.root,
        tip=chain.tip,
        convention=convention,
        joint_names=chain.joint_names,
        rows=tuple(rows),
        base=base,
        tool=tool,
    )
    residual = _residual(chain, table)
    if not residual <= tolerance:
        raise ConversionError(
            f"the {convention} DH parameters of {chain.root} -> {chain.tip} miss the forward kinematics by"
            f" {residual:.2g}, more than the tolerance {tolerance:.2g}"
        )
    return replace(table, residual=residual)


def _rows(chain: KinematicChain, spans: list[list[_Span]], convention: str) -> list[DHRow]:
    """One row per joint, and an auxiliary one for every further span of a link.

    ``spans[0]`` leads from frame 0 to the first axis, ``spans[i]`` from axis i to the next, and the last one
    from the last axis to the tool's frame.
    """
    rows: list[DHRow] = []
    before = spans[0][0]
    for joint, link_spans in zip(chain.joints, spans[1:], strict=True):
        place = _axis_frame(joint.axis)
        for number, after in enumerate(link_spans):
            theta, d = before.psi + after.phi, before.t + after.s
            place = place @ about_z(after.phi, after.s) if number == 0 else place @ about_z(theta, d)
            far_end = place @ about_x(after.alpha, after.a)
            moving = number == 0
            if moving:
                theta, d = _with_offset(joint, theta, d)
            x_part = before if convention == "modified" else after
            rows.append(
                DHRow(
                    joint=joint.name if moving else None,
                    link=joint.link,
                    kind=joint.kind if moving else None,
                    alpha=_clean_angle(x_part.alpha),
                    a=_clean_length(x_part.a),
                    theta=_clean_angle(theta),
                    d=_clean_length(d),
                    coordinate=joint.coordinate if moving else None,
                    multiplier=joint.multiplier if moving else 0.0,
                    link_pose=place if convention == "modified" else far_end,
                )
            )
            place, before = far_end, after
    return rows


def _with_offset(joint: ChainJoint, theta: float, d: float) -> tuple[float, float]:
    if joint.kind is JointKind.PRISMATIC:
        return theta, d + joint.offset
    return theta + joint.offset, d


def _spans(chain: KinematicChain, tolerance: float) -> tuple[Array, list[list[_Span]], Array]:
    """Base, the spans of every link (see ``_rows``) and tool."""
    snap = tolerance / (4.0 * len(chain.joints) * max(1.0, _reach(chain)))
    axes = [_axis_frame(joint.axis) for joint in chain.joints]
    base, first = _base(chain.joints[0].origin @ axes[0])
    spans = [[first]]
    for axis, joint, following, next_axis in zip(
        axes, chain.joints, chain.joints[1:], axes[1:], strict=False
    ):
        theta_before = spans[-1][-1].psi
        if joint.kind is JointKind.REVOLUTE:
            theta_before += joint.offset
        between = inverse_pose(axis) @ following.origin @ next_axis
        spans.append(_link_spans(between, theta_before, snap))
    last, tool = _tool(inverse_pose(axes[-1]) @ chain.tip_transform)
    spans.append([last])
    return base, spans, tool


def _link_spans(between: Array, theta_before: float, snap: float) -> list[_Span]:
    span = _span(between, theta_before, snap)
    if max(abs(span.s), abs(span.t)) <= _FARTHEST_NORMAL or not between[:2, 3].any():
        return [span]
    # Over an auxiliary axis that crosses the second one at right angles to the first.
    toward = np.array([between[0, 3], between[1, 3], 0.0])
    toward /= np.linalg.norm(toward)
    up = np.array([0.0, 0.0, 1.0])
    crossing = pose(np.column_stack([toward, -up, np.cross(up, toward)]), between[:3, 3])
    first = _span(crossing, theta_before, snap)
    return [first, _span(inverse_pose(crossing) @ between, first.psi, snap)]


def _span(between: Array, theta_before: float, snap: float) -> _Span:
    """Takes the pose of the next axis' frame in this axis' frame apart.

    ``theta_before`` is the part of theta that this joint already has. Axes whose angle is at most ``snap``
    are parallel.
    """
    z, p = between[:3, 2], between[:3, 3]
    sine = float(np.hypot(z[0], z[1]))
    parallel = sine <= snap
    if not parallel:
        phi = float(np.arctan2(z[0], -z[1]))  # along the common normal: x = e_z x z / sine
    elif np.hypot(p[0], p[1]) > _COINCIDENT:
        phi = float(np.arctan2(p[1], p[0]))
    else:
        phi = -theta_before
    phi = _nearer(phi, theta_before, lambda angle: float((rotation_z(-angle) @ p)[0]))
    if parallel:
        alpha = 0.0 if z[2] > 0.0 else np.pi
    else:
        alpha = float(np.arctan2(-(rotation_z(-phi) @ z)[1], z[2]))
    in_normal_frame = rotation_z(-phi) @ p
    if parallel:
        t, s = float(z[2] > 0.0 or -1.0) * in_normal_frame[2], 0.0
    else:
        cosine = z[2] if abs(z[2]) > _ROUNDING else 0.0
        t = -in_normal_frame[1] / np.sin(alpha)
        s = in_normal_frame[2] - t * cosine
    rest = rotation_x(-alpha) @ rotation_z(-phi) @ between[:3, :3]
    psi = float(np.arctan2(rest[1, 0] - rest[0, 1], rest[0, 0] + rest[1, 1]))
    a = 0.0 if abs(in_normal_frame[0]) <= _COINCIDENT else float(in_normal_frame[0])
    return _Span(phi, float(s), a, alpha, psi, float(t))


def _nearer(phi: float, theta_before: float, a_of: Callable[[float], float]) -> float:
    """``phi`` or its opposite: the one that leaves the smaller theta, or, if equal, a positive a."""
    turn = abs(_wrapped(theta_before + phi))
    if abs(turn - np.pi / 2) < 1e-9:
        return phi if a_of(phi) >= 0.0 else phi + np.pi
    return phi if turn < np.pi / 2 else phi + np.pi


def _base(first_axis: Array) -> tuple[Array, _Span]:
    """Frame 0, as close to the root frame as the first axis allows, and the way on to the axis' own frame."""
    z, p = first_axis[:3, 2], first_axis[:3, 3]
    base = pose(_frame_along(z), p - (p @ z) * z)
    onward = inverse_pose(base) @ first_axis
    return base, _Span(0.0, 0.0, 0.0, 0.0, _turn_about_z(onward), float(onward[2, 3]))


def _tool(tip: Array) -> tuple[_Span, Array]:
    """What follows the last joint on its axis, and the rest: the tip in the last frame."""
    x = tip[:3, 0] if np.hypot(tip[0, 0], tip[1, 0]) > 1e-6 else tip[:3, 1]
    phi, s = float(np.arctan2(x[1], x[0])), float(tip[2, 3])
    return _Span(phi, s, 0.0, 0.0, 0.0, 0.0), inverse_pose(about_z(phi, s)) @ tip


def _axis_frame(axis: Array) -> Array:
    """(4, 4) pose in the link frame of a frame whose z is the joint's axis."""
    return pose(_frame_along(axis))


def _frame_along(z: Array) -> Array:
    """(3, 3) rotation whose third column is ``z`` and whose first is as close to x (or y) as possible."""
    guide = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = guide - (guide @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _turn_about_z(transform: Array) -> float:
    return float(np.arctan2(transform[1, 0], transform[0, 0]))


def _wrapped(angle: float) -> float:
    """``angle`` in (-π, π]."""
    turned = float(np.remainder(angle, 2.0 * np.pi))
    return turned - 2.0 * np.pi if turned > np.pi else turned


def _clean_angle(angle: float) -> float:
    angle = angle if -np.pi < angle <= np.pi else _wrapped(angle)
    quarter = round(angle / (np.pi / 2)) * (np.pi / 2)
    if abs(angle - quarter) <= _ROUNDING:
        return float(abs(quarter)) if abs(quarter) > 3.0 or quarter == 0.0 else float(quarter)
    return float(angle)


def _clean_length(length: float) -> float:
    return 0.0 if abs(length) <= _ROUNDING else float(length)


def _reach(chain: KinematicChain) -> float:
    """How far [m] the tip can be from any joint axis: no more than all links in a line."""
    reach = float(np.linalg.norm(chain.tip_transform[:3, 3]))
    for joint in chain.joints:
        reach += float(np.linalg.norm(joint.origin[:3, 3]))
        if joint.kind is JointKind.PRISMATIC:
            lower, upper = _range(joint)
            reach += max(abs(lower), abs(upper))
    return reach


def _range(joint: ChainJoint) -> tuple[float, float]:
    bound = np.pi if joint.kind is JointKind.REVOLUTE else 1.0
    lower = joint.limits.lower if np.isfinite(joint.limits.lower) else -bound
    upper = joint.limits.upper if np.isfinite(joint.limits.upper) else bound
    return min(lower, upper), max(lower, upper)


def _residual(chain: KinematicChain, table: DHTable) -> float:
    generator = np.random.default_rng(0)
    ranges = np.array([_range(chain.driving_joint(index)) for index in range(chain.dof)])
    samples = generator.uniform(ranges[:, 0], ranges[:, 1], (_SAMPLES, chain.dof))
    return max(
        float(np.abs(table.forward_kinematics(q) - chain.forward_kinematics(q)).max()) for q in samples
    )
