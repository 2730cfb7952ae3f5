"""The demonstration's own node: sends trajectories and records what the others exchange."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.processes import NodeProcess
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import JointOrder, nanoseconds_to_stamp

Array = NDArray[np.float64]
PATIENCE = 60.0
"""Longest wait for anything; far more than a busy machine needs [s]."""


class Observer:
    """A ROS node with a context of its own, beside the node processes of one run.

    Args:
        domain: ROS domain of the run.
        joint_names: of the arm, in chain order.
        processes: the run's node processes; when one ends, waiting ends with its output.
    """

    def __init__(self, domain: int, joint_names: Sequence[str], processes: Sequence[NodeProcess]) -> None:
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain, args=[])
        self.node = rclpy.create_node("demo", context=self._context, use_global_arguments=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._processes = list(processes)
        self._order = JointOrder(joint_names)
        self.positions: dict[int, Array] = {}
        self.efforts: dict[int, Array] = {}
        self.references: dict[int, Array] = {}
        self.latest = 0
        self._trajectories = self.node.create_publisher(
            JointTrajectory, "computed_torque_controller/joint_trajectory", qos.TRAJECTORY
        )
        for topic, keep in (
            ("joint_states", self._keep_state),
            ("joint_command", self._keep_command),
            ("computed_torque_controller/reference", self._keep_reference),
        ):
            self.node.create_subscription(JointState, topic, keep, qos.RECORDING)

    def close(self) -> None:
        """Leave the ROS graph."""
        self._executor.remove_node(self.node)
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep_state(self, message: JointState) -> None:
        sample = self._order.read(message)
        self.latest = sample.nanoseconds
        self.positions[sample.nanoseconds] = np.asarray(sample.position)

    def _keep_command(self, message: JointState) -> None:
        sample = self._order.read(message, required=("effort",))
        self.efforts[sample.nanoseconds] = np.asarray(sample.effort)

    def _keep_reference(self, message: JointState) -> None:
        sample = self._order.read(message)
        self.references[sample.nanoseconds] = np.asarray(sample.position)

    def forget(self, before: int) -> None:
        """Drop what was recorded before a stamp [ns]."""
        for record in (self.positions, self.efforts, self.references):
            for stamp in [stamp for stamp in record if stamp < before]:
                del record[stamp]

    def wait_until(
        self, condition: Callable[[], bool], what: str, progress: Callable[[], None] = lambda: None
    ) -> None:
        """Run callbacks until ``condition()`` holds.

        Raises:
            RobotDynamicsError: a node has ended, or nothing happens; carries the nodes' output.
        """
        deadline = time.monotonic() + PATIENCE
        seen = self.latest
        while not condition():
            self._executor.spin_once(timeout_sec=0.1)
            progress()
            if self.latest != seen:
                seen, deadline = self.latest, time.monotonic() + PATIENCE
            ended = [process for process in self._processes if not process.running]
            if ended or time.monotonic() > deadline:
                reason = f"{ended[0].name} has ended" if ended else f"nothing for {PATIENCE:g} s"
                logs = "\n".join(f"--- {p.name}:\n{p.output}" for p in self._processes)
                raise RobotDynamicsError(f"{what}: {reason}\n{logs}")

    def wait_for_control(self) -> None:
        """Wait until states are answered by commands and trajectories find the controller."""
        self.wait_until(
            lambda: (
                bool(self.positions)
                and bool(self.references)
                and self._trajectories.get_subscription_count() > 0
            ),
            "waiting for simulator and controller",
        )

    def set_parameters(self, node: str, values: Mapping[str, Any]) -> None:
        """Change parameters of another node.

        Raises:
            RobotDynamicsError: the node refuses a value.
        """
        client = self.node.create_client(SetParameters, f"{node}/set_parameters")
        try:
            self.wait_until(client.service_is_ready, f"waiting for the parameters of {node}")
            wanted = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
            future = client.call_async(SetParameters.Request(parameters=wanted))
            self.wait_until(future.done, f"setting parameters of {node}")
            for result in future.result().results:
                if not result.successful:
                    raise RobotDynamicsError(f"{node} refuses {dict(values)}: {result.reason}")
        finally:
            self.node.destroy_client(client)

    def send(self, waypoints: Sequence[tuple[float, Array]], start: int) -> None:
        """Send a trajectory of positions at times [s] after the stamp ``start`` [ns]."""
        message = JointTrajectory(joint_names=list(self._order.joint_names))
        message.header.stamp = nanoseconds_to_stamp(start)
        for seconds, positions in waypoints:
            point = JointTrajectoryPoint(positions=[float(value) for value in positions])
            point.time_from_start.sec = int(seconds)
            point.time_from_start.nanosec = round((seconds % 1.0) * 1e9)
            message.points.append(point)
        self._trajectories.publish(message)

    def complete_stamps(self, first: int, last: int) -> list[int]:
        """Stamps [ns] in the interval for which state, command and reference have all been recorded."""
        return sorted(
            stamp
            for stamp in self.positions
            if first <= stamp <= last and stamp in self.efforts and stamp in self.references
        )
