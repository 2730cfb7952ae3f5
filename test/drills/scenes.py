"""The machines that are drilled: a node of the package, what it moves, the wire between, and an observer."""

from __future__ import annotations

import contextlib
import itertools
import math
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import invariants
import observer
from geometry_msgs.msg import Transform
from invariants import Promise, Record, Verdict
from ros_harness import NodeProcess, Peer
from std_srvs.srv import Trigger
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)
from wire import PLANT, PLANT_CLOCK, Wire

from robot_dynamics.ros.support import qos

ARM = """
<robot name="two_links">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="40" velocity="5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="8" velocity="5"/></joint>
</robot>
"""
JOINTS, LIMITS = ["shoulder", "elbow"], [40.0, 8.0]
LEGS, FORCES = [f"leg_{k}" for k in range(1, 7)], [1500.0] * 6
STATE_TIMEOUT, FADE = 0.25, 0.3
RATE = 100.0


def trajectory(
    points: Sequence[tuple[float, Sequence[float]]], names: Sequence[str] = JOINTS
) -> JointTrajectory:
    """Positions of joints over time."""
    message = JointTrajectory(joint_names=list(names))
    for seconds, positions in points:
        point = JointTrajectoryPoint(positions=[float(p) for p in positions])
        _set_time(point, seconds)
        message.points.append(point)
    return message


def poses(points: Sequence[tuple[float, Sequence[float]]]) -> MultiDOFJointTrajectory:
    """Places of a platform over time, level."""
    message = MultiDOFJointTrajectory(joint_names=["platform"])
    for seconds, place in points:
        transform = Transform()
        transform.translation.x, transform.translation.y, transform.translation.z = map(float, place)
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        _set_time(point, seconds)
        message.points.append(point)
    return message


def _set_time(point: Any, seconds: float) -> None:
    point.time_from_start.sec = math.floor(seconds)
    point.time_from_start.nanosec = math.floor((seconds % 1) * 1e9)


class Scene:
    """A node under drill and what belongs to it; a context manager.

    Attributes:
        node: name of the node.
        joints: that it moves.
        wire: between plant and node.
        peer: of the test, for services and messages.
        process: of the node.
        plant: process of the simulator; None where the wire plays it.
        record: of the observer.
        dead: intervals of steady time in which the node had nothing to send.
    """

    node: ClassVar[str]
    joints: ClassVar[list[str]] = JOINTS
    watched: ClassVar[tuple[str, ...]]
    promises: ClassVar[tuple[Promise, ...]]
    parameters: ClassVar[Mapping[str, Any]] = {"robot_description": ARM}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = None
    goals: ClassVar[Sequence[Sequence[float]]] = ((0.9, -0.6), (0.2, 0.5))
    make: Callable[..., Any] = staticmethod(trajectory)
    trajectory_type: ClassVar[type] = JointTrajectory
    trajectory_topic = "joint_trajectory"
    moves = True
    simulated_time = False

    def __init__(self) -> None:
        self.plant: NodeProcess | None = None
        self.dead: list[tuple[float, float]] = []
        self._printed = 0
        self._stack = contextlib.ExitStack()
        self._goal = itertools.cycle(self.goals)

    def __enter__(self) -> Scene:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "record.jsonl"
        self.wire = Wire()
        self._stack.callback(self.wire.close)
        self.peer = Peer()
        self._stack.callback(self.peer.close)
        self._observer = self._stack.enter_context(
            _Observer(Path(observer.__file__), (str(file), *self.watched))
        )
        self.record = Record(file)
        self._observer.wait_for_output("observing")
        self._stack.callback(self._stop)
        self.start_plant()
        self.start_node()
        if self.moves:
            self._trajectories = self.peer.publisher(
                self.trajectory_type, f"{self.node}/{self.trajectory_topic}", qos.TRAJECTORY
            )
        self.recover()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _stop(self) -> None:
        for process in (self.process, self.plant):
            if process is not None:
                process.stop()

    # Processes

    def start_node(self) -> None:
        """Start the node under drill."""
        clock = {"use_sim_time": True} if self.simulated_time else {}
        self.process = NodeProcess(self.node, {**self.parameters, **clock})

    def start_plant(self) -> None:
        """Start what the node moves."""
        if self.plant_parameters is None:
            if self.wire.last is None:
                self.wire.play(self.joints, [0.4, 0.3])
            return
        remapped = ["-r", f"joint_states:={PLANT}", "-r", f"/clock:={PLANT_CLOCK}"]
        given = {"rate": RATE, "publish_clock": self.simulated_time, "command_timeout": 0.3}
        self.plant = NodeProcess("simulator", {**given, **self.plant_parameters}, remapped)
        self.wire.wait_for_states(1)

    def kill(self, process: NodeProcess) -> None:
        """SIGKILL, and wait for the end."""
        process.send_signal(signal.SIGKILL)
        process.wait_for_exit()
        process.stop()

    # What a drill does

    @property
    def topic(self) -> str:
        """The topic of the first promise: what the node sends as long as it lives."""
        return self.promises[0].topic

    def move(self, seconds: float = 2.0) -> None:
        """Send the machine to the next of its goals, and wait until it is on its way."""
        if self.moves:
            goal = self.make([(seconds, next(self._goal))])
            # A node that was started a moment ago may not be known yet.
            self._printed = len(self.process.output)
            self.send_until(r"following a trajectory|sent \d+ points", self._trajectories, goal)
            self.wire.wait_for_states(20)

    def send(self, message: Any) -> None:
        """A trajectory, an object or bytes."""
        self._trajectories.publish(message)

    def said(self, pattern: str) -> None:
        """Wait until the node has printed it since the last move."""
        self.peer.wait_until(
            lambda: invariants.found(pattern, self.process.output[self._printed :]),
            f"the node never said {pattern!r}",
        )

    def send_until(self, pattern: str, publisher: Any, message: Any) -> None:
        """Publish what may get lost until the node has said something new that matches."""
        before = len(self.process.output)
        self.peer.repeat_until(
            lambda: publisher.publish(message),
            lambda: invariants.found(pattern, self.process.output[before:]),
            f"the node never said {pattern}",
        )

    def recover(self) -> None:
        """Wait until the node is at work again: it says so, and an answer to a newer state is seen."""
        assert self.process.running, self.process.describe()
        self.peer.processes = [self.process, self._observer]
        began = time.monotonic()
        self.peer.wait_until(self.works, f"{self.node} is not at work again")
        # What it sends once may be sent before the observer is known.
        self.peer.repeat_until(
            self.works, lambda: self.record.has_noted(began, self.topic), f"nothing on {self.topic} any more"
        )

    def works(self) -> bool:
        """Whether the node holds its machine when it is told to."""
        answer = self.peer.call(Trigger, f"{self.node}/hold")
        return bool(answer.success) and answer.message == "holding position"

    def judge(self, began: float, largest_step: float) -> Verdict:
        """What the observer has seen since, held against what the node promises."""
        seen = self.record.read()
        return invariants.judge(seen, self.promises, (began, seen[-1].at), self.dead, largest_step)

    @contextlib.contextmanager
    def silent(self) -> Any:
        """The node may be silent meanwhile, until it has sent something again."""
        last = self.record.last(self.topic)
        began = last.at if last is not None else 0.0
        yield
        self.dead.append((began, time.monotonic()))


class _Observer(NodeProcess):
    """The observer as a process."""

    def __init__(self, file: Path, arguments: Sequence[str]) -> None:
        super().__init__(file, environment={"RD_OBSERVED": " ".join(arguments)})


def _commanded(topic: str, limits: Sequence[float]) -> tuple[Promise, ...]:
    """Both topics of a controller: the unstamped efforts and the same with stamps."""
    return tuple(Promise(one, limits, STATE_TIMEOUT) for one in (topic, "joint_command"))


LOOP = {"state_timeout": STATE_TIMEOUT, "safe_fade_time": FADE}


class Arm(Scene):
    """The arm's controller, its loop in C."""

    node = "computed_torque_controller"
    watched = ("array=effort_controller/commands", "efforts=joint_command")
    promises = _commanded("effort_controller/commands", LIMITS)
    parameters: ClassVar[Mapping[str, Any]] = {"robot_description": ARM, "native_loop": "on", **LOOP}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = {"robot_description": ARM}


class ArmInPython(Arm):
    """The arm's controller, its loop in Python."""

    parameters: ClassVar[Mapping[str, Any]] = {**Arm.parameters, "native_loop": "off"}


class ArmInSimulatedTime(Arm):
    """The arm's controller with the clock of a simulation."""

    simulated_time = True


class Platform(Scene):
    """The Stewart platform's controller."""

    node = "stewart_platform"
    joints = LEGS
    watched = ("array=leg_effort_controller/commands", "efforts=joint_command")
    promises = _commanded("leg_effort_controller/commands", FORCES)
    parameters: ClassVar[Mapping[str, Any]] = {**LOOP, "safe_output": "gravity_fade"}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = {"machine": "stewart_demo"}
    goals = ((0.03, 0.0, 0.57), (-0.02, 0.03, 0.54))
    make = staticmethod(poses)
    trajectory_type = MultiDOFJointTrajectory
    trajectory_topic = "trajectory"


class PlatformInSimulatedTime(Platform):
    """The platform's controller with the clock of a simulation."""

    simulated_time = True


class Feeder(Scene):
    """The feeder of a trajectory controller, its efforts in time on a topic."""

    node = "trajectory_feedforward"
    watched = ("array=effort_controller/commands", "trajectory=joint_trajectory_controller/joint_trajectory")
    promises = (
        Promise("effort_controller/commands", LIMITS, STATE_TIMEOUT),
        Promise("joint_trajectory_controller/joint_trajectory", LIMITS, rows=True),
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "robot_description": ARM,
        "effort_path": "commands",
        "command_rate": 100.0,
        **LOOP,
    }

    def works(self) -> bool:
        """Whether it could tell its controller to hold."""
        return bool(self.peer.call(Trigger, f"{self.node}/hold").success)


class FeederOfPoints(Feeder):
    """The feeder of a trajectory controller, its efforts in the points of the trajectories."""

    parameters: ClassVar[Mapping[str, Any]] = {**Feeder.parameters, "effort_path": "trajectory"}
    promises = (Promise("joint_trajectory_controller/joint_trajectory", LIMITS, rows=True),)


class Model(Scene):
    """The model's node, which tells the load of gravity and commands nothing."""

    node = "robot_model"
    watched = ("efforts=robot_model/gravity_load",)
    promises = (Promise("robot_model/gravity_load"),)
    moves = False

    def works(self) -> bool:
        """Whether it prints its table."""
        return bool(self.peer.call(Trigger, f"{self.node}/print").success)


COLUMNS: dict[str, type[Scene]] = {
    "arm": Arm,
    "arm_in_python": ArmInPython,
    "arm_in_simulated_time": ArmInSimulatedTime,
    "platform": Platform,
    "platform_in_simulated_time": PlatformInSimulatedTime,
    "feeder": Feeder,
    "feeder_of_points": FeederOfPoints,
    "model": Model,
}
CONTROLLERS = ("arm", "arm_in_python", "platform")
ARMS = ("arm", "arm_in_python")
FEEDERS = ("feeder", "feeder_of_points")
WITH_STATES = (*CONTROLLERS, "feeder", "model")
IN_SIMULATED_TIME = ("arm_in_simulated_time", "platform_in_simulated_time")
