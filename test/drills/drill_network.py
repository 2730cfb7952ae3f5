"""Controller and plant on two hosts; their cable delays, loses and reorders packets, or is pulled out."""

import contextlib
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import invariants
import namespaces
import observer
from invariants import Promise, Record
from machines import FADE, STATE_TIMEOUT
from patience import PATIENCE
from remote_machines import FED, MACHINES, Machine
from ros_harness import NodeProcess, Peer
from waits import Waits

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros
# As a user has it, in place of the profile that keeps tests on this host: the nodes choose sockets.
ENVIRONMENT = {
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
    "FASTRTPS_DEFAULT_PROFILES_FILE": "",
    "FASTDDS_DEFAULT_PROFILES_FILE": "",
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
LOOPS = [(name, loop) for name in ("arm", "platform") for loop in ("on", "off")]
"""Machines with the loops of their controllers."""


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
            lambda: self.machine.under_way in self.controller.output[printed:],
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


@dataclass(frozen=True)
class Run:
    """A machine whose controller is on another host, and who watches them.

    Attributes:
        machine: that is moved.
        cable: between both hosts.
        plant: at one end.
        controller: at the other.
        far: what passes at the plant's host.
        near: what passes at the controller's, whatever becomes of the cable.
    """

    machine: Machine
    cable: namespaces.Cable
    plant: NodeProcess
    controller: NodeProcess
    far: Record
    near: Record


@pytest.mark.parametrize(("name", "native_loop"), [*LOOPS, ("feeder", "")])
def test_a_machine_is_moved_over_a_bad_cable_and_stops_where_it_is_cut(name, native_loop, hosts, monkeypatch):
    for variable, value in ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    machine, (plant_host, controller_host, cable) = MACHINES[name], hosts
    loop = {"state_timeout": STATE_TIMEOUT, "safe_fade_time": FADE} | machine.description | machine.loop
    loop |= {"native_loop": native_loop} if native_loop else {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def start(host, node, parameters=None, arguments=(), **variables):
            variables |= ENVIRONMENT
            process = host.run(lambda: NodeProcess(node, parameters, arguments, variables))
            stack.callback(process.stop)
            at = Path(f"/proc/{process.pid}/ns/net")
            assert at.readlink() == Path(host.namespace).readlink(), "the cable would not matter to it"
            return process

        def watch(host, name, *topics):
            observed = f"{folder / name} array={machine.commands} positions=joint_states trajectory={FED}"
            process = start(host, Path(observer.__file__), RD_OBSERVED=observed)
            return Record(folder / name), process

        far, _ = watch(plant_host, "far")
        near, watcher = watch(controller_host, "near")
        module, follows = machine.follower
        if module:
            remapped = ["-r", f"kinematic_mover/joint_trajectory:={follows}"]
            plant = start(plant_host, module, machine.description, remapped)
        else:
            given = {**machine.description, **machine.plant, "rate": 100.0, "command_timeout": BRAKES_AFTER}
            plant = start(plant_host, "simulator", given)
        controller = start(controller_host, machine.node, loop)
        waits = stack.enter_context(Waits(lambda: (controller.pid, watcher.pid)))
        run = Run(machine, cable, plant, controller, far, near)
        began, cut, mended = controller_host.run(lambda: drill(run))
        judge(run, began, (cut, mended), waits)
        assert "Traceback" not in controller.output + plant.output


def drill(run):
    """Run the operator at the controller's host; give the times of its last start, the cut and the repair."""
    machine, cable, near = run.machine, run.cable, run.near
    first, second = map(np.array, machine.goals)
    peer = Peer(this_host_only=False)
    try:
        peer.processes.extend([run.plant, run.controller])
        operator = Operator(peer, run.controller, machine)
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
        run.controller.wait_for_output(r"no joint state for")
        peer.wait_until(lambda: time.monotonic() > cut + 2.0, "time stands still")
        peer.wait_until(lambda: not any(near.last(machine.commands).values), "the efforts do not fade")
        (goes_on if machine.follower[0] else stands)(run, peer, operator)
        mended = time.monotonic()
        operator.send(second, 1.0)
        operator.arrive(second)
    finally:
        peer.close()
    return began, cut, mended


def stands(run, peer, operator):
    """The plant has braked; once the cable is mended the machine is held there, until somebody moves it."""
    machine = run.machine
    run.plant.wait_for_output(r"no command for .*: brake")
    braked = np.array(run.far.last("joint_states").values)
    printed = len(run.controller.output)
    run.cable.be()
    mended = time.monotonic()
    peer.wait_until(lambda: "states are back" in run.controller.output[printed:], "no states any more")
    assert not operator.is_near(np.array(machine.goals[1]), machine.moved), "it has gone on uncontrolled"
    run.far.wait_until_noted(time.monotonic(), machine.commands, lambda: True)
    peer.wait_until(lambda: time.monotonic() > mended + 1.0, "time stands still")
    places = [one.values for one in run.far.read() if one.topic == "joint_states" and one.at > mended]
    assert np.abs(np.array(places) - braked).max() < machine.moved, "it resumes without being told"


def goes_on(run, peer, operator):
    """The fed controller goes on alone. After the repair efforts come again, and no trajectory."""
    machine, (first, second) = run.machine, run.machine.goals
    cut = time.monotonic()
    operator.sender.publish(machine.send[2]([(1.0, first)]))
    run.controller.wait_for_output(r"refused: no joint state for")

    def arrived():
        return np.abs(np.array(run.far.last("joint_states").values) - second).max() < machine.arrived

    peer.wait_until(arrived, "it needs the feeder")
    run.cable.be()
    peer.wait_until(lambda: any(run.near.last(machine.commands).values), "no efforts any more")
    assert not [one for one in run.far.read() if one.topic == FED and one.at > cut], (
        "it sends without being told"
    )


def judge(run, began, dead, waits):
    """Both observers: at the plant's host nothing comes over a cable that is cut."""
    machine = run.machine
    seen = run.near.read()
    near = Promise(machine.commands, machine.limits, silence=STATE_TIMEOUT)
    verdict = invariants.judge(seen, [near], (began, seen[-1].at), largest_step=1.0, waited=waits.between)
    assert verdict.messages and not verdict.broken, verdict.broken[:5]
    seen = run.far.read()
    far = Promise(machine.commands, machine.limits, silence=STATE_TIMEOUT + BRAKES_AFTER)
    verdict = invariants.judge(seen, [far], (began, seen[-1].at), dead=[dead], waited=waits.between)
    assert verdict.messages and not verdict.broken, verdict.broken[:5]
