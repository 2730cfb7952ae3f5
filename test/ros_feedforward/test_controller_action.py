"""FollowJointTrajectory served by the controller; skipped where control_msgs is missing."""

import contextlib
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from ros_harness import UNSUPERVISED, NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

from robot_dynamics.ros.control.planner import ALLOWANCE
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds
from robot_dynamics.ros.support.processes import claim_domain, node_environment

actions = pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
messages = pytest.importorskip("control_msgs.msg", reason="control_msgs is not installed")

pytestmark = pytest.mark.ros
FollowJointTrajectory = actions.FollowJointTrajectory
Result = FollowJointTrajectory.Result
NODE = "computed_torque_controller"
SECOND = 1_000_000_000
NAMES = ["turn", "slide"]
SPARSE = {"max_stamp_step": 10.0, "max_state_jump": 10.0, "ki": -1.0, **UNSUPERVISED}
"""For states that come seldom and far from each other, which no arm could follow."""
ARM = """<robot name="crane"><link name="base"/>
  <link name="boom"><inertial><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="trolley"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
  <joint name="slide" type="prismatic"><parent link="boom"/><child link="trolley"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint></robot>"""


class Arm:
    """A robot that is wherever the test says, at the time that it says, and a client of its controller."""

    def __init__(self, peer, namespace=""):
        self.peer = peer
        self.now = SECOND
        self.states = peer.publisher(JointState, f"{namespace}/joint_states", qos.STATE_PUBLISHER)
        self.commands = peer.subscribe(JointState, f"{namespace}/joint_command", qos.LOCKSTEP)
        action = f"{namespace}/{NODE}/follow_joint_trajectory"
        self.client = ActionClient(peer.node, FollowJointTrajectory, action)
        self.feedback = []
        self.be([0.0, 0.0])
        peer.wait_until(self.client.server_is_ready, "no action server")

    def be(self, position, velocity=(0.0, 0.0), after=0.002):
        """Report the state ``after`` seconds and wait for the command that answers it."""
        self.now += round(after * SECOND)
        message = JointState(name=NAMES, position=list(map(float, position)), velocity=list(velocity))
        message.header.stamp = nanoseconds_to_stamp(self.now)
        self.peer.repeat_until(
            lambda: self.states.publish(message),
            lambda: any(stamp_to_nanoseconds(m.header.stamp) == self.now for m in self.commands),
            "the state was not answered",
        )

    def send(self, goal):
        """Send a goal; returns when it is rejected, followed or refused."""
        told = len(self._told())
        sent = self.client.send_goal_async(goal, lambda message: self.feedback.append(message.feedback))
        self.peer.wait_until(sent.done, "the goal was not answered")
        if sent.result().accepted:
            self.peer.wait_until(lambda: len(self._told()) > told, "the goal is not planned")
        return sent.result()

    def _told(self):
        return re.findall("following a goal|goal refused", "".join(p.output for p in self.peer.processes))

    def result(self, handle):
        future = handle.get_result_async()
        self.peer.wait_until(future.done, "the goal has no result")
        return future.result().status, future.result().result

    def close(self):
        self.client.destroy()


@pytest.fixture(scope="module")
def arms():
    """One node for all tests: every goal finds the arm holding."""
    parameters = {"robot_description": ARM, "state_timeout": 60.0, "path_tolerance": [0.5, 0.0]}
    parameters |= SPARSE
    node = NodeProcess(NODE, parameters)
    with node, peer_with(node) as peer, contextlib.closing(Arm(peer)) as arm:
        yield arm


@pytest.fixture
def arm(arms):
    arms.be([0.0, 0.0])
    arms.peer.call(Trigger, f"{NODE}/hold")
    arms.feedback.clear()
    return arms


def goal(positions=(1.0, 0.5), seconds=2, names=NAMES, stamp=0, **fields):
    trajectory = JointTrajectory(joint_names=list(names))
    trajectory.header.stamp = nanoseconds_to_stamp(stamp)
    point = JointTrajectoryPoint(positions=[float(p) for p in positions])
    point.time_from_start.sec = seconds
    trajectory.points = [point]
    return FollowJointTrajectory.Goal(trajectory=trajectory, **fields)


def tolerance(name, position=0.0, velocity=0.0):
    return messages.JointTolerance(name=name, position=position, velocity=velocity)


def test_a_goal_is_followed_with_feedback_and_succeeds_within_its_tolerances(arm):
    close = [tolerance("turn", 0.01), tolerance("slide", 0.01)]
    handle = arm.send(goal(goal_tolerance=close))
    assert handle.accepted
    arm.be([0.4, 0.2], after=1.0 + ALLOWANCE)
    arm.peer.wait_until(lambda: arm.feedback, "no feedback")
    feedback = arm.feedback[-1]
    assert list(feedback.joint_names) == NAMES
    np.testing.assert_allclose(feedback.desired.positions, [0.5, 0.25], atol=1e-3)
    np.testing.assert_allclose(feedback.actual.positions, [0.4, 0.2])
    np.testing.assert_allclose(feedback.error.positions, [0.1, 0.05], atol=1e-3)
    # Close to the goal but not within the tolerance, then within it.
    arm.be([0.98, 0.5], after=1.01)
    assert handle.status in (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)
    arm.be([0.995, 0.5], after=0.5)
    status, result = arm.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)


def test_leaving_the_path_aborts_and_holds_where_the_arm_is(arm):
    handle = arm.send(goal())
    arm.be([0.5, 0.25], after=1.0)
    arm.be([-0.1, 0.25])
    status, result = arm.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert "'turn'" in result.error_string
    assert "0.5" in result.error_string
    arm.be([-0.1, 0.25])
    np.testing.assert_allclose(arm.commands[-1].effort, [0.0, 0.0], atol=1e-6)


def test_arriving_too_late_aborts(arm):
    late = goal(goal_tolerance=[tolerance("slide", 0.01)])
    late.goal_time_tolerance.nanosec = SECOND // 2
    handle = arm.send(late)
    arm.be([1.0, 0.4], after=2.3)
    arm.be([1.0, 0.4], after=0.3)
    status, result = arm.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert "'slide'" in result.error_string


def test_a_new_goal_takes_over_and_a_cancel_holds(arm):
    first = arm.send(goal())
    second = arm.send(goal([-1.0, -0.5]))
    status, result = arm.result(first)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "new goal" in result.error_string
    arm.be([-0.4, -0.2], after=1.0)
    canceled = second.cancel_goal_async()
    arm.peer.wait_until(canceled.done, "the cancel was not answered")
    status, _ = arm.result(second)
    assert status == GoalStatus.STATUS_CANCELED
    # It brakes, and then it stays.
    arm.be([-0.4, -0.2], after=0.5)
    held = arm.commands[-1].effort
    arm.be([-0.4, -0.2], after=0.1)
    np.testing.assert_allclose(arm.commands[-1].effort, held, atol=1e-6)


def test_a_hold_or_a_trajectory_on_the_topic_ends_a_goal(arm):
    held = arm.send(goal())
    arm.peer.call(Trigger, f"{NODE}/hold")
    arm.be([0.1, 0.1], after=0.1)
    assert arm.result(held)[1].error_code == Result.INVALID_GOAL
    replaced = arm.send(goal())
    topic = arm.peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
    topic.publish(goal([0.2, 0.2]).trajectory)
    status, result = arm.result(replaced)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)


def test_what_no_plan_could_follow_is_rejected_and_the_running_goal_goes_on(arm):
    running = arm.send(goal())
    several = goal()
    several.multi_dof_trajectory.points = [MultiDOFJointTrajectoryPoint()]
    for bad, reason in [
        (goal(names=["turn", "knee"]), "knee"),
        (goal([1.0], names=["turn"]), "slide"),
        (goal(stamp=1, seconds=0), "past"),
        (goal(path_tolerance=[tolerance("knee", 0.1)]), "knee"),
        (goal(goal_tolerance=[tolerance("turn", -3.0)]), "-3"),
        (FollowJointTrajectory.Goal(), "joint"),
        (several, "multi_dof"),
    ]:
        assert not arm.send(bad).accepted, reason
        arm.peer.processes[0].wait_for_output(f"goal rejected: .*{reason}")
    handle = arm.send(goal([1.0, 9.0]))
    status, result = arm.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "limits" in result.error_string
    arm.be([1.0, 0.5], after=2.1)
    assert arm.result(running)[0] == GoalStatus.STATUS_SUCCEEDED


def test_the_state_of_the_controller_tells_reference_state_error_and_output(arm):
    states = arm.peer.subscribe(
        messages.JointTrajectoryControllerState, f"{NODE}/controller_state", qos.COMMAND
    )
    handle = arm.send(goal())
    arm.be([0.4, 0.2], after=1.0 + ALLOWANCE)
    arm.be([0.4, 0.2], after=0.021)
    message = arm.peer.wait_until(lambda: states and states[-1], "no controller state")
    error = np.array(message.error.positions)
    assert list(message.joint_names) == NAMES
    np.testing.assert_allclose(message.feedback.positions, [0.4, 0.2])
    np.testing.assert_allclose(error, np.array(message.reference.positions) - [0.4, 0.2], atol=1e-12)
    assert len(message.reference.accelerations) == 2
    matching = [c for c in arm.commands if c.header.stamp == message.header.stamp]
    np.testing.assert_allclose(message.output.effort, matching[0].effort)
    arm.peer.call(Trigger, f"{NODE}/hold")
    arm.be([0.4, 0.2])
    arm.result(handle)


def test_a_goal_ends_with_the_process_that_follows_it():
    # Beside the node of the other tests, whose action would answer too.
    parameters = {"robot_description": ARM, "state_timeout": 60.0, "safe_fade_time": 0.5}
    node = NodeProcess(NODE, {**parameters, **SPARSE}, ["-r", "__ns:=/ending"])
    with node, peer_with(node) as peer, contextlib.closing(Arm(peer, "/ending")) as arm:
        answer = arm.send(goal()).get_result_async()
        arm.be([0.1, 0.1], after=0.5)
        peer.wait_until(lambda: arm.feedback, "no feedback")
        peer.processes.clear()
        node.send_signal(signal.SIGINT)
        peer.wait_until(answer.done, "the goal has no result")
        status, result = answer.result().status, answer.result().result
        assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
        assert "ends" in result.error_string
        assert node.wait_for_exit() == 0


CLIENT = f"""
import rclpy
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
rclpy.init()
node = rclpy.create_node("client")
client = ActionClient(node, FollowJointTrajectory, "{NODE}/follow_joint_trajectory")
client.wait_for_server()
point = JointTrajectoryPoint(positions=[1.0, 0.5])
point.time_from_start.sec = 2
goal = FollowJointTrajectory.Goal(trajectory=JointTrajectory(joint_names={NAMES}, points=[point]))
sent = client.send_goal_async(goal)
rclpy.spin_until_future_complete(node, sent)
print(sent.result().accepted, flush=True)
rclpy.spin(node)
"""


def test_a_goal_outlives_its_client_and_the_next_client_takes_over(arm):
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT],
        env=node_environment(claim_domain()),
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        told = len(arm._told())
        assert client.stdout.readline() == "True\n"
        client.kill()
    arm.peer.wait_until(lambda: len(arm._told()) > told, "the goal is not planned")
    arm.be([0.4, 0.2], after=1.0 + ALLOWANCE)
    arm.be([0.4, 0.2], after=0.021)
    moving = np.array(arm.commands[-1].effort)
    assert moving[0] > 1.0, "the arm does not follow the goal of the client that died"
    mine = arm.send(goal(positions=[0.4, 0.2]))
    [node] = arm.peer.processes
    arm.peer.wait_until(lambda: "goal ended: a new goal has taken over" in node.output, "the goal runs on")
    answer = mine.cancel_goal_async()
    arm.peer.wait_until(answer.done, "no answer to the cancellation")
    assert arm.result(mine)[0] == GoalStatus.STATUS_CANCELED


def test_a_goal_too_large_to_be_read_is_rejected_and_the_running_one_goes_on(arm):
    running = arm.send(goal(seconds=10))
    monster = goal(seconds=10)
    monster.trajectory.points *= 100_001
    assert not arm.send(monster).accepted
    crowd = goal(seconds=10, path_tolerance=[tolerance("n" * 1000)] * 100)
    assert not arm.send(crowd).accepted
    long = goal(seconds=10)
    long.trajectory.points = [
        JointTrajectoryPoint(positions=[0.0, 0.0], time_from_start=Duration(sec=1 + k)) for k in range(30_000)
    ]
    taken = arm.send(long)
    assert taken.accepted
    arm.be([0.0, 0.0])
    status, result = arm.result(running)
    assert (status, result.error_string) == (GoalStatus.STATUS_ABORTED, "a new goal has taken over")
    assert taken.status in (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)
