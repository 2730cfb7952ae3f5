"""Reactions to pushes of a simulated arm in lockstep, and what is no contact; real nodes."""

import itertools
import math
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, TWO_LINKS

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

pytestmark = [pytest.mark.ros, pytest.mark.long]
LIMITS = (40.0, 20.0)
FRICTION = {"friction": [2.0, 0.5], "damping": [1.0, 0.3]}
COMMON = {"robot_description": TWO_LINKS, "max_effort": list(LIMITS)}
FELT, REFUSED = "feels an external effort of", "a protective stop is in force"
PUSH = -6.0
"""Torque on the upper link, so of the shoulder alone [N·m]; its threshold is 2 N·m and friction."""
STIFFNESS = 50.0
RATE = 250.0


class Arm(SimpleNamespace):
    """Controller, simulator and peer; positions and efforts of every cycle so far, and the push [N·m]."""

    @property
    def now(self):
        """Simulated time [s]."""
        return 1e-9 * stamp_to_nanoseconds(self.states[-1].header.stamp) if self.states else 0.0

    @property
    def place(self):
        return np.array(self.states[-1].position)

    def wait(self, seconds):
        """Let so much simulated time pass."""
        end = self.now + seconds
        self.peer.wait_until(lambda: self.now > end, "time stands")

    def rest(self):
        """Wait until the arm has not moved for a while."""

        def still():
            last = np.array([state.position for state in self.states[-100:]])
            return np.ptp(last, axis=0).max() < 1e-4

        self.wait(0.4)
        self.peer.wait_until(still, "the arm does not come to rest")

    def send(self, *places, each=1.0):
        """Follow a trajectory through places at which joints rest."""
        message = JointTrajectory(joint_names=NAMES)
        for k, place in enumerate(places, 1):
            point = JointTrajectoryPoint(positions=[float(x) for x in place], velocities=[0.0, 0.0])
            point.time_from_start.sec = int(each * k)
            point.time_from_start.nanosec = round(1e9 * (each * k % 1.0))
            message.points.append(point)
        self.trajectories.publish(message)

    def call(self, name):
        return self.peer.call(Trigger, f"{NODE}/{name}")

    def says(self, words):
        """Wait until the controller has printed words; pushes go on meanwhile."""
        self.peer.wait_until(lambda: words in self.controller.output, f"it never says {words!r}")

    def react(self):
        """Push the moving arm until it has reacted; the push goes on."""
        self.send((0.8, 0.6))
        self.wait(0.5)
        self.push = PUSH
        self.says(FELT)


@contextmanager
def arm(world=None, **parameters):
    """An arm whose real friction may differ from the declared one."""
    gains = {"kp": [400.0], "kv": [40.0], "joint_stiffness": [STIFFNESS], "max_following_error": [-1.0]}
    start = {"initial_joints": NAMES, "initial_positions": [0.2, 0.4], "rate": RATE}
    lockstep = {**COMMON, "lockstep": True}
    with (
        NodeProcess(NODE, {**lockstep, **FRICTION, **gains, **parameters}) as controller,
        NodeProcess("simulator", {**lockstep, **start, **FRICTION, **(world or {})}) as simulator,
        peer_with(controller, simulator) as peer,
    ):
        # The newest ones: the simulation may be faster than this process.
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        commands = peer.subscribe(JointState, "joint_command", qos.STATE_SUBSCRIPTION)
        found = Arm(controller=controller, peer=peer, states=states, commands=commands, push=0.0)
        found.trajectories = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        pushes, count = peer.publisher(WrenchStamped, "simulator/push", qos.COMMAND), itertools.count()

        def touch(_):
            if found.push and next(count) % 4 == 0:
                message = WrenchStamped()
                message.header.frame_id, message.wrench.torque.y = "upper", found.push
                pushes.publish(message)

        peer.node.create_subscription(JointState, "joint_states", touch, qos.STATE_SUBSCRIPTION)
        peer.wait_until(lambda: commands, "nothing is controlled")
        found.wait(1.2)  # the first second has rules of its own
        yield found


def assert_latched_until_reset(scene):
    """No trajectory is followed before the service, and one is after it."""
    place = scene.place
    scene.send((0.1, 0.1))
    scene.says(f"trajectory refused: {REFUSED}")
    assert np.abs(scene.place - place).max() < 0.05
    answer = scene.call("reset_fault")
    assert answer.success and answer.message == "holding position", answer.message
    place = scene.place
    scene.rest()
    assert np.abs(scene.place - place).max() < 0.02  # nothing moves by the reset
    scene.send((0.2, 0.4))
    scene.wait(1.5)
    scene.rest()
    np.testing.assert_allclose(scene.place, (0.2, 0.4), atol=0.02)


def assert_efforts_keep_their_limits(scene):
    efforts = np.array([list(one.effort) for one in scene.commands])
    assert np.isfinite(efforts).all() and (np.abs(efforts) <= LIMITS).all()
    times = np.array([stamp_to_nanoseconds(one.header.stamp) for one in scene.commands])
    steps = np.abs(np.diff(efforts, axis=0))[np.diff(times) < 1.5e9 / RATE]
    assert len(steps) > 100 and (steps < LIMITS).all()  # max_effort_step


def test_a_reported_contact_stops_nothing_and_latches_nothing():
    with arm(on_contact="report") as scene:
        scene.react()
        scene.says("reported only (on_contact: report)")
        scene.push = 0.0
        scene.wait(1.5)
        scene.rest()
        np.testing.assert_allclose(scene.place, (0.8, 0.6), atol=0.02)
        scene.send((0.2, 0.4))
        scene.wait(1.5)
        assert REFUSED not in scene.controller.output
        assert_efforts_keep_their_limits(scene)


def test_a_contact_holds_the_arm_where_it_is_measured_until_the_reset():
    with arm(on_contact="hold") as scene:
        scene.react()
        scene.rest()
        held, reference = scene.place, np.array(scene.commands[-1].position)
        np.testing.assert_allclose(reference, held, atol=0.12)  # where it is, and not the old reference
        assert np.abs(held - (0.8, 0.6)).max() > 0.2
        scene.push = 0.0
        scene.rest()
        assert np.abs(scene.place - held).max() < 0.12
        assert_latched_until_reset(scene)
        assert_efforts_keep_their_limits(scene)


def test_an_arm_that_yields_gives_way_as_its_springs_until_the_reset():
    """Static balance: stiffness times way is the push; dry friction of 2 N·m may keep part of it."""
    with arm(on_contact="yield", joint_error_clip=[1.0]) as scene:
        scene.react()
        scene.rest()
        pushed, reference = scene.place, np.array(scene.commands[-1].position)
        way = pushed - reference
        assert abs(STIFFNESS * way[0] - PUSH) < 1.1 * 2.0 and abs(way[1]) < 0.05
        scene.push = 0.0
        scene.rest()
        assert abs(scene.place[0] - reference[0]) < 1.1 * 2.0 / STIFFNESS  # it comes back
        assert_latched_until_reset(scene)
        assert_efforts_keep_their_limits(scene)


def test_an_arm_that_retreats_goes_as_it_was_pushed_by_its_way_until_the_reset():
    with arm(on_contact="retreat", retreat_distance=0.15) as scene:
        scene.react()
        stopped = scene.place
        scene.push = 0.0
        scene.wait(1.0)
        scene.rest()
        way = scene.place - stopped
        assert way[0] < 0.0 and 0.08 < np.abs(way).max() < 0.3
        assert_latched_until_reset(scene)
        assert_efforts_keep_their_limits(scene)


@pytest.mark.parametrize("drift", [1.3, 0.7])
def test_reversals_standstill_a_retimed_path_and_an_announced_payload_are_no_contact(drift):
    """Real friction is 30 % off, and positions have the steps of encoders."""
    real = {name: [drift * value for value in values] for name, values in FRICTION.items()}
    with arm({**real, "encoder_step": 2.0 * math.pi / 2**17}, on_contact="hold") as scene:
        wanted = scene.peer.publisher(JointTrajectory, f"{NODE}/retime", qos.TRAJECTORY)
        found = scene.peer.subscribe(JointTrajectory, f"{NODE}/retime/trajectory", qos.TRAJECTORY)
        scene.rest()
        scene.send(*[(0.9, -0.5), (0.2, 0.4)] * 2, each=0.6)
        scene.wait(2.6)
        path = JointTrajectory(joint_names=NAMES)
        for k, place in enumerate(((0.9, -0.5), (0.0, 0.9), (0.2, 0.4)), 1):
            point = JointTrajectoryPoint(positions=list(place))
            point.time_from_start.sec = 3 * k
            path.points.append(point)
        wanted.publish(path)
        scene.peer.wait_until(lambda: found, "the path is not retimed")
        scene.trajectories.publish(found[-1])
        scene.wait(0.5 + 1e-9 * stamp_to_nanoseconds(found[-1].points[-1].time_from_start))
        for mass in (0.4, 0.0):  # what the hand takes and leaves, told to both within a moment
            for node in (NODE, "simulator"):
                assert scene.peer.set_parameter(node, "payload_mass", mass).successful
            scene.send((0.7, -0.3), (0.2, 0.4), each=0.7)
            scene.wait(2.0)
        assert "in force from now on: payload [kg] 0.4" in scene.controller.output
        assert FELT not in scene.controller.output, scene.controller.describe()
        scene.push = PUSH  # and a push is one
        scene.says(FELT)
