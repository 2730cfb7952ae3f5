"""Goals of different joints through the feedforward node: one trajectory downstream, an end for each."""

from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from action_msgs.msg import GoalStatus
from rclpy.lifecycle import LifecycleNode
from trajectory_msgs.msg import JointTrajectory
from two_arms import JOINTS, TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.feedforward import Feedforward
from robot_dynamics.control.arm.feedforward_parameters import FeedforwardParameters
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.ros.feedforward import goal_relay
from robot_dynamics.ros.support.processes import claim_domain

LEFT, RIGHT = ("left_shoulder", "left_elbow"), ("right_shoulder", "right_elbow")


class Future:
    """Calls back when the test gives its result."""

    def add_done_callback(self, call):
        self.call = call

    def give(self, value):
        self.call(SimpleNamespace(result=lambda: value))


class Handle:
    """The controller's goal."""

    accepted = True

    def __init__(self):
        self.ending, self.cancelled = Future(), False

    def get_result_async(self):
        return self.ending

    def cancel_goal_async(self):
        self.cancelled = True

    def end(self, status, text=""):
        self.ending.give(
            SimpleNamespace(status=status, result=SimpleNamespace(error_code=0, error_string=text))
        )


class World:
    """A relay between a client and a controller that the test plays, and the node's planner."""

    def __init__(self, node, monkeypatch):
        content = SimpleNamespace(SUCCESSFUL=0, INVALID_GOAL=-1)
        monkeypatch.setattr(goal_relay, "FollowJointTrajectory", SimpleNamespace(Goal=Goal, Result=content))
        monkeypatch.setattr(goal_relay, "DeferredActionServer", lambda *_: self)
        monkeypatch.setattr(goal_relay, "ActionClient", lambda *_: self)
        chain = rd.load_urdf(TWO_ARMS, tips="all")
        model = ActuatedArm(compile_dynamics(chain, friction=False), chain, ActuatorParameters())
        self.feedforward = Feedforward(chain, model, FeedforwardParameters())
        self.time, self.results, self.sent, self.dropped = 10.0, {}, [], 0
        self.feedforward.observe(np.zeros(chain.dof), self.time)
        self.relay = goal_relay.GoalRelay(node, self, "controller")

    # The feeder

    def now(self):
        return self.time

    def follow(self, measure, prepare, planned, refused, wanted):
        goal = self.asked
        plan = self.feedforward.plan(goal.joints, [Waypoint(goal.seconds, goal.place)], None, self.time)
        planned(plan, SimpleNamespace(message=JointTrajectory(joint_names=JOINTS)))

    def begin(self, plan):
        assert not self.feedforward.accept(plan, self.time)

    def delivered(self, plan, sent):
        pass

    def withdraw(self, plan):
        self.feedforward.withdraw(plan)

    def ended(self, plan):
        self.dropped += 1

    def refuse(self, text):
        pass

    # The controller, and the client

    def server_is_ready(self):
        return True

    def send_goal_async(self, content, feedback):
        self.sent.append(SimpleNamespace(content=content, answer=Future(), handle=Handle()))
        return self.sent[-1].answer

    def finish(self, handle, status, code, text):
        assert handle.name not in self.results
        self.results[handle.name] = status, text

    def finish_with(self, handle, status, result):
        self.finish(handle, status, result.error_code, result.error_string)

    def goal(self, name, joints, seconds, place):
        self.asked = Goal(joints, seconds, place)
        handle = SimpleNamespace(name=name, request=self.asked, is_active=True, is_cancel_requested=False)
        self.relay._on_goal(handle)
        return handle

    def accept(self):
        self.sent[-1].answer.give(self.sent[-1].handle)
        return self.sent[-1].handle

    def at(self, time, position):
        self.time = time
        self.feedforward.observe(np.asarray(position, dtype=float), time)
        self.relay._end_arrived()


class Goal:
    """A goal of FollowJointTrajectory, with a tolerance for its first joint."""

    def __init__(self, joints=(), seconds=0.0, place=()):
        self.joints, self.seconds, self.place = joints, seconds, place
        self.trajectory = JointTrajectory(joint_names=list(joints))
        self.path_tolerance = [SimpleNamespace(name=name, position=0.2) for name in joints[:1]]
        self.goal_tolerance = [SimpleNamespace(name=name, position=0.01) for name in joints[:1]]
        self.goal_time_tolerance = None

    def get_fields_and_field_types(self):
        return ["trajectory", "path_tolerance", "goal_tolerance", "goal_time_tolerance"]


@pytest.fixture
def world(monkeypatch):
    claim_domain()
    rclpy.init()
    node = LifecycleNode("relay")
    made = World(node, monkeypatch)
    yield made
    node.destroy_node()
    rclpy.shutdown()


def test_a_goal_of_the_other_arm_leaves_the_first_one_running_and_each_ends_when_it_arrives(world):
    world.goal("left", LEFT, 1.0, (0.3, 0.2))
    first = world.accept()
    world.at(10.3, np.zeros(5))
    world.goal("right", RIGHT, 1.5, (-0.3, 0.1))
    content = world.sent[-1].content
    assert [one.name for one in content.path_tolerance] == ["right_shoulder", "left_shoulder"]
    first.end(GoalStatus.STATUS_ABORTED)  # the controller has replaced it before its answer arrives
    assert not world.results
    second = world.accept()
    world.at(11.05, [0.0, 0.25, 0.2, -0.1, 0.1])
    assert not world.results  # it has not arrived
    world.at(11.1, [0.0, 0.295, 0.2, -0.1, 0.1])
    assert world.results == {"left": (GoalStatus.STATUS_SUCCEEDED, "Goal reached")}
    second.end(GoalStatus.STATUS_SUCCEEDED, "there")
    assert world.results["right"] == (GoalStatus.STATUS_SUCCEEDED, "there")
    assert not world.relay.busy


def test_a_goal_of_joints_that_move_replaces_theirs_and_a_rejected_one_ends_nothing(world):
    world.goal("left", LEFT, 1.0, (0.3, 0.2))
    first = world.accept()
    world.goal("right", RIGHT, 1.0, (-0.3, 0.1))
    world.sent[-1].handle.accepted = False
    world.accept()
    assert world.results == {"right": (GoalStatus.STATUS_ABORTED, "controller has rejected the goal")}
    world.goal("again", LEFT[:1], 1.0, (0.1,))
    world.accept()
    first.end(GoalStatus.STATUS_ABORTED, "preempted")
    assert world.results["left"] == (GoalStatus.STATUS_ABORTED, "preempted")
    assert world.relay.busy


def test_a_cancelled_goal_stops_the_arm_and_the_other_goal_is_told_so(world):
    left = world.goal("left", LEFT, 1.0, (0.3, 0.2))
    world.accept()
    world.goal("right", RIGHT, 1.0, (-0.3, 0.1))
    second = world.accept()
    left.is_cancel_requested = True
    world.relay._on_cancel(left)
    assert second.cancelled
    second.end(GoalStatus.STATUS_CANCELED)
    assert world.results["left"][0] == GoalStatus.STATUS_CANCELED
    assert world.results["right"] == (
        GoalStatus.STATUS_ABORTED,
        "a goal of other joints beside it was cancelled",
    )
    assert world.dropped == 1
