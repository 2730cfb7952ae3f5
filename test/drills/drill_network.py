"""Controller and plant on two hosts; their cable delays, loses and reorders packets, or is pulled out."""

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import invariants
import namespaces
import observer
from geometry_msgs.msg import PoseStamped
from invariants import Promise, Record
from machines import ARM, FADE, FORCES, LIMITS, STATE_TIMEOUT, poses, trajectory
from patience import PATIENCE
from ros_harness import NodeProcess, Peer
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.isolation import SOCKETS, TRANSPORTS

pytestmark = pytest.mark.ros
ANY_HOST = str(Path(__file__).with_name("any_host.xml"))
ENVIRONMENT = {
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
    TRANSPORTS: SOCKETS,
    "FASTRTPS_DEFAULT_PROFILES_FILE": ANY_HOST,
    "FASTDDS_DEFAULT_PROFILES_FILE": ANY_HOST,
}
BRAKES_AFTER = 0.3
AGAIN = 5.0
"""Seconds without an arrival after which a machine is told again."""
CABLES = [
    {},
    {"delay": 0.01},
    {"loss": 0.05},
    {"jitter": 0.01},
    {"delay": 0.005, "jitter": 0.01, "loss": 0.05},
]


def position(state: JointState) -> np.ndarray:
    """Of the joints."""
    return np.array(state.position)


def place(pose: PoseStamped) -> np.ndarray:
    """Of the platform."""
    at = pose.pose.position
    return np.array([at.x, at.y, at.z])


@dataclass(frozen=True)
class Machine:
    """What is moved over the cable.

    Attributes:
        node: its controller.
        commands: their topic.
        limits: of the efforts.
        description: parameters of plant and controller.
        plant: further ones of the plant.
        loop: further ones of the controller.
        goals: where it goes, in turn.
        send: topic, type and maker of what tells it to.
        where: topic, type and reader of where it is.
        arrived: it is at a goal when it is nearer [rad or m].
        moved: it has moved when it is farther away [rad or m].
    """

    node: str
    commands: str
    limits: Sequence[float]
    description: dict[str, Any]
    plant: dict[str, Any]
    loop: dict[str, Any]
    goals: Sequence[Sequence[float]]
    send: tuple[str, type, Callable[..., Any]]
    where: tuple[str, type, Callable[[Any], np.ndarray]]
    arrived: float
    moved: float


MACHINES = {
    "arm": Machine(
        "computed_torque_controller",
        "effort_controller/commands",
        LIMITS,
        {"robot_description": ARM},
        {},
        {},
        ((0.9, -0.6), (0.2, 0.5)),
        ("joint_trajectory", JointTrajectory, trajectory),
        ("joint_states", JointState, position),
        0.02,
        0.05,
    ),
    "platform": Machine(
        "stewart_platform",
        "leg_effort_controller/commands",
        FORCES,
        {},
        {"machine": "stewart_demo"},
        {"safe_output": "gravity_fade"},
        ((0.03, 0.0, 0.57), (-0.02, 0.03, 0.54)),
        ("trajectory", MultiDOFJointTrajectory, poses),
        ("stewart_platform/pose", PoseStamped, place),
        0.004,
        0.008,
    ),
}


class Operator:
    """Somebody at the controller's host who tells the machine where to go and looks where it is."""

    def __init__(self, peer, controller, machine):
        self.peer, self.controller, self.machine = peer, controller, machine
        self.seen = []
        topic, kind, _ = machine.where
        peer.node.create_subscription(kind, topic, self.seen.append, qos.STATE_SUBSCRIPTION)
        topic, kind, _ = machine.send
        self.sender = peer.publisher(kind, f"{machine.node}/{topic}", qos.TRAJECTORY)
        peer.wait_until(lambda: self.seen, "no states over the cable")

    def is_near(self, goal, distance):
        read = self.machine.where[2]
        return np.abs(read(self.seen[-1]) - goal).max() < distance

    def send(self, goal, seconds):
        printed = len(self.controller.output)
        make = self.machine.send[2]
        self.peer.repeat_until(
            lambda: self.sender.publish(make([(seconds, goal)])),
            lambda: "following a trajectory of" in self.controller.output[printed:],
            "the trajectory is not followed",
        )

    def arrive(self, goal):
        """A machine that lost its states on the way is told again."""
        deadline, due = time.monotonic() + PATIENCE, time.monotonic() + AGAIN
        while not self.is_near(goal, self.machine.arrived):
            assert time.monotonic() < deadline, f"it does not reach {goal}\n{self.controller.describe()}"
            if time.monotonic() > due:
                self.send(goal, 2.0)
                due = time.monotonic() + AGAIN
            self.peer.executor.spin_once(timeout_sec=0.05)


@pytest.fixture
def hosts():
    reason = namespaces.impossible()
    if reason:
        pytest.skip(f"no network namespaces: {reason}")
    with namespaces.two_hosts() as found:
        yield found


@pytest.mark.parametrize("native_loop", ["on", "off"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_is_moved_over_a_bad_cable_and_stops_where_it_is_cut(name, native_loop, hosts, monkeypatch):
    for variable, value in ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    machine, (plant_host, controller_host, cable) = MACHINES[name], hosts
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "record.jsonl")
        given = {**machine.description, **machine.plant, "rate": 100.0, "command_timeout": BRAKES_AFTER}
        plant = plant_host.run(lambda: NodeProcess("simulator", given, environment=ENVIRONMENT))
        watched = {**ENVIRONMENT, "RD_OBSERVED": f"{file} array={machine.commands} positions=joint_states"}
        watcher = plant_host.run(lambda: NodeProcess(Path(observer.__file__), environment=watched))
        loop = {"native_loop": native_loop, "state_timeout": STATE_TIMEOUT, "safe_fade_time": FADE}
        loop = {**machine.description, **machine.loop, **loop}
        controller = controller_host.run(lambda: NodeProcess(machine.node, loop, environment=ENVIRONMENT))
        try:
            controller_host.run(lambda: drill(machine, cable, plant, controller, Record(file)))
        finally:
            for process in (controller, plant, watcher):
                process.stop()
        assert "Traceback" not in controller.output + plant.output


def drill(machine, cable, plant, controller, record):
    """Everything that the operator does; runs on the controller's host."""
    first, second = map(np.array, machine.goals)
    peer = Peer(this_host_only=False)
    try:
        peer.processes.extend([plant, controller])
        operator = Operator(peer, controller, machine)
        for k, faults in enumerate(CABLES):
            cable.be(**faults)
            operator.send(machine.goals[k % 2], 1.0)
            operator.arrive(machine.goals[k % 2])
        cable.be()
        began = time.monotonic()
        operator.send(second, 4.0)
        peer.wait_until(lambda: not operator.is_near(first, machine.moved), "it does not move")
        cable.be(loss=1.0)
        cut = time.monotonic()
        plant.wait_for_output(r"no command for .*: brake")
        controller.wait_for_output(r"no joint state for")
        peer.wait_until(lambda: time.monotonic() > cut + 2.0, "time stands still")
        braked = np.array(record.last("joint_states").values)
        printed = len(controller.output)
        cable.be()
        mended = time.monotonic()
        peer.wait_until(lambda: "states are back" in controller.output[printed:], "no states any more")
        assert not operator.is_near(second, machine.moved), "it has gone on without its controller"
        record.wait_until_noted(time.monotonic(), machine.commands, lambda: True)
        peer.wait_until(lambda: time.monotonic() > mended + 1.0, "time stands still")
        places = [one.values for one in record.read() if one.topic == "joint_states" and one.at > mended]
        assert np.abs(np.array(places) - braked).max() < machine.moved, "it resumes without being told"
        operator.send(second, 1.0)
        operator.arrive(second)
    finally:
        peer.close()
    seen = record.read()
    efforts = Promise(machine.commands, machine.limits, silence=STATE_TIMEOUT + BRAKES_AFTER)
    verdict = invariants.judge(seen, [efforts], (began, seen[-1].at), dead=[(cut, mended + PATIENCE)])
    assert verdict.messages and not verdict.broken, verdict.broken[:5]
    assert math.isfinite(verdict.effort)
