"""Goals through the feeder to a stand-in for joint_trajectory_controller; needs control_msgs.

The stand-in is an action server of rclpy in the test's process. It shows the protocol alone: that the feeder
asks for the right thing in the right order, not what a real controller makes of it.
"""

import itertools
import signal

import numpy as np
import pytest
import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

actions = pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
messages = pytest.importorskip("control_msgs.msg", reason="control_msgs is not installed")

pytestmark = pytest.mark.ros
FollowJointTrajectory = actions.FollowJointTrajectory
Result = FollowJointTrajectory.Result
NODE = "trajectory_feedforward"
ARM = """<robot name="lever"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="lift" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 -1 0"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint></robot>"""
HOLDING = 2.0 * 9.81 * 0.5


class _Slow(ActionServer):
    """Goals end when the test says so."""

    def notify_execute(self, goal_handle, execute_callback):
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)


class Controller:
    """Controller downstream of the feedforward node."""

    def __init__(self, peer):
        self.goals = []
        self.accepts = True
        self.server = _Slow(
            peer.node,
            FollowJointTrajectory,
            "joint_trajectory_controller/follow_joint_trajectory",
            execute_callback=lambda handle: None,
            goal_callback=lambda _: GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT,
            handle_accepted_callback=self._take,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def _take(self, handle):
        handle.execute()
        self.goals.append(handle)

    def finish(self, handle, state, code, text):
        def end(goal):
            getattr(goal, state)()
            return Result(error_code=code, error_string=text)

        self.server.notify_execute(handle, end)


class World:
    def __init__(self, peer):
        self.peer = peer
        self.states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        self.controller = Controller(peer)
        self.client = ActionClient(peer.node, FollowJointTrajectory, f"{NODE}/follow_joint_trajectory")
        self.feedback = []
        topic = "joint_trajectory_controller/joint_trajectory"
        self.held = peer.subscribe(JointTrajectory, topic, qos.TRAJECTORY)
        peer.wait_until(self.client.server_is_ready, "no action server")

    def until(self, future, what):
        self.peer.wait_until(future.done, what)
        return future.result()

    def send(self, goal):
        feedback = lambda message: self.feedback.append(message.feedback)  # noqa: E731
        return self.until(self.client.send_goal_async(goal, feedback), "the goal was not answered")

    def result(self, handle):
        answer = self.until(handle.get_result_async(), "the goal has no result")
        return answer.status, answer.result

    def goal(self, position=0.5, names=("lift",)):
        point = JointTrajectoryPoint(positions=[position])
        point.time_from_start.sec = 2
        trajectory = JointTrajectory(joint_names=list(names), points=[point])
        tolerance = messages.JointTolerance(name="lift", position=0.125)
        return FollowJointTrajectory.Goal(trajectory=trajectory, path_tolerance=[tolerance])

    def first_goal(self):
        """A goal that is accepted: the feeder has found the controller and has had a joint state."""
        self.peer.wait_until(
            lambda: self.peer.node.count_clients(
                "joint_trajectory_controller/follow_joint_trajectory/_action/send_goal"
            ),
            "the feeder looks for no controller",
        )
        handle = self.send(self.goal())
        while not handle.accepted:
            self.states.publish(JointState(name=["lift"], position=[0.0]))
            handle = self.send(self.goal())
        return handle

    def forwarded(self, count):
        """The goal as the controller has got it."""
        self.peer.wait_until(lambda: len(self.controller.goals) == count, "the goal does not arrive")
        return self.controller.goals[-1]


def test_goal_feedback_result_rejection_and_cancel_pass_through():
    node = NodeProcess(NODE, {"robot_description": ARM, "state_timeout": 60.0})
    with node, peer_with(node) as peer:
        relay(node, peer)


def test_the_end_of_the_feeder_holds_the_arm_and_ends_the_goal():
    node = NodeProcess(NODE, {"robot_description": ARM, "state_timeout": 60.0})
    with node, peer_with(node) as peer:
        world = World(peer)
        answer = world.first_goal().get_result_async()
        arrived = world.forwarded(1)
        arrived.publish_feedback(FollowJointTrajectory.Feedback(joint_names=["lift"]))
        peer.wait_until(lambda: world.feedback, "no feedback")
        peer.processes.clear()
        node.send_signal(signal.SIGINT)
        peer.wait_until(lambda: arrived.is_cancel_requested and world.held, "the controller is not stopped")
        # A controller that cancels drops the efforts: the last word must be a hold that comes after that.
        world.held.clear()
        world.controller.finish(arrived, "canceled", Result.SUCCESSFUL, "")
        peer.wait_until(lambda: world.held, "no hold after the controller's end of the goal")
        assert world.held[-1].points[0].effort[0] == pytest.approx(HOLDING)
        assert node.wait_for_exit() == 0
        result = world.until(answer, "the goal has no result")
        assert (result.status, result.result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
        assert "ends" in result.result.error_string


def test_what_takes_over_from_a_goal_ends_it_with_its_reason():
    node = NodeProcess(NODE, {"robot_description": ARM, "state_timeout": 60.0})
    with node, peer_with(node) as peer:
        world = World(peer)
        topic = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        handle = world.first_goal()
        first = world.forwarded(1).request.trajectory
        assert first.header.stamp.sec > 0, "the controller would begin later than the plan"
        lasts = stamp_to_nanoseconds(first.points[-1].time_from_start)
        begin = stamp_to_nanoseconds(first.header.stamp) + lasts - 2 * 10**9
        node.wait_for_output("sent .* points")
        clock = peer.node.get_clock()
        peer.wait_until(lambda: clock.now().nanoseconds > begin, "the plan does not begin")

        # On the controller's topic it would leave the goal in force, and succeed it somewhere else.
        topic.publish(world.goal(-0.5).trajectory)
        second = world.forwarded(2).request.trajectory
        assert not world.held
        assert aborted(world.result(handle)) == "a trajectory on the topic has taken over"
        share = 0.5e-9 * (stamp_to_nanoseconds(second.header.stamp) - begin)
        assert 0.0 < share < 1.0
        path = 0.5 * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        assert second.points[0].positions[0] == pytest.approx(path, abs=1e-7)
        assert second.points[-1].positions[0] == pytest.approx(-0.5)

        handle = world.send(world.goal())
        arrived = world.forwarded(3)
        topic.publish(JointTrajectory())
        peer.wait_until(lambda: arrived.is_cancel_requested and world.held, "the controller is not stopped")
        world.controller.finish(arrived, "canceled", Result.SUCCESSFUL, "")
        assert aborted(world.result(handle)) == "an empty trajectory has ended it"

        handle = world.send(world.goal())
        world.controller.finish(world.forwarded(4), "abort", Result.SUCCESSFUL, "")
        assert aborted(world.result(handle)) == "joint_trajectory_controller has aborted the goal"
        world.client.destroy()
        assert "Traceback" not in node.output


def test_a_controller_that_brakes_by_itself_gets_the_hold_when_the_arm_is_at_rest():
    """A hold in its ramp would end the ramp: one point, at rest, at once."""
    node = NodeProcess(NODE, {"robot_description": ARM, "state_timeout": 60.0})
    with node, peer_with(node) as peer:
        world, controller = World(peer), peer.node
        follower = rclpy.create_node(
            "joint_trajectory_controller", context=peer.context, use_global_arguments=False
        )
        follower.declare_parameter("constraints.decelerate_on_cancel", True)
        follower.declare_parameter("constraints.lift.max_deceleration_on_cancel", 2.0)
        peer.executor.add_node(follower)
        asked = lambda: controller.count_clients("/joint_trajectory_controller/get_parameters")  # noqa: E731
        peer.wait_until(asked, "nobody asks for the parameters")
        handle = world.first_goal()
        arrived, place = world.forwarded(1), itertools.count()
        canceling = handle.cancel_goal_async()
        peer.wait_until(lambda: arrived.is_cancel_requested, "the cancel does not arrive")
        world.until(canceling, "the cancel was not answered")
        world.controller.finish(arrived, "canceled", Result.SUCCESSFUL, "stopped")
        # The controller's ramp: the arm goes on.
        for _ in range(20):
            world.states.publish(JointState(name=["lift"], position=[0.02 * next(place)]))
            peer.executor.spin_once(timeout_sec=0.05)
        assert world.result(handle)[0] == GoalStatus.STATUS_CANCELED
        assert not world.held
        end = 0.02 * next(place)

        def held():
            world.states.publish(JointState(name=["lift"], position=[end]))
            return world.held

        peer.wait_until(held, "no hold at rest")
        assert world.held[-1].points[0].positions[0] == pytest.approx(end)
        assert world.held[-1].points[0].effort[0] == pytest.approx(HOLDING * np.cos(end))
        world.client.destroy()
        peer.executor.remove_node(follower)
        follower.destroy_node()


def aborted(outcome):
    """The reason of a goal that was aborted as a goal of no use."""
    status, result = outcome
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    return result.error_string


def relay(node, peer):
    world = World(peer)
    handle = world.first_goal()
    arrived = world.forwarded(1)
    points = arrived.request.trajectory.points
    assert len(points) > 2
    assert points[0].effort[0] == pytest.approx(HOLDING)
    assert points[-1].effort[0] == pytest.approx(HOLDING * np.cos(0.5))
    assert arrived.request.path_tolerance[0].position == 0.125

    feedback = FollowJointTrajectory.Feedback(joint_names=["lift"])
    feedback.actual.positions = [0.321]
    arrived.publish_feedback(feedback)
    peer.wait_until(lambda: world.feedback, "no feedback")
    assert world.feedback[-1].actual.positions[0] == 0.321

    world.controller.finish(arrived, "abort", Result.GOAL_TOLERANCE_VIOLATED, "too far")
    status, result = world.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert (result.error_code, result.error_string) == (Result.GOAL_TOLERANCE_VIOLATED, "too far")

    handle = world.send(world.goal())
    world.controller.finish(world.forwarded(2), "succeed", Result.SUCCESSFUL, "there")
    assert world.result(handle)[0] == GoalStatus.STATUS_SUCCEEDED

    handle = world.send(world.goal())
    arrived = world.forwarded(3)
    canceling = handle.cancel_goal_async()
    peer.wait_until(lambda: arrived.is_cancel_requested, "the cancel does not arrive")
    world.until(canceling, "the cancel was not answered")
    world.controller.finish(arrived, "canceled", Result.SUCCESSFUL, "stopped")
    status, result = world.result(handle)
    assert status == GoalStatus.STATUS_CANCELED

    # The controller has stopped without efforts; the feeder lets it carry the arm's weight again.
    held = peer.wait_until(lambda: [m for m in world.held if len(m.points) == 1], "no hold after the cancel")
    assert held[-1].points[0].effort[0] == pytest.approx(HOLDING)

    world.controller.accepts = False
    status, result = world.result(world.send(world.goal()))
    assert status == GoalStatus.STATUS_ABORTED
    assert "rejected" in result.error_string

    assert not world.send(world.goal(names=["knee"])).accepted
    node.wait_for_output("goal rejected: .*knee")
    status, result = world.result(world.send(world.goal(position=9.0)))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "limits" in result.error_string

    world.controller.accepts = True
    handle = world.send(world.goal())
    world.forwarded(4)
    world.controller.server.destroy()
    status, result = world.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert "gone" in result.error_string
    assert not world.send(world.goal()).accepted
    node.wait_for_output("goal rejected: .* does not serve its action")
    world.client.destroy()
    assert "Traceback" not in node.output
