"""Two controllers of one arm: processes of their own over DDS, which notice each other's efforts."""

import itertools
import math
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from ros_harness import Lifecycle, NodeProcess, end_in_motion, peer_with
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES as LINKS
from two_links import NODE, TWO_LINKS, Robot, gravity_load

import robot_dynamics as rd
from robot_dynamics.control.core.library import load_core
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource
from robot_dynamics.ros.control.native.library import ffi, load_hosts
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.processes import OWN_DOMAIN

pytestmark = pytest.mark.ros
PLACE = [0.3, 0.2]
SPARE = "spare"
GIVEN = {"robot_description": TWO_LINKS, "safe_fade_time": 0.2, "state_timeout": 0.3, "max_stamp_step": 60.0}
PERIOD = 0.01


def commander(name, host, shared, **parameters):
    """A controller; in a domain that is shared it listens before it is activated."""
    environment = {OWN_DOMAIN: "0" if shared else "1"}
    given = {**GIVEN, "native_loop": host, **parameters}
    return NodeProcess(NODE, given, ["-r", f"__node:={name}"], environment)


class Arm(Robot):
    """An arm at rest whose states come at a rate."""

    def __init__(self, peer):
        super().__init__(peer)
        peer.node.create_timer(PERIOD, self.send)

    def send(self):
        self.now += round(1e9 * PERIOD)
        self.states.publish(self.state(PLACE))

    def carried(self):
        """True if the last efforts carry the weight."""
        return bool(self.commands) and np.allclose(self.commands[-1].data, gravity_load(PLACE), rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("host", ["on", "off"])
def test_a_spare_waits_takes_over_and_is_left_alone(host):
    with commander(NODE, host, False) as first, peer_with(first) as peer:
        arm = Arm(peer)
        peer.wait_until(arm.carried, "the first does not carry")
        with commander(SPARE, host, True) as second:
            peer.processes.append(second)
            nodes = {NODE: first, SPARE: second}
            waits = "not activated: efforts of /{} arrive on /effort_controller/commands"

            def owners():
                """Owner and spare: with slow discovery the first node may be the one that waits."""
                pairs = ((NODE, SPARE), (SPARE, NODE))
                return [pair for pair in pairs if waits.format(pair[0]) in nodes[pair[1]].output]

            ((owner, spare),) = peer.wait_until(owners, "nobody waits")
            # By hand as well.
            lifecycle = Lifecycle(peer, spare)
            assert not lifecycle.change(lifecycle.ACTIVATE)
            assert lifecycle.state == "inactive"
            peer.wait_until(arm.carried, "the owner does not carry")
            nodes[owner].send_signal(signal.SIGSTOP)
            peer.wait_until(lambda: lifecycle.state == "active", "the spare does not take over")
            silent = f"/{owner} can publish /effort_controller/commands too, but sends nothing now"
            assert silent in nodes[spare].output
            arm.commands.clear()
            peer.wait_until(arm.carried, "the spare does not carry")
            nodes[owner].send_signal(signal.SIGCONT)
            yields = (
                f"efforts of /{spare} arrive on /effort_controller/commands after this process stood still"
            )
            peer.wait_until(lambda: yields in nodes[owner].output, "the first goes on")
            assert Lifecycle(peer, owner).state == "inactive"
            arm.commands.clear()
            peer.wait_until(lambda: len(arm.commands) > 20, "nobody commands")
            # Nobody fades, nobody stops: the arm is carried all the time.
            assert all(np.allclose(m.data, gravity_load(PLACE), rtol=1e-6) for m in arm.commands)
            assert lifecycle.state == "active"


class Carried(Arm):
    """An arm that somebody moves at 0.7 rad/s, as long as a node stands still."""

    speed, place = 0.0, 0.2

    def send(self):
        self.now += round(1e9 * PERIOD)
        self.place += PERIOD * self.speed
        self.states.publish(self.state([self.place, 0.0], [self.speed, 0.0]))

    def held(self):
        expected = gravity_load([self.place, 0.0])
        return bool(self.commands) and np.allclose(self.commands[-1].data, expected, atol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("host", ["on", "off"])
def test_after_a_pause_of_the_node_the_arm_is_held_where_it_is_and_not_where_it_was(host):
    """After 0.45 s it pulled the arm back by 0.33 rad at 100 %, to where it had been before the pause."""
    given = {**GIVEN, "native_loop": host, "state_timeout": 0.1, "max_following_error": [-1.0]}
    # Nor is a load estimated from the place where the arm was.
    given["start_motion"], given["ki"] = -1.0, -1.0
    with NodeProcess(NODE, given) as node, peer_with(node) as peer:
        arm = Carried(peer)
        peer.wait_until(arm.held, "the arm is not held")
        node.send_signal(signal.SIGSTOP)
        arm.speed = 0.7
        peer.wait_until(lambda: arm.place > 0.2 + 0.45 * 0.7, "time stands still")
        arm.speed = 0.0
        rest = arm.now
        # States younger than state_timeout are braked from their own speed, which this arm would not follow.
        peer.wait_until(lambda: arm.now > rest + round(2e9 * given["state_timeout"]), "time stands still")
        arm.commands.clear()
        node.send_signal(signal.SIGCONT)
        peer.wait_until(arm.held, "the arm is pulled back to where it was before the pause")


def test_an_arm_that_does_not_move_when_it_should_has_a_following_error():
    """Brakes of others locked it: it pushed until the end of its trajectory, and said nothing."""
    # States that come late drop the trajectory before anything could be noticed.
    patient = {"state_timeout": 60.0, "max_stamp_step": 60.0}
    with NodeProcess(NODE, {**GIVEN, **patient}) as node, peer_with(node) as peer:
        arm = Arm(peer)
        peer.wait_until(arm.carried, "the arm is not held")
        goals = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        point = JointTrajectoryPoint(positions=[PLACE[0] + 0.5, PLACE[1]])
        point.time_from_start.sec = 1
        goal = JointTrajectory(joint_names=LINKS, points=[point])
        goals.publish(goal)
        trip = (
            "protective stop: shoulder is .* rad from its reference, allowed are .*dropped: a trajectory of 1"
        )
        peer.wait_until(lambda: re.search(trip, node.output), "nobody notices that it does not move")
        refused = "trajectory refused: a protective stop is in force"
        peer.repeat_until(lambda: goals.publish(goal), lambda: refused in node.output, "it goes on")


NOW, MILLISECOND = 1_000_000_000_000, 1_000_000
SMALL, MIDDLE, LARGE = bytes(16), bytes([7] * 16), bytes([255] * 16)
OLD, NEW = 60_000, 1_000
"""Age of an activation [ms]."""


class Node:
    """The C of a node without ROS: activated some time ago, it hears others at times of the test's choice."""

    def __init__(self, age, brakes=False):
        self.library = load_hosts()
        self.host = ffi().gc(self.library.rd_host_new(False, False), self.library.rd_host_free)
        self.library.rd_host_identify(self.host, MIDDLE)
        self.library.rd_host_claim(self.host, NOW - age * MILLISECOND)
        if brakes:
            self.library.rd_host_brake(self.host, 0)
        load_core().rd_loop_request(self.library.rd_host_loop(self.host), 1)
        self.library.rd_host_tick(self.host)
        assert self.active

    @property
    def active(self):
        status = ffi().new("rd_host_status *")
        self.library.rd_host_tick(self.host)
        self.library.rd_host_status_of(self.host, status)
        return bool(status.active)

    @property
    def others(self):
        others = ffi().new("rd_others *")
        self.library.rd_host_others(self.host, others)
        return others

    def hear(self, sender, first, last, period=5):
        """Efforts of another node for a while [ms]; returns when this node yields, else None."""
        for time in range(first, last, period):
            self.library.rd_host_heard(self.host, sender, NOW + time * MILLISECOND)
            if not self.active:
                return time
        return None


def test_a_node_whose_process_stood_still_yields_at_the_first_message():
    node = Node(OLD)
    for time in (0, 400, 900):  # a loaded machine
        node.library.rd_host_alive(node.host, NOW + time * MILLISECOND)
    assert node.hear(LARGE, 900, 905) is None
    node.library.rd_host_alive(node.host, NOW + 1500 * MILLISECOND)
    assert node.hear(LARGE, 1500, 1505) == 1500
    assert node.others.paused


def test_two_nodes_of_which_one_yields_always_and_never_both():
    """Whatever their ages and identities are, one yields well before the other would."""
    for own, other in itertools.product((OLD, NEW), repeat=2):
        # MIDDLE hears LARGE for as long as LARGE, which hears a smaller identity, goes on.
        mine, its = Node(own).hear(LARGE, 0, 2000), Node(other).hear(SMALL, 0, 2000)
        times = sorted(math.inf if time is None else time for time in (mine, its))
        assert times[0] <= 500
        assert times[1] - times[0] >= 200
        if own != other:
            newcomer, senior = (mine, its) if own == NEW else (its, mine)
            assert newcomer < (senior or math.inf)


def test_efforts_that_go_on_are_a_dispute():
    """Something else than a node of this package publishes, and does not care."""
    node = Node(OLD, brakes=True)
    assert node.hear(LARGE, 0, 690) is None
    assert node.others.disputes == 0
    assert node.hear(LARGE, 700, 5000) is None
    assert node.others.disputes == 1
    assert node.hear(LARGE, 60_000, 61_000) is None
    assert node.others.disputes == 2
    arm = Node(OLD)
    assert arm.hear(LARGE, 0, 5000) is None, "an arm is not left to a sender that no rule knows"
    assert arm.others.disputes == 1


def test_a_dispute_over_an_arm_is_a_protective_stop_and_a_reset_does_not_end_it():
    node, arm = Node(OLD), rd.ArmController(rd.load_urdf(resource("urdf/scara.urdf")))
    loop, core = node.library.rd_host_loop(node.host), load_core()
    session = ffi().gc(
        core.rd_session_new(ffi().cast("rd_core *", arm.handle), 100_000), core.rd_session_free
    )
    core.rd_loop_offer(loop, session)
    assert node.active
    arm.update(0.0, np.zeros(arm.chain.dof), np.zeros(arm.chain.dof))
    arm.follow(arm.chain.joint_names, [rd.Waypoint(5.0, [0.1] * arm.chain.dof)])
    assert node.hear(LARGE, 0, 690) is None
    assert arm.phase is Phase.TRACKING
    assert node.hear(LARGE, 690, 710) is None
    assert (arm.phase, arm.trip.rule, node.others.disputes) == (Phase.PROTECTIVE_STOP, "dispute", 1)
    with pytest.raises(TrajectoryError, match="a protective stop is in force"):
        arm.follow(arm.chain.joint_names, [rd.Waypoint(5.0, [0.1] * arm.chain.dof)])
    for disputes in (2, 3):
        assert arm.reset_fault() == ""
        assert arm.phase is Phase.HOLDING
        start = 700 + 20 * disputes
        assert node.hear(LARGE, start, start + 10) is None
        assert (arm.phase, node.others.disputes) == (Phase.PROTECTIVE_STOP, disputes)
    # When the others are silent, a reset is the end of it.
    assert arm.reset_fault() == ""
    assert node.hear(LARGE, 9000, 9500) is None
    assert arm.phase is Phase.HOLDING


def test_single_messages_change_nothing():
    node = Node(OLD)
    for second in range(0, 60, 2):
        assert node.hear(SMALL, 1000 * second, 1000 * second + 20) is None
    assert node.others.disputes == 0
    assert node.others.efforts == 30 * 4


def test_the_owner_alone_repeats_the_brake_command():
    node = Node(OLD, brakes=True)

    def command(time):
        return node.library.rd_host_brake_command(node.host, NOW + time * MILLISECOND)

    assert [command(time) for time in (0, 10, 49, 50, 60)] == [0, -1, -1, 0, -1]
    node.library.rd_host_brake(node.host, 1)
    assert [command(time) for time in (61, 70, 111)] == [1, -1, 1]
    node.library.rd_host_heard_brake(node.host, 1)
    assert command(112) == -1, "the same command of others asks for nothing"
    node.library.rd_host_heard_brake(node.host, 0)
    assert node.others.released == 1
    assert command(113) == 1, "engaged again at once"
    node.library.rd_host_brake(node.host, 0)
    assert command(114) == 0
    node.library.rd_host_heard_brake(node.host, 1)
    assert node.others.braked == 1
    assert [command(time) for time in (115, 170)] == [1, 1], "who engages brakes is not contradicted"
    node.library.rd_host_brake(node.host, 1)  # the front has stopped the robot
    assert command(230) == 1
    node.library.rd_host_brake(node.host, 0)
    assert command(231) == 0
    load_core().rd_loop_request(node.library.rd_host_loop(node.host), 2)
    assert not node.active
    assert [command(time) for time in (232, 233, 400)] == [1, -1, -1], "the last command engages"


def test_who_yields_says_nothing_to_the_brakes():
    node = Node(NEW, brakes=True)
    assert node.library.rd_host_brake_command(node.host, NOW) == 0
    assert node.hear(SMALL, 0, 2000) is not None
    assert node.library.rd_host_brake_command(node.host, NOW) == -1


PUMA = Path(str(resource("urdf/puma560.urdf"))).read_text(encoding="utf-8")
NAMES = [f"joint{number}" for number in range(1, 7)]
CARRIED = [0.0, -0.4, 0.7, 0.0, 0.0, 0.0]
"""A bent arm [rad]."""


class Simulated:
    """An observer of a simulated arm: its first joint, whose axis is vertical."""

    def __init__(self, peer, start):
        self.peer, self.states = peer, []
        peer.node.create_subscription(JointState, "joint_states", self.states.append, qos.LOCKSTEP)
        peer.wait_until(lambda: self.states, "no state")
        assert self.place == pytest.approx(start, abs=0.01)

    @staticmethod
    def begins_at(place, **parameters):
        """The simulator's process at 500 Hz."""
        begin = {"initial_joints": NAMES, "initial_positions": [place, *CARRIED[1:]]}
        return NodeProcess("simulator", {"robot_description": PUMA, "rate": 500.0, **begin, **parameters})

    @property
    def place(self):
        return self.states[-1].position[0]

    @property
    def speed(self):
        return self.states[-1].velocity[0]

    def comes_to_rest(self):
        """Wait until it stands; returns its travel from now on."""
        begin, seen = self.place, len(self.states)

        def rests():
            last = [state.velocity[0] for state in self.states[seen:][-100:]]
            return len(last) == 100 and max(map(abs, last)) < 0.01

        self.peer.wait_until(rests, "it does not come to rest")
        return abs(self.place - begin)


@pytest.mark.long
def test_an_arm_that_coasts_beyond_its_plausible_speed_is_braked():
    """At 4.60 rad/s, which positions confirm, it got the fail-safe output and ran 4.9 rad to its stop."""
    dynamics, start = rd.compile_dynamics(rd.load_urdf(resource("urdf/puma560.urdf"))), -2.5
    node = NodeProcess(NODE, {"robot_description": PUMA, "lockstep": True, "autostart": False})
    simulator = Simulated.begins_at(start, lockstep=True)
    with node, simulator, peer_with(node, simulator) as peer:
        arm = Simulated(peer, start)
        lifecycle = Lifecycle(peer, NODE)
        assert lifecycle.change(lifecycle.CONFIGURE)
        push = peer.publisher(JointState, "joint_command", qos.LOCKSTEP)
        while arm.speed < 4.6:
            state = arm.states[-1]
            q, qd = np.array(state.position), np.array(state.velocity)
            wanted = 100.0 * (CARRIED - q) - 20.0 * qd
            wanted[0] = 10.0
            effort = dynamics.inverse_dynamics(q, qd, wanted)
            seen = len(arm.states)
            push.publish(JointState(header=state.header, name=NAMES, effort=effort.tolist()))
            peer.wait_until(
                lambda seen=seen, stamp=state.header.stamp: (
                    arm.states[seen:] and arm.states[-1].header.stamp != stamp
                ),
                "the simulator stands still",
            )
        # Nobody answers the simulator now: time stands still until the controller is active.
        assert lifecycle.change(lifecycle.ACTIVATE)
        assert arm.comes_to_rest() < 1.2


@pytest.mark.parametrize("end", ["deactivate", "SIGINT"])
def test_a_moving_arm_comes_to_rest_before_its_node_ends(end):
    """Its efforts faded without a stop: 3.0 times its limit within 2 s, and into an end stop."""
    node = NodeProcess(NODE, {"robot_description": PUMA, "lockstep": True})
    simulator = Simulated.begins_at(-1.5, lockstep=True)
    with node, simulator, peer_with(node, simulator) as peer:
        arm = Simulated(peer, -1.5)
        goals = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        point = JointTrajectoryPoint(positions=[1.5, *CARRIED[1:]])
        point.time_from_start.sec = 4
        goals.publish(JointTrajectory(joint_names=NAMES, points=[point]))
        peer.wait_until(lambda: arm.speed > 1.0, "it does not move")
        seen = len(arm.states)
        end_in_motion(node, peer, NODE, end)
        # Then the node answers no more, and the simulated time stands.
        peer.wait_until(lambda: abs(arm.speed) < 0.01, "it does not come to rest")
        states = arm.states[seen:]
        assert max(state.velocity[0] for state in states) < 1.43
        assert arm.place < 1.0


@pytest.mark.long
def test_live_values_do_not_lengthen_a_stop_nor_a_move():
    """Efforts that blended for 10 s ran on by 4.2 rad, and a hold with efforts that hardly step 1.79 rad."""
    node = NodeProcess(NODE, {"robot_description": PUMA, "lockstep": True})
    simulator = Simulated.begins_at(-2.0, lockstep=True)
    with node, simulator, peer_with(node, simulator) as peer:
        arm = Simulated(peer, -2.0)
        goals = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)

        def go(place, seconds):
            point = JointTrajectoryPoint(positions=[place, *CARRIED[1:]])
            point.time_from_start.sec = seconds
            goals.publish(JointTrajectory(joint_names=NAMES, points=[point]))

        # Efforts that blend for 10 s go on accelerating the arm.
        go(0.0, 3)
        peer.wait_until(lambda: arm.speed > 0.3, "it does not move")
        peer.set_parameter(NODE, "model_change_time", 10.0)
        peer.set_parameter(NODE, "kp", [90.0])
        begin = len(arm.states)
        peer.wait_until(lambda: arm.speed > 1.0, "it does not move")
        arm.comes_to_rest()
        assert arm.place == pytest.approx(0.0, abs=0.02)
        assert max(state.position[0] for state in arm.states[begin:]) < 0.02

        # Efforts that may hardly step do not brake.
        go(-2.0, 3)
        peer.wait_until(lambda: arm.speed < -1.1, "it does not move")
        peer.set_parameter(NODE, "max_effort_step", 0.001)
        assert peer.call(Trigger, f"{NODE}/hold").success
        assert arm.comes_to_rest() < 0.35
