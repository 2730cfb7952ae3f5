"""A recorded motion as a stream of pose commands, in the time of the joint states."""

from __future__ import annotations

import time
from collections.abc import Callable

from geometry_msgs.msg import PoseStamped, TwistStamped
from rcl_interfaces.msg import Log
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.support import qos, spin
from robot_dynamics.ros.support.hot_loop import spin_on
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds
from robot_dynamics.stewart.orientation import quaternion_from_rotation

PERIOD = 0.001
"""Least time between two poses, on the clock of the states [s]."""
PATIENCE = Duration(nanoseconds=100_000_000)
"""For the acknowledgement of a message by the platform's node."""
REMINDER = 2.0
"""Steady seconds between two words about what is waited for, and between two requests to hold."""
SECOND = 1_000_000_000
REFUSED = "pose command refused"
"""Begin of the line with which a platform's node says that it does not follow a pose."""
STARTING = ("the controller is not active", "waiting for the first joint state")
"""Parts of this line while the node starts."""
START_PATIENCE = 5.0
"""Longest time from the first pose for which the node may be starting [s]."""
LATE = "its stamp is"
"""Part of this line about a pose that came late from a busy computer: the next one may be in time."""


class MotionPlayer(Node):
    """Streams a motion to a platform's node: its first pose for a while, the motion, and a hold at its end.

    Every joint state is answered by the pose and the twist of its moment: the clock is the states', be it a
    simulator's. Nothing is played before the platform's node has acknowledged a message.

    Args:
        motion: what is played.
        lead: how long the first pose is sent before [s].
        platform: name of the platform's node.
        patience: longest silence of the node or of the joint states, on a steady clock [s].

    Attributes:
        states: the clock.
        done: called when the platform has been asked to hold, or at a failure.
        failure: reason why the motion is not played; empty while it is.
    """

    def __init__(self, motion: RecordedMotion, lead: float, platform: str, patience: float) -> None:
        super().__init__("motion_player")
        self._motion, self._lead, self._platform = motion, lead, platform.rsplit("/", 1)[-1]
        self._begin: int | None = None
        self._last = 0
        self._playing = self._ended = self._greeted = False
        self.done: Callable[[], None] = lambda: None
        self.failure = ""
        self._patience, self._heard_at = patience, time.monotonic()
        self._ready_by = 0.0
        self._poses = self.create_publisher(PoseStamped, f"{platform}/pose_command", qos.STREAM)
        self._twists = self.create_publisher(TwistStamped, f"{platform}/twist_command", qos.STREAM)
        self._hold = self.create_client(Trigger, f"{platform}/hold")
        self._resume = self.create_client(Trigger, f"{platform}/resume_stream")
        self.states = self.create_subscription(
            JointState, "joint_states", self._on_state, qos.STATE_SUBSCRIPTION
        )
        self.create_subscription(Log, "/rosout", self._on_log, qos.STREAM)
        self.create_timer(
            min(REMINDER, 0.5 * patience), self._remind, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def _on_log(self, message: Log) -> None:
        """Notice that the platform's node refuses a pose, and why."""
        sender = message.name.rsplit(".", 1)[-1]
        refused = message.msg.startswith(REFUSED) and LATE not in message.msg
        if sender != self._platform or not refused or self._begin is None:
            return
        starting = any(part in message.msg for part in STARTING) and time.monotonic() < self._ready_by
        if starting and not self._playing:
            self._begin = None
        else:
            self._fail(message.msg)

    def _fail(self, reason: str) -> None:
        self._ended, self.failure = True, self.failure or reason
        self.done()

    def _on_state(self, message: JointState) -> None:
        stamp = stamp_to_nanoseconds(message.header.stamp) or self.get_clock().now().nanoseconds
        if self._ended or (self._begin is None and not self._heard(message)):
            return
        if self._begin is None or stamp < self._last:
            self._begin = stamp
            self._ready_by = self._ready_by or time.monotonic() + START_PATIENCE
            self._resume.call_async(Trigger.Request())
            self.get_logger().info(f"to the first pose, for {self._lead:g} s", throttle_duration_sec=REMINDER)
        elif stamp - self._last < PERIOD * SECOND:
            return
        self._last, self._heard_at = stamp, time.monotonic()
        since = 1e-9 * (stamp - self._begin) - self._lead
        if since > 0.0 and not self._playing:
            self._playing = True
            self.get_logger().info(f"playing {self._motion.duration:.3f} s")
        self._send(message, min(max(since, 0.0), self._motion.duration), 0.0 < since < self._motion.duration)
        if since > self._motion.duration + self._lead:
            self._ended = True
            self.get_logger().info("played; holding")
            self._ask_to_hold()

    def _heard(self, state: JointState) -> bool:
        """Return whether the platform's node hears this one, by a twist: it moves nothing without a pose."""
        for publisher in (self._poses, self._twists):
            ends = self.get_subscriptions_info_by_topic(publisher.topic_name)
            if not any(end.node_name == self._platform for end in ends):
                self._greeted = False
                return False
        # One message: its acknowledgement may take seconds, and would begin anew with the next one.
        if not self._greeted:
            self._greeted = True
            self._twists.publish(TwistStamped(header=state.header))
        return (
            bool(self._twists.wait_for_all_acked(PATIENCE))
            and self._hold.service_is_ready()
            and self._resume.service_is_ready()
        )

    def _send(self, state: JointState, time: float, moving: bool) -> None:
        motion = self._motion.at([float(self._motion.times[0]) + time])
        twist, pose = TwistStamped(header=state.header), PoseStamped(header=state.header)
        twist.header.frame_id = pose.header.frame_id = ""
        if moving:
            linear, angular = twist.twist.linear, twist.twist.angular
            linear.x, linear.y, linear.z = motion.linear_velocity[0].tolist()
            angular.x, angular.y, angular.z = motion.angular_velocity[0].tolist()
        place, turn = pose.pose.position, pose.pose.orientation
        place.x, place.y, place.z = motion.position[0].tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion_from_rotation(motion.rotation[0]).tolist()
        self._twists.publish(twist)
        self._poses.publish(pose)

    def _ask_to_hold(self) -> None:
        self._hold.call_async(Trigger.Request()).add_done_callback(lambda _: self.done())

    def _remind(self) -> None:
        silent = time.monotonic() - self._heard_at
        names = ", ".join((self._hold.srv_name, self._poses.topic_name, "joint_states"))
        if silent > self._patience:
            what = (
                f"{self._platform} does not answer the request to hold"
                if self._ended
                else (
                    "joint states have ended"
                    if self._begin is not None
                    else f"no node {self._platform} answers"
                )
            )
            self._fail(f"{what} within {self._patience:g} s; looked for {names}")
        elif self._ended:
            self.get_logger().warning(f"{self._platform} has not answered the request to hold: asked again")
            self._ask_to_hold()
        elif self._begin is None:
            self.get_logger().warning(f"waiting for the node {self._platform}: {names}")


def play(motion: RecordedMotion, lead: float, platform: str, patience: float) -> int:
    """Play a motion to its end, or until SIGINT or SIGTERM; returns the exit code of the process.

    It is 1 where the platform's node refuses the motion, or does not answer.
    """

    def until_done(node: MotionPlayer, stop: spin.StopEvent) -> None:
        node.done = stop.set
        spin_on(node, stop, node.states)
        if node.failure:
            raise RobotDynamicsError(node.failure)

    return spin.run(lambda: MotionPlayer(motion, lead, platform, patience), [], loop=until_done)
