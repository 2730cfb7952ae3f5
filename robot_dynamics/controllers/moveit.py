"""Files for MoveIt beside a generated package: limits of the joints from the model, and its controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

POSES = 500
"""Poses between the position limits at which accelerations are bounded."""
SHARE = 0.9
"""Share of the effort limits that accelerations may need; the rest is for speed and feedback."""
_LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
_FARTHEST = {JointKind.REVOLUTE: np.pi, JointKind.PRISMATIC: 1.0}


def joint_limits(robots: Sequence[tuple[str, KinematicChain, Array]]) -> str:
    """MoveIt's ``joint_limits.yaml``: velocities of the description, accelerations that the efforts permit.

    All joints of a robot may accelerate at once, each with its limit and in either direction, from rest in
    any of the sampled poses.

    Args:
        robots: prefix of the joints' names, chain, and accelerations by :func:`largest_accelerations`.
    """
    entries: dict[str, dict[str, Any]] = {}
    for prefix, chain, accelerations in robots:
        for j, name in enumerate(chain.joint_names):
            entries[f"{prefix}{name}"] = _limits(
                chain.driving_joint(j).limits.velocity, float(accelerations[j])
            )
    head = (
        f"{_LICENCE}# Limits for MoveIt [rad/s, rad/s² or m/s, m/s²].\n"
        "# Accelerations: all joints at once, from rest, in poses between the position limits.\n"
        f"# They need at most {100 * SHARE:.0f} % of the effort limits in {POSES} such poses.\n"
    )
    return head + str(yaml.safe_dump({"joint_limits": entries}, sort_keys=False))


def _limits(velocity: float, acceleration: float) -> dict[str, Any]:
    """Limits of a joint; infinite ones are none."""
    entry: dict[str, Any] = {"has_velocity_limits": bool(np.isfinite(velocity))}
    if np.isfinite(velocity):
        entry["max_velocity"] = float(velocity)
    entry["has_acceleration_limits"] = bool(np.isfinite(acceleration))
    if np.isfinite(acceleration):
        entry["max_acceleration"] = float(f"{acceleration:.4g}")
    return entry


def largest_accelerations(chain: KinematicChain, gravity: Array, drives: ActuatorParameters) -> Array:
    """(n,) accelerations of all joints at once [rad/s² or m/s²]; infinite without effort limits.

    Args:
        chain: the arm.
        gravity: (3,) in the root frame [m/s²].
        drives: friction and rotor inertia of the joints.
    """
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    far = np.array([_FARTHEST[joint.kind] for joint in joints])
    lower, upper = (np.array([getattr(x.limits, name) for x in joints]) for name in ("lower", "upper"))
    lower, upper = np.where(np.isfinite(lower), lower, -far), np.where(np.isfinite(upper), upper, far)
    poses = np.random.default_rng(0).uniform(lower, upper, (POSES, chain.dof))
    dynamics = compile_dynamics(chain, gravity, friction=False)
    own = drives.of(chain)
    inertia = np.abs(dynamics.mass_matrix(poses)) + np.diag(own.rotor_inertia)
    rest = np.zeros_like(poses)
    load = np.abs(dynamics.inverse_dynamics(poses, rest, rest)) + own.friction.friction
    efforts = np.array([joint.limits.effort for joint in joints])
    spare = SHARE * efforts - load
    if not (spare > 0.0).all():
        # A pose that cannot be held bounds nothing: its motion has to be planned by torque.
        spare = np.where(spare > 0.0, spare, np.inf)
    alone = (spare / inertia[:, range(chain.dof), range(chain.dof)]).min(axis=0)
    limited = np.isfinite(alone)
    needed = inertia @ np.where(limited, alone, 0.0)
    with np.errstate(divide="ignore"):
        share = float((spare / needed)[:, limited].min(initial=1.0))
    return np.where(limited, min(share, 1.0) * alone, np.inf)


def moveit_controllers(groups: Mapping[str, Sequence[str]], default: Sequence[str]) -> str:
    """MoveIt's ``moveit_controllers.yaml`` for the trajectory controllers of the package.

    Args:
        groups: joints by controller.
        default: the controllers that MoveIt takes where several could follow.
    """
    manager = "moveit_simple_controller_manager"
    controllers = {
        name: {
            "type": "FollowJointTrajectory",
            "action_ns": "follow_joint_trajectory",
            "default": name in default,
            "joints": list(joints),
        }
        for name, joints in groups.items()
    }
    document = {
        "moveit_controller_manager": f"{manager}/MoveItSimpleControllerManager",
        manager: {"controller_names": list(groups), **controllers},
    }
    return _LICENCE + str(yaml.safe_dump(document, sort_keys=False))
