"""Verdicts about trajectories that are not followed: ``~/check_trajectory`` of the nodes of an arm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_check import PathVerdict, check_path
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.stopping import stop_within
from robot_dynamics.control.arm.trajectory import Reference, path_of
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import SHORTEST_SEGMENT
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.support import diagnostics, qos
from robot_dynamics.ros.support.background import Background
from robot_dynamics.spatial import Array

R = TypeVar("R")


@dataclass(frozen=True)
class Checked:
    """Subject of the verification of trajectories.

    Attributes:
        chain: the arm.
        model: with its actuators, payload and gravity as they are now.
        limits: (n,) effort limits, less the margin [N·m or N].
        rules: of trajectories.
        origin: where the arm's reference is; None where it is not known.
    """

    chain: KinematicChain
    model: EffortModel
    limits: Array
    rules: PathRules
    origin: Reference | None


class AnsweredTopic(ABC, Generic[R]):
    """Answers trajectories on a topic with verdicts, by work in a thread; nothing moves.

    Args:
        node: gets subscription and publisher.
        checked: what a trajectory is answered for; raises RobotDynamicsError where there is no model.
    """

    source: str
    """Topic of the trajectories; its own name stands in the verdicts."""
    done: str
    """Participle of the work, for messages."""

    def __init__(self, node: Node, checked: Callable[[], Checked]) -> None:
        self._node = node
        self._checked = checked
        self._background = Background(node)
        self._verdicts = qos.publisher(node, DiagnosticArray, f"{self.source}/verdict", qos.TRAJECTORY)
        qos.subscription(node, JointTrajectory, self.source, self._on_trajectory, qos.TRAJECTORY, raw=True)

    @abstractmethod
    def work(self, checked: Checked, raw: RawTrajectory) -> R:
        """Return the answer to a trajectory; runs in the thread.

        Raises:
            TrajectoryError: it is no trajectory of the arm.
        """

    @abstractmethod
    def publish(self, result: R, checked: Checked) -> None:
        """Publish the answer."""

    def _on_trajectory(self, data: bytes) -> None:
        try:
            checked = self._checked()
        except Exception as error:
            self._refuse(str(error))
            return
        self._background.submit(
            self.source,
            lambda: self.work(checked, RawTrajectory(JointTrajectory, data)),
            lambda result: self.publish(result, checked),
            self._refuse,
        )

    def _refuse(self, reason: str) -> None:
        self._node.get_logger().error(f"trajectory cannot be {self.done}: {reason}")
        self.send([self.status("verdict", diagnostics.ERROR, f"cannot be {self.done}: {reason}", {})])

    def status(self, of: str, level: bytes, message: str, values: dict[str, str]) -> DiagnosticStatus:
        """One line of a verdict."""
        topic = self.source.removeprefix("~/")
        return DiagnosticStatus(
            level=level,
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: {topic}: {of}",
            hardware_id=self._node.get_name(),
            message=message,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )

    def send(self, statuses: list[DiagnosticStatus]) -> None:
        """Publish a verdict."""
        array = DiagnosticArray(status=statuses)
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._verdicts.publish(array)


class CheckTopic(AnsweredTopic[PathVerdict]):
    """Verifies trajectories.

    A trajectory whose first point is at time 0 begins there, any other where the reference is.
    """

    source = "~/check_trajectory"
    done = "checked"

    def work(self, checked: Checked, raw: RawTrajectory) -> PathVerdict:
        """See :class:`AnsweredTopic`."""
        spline = path_in(checked, raw)
        return check_path(checked.chain, checked.model, spline, checked.limits, checked.rules)

    def publish(self, result: PathVerdict, checked: Checked) -> None:
        """See :class:`AnsweredTopic`."""
        level = diagnostics.ERROR if result.exceeded else diagnostics.OK
        duration = {"duration [s]": f"{result.duration:.3f}"}
        statuses = [self.status("verdict", level, result.sentence, duration)]
        for name in checked.chain.joint_names:
            own = [one for one in result.findings if one.joint == name]
            wrong = [one for one in own if one.exceeded]
            values: dict[str, str] = {}
            for one in own:
                values[f"{one.quantity} [{one.unit}]"] = f"{one.value:.6g}"
                values[f"{one.quantity} limit [{one.unit}]"] = f"{one.limit:.6g}"
                values[f"{one.quantity} share"] = f"{one.share:.4f}"
                values[f"{one.quantity} time [s]"] = f"{one.time:.3f}"
            level = diagnostics.ERROR if wrong else diagnostics.OK
            statuses.append(self.status(name, level, "; ".join(one.message for one in wrong), values))
        self.send(statuses)


def path_in(checked: Checked, raw: RawTrajectory) -> QuinticSpline:
    """The path of a trajectory, from its first point at time 0, or else from where the reference is.

    Raises:
        TrajectoryError: it is no trajectory of the arm.
    """
    if not raw.points:
        raise TrajectoryError("the trajectory has no points")
    chain, table = checked.chain, raw.table()
    origin = checked.origin
    if len(table.times) > 1 and table.times[0] <= SHORTEST_SEGMENT:
        moved, order = checked.rules.of(chain).order(chain.joint_names, raw.joint_names)
        first = np.zeros((3, chain.dof))
        if len(moved) < chain.dof and origin is None:
            raise TrajectoryError("where the joints are that it leaves out is not known")
        if origin is not None:
            first[0] = origin.position
        for row, given in zip(first, (table.positions, table.velocities, table.accelerations), strict=True):
            row[moved] = np.nan_to_num(given[0][order])
        origin = Reference(*first)
    if origin is None:
        raise TrajectoryError("where the arm is is not known: give a first point at time 0")
    stopping = stop_within(checked.model, checked.limits)
    return path_of(chain, raw.joint_names, table, 0.0, origin, 0.0, checked.rules.of(chain), stopping)
