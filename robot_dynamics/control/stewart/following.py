"""Following errors that a platform may have, by its model at home."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.supervision import thresholds
from robot_dynamics.parameters import per_joint
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.program import MOTION_SIZE

UNKNOWN_WEIGHT, MARGIN = 0.2, 1.5
"""Share of the weight that the model may lack, and margin of what follows from it."""
LEAST, LEAST_ANGLE = 0.005, 0.02
"""Part of every threshold for noise and delays [m, rad]."""
SHARE_OF_RANGE = 0.1
"""Share of the stroke that a threshold is at most."""
FASTEST = 10.0
"""Speed at which friction of legs without a speed limit counts [m/s]."""


DRIVE_LAG = 0.1
"""Time by which drives with a loop of their own may be behind their setpoints [s]."""


def platform_rules(
    machine: Machine, forces: Callable[[Array], Array], parameters: StewartParameters
) -> dict[str, Any]:
    """Fields of ``rd_rules`` of a platform.

    The weight and the friction that the model may lack accelerate the platform. The feedback has kp times the
    error against them.

    Args:
        machine: the platform; its friction counts even where it is not compensated.
        forces: (N, 6) of motions (N, MOTION_SIZE), with the payload.
        parameters: of the controller.
    """
    speed = np.array([leg.limits.speed for leg in machine.legs])
    legs, pose = _derived(machine, forces, parameters, speed)
    wanted = per_joint(parameters.max_following_error, machine.leg_names, "max_following_error")
    fields = {
        "following": thresholds(wanted, legs),
        "pose": thresholds(np.array(parameters.max_pose_error), pose).tolist(),
        **parameters.fields_of_rules(speed),
    }
    # Rules of a feedback, which belongs to the drives here.
    return fields | ({"oscillation": 0.0, "delay": -1.0} if parameters.sends_setpoints else {})


def _derived(
    machine: Machine, forces: Callable[[Array], Array], parameters: StewartParameters, speed: Array
) -> tuple[Array, Array]:
    """Thresholds of the legs (6,) [m] and of the pose [m, rad]."""
    home, rotation = machine.home_position, machine.home_rotation
    kp, kv = parameters.gains()
    motions = np.zeros((7, MOTION_SIZE))
    motions[:, :3], motions[:, 3:7] = home, quaternion_from_rotation(rotation)
    motions[1:, 13:19] = np.eye(6)
    found = forces(motions)
    load, mobility = found[0], np.linalg.inv((found[1:] - found[0]).T)
    friction = np.array([leg.friction.coulomb for leg in machine.legs])
    if "friction" in machine.guessed:
        friction += [leg.friction.prismatic for leg in machine.legs] * np.minimum(speed, FASTEST)
    jacobian = leg_geometry(machine, home, rotation).jacobian
    stiff = np.maximum(kp, 1e-9)
    error = MARGIN * (UNKNOWN_WEIGHT * np.abs(mobility @ load) + np.abs(mobility) @ friction) / stiff
    # A load beside the platform's middle tilts it.
    moment = 0.5 * machine.characteristic_length * np.linalg.norm((jacobian.T @ load)[:3])
    tilt = mobility @ np.linalg.inv(jacobian).T[:, 3:] * (MARGIN * UNKNOWN_WEIGHT * moment) / stiff[:, None]
    error = error + np.abs(tilt).max(axis=1)
    per_leg = jacobian @ (mobility / stiff[:, None])
    stretch = MARGIN * (UNKNOWN_WEIGHT * np.abs(per_leg @ load) + np.abs(per_leg) @ friction)
    stretch += np.abs(jacobian @ tilt).max(axis=1)
    strokes = np.array([leg.limits.longest - leg.limits.shortest for leg in machine.legs])
    lag = DRIVE_LAG if parameters.sends_setpoints else kv.min() / stiff.max()
    room = np.minimum(SHARE_OF_RANGE * strokes, lag * speed)
    room = np.maximum(room, np.minimum(LEAST, SHARE_OF_RANGE * strokes))
    most = float(room.max())
    if parameters.sends_setpoints:  # the drives carry what the model does not know
        return room, np.array([2.0 * most, max(2.0 * most / machine.characteristic_length, LEAST_ANGLE)])
    linear = min(float(np.linalg.norm(error[:3])) + LEAST, 2.0 * most)
    angular = float(np.linalg.norm(error[3:])) + LEAST_ANGLE
    turned = max(2.0 * most / machine.characteristic_length, LEAST_ANGLE)
    return np.minimum(stretch + LEAST, room), np.array([linear, min(angular, turned)])
