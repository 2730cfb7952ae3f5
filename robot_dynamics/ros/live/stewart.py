"""A Stewart platform that is shown: the parameters of its nodes, and its tour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Transform, Twist
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics.ros.live.session import RATE, WATCHED, Progress
from robot_dynamics.ros.running.observer import (
    SECOND,
    Observer,
    complete_stamps,
    duration_message,
    newest,
    wait_for_start,
)
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector
from robot_dynamics.view.tour_result import TourResult

LARGEST_SHIFT, LARGEST_TURN = 0.1, 0.2
"""Of a coordinate of the pose on the tour [m, rad]."""
SHARE = 0.6
"""Of what the machine's limits allow in each direction."""
MOVE_TIME = 1.5
"""From one waypoint to the next [s]."""
SETTLING = 0.3
MOVED = 1e-3
"""Least motion of a leg that counts [m]."""


class StewartExhibit:
    """See :class:`robot_dynamics.ros.live.session.Exhibit`.

    Args:
        platform: the machine.
        file: its YAML file.
    """

    paced = True

    def __init__(self, platform: StewartPlatform, file: str) -> None:
        self._platform, self._file = platform, file
        self.name = platform.machine.name

    def processes(self, lockstep: bool, watched: bool) -> Sequence[tuple[str, dict[str, Any]]]:
        """Controller and simulator."""
        common: dict[str, Any] = {"machine": self._file, "lockstep": lockstep}
        simulator = {"rate": WATCHED if watched else RATE} if lockstep else {}
        return [
            ("stewart_platform", {**common, "safe_output": "zero"}),
            ("simulator", {**common, **simulator}),
        ]

    def page(self) -> dict[str, Any]:
        """Parameters of the page."""
        return {"machine": self._file}

    def waypoints(self) -> list[tuple[Array, Array]]:
        """Positions (3,) and quaternions (4,): each coordinate of the pose there and back."""
        machine = self._platform.machine
        poses = []
        for number in range(6):
            direction = np.eye(6)[number] * (LARGEST_SHIFT if number < 3 else LARGEST_TURN)
            share = SHARE * self._allowed(direction)
            poses += [self._pose(share * direction), self._pose(-share * direction)]
        home = (machine.home_position, quaternion_from_rotation(machine.home_rotation))
        return [*poses, home]

    def _pose(self, offset: Array) -> tuple[Array, Array]:
        machine = self._platform.machine
        rotation = rotation_from_vector(offset[3:]) @ machine.home_rotation
        return machine.home_position + offset[:3], quaternion_from_rotation(rotation)

    def _allowed(self, direction: Array) -> float:
        """Greatest share of ``direction``, there and back, within the limits, by halving."""
        share = 1.0
        while share > 1e-3:
            ways = [self._pose(sign * part * share * direction) for sign in (1, -1) for part in (0.5, 1.0)]
            if not any(self._platform.check_pose(*pose, on_violation="report") for pose in ways):
                return share
            share *= 0.7
        return 0.0

    def tour(self, observer: Observer, progress: Progress) -> TourResult:
        """The platform along and about each axis."""
        machine = self._platform.machine
        order = JointOrder(machine.leg_names)
        lengths = observer.record(JointState, "joint_states", lambda m: order.read(m).position)
        references = observer.record(PoseStamped, "stewart_platform/reference", _pose_values)
        sender = observer.node.create_publisher(
            MultiDOFJointTrajectory, "stewart_platform/trajectory", qos.TRAJECTORY
        )
        observer.wait_until(
            lambda: bool(lengths) and bool(references) and sender.get_subscription_count() > 0,
            "waiting for the platform",
        )
        waypoints = self.waypoints()
        sender.publish(_message(waypoints))
        begin = wait_for_start(observer, references, "tour")
        end = begin + round((MOVE_TIME * len(waypoints) + SETTLING) * SECOND)

        def show() -> None:
            progress("tour", min(1.0, max(0.0, (observer.latest - begin) / (end - begin))))

        observer.wait_until(lambda: min(newest(references), newest(lengths)) >= end, "tour", show)
        stamps = complete_stamps((lengths, references), begin, end)
        true = np.array([lengths[stamp] for stamp in stamps])
        wanted = np.array([references[stamp] for stamp in stamps])
        errors = np.abs(true - self._platform.legs(wanted[:, :3], wanted[:, 3:]).lengths).max(axis=0)
        moved = np.ptp(true, axis=0) > MOVED
        links = ("base", "platform", *machine.leg_names)
        return TourResult(
            robot=machine.name,
            root="base",
            tip="platform",
            joints=tuple(machine.leg_names),
            worst_tracking_error=dict(zip(machine.leg_names, map(float, errors), strict=True)),
            unmoved=tuple(name for name, done in zip(machine.leg_names, moved, strict=True) if not done),
            links_drawn=links,
            links_not_drawn={},
        )


def _message(waypoints: list[tuple[Array, Array]]) -> MultiDOFJointTrajectory:
    message = MultiDOFJointTrajectory(joint_names=["platform"])
    for number, (position, quaternion) in enumerate(waypoints, 1):
        transform = Transform()
        place, turn = transform.translation, transform.rotation
        place.x, place.y, place.z = position.tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion.tolist()
        point = MultiDOFJointTrajectoryPoint(
            transforms=[transform], velocities=[Twist()], accelerations=[Twist()]
        )
        point.time_from_start = duration_message(MOVE_TIME * number)
        message.points.append(point)
    return message


def _pose_values(message: PoseStamped) -> list[float]:
    place, turn = message.pose.position, message.pose.orientation
    return [place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]
