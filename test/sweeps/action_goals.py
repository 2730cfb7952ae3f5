"""Goals of FollowJointTrajectory in the search between nodes: sent, cancelled, replaced; clients that die.

Every accepted goal ends, with a reason, while its server lives. The arm is where a goal that succeeds says.
After a cancellation it stands within ``STOPS`` seconds. A goal outlives its client.
"""

from __future__ import annotations

import contextlib
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from ros_harness import HarnessError
from trajectory_msgs.msg import JointTrajectory

if TYPE_CHECKING:
    from commanders import Robot

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

REACHED = 0.05
"""Distance from its place within which a reached goal is reached [rad or m]."""
STOPS, CREEPS = 1.5, 0.03
"""Time after a cancellation until the arm stands [s], and what it may still move then [rad or m]."""
ANSWER, LATE = 5.0, 20.0
"""Time in which a goal is answered, and after its motion in which it has ended [s]."""


class _Goal:
    def __init__(self, server: str, place: list[float], seconds: float, sent: Any) -> None:
        self.server, self.place, self.sent = server, place, sent
        self.until = time.monotonic() + seconds + LATE
        self.handle: Any = None
        self.result: Any = None
        self.cancelled = False


class ActionGoals:
    """Clients of the actions of an arm: of its controller and of its feedforward node.

    Args:
        robot: the arm.
        feeder: name of its feedforward node.
    """

    def __init__(self, robot: Robot, feeder: str) -> None:
        self._robot, self._peer = robot, robot.run.peer
        self._goals: list[_Goal] = []
        self._clients = {
            server: ActionClient(self._peer.node, FollowJointTrajectory, f"{server}/follow_joint_trajectory")
            for server in (robot.node, feeder)
        }
        self._feeder = feeder

    def act(self) -> None:
        """Send a goal, cancel or replace one, or kill the client of one."""
        robot = self._robot
        if not robot.instances:
            robot.start()
            robot.run.wait(2.0)
        if robot.alone is None or robot.position is None:
            return
        self._listen()
        what = robot.run.random.choice(["send", "send", "cancel", "replace", "die"])
        robot.run.said[-1] += f" {what}"
        getattr(self, f"_{what}")()

    def forget(self) -> None:
        """A server has ended: its goals are nobody's."""
        self._goals.clear()

    def look(self) -> None:
        """Judge what has become of the goals."""
        for goal in list(self._goals):
            if goal.result is None and goal.sent.done():
                goal.handle = goal.sent.result()
                if not goal.handle.accepted:
                    self._goals.remove(goal)
                    continue
                goal.result = goal.handle.get_result_async()
            if goal.result is not None and goal.result.done():
                self._goals.remove(goal)
                self._judge(goal, goal.result.result())
            elif time.monotonic() > goal.until and goal.result is not None:
                self._goals.remove(goal)
                self._find("a goal never ended")

    def _judge(self, goal: _Goal, answer: Any) -> None:
        status, result, position = answer.status, answer.result, self._robot.position
        if status == GoalStatus.STATUS_SUCCEEDED:
            assert position is not None
            away = float(np.abs(position - goal.place).max())
            if away > REACHED and time.monotonic() - self._robot.moved > 0.5:
                self._find(f"a goal that is {away:.3f} away was reached")
        elif status == GoalStatus.STATUS_CANCELED and not goal.cancelled:
            self._find("a goal was cancelled by nobody")
        elif status == GoalStatus.STATUS_ABORTED and not result.error_string:
            self._find(f"a goal ended with {result.error_code}, and nobody said why")

    def _find(self, words: str) -> None:
        process = self._robot.alone
        self._robot.finds.append(f"{words}:\n{process.describe() if process else ''}")

    def _listen(self) -> None:
        """Let answers come that are on their way."""
        self._robot.run.wait(0.05)
        self.look()

    def _send(self) -> _Goal | None:
        robot = self._robot
        fed = robot.feeder is not None and robot.run.random.random() < 0.5
        server = self._feeder if fed else robot.node
        client, seconds = self._clients[server], robot.run.random.uniform(0.5, 2.0)
        if not client.server_is_ready():
            return None
        robot.caused = robot.moved = time.monotonic()
        message = robot.goal_message(seconds)
        wanted = FollowJointTrajectory.Goal(trajectory=message, goal_time_tolerance=Duration(sec=2))
        goal = _Goal(server, list(message.points[0].positions), seconds, client.send_goal_async(wanted))
        self._goals.append(goal)
        with contextlib.suppress(HarnessError):
            self._peer.wait_until(goal.sent.done, "", ANSWER)
        robot.caused = robot.moved = time.monotonic()
        self.look()
        return goal

    def _replace(self) -> None:
        """A second goal while the first is under way: at most one of them is reached."""
        first = self._send()
        self._robot.run.wait(self._robot.run.random.uniform(0.0, 0.5))
        second = self._send()
        if first is None or second is None or first.server != second.server:
            return
        if first.result is not None and second.result is not None and second.handle.accepted:
            with contextlib.suppress(HarnessError):
                self._peer.wait_until(first.result.done, "", ANSWER)
                self.look()
                return
            self._find("a replaced goal goes on")

    def _cancel(self) -> None:
        robot, goal = self._robot, next((each for each in self._goals if each.result is not None), None)
        if goal is None:
            goal = self._send()
            robot.run.wait(robot.run.random.uniform(0.0, 0.5))
        if goal is None or goal.result is None or goal not in self._goals:
            return
        goal.cancelled, robot.caused = True, time.monotonic()
        answer = goal.handle.cancel_goal_async()
        with contextlib.suppress(HarnessError):
            self._peer.wait_until(answer.done, "", ANSWER)
            self._peer.wait_until(goal.result.done, "", ANSWER)
        if not (answer.done() and goal.result.done()):
            self._find("a cancellation is not answered")
        elif answer.result().goals_canceling:
            robot.run.wait(STOPS)
            assert robot.position is not None
            before = robot.position.copy()
            robot.run.wait(0.5)
            moved = float(np.abs(robot.position - before).max())
            if moved > CREEPS:
                self._find(f"{STOPS} s after a cancellation the arm moves by {moved:.3f}")
        self.look()

    def _die(self) -> None:
        """A client in a process of its own is killed: its goal goes on to its end."""
        robot, process = self._robot, self._robot.alone
        if process is None or not self._clients[robot.node].server_is_ready():
            return
        seconds = robot.run.random.uniform(0.5, 2.0)
        message: JointTrajectory = robot.goal_message(seconds)
        given = {
            "action": f"{robot.node}/follow_joint_trajectory",
            "joints": list(message.joint_names),
            "positions": list(message.points[0].positions),
            "seconds": seconds,
        }
        ended = process.output.count("goal ended: "), process.output.count("goal refused: ")
        client = robot.enter(Path(__file__).parents[1] / "harness/goal_client.py", given)
        robot.caused = robot.moved = time.monotonic()
        said = client.wait_for_output("accepted|rejected").group()
        robot.caused = robot.moved = time.monotonic()
        robot.run.wait(robot.run.random.uniform(0.0, 0.5))
        client.send_signal(signal.SIGKILL)
        client.wait_for_exit()
        if said == "rejected":
            return

        def told() -> bool:
            now = process.output.count("goal ended: "), process.output.count("goal refused: ")
            return now != ended

        with contextlib.suppress(HarnessError):
            self._peer.wait_until(told, "", seconds + LATE)
            return
        self._find("the goal of a client that died never ended")
