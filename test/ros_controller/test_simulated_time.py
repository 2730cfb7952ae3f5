"""Time that a simulator tells: a pause loses nothing, and what is no pause is a fault; in both loops."""

import time
import warnings

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from ros_harness import peer_with
from rosgraph_msgs.msg import Clock
from test_computed_torque_controller import TRAJECTORY, trajectory
from trajectory_msgs.msg import JointTrajectory
from two_links import Robot, controller, gravity_load

from robot_dynamics import load_urdf
from robot_dynamics.control.state_age import SimulatedTime
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo.arm import START, ArmRun
from robot_dynamics.ros.demo.measured import summary
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytestmark = pytest.mark.ros

PLACE = [0.3, 0.2]
TIMEOUT = 0.1
"""For which the clock or the states may be missing [s]."""
MILLISECOND = 1_000_000


class Simulation:
    """A robot that stands, and the time in its world."""

    def __init__(self, peer):
        self.peer, self.robot = peer, Robot(peer)
        self.clock = peer.publisher(Clock, "/clock", qos.CLOCK)

    def tell(self):
        self.clock.publish(Clock(clock=nanoseconds_to_stamp(self.robot.now)))

    def step(self, milliseconds=2):
        """Time goes on, and so does the state."""
        self.robot.now += milliseconds * MILLISECOND
        self.tell()
        self.robot.states.publish(self.robot.state(PLACE))

    def until(self, condition, what, act):
        """Act a hundred times a second until something is so."""

        def met():
            act()
            return condition()

        self.peer.wait_until(met, what)

    def rest(self, seconds):
        """Nothing happens in the simulation for so long."""
        end = time.monotonic() + seconds
        self.peer.wait_until(lambda: time.monotonic() > end, "time stands still")

    @property
    def held(self):
        return bool(self.robot.commands) and np.allclose(
            self.robot.commands[-1].data, gravity_load(PLACE), rtol=1e-6
        )


def start(loop):
    # Robots stand here whatever the efforts are: an estimate would take that for a load.
    given = {"native_loop": loop, "use_sim_time": True, "ki": -1.0, "state_timeout": TIMEOUT}
    return controller(**given, safe_fade_time=0.3, max_stamp_step=1.0)


@pytest.mark.parametrize("loop", ["on", "off"])
def test_a_pause_loses_nothing_and_states_that_go_on_without_a_clock_are_a_fault(loop):
    with start(loop) as node, peer_with(node) as peer:
        world = Simulation(peer)
        world.until(lambda: world.held, "no control", world.step)
        send = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        send.publish(trajectory([(1.0, [0.5, 0.1])]))
        world.until(lambda: "following a trajectory" in node.output, "no plan", world.step)
        # A pause, single steps, and a trajectory that comes in a pause.
        for _ in range(3):
            world.rest(3.0 * TIMEOUT)
            world.step()
        # The clock is late, and catches up in the pause.
        world.robot.now += round(1e9 * TIMEOUT)
        world.robot.hold_at(PLACE)
        world.tell()
        send.publish(trajectory([(2.0, PLACE)]))
        world.rest(3.0 * TIMEOUT)
        world.until(lambda: node.output.count("following a trajectory") == 2, "lost in a pause", world.step)
        assert "safe output" not in node.output
        assert "holding" not in node.output
        # The clock stands, the states go on.
        send.publish(JointTrajectory())
        world.until(lambda: "empty trajectory" in node.output, "no hold", world.step)

        def run_away():
            world.robot.now += 2 * MILLISECOND
            world.robot.states.publish(world.robot.state(PLACE))

        world.until(lambda: world.robot.faded, "no safe output without a clock", run_away)
        node.wait_for_output(r"\[ERROR\].*joint states go on while /clock has stood still for \d")
        world.until(lambda: world.held, "no control although time goes on", world.step)
        node.wait_for_output("joint states are back: holding")
        # The simulator dies: time may stand, but nobody is left to go on.
        peer.node.destroy_publisher(world.robot.states)
        peer.wait_until(lambda: world.robot.faded, "no safe output although the simulator is gone")
        node.wait_for_output(r"\[ERROR\].*nobody publishes joint states any more")


@pytest.mark.parametrize("loop", ["on", "off"])
def test_without_a_clock_nothing_is_controlled_and_states_are_lost_by_the_clock_that_runs(loop):
    with start(loop) as node, peer_with(node) as peer:
        robot = Robot(peer)

        def state():
            robot.now += 2 * MILLISECOND
            robot.states.publish(robot.state(PLACE))
            return "there is no /clock" in node.output

        peer.wait_until(state, "a missing clock is not noticed")
        assert not robot.commands
        world = Simulation(peer)
        world.robot.now = robot.now
        world.until(lambda: world.held, "no control although there is a clock", world.step)

        def without_states():
            world.robot.now += 10 * MILLISECOND
            world.tell()
            return "no joint state for" in node.output

        peer.wait_until(without_states, "lost states are not noticed")
        peer.wait_until(lambda: world.robot.faded, "no safe output")


@pytest.mark.long
def test_a_simulation_a_hundred_times_slower_than_the_wall_loses_nothing():
    description = resource("urdf/puma560.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = load_urdf(description)
    # Five states a second of the wall, each twice as late as states may be of the simulation.
    slow = {"real_time_factor": 0.01, "publish_clock": True}
    timed = {"use_sim_time": True, "state_timeout": TIMEOUT, "native_loop": "on"}
    with ArmRun(description, chain, 500.0, lockstep=False, simulator=slow, settings=timed) as arm:
        move = trajectory([(0.02, (START + 1e-4).tolist())])
        move.joint_names = list(chain.joint_names)
        arm.wait_for_control()
        arm.send_bytes(bytes(serialize_message(move)))
        arm.observer.wait_until(
            lambda: np.abs(arm.position - START - 1e-4).max() < 1e-6, "the arm does not arrive"
        )
        arm.controller.stop()
        results = summary(arm.controller)
        assert (results["states_lost"], results["jumps"], results["refused_messages"]) == (0, 0, 0)
        # What the steps of an effort leave of so quick a move; who holds instead is off by all of it.
        assert max(results["largest_tracking_error"].values()) < 0.05 * 1e-4


def test_a_clock_that_is_set_back_counts_on_without_states():
    clock, second, timeout = SimulatedTime(), 10**9, 10**8
    clock.tell(100 * second, 0)
    clock.note_state(100 * second)
    assert clock.lost(0, second, timeout) == 0.0
    clock.tell(5 * second, second)
    assert clock.lost(0, second, timeout) == 0.0
    clock.tell(6 * second, 2 * second)
    assert clock.lost(0, 2 * second, timeout) == pytest.approx(1.0)
