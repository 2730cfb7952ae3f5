"""An arm that is shown: the parameters of its nodes, and its tour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros.live.session import RATE, WATCHED, Progress
from robot_dynamics.ros.running.observer import (
    SECOND,
    Observer,
    Record,
    complete_stamps,
    duration_message,
    newest,
    wait_for_start,
)
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.view.robot_geometry import RobotGeometry
from robot_dynamics.view.subject import ArmOptions, ArmSubject
from robot_dynamics.view.tour_result import SHARE_MOVED, TourResult

SETTLING = 0.3
"""Seconds that are looked at after the tour's end."""
KP = 400.0
"""Position gain in lockstep, where no delay speaks against it [1/s²]."""
MOVER = "kinematic_mover"
CONTROLLER = "computed_torque_controller"


class ArmExhibit:
    """See :class:`robot_dynamics.ros.live.session.Exhibit`.

    Args:
        subject: the arm.
        options: that it was made with.
        geometry: what is drawn.
        folder: of its description.
    """

    def __init__(
        self, subject: ArmSubject, options: ArmOptions, geometry: RobotGeometry, folder: str
    ) -> None:
        self._subject, self._options, self._geometry, self._folder = subject, options, geometry, folder
        self.name = subject.chain.name

    @property
    def paced(self) -> bool:
        """An arm without masses has no lockstep."""
        return not self._subject.kinematic

    def processes(self, lockstep: bool, watched: bool) -> Sequence[tuple[str, dict[str, Any]]]:
        """Controller and simulator, or what stands in for both."""
        chain: dict[str, Any] = self._subject.chain_parameters()
        start = self._subject.start_parameters()
        if self._subject.kinematic:
            return [("live.kinematic_mover", {**chain, **start})]
        common = {**chain, "lockstep": lockstep, "gravity": list(self._options.gravity)}
        if self._options.payload:
            tips = [tip.link for tip in self._subject.chain.tips]
            names = [f"payload.{tip}.mass" for tip in tips] if len(tips) > 1 else ["payload_mass"]
            common.update(dict.fromkeys(names, self._options.payload))
        if self._subject.max_effort():
            common["max_effort"] = self._subject.max_effort()
        if not lockstep:
            return [(CONTROLLER, common), ("simulator", {**common, **start})]
        controller = {**common, "safe_fade_time": 0.0, "kp": [KP], "kv": [2.0 * KP**0.5]}
        return [
            (CONTROLLER, controller),
            ("simulator", {**common, **start, "rate": WATCHED if watched else RATE}),
        ]

    def page(self) -> dict[str, Any]:
        """Parameters of the page."""
        controller = MOVER if self._subject.kinematic else CONTROLLER
        return {
            "robot_description": self._subject.text,
            "description_folder": self._folder,
            "controller": controller,
            "gravity": list(self._options.gravity),
            "home_joints": list(self._subject.chain.joint_names),
            "home_positions": [float(q) for q in self._subject.start],
            "notes": list(self._subject.notes),
        }

    def tour(self, observer: Observer, progress: Progress) -> TourResult:
        """Every joint through its range and back."""
        subject, tour = self._subject, self._subject.tour
        controller = MOVER if subject.kinematic else CONTROLLER
        names = subject.chain.joint_names
        order = JointOrder(names)
        positions = observer.record(JointState, "joint_states", lambda m: order.read(m).position)
        references = observer.record(JointState, f"{controller}/reference", lambda m: order.read(m).position)
        sender = observer.node.create_publisher(
            JointTrajectory, f"{controller}/joint_trajectory", qos.TRAJECTORY
        )
        observer.wait_until(
            lambda: bool(positions) and bool(references) and sender.get_subscription_count() > 0,
            "waiting for the arm",
        )
        sender.publish(self._message())
        begin = wait_for_start(observer, references, "tour")
        end = begin + round((tour.duration + SETTLING) * SECOND)

        def show() -> None:
            progress("tour", min(1.0, max(0.0, (observer.latest - begin) / (end - begin))))

        observer.wait_until(lambda: min(newest(references), newest(positions)) >= end, "tour", show)
        return self._judge(positions, references, complete_stamps((positions, references), begin, end))

    def _message(self) -> JointTrajectory:
        tour = self._subject.tour
        message = JointTrajectory(joint_names=list(self._subject.chain.joint_names))
        rest = [0.0] * tour.positions.shape[1]
        for time, position in zip(tour.times[1:], tour.positions[1:], strict=True):
            point = JointTrajectoryPoint(positions=position.tolist(), velocities=rest, accelerations=rest)
            point.time_from_start = duration_message(float(time))
            message.points.append(point)
        return message

    def _judge(self, positions: Record, references: Record, stamps: list[int]) -> TourResult:
        chain, tour = self._subject.chain, self._subject.tour
        true = np.array([positions[stamp] for stamp in stamps])
        errors = np.abs(true - np.array([references[stamp] for stamp in stamps])).max(axis=0)
        moved = np.ptp(true, axis=0) >= SHARE_MOVED * np.ptp(tour.positions, axis=0)
        moved &= np.ptp(true, axis=0) > 0.0
        not_drawn = self._geometry.not_drawn
        return TourResult(
            robot=chain.name,
            root=chain.root,
            tip=", ".join(tip.link for tip in chain.tips),
            joints=chain.joint_names,
            worst_tracking_error=dict(zip(chain.joint_names, map(float, errors), strict=True)),
            unmoved=tuple(name for name, done in zip(chain.joint_names, moved, strict=True) if not done),
            links_drawn=tuple(name for name in self._geometry.tree.links if name not in not_drawn),
            links_not_drawn=not_drawn,
        )
