"""Machines that are moved from another host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from machines import ARM, FORCES, LIMITS, poses, trajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

FED = "joint_trajectory_controller/joint_trajectory"
"""What a feeder sends on."""


def position(state: JointState) -> np.ndarray:
    """Of the joints."""
    return np.array(state.position)


def place(pose: PoseStamped) -> np.ndarray:
    """Of the platform."""
    at = pose.pose.position
    return np.array([at.x, at.y, at.z])


@dataclass(frozen=True)
class Machine:
    """What is moved over the cable.

    Attributes:
        node: its controller.
        commands: their topic.
        limits: of the efforts.
        description: parameters of plant and controller.
        plant: further ones of the plant.
        loop: further ones of the controller.
        goals: where it goes, in turn.
        send: topic, type and maker of what tells it to.
        where: topic, type and reader of where it is.
        follower: module of what moves at the other end, where that is not the simulator, and what it follows.
        under_way: what the controller prints of a trajectory that it takes.
        arrived: it is at a goal when it is nearer [rad or m].
        moved: it has moved when it is farther away [rad or m].
    """

    node: str
    commands: str
    limits: Sequence[float]
    description: dict[str, Any]
    plant: dict[str, Any]
    loop: dict[str, Any]
    goals: Sequence[Sequence[float]]
    send: tuple[str, type, Callable[..., Any]]
    where: tuple[str, type, Callable[[Any], np.ndarray]]
    arrived: float
    moved: float
    follower: tuple[str, str] = ("", "")
    under_way: str = "following a trajectory of"


MACHINES = {
    "arm": Machine(
        "computed_torque_controller",
        "effort_controller/commands",
        LIMITS,
        {"robot_description": ARM},
        {},
        {},
        ((0.9, -0.6), (0.2, 0.5)),
        ("joint_trajectory", JointTrajectory, trajectory),
        ("joint_states", JointState, position),
        0.02,
        0.05,
    ),
    "platform": Machine(
        "stewart_platform",
        "leg_effort_controller/commands",
        FORCES,
        {},
        {"machine": "stewart_demo"},
        {"safe_output": "gravity_fade"},
        ((0.03, 0.0, 0.57), (-0.02, 0.03, 0.54)),
        ("trajectory", MultiDOFJointTrajectory, poses),
        ("stewart_platform/pose", PoseStamped, place),
        0.004,
        0.008,
    ),
    "feeder": Machine(
        "trajectory_feedforward",
        "effort_controller/commands",
        LIMITS,
        {"robot_description": ARM},
        {},
        {"effort_path": "commands", "command_rate": 100.0},
        ((0.9, -0.6), (0.2, 0.5)),
        ("joint_trajectory", JointTrajectory, trajectory),
        ("joint_states", JointState, position),
        0.02,
        0.05,
        ("live.kinematic_mover", FED),
        "sent ",
    ),
}
