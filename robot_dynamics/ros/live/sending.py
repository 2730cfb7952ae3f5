"""A motion sent to a robot as a JointTrajectory, watched to its end, and ended by a hold on Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.errors import RobotDynamicsError, StateError
from robot_dynamics.identification.excitation.points import Points
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.ros.support.trajectories import points_message
from robot_dynamics.spatial import Array

PATIENCE = 10.0
"""Longest wait for joint states and for who follows trajectories [s]."""
SETTLING = 1.0
"""Seconds after the end of the motion that are waited for."""
ARRIVED = 0.05
"""Farthest from its end where the arm counts as arrived [rad or m]."""

Progress = Callable[[str, float], None]


class Sender:
    """A node that knows where an arm is and sends it motions; a context manager.

    Args:
        joint_names: of the arm.
        topic: of the trajectories.
        states: topic of the joint states.
    """

    def __init__(self, joint_names: Sequence[str], topic: str, states: str = "joint_states") -> None:
        self._context = rclpy.Context()
        # Ctrl-C is ours: the arm is to hold then.
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("excite", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._order, self._names = JointOrder(list(joint_names)), list(joint_names)
        self._position: Array | None = None
        self._trajectories = self._node.create_publisher(JointTrajectory, topic, qos.TRAJECTORY)
        self._node.create_subscription(JointState, states, self._on_state, qos.STATE_PUBLISHER)

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def where(self) -> Array:
        """(n,) the newest positions [rad or m].

        Raises:
            RobotDynamicsError: no joint states of the arm come.
        """
        self._position = None
        self._wait(lambda: self._position is not None, f"no joint states of {', '.join(self._names)} come")
        assert self._position is not None
        return self._position

    def follow(self, points: Points, progress: Progress) -> None:
        """Send a motion that begins where the arm is, and see it through; Ctrl-C makes the arm hold.

        Raises:
            RobotDynamicsError: nobody listens, or the arm does not end where the motion does.
        """
        topic = self._trajectories.topic_name
        self._wait(
            lambda: self._trajectories.get_subscription_count() > 0, f"nobody follows trajectories on {topic}"
        )
        length = float(points.time[-1])
        self._trajectories.publish(points_message(points))
        try:
            began = time.monotonic()
            while (passed := time.monotonic() - began) < length + SETTLING:
                self._executor.spin_once(timeout_sec=0.1)
                progress("the arm moves; Ctrl-C makes it hold", min(1.0, passed / length))
        except KeyboardInterrupt:
            self._trajectories.publish(JointTrajectory(joint_names=self._names))
            self._trajectories.wait_for_all_acked()
            raise
        missed = np.abs(self.where() - points.positions[-1])
        if missed.max() > ARRIVED:
            worst = int(np.argmax(missed))
            raise RobotDynamicsError(
                f"{self._names[worst]} is {missed[worst]:.3f} from the motion's end; the controller's log"
                " says why"
            )

    def _on_state(self, message: JointState) -> None:
        if not set(self._names) <= set(message.name):
            return
        try:
            self._position = self._order.read(message).position.copy()
        except StateError:
            return

    def _wait(self, condition: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise RobotDynamicsError(f"{otherwise} within {PATIENCE:g} s")
            self._executor.spin_once(timeout_sec=0.1)
