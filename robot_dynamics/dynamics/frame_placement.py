"""Placing frames on the joint axes of a chain.

The chain is looked at with every joint variable at zero. Axis i is the line through ``point`` along ``z``;
frame i has its z axis on it and its x axis along the common normal to axis i+1. What the common normal leaves
free is chosen so that parameters vanish. A prismatic joint's axis may be shifted parallel to itself, so it is
drawn through the previous frame's origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.chain import JointKind, KinematicChain, RigidBody
from robot_dynamics.spatial import Array

# A foot of the common normal farther from the joint than this many arm lengths is not used.
_REACH = 4.0


@dataclass(frozen=True)
class PlacedJoint:
    """Modified DH parameters of one joint and its link's inertial parameters (see `LinkFrame`).

    ``sign`` is -1 where z points against the joint's axis; ``zero`` is theta or r at joint variable zero.
    """

    sign: float
    alpha: float
    a: float
    b: float
    r: float
    theta: float
    zero: float
    mass: float
    first_moment: Array
    inertia: Array


@dataclass(frozen=True)
class Placement:
    """Frames of a whole chain; ``scale`` is the arm's length [m]."""

    joints: tuple[PlacedJoint, ...]
    base: Array
    tip: Array
    scale: float


def snap_angle(angle: float, tolerance: float) -> float:
    """``angle``, or the multiple of pi/2 that it is within ``tolerance`` of, in (-pi, pi]."""
    angle = float(np.arctan2(np.sin(angle), np.cos(angle))) if abs(angle) > np.pi else angle
    quarter = round(angle / (np.pi / 2))
    if abs(angle - quarter * np.pi / 2) <= tolerance:
        angle = (2 if quarter == -2 else quarter) * np.pi / 2
    return float(angle)


def place_frames(chain: KinematicChain, angle_tolerance: float) -> Placement:
    """Frames for every moving joint of ``chain`` (at least one)."""
    link_poses, pose = [], np.eye(4)
    for joint in chain.joints:
        pose = pose @ joint.origin
        link_poses.append(pose)
    scale = sum(float(np.linalg.norm(joint.origin[:3, 3])) for joint in chain.joints[1:])
    scale = max(scale, max(float(np.linalg.norm(joint.body.center_of_mass)) for joint in chain.joints))
    length_tolerance = angle_tolerance * scale

    z = [pose[:3, :3] @ joint.axis for pose, joint in zip(link_poses, chain.joints, strict=True)]
    z = [axis / np.linalg.norm(axis) for axis in z]
    sign = [1.0] * len(z)
    for i in range(1, len(z)):
        sine = float(np.linalg.norm(np.cross(z[i - 1], z[i])))
        if sine < 1e-3 and z[i - 1] @ z[i] < 0.0:
            z[i], sign[i] = -z[i], -1.0
        if sine <= angle_tolerance:
            z[i] = z[i - 1]

    frames: list[Array] = []
    foot = link_poses[0][:3, 3]
    previous_x = _perpendicular(z[0], link_poses[0][:3, :3])
    for i in range(len(z)):
        origin, x = foot, previous_x
        if i + 1 < len(z):
            next_is_prismatic = chain.joints[i + 1].kind is JointKind.PRISMATIC
            point = foot if next_is_prismatic else link_poses[i + 1][:3, 3]
            origin, x = _common_normal(
                foot, z[i], point, z[i + 1], previous_x, _REACH * scale, length_tolerance
            )
            foot = point + ((origin - point) @ z[i + 1]) * z[i + 1]
        frames.append(_frame(x, z[i], origin))
        previous_x = x

    joints = []
    for i, joint in enumerate(chain.joints):
        previous = frames[i - 1] if i else frames[0]
        alpha, a, b, r, theta = _parameters(_inverse(previous) @ frames[i], angle_tolerance, length_tolerance)
        revolute = joint.kind is JointKind.REVOLUTE
        body = _inertial_parameters(joint.body, _inverse(frames[i]) @ link_poses[i], angle_tolerance)
        joints.append(
            PlacedJoint(
                sign=sign[i],
                alpha=alpha,
                a=a,
                b=b,
                r=r if revolute else 0.0,
                theta=0.0 if revolute else theta,
                zero=theta if revolute else r,
                mass=body[0],
                first_moment=body[1],
                inertia=body[2],
            )
        )
    tip = _inverse(frames[-1]) @ link_poses[-1] @ chain.tip_transform
    return Placement(tuple(joints), base=frames[0], tip=tip, scale=scale)


def _common_normal(
    foot: Array, z: Array, point: Array, z_next: Array, previous_x: Array, reach: float, tolerance: float
) -> tuple[Array, Array]:
    """Origin on the axis (foot, z) and x axis normal to it and to the axis (point, z_next)."""
    normal = np.cross(z, z_next)
    sine = float(np.linalg.norm(normal))
    between = point - foot
    if sine == 0.0:
        across = between - (between @ z) * z
        distance = float(np.linalg.norm(across))
        return foot, (across / distance if distance > tolerance else previous_x)
    x = normal / sine
    slide = float(np.linalg.det(np.array([between, z_next, normal]))) / sine**2
    # b != 0: the axes are too nearly parallel for their common normal to be used.
    origin = foot + slide * z if abs(slide) <= reach else foot
    length = float(between @ x)
    if length < -tolerance or (abs(length) <= tolerance and x @ previous_x < 0.0):
        x = -x
    return origin, x


def _perpendicular(z: Array, axes: Array) -> Array:
    """Unit vector normal to z, as near as may be to one of the columns of ``axes``."""
    column = axes[:, int(np.argmin(np.abs(z @ axes)))]
    x = column - (column @ z) * z
    return np.asarray(x / np.linalg.norm(x))


def _frame(x: Array, z: Array, origin: Array) -> Array:
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    frame = np.eye(4)
    frame[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    frame[:3, 3] = origin
    return frame


def _inverse(pose: Array) -> Array:
    inverse = np.eye(4)
    inverse[:3, :3] = pose[:3, :3].T
    inverse[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return inverse


def _parameters(
    relative: Array, angle_tolerance: float, length_tolerance: float
) -> tuple[float, float, float, float, float]:
    """alpha, a, b, r, theta of the pose ``relative`` of a frame in the previous one."""
    rotation = relative[:3, :3]
    alpha = snap_angle(float(np.arctan2(-rotation[1, 2], rotation[2, 2])), angle_tolerance)
    theta = snap_angle(float(np.arctan2(-rotation[0, 1], rotation[0, 0])), angle_tolerance)
    c, s = np.cos(alpha), np.sin(alpha)
    x, y, z = relative[:3, 3]
    a, b, r = (
        0.0 if abs(length) <= length_tolerance else float(length)
        for length in (x, c * y + s * z, c * z - s * y)
    )
    return alpha, a, b, r, theta


def _inertial_parameters(body: RigidBody, pose: Array, tolerance: float) -> tuple[float, Array, Array]:
    """Mass, first moment and inertia about the origin of the frame in which the body's link has ``pose``."""
    rotation = pose[:3, :3]
    center = rotation @ body.center_of_mass + pose[:3, 3]
    first_moment = body.mass * center
    shift = body.mass * (center @ center * np.eye(3) - np.outer(center, center))
    inertia = rotation @ body.inertia @ rotation.T + shift
    inertia = 0.5 * (inertia + inertia.T)
    for parameters in (first_moment, inertia):
        parameters[np.abs(parameters) <= tolerance * np.max(np.abs(parameters))] = 0.0
    return float(body.mass), first_moment, inertia
