"""Places one frame on every joint axis of a chain or tree: the only place where link frames are chosen.

Denavit-Hartenberg tables and the model that torques are computed with are both derived from what stands here.
z of a frame points along its joint's own axis. Between two axes the fixed transform is taken apart into

    Rz(phi) Tz(s) · Rx(alpha) Trans(a, y, 0) · Rz(psi) Tz(t)

The middle belongs to the link. The ends lie on the joint axes, commute with the motion of the joints, and add
up there: theta of a joint is the psi before it plus the phi behind it, and r likewise.

A link that carries several joints has its frame chosen for the one behind which most joints are. To the
others leads Rz(gamma) in front of the middle, and s is part of y and t.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.arrays import of_type, real_number
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain, RigidBody
from robot_dynamics.model.link_frame import LinkFrame
from robot_dynamics.spatial import (
    Array,
    about_z,
    inverse_pose,
    pose,
    rotate_inertia,
    rotation_with_z,
    rotation_x,
    rotation_z,
    shift_inertia,
    turn_about_z,
    wrapped_angle,
)

# Largest difference of a tip pose [m or 1] that making angles and lengths round may cause.
TOLERANCE = 1e-9
COARSEST = 1.0  # beyond it whole axes would be rounded away
# A foot of the common normal farther along the axis than this many arm lengths is not used.
_REACH = 4.0
# An inertial parameter this small beside the largest of its kind is rounding.
_ROUNDING = 5e-13
_SAMPLES = 16


@dataclass(frozen=True)
class Rounding:
    """Tolerances for the placement of frames.

    Attributes:
        angle: angles this close to a multiple of pi/2 become that multiple [rad].
        length: lengths this close to zero become zero [m].
    """

    angle: float
    length: float

    @classmethod
    def of(cls, chain: KinematicChain, tolerance: float) -> Rounding:
        """So that all angles and lengths together move the tip by at most ``tolerance`` [m or 1]."""
        angle = tolerance / (4.0 * _longest(chain, [1.0] * len(chain.joints)) * max(1.0, _reach(chain)))
        return cls(angle, angle * _arm_length(chain))

    def of_angle(self, angle: float) -> float:
        """``angle`` in (-pi, pi], round."""
        angle = wrapped_angle(angle)
        quarter = round(angle / (np.pi / 2))
        if abs(angle - quarter * np.pi / 2) <= self.angle:
            angle = (2 if quarter == -2 else quarter) * np.pi / 2
        return float(angle)

    def of_length(self, length: float) -> float:
        """``length``, or zero."""
        return 0.0 if abs(length) <= self.length else float(length)

    def of_pose(self, place: Array) -> Array:
        """``place`` (4, 4) with the rounding of quarter turns and of zero lengths removed."""
        bounds = np.full((4, 4), self.angle)
        bounds[:3, 3] = self.length
        return np.where(np.abs(place) <= bounds, 0.0, place)


@dataclass(frozen=True)
class Placement:
    """The frames of a chain.

    Attributes:
        links: one per moving joint, as in the chain. The first has alpha, a, y_shift, and r or theta zero;
            the x axis and origin of those that carry no joint are those of the link before, where possible.
        poses: (4, 4) of every frame in the URDF frame of its link.
        base: (4, 4) pose of frame 0 in the root frame; frame 0 is frame 1 at joint variable zero.
        tips: (4, 4) pose of every tip frame in the frame of the link that carries it.
        reach: how far the tip can be from any joint axis [m].
        rounding: what was taken as equal.
    """

    links: tuple[LinkFrame, ...]
    poses: tuple[Array, ...]
    base: Array
    tips: tuple[Array, ...]
    reach: float
    rounding: Rounding


def place_frames(chain: KinematicChain, tolerance: float = TOLERANCE) -> Placement:
    """One frame on every joint axis of ``chain``.

    x of a frame lies along the common normal to the next axis, its origin at the normal's foot. What that
    leaves free: x is turned as little as possible from the x before it, so that joint offsets stay within
    ±pi/2; the common normal of parallel axes starts where the one before ended, and so does the axis of a
    prismatic joint, of which only the direction is given. Two axes that are parallel but for a rounded number
    in the description (1.5708 for pi/2) have their common normal kilometres away: the frame then stays where
    the normal before ended, and ``y_shift`` leads across to the next axis.

    Args:
        chain: the chain; mimic joints have frames of their own.
        tolerance: how far [m or 1] the tip may move by making angles and lengths round.

    Raises:
        ParameterError: no moving joint, or a tolerance that is not positive, or above ``COARSEST``.
    """
    of_type("chain", chain, KinematicChain)
    if not chain.joints:
        raise ParameterError(f"the chain {chain.root} -> {chain.tip} has no moving joint")
    tolerance = real_number("tolerance", tolerance, ParameterError)
    if not 0.0 < tolerance <= COARSEST:
        raise ParameterError(f"tolerance is {tolerance:g}; it must be positive and at most {COARSEST:g}")
    rounding = Rounding.of(chain, tolerance)
    reach = _REACH * _arm_length(chain)
    axes = [pose(frame_along(joint.axis)) for joint in chain.joints]
    start = chain.joints[0].origin @ axes[0]
    # Of every joint, what leads to its axis from the frame before, and along the axis to its own frame before
    # phi and s are chosen.
    ways = {0: _Way(psi=turn_about_z(frame_along(start[:3, 2]).T @ start[:3, :3]))}
    following = _following(chain)
    links: list[LinkFrame] = []
    poses: list[Array] = []
    for i, joint in enumerate(chain.joints):
        if i not in ways:
            # Carried by the root, beside the first.
            base = chain.joints[0].origin @ poses[0]
            ways[i] = _aside(inverse_pose(base), joint, axes, i, reach, rounding)
        way = ways[i]
        theta_before = way.psi + (joint.offset if joint.kind is JointKind.REVOLUTE else 0.0)
        main, *others = following[i] or [-1]
        if main >= 0:
            between = inverse_pose(axes[i]) @ chain.joints[main].origin @ axes[main]
            if chain.joints[main].kind is JointKind.PRISMATIC:
                # What slides may slide along any parallel line: on this one a, y and r vanish.
                between[:3, 3] = (0.0, 0.0, -way.t)
                axes[main] = inverse_pose(chain.joints[main].origin) @ axes[i] @ between
            step = _step(between, theta_before, -way.t, reach, rounding)
            ways[main] = _Way(0.0, step.alpha, step.a, step.y, step.psi, step.t)
            phi, s = step.phi, step.s
        else:
            phi, s = -theta_before, -way.t
        place = rounding.of_pose(axes[i] @ about_z(phi, s))
        along = (way.psi + phi, way.t + s) if i else (0.0, 0.0)
        links.append(_link(joint, chain.carriers[i], way, along, place, rounding))
        poses.append(place)
        for other in others:
            ways[other] = _aside(inverse_pose(place), chain.joints[other], axes, other, reach, rounding)
    base = chain.joints[0].origin @ poses[0]
    tips = tuple(inverse_pose(poses[tip.joint]) @ tip.transform for tip in chain.tips)
    return Placement(tuple(links), tuple(poses), base, tips, _reach(chain), rounding)


def _following(chain: KinematicChain) -> list[list[int]]:
    """The joints that each joint carries, first the one behind which most joints are."""
    count = [1] * len(chain.joints)
    following: list[list[int]] = [[] for _ in chain.joints]
    for i, parent in reversed(list(enumerate(chain.carriers))):
        if parent >= 0:
            count[parent] += count[i]
            following[parent].insert(0, i)
    return [sorted(carried, key=lambda i: -count[i]) for carried in following]


@dataclass(frozen=True)
class _Way:
    """Rz(gamma) Rx(alpha) Trans(a, y, 0) · Rz(psi) Tz(t), from a frame to the axis of the next joint."""

    gamma: float = 0.0
    alpha: float = 0.0
    a: float = 0.0
    y: float = 0.0
    psi: float = 0.0
    t: float = 0.0


def _aside(
    into: Array, joint: ChainJoint, axes: list[Array], index: int, reach: float, rounding: Rounding
) -> _Way:
    """The way to a joint from a frame that was chosen for another one.

    ``into`` (4, 4) is the pose, in that frame, of the frame in which the joint's origin is given.
    """
    between = into @ joint.origin @ axes[index]
    if joint.kind is JointKind.PRISMATIC:
        between[:3, 3] = 0.0
        axes[index] = inverse_pose(joint.origin) @ inverse_pose(into) @ between
    step = _step(between, 0.0, 0.0, reach, rounding)
    along, across = step.s * np.cos(step.alpha), step.s * np.sin(step.alpha)
    return _Way(step.phi, step.alpha, step.a, step.y + across, step.psi, step.t + along)


def residual(chain: KinematicChain, tip_poses: Callable[[Array], Sequence[Array]]) -> float:
    """Largest difference [m or 1] from the chain's pose of the tips, over samples in the joint ranges.

    Args:
        chain: the chain.
        tip_poses: (4, 4) pose of every tip in the root frame at coordinates (n,).
    """
    ranges = np.array([_range(chain.driving_joint(index)) for index in range(chain.dof)])
    samples = np.random.default_rng(0).uniform(ranges[:, 0], ranges[:, 1], (_SAMPLES, chain.dof))
    missed = 0.0
    for q in samples:
        poses = chain.link_poses(q)
        for tip, found in zip(chain.tips, tip_poses(q), strict=True):
            missed = max(missed, float(np.abs(found - poses[tip.joint] @ tip.transform).max()))
    return missed


def frame_along(z: Array) -> Array:
    """(3, 3) rotation whose third column is the unit vector ``z``.

    Its x axis is as close as may be to the first of the outer axes from which z is farthest.
    """
    return rotation_with_z(z, np.eye(3)[int(np.argmin(np.round(np.abs(z), 6)))])


@dataclass(frozen=True)
class _Step:
    """Rz(phi) Tz(s) · Rx(alpha) Trans(a, y, 0) · Rz(psi) Tz(t), from one axis to the next."""

    phi: float
    s: float
    alpha: float
    a: float
    y: float
    psi: float
    t: float


def _step(between: Array, theta_before: float, foot: float, reach: float, rounding: Rounding) -> _Step:
    """Takes the pose of the next axis' frame in this axis' frame apart.

    Args:
        between: (4, 4) that pose.
        theta_before: the part of theta that this joint already has.
        foot: where on this axis the common normal before ended [m].
        reach: how far from there the next may start [m].
        rounding: what counts as parallel and as coincident.
    """
    z, p = between[:3, 2], between[:3, 3]
    sine = float(np.hypot(z[0], z[1]))
    parallel = sine <= rounding.angle
    if not parallel:
        phi = float(np.arctan2(z[0], -z[1]))  # along the common normal: x = e_z x z / sine
    elif np.hypot(p[0], p[1]) > rounding.length:
        phi = float(np.arctan2(p[1], p[0]))
    else:
        phi = -theta_before
    phi = _nearer(phi, theta_before, lambda angle: float((rotation_z(-angle) @ p)[0]))
    from_x = rotation_z(-phi)
    alpha = float(np.arctan2(-(from_x @ z)[1], z[2]))
    if parallel:
        alpha = 0.0 if z[2] > 0.0 else np.pi
    s = foot
    if not parallel:
        across, along = (from_x @ p)[1:]
        normal_foot = float(along + across * np.cos(alpha) / np.sin(alpha))
        s = normal_foot if abs(normal_foot - foot) <= reach else foot
    a, y, t = rotation_x(-alpha) @ from_x @ (p - np.array([0.0, 0.0, s]))
    rest = rotation_x(-alpha) @ from_x @ between[:3, :3]
    psi = float(np.arctan2(rest[1, 0] - rest[0, 1], rest[0, 0] + rest[1, 1]))
    return _Step(phi, s, alpha, float(a), float(y), psi, float(t))


def _nearer(phi: float, theta_before: float, a_of: Callable[[float], float]) -> float:
    """``phi`` or its opposite: the one that leaves the smaller theta, or, if equal, a positive a."""
    turn = abs(wrapped_angle(theta_before + phi))
    if abs(turn - np.pi / 2) < 1e-9:
        return phi if a_of(phi) >= 0.0 else phi + np.pi
    return phi if turn < np.pi / 2 else phi + np.pi


def _link(
    joint: ChainJoint,
    parent: int,
    way: _Way,
    along: tuple[float, float],
    place: Array,
    rounding: Rounding,
) -> LinkFrame:
    """A link in its frame at ``place``.

    ``way`` leads to the joint, ``along`` is theta and r with the joint variable at zero.
    """
    theta, r = along
    revolute = joint.kind is JointKind.REVOLUTE
    mass, first_moment, inertia = _inertial_parameters(joint.body, inverse_pose(place))
    return LinkFrame(
        name=joint.name,
        kind=joint.kind,
        parent=parent,
        gamma=rounding.of_angle(way.gamma),
        alpha=rounding.of_angle(way.alpha),
        a=rounding.of_length(way.a),
        y_shift=rounding.of_length(way.y),
        r=rounding.of_length(r) if revolute else 0.0,
        theta=0.0 if revolute else rounding.of_angle(theta),
        coordinate=joint.coordinate,
        multiplier=joint.multiplier,
        offset=rounding.of_angle(theta + joint.offset) if revolute else rounding.of_length(r + joint.offset),
        mass=mass,
        first_moment=first_moment,
        inertia=inertia,
    )


def _inertial_parameters(body: RigidBody, link_pose: Array) -> tuple[float, Array, Array]:
    """Mass, first moment and inertia about the origin of the frame in which the body's link has a pose."""
    rotation = link_pose[:3, :3]
    center = rotation @ body.center_of_mass + link_pose[:3, 3]
    first_moment = body.mass * center
    inertia = rotate_inertia(rotation, body.inertia) + shift_inertia(body.mass, center)
    for parameters in (first_moment, inertia):
        parameters[np.abs(parameters) <= _ROUNDING * np.max(np.abs(parameters))] = 0.0
    return float(body.mass), first_moment, inertia


def _arm_length(chain: KinematicChain) -> float:
    """Length of the arm [m]: all links in a line, or the farthest center of mass from its joint."""
    lengths = [float(np.linalg.norm(joint.origin[:3, 3])) for joint in chain.joints]
    length = _longest(
        chain,
        [length if parent >= 0 else 0.0 for length, parent in zip(lengths, chain.carriers, strict=True)],
    )
    return max(length, max(float(np.linalg.norm(joint.body.center_of_mass)) for joint in chain.joints))


def _reach(chain: KinematicChain) -> float:
    """Largest distance of the tip from any joint axis [m]: at most all links in a line."""
    lengths = []
    for joint in chain.joints:
        length = float(np.linalg.norm(joint.origin[:3, 3]))
        if joint.kind is JointKind.PRISMATIC:
            length += max(map(abs, _range(joint)))
        lengths.append(length)
    ends = [0.0] * len(lengths)
    for tip in chain.tips:
        ends[tip.joint] = max(ends[tip.joint], float(np.linalg.norm(tip.transform[:3, 3])))
    return _longest(chain, lengths, ends)


def _longest(chain: KinematicChain, lengths: Sequence[float], ends: Sequence[float] = ()) -> float:
    """Greatest sum of ``lengths``, one for each joint, from the root to any joint and to its end."""
    sums: list[float] = []
    for parent, length in zip(chain.carriers, lengths, strict=True):
        sums.append((sums[parent] if parent >= 0 else 0.0) + length)
    return max(total + end for total, end in zip(sums, ends or [0.0] * len(sums), strict=True))


def _range(joint: ChainJoint) -> tuple[float, float]:
    bound = np.pi if joint.kind is JointKind.REVOLUTE else 1.0
    lower = joint.limits.lower if np.isfinite(joint.limits.lower) else -bound
    upper = joint.limits.upper if np.isfinite(joint.limits.upper) else bound
    return min(lower, upper), max(lower, upper)
