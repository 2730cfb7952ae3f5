"""Planning in joint space (section 4.3): leg lengths with parabolic blends, a pose found for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.papers.dasgupta.reproduction import paper_paths
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.platform import StewartPlatform


@dataclass(frozen=True)
class JointSpacePath:
    """A path that is straight in the leg lengths.

    Attributes:
        times: (N,) [s].
        lengths, rates, accelerations: (N, 6) as planned [m, per s, per s²].
        motion: of the platform, as found.
        iterations: (N,) Newton steps that each pose took.
        residual: greatest error of a leg length [m].
    """

    times: Array
    lengths: Array
    rates: Array
    accelerations: Array
    motion: Motion
    iterations: Array
    residual: float


def plan(platform: StewartPlatform, name: str = "I") -> JointSpacePath:
    """From the start to the end of one of the paper's paths, with its timing."""
    path = paper_paths()[name]
    times = path.times
    ends = platform.legs_of(path.line.at(np.array([0.0, path.line.duration]))).lengths
    fraction, rate, acceleration = path.line.linear_law.at(times)
    lengths, rates, accelerations = (
        np.outer(law, ends[1] - ends[0]) + offset
        for law, offset in ((fraction, ends[0]), (rate, 0.0), (acceleration, 0.0))
    )
    start = path.line.at(0.0)
    position, rotation = start.position, start.rotation
    states, iterations, residual = [], [], 0.0
    for length, speed, second in zip(lengths, rates, accelerations, strict=True):
        pose = platform.forward_kinematics(length, position, quaternion_from_rotation(rotation))
        position, rotation = pose.position, pose.rotation
        iterations.append(pose.iterations)
        residual = max(residual, pose.residual)
        states.append((position, rotation, *_derivatives(platform, position, rotation, speed, second)))
    columns = [np.array(column) for column in zip(*states, strict=True)]
    zero = np.zeros((len(times), 3))
    motion = Motion(columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], zero, zero)
    return JointSpacePath(times, lengths, rates, accelerations, motion, np.array(iterations), residual)


def _derivatives(
    platform: StewartPlatform, position: Array, rotation: Array, speed: Array, second: Array
) -> tuple[Array, Array, Array, Array]:
    """Platform velocity and acceleration from leg rates and their rates: two linear systems, (5) and (8)."""
    legs = platform.legs(position, quaternion_from_rotation(rotation))
    twist: Array = np.asarray(np.linalg.solve(legs.jacobian, speed), dtype=float)
    v, w = twist[:3], twist[3:]
    points = np.cross(w, legs.arms) + v
    spin = np.cross(w, np.cross(w, legs.arms))
    across = np.einsum("ij,ij->i", points, points) - speed**2
    bias = np.einsum("ij,ij->i", legs.directions, spin) + across / legs.lengths
    acceleration: Array = np.asarray(np.linalg.solve(legs.jacobian, second - bias), dtype=float)
    return v, w, np.asarray(acceleration[:3]), np.asarray(acceleration[3:])
