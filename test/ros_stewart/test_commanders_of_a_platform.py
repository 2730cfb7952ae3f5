"""Two controllers of one platform, and brakes with an owner: real nodes, MuJoCo, an observer of the pose."""

import contextlib
import itertools
import re
import signal

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Transform
from legs import NODE, SECOND, Legs, demo, forces_at
from ros_harness import UNSUPERVISED, Lifecycle, NodeProcess, Peer, end_in_motion, peer_with
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.processes import OWN_DOMAIN

pytestmark = pytest.mark.ros
FALL = 0.01
"""A greater descent is a fall [m]; braked legs give way by some millimetres."""
SHARED = {OWN_DOMAIN: "0"}


class Scene:
    """A simulated platform, its controllers, and the height that an observer sees."""

    def __init__(self, stack, folder):
        pytest.importorskip("mujoco", reason="MuJoCo simulates the platform")
        self._stack, self._environment = stack, {"XDG_STATE_HOME": str(folder)}
        self.peer = Peer()
        stack.callback(self.peer.close)
        plant = {"machine": "stewart_demo", "rate": 200.0, "command_timeout": 0.4}
        self.enter(NodeProcess("simulator", plant))
        self.heights, self.brakes = [], []
        observe = self.peer.node.create_subscription
        observe(PoseStamped, "simulator/platform_pose", self._see, 10)
        observe(Bool, f"{NODE}/brake", lambda message: self.brakes.append(message.data), 10)

    def _see(self, message):
        self.heights.append(message.pose.position.z)

    def enter(self, process):
        self._stack.enter_context(process)
        self.peer.processes.append(process)
        return process

    def start(self, shared=True, **parameters):
        """One more instance of the platform's node, under the same name."""
        environment = {**self._environment, **(SHARED if shared else {})}
        return self.enter(NodeProcess(NODE, parameters, environment=environment))

    def hang(self):
        """From now on nothing but the controller's brakes and forces hold the platform."""
        simulator = self.peer.processes[0]
        for said in ("commanded from now on", "brakes follow their commands from now on"):
            self.wait(lambda said=said: said in simulator.output, "the simulator hears no command")
        assert self.peer.set_parameter("simulator", "on_timeout", "zero_effort").successful

    def kill(self, node):
        self.peer.processes.remove(node)
        node.send_signal(signal.SIGKILL)
        node.wait_for_exit()

    def wait(self, condition, what):
        return self.peer.wait_until(condition, what)

    def owner_and_spare(self, old, new):
        """Wait until one of two nodes is refused; where the old one is slow or starved it may be that one."""
        waits, yields, heard = "not activated: efforts of", "this node is silent from now on", len(old.output)

        def pairs():
            refused = waits in new.output, any(said in old.output[heard:] for said in (waits, yields))
            return [pair for pair, spare in zip(((old, new), (new, old)), refused, strict=True) if spare]

        return self.wait(pairs, "neither is refused")[0]

    def wait_for_repeats(self, what):
        """Wait for commands to the brakes, of which a killed node has left none."""
        heard = len(self.brakes)
        self.wait(lambda: len(self.brakes) > heard + 20, what)

    def ask(self, service):
        answer = self.peer.call(Trigger, f"{NODE}/{service}")
        assert answer.success, answer.message

    def see(self, count=50):
        """Heights of the next so many poses."""
        self.heights.clear()
        self.wait(lambda: len(self.heights) >= count, "no poses")
        return np.array(self.heights)


@pytest.fixture
def scene(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Scene(stack, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("host", ["on", "off"])
def test_a_stopped_platform_does_not_fall_when_a_second_node_comes_and_goes(scene, host):
    """The second node opened the brakes; when it was killed the platform fell 0.17 to 0.20 m at 0.84 m/s."""
    first = scene.start(shared=False, native_loop=host)
    scene.wait(lambda: scene.brakes and not scene.brakes[-1], "the brakes are not released")
    scene.hang()
    scene.ask("emergency_stop")
    scene.wait(lambda: "stopped: on its brakes until ~/unpark" in first.output, "it does not stop")
    rest = scene.see()[-1]
    scene.brakes.clear()
    second = scene.start(native_loop=host)
    scene.owner_and_spare(first, second)
    scene.kill(second)
    scene.wait_for_repeats("the owner does not repeat its command")
    # The owner itself dies, and another takes its place.
    third = scene.start(native_loop=host)
    owner, _ = scene.owner_and_spare(first, third)
    scene.kill(owner)
    scene.wait_for_repeats("the spare does not take over")
    assert abs(scene.see()[-1] - rest) < FALL
    assert min(scene.heights) > rest - FALL
    assert all(scene.brakes)


def test_brakes_engage_when_their_owner_dies(scene):
    """Without commands the simulator's platform would fall: its timeout gives no effort."""
    node = scene.start(shared=False)
    scene.wait(lambda: scene.brakes and not scene.brakes[-1], "the brakes are not released")
    scene.hang()
    simulator = scene.peer.processes[0]
    scene.kill(node)
    scene.wait(lambda: "no command to the brakes for" in simulator.output, "the brakes do not engage")
    fallen = scene.see(100)
    assert np.ptp(fallen[50:]) < 1e-3, "it falls on"


def up():
    """A trajectory 0.05 m up from home in 1 s."""
    place = Transform()
    place.translation.z, place.rotation.w = float(demo().machine.home_position[2]) + 0.05, 1.0
    point = MultiDOFJointTrajectoryPoint(transforms=[place])
    point.time_from_start.sec = 1
    return MultiDOFJointTrajectory(joint_names=["platform"], points=[point])


def send_up(peer, publisher, node):
    """Let a node follow the trajectory up."""
    peer.repeat_until(
        lambda: publisher.publish(up()),
        lambda: "following a trajectory of" in node.output,
        "nothing is followed",
    )


class Still:
    """A platform whose legs stay at home, also while its reference moves."""

    def __init__(self, peer, period=SECOND // 50):
        self.peer, self.period = peer, period
        self.legs, self.home = Legs(peer, demo()), forces_at(demo()).leg_lengths
        self.brakes = peer.subscribe(Bool, f"{NODE}/brake", qos.LOCKSTEP)
        peer.wait_until(
            lambda: self.step().any() and self.brakes and not self.brakes[-1].data, "it is on its brakes"
        )

    def go(self, node):
        """Let the reference move at 0.1 m/s; returns the commands to the brakes."""
        send = self.peer.publisher(MultiDOFJointTrajectory, f"{NODE}/trajectory", qos.TRAJECTORY)
        send_up(self.peer, send, node)
        for _ in range(25):
            self.step()
        return self.brakes

    def step(self):
        """Forces that answer the state a period later, on the clock of the states."""
        self.legs.now += self.period - 2_000_000
        return np.array(self.legs.answer(self.home).effort)


SELDOM = {"state_timeout": 60.0, "max_stamp_step": 60.0}
JUDGED_BY_NOBODY = {**SELDOM, "max_acceleration": 0.5, **UNSUPERVISED}


def test_legs_that_do_not_move_when_they_should_are_a_following_error():
    """Pushed with 455 N against brakes that others had engaged, said "followed", and parked unmoved."""
    with NodeProcess(NODE, {**SELDOM, "safe_fade_time": 0.05}) as node, peer_with(node) as peer:
        platform = Still(peer, SECOND // 500)
        trajectories = peer.publisher(MultiDOFJointTrajectory, f"{NODE}/trajectory", qos.TRAJECTORY)
        trajectories.publish(up())
        forces = []

        def trips():
            forces.append(platform.step())
            return re.search("protective stop: .* from its reference, allowed are", node.output)

        peer.wait_until(trips, "nobody notices that it does not move")
        assert np.abs(forces).max() < 0.5 * 455.0
        answer = peer.call(Trigger, f"{NODE}/park")
        assert not answer.success and "protective stop" in answer.message
        peer.wait_until(
            lambda: not platform.step().any() and platform.brakes[-1].data, "it is not left to its brakes"
        )
        refused = "trajectory refused: a protective stop is in force"
        peer.repeat_until(lambda: trajectories.publish(up()), lambda: refused in node.output, "it goes on")
        assert "parked" not in node.output


@pytest.mark.parametrize("end, host", [("deactivate", "on"), ("SIGINT", "on"), ("SIGINT", "off")])
def test_a_moving_platform_comes_to_rest_before_its_brakes_engage_under_forces(end, host):
    """The efforts faded without a stop, and the platform coasted onto its stops."""
    given = {**JUDGED_BY_NOBODY, "native_loop": host, "brake_engage_time": 1.0, "safe_fade_time": 0.05}
    with NodeProcess(NODE, given) as node, peer_with(node) as peer:
        platform = Still(peer)
        brakes = platform.go(node)
        heard = len(brakes)
        end_in_motion(node, peer, NODE, end)
        peer.wait_until(lambda: len(brakes) > heard + 3, "the command is not repeated")
        assert not any(message.data for message in brakes[heard:]), "braked in motion"
        steps = itertools.count()
        peer.wait_until(lambda: brakes[-1].data or not next(steps) + platform.step().any(), "it never brakes")
        # 0.1 m/s with 0.5 m/s2, in steps of 0.02 s.
        assert next(steps) > 5
        carried = [np.linalg.norm(platform.step()) for _ in range(3)]
        np.testing.assert_allclose(carried, carried[0], rtol=1e-3)
        peer.wait_until(lambda: platform.legs.faded, "the forces do not fade")
        assert all(message.data for message in brakes[-10:])
        assert end == "deactivate" or node.wait_for_exit() == 0


def test_a_second_interrupt_engages_the_brakes_of_a_moving_platform_and_ends_its_node_and_sigterm_does_not():
    with NodeProcess(NODE, JUDGED_BY_NOBODY) as node, peer_with(node) as peer:
        brakes = Still(peer).go(node)
        # It stops on the clock of the states, which stands now.
        peer.processes.clear()
        node.send_signal(signal.SIGINT)
        node.wait_for_output("summary: ")
        heard = len(brakes)
        peer.wait_until(lambda: len(brakes) > heard + 22, "the command is not repeated")
        node.send_signal(signal.SIGTERM)
        peer.wait_until(lambda: len(brakes) > heard + 30, "SIGTERM ends the node")
        assert not any(message.data for message in brakes[heard:])
        node.send_signal(signal.SIGINT)
        assert node.wait_for_exit() == 128 + signal.SIGINT
        peer.wait_until(lambda: brakes[-1].data, "the last word does not engage the brakes")


@pytest.mark.long
def test_the_driver_s_state_of_the_brakes_is_believed():
    given = {**JUDGED_BY_NOBODY, "safe_fade_time": 0.05, "brake_engage_time": 0.0, "brake_release_time": 0.0}
    with NodeProcess(NODE, given) as node, peer_with(node) as peer:
        platform = Still(peer)
        brakes, carried = platform.brakes, forces_at(demo()).actuator_forces
        report = peer.publisher(Bool, f"{NODE}/brake_state", qos.COMMAND)

        def step(engaged):
            report.publish(Bool(data=engaged))
            return platform.step()

        # Engaged brakes do not hold before the driver says so.
        assert peer.call(Trigger, f"{NODE}/emergency_stop").success
        said = "the driver reports released brakes, which this node has engaged"
        peer.wait_until(lambda: step(False).any() and said in node.output, "the driver is not believed")
        assert brakes[-1].data
        np.testing.assert_allclose(step(False), carried, rtol=0.01)
        peer.wait_until(lambda: not step(True).any(), "the forces stay on brakes that hold")
        peer.wait_until(lambda: step(False).any(), "brakes that let go are not noticed")
        peer.wait_until(lambda: not step(True).any(), "the forces stay on brakes that hold")
        # Released brakes that the driver keeps engaged are a stop.
        assert peer.call(Trigger, f"{NODE}/unpark").success
        peer.wait_until(lambda: step(True) is not None and not brakes[-1].data, "they are not released")
        said = "the driver reports engaged brakes, which this node has released: emergency stop"
        peer.wait_until(
            lambda: step(True) is not None and said in node.output, "it pushes against its brakes"
        )
        peer.wait_until(lambda: step(True) is not None and brakes[-1].data, "it is not stopped")


@pytest.mark.parametrize("host", ["on", "off"])
def test_brake_commands_of_others(host):
    """Engaged by others: an emergency stop. Released by others: engaged again, and forces until they hold."""
    platform = demo()
    given = {"state_timeout": 60.0, "max_stamp_step": 60.0, "native_loop": host, "safe_fade_time": 0.05}
    with NodeProcess(NODE, given) as node, peer_with(node) as peer:
        legs = Legs(peer, platform)
        home = forces_at(platform).leg_lengths
        brakes = peer.subscribe(Bool, f"{NODE}/brake", qos.LOCKSTEP)
        others = peer.node.create_publisher(Bool, f"{NODE}/brake", qos.DESCRIPTION)

        def answer():
            legs.now += SECOND // 100
            return np.array(legs.answer(home).effort)

        def last(engaged):
            answer()
            return brakes and brakes[-1].data is engaged

        peer.wait_until(lambda: last(False), "the brakes are not released")
        said = "another node engages the brakes"
        peer.repeat_until(
            lambda: others.publish(Bool(data=True)), lambda: said in node.output, "it is not noticed"
        )
        brakes.clear()
        peer.wait_until(lambda: not answer().any(), "it does not stop")
        assert all(message.data for message in brakes)
        assert "emergency stop" in node.output
        assert Lifecycle(peer, NODE).state == "active"
        brakes.clear()
        said = "another node releases the brakes"
        peer.repeat_until(
            lambda: others.publish(Bool(data=False)), lambda: said in node.output, "it is not noticed"
        )
        sent = []

        def carried():
            sent.append(answer())
            return not sent[-1].any() and any(one.any() for one in sent)

        peer.wait_until(carried, "no forces, or they stay")
        strongest = max(sent, key=np.linalg.norm)
        np.testing.assert_allclose(strongest, forces_at(platform).actuator_forces, rtol=0.05)
        assert brakes[-1].data
        assert peer.call(Trigger, f"{NODE}/unpark").success
        peer.wait_until(lambda: last(False), "the brakes stay engaged after ~/unpark")
