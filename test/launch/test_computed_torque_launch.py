"""launch_testing: the arm under computed torque is held, follows a trajectory, and ends cleanly."""

import os
import tempfile
import unittest
from pathlib import Path

import pytest

pytest.importorskip("launch_testing.actions", reason="launch_testing is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

import launch_testing
import launch_testing.asserts
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from builtin_interfaces.msg import Duration
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetEnvironmentVariable
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.qos import qos_profile_sensor_data
from ros_harness import Peer
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.resources import resource
from robot_dynamics.ros.support.isolation import this_host_only
from robot_dynamics.ros.support.processes import claim_domain

FOLDER = tempfile.TemporaryDirectory(prefix="robot_dynamics_launch_")
LOCKSTEP = Path(FOLDER.name) / "lockstep.yaml"
GOAL = [0.2, -0.8, 0.1, 0.5]


@pytest.mark.launch_test
def generate_test_description():
    # Here, because launch_testing leaves the whole folder out when a module is skipped.
    try:
        get_package_prefix("robot_dynamics")
    except (PackageNotFoundError, ValueError):
        pytest.skip("robot_dynamics is not in the ROS workspace")
    # In lockstep, so that a busy machine does not matter.
    LOCKSTEP.write_text("/**: {ros__parameters: {lockstep: true}}", encoding="utf-8")
    arguments = {
        "robot": "scara",
        "description": "parameter",
        "use_sim_time": "true",
        "controller_parameters": str(LOCKSTEP),
        "simulator_parameters": str(LOCKSTEP),
    }
    file = str(resource("launch/computed_torque.launch.py"))
    return LaunchDescription(
        [
            *(SetEnvironmentVariable(*variable) for variable in this_host_only(os.environ).items()),
            SetEnvironmentVariable("ROS_DOMAIN_ID", str(claim_domain())),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(file), launch_arguments=list(arguments.items())
            ),
            launch_testing.actions.ReadyToTest(),
        ]
    )


class TestTracking(unittest.TestCase):
    def test_a_trajectory_is_followed_to_its_end(self):
        peer = Peer()
        try:
            states = peer.subscribe(JointState, "/joint_states", qos_profile_sensor_data)
            answers = peer.subscribe(JointState, "/joint_command", qos_profile_sensor_data)
            publisher = peer.publisher(JointTrajectory, "/computed_torque_controller/joint_trajectory", 10)
            peer.wait_until(lambda: states and answers, "no joint states are answered")
            message = JointTrajectory(joint_names=states[-1].name)
            message.points = [
                JointTrajectoryPoint(
                    positions=GOAL, velocities=[0.0] * 4, time_from_start=Duration(sec=1, nanosec=0)
                )
            ]
            publisher.publish(message)
            peer.wait_until(
                lambda: max(abs(a - b) for a, b in zip(states[-1].position, GOAL, strict=True)) < 2e-3,
                "the arm did not come to the trajectory's end",
            )
        finally:
            peer.close()


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_every_node_ends_cleanly(self, proc_info):
        launch_testing.asserts.assertExitCodes(proc_info)
