"""Ends of FollowJointTrajectory goals; the test plays the server and needs no control_msgs."""

from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_arms import TWO_ARMS

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.actions import trajectory_action
from robot_dynamics.ros.control.records import Cycle
from robot_dynamics.ros.control.session import StateClock
from robot_dynamics.ros.support.processes import claim_domain

MILLISECOND = 1_000_000
ARM = """<robot name="door"><link name="base"/>
  <link name="leaf"><inertial><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="leaf"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="100" velocity="10"/></joint></robot>"""


class Result:
    SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS = 0, -1, -2
    OLD_HEADER_TIMESTAMP, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = -3, -4, -5


class Server:
    """Keeps how the goals ended, by handle."""

    def __init__(self, node, on_goal, on_cancel, refuses):
        self.on_goal, self.on_cancel, self.refuses = on_goal, on_cancel, refuses
        self.ended = {}

    def finish(self, handle, status, code, text):
        assert handle.name not in self.ended
        self.ended[handle.name] = (status, code, text)


class Door:
    """The controller of one joint, its loop, and the goals that it is given."""

    def __init__(self, node, chain=None):
        chain = chain or load_urdf(ARM)
        drives = ActuatedArm(compile_dynamics(chain), chain, ActuatorParameters())
        self.controller = ArmController(chain, drives, ArmParameters(state_timeout=0.1))
        self.active, self.clock, self.joint_names = True, StateClock(), chain.joint_names
        self.now = 1000 * MILLISECOND
        self.waiting = None
        self.action = trajectory_action.TrajectoryAction(node, self, self.follow)
        self.server = self.action._server
        self.be(np.zeros(chain.dof))

    def follow(self, trajectory, answer):
        """Plan at once; or, where ``waiting`` is a list, let the answer wait there."""
        if self.waiting is not None:
            self.waiting.append(answer)
            return
        try:
            followed = self.controller.follow(trajectory.joint_names, trajectory.table(), None)
        except RobotDynamicsError as error:
            answer.refused(str(error))
        else:
            answer.followed(followed)

    def be(self, position, velocity=0.0, after=10):
        """The joint is there, ``after`` milliseconds later."""
        self.now += after * MILLISECOND
        joints = self.controller.chain.dof
        state = np.zeros(joints) + position, np.zeros(joints) + velocity
        command = self.controller.update(self.clock.seconds(self.now), *state)
        self.action.observe(Cycle(self.now, *state, command), self.controller)
        return command

    def request(self, position, joint="hinge", path=(), **changes):
        """Request of a goal: be there in a second; ``changes`` replace fields of it."""
        point = JointTrajectoryPoint(positions=[position], time_from_start=Duration(sec=1))
        goal = {
            "trajectory": JointTrajectory(joint_names=[joint], points=[point]),
            "multi_dof_trajectory": SimpleNamespace(points=[]),
            "path_tolerance": path,
            "goal_tolerance": (),
            "goal_time_tolerance": Duration(),
        }
        return SimpleNamespace(**{**goal, **changes})

    def ask(self, name, *args, **changes):
        """A goal that was accepted."""
        handle = SimpleNamespace(name=name, request=self.request(*args, **changes))
        self.server.on_goal(handle)
        return handle

    def rest(self):
        """Be where the reference is until the stop has ended."""
        for _ in range(100):
            reference = self.controller.reference(self.clock.seconds(self.now + 10 * MILLISECOND))
            if self.be(reference.position, reference.velocity).phase is Phase.HOLDING:
                return
        raise AssertionError("the robot does not come to rest")

    def move(self, milliseconds):
        """Be where the reference is, for a while."""
        for _ in range(milliseconds // 10):
            reference = self.controller.reference(self.clock.seconds(self.now + 10 * MILLISECOND))
            self.be(reference.position, reference.velocity)


class Arms(Door):
    """The same of a robot with two arms; a goal is for the joints of one of them."""

    def __init__(self, node):
        super().__init__(node, load_urdf(TWO_ARMS, tips="all"))

    def ask_arm(self, name, side, position, seconds=1.0):
        """A goal for both joints of an arm."""
        goal = self.request(position)
        point = JointTrajectoryPoint(positions=[position] * 2)
        point.time_from_start = Duration(nanosec=round(1e9 * seconds) % 10**9, sec=int(seconds))
        names = [f"{side}_shoulder", f"{side}_elbow"]
        goal.trajectory = JointTrajectory(joint_names=names, points=[point])
        assert self.server.refuses(goal) == ""
        handle = SimpleNamespace(name=name, request=goal)
        self.server.on_goal(handle)
        return handle

    @property
    def places(self):
        """Reference of the left and of the right shoulder."""
        position = self.controller.reference(self.controller.time).position
        return position[1], position[3]


@pytest.fixture
def constraints():
    """As the node was given them."""
    return {}


@pytest.fixture
def node(monkeypatch, constraints):
    monkeypatch.setattr(trajectory_action, "DeferredActionServer", Server)
    monkeypatch.setattr(trajectory_action, "FollowJointTrajectory", SimpleNamespace(Result=Result))
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=claim_domain(), args=[])
    node = rclpy.create_node("goals", context=context, use_global_arguments=False)
    node._parameter_overrides.update(
        {name: rclpy.parameter.Parameter(name, value=value) for name, value in constraints.items()}
    )
    yield node
    node.destroy_node()
    context.try_shutdown()


@pytest.fixture
def door(node):
    return Door(node)


@pytest.fixture
def arms(node):
    return Arms(node)


def test_a_goal_is_reached(door):
    door.ask("one", 1.0)
    door.move(990)
    assert door.server.ended == {}
    door.move(30)
    assert door.server.ended == {"one": (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL, "Goal reached")}


def test_a_new_goal_takes_over_and_a_faulty_one_does_not(door):
    door.ask("one", 1.0)
    door.move(200)
    door.ask("faulty", 1.0, joint="window")
    status, code, text = door.server.ended["faulty"]
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_JOINTS)
    assert "window" in text
    door.move(200)
    assert set(door.server.ended) == {"faulty"}
    door.ask("two", -1.0)
    assert door.server.ended["one"] == (
        GoalStatus.STATUS_ABORTED,
        Result.INVALID_GOAL,
        "a new goal has taken over",
    )
    door.move(1020)
    assert door.server.ended["two"][0] == GoalStatus.STATUS_SUCCEEDED
    assert door.controller.reference(door.controller.time).position == pytest.approx([-1.0])


def test_a_canceled_goal_is_held(door):
    handle = door.ask("one", 1.0)
    door.move(300)
    door.server.on_cancel(handle)
    assert door.server.ended["one"] == (GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL, "canceled")
    assert door.be(0.3).phase is Phase.HOLDING


def test_a_goal_that_is_being_planned_can_be_canceled_and_ends_with_the_process(door):
    door.ask("running", 1.0)
    door.waiting = []
    canceled = door.ask("canceled", 0.5)
    door.ask("unfinished", 0.5)
    assert all(answer.wanted() for answer in door.waiting)
    door.server.on_cancel(canceled)
    assert [answer.wanted() for answer in door.waiting] == [False, True]
    assert door.server.ended == {"canceled": (GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL, "canceled")}
    door.waiting[0].refused("it is not wanted any more")
    door.move(100)
    assert door.be(0.01).phase is Phase.TRACKING, "the goal that runs goes on"
    door.action.end("the controller ends")
    assert door.server.ended["running"][2] == "the controller ends"
    assert door.server.ended["unfinished"][:2] == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)


def test_a_hold_or_a_jump_ends_the_goal_with_its_reason(door):
    door.ask("one", 1.0)
    door.move(300)
    door.controller.hold()
    door.be(0.2)
    assert door.server.ended["one"][1:] == (
        Result.INVALID_GOAL,
        "the controller has left the trajectory: a hold, or missing joint states",
    )
    door.rest()
    door.ask("two", 1.0)
    door.move(100)
    door.be(2.5)
    assert "the controller has left the trajectory: a joint jumped" in door.server.ended["two"][2]


def test_the_path_tolerance_of_a_goal_is_kept_and_its_violation_held(door):
    tolerance = SimpleNamespace(name="hinge", position=0.02, velocity=0.0, acceleration=0.0)
    door.ask("one", 1.0, path=[tolerance])
    door.move(300)
    reference = door.controller.reference(door.clock.seconds(door.now + 10 * MILLISECOND))
    door.be(reference.position[0] - 0.03, reference.velocity[0])
    status, code, text = door.server.ended["one"]
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert "hinge" in text
    assert door.be(reference.position[0] - 0.03).phase is Phase.STOPPING
    door.rest()


@pytest.mark.parametrize("constraints", [{"constraints.hinge.trajectory": 0.02}])
def test_constraints_of_the_stock_controller_hold_for_goals_that_give_no_tolerance(door):
    door.ask("one", 1.0)
    door.move(500)
    reference = door.controller.reference(door.clock.seconds(door.now + 10 * MILLISECOND))
    door.be(reference.position[0] - 0.03)
    status, code, text = door.server.ended["one"]
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert "its tolerance 0.02" in text


@pytest.mark.parametrize("constraints", [{"constraints.window.goal": 0.02}])
def test_a_constraint_of_a_joint_that_is_not_there_is_named(door):
    assert "there is no joint 'window'; the joints are hinge" in door.server.refuses(door.request(1.0))


def test_no_goal_is_taken_that_would_be_aborted_at_once(door):
    assert door.server.refuses(door.request(1.0)) == ""
    assert "'window'" in door.server.refuses(door.request(1.0, joint="window"))
    assert "no points" in door.server.refuses(
        door.request(1.0, trajectory=JointTrajectory(joint_names=["hinge"]))
    )
    door.controller.lost_states()
    assert door.server.refuses(door.request(1.0)) == Phase.STALE.value
    door.active = False
    assert door.server.refuses(door.request(1.0)) == "the controller is not active"


def test_goals_without_points_or_for_several_bodies_are_refused(door):
    door.ask("bodies", 1.0, multi_dof_trajectory=SimpleNamespace(points=[1]))
    assert "multi_dof_trajectory" in door.server.ended["bodies"][2]
    door.ask("empty", 1.0, trajectory=JointTrajectory(joint_names=["hinge"]))
    status, code, text = door.server.ended["empty"]
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "no points" in text


def test_goals_for_two_arms_run_side_by_side_and_each_ends_by_itself(arms):
    arms.ask_arm("left", "left", 0.3)
    arms.move(400)
    arms.ask_arm("right", "right", -0.2, 0.4)
    arms.move(420)
    assert set(arms.server.ended) == {"right"}
    assert arms.places == (pytest.approx(0.28, abs=0.03), pytest.approx(-0.2))
    arms.move(220)
    done = GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL, "Goal reached"
    assert arms.server.ended == {"right": done, "left": done}
    assert arms.places == (pytest.approx(0.3), pytest.approx(-0.2))


def test_a_goal_that_is_canceled_beside_another_stops_its_own_arm_alone(arms):
    left = arms.ask_arm("left", "left", 0.6)
    arms.ask_arm("right", "right", -0.2)
    arms.move(400)
    arms.server.on_cancel(left)
    assert arms.server.ended["left"][2] == "canceled"
    arms.move(700)
    assert arms.server.ended["right"][2] == "Goal reached"
    assert 0.05 < arms.places[0] < 0.5 and arms.places[1] == pytest.approx(-0.2)


def test_a_new_goal_for_one_arm_ends_the_goal_of_that_arm_alone(arms):
    arms.ask_arm("left", "left", 0.6)
    arms.ask_arm("right", "right", -0.2)
    arms.move(300)
    arms.ask_arm("again", "left", 0.1)
    assert arms.server.ended["left"][2] == "a new goal has taken over" and len(arms.server.ended) == 1
    arms.controller.hold()
    arms.move(20)
    assert all("the controller has left" in arms.server.ended[name][2] for name in ("again", "right"))
