"""Machines that are moved from another host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from machines import ARM, FORCES, LIMITS, poses, trajectory
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

FED = "joint_trajectory_controller/joint_trajectory"
"""Topic on which a feedforward node sends."""


def position(state: JointState) -> np.ndarray:
    """Of the joints."""
    return np.array(state.position)


def place(pose: PoseStamped) -> np.ndarray:
    """Of the platform."""
    at = pose.pose.position
    return np.array([at.x, at.y, at.z])


@dataclass(frozen=True)
class Machine:
    """Robot that is moved over the cable.

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


OF_ARM = Machine(
    node="computed_torque_controller",
    commands="effort_controller/commands",
    limits=LIMITS,
    description={"robot_description": ARM},
    plant={},
    loop={},
    goals=((0.9, -0.6), (0.2, 0.5)),
    send=("joint_trajectory", JointTrajectory, trajectory),
    where=("joint_states", JointState, position),
    arrived=0.02,
    moved=0.05,
)
MACHINES = {
    "arm": OF_ARM,
    "platform": Machine(
        node="stewart_platform",
        commands="leg_effort_controller/commands",
        limits=FORCES,
        description={},
        plant={"machine": "stewart_demo"},
        loop={"safe_output": "gravity_fade"},
        goals=((0.03, 0.0, 0.57), (-0.02, 0.03, 0.54)),
        send=("trajectory", MultiDOFJointTrajectory, poses),
        where=("stewart_platform/pose", PoseStamped, place),
        arrived=0.004,
        moved=0.008,
    ),
    "feeder": replace(
        OF_ARM,
        node="trajectory_feedforward",
        loop={"effort_path": "commands", "command_rate": 100.0},
        follower=("live.kinematic_mover", FED),
        under_way="sent ",
    ),
}
