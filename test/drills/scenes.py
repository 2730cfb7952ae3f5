"""The machines that are drilled: the columns of the table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from invariants import Promise
from machines import (
    ARM,
    FADE,
    FORCES,
    LEGS,
    LIMITS,
    LONGEST,
    RATE,
    SHORTEST,
    SPEEDS,
    STATE_TIMEOUT,
    poses,
)
from ros_harness import NodeProcess
from scene import Scene
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory
from wire import PLANT

from robot_dynamics.ros.support import qos

OF_SECOND = "second/efforts"
"""Topic on which only a second node sends."""


def _commanded(topic: str, limits: Sequence[float]) -> tuple[Promise, ...]:
    """The topics of a controller: unstamped efforts, the same with stamps, those of a second controller."""
    both = (Promise(one, limits, STATE_TIMEOUT) for one in (topic, "joint_command"))
    return *both, Promise(OF_SECOND, limits)


RESTING, STANDS = 10, 1e-3
"""Setpoints in a row that are at rest, and by how much they may differ [m, m/s]."""
LOOP = {"state_timeout": STATE_TIMEOUT, "safe_fade_time": FADE}


class Arm(Scene):
    """The arm's controller, its loop in C."""

    node = "computed_torque_controller"
    watched = ("array=effort_controller/commands", "efforts=joint_command", f"efforts={OF_SECOND}")
    second_arguments = ("-r", f"joint_command:={OF_SECOND}")
    promises = _commanded("effort_controller/commands", LIMITS)
    parameters: ClassVar[Mapping[str, Any]] = {"robot_description": ARM, "native_loop": "on", **LOOP}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = {"robot_description": ARM}


class ArmInPython(Arm):
    """The arm's controller, its loop in Python."""

    parameters: ClassVar[Mapping[str, Any]] = {**Arm.parameters, "native_loop": "off"}


class ArmInSimulatedTime(Arm):
    """The arm's controller with the clock of a simulation."""

    simulated_time = True


class ArmInPythonInSimulatedTime(ArmInPython):
    """The arm's controller, its loop in Python, with the clock of a simulation."""

    simulated_time = True


class Platform(Scene):
    """The Stewart platform's controller, its loop in C."""

    node = "stewart_platform"
    joints = LEGS
    watched = ("array=leg_effort_controller/commands", "efforts=joint_command", f"efforts={OF_SECOND}")
    second_arguments = ("-r", f"joint_command:={OF_SECOND}")
    promises = _commanded("leg_effort_controller/commands", FORCES)
    parameters: ClassVar[Mapping[str, Any]] = {"native_loop": "on", "safe_output": "gravity_fade", **LOOP}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = {"machine": "stewart_demo"}
    goals = ((0.03, 0.0, 0.57), (-0.02, 0.03, 0.54))
    make = staticmethod(poses)
    trajectory_type = MultiDOFJointTrajectory
    trajectory_topic = "trajectory"

    def put_home(self) -> None:
        """See :class:`Scene`; a new machine is at home in the simulator."""
        assert self.plant is not None
        with self.silent():
            self.plant.stop()
            self.start_plant()

    def works(self) -> bool:
        """True if it holds when it is told to; from its brakes it rises first."""
        before = len(self.process.output)
        self.peer.call(Trigger, f"{self.node}/unpark")
        holds = super().works()
        if not holds and "no pose near the last one" in self.process.output[before:]:
            self.put_home()
        return holds


class PlatformInPython(Platform):
    """The platform's controller, its loop in Python."""

    parameters: ClassVar[Mapping[str, Any]] = {**Platform.parameters, "native_loop": "off"}


class PlatformInSimulatedTime(Platform):
    """The platform's controller with the clock of a simulation."""

    simulated_time = True


class PlatformInPythonInSimulatedTime(PlatformInPython):
    """The platform's controller, its loop in Python, with the clock of a simulation."""

    simulated_time = True


class PlatformOfPositions(Platform):
    """The platform's controller for drives that take lengths, its loop in C."""

    topic_of_setpoints: ClassVar[str] = "leg_position_controller/commands"
    watched = (f"array={topic_of_setpoints}", "efforts=joint_command", f"efforts={OF_SECOND}")
    # Every length that is sent is one that the legs have, never the number zero.
    promises = (
        Promise(topic_of_setpoints, LONGEST, STATE_TIMEOUT, least=SHORTEST),
        *_commanded(topic_of_setpoints, FORCES)[1:],
    )
    parameters: ClassVar[Mapping[str, Any]] = {**Platform.parameters, "command": "position"}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = {"machine": "stewart_demo", "drives": "position"}

    def wait_for_no_effort(self) -> None:
        """See :class:`Scene`; setpoints come to rest instead."""

        def rest() -> bool:
            mine = [one.values for one in self.record.read() if one.topic == self.topic][-RESTING:]
            spreads = [max(values) - min(values) for values in zip(*mine, strict=True)]
            return len(mine) == RESTING and max(spreads) < STANDS

        self.peer.wait_until(rest, "the setpoints do not come to rest")


class PlatformOfVelocities(PlatformOfPositions):
    """The platform's controller for drives that take speeds, its loop in Python."""

    topic_of_setpoints: ClassVar[str] = "leg_velocity_controller/commands"
    watched = (f"array={topic_of_setpoints}", "efforts=joint_command", f"efforts={OF_SECOND}")
    promises = _commanded(topic_of_setpoints, SPEEDS)[:1] + _commanded(topic_of_setpoints, FORCES)[1:]
    parameters: ClassVar[Mapping[str, Any]] = {**PlatformInPython.parameters, "command": "velocity"}
    plant_parameters: ClassVar[Mapping[str, Any] | None] = {"machine": "stewart_demo", "drives": "velocity"}


class Feeder(Scene):
    """The feeder of a trajectory controller, its efforts in time on a topic."""

    node = "trajectory_feedforward"
    watched = (
        "array=effort_controller/commands",
        f"array={OF_SECOND}",
        "trajectory=joint_trajectory_controller/joint_trajectory",
    )
    second_arguments = ("-r", f"effort_controller/commands:={OF_SECOND}")
    promises = (
        Promise("effort_controller/commands", LIMITS, STATE_TIMEOUT),
        Promise(OF_SECOND, LIMITS),
        Promise("joint_trajectory_controller/joint_trajectory", LIMITS, rows=True),
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "robot_description": ARM,
        "effort_path": "commands",
        "command_rate": 100.0,
        **LOOP,
    }

    def works(self) -> bool:
        """True if it could tell its controller to hold."""
        return bool(self.peer.call(Trigger, f"{self.node}/hold").success)

    def loses_states(self, words: str = "") -> None:
        """See :class:`Scene`; it takes no trajectory either."""
        goal = self.make([(1.0, self.goals[0])])
        self.send_until(f"refused: ({words or 'no joint state for'})", self.trajectories, goal)
        self.wait_for_no_effort()

    @contextlib.contextmanager
    def second(self) -> Iterator[NodeProcess]:
        """See :class:`Scene`; it has but one topic, so that the wire hands on what it sends."""
        self.wire.hand_on(Float64MultiArray, OF_SECOND, self.topic, qos.COMMAND)
        with super().second() as process:
            yield process


class FeederInSimulatedTime(Feeder):
    """The feeder of a trajectory controller with the clock of a simulation."""

    simulated_time = True


class FeederOfPoints(Feeder):
    """The feeder of a trajectory controller, its efforts in the points of the trajectories."""

    parameters: ClassVar[Mapping[str, Any]] = {**Feeder.parameters, "effort_path": "trajectory"}
    promises = (Promise("joint_trajectory_controller/joint_trajectory", LIMITS, rows=True),)
    second_arguments = ()

    def loses_states(self, words: str = "") -> None:
        """See :class:`Scene`; it takes no trajectory."""
        goal = self.make([(1.0, self.goals[0])])
        self.send_until(f"refused: ({words or 'no joint state for'})", self.trajectories, goal)

    @contextlib.contextmanager
    def second(self) -> Iterator[NodeProcess]:
        """See :class:`Scene`; each message is a whole of its own."""
        with Scene.second(self) as process:
            yield process


class Model(Scene):
    """The model's node, which tells the load of gravity and commands nothing."""

    node = "robot_model"
    watched = ("efforts=robot_model/gravity_load",)
    promises = (Promise("robot_model/gravity_load"),)
    moves = False

    def loses_states(self, words: str = "") -> None:
        """See :class:`Scene`; it says nothing of them, and tells no load."""
        self.rest(0.5)

    def works(self) -> bool:
        """True if it prints its table."""
        return bool(self.peer.call(Trigger, f"{self.node}/print").success)


class ModelInSimulatedTime(Model):
    """The model's node with the clock of a simulation."""

    simulated_time = True


class Simulator(Scene):
    """The simulator itself, with nobody who commands it but the test."""

    node = "simulator"
    watched = (f"positions={PLANT}",)
    promises = (Promise(PLANT, silence=STATE_TIMEOUT),)
    moves = False

    def loses_states(self, words: str = "") -> None:
        """See :class:`Scene`; it is who sends them."""

    parameters: ClassVar[Mapping[str, Any]] = {"robot_description": ARM, "rate": RATE, "command_timeout": 0.3}

    def start_node(self) -> None:
        """Its states go over the wire."""
        self.process = NodeProcess(
            self.node, self.parameters, ["-r", f"joint_states:={PLANT}"], self.environment
        )
        self.wire.wait_for_states(1)

    def start_plant(self) -> None:
        """It is the plant."""

    def works(self) -> bool:
        """True if the arm goes back to where it began when it is told to."""
        return bool(self.peer.call(Trigger, f"{self.node}/reset").success)


COLUMNS: dict[str, type[Scene]] = {
    "arm": Arm,
    "arm_in_python": ArmInPython,
    "arm_in_simulated_time": ArmInSimulatedTime,
    "arm_in_python_in_simulated_time": ArmInPythonInSimulatedTime,
    "platform": Platform,
    "platform_in_python": PlatformInPython,
    "platform_in_simulated_time": PlatformInSimulatedTime,
    "platform_in_python_in_simulated_time": PlatformInPythonInSimulatedTime,
    "platform_of_positions": PlatformOfPositions,
    "platform_of_velocities": PlatformOfVelocities,
    "feeder": Feeder,
    "feeder_in_simulated_time": FeederInSimulatedTime,
    "feeder_of_points": FeederOfPoints,
    "model": Model,
    "model_in_simulated_time": ModelInSimulatedTime,
    "simulator": Simulator,
}
PLATFORMS = ("platform", "platform_in_python", "platform_of_positions", "platform_of_velocities")
CONTROLLERS = ("arm", "arm_in_python", *PLATFORMS)
FEEDERS = ("feeder", "feeder_of_points")
WITH_STATES = (*CONTROLLERS, "feeder", "model")
IN_SIMULATED_TIME = tuple(name for name in COLUMNS if name.endswith("_in_simulated_time"))
BY_THE_WALL = tuple(name for name in COLUMNS if name not in IN_SIMULATED_TIME)
WITH_A_PLANT = tuple(name for name, scene in COLUMNS.items() if scene.plant_parameters is not None)
THAT_MOVE_IN_SIMULATED_TIME = tuple(name for name in IN_SIMULATED_TIME if COLUMNS[name].moves)
