"""What the platform carries beside what its file tells: a rigid body, changed while it moves.

The generated model stays as it is: a body fixed to the platform acts on it by the wrench of its weight and
its inertia, which enters the model as an external one does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.parameters import parameter
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.machine import Machine


@dataclass(frozen=True)
class PlatformPayloadParameters(PayloadParameters):
    """The load on the platform, beside what the machine's file counts in; all can be changed at any time."""

    payload_mass: float = parameter(
        0.0,
        "Mass of what the platform carries beside its file's; 0: nothing",
        unit="kg",
        minimum=0.0,
        maximum=1e5,
    )
    payload_center: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Centre of mass of the payload in the platform's frame: x, y, z",
        unit="m",
        minimum=-100.0,
        maximum=100.0,
    )
    payload_inertia: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "Inertia of the payload about its centre of mass, in the axes of the platform's frame: ixx, ixy, ixz,"
        " iyy, iyz, izz; zeros: a point mass",
        unit="kg·m²",
        minimum=-1e6,
        maximum=1e6,
    )


def loaded(machine: Machine, payload: RigidBody) -> Machine:
    """The machine with a body (platform frame) fixed to its platform."""
    if payload.mass == 0.0:
        return machine
    return replace(machine, platform=lumped_body((machine.platform, payload)))


def carried_wrench(
    payload: RigidBody, rotation: Array, twist: Array, acceleration: Array, gravity: Array
) -> Array:
    """Force [N] and moment about the platform's origin [N·m] of a payload on the platform, platform frame.

    Args:
        payload: in the platform's frame.
        rotation: (3, 3) from the platform frame to the base frame.
        twist: (6,) of the platform's origin, base frame.
        acceleration: (6,) likewise.
        gravity: (3,) base frame [m/s²].
    """
    # All in the platform's frame.
    w, alpha = rotation.T @ twist[3:], rotation.T @ acceleration[3:]
    arm, inertia = payload.center_of_mass, payload.inertia
    lift = rotation.T @ (acceleration[:3] - gravity)
    force = -payload.mass * (lift + _cross(alpha, arm) + _cross(w, _cross(w, arm)))
    moment = _cross(arm, force) - inertia @ alpha - _cross(w, inertia @ w)
    return np.concatenate([force, moment])


def _cross(a: Array, b: Array) -> Array:
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])
