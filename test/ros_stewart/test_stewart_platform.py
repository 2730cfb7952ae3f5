"""The platform node and its simulator as processes, over DDS."""

from __future__ import annotations

import math

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Transform, WrenchStamped
from legs import NODE, SECOND, Legs, demo, forces_at
from patience import PATIENCE
from ros_harness import NodeProcess, peer_with
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds
from robot_dynamics.stewart.orientation import quaternion_from_rotation

pytestmark = pytest.mark.ros


@pytest.fixture(scope="module")
def platform():
    return demo()


def trajectory(points, frame="", names=("platform",)):
    message = MultiDOFJointTrajectory(joint_names=list(names))
    message.header.frame_id = frame
    for seconds, position in points:
        transform = Transform()
        transform.translation.x, transform.translation.y, transform.translation.z = position
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        point.time_from_start.sec = math.floor(seconds)
        point.time_from_start.nanosec = round((seconds % 1) * 1e9)
        message.points.append(point)
    return message


def test_forces_pose_markers_and_wrench(platform):
    with (
        NodeProcess(NODE, {"state_timeout": 60.0, "safe_fade_time": 0.1, "wrench_fade_time": 0.0}) as node,
        peer_with(node) as peer,
    ):
        legs = Legs(peer, platform)
        poses = peer.subscribe(PoseStamped, f"{NODE}/pose", qos.RECORDING)
        pictures = peer.subscribe(MarkerArray, f"{NODE}/markers", qos.TRAJECTORY)
        expected = forces_at(platform)
        command = legs.answer(expected.leg_lengths)
        np.testing.assert_allclose(command.effort, expected.actuator_forces, rtol=1e-6)
        np.testing.assert_allclose(command.position, expected.leg_lengths)
        peer.wait_until(lambda: legs.commands and poses and pictures, "pose, command or markers are missing")
        place = poses[-1].pose.position
        np.testing.assert_allclose([place.x, place.y, place.z], platform.machine.home_position, atol=1e-9)
        assert {marker.ns for marker in pictures[-1].markers} >= {"legs", "forces", "condition"}

        wrench = peer.publisher(WrenchStamped, f"{NODE}/external_wrench", qos.COMMAND)
        message = WrenchStamped()
        message.wrench.force.z = -80.0
        loaded = forces_at(platform, force=[0.0, 0.0, -80.0], torque=np.zeros(3)).actuator_forces

        def carried():
            wrench.publish(message)
            return np.allclose(legs.answer(expected.leg_lengths).effort, loaded, rtol=1e-6)

        peer.wait_until(carried, "the external wrench is not carried")
        message.header.frame_id = "elsewhere"
        wrench.publish(message)
        node.wait_for_output("external wrench refused: the frame is 'elsewhere'")


def lifting_forces(platform, lift, since):
    """Forces at home by the law of the defaults, ``since`` seconds after the start of a lift in 1 s.

    Friction is that of the reference: the part of the forces that changes its sign with the velocity.
    """
    position = 10 * since**3 - 15 * since**4 + 6 * since**5
    velocity = 30 * since**2 - 60 * since**3 + 30 * since**4
    acceleration = 60 * since - 180 * since**2 + 120 * since**3
    wanted = lift * np.array([0.0, 0.0, acceleration + 40.0 * velocity + 400.0 * position])
    machine, zero = platform.machine, np.zeros(3)
    orientation = quaternion_from_rotation(machine.home_rotation)
    still, up, down = (
        platform.inverse_dynamics(
            machine.home_position, orientation, np.array([0.0, 0.0, rate]), zero, wanted, zero
        ).actuator_forces
        for rate in (0.0, lift * velocity, -lift * velocity)
    )
    return still + 0.5 * (up - down)


def test_trajectories_are_refused_before_they_start(platform):
    parameters = {"state_timeout": 60.0, "safe_fade_time": 0.1, "half_period_ahead": False}
    parameters["max_stamp_step"] = 2.0
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        legs = Legs(peer, platform)
        expected = forces_at(platform)
        legs.answer(expected.leg_lengths)
        send = peer.publisher(MultiDOFJointTrajectory, f"{NODE}/trajectory", qos.TRAJECTORY)
        for bad, reason in [
            (trajectory([(1.0, (0.0, 0.0, 0.9))]), "leg_"),
            (trajectory([(1.0, (0.0, 0.0, math.nan))]), "waypoint 0: position"),
            (trajectory([(1.0, (0.0, 0.0, 0.55))], frame="moon"), "the frame is 'moon'"),
            (trajectory([(1.0, (0.0, 0.0, 0.55))], names=("a", "b")), "the platform is one"),
            (MultiDOFJointTrajectory(points=[MultiDOFJointTrajectoryPoint()]), "0 transforms"),
        ]:
            send.publish(bad)
            node.wait_for_output(f"trajectory refused: .*{reason}")
        np.testing.assert_allclose(
            legs.answer(expected.leg_lengths).effort, expected.actuator_forces, rtol=1e-6
        )
        good = trajectory([(1.0, (0.0, 0.0, 0.58))])
        good.header.stamp = nanoseconds_to_stamp(legs.now + SECOND // 4)
        send.publish(good)
        node.wait_for_output("following a trajectory of 1 points for 1.000 s")
        legs.now += 2 * SECOND // 5
        lifting = lifting_forces(platform, 0.03, 0.15)
        np.testing.assert_allclose(legs.answer(expected.leg_lengths).effort, lifting, rtol=1e-6)


@pytest.mark.parametrize("loop", ["on", "off"])
def test_lost_feedback_fades_and_impossible_lengths_are_a_safe_output(platform, loop):
    parameters = {"state_timeout": 0.4, "safe_fade_time": 0.3, "safe_output": "gravity_fade"}
    parameters["native_loop"] = loop
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        legs = Legs(peer, platform)
        expected = forces_at(platform)
        legs.answer(expected.leg_lengths)
        node.wait_for_output("no joint state for .* safe output gravity_fade")
        peer.wait_until(lambda: legs.commands and not any(legs.commands[-1].data), "no fade to zero")
        faded = np.array([message.data for message in legs.commands])
        assert np.abs(faded).max() <= np.abs(expected.actuator_forces).max() * (1.0 + 1e-9)
        command = legs.answer(expected.leg_lengths)
        np.testing.assert_allclose(command.effort, expected.actuator_forces, rtol=1e-6)
        command = legs.answer([0.5, 0.78, 0.5, 0.78, 0.1, 3.0])
        assert np.isfinite(command.effort).all()
        node.wait_for_output("safe output: .*no finite effort for this state: no pose near the last one")
        assert stamp_to_nanoseconds(command.header.stamp) > 0


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"machine": "no_such_machine"}, "no_such_machine"),
        ({"machine": "/nowhere/machine.yaml"}, "/nowhere/machine.yaml does not exist"),
        ({"machine": "/dev/zero"}, "parameter 'machine': /dev/zero is no regular file"),
        ({"zero_lengths": [0.5, 0.5]}, "zero_lengths"),
        ({"kp": [1.0, 2.0]}, "kp"),
    ],
)
def test_a_bad_start_ends_with_one_clear_line(parameters, reason):
    with NodeProcess(NODE, parameters) as node:
        assert node.wait(PATIENCE) != 0
        assert "Traceback" not in node.output
        node.wait_for_output(reason)
