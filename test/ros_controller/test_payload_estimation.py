"""A payload is estimated while a simulated arm moves, and applied; each node a process of its own."""

import math
import re
from contextlib import contextmanager

import numpy as np
import pytest
from geometry_msgs.msg import InertiaStamped
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, TWO_LINKS

from robot_dynamics.ros.support import qos

pytestmark = [pytest.mark.ros, pytest.mark.long]
COMMON = {"robot_description": TWO_LINKS, "lockstep": True}
LOAD = {"payload_mass": 0.5, "payload_center": [0.2, 0.0, 0.03]}


@contextmanager
def estimating(**parameters):
    """Node, peer, publisher of trajectories, results and commands, while a simulated arm carries a load."""
    gains = {"max_effort": [40.0, 20.0], "kp": [400.0], "kv": [40.0]}
    guards = {"start_motion": -1.0, "max_following_error": [0.5]}
    start = {"initial_joints": NAMES, "initial_positions": [0.0, 0.0], "rate": 250.0}
    with (
        NodeProcess(NODE, {**COMMON, **gains, **guards, **parameters}) as controller,
        NodeProcess("simulator", {**COMMON, **start, **LOAD}) as simulator,
        peer_with(controller, simulator) as peer,
    ):
        results = peer.subscribe(InertiaStamped, f"{NODE}/payload_estimate", qos.COMMAND)
        send = peer.publisher(JointTrajectory, f"{NODE}/joint_trajectory", qos.TRAJECTORY)
        commands = peer.subscribe(JointState, "joint_command", qos.LOCKSTEP)
        peer.wait_until(lambda: commands, "nothing is controlled")
        yield controller, peer, send, results, commands


def swing():
    """Four seconds of motion of both joints, back to where it begins."""
    message = JointTrajectory(joint_names=NAMES)
    for k in range(1, 9):
        place = [0.4 * math.sin(1.5 * k) * (k < 8), 0.6 * math.sin(2.3 * k) * (k < 8)]
        point = JointTrajectoryPoint(positions=place)
        point.time_from_start.sec, point.time_from_start.nanosec = k // 2, 500_000_000 * (k % 2)
        message.points.append(point)
    return message


def stamp(message):
    """Time of a message [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def test_a_payload_is_estimated_in_motion_and_applied():
    with estimating(payload_estimate_time=3.0, apply_payload=True) as scene:
        controller, peer, send, results, commands = scene

        def asked():
            return peer.call(Trigger, f"{NODE}/estimate_payload", Trigger.Request())

        answer = asked()
        assert answer.success and "let the arm move for 3 s" in answer.message
        assert "is being estimated already" in asked().message
        send.publish(swing())
        peer.wait_until(lambda: results, "no payload")
        found = results[-1].inertia
        assert results[-1].header.frame_id == "lower"
        assert found.m == pytest.approx(0.5, abs=0.03)
        np.testing.assert_allclose([found.com.x, found.com.z], [0.2, 0.03], atol=0.02)
        controller.wait_for_output(r"payload beside the declared one: 0\.(4|5)\d* kg at .* m in lower")
        line = controller.wait_for_output(r"in force from now on: .*payload \[kg\] (0\.\d+) at")
        assert float(re.search(r"(0\.\d+) at", line[0])[1]) == pytest.approx(found.m, rel=1e-3)
        begin = stamp(commands[-1])
        peer.wait_until(lambda: stamp(commands[-1]) > begin + 2.0, "the first swing never ends")
        assert asked().success
        send.publish(swing())
        controller.wait_for_output("no payload is estimated: .*(nothing beyond 0.02 kg|has the mass -)")


def test_a_payload_is_estimated_at_rest_from_poses_that_are_approached_from_both_sides():
    """Each goal is a rest; the joints come to it from both sides in turns."""
    with estimating(payload_estimate_rests=8) as scene:
        _, peer, send, results, _ = scene
        answer = peer.call(Trigger, f"{NODE}/estimate_payload", Trigger.Request())
        assert "rest 8 times" in answer.message
        message = JointTrajectory(joint_names=NAMES)
        for k in range(10):
            place = [
                0.3 * math.sin(1.7 * k // 2) + 0.1 * (-1) ** k,
                0.5 * math.cos(2.3 * k // 2) + 0.1 * (-1) ** k,
            ]
            for part in (0, 1):  # there in a second, then a rest of one
                point = JointTrajectoryPoint(positions=place, velocities=[0.0, 0.0])
                point.time_from_start.sec = 2 * k + 1 + part
                message.points.append(point)
        send.publish(message)
        peer.wait_until(lambda: results, "no payload")
        found = results[-1].inertia
        assert found.m == pytest.approx(0.5, abs=0.05)
        assert found.com.x == pytest.approx(0.2, abs=0.03)
