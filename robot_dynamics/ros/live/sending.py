"""A motion sent to a robot, watched to its end, and ended by a hold on Ctrl-C.

It goes as a goal of ``FollowJointTrajectory`` where the controller serves that, else on its topic.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control.spline import minimum_jerk_spline
from robot_dynamics.control.supervision import OBSERVE
from robot_dynamics.errors import RobotDynamicsError, StateError
from robot_dynamics.identification.excitation.points import Points
from robot_dynamics.ros.live.goal_client import GoalClient
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.isolation import use_sockets
from robot_dynamics.ros.support.messages import JointOrder, stamp_to_nanoseconds
from robot_dynamics.ros.support.trajectories import points_message
from robot_dynamics.spatial import Array

PATIENCE = 10.0
"""Longest wait for joint states and for who follows trajectories [s]."""
SETTLING = 1.0
"""Seconds after the end of the motion that are waited for."""
ARRIVED = 0.05
"""Farthest from its end where the arm counts as arrived [rad or m]."""

BRAKING = 0.5
"""Seconds in which a motion on the topic is brought to rest."""
STANDING = 1.0
"""Time for which an arm may stand still while the motion goes on [s]."""
PLANNED = 5.0
"""Time that a controller may take to plan the motion: so long the arm may stand before it has moved [s]."""
_MOVES, _STILL = 0.1, 0.005
"""Distance that a motion goes while an arm stands still, and that a still arm may go [rad or m]."""
_SAMPLES = 1000
"""Samples of a motion that tell when it leaves its first point."""
_DELAYS = 9
"""Delays at which a motion is compared with an arm that stands still."""
_COMPARED = QoSProfile(depth=200)
"""Deep enough that states and references of the same moments are there when this process was held up."""
_AWAITED = 1000
"""States and references whose counterpart may still come."""
_SUPERVISION = "supervision"
"""Parameter of controllers that makes rules only warn."""
_DISCOVERY = 1.0
"""Time after its topic at which a controller's action may be seen [s]."""

Progress = Callable[[str, float], None]


class Sender:
    """A node that knows where an arm is and sends it motions; a context manager.

    Args:
        joint_names: of the arm.
        topic: of the trajectories.
        states: topic of the joint states.
        reference: topic of the controller's reference; None: errors are not looked at.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        topic: str,
        states: str = "joint_states",
        reference: str | None = None,
    ) -> None:
        use_sockets()
        self._context = rclpy.Context()
        # Ctrl-C is ours: the arm is to hold then.
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("excite", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._order, self._names = JointOrder(list(joint_names)), list(joint_names)
        self._position: Array | None = None
        self._velocity = np.zeros(len(self._names))
        self._stamp, self._count = 0.0, 0
        self._ctrl_c = _CtrlC()
        self._goals = GoalClient(self._node, topic)
        self._trajectories = self._node.create_publisher(JointTrajectory, topic, qos.TRAJECTORY)
        profile = qos.STATE_PUBLISHER if reference is None else _COMPARED
        self._node.create_subscription(JointState, states, self._on_state, profile)
        self._awaited: dict[int, Array] = {}
        self._largest: Array = np.zeros(0)
        if reference is not None:
            self._node.create_subscription(JointState, reference, self._on_reference, _COMPARED)

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._goals.close()
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

    def follow(self, points: Points, progress: Progress, arrived: float = ARRIVED) -> None:
        """Send a motion that begins where the arm is, and see it through; Ctrl-C makes the arm hold.

        Args:
            points: of the motion.
            progress: called with reports of it.
            arrived: farthest from its end where the arm counts as arrived [rad or m].

        Raises:
            RobotDynamicsError: nobody listens, the controller gives up, or the arm does not end where the
                motion does.
        """
        topic = self._trajectories.topic_name
        self._wait(
            lambda: self._goals.ready or self._trajectories.get_subscription_count() > 0,
            f"nobody follows trajectories on {topic}",
        )
        if self._goals.possible:
            self._until(lambda: self._goals.ready, _DISCOVERY)
        self.where()  # the newest state may be old: nobody has listened while others were started
        follow = self._follow_as_goal if self._goals.ready else self._follow_on_topic
        length = float(points.time[-1])
        began = self._now()

        def tell() -> None:
            progress("the arm moves; Ctrl-C makes it hold", min(1.0, (self._now() - began) / length))

        with self._ctrl_c:
            follow(points, tell)
        missed = np.abs(self.where() - points.positions[-1])
        if missed.max() > arrived:
            worst = int(np.argmax(missed))
            raise RobotDynamicsError(
                f"{self._names[worst]} is {missed[worst]:.3f} from the motion's end; the controller's log"
                " says why"
            )

    @contextlib.contextmanager
    def observing(self) -> Iterator[None]:
        """Let the controller's rules about trajectories and errors only warn; afterwards they are as before.

        Raises:
            RobotDynamicsError: the node that follows the topic has no such parameter, or does not answer.
        """
        client = AsyncParameterClient(self._node, self._controller)
        self._wait(client.services_are_ready, f"no parameters of {self._controller} are found")
        [before] = self._answer(client.get_parameters([_SUPERVISION])).values
        self._supervise(client, OBSERVE)
        try:
            yield
        finally:
            self._supervise(client, before.string_value)

    def _supervise(self, client: AsyncParameterClient, how: str) -> None:
        [result] = self._answer(client.set_parameters([Parameter(_SUPERVISION, value=how)])).results
        if not result.successful:
            raise RobotDynamicsError(f"{self._controller} refuses supervision: {how}: {result.reason}")

    def _answer(self, future: Any) -> Any:
        self._wait(future.done, f"{self._controller} does not answer")
        return future.result()

    @property
    def _controller(self) -> str:
        return self._trajectories.topic_name.rpartition("/")[0]

    def _follow_as_goal(self, points: Points, tell: Callable[[], None]) -> None:
        try:
            ended = self._goals.send(points_message(points), lambda done: self._until(done, PATIENCE))
            while not ended.done():
                if not self._goals.ready:
                    raise RobotDynamicsError(f"{self._goals.name} is gone; where the arm is, is not known")
                self._spin()
                tell()
        except KeyboardInterrupt:
            if not self._goals.cancel(lambda done: self._until(done, SETTLING)):
                self._hold_on_topic()
            raise
        self._goals.check(ended)

    def _follow_on_topic(self, points: Points, tell: Callable[[], None]) -> None:
        try:
            self._until(lambda: self._position is not None, PATIENCE)
            began = self._now()
            stands = StandsStill(points)
            self._trajectories.publish(points_message(points))
            while not stands.over(self._now() - began):
                self._wait(self._fresh(), "joint states have ended; where the arm is, is not known")
                assert self._position is not None
                if stands.at(self._now() - began, self._position):
                    self._hold_on_topic()
                    raise RobotDynamicsError(
                        f"the arm stands still, {self._now() - began:.1f} s after the motion began; the"
                        " controller's log says why"
                    )
                tell()
        except KeyboardInterrupt:
            self._hold_on_topic()
            raise

    def _hold_on_topic(self) -> None:
        """Make the arm rest where it can soon be.

        An empty trajectory makes this package's controller hold. `joint_trajectory_controller` refuses it as
        no trajectory at all, so a short way to rest follows.
        """
        self._trajectories.publish(JointTrajectory(joint_names=self._names))
        self._trajectories.wait_for_all_acked()
        rest = JointTrajectoryPoint(velocities=[0.0] * len(self._names))
        rest.positions = [float(x) for x in self.where() + 0.5 * BRAKING * self._velocity]
        rest.time_from_start.nanosec = round(1e9 * BRAKING)
        self._trajectories.publish(JointTrajectory(joint_names=self._names, points=[rest]))
        self._trajectories.wait_for_all_acked()

    def _now(self) -> float:
        """Time of the newest joint state [s]: a simulator's may be slower or faster than the wall clock's."""
        return self._stamp or time.monotonic()

    def _fresh(self) -> Callable[[], bool]:
        """Condition that a further joint state has come."""
        count = self._count
        return lambda: self._count > count

    def _on_state(self, message: JointState) -> None:
        if not set(self._names) <= set(message.name):
            return
        try:
            state = self._order.read(message)
        except StateError:
            return
        self._position = state.position.copy()
        self._count += 1
        self._stamp = 1e-9 * stamp_to_nanoseconds(message.header.stamp)
        if state.velocity is not None:
            self._velocity = state.velocity.copy()
        self._compare(message, self._position)

    @property
    def largest_errors(self) -> Array:
        """(n,) largest distance between reference and arm so far [rad or m]; empty without a reference."""
        return np.array(self._largest)

    def _on_reference(self, message: JointState) -> None:
        try:
            self._compare(message, self._order.read(message).position.copy())
        except StateError:
            return

    def _compare(self, message: JointState, place: Array) -> None:
        """Compare state and reference of one moment, whichever comes first."""
        stamp = stamp_to_nanoseconds(message.header.stamp)
        other = self._awaited.pop(stamp, None)
        if other is None:
            self._awaited[stamp] = place
            if len(self._awaited) > _AWAITED:
                del self._awaited[next(iter(self._awaited))]
            return
        error = np.abs(place - other)
        self._largest = np.maximum(self._largest, error) if self._largest.size else error

    def _spin(self) -> None:
        self._executor.spin_once(timeout_sec=0.1)
        self._ctrl_c.check()

    def _wait(self, condition: Callable[[], bool], otherwise: str) -> None:
        if not self._until(condition, PATIENCE):
            raise RobotDynamicsError(f"{otherwise} within {PATIENCE:g} s")

    def _until(self, condition: Callable[[], bool], patience: float) -> bool:
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                return False
            self._spin()
        return True


class StandsStill:
    """Comparison of an arm that stands still, as in a protective stop, with its motion.

    The motion is the path that controllers follow through the points: slow where it begins and ends at rest.
    The arm has to stand still by the wall clock too: a faster simulation goes far on before a trajectory is
    planned and begins. How late it begins is known only roughly, as dry friction may hold the arm.
    So the motion has to go on for every delay up to the one after which the arm was seen to move.
    """

    def __init__(self, points: Points) -> None:
        self._path = minimum_jerk_spline(
            points.time, points.positions, points.velocities, points.accelerations
        )
        self._since, self._place = 0.0, np.full(len(points.joint_names), np.inf)
        self._since_on_wall, self._stood = time.monotonic(), 0.0
        self._length = float(points.time[-1])
        times = np.linspace(points.time[0], points.time[-1], _SAMPLES)
        away = np.abs(self._path.at(times)[0] - points.positions[0]).max(axis=1) > _STILL
        self._leaves = float(times[np.argmax(away)]) if away.any() else np.inf
        self._begun, self._late = not away.any(), 0.0

    def at(self, moment: float, position: Array) -> bool:
        """Return whether it has stood for too long at a time of the motion [s]."""
        wall = time.monotonic()
        if np.abs(position - self._place).max() > _STILL:
            if np.isfinite(self._place).all() and not self._begun:
                self._begun, self._late = True, max(0.0, moment - self._leaves)
            self._since, self._place, self._since_on_wall = moment, position.copy(), wall
        self._stood = min(moment - self._since, wall - self._since_on_wall)
        if not self._stands:
            return False
        delays = np.linspace(0.0, self._late, _DELAYS)
        times = np.linspace(self._since, moment, 20) - delays[:, np.newaxis]
        places = self._path.at(times.ravel())[0].reshape(*times.shape, -1)
        return bool(np.ptp(places, axis=1).max(axis=1).min() > _MOVES)

    def over(self, moment: float) -> bool:
        """Return whether the planned time is over and the arm rests: controllers may slow a motion down."""
        return moment > self._length + SETTLING and self._stands

    @property
    def _stands(self) -> bool:
        return self._stood >= (STANDING if self._begun else PLANNED)


class _CtrlC:
    """Ctrl-C as an exception of this module's own making, once, and only between two spins.

    Python raises its own wherever it is; in a destructor of rclpy it is lost, and with it the wish to stop.
    """

    def __init__(self) -> None:
        self._came = self._told = False

    def __enter__(self) -> _CtrlC:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Raise KeyboardInterrupt if it came and that was not reported yet."""
        if self._came and not self._told:
            self._told = True
            raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        self._came = True
