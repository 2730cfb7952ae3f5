"""Trajectories with another timing: ``~/retime`` of the nodes of an arm. Nothing moves."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.path_check import PathVerdict
from robot_dynamics.control.arm.path_rules import SLOWER
from robot_dynamics.control.retiming.executable import executable
from robot_dynamics.control.retiming.following import INTERVALS
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.ros.control.check_topic import AnsweredTopic, Checked, path_in
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.support import diagnostics, qos
from robot_dynamics.ros.support.trajectories import table_message

Result = tuple[float, WaypointTable, PathVerdict]
"""Duration before, points of the result, and the verdict about it."""


class RetimeTopic(AnsweredTopic[Result]):
    """Retimes trajectories and publishes them with a verdict.

    They become slower where they exceed a limit with the parameter ``retime: slower``, and otherwise as fast
    as the limits permit.
    """

    source = "~/retime"
    done = "retimed"

    def __init__(self, node: Node, checked: Callable[[], Checked]) -> None:
        super().__init__(node, checked)
        self._out = qos.publisher(node, JointTrajectory, f"{self.source}/trajectory", qos.TRAJECTORY)

    def work(self, checked: Checked, raw: RawTrajectory) -> Result:
        """See :class:`AnsweredTopic`."""
        spline, rules = path_in(checked, raw), checked.rules
        if not isinstance(checked.model, ActuatedArm):
            raise TrajectoryError("the model has no links and actuators to compute efforts from")
        slower = rules.torque.retime == SLOWER
        table, _, verdict = executable(
            checked.chain, checked.model, spline, checked.limits, rules, slower, INTERVALS
        )
        return float(spline.times[-1] - spline.times[0]), table, verdict

    def publish(self, result: Result, checked: Checked) -> None:
        """See :class:`AnsweredTopic`."""
        before, table, verdict = result
        self._out.publish(table_message(table, checked.chain.joint_names))
        level = diagnostics.ERROR if verdict.exceeded else diagnostics.OK
        values = {"duration before [s]": f"{before:.3f}", "duration [s]": f"{verdict.duration:.3f}"}
        self.send([self.status("verdict", level, verdict.sentence, values)])
