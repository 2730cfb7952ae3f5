"""Stops of a platform that outlast activation and process: real nodes, legs that a test plays."""

import contextlib
import json
import signal

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Transform
from legs import NODE, SECOND, Legs, demo, forces_at
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_harness import Lifecycle, NodeProcess, Peer
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytestmark = pytest.mark.ros
QUICK = {
    "state_timeout": 60.0,
    "max_stamp_step": 60.0,
    "safe_fade_time": 0.05,
    "brake_engage_time": 0.0,
    "brake_release_time": 0.0,
    "start_patience": 0.0,
}
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
LOOPS = pytest.mark.parametrize("loop", ["on", "off"])


class Laboratory:
    """Nodes of one platform that start one after the other with the same state folder, and what is heard."""

    def __init__(self, stack, folder, **parameters):
        self.parameters = {**QUICK, **parameters}
        self.environment = {"XDG_STATE_HOME": str(folder), "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
        self.folder = folder / "robot_dynamics"
        self._stack = stack
        self.peer = Peer()
        stack.callback(self.peer.close)
        self.platform = demo()
        self.home = forces_at(self.platform).leg_lengths
        self.brakes = []
        self.peer.node.create_subscription(Bool, f"{NODE}/brake", self.brakes.append, LATCHED)
        self.start()
        if self.parameters.get("autostart", True):
            self.peer.wait_until(lambda: self.brakes, "nothing is said to the brakes")
        self.legs = Legs(self.peer, self.platform)
        self.trajectories = self.peer.publisher(MultiDOFJointTrajectory, f"{NODE}/trajectory", 10)

    def start(self):
        self.node = self._stack.enter_context(
            NodeProcess(NODE, self.parameters, environment=self.environment)
        )
        self.peer.processes[:] = [self.node]
        self.lifecycle = Lifecycle(self.peer, NODE)
        return self.node

    def respawn(self):
        """Killed like an overloaded computer kills, and started again."""
        self.node.send_signal(signal.SIGKILL)
        self.node.wait_for_exit()
        for _ in range(50):  # what it has said before is no word of the next one
            self.peer.executor.spin_once(timeout_sec=0.0)
        self.brakes.clear()
        self.start()
        self.peer.wait_until(lambda: self.brakes, "the new node says nothing to the brakes")

    def reactivate(self):
        assert self.lifecycle.change(self.lifecycle.DEACTIVATE)
        self.peer.wait_until(lambda: self.brakes and self.brakes[-1].data, "inactive without brakes")
        del self.brakes[:-1]
        assert self.lifecycle.change(self.lifecycle.ACTIVATE)

    def ask(self, name):
        return self.peer.call(Trigger, f"{NODE}/{name}")

    def control(self):
        """The node answers a state; returns the forces."""
        self.legs.now += SECOND // 10
        return np.array(self.legs.answer(self.home).effort)

    def released(self):
        """As a platform starts that was never stopped: forces carry it, and the brakes are open."""
        forces = self.control()
        self.peer.wait_until(lambda: self.brakes and not self.brakes[-1].data, "the brakes stay engaged")
        np.testing.assert_allclose(forces, forces_at(self.platform).actuator_forces, rtol=1e-4)

    def rests(self):
        """Engaged brakes, then no force."""

        def at_rest():
            return not self.control().any() and self.brakes and self.brakes[-1].data

        self.peer.wait_until(at_rest, "it does not come to rest on its brakes")

    def send(self):
        place = self.platform.machine.home_position
        message = MultiDOFJointTrajectory(joint_names=["platform"])
        for number in (1, 2):
            transform = Transform()
            transform.translation.z, transform.rotation.w = float(place[2]) + 0.001 * number, 1.0
            point = MultiDOFJointTrajectoryPoint(transforms=[transform])
            point.time_from_start.sec = number
            message.points.append(point)
        self.trajectories.publish(message)

    def stays_at_rest(self):
        """The brakes were engaged since the list was cleared, and no trajectory is taken."""
        for _ in range(5):
            assert not self.control().any()
        assert self.brakes
        assert all(message.data for message in self.brakes)
        before = self.node.output.count("~/unpark")
        self.peer.repeat_until(
            self.send,
            lambda: "trajectory refused: the platform is not ready" in self.node.output,
            "the trajectory is not refused",
        )
        assert self.node.output.count("~/unpark") > before
        assert "following a trajectory" not in self.node.output

    def unpark(self):
        answer = self.ask("unpark")
        assert answer.success, answer.message

        def open_again():
            self.control()
            return not self.brakes[-1].data

        self.peer.wait_until(open_again, "the brakes stay engaged after ~/unpark")

    def follows(self):
        self.peer.repeat_until(
            self.send,
            lambda: self.control().any() and "following a trajectory of 2 points" in self.node.output,
            "no trajectory is followed",
        )

    @property
    def states(self):
        return [json.loads(file.read_text())["state"] for file in self.folder.glob("*.json")]


@pytest.fixture
def laboratory(tmp_path):
    with contextlib.ExitStack() as stack:
        yield lambda **parameters: Laboratory(stack, tmp_path, **parameters)


@LOOPS
def test_an_emergency_stop_outlasts_deactivation_and_activation(laboratory, loop):
    """The brakes opened, the log said "holding position", and the next trajectory was followed."""
    lab = laboratory(native_loop=loop)
    lab.released()
    assert not lab.states
    assert lab.ask("emergency_stop").success
    assert lab.states == ["stopped"]
    lab.rests()
    lab.reactivate()
    lab.rests()
    lab.stays_at_rest()
    lab.unpark()
    lab.follows()
    lab.peer.wait_until(lambda: not lab.states, "a released platform has a state file")
    lab.reactivate()
    lab.released()


@LOOPS
def test_an_emergency_stop_outlasts_the_process(laboratory, loop):
    """Killed at once after the answer, before the platform stands, and respawned: the brakes opened."""
    lab = laboratory(native_loop=loop)
    lab.released()
    assert lab.ask("emergency_stop").success
    lab.respawn()
    lab.rests()
    lab.stays_at_rest()
    assert "stopped according to" in lab.node.output
    lab.respawn()
    lab.rests()
    lab.stays_at_rest()
    lab.unpark()
    lab.follows()
    lab.respawn()
    lab.released()


@pytest.mark.parametrize("by", ["reactivate", "respawn"])
@LOOPS
def test_a_parked_platform_stays_parked(laboratory, loop, by):
    """After activation, or kill and respawn, its brakes opened."""
    z = float(demo().machine.home_position[2])
    lab = laboratory(native_loop=loop, park_pose=[0.0, 0.0, z, 0.0, 0.0, 0.0])
    lab.released()
    assert lab.ask("park").success
    assert lab.states == ["parked"]
    lab.rests()
    getattr(lab, by)()
    lab.rests()
    lab.stays_at_rest()
    assert "the platform: parked" in lab.node.output
    lab.unpark()


@pytest.mark.long
@LOOPS
def test_the_end_of_a_stream_is_remembered(laboratory, loop):
    """Nobody asks for a stop: the node parks by itself, and is killed on its way."""
    lab = laboratory(native_loop=loop)
    lab.released()
    poses = lab.peer.publisher(PoseStamped, f"{NODE}/pose_command", 10)
    pose = PoseStamped()
    pose.pose.position.z, pose.pose.orientation.w = float(lab.platform.machine.home_position[2]), 1.0

    def stream():
        pose.header.stamp = nanoseconds_to_stamp(lab.legs.now)
        poses.publish(pose)

    lab.peer.repeat_until(
        stream,
        lambda: (
            "the platform: following a trajectory" in lab.node.output or lab.legs.answer(lab.home) is None
        ),
        "the stream is not followed",
    )
    # At the pace of a real platform's states: the thread leads a motion a few milliseconds ahead of them.
    lab.peer.wait_until(
        lambda: lab.legs.answer(lab.home) is None or lab.states == ["parked"], "the end is not written"
    )
    lab.respawn()
    lab.rests()
    lab.stays_at_rest()


def test_a_process_that_ends_in_order_remembers_too(laboratory):
    lab = laboratory()
    lab.released()
    assert lab.ask("emergency_stop").success
    lab.node.stop()
    lab.brakes.clear()
    lab.start()
    lab.rests()
    lab.stays_at_rest()


UNREADABLE = {
    "empty": "",
    "cut": "{",
    "null": "null",
    "unknown": '{"state": "fine"}',
    "deep": "[" * 3000,
    "large": "x" * 10_000,
    "folder": None,
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_counts_as_stopped(laboratory, content):
    lab = laboratory()
    lab.released()
    assert lab.ask("emergency_stop").success
    (file,) = lab.folder.glob("*.json")
    if content is None:
        file.unlink()
        file.mkdir()
    else:
        file.write_text(content)
    lab.respawn()
    lab.rests()
    lab.stays_at_rest()
    lab.node.wait_for_output("state file.*: the platform counts as stopped; call ~/unpark")
    lab.unpark()


@LOOPS
def test_a_stop_that_is_asked_of_an_inactive_node_counts(laboratory, loop):
    lab = laboratory(native_loop=loop)
    lab.released()
    assert lab.lifecycle.change(lab.lifecycle.DEACTIVATE)
    lab.peer.wait_until(lambda: lab.brakes[-1].data, "inactive without brakes")
    answer = lab.ask("emergency_stop")
    assert answer.success
    assert "~/unpark" in answer.message
    assert lab.states == ["stopped"]
    lab.brakes.clear()
    lab.respawn()
    lab.rests()
    lab.stays_at_rest()
    lab.unpark()
    lab.follows()


def test_a_stop_that_is_asked_of_an_unconfigured_node_counts(laboratory):
    lab = laboratory(autostart=False)
    assert lab.ask("emergency_stop").success
    assert lab.states == ["stopped"]
    assert lab.lifecycle.change(lab.lifecycle.CONFIGURE)
    assert lab.lifecycle.change(lab.lifecycle.ACTIVATE)
    lab.rests()
    lab.stays_at_rest()


@LOOPS
def test_a_stop_before_the_first_joint_state_never_opens_the_brakes(laboratory, loop):
    lab = laboratory(native_loop=loop)
    assert lab.ask("emergency_stop").success
    lab.rests()
    lab.stays_at_rest()


@pytest.mark.parametrize("given", [{"lockstep": True}, {"state_directory": "none"}])
def test_without_a_file_the_process_alone_remembers(laboratory, given):
    lab = laboratory(**given)
    lab.released()
    assert lab.ask("emergency_stop").success
    lab.rests()
    assert not lab.folder.exists()
    lab.reactivate()
    lab.rests()
    lab.stays_at_rest()
    lab.respawn()
    lab.released()


def test_other_names_have_other_files(laboratory, tmp_path):
    lab = laboratory(state_directory=str(tmp_path / "chosen"))
    lab.folder = tmp_path / "chosen"
    lab.released()
    assert lab.ask("emergency_stop").success
    assert lab.states == ["stopped"]
    arguments = ["-r", "__ns:=/left"]
    with NodeProcess(NODE, lab.parameters, arguments, lab.environment) as other:
        lab.peer.processes.append(other)
        brakes = lab.peer.subscribe(Bool, f"/left/{NODE}/brake", LATCHED)
        lab.peer.wait_until(lambda: brakes, "nothing is said to the brakes")
        assert "stopped according to" not in other.output


def test_a_stop_that_cannot_be_written_is_done_and_says_so(laboratory, tmp_path):
    lab = laboratory(state_directory=str(tmp_path / "file" / "folder"))
    lab.released()
    (tmp_path / "file").write_text("in the way")
    answer = lab.ask("emergency_stop")
    assert answer.success
    assert "cannot write the state file" in answer.message
    lab.rests()
