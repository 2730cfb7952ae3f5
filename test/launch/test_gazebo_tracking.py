"""Arm and platform follow trajectories in a real Gazebo, through ros2_control; nothing of it stays behind."""

import os
import signal

import numpy as np
import pytest

pytest.importorskip("launch.actions", reason="launch is not installed")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed")

from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from stock_ros2 import Session, needs
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_dynamics.resources import resource

pytestmark = pytest.mark.ros

RELIABLE = QoSProfile(depth=10)
GAZEBO = ("ros_gz_sim", "ros_gz_bridge", "gz_ros2_control", "controller_manager", "robot_state_publisher")
JOINTS = [f"joint{number}" for number in range(1, 7)]
START = np.array([0.5 * np.pi, 0.0, 0.5 * np.pi, 0.0, 0.0, 0.0])
MOVE = np.array([-0.8, -0.6, 0.7, 0.5, 0.4, -0.5])


@pytest.fixture
def running(tmp_path):
    """Starts a launch file with Gazebo, slowed down so that a busy machine keeps up."""
    sessions = []

    def start(file: str, *arguments: str, **parameters: float) -> Session:
        needs("robot_dynamics", *GAZEBO)
        world, settings = tmp_path / "world.sdf", tmp_path / "parameters.yaml"
        text = resource("urdf/world.sdf").read_text(encoding="utf-8")
        world.write_text(text.replace("factor>1.0<", "factor>0.2<"), encoding="utf-8")
        lines = [f"    {name}: {value}" for name, value in {"autostart": "true", **parameters}.items()]
        settings.write_text("\n".join(["/**:", "  ros__parameters:", *lines, ""]), encoding="utf-8")
        given = ["gui:=false", f"world:={world}", f"controller_parameters:={settings}", *arguments]
        sessions.append(Session(file, *given, environment={"GZ_PARTITION": tmp_path.name}))
        return sessions[-1]

    yield start
    for session in sessions:
        session.close()


def wait_for_controller(session: Session, name: str) -> None:
    """Wait until ros2_control runs a controller."""
    session.wait_for_output(rf"activated.*{name}")


def seconds(stamp) -> float:
    return stamp.sec + 1e-9 * stamp.nanosec


def points(*waypoints, times) -> list[JointTrajectoryPoint]:
    made = [JointTrajectoryPoint(positions=list(map(float, waypoint))) for waypoint in waypoints]
    for point, time in zip(made, times, strict=True):
        point.time_from_start.sec, point.time_from_start.nanosec = int(time), int(time % 1.0 * 1e9)
    return made


def errors(states: list[JointState], references: list[JointState]) -> np.ndarray:
    """(n, 6) deviations of the measured from the wanted positions of the joints, at the same moments."""
    wanted = {seconds(message.header.stamp): np.array(message.position) for message in references}
    found = []
    for message in states:
        if seconds(message.header.stamp) in wanted:
            position = dict(zip(message.name, message.position, strict=True))
            measured = np.array([position[name] for name in JOINTS])
            found.append(measured - wanted[seconds(message.header.stamp)])
    return np.array(found)


def test_an_arm_follows_a_trajectory(running):
    session = running("computed_torque", "robot:=puma560", "plant:=gazebo", state_timeout=1.0)
    peer = session.peer
    wait_for_controller(session, "effort_controller")
    states = peer.subscribe(JointState, "/joint_states", qos_profile_sensor_data)
    references = peer.subscribe(JointState, "/computed_torque_controller/reference", RELIABLE)
    topic = "/computed_torque_controller/joint_trajectory"
    publisher = peer.publisher(JointTrajectory, topic, RELIABLE)
    peer.wait_until(lambda: len(references) > 10 and len(states) > 10, "the arm is not held")
    motion = points(START + MOVE, START, times=(1.5, 3.0))
    publisher.publish(JointTrajectory(joint_names=JOINTS, points=motion))
    peer.wait_until(
        lambda: np.allclose(references[-1].position, START + MOVE, atol=1e-3), "the arm does not get there"
    )
    peer.wait_until(lambda: np.allclose(references[-1].position, START, atol=1e-9), "nor back")
    assert np.sqrt(np.mean(errors(states, references) ** 2)) < 2e-3
    rate = len(states) / (seconds(states[-1].header.stamp) - seconds(states[0].header.stamp))
    assert rate < 510.0


def test_a_platform_follows_a_trajectory(running):
    session = running("stewart", "plant:=gazebo", state_timeout=1.0)
    peer = session.peer
    wait_for_controller(session, "leg_effort_controller")
    poses = peer.subscribe(PoseStamped, "/stewart_platform/pose", RELIABLE)
    references = peer.subscribe(PoseStamped, "/stewart_platform/reference", RELIABLE)
    publisher = peer.publisher(MultiDOFJointTrajectory, "/stewart_platform/trajectory", RELIABLE)
    peer.wait_until(lambda: len(poses) > 10 and len(references) > 10, "the platform is not held")
    motion = MultiDOFJointTrajectory(joint_names=["platform"])
    for time, height in ((1, 0.58), (2, 0.53)):
        point = MultiDOFJointTrajectoryPoint()
        point.transforms.append(place(0.02, -0.01, height))
        point.time_from_start.sec = time
        motion.points.append(point)
    publisher.publish(motion)
    for height in (0.58, 0.53):
        peer.wait_until(
            lambda height=height: references[-1].pose.position.z == pytest.approx(height, abs=1e-4),
            "the platform does not get there",
        )
    end = len(poses)
    peer.wait_until(lambda: len(poses) > end + 100, "the poses stop")
    position = poses[-1].pose.position
    # Gazebo's legs lose a part of their force to friction: see docs/how_to/gazebo.md.
    assert [position.x, position.y, position.z] == pytest.approx([0.02, -0.01, 0.53], abs=2e-3)


def place(x: float, y: float, z: float):
    from geometry_msgs.msg import Quaternion, Transform, Vector3

    return Transform(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(w=1.0))


def test_a_stock_trajectory_controller_follows_far_better_with_the_models_efforts(running):
    needs("joint_trajectory_controller", "control_msgs")
    from control_msgs.msg import JointTrajectoryControllerState

    session = running("feedforward", "robot:=puma560")
    peer = session.peer
    wait_for_controller(session, "joint_trajectory_controller")
    states = peer.subscribe(
        JointTrajectoryControllerState, "/joint_trajectory_controller/controller_state", RELIABLE
    )
    sent = peer.subscribe(JointTrajectory, "/joint_trajectory_controller/joint_trajectory", RELIABLE)
    feeder = peer.publisher(JointTrajectory, "/trajectory_feedforward/joint_trajectory", RELIABLE)
    direct = peer.publisher(JointTrajectory, "/joint_trajectory_controller/joint_trajectory", RELIABLE)

    def now() -> float:
        return seconds(states[-1].header.stamp)

    def largest_error(publisher, trajectory) -> float:
        begin, start = len(states), now()
        publisher.publish(trajectory)
        peer.wait_until(lambda: now() > start + 2.5, "the simulation stands still")
        references = np.array([state.reference.positions for state in states[begin:]])
        np.testing.assert_allclose(np.ptp(references, axis=0), 0.6 * np.abs(MOVE), atol=0.05)
        return max(np.abs(state.error.positions).max() for state in states[begin:])

    def at_rest() -> bool:
        return np.allclose(states[-1].feedback.positions, START, atol=1e-3)

    feeder.publish(JointTrajectory(joint_names=JOINTS, points=points(START, times=(2.0,))))
    peer.wait_until(lambda: states and at_rest(), "the arm is not held by its weight")
    sent.clear()
    motion = points(START + 0.6 * MOVE, START, times=(1.0, 2.0))
    helped = largest_error(feeder, JointTrajectory(joint_names=JOINTS, points=motion))
    peer.wait_until(at_rest, "the arm does not come to rest")
    alone = JointTrajectory(joint_names=sent[0].joint_names, points=sent[0].points)
    for point in alone.points:
        point.effort = []
    assert largest_error(direct, alone) > 10.0 * helped


def test_a_killed_controller_takes_gazebo_down_too(running):
    session = running("computed_torque", "robot:=scara", "plant:=gazebo")
    wait_for_controller(session, "effort_controller")
    os.kill(session.launch.pid("computed_torque_controller"), signal.SIGKILL)
    session.launch.wait()
    assert session.launch.ended_cleanly("gazebo")
