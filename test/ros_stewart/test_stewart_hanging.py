"""The platform's loop in C, in the node, while Python hangs: stops, then settles, and is back."""

import time

import hanging_node
import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from legs import NODE, Legs, demo, forces_at
from ros_harness import NodeProcess, peer_with

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.stewart.orientation import quaternion_from_rotation

pytestmark = pytest.mark.ros
FRONT = 2.0
"""For which the node's own thread may hang [s]."""
KP, RISE = 100.0, 0.03
UP = np.array([0.0, 0.0, 1.0])
PARAMETERS = {
    "native_loop": "on",
    "front_timeout": FRONT,
    "state_timeout": 60.0,
    "safe_fade_time": 0.05,
    "max_stamp_step": 10.0,
    "max_effort_step": 2.0,
    "kp": [KP],
    # Forces without kv show where the reference is. No period of the states stands that: the rule is off.
    "kv": [0.0],
    "loop_delay": -1.0,
    "half_period_ahead": False,
    "max_following_error": [2.0 * RISE],
    "max_pose_error": [2.0 * RISE, 0.0],
}


def lift(platform, forces):
    """The vertical acceleration [m/s²] that forces at home belong to, beside a vertical reference's friction.

    Friction is the part of the forces that changes its sign with the velocity; here it is viscous.
    """
    machine, zero = platform.machine, np.zeros(3)
    orientation = quaternion_from_rotation(machine.home_rotation)
    still, one, up, down = (
        platform.inverse_dynamics(
            machine.home_position, orientation, rate * UP, zero, acceleration * UP, zero
        ).actuator_forces
        for rate, acceleration in ((0.0, 0.0), (0.0, 1.0), (0.1, 0.0), (-0.1, 0.0))
    )
    parts = np.stack([one - still, 0.5 * (up - down)], axis=1)
    found = np.linalg.lstsq(parts, forces - still, rcond=None)[0]
    np.testing.assert_allclose(forces, still + parts @ found, rtol=0.0, atol=1e-6 * np.abs(still).max())
    return found[0]


@pytest.mark.long
def test_a_stream_ends_in_a_stop_and_the_platform_settles_while_python_hangs(tmp_path):
    """The platform is kept at home throughout, so that feedback shows where the reference is.

    The following error that is allowed is more than the whole rise.
    """
    platform = demo()
    machine = platform.machine
    home = forces_at(platform)
    which = {hanging_node.WHICH: NODE}
    with (
        hanging_node.held_by(tmp_path) as hang,
        NodeProcess(hanging_node.FILE, PARAMETERS, environment=which) as node,
        peer_with(node) as peer,
    ):
        legs = Legs(peer, platform)

        def height():
            """Of the reference above home, without its own acceleration."""
            return lift(platform, np.array(legs.answer(home.leg_lengths).effort)) / KP

        assert abs(height()) < 1e-9
        poses = peer.publisher(PoseStamped, f"{NODE}/pose_command", qos.STREAM)
        pose = PoseStamped()
        pose.pose.position.z, pose.pose.orientation.w = float(machine.home_position[2]) + RISE, 1.0

        def rises():
            pose.header.stamp = nanoseconds_to_stamp(legs.now)
            poses.publish(pose)
            return height() > 0.2 * RISE

        peer.wait_until(rises, "the stream is not followed")
        release = hang(peer)
        began, heights = time.monotonic(), []

        def stands():
            legs.now += 8_000_000
            poses.publish(pose)
            heights.append(height())
            return len(heights) > 20 and np.ptp(heights[-10:]) < 1e-9

        peer.wait_until(stands, "the reference does not come to rest while Python hangs")
        assert 0.1 * RISE < heights[-1] < 1.1 * RISE

        def publish():
            legs.states.publish(legs.state(home.leg_lengths))
            legs.now += 2_000_000

        def settled():
            publish()
            return time.monotonic() - began > FRONT and legs.faded

        peer.wait_until(settled, "no safe output although nobody is at home")
        assert "hung" not in node.output, "nobody was there to say so"
        release()
        node.wait_for_output(r"\[ERROR\].*the node's own thread hung for \d")
        back = "joint states are back"
        peer.repeat_until(publish, lambda: back in node.output, "Python does not come back")
        peer.wait_until(lambda: abs(height()) < 1e-9, "no control although Python is back")
        assert "]: protective stop" not in node.output
