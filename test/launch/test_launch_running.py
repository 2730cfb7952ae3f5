"""The launch files run for real: this package's nodes, and Gazebo where it is installed."""

import os
import signal

import pytest

pytest.importorskip("launch.actions", reason="launch is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

from launching_harness import Launch
from lifecycle_msgs.srv import GetState
from rclpy.qos import qos_profile_sensor_data
from ros_harness import Peer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from stock_ros2 import needs

from robot_dynamics.ros.support.processes import claim_domain, node_environment

pytestmark = pytest.mark.ros


@pytest.fixture
def running():
    """Starts a launch file, and a peer that listens to it."""
    started = []

    def start(file: str, *arguments: str) -> tuple[Launch, Peer]:
        launch, peer = Launch(file, node_environment(claim_domain()), *arguments), Peer()
        peer.processes.append(launch)
        started.extend([launch, peer])
        return launch, peer

    yield start
    for part in started:
        part.stop() if isinstance(part, Launch) else part.close()


def commands_flow(peer: Peer, namespace: str, count: int = 200) -> tuple[list, list]:
    """Wait for efforts and joint states, and return them."""
    efforts = peer.subscribe(
        Float64MultiArray, f"{namespace}/effort_controller/commands", qos_profile_sensor_data
    )
    states = peer.subscribe(JointState, f"{namespace}/joint_states", qos_profile_sensor_data)
    peer.wait_until(lambda: len(efforts) >= count and len(states) >= count, "commands and states do not flow")
    return efforts, states


def test_the_arm_is_held_by_commands_in_its_namespace(running):
    needs("robot_dynamics")
    launch, peer = running(
        "computed_torque", "robot:=scara", "description:=parameter", "namespace:=left", "use_sim_time:=true"
    )
    efforts, states = commands_flow(peer, "/left")
    assert len(efforts[-1].data) == 4
    # scara begins, and is held, where config/initial_positions.yaml says.
    assert states[-1].position.tolist() == pytest.approx([0.6, -1.2, 0.05, 0.0], abs=1e-3)
    assert peer.node.count_publishers("/clock") == 1
    assert peer.call(GetState, "/left/computed_torque_controller/get_state").current_state.label == "active"
    assert launch.stop() == 0


def test_robot_state_publisher_hands_over_the_description(running):
    needs("robot_dynamics", "robot_state_publisher")
    _, peer = running("computed_torque", "robot:=puma560")
    efforts, _ = commands_flow(peer, "")
    assert len(efforts[-1].data) == 6


def test_killing_the_simulator_takes_the_launch_down(running):
    needs("robot_dynamics")
    launch, peer = running("computed_torque", "description:=parameter")
    commands_flow(peer, "", count=1)
    pid = int(launch.wait_for_output(r"simulator-\d+\]: process started with pid \[(\d+)\]")[1])
    os.kill(pid, signal.SIGKILL)
    launch.wait()
    assert "simulator has ended with exit code" in launch.output


def test_a_controller_that_is_respawned_takes_over_again(running):
    needs("robot_dynamics")
    launch, peer = running("computed_torque", "description:=parameter", "on_exit:=respawn")
    efforts, _ = commands_flow(peer, "", count=1)
    pid = int(launch.wait_for_output(r"controller-\d+\]: process started with pid \[(\d+)\]")[1])
    os.kill(pid, signal.SIGKILL)
    launch.wait_for_output(r"controller-\d+\]: process has died")
    before = len(efforts)
    peer.wait_until(lambda: len(efforts) > before + 50, "the controller did not come back")


def test_the_arm_is_held_in_gazebo(running):
    needs("robot_dynamics", "ros_gz_sim", "ros_gz_bridge", "gz_ros2_control", "controller_manager")
    _, peer = running("computed_torque", "robot:=scara", "plant:=gazebo", "gui:=false")
    _, states = commands_flow(peer, "", count=1000)
    position = dict(zip(states[-1].name, states[-1].position, strict=True))
    assert position["joint2"] == pytest.approx(-1.2, abs=0.02)
    assert position["joint3"] == pytest.approx(0.05, abs=0.02)


def test_the_platform_is_held_by_commands_in_its_namespace(running):
    needs("robot_dynamics")
    _, peer = running("stewart", "namespace:=right")
    efforts = peer.subscribe(
        Float64MultiArray, "/right/leg_effort_controller/commands", qos_profile_sensor_data
    )
    states = peer.subscribe(JointState, "/right/joint_states", qos_profile_sensor_data)
    peer.wait_until(lambda: len(efforts) > 100 and len(states) > 100, "commands and states do not flow")
    assert len(efforts[-1].data) == 6
    assert states[-1].position.tolist() == pytest.approx([0.623] * 6, abs=5e-3)


def test_the_platform_is_held_in_gazebo(running):
    needs("robot_dynamics", "ros_gz_sim", "ros_gz_bridge", "gz_ros2_control", "controller_manager")
    _, peer = running("stewart", "plant:=gazebo", "gui:=false")
    states = peer.subscribe(JointState, "/joint_states", qos_profile_sensor_data)
    efforts = peer.subscribe(Float64MultiArray, "/leg_effort_controller/commands", qos_profile_sensor_data)
    peer.wait_until(lambda: len(states) >= 1000 and len(efforts) >= 1000, "commands and states do not flow")
    # Legs that hang in open loops would slide to their stops, 0.12 m below home.
    assert max(abs(position) for position in states[-1].position) < 0.02
