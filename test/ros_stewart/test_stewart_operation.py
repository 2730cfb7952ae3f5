"""Parking, streams, payload and brakes of the platform's node, over DDS."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from legs import NODE, SECOND, Legs, demo, forces_at
from ros_harness import NodeProcess, peer_with
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics.control.stewart.payload import loaded
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.stewart import StewartPlatform

pytestmark = pytest.mark.ros


def test_services_streams_payload_and_brakes():
    platform = demo()
    parameters = {"state_timeout": 60.0, "safe_fade_time": 0.05, "payload_mass": 5.0, "max_stamp_step": 60.0}
    parameters |= {"payload_center": [0.0, 0.0, 0.2], "brake_engage_time": 0.0, "brake_release_time": 0.0}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        legs = Legs(peer, platform)
        brakes = peer.subscribe(Bool, f"{NODE}/brake", qos.DESCRIPTION)
        home = forces_at(platform).leg_lengths
        carried = StewartPlatform(
            loaded(platform.machine, RigidBody(5.0, np.array([0.0, 0.0, 0.2]), np.zeros((3, 3))))
        )
        np.testing.assert_allclose(legs.answer(home).effort, forces_at(carried).actuator_forces, rtol=1e-6)
        peer.wait_until(lambda: brakes and not brakes[-1].data, "the brakes are not released")

        def call(name):
            return peer.call(Trigger, f"{NODE}/{name}", Trigger.Request())

        assert "neither parked nor stopped" in call("unpark").message
        poses = peer.publisher(PoseStamped, f"{NODE}/pose_command", qos.COMMAND)
        pose = PoseStamped()
        pose.header.stamp = nanoseconds_to_stamp(legs.now)
        pose.pose.position.z, pose.pose.orientation.w = 0.56, 1.0
        peer.repeat_until(
            lambda: poses.publish(pose),
            lambda: "the platform: following a trajectory" in node.output or legs.answer(home) is None,
            "the stream is not followed",
        )
        pose.header.frame_id = "moon"
        poses.publish(pose)
        node.wait_for_output("pose command refused: the frame is 'moon'")
        assert call("hold").success
        assert call("emergency_stop").success

        def stopped():
            legs.now += SECOND // 10
            legs.answer(home)
            return brakes[-1].data

        peer.wait_until(stopped, "the brakes are not engaged")
        legs.now += SECOND
        assert not any(legs.answer(home).effort)
        assert call("unpark").success
        peer.wait_until(lambda: not stopped(), "the brakes are not released again")
