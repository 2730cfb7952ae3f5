"""The move of Lee, Chung, Mudge and Turney on a PUMA 560: simulator and controller as processes, over DDS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report.recording import ArmRecording
from robot_dynamics.resources import resource
from robot_dynamics.ros.running.observer import (
    SECOND,
    Observer,
    Record,
    complete_stamps,
    duration_message,
    newest,
    wait_for_start,
)
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import JointOrder, nanoseconds_to_stamp
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain
from robot_dynamics.spatial import Array

START = np.radians([90.0, 0.0, 90.0, 0.0, 0.0, 0.0])
GOAL = np.radians([45.0, 30.0, 0.0, 45.0, 60.0, 90.0])
CONTROLLER = "robot_dynamics.ros.computed_torque_controller"
DURATION = 2.0
"""Seconds of Lee's move, as a quintic."""
SETTLING = 0.5
"""Seconds recorded after the move's end."""
NOTICE = 5.0
"""Simulated seconds before a move in which what the conditions of a run change can settle."""
REST = 0.5, 1e-7
"""Time before a move in which no joint moves farther [s, rad]: a busy observer is behind the states."""

COMMANDED = "commanded from now on"
"""Line that the simulator prints when the first command comes."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Case:
    """One run: what differs from the paper's setting."""

    key: str
    title: str
    controller: Mapping[str, Any] = field(default_factory=dict)
    simulator: Mapping[str, Any] = field(default_factory=dict)


WIDENED = 0.2
"""Following error that the runs with an unknown load and without a model may have [rad]."""
NOMINAL = Case("computed_torque", "computed torque")
COMPARISONS = (
    Case("published_law", "without looking half a period ahead", {"half_period_ahead": False}),
    Case(
        "payload",
        "with 2 kg at the tip that the model does not know",
        {"max_following_error": [WIDENED]},
        {"payload_mass": 2.0},
    ),
    Case("pd", "without the model (PD only)", {"mode": "pd", "max_following_error": [WIDENED]}),
)
# What the cases change, as it is in the nominal one.
USUAL = Case("", "", {"mode": "computed_torque", "half_period_ahead": True}, {"payload_mass": 0.0})


def at_start(description: Path, chain: KinematicChain, rate: float, lockstep: bool) -> dict[str, Any]:
    """Parameters of a simulator of a PUMA 560 where Lee's move begins."""
    return {
        **_common(description, lockstep),
        "initial_joints": list(chain.joint_names),
        "initial_positions": START.tolist(),
        "rate": rate,
    }


def _common(description: Path, lockstep: bool) -> dict[str, Any]:
    drives = yaml.safe_load(resource("config/puma560.yaml").read_text(encoding="utf-8"))
    text = description.read_text(encoding="utf-8")
    return {"robot_description": text, "lockstep": lockstep, **drives["/**"]["ros__parameters"]}


class ArmRun:
    """Simulator and controller of a PUMA 560, started together and stopped together.

    Args:
        description: path of the URDF.
        chain: of that URDF.
        rate: of the control loop [Hz].
        lockstep: simulated time instead of the wall clock.
        simulator: further parameters of the simulator.
        pause: see :class:`Observer`.
        arguments: further ROS arguments of the controller.
        controller: module of the controller's node.
        description_topic: the controller gets the description on the topic, where others may follow.
        settings: further parameters of the controller.
        record: whether a recorder takes states, commands and references; only then there are recordings.
        priority: real-time priority of the simulator, where permitted; 0: none.

    Attributes:
        domain: ROS domain of the run.
    """

    def __init__(
        self,
        description: Path,
        chain: KinematicChain,
        rate: float,
        lockstep: bool,
        simulator: Mapping[str, Any] | None = None,
        pause: float = 0.0,
        arguments: Sequence[str] = (),
        controller: str = CONTROLLER,
        description_topic: bool = False,
        settings: Mapping[str, Any] | None = None,
        record: bool = True,
        priority: int = 0,
    ) -> None:
        self._module = controller
        self._pause = pause
        self._record = record
        self._priority = priority
        self._arguments = arguments
        self.chain = chain
        self.domain = claim_domain()
        common = _common(description, lockstep)
        self._simulator = {**at_start(description, chain, rate, lockstep), **(simulator or {})}
        # The paper's law has no disturbance estimate.
        gains = {"kp": [100.0], "kv": [20.0], "ki": -1.0, "safe_fade_time": 0.0}
        self._controller = {**common, **gains, **(settings or {})}
        self._description = self._controller.pop("robot_description") if description_topic else ""
        self._stack = ExitStack()

    def __enter__(self) -> ArmRun:
        start = self._stack.enter_context
        self.controller = start(NodeProcess(self._module, self.domain, self._controller, self._arguments))
        self.simulator = start(
            NodeProcess("robot_dynamics.ros.simulator", self.domain, self._simulator, priority=self._priority)
        )
        self.observer = start(Observer(self.domain, (self.controller, self.simulator), self._pause))
        self._descriptions = self.observer.node.create_publisher(String, "robot_description", qos.DESCRIPTION)
        if self._description:
            self.describe(self._description)
        self._positions: Record = {}
        self._efforts: Record = {}
        self._references: Record = {}
        if self._record:
            self._start_recording()
        self._trajectories = self.observer.node.create_publisher(
            JointTrajectory, "computed_torque_controller/joint_trajectory", qos.TRAJECTORY
        )
        return self

    def _start_recording(self) -> None:
        order, record = JointOrder(self.chain.joint_names), self.observer.record
        self._positions = record(JointState, "joint_states", lambda m: order.read(m).position)
        self._efforts = record(JointState, "joint_command", order.read_command)
        self._references = record(
            JointState, "computed_torque_controller/reference", lambda m: order.read(m).position
        )

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, case: Case, progress: Progress) -> ArmRecording:
        """Go to the start if need be, then make the move under the conditions of ``case``.

        Raises:
            RobotDynamicsError: a node ends or falls silent.
        """
        self.wait_for_control()
        if np.abs(self.position - START).max() > 1e-3:
            self.apply(USUAL)
            self._travel(START, f"back to the start, before: {case.title}", lambda *_: None)
        if "max_following_error" in case.controller:
            progress(f"max_following_error is widened to {WIDENED} rad for the next run", 0.0)
        self.apply(case)
        begin, end = self._travel(GOAL, case.title, progress)
        return self.recording(case.title, begin, end)

    def wait_for_control(self) -> None:
        """Wait until states are answered by commands and trajectories find the controller."""
        self.observer.wait_until(
            lambda: self._controlled() and self._trajectories.get_subscription_count() > 0,
            "waiting for simulator and controller",
        )

    def _controlled(self) -> bool:
        if self._record:
            return bool(self._positions) and bool(self._references)
        return COMMANDED in self.simulator.output

    @property
    def position(self) -> Array:
        """(n,) of the newest state that was recorded [rad]."""
        return self._positions[newest(self._positions)]

    @property
    def now(self) -> int:
        """Stamp that a state would have now, by the wall clock [ns]."""
        return int(self.observer.node.get_clock().now().nanoseconds)

    def send(self, goal: Array, begin: int) -> None:
        """Send a move of DURATION that starts at a stamp [ns], or at once for 0."""
        message = JointTrajectory(joint_names=list(self.chain.joint_names))
        message.header.stamp = nanoseconds_to_stamp(begin)
        point = JointTrajectoryPoint(positions=[float(value) for value in goal])
        point.time_from_start = duration_message(DURATION)
        message.points.append(point)
        self._trajectories.publish(message)

    def impossible(self, points: int) -> bytes:
        """A trajectory of many points that is refused, as it leaves the limits at its end."""
        message = JointTrajectory(joint_names=list(self.chain.joint_names))
        for k in range(points):
            place = START if k < points - 1 else START + 1e3
            point = JointTrajectoryPoint(positions=place.tolist())
            point.time_from_start = duration_message(10.0 + 0.01 * k)
            message.points.append(point)
        return bytes(serialize_message(message))

    def describe(self, text: str) -> None:
        """Send a robot description."""
        self._descriptions.publish(String(data=text))

    def send_bytes(self, trajectory: bytes) -> None:
        """Send a trajectory that is serialized already."""
        self._trajectories.publish(trajectory)

    def apply(self, case: Case) -> None:
        """Set the parameters of a case."""
        if case.controller:
            self.observer.set_parameters("computed_torque_controller", case.controller)
        if case.simulator:
            self.observer.set_parameters("simulator", case.simulator)

    def _travel(self, goal: Array, title: str, progress: Progress) -> tuple[int, int]:
        """Make the move; returns the stamps [ns] of its begin and end."""
        observer = self.observer
        settled = observer.latest + int(NOTICE * SECOND)
        observer.wait_until(lambda: observer.latest > settled and self._rests(), f"run '{title}'")
        self.send(goal, 0)
        return self._watch(DURATION, title, progress)

    def _rests(self) -> bool:
        """Check whether the arm stands still, as far as states are recorded."""
        if not self._record:
            return True
        since = newest(self._positions) - int(REST[0] * SECOND)
        stamps = takewhile(lambda stamp: stamp > since, reversed(self._positions))
        return bool(np.ptp([self._positions[stamp] for stamp in stamps], axis=0).max() < REST[1])

    def follow(self, message: JointTrajectory, title: str, progress: Progress) -> tuple[int, int]:
        """Follow a trajectory from where it begins; returns the stamps [ns] of its begin and end."""
        self.wait_for_control()
        self._trajectories.publish(message)
        last = message.points[-1].time_from_start
        return self._watch(last.sec + 1e-9 * last.nanosec, title, progress)

    def _watch(self, duration: float, title: str, progress: Progress) -> tuple[int, int]:
        """See a move through that has been sent."""
        observer = self.observer
        begin = wait_for_start(observer, self._references, f"run '{title}'")
        end = begin + int((duration + SETTLING) * SECOND)

        def show() -> None:
            progress(title, min(1.0, max(0.0, (observer.latest - begin) / (end - begin))))

        observer.wait_until(lambda: observer.latest > end, f"run '{title}'", show)
        return begin, end

    def recording(self, title: str, begin: int, end: int) -> ArmRecording:
        """Records between two stamps [ns], once all of it has arrived."""
        self.observer.wait_until(lambda: newest(self._references) >= end, f"run '{title}'")
        stamps = complete_stamps((self._positions, self._efforts, self._references), begin, end)
        limits = [self.chain.driving_joint(j).limits.effort for j in range(self.chain.dof)]
        return ArmRecording(
            title,
            self.chain.joint_names,
            np.array([1e-9 * (stamp - begin) for stamp in stamps]),
            np.array([self._references[stamp] for stamp in stamps]),
            np.array([self._positions[stamp] for stamp in stamps]),
            np.array([self._efforts[stamp] for stamp in stamps]),
            np.array(limits),
        )
