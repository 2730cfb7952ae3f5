"""The platform's node for drives that close the loop: its topics, in operation and after faults."""

import hanging_node
import numpy as np
import pytest
from geometry_msgs.msg import Transform
from legs import NODE, SECOND, Legs, demo, forces_at
from ros_harness import Lifecycle, NodeProcess, peer_with
from std_msgs.msg import Bool
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp

pytestmark = pytest.mark.ros
RISE = 0.03
PARAMETERS = {
    "state_timeout": 60.0,
    "safe_fade_time": 0.1,
    "max_stamp_step": 60.0,
    "max_pose_error": [1.0, 1.0],
}
PARAMETERS |= {"max_following_error": [1.0]}


class Moving:
    """A node in the middle of a rise, whose drives are where its setpoints are."""

    def __init__(self, node, peer, command):
        self.peer, self.platform = peer, demo()
        self.legs = Legs(peer, self.platform, command)
        self.brakes = peer.subscribe(Bool, f"{NODE}/brake", qos.DESCRIPTION)
        lengths = forces_at(self.platform).leg_lengths
        first = self.legs.answer(lengths)
        np.testing.assert_array_equal(first.position, lengths)
        np.testing.assert_array_equal(first.velocity, np.zeros(6))
        np.testing.assert_allclose(first.effort, forces_at(self.platform).actuator_forces, rtol=1e-6)
        trajectory = MultiDOFJointTrajectory(joint_names=["platform"])
        begin = self.legs.now + SECOND // 100
        trajectory.header.stamp = nanoseconds_to_stamp(begin)
        place = Transform()
        place.translation.z = float(self.platform.machine.home_position[2]) + RISE
        place.rotation.w = 1.0
        point = MultiDOFJointTrajectoryPoint(transforms=[place])
        point.time_from_start.sec = 1
        trajectory.points = [point]
        peer.publisher(MultiDOFJointTrajectory, f"{NODE}/trajectory", qos.TRAJECTORY).publish(trajectory)
        node.wait_for_output("following a trajectory")
        self.command, shift = self.legs.answer(lengths), 0.0
        while self.legs.now < begin + SECOND // 2:
            self.legs.now += 8_000_000
            self.command = self.legs.answer(self.command.position)
        s = (self.legs.now - 2_000_000 - begin) / SECOND
        shift = RISE * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        expected = forces_at(self.platform, (0.0, 0.0, shift))
        np.testing.assert_allclose(self.command.position, expected.leg_lengths, atol=5e-4)
        assert min(self.command.velocity) > 0.01

    def shorten(self):
        """Let states be lost soon after the next one."""
        assert self.peer.set_parameter(NODE, "state_timeout", 0.1).successful
        self.command = self.legs.answer(self.command.position)

    def rests(self, what):
        """Wait until the commands rest: the same setpoints, and brakes."""
        peer, count = self.peer, len(self.legs.stamped)

        def quiet():
            return not any(self.legs.stamped[-1].velocity) and self.brakes[-1].data

        peer.wait_until(quiet, f"no stop and brakes after {what}")
        last = self.legs.stamped[-1]
        steps = np.diff([m.position for m in self.legs.stamped[count - 1 :]], axis=0)
        assert np.abs(steps).max(initial=0.0) < 0.03
        assert min(last.position) > min(self.command.position) - 1e-9
        assert min(last.effort) > 1.0  # the drives go on carrying the weight
        return last


@pytest.mark.parametrize(("command", "loop"), [("position", "on"), ("velocity", "off")])
def test_lost_states_and_deactivation_end_in_setpoints_of_a_stop(command, loop):
    parameters = {**PARAMETERS, "command": command, "native_loop": loop}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        moving = Moving(node, peer, command)
        legs = moving.legs
        peer.wait_until(lambda: legs.commands, "no unstamped setpoints")
        sent = {tuple(getattr(m, command)) for m in legs.stamped}
        assert all(tuple(m.data) in sent for m in legs.commands)
        moving.shorten()
        last = moving.rests("lost states")
        node.wait_for_output("no joint state for")
        moving.command = legs.answer(last.position)
        lifecycle = Lifecycle(peer, NODE)
        assert lifecycle.change(lifecycle.DEACTIVATE)
        moving.rests("a deactivation")


@pytest.mark.parametrize("command", ["position", "velocity"])
def test_the_watchdog_of_a_loop_that_hangs_sends_setpoints_of_a_stop(tmp_path, command):
    parameters = {**PARAMETERS, "command": command, "native_loop": "off"}
    which = {hanging_node.WHICH: NODE}
    with (
        hanging_node.held_by(tmp_path) as hang,
        NodeProcess(hanging_node.FILE, parameters, environment=which) as node,
        peer_with(node) as peer,
    ):
        moving = Moving(node, peer, command)
        moving.shorten()
        release = hang(peer)
        peer.wait_until(
            lambda: len(moving.legs.stamped) > 5 and not any(moving.legs.stamped[-1].velocity),
            "the watchdog brings nothing to rest",
        )
        held = moving.legs.stamped[-1]
        assert min(held.position) > 0.1
        assert min(held.effort) > 1.0
        release()
        node.wait_for_output("hung")
        moving.rests("the loop has hung")
