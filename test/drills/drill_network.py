"""Controller and plant on two hosts; their cable delays, loses and reorders packets, or is pulled out."""

import math
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import invariants
import namespaces
import observer
from invariants import Promise, Record
from machines import ARM, FADE, LIMITS, STATE_TIMEOUT, trajectory
from patience import PATIENCE
from ros_harness import NodeProcess, Peer
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros
NODE, COMMANDS = "computed_torque_controller", "effort_controller/commands"
ANY_HOST = str(Path(__file__).with_name("any_host.xml"))
ENVIRONMENT = {
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
    "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
    "FASTRTPS_DEFAULT_PROFILES_FILE": ANY_HOST,
    "FASTDDS_DEFAULT_PROFILES_FILE": ANY_HOST,
}
BRAKES_AFTER = 0.3
CABLES = [
    {},
    {"delay": 0.01},
    {"loss": 0.05},
    {"jitter": 0.01},
    {"delay": 0.005, "jitter": 0.01, "loss": 0.05},
]
GOALS = [(0.9, -0.6), (0.2, 0.5)]


class Operator:
    """Somebody at the controller's host who tells the arm where to go and looks where it is."""

    def __init__(self, peer, controller):
        self.peer, self.controller = peer, controller
        self.states = []
        peer.node.create_subscription(JointState, "joint_states", self.states.append, qos.STATE_SUBSCRIPTION)
        self.sender = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        peer.wait_until(lambda: self.states, "no states over the cable")

    @property
    def place(self):
        return np.array(self.states[-1].position)

    def send(self, goal, seconds):
        printed = len(self.controller.output)
        self.peer.repeat_until(
            lambda: self.sender.publish(trajectory([(seconds, goal)])),
            lambda: "following a trajectory" in self.controller.output[printed:],
            "the trajectory is not followed",
        )

    def arrive(self, goal):
        self.peer.wait_until(lambda: np.abs(self.place - goal).max() < 0.02, f"the arm does not reach {goal}")


@pytest.fixture
def hosts():
    reason = namespaces.impossible()
    if reason:
        pytest.skip(f"no network namespaces: {reason}")
    with namespaces.two_hosts() as found:
        yield found


def test_the_arm_is_moved_over_a_bad_cable_and_stops_where_it_is_cut(hosts, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    plant_host, controller_host, cable = hosts
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "record.jsonl")
        given = {"robot_description": ARM, "rate": 100.0, "command_timeout": BRAKES_AFTER}
        plant = plant_host.run(lambda: NodeProcess("simulator", given, environment=ENVIRONMENT))
        watched = {**ENVIRONMENT, "RD_OBSERVED": f"{file} array={COMMANDS} positions=joint_states"}
        watcher = plant_host.run(lambda: NodeProcess(Path(observer.__file__), environment=watched))
        loop = {"robot_description": ARM, "state_timeout": STATE_TIMEOUT, "safe_fade_time": FADE}
        controller = controller_host.run(lambda: NodeProcess(NODE, loop, environment=ENVIRONMENT))
        try:
            controller_host.run(lambda: drill(cable, plant, controller, Record(file)))
        finally:
            for process in (controller, plant, watcher):
                process.stop()
        assert "Traceback" not in controller.output + plant.output


def drill(cable, plant, controller, record):
    """Everything that the operator does; runs on the controller's host."""
    peer = Peer(this_host_only=False)
    try:
        peer.processes.extend([plant, controller])
        operator = Operator(peer, controller)
        for k, faults in enumerate(CABLES):
            cable.be(**faults)
            operator.send(GOALS[k % 2], 1.0)
            operator.arrive(GOALS[k % 2])
        cable.be()
        began = time.monotonic()
        operator.send(GOALS[1], 4.0)
        peer.wait_until(lambda: np.abs(operator.place - GOALS[0]).max() > 0.05, "the arm does not move")
        cable.be(loss=1.0)
        cut = time.monotonic()
        plant.wait_for_output(r"no command for .*: brake")
        controller.wait_for_output(r"no joint state for")
        peer.wait_until(lambda: time.monotonic() > cut + 2.0, "time stands still")
        braked = np.array(record.last("joint_states").values)
        assert np.abs(braked - GOALS[1]).max() > 0.05, "it has gone on without its controller"
        printed = len(controller.output)
        cable.be()
        mended = time.monotonic()
        peer.wait_until(lambda: "states are back" in controller.output[printed:], "no states any more")
        record.wait_until_noted(time.monotonic(), COMMANDS, lambda: True)
        peer.wait_until(lambda: time.monotonic() > mended + 1.0, "time stands still")
        places = [one.values for one in record.read() if one.topic == "joint_states" and one.at > mended]
        assert np.abs(np.array(places) - braked).max() < 0.05, "it resumes without being told"
        operator.send(GOALS[1], 1.0)
        operator.arrive(GOALS[1])
    finally:
        peer.close()
    seen = record.read()
    efforts = Promise(COMMANDS, LIMITS, silence=STATE_TIMEOUT + BRAKES_AFTER)
    verdict = invariants.judge(seen, [efforts], (began, seen[-1].at), dead=[(cut, mended + PATIENCE)])
    assert verdict.messages and not verdict.broken, verdict.broken[:5]
    assert math.isfinite(verdict.effort)
