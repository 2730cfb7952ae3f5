"""Plans trajectories with the model's efforts and sends them to the controller that follows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import EffortPath, FeedforwardParameters
from robot_dynamics.control.arm.feeding import PathStart, Plan
from robot_dynamics.control.arm.path_rules import IdentifiedRangeParameters, TorqueCheckParameters
from robot_dynamics.control.protocol import Planned
from robot_dynamics.errors import StateError, TrajectoryError
from robot_dynamics.ros.actions.goal_trajectory import GoalTrajectory
from robot_dynamics.ros.control import controller_state
from robot_dynamics.ros.control.native.raw_trajectory import RawTrajectory
from robot_dynamics.ros.control.planner import Head, Planner, PlanRequest
from robot_dynamics.ros.control.session import StateClock
from robot_dynamics.ros.feedforward.downstream import DownstreamParameters
from robot_dynamics.ros.feedforward.messages import FilledTrajectory, hold_message
from robot_dynamics.ros.feedforward.state_watch import StateWatch
from robot_dynamics.ros.support import parameters, qos
from robot_dynamics.ros.support.joint_limits import declared_rules, without_joint
from robot_dynamics.ros.support.messages import JointOrder, motions
from robot_dynamics.ros.support.rate_limited_log import RateLimitedLog, Remarks
from robot_dynamics.spatial import Array

THROTTLE = 2.0
"""Seconds between two log lines about the same fault."""
DELIVERY = (0.02, 0.5)
"""Time that a trajectory gets at least, and at most, for its way to the controller [s]."""
DISCOVERY = 3.0
"""Time after the start of the node in which a controller may still be found [s]."""
LOOK, STOOD = 0.1, 0.5
"""Time between two looks at what is followed, and time at rest far from the reference that ends it [s]."""
MARGIN, FORGETTING = 1.5, 0.9
"""A goal gets this much more time than the slowest before it took, which is forgotten by and by."""


class Follower:
    """Stands for the controller that follows the plans, as :class:`Planner` asks it.

    Args:
        feeder: of the node.
        feedforward: in force.
    """

    def __init__(self, feeder: Feeder, feedforward: Feedforward) -> None:
        self._feeder = feeder
        self._feedforward = feedforward

    @property
    def time(self) -> float:
        """The present [s]."""
        return self._feeder.now()

    @property
    def epoch(self) -> int:
        """Counts what makes an unfinished plan void."""
        return self._feedforward.epoch

    def hold(self) -> None:
        """Nothing: whoever sent a trajectory without points gets a line."""

    def plan_start(self, start: float | None, allowance: float) -> PathStart:
        """Start of a plan that is ready within ``allowance`` [s].

        Raises:
            TrajectoryError: no trajectory is taken now.
        """
        if reason := self._feeder.refusal() or self._feeder.strayed():
            raise TrajectoryError(reason)
        return self._feedforward.plan_start(start, self.time, allowance, self._feeder.delivery)

    def accept(self, planned: Planned[Any]) -> str:
        """Reason why a finished plan is not sent; empty when it is."""
        assert isinstance(planned, Plan)
        return self._feeder.refusal() or self._feedforward.accept(planned, self.time)


class Feeder:
    """Relay between those who send trajectories and the controller that follows them.

    Attributes:
        active: whether trajectories are taken.
        feedforward: plans; None while the node is not configured.
        settings: those in force.
        last_plan: that was sent; None before the first.
        sent: trajectories.
        refused: messages.
        rules: of trajectories.
        delivery: what a trajectory gets for its way to the controller, to arrive before it departs [s].
        clock: ROS time on the node's clock.
        controller: what stands for the controller where trajectories are planned.
        stop: ends all trajectories for a reason, and holds the arm; returns why that is impossible.

    Args:
        node: gets subscription and publisher.
        settings: to begin with.
        downstream: name of the controller.
    """

    def __init__(self, node: Node, settings: FeedforwardParameters, downstream: str) -> None:
        self.active = False
        self.feedforward: Feedforward | None = None
        self.settings = settings
        self.last_plan: Plan | None = None
        self.sent = 0
        self.refused = 0
        self.delivery = DELIVERY[0]
        self.rules = declared_rules(node)
        parameters.watch(node, self.rules.torque, self._on_torque_check)
        parameters.watch(node, self.rules.identified, self._on_identified)
        self._node = node
        self._log = node.get_logger()
        self._remarks = Remarks(self._log)
        self._complain = RateLimitedLog(self._log)
        # The efforts are in the points, unless they go a way of their own.
        self._efforts = settings.effort_path == EffortPath.TRAJECTORY.value
        self._order = JointOrder(())
        self._watch = StateWatch(node, "joint_states")
        self._epoch = self._nanoseconds()
        self.clock = StateClock()
        self.clock.seconds(self._epoch)
        self.controller: Follower | None = None
        self.stop: Callable[[str], str] = lambda reason: self.hold()
        self._began = monotonic()
        self._by_topic = False
        self._reported: tuple[Array, float] | None = None
        self._planner: Planner[Follower] = Planner(node, self, lockstep=False)
        self._out = qos.publisher(node, JointTrajectory, f"{downstream}/joint_trajectory", qos.TRAJECTORY)
        self._controller = DownstreamParameters(node, str(self._out.topic_name))
        self._stands_later = False
        self._stop_sent: Plan | None = None
        qos.subscription(node, JointState, "joint_states", self._on_state, qos.STATE_SUBSCRIPTION)
        if controller_state.AVAILABLE:
            kind, topic = controller_state.JointTrajectoryControllerState, f"{downstream}/controller_state"
            qos.subscription(node, kind, topic, self._on_controller, qos.STATE_SUBSCRIPTION)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(LOOK, self._look, clock=self._steady)

    def _on_torque_check(self, accepted: TorqueCheckParameters) -> None:
        self.rules = replace(self.rules, torque=accepted)

    def _on_identified(self, accepted: IdentifiedRangeParameters) -> None:
        self.rules = replace(self.rules, identified=accepted)

    def use(self, feedforward: Feedforward) -> None:
        """Plan with another model from now on; the arm must report its place anew."""
        self.feedforward = feedforward
        self.controller = Follower(self, feedforward)
        self._order = JointOrder(feedforward.chain.joint_names)
        self._controller.about(feedforward.chain.joint_names)
        self._watch.forget()
        if unknown := without_joint(self.rules, feedforward.chain.joint_names):
            self._log.warning(unknown)

    def forget(self) -> None:
        """The node is not configured any more."""
        self.feedforward = self.controller = None

    def now(self) -> float:
        """ROS time on the node's clock [s]."""
        return self.clock.seconds(self._nanoseconds())

    @property
    def state_age(self) -> float:
        """Of the last joint state, infinite before the first; beyond ``state_timeout`` it is missing [s]."""
        return self._watch.seconds(self.settings.state_timeout)

    @property
    def unheard(self) -> str:
        """The topic of the trajectories, where nobody listens to it; else empty."""
        return "" if self._out.get_subscription_count() else str(self._out.topic_name)

    def refusal(self) -> str:
        """Reason why no trajectory is taken now; empty when one is."""
        if not self.active or self.feedforward is None:
            return "the node is not active"
        return self.blindness()

    def blindness(self) -> str:
        """Reason why it is not known where the arm is; empty when it is."""
        awaited = self.feedforward.awaits if self.feedforward is not None else ""
        return self._watch.objection(self.settings.state_timeout) or awaited

    def once_heard(self, act: Callable[[], None], refused: Callable[[str], None]) -> None:
        """Call ``act`` as soon as anybody listens to trajectories; ``refused`` where nobody is found.

        Args:
            act: called in the node's thread.
            refused: given the reason, in the same thread.
        """
        if not self.unheard:
            act()
        elif monotonic() - self._began > DISCOVERY:
            refused(f"nobody listens to {self.unheard}: start or activate the controller first")
        else:

            def again() -> None:
                self._node.destroy_timer(timer)
                self.once_heard(act, refused)

            timer = self._node.create_timer(LOOK, again, clock=self._steady)

    def strayed(self) -> str:
        """Reason why no trajectory may depart: the arm moves, and not along its reference; else empty.

        An arm at rest that is elsewhere has been moved, or its controller was stopped: the next trajectory
        departs from where the arm is.
        """
        feedforward = self.feedforward
        assert feedforward is not None
        feedforward.reported = self._controllers_reference()
        away = feedforward.astray(self.now())
        if away and feedforward.rests():
            self._log.warning(f"{away}: the next trajectory departs from where the arm is")
            feedforward.stand()
        elif away:
            reason = f"{away}, and the arm moves: the controller is told to hold"
            return f"{reason}; it cannot be: {impossible}" if (impossible := self.stop(reason)) else reason
        return ""

    def follow(
        self,
        measure: Callable[[], RawTrajectory | GoalTrajectory],
        prepare: Callable[[FilledTrajectory], object],
        planned: Callable[[Plan, FilledTrajectory], None],
        refused: Callable[[str], None],
        wanted: Callable[[], bool] = lambda: True,
        head: Head | None = None,
    ) -> None:
        """Let a trajectory be planned in a thread; efforts go on meanwhile.

        Args:
            measure: the trajectory; called in the thread, it touches nothing of the node.
            prepare: makes what will be sent, in the thread.
            planned: called with what to send on, and the plan behind it, in the node's thread.
            refused: called with the reason, in the node's thread.
            wanted: whether it still is.
            head: see ``Planner.follow``.
        """
        feedforward = self.feedforward
        if reason := self.refusal():
            refused(reason)
            return
        assert feedforward is not None
        made: list[tuple[Plan, FilledTrajectory]] = []

        def decode() -> PlanRequest:
            given = measure()
            names, table = given.joint_names, given.table() if given.points else None

            def plan(plan_start: Any) -> Plan:
                plan = feedforward.plan_from(names, table or (), plan_start, self.rules)
                filled = self._filled(plan, feedforward)
                prepare(filled)
                made[:] = [(plan, filled)]
                return plan

            return PlanRequest(given.stamp, given.points, plan)

        def take(trajectory: object) -> None:
            if trajectory is None:
                refused("the trajectory has no points")
                return
            plan, filled = made[0]
            self._remarks.tell(plan.trajectory)
            planned(plan, filled)

        self._planner.follow(decode, take, refused, wanted, head)

    def _filled(self, plan: Plan, feedforward: Feedforward) -> FilledTrajectory:
        """The message of a plan, as the controller takes it."""
        now = 1e-9 * (self._nanoseconds() - self._epoch)
        blended = (now, feedforward.blending(plan, self.delivery)) if self._controller.replaces else None
        names = feedforward.chain.joint_names
        return FilledTrajectory(plan, names, self._epoch, self._efforts, blended)

    def send(self, message: JointTrajectory | FilledTrajectory) -> None:
        """Send a trajectory to the controller."""
        self._out.publish(message.data if isinstance(message, FilledTrajectory) else message)

    def begin(self, plan: Plan, by_topic: bool = False) -> None:
        """``plan`` is on its way to the controller, as a goal or ``by_topic``."""
        self._by_topic, self._stands_later, self._stop_sent = by_topic, False, None
        self.last_plan = plan
        self.sent += 1
        trajectory = plan.trajectory
        self._log.info(
            f"sent {len(plan.samples.times)} points for {trajectory.end - trajectory.start:.3f} s"
            f"{', in place of the active one' if plan.moving else ''};"
            f" interpolated efforts are within {plan.samples.error.max():.3g} of the model's"
        )

    def delivered(self, plan: Plan, sent: float) -> None:
        """The controller has taken what was ``sent`` then [s]: the next trajectory gets as much time."""
        now = self.now()
        least, most = DELIVERY
        self.delivery = min(max(MARGIN * (now - sent), FORGETTING * self.delivery, least), most)
        late = now - plan.trajectory.start
        if late > 0.0:
            self._log.warning(
                f"the controller has answered {late:.3f} s after the trajectory's start, which may have"
                f" stepped its reference; the next one gets {self.delivery:.3f} s for its way"
            )

    def withdraw(self, plan: Plan) -> None:
        """The controller does not take ``plan``."""
        if self.feedforward is not None:
            self.feedforward.withdraw(plan)

    def ended(self, plan: Plan) -> None:
        """The controller has ended ``plan`` early; unless another has replaced it, the arm is held.

        A controller that brakes the arm by itself gets the hold when the arm is at rest.
        """
        if self.feedforward is not None and self.feedforward.drop_plan(plan):
            self._stands_later = self._controller.deceleration is not None
            if not self._stands_later:
                self._stand()

    def drop(self) -> None:
        """Nothing is under way any more."""
        if self.feedforward is not None:
            self.feedforward.drop()

    def hold(self) -> str:
        """Stop the arm, its weight carried; returns why that is impossible.

        What came by the topic is followed to a stop on its path. The controller refuses an empty trajectory,
        and when it stops by itself it drops the efforts. A node that has just been deactivated holds too.
        """
        if self.feedforward is None:
            return "the node is not configured"
        if self._by_topic and not self.blindness():
            plan = self.feedforward.brake(self.now(), self._controller.deceleration)
            if plan is not None:
                self.send(self._filled(plan, self.feedforward))
                self._stop_sent = plan
                return ""
        goal = not self._by_topic and self.feedforward.moving(self.now())
        self.drop()
        self._stands_later = goal and self._controller.deceleration is not None
        return self.blindness() if self._stands_later else self._stand()

    def settle(self) -> bool:
        """Hold an arm that the controller has braked, once it is at rest; whether nothing is left to do."""
        feedforward = self.feedforward
        if self._stands_later and feedforward is not None and feedforward.rests():
            self._stands_later = False
            feedforward.reported = self._controllers_reference()
            if not self.blindness():
                place = feedforward.resting_place()
                self.send(hold_message(feedforward, self.now(), self._efforts, place))
        return not self._stands_later

    def _see_stop_through(self, feedforward: Feedforward) -> None:
        """Hold an arm that goes on after its stop is over: the controller has not taken the stop."""
        if self._stop_sent is None or feedforward.rests():
            self._stop_sent = None
        elif self.now() > self._stop_sent.trajectory.end + DELIVERY[1]:
            self._stop_sent = None
            feedforward.stand()
            impossible = self._stand()
            self._log.error(
                "the arm moves on after its stop, which the controller has not taken: "
                + (
                    f"it cannot be held: {impossible}"
                    if impossible
                    else "it is told to hold where the arm is"
                )
            )

    def _stand(self) -> str:
        """Send a hold; returns why that is impossible."""
        reason = self.blindness()
        if not reason and self.feedforward is not None:
            self.send(hold_message(self.feedforward, self.now(), self._efforts))
        return reason

    def refuse(self, text: str) -> None:
        """Count and log a message that is not used."""
        self.refused += 1
        self._complain(text)

    def flush(self) -> None:
        """Wait until the last trajectory has arrived."""
        self._out.wait_for_all_acked(qos.LAST_WORD)

    def _on_state(self, message: JointState) -> None:
        if self.feedforward is None:
            return
        try:
            sample = self._order.read(message)
            if self.feedforward.measured is not None:
                others = motions(message, self.feedforward.chain.measured_joints)
                self.feedforward.measured.take(self.now(), *others)
        except StateError as error:
            self.refused += 1
            self._log.warning(f"joint state refused: {error}", throttle_duration_sec=THROTTLE)
            return
        self.feedforward.observe(sample.position, self.now())
        self._watch.note(sample.nanoseconds, self.settings.state_timeout)

    def _on_controller(self, message: Any) -> None:
        """Remember the controller's own reference; one of other joints is none."""
        state = JointState(name=list(message.joint_names), position=message.reference.positions)
        try:
            self._reported = JointOrder(self._order.joint_names).read(state).position, monotonic()
        except StateError:
            self._reported = None

    def _controllers_reference(self) -> Array | None:
        """(n,) reported last, unless that is long ago."""
        reported = self._reported
        return reported[0] if reported is not None and monotonic() - reported[1] < STOOD else None

    def _look(self) -> None:
        """End what nobody follows."""
        feedforward = self.feedforward
        self.settle()
        if feedforward is not None:
            self._see_stop_through(feedforward)
        if not self.active or feedforward is None or not feedforward.moving(self.now()):
            return
        if self._by_topic and self.unheard:
            self.drop()
            self.refuse(f"trajectory ended: nobody listens to {self.unheard} any more")
            return
        feedforward.reported = self._controllers_reference()
        away = feedforward.astray(self.now())
        if away and feedforward.rests(STOOD):
            reason = f"{away}, and the arm does not move: no controller follows it"
            self.stop(reason)
            self.refuse(f"trajectory ended: {reason}")

    def _nanoseconds(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)
