"""Trajectories as bytes: what is read from them is what rclpy reads, and monsters are refused unread."""

import re
import struct

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_dynamics.control.waypoints import tabulate
from robot_dynamics.errors import BackendError, TrajectoryError
from robot_dynamics.ros.control.native import raw_trajectory
from robot_dynamics.ros.control.native.raw_trajectory import LARGEST, LARGEST_FOREIGN, RawTrajectory
from robot_dynamics.ros.support.trajectories import pose_waypoints, waypoints

NANOSECONDS = st.integers(0, 999_999_999)
numbers = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def trajectories(draw):
    names = draw(st.lists(st.text("abcä", max_size=5), min_size=1, max_size=4))
    rows = st.lists(numbers, min_size=len(names), max_size=len(names))
    maybe = st.one_of(st.just([]), rows)
    message = JointTrajectory(joint_names=names)
    message.header.frame_id = draw(st.text("xyz", max_size=6))
    message.header.stamp = Time(
        sec=draw(st.integers(0, 2**31 - 1)), nanosec=draw(st.integers(0, 999_999_999))
    )
    for _ in range(draw(st.integers(0, 5))):
        point = JointTrajectoryPoint(positions=draw(rows), velocities=draw(maybe), effort=draw(maybe))
        point.accelerations = draw(maybe)
        point.time_from_start = Duration(
            sec=draw(st.integers(-5, 100)), nanosec=draw(st.integers(0, 10**9 - 1))
        )
        message.points.append(point)
    return message


@st.composite
def pose_trajectories(draw):
    def vector():
        return Vector3(**{axis: draw(numbers) for axis in "xyz"})

    def twists():
        return [Twist(linear=vector(), angular=vector()) for _ in range(draw(st.integers(0, 2)))]

    message = MultiDOFJointTrajectory(joint_names=draw(st.lists(st.text("ab", max_size=3), max_size=2)))
    for _ in range(draw(st.integers(1, 4))):
        many = draw(st.sampled_from((1, 1, 1, 0, 2)))
        turn = Quaternion(**{axis: draw(numbers) for axis in "xyzw"})
        point = MultiDOFJointTrajectoryPoint(
            transforms=[Transform(translation=vector(), rotation=turn)] * many,
            velocities=twists(),
            accelerations=twists(),
            time_from_start=Duration(sec=draw(st.integers(0, 9)), nanosec=draw(NANOSECONDS)),
        )
        message.points.append(point)
    return message


@settings(deadline=None, derandomize=True, max_examples=80)
@given(pose_trajectories(), st.integers(0, 400))
def test_poses_are_read_as_by_rclpy_or_refused_likewise(message, cut):
    data = bytes(serialize_message(message))
    try:
        expected = pose_waypoints(message)
    except TrajectoryError as error:
        with pytest.raises(TrajectoryError, match=re.escape(str(error))):
            RawTrajectory(MultiDOFJointTrajectory, data).poses()
    else:
        assert RawTrajectory(MultiDOFJointTrajectory, data).poses() == expected
        if cut < len(data) - 8:
            with pytest.raises(TrajectoryError):
                RawTrajectory(MultiDOFJointTrajectory, data[: max(cut, 4)]).poses()


@settings(deadline=None, derandomize=True, max_examples=40)
@given(trajectories())
def test_the_same_is_read_where_there_is_no_compiler(message):
    def missing():
        raise BackendError("no compiler")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_trajectory, "load_hosts", missing)
        same(bytes(serialize_message(message)))


def same(data):
    """The table of a message, by C and by rclpy; None if either refuses."""
    message = deserialize_message(data, JointTrajectory)
    raw = RawTrajectory(JointTrajectory, data)
    assert raw.joint_names == list(message.joint_names)
    assert raw.points == len(message.points)
    assert raw.stamp == message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    if raw.points:
        table, expected = raw.table(), tabulate(waypoints(message), raw.joint_names)
        for field in ("times", "positions", "velocities", "accelerations"):
            np.testing.assert_array_equal(getattr(table, field), getattr(expected, field))


@settings(deadline=None, derandomize=True, max_examples=80)
@given(trajectories())
def test_the_same_is_read_as_by_rclpy(message):
    same(bytes(serialize_message(message)))


@pytest.mark.long
@settings(deadline=None, derandomize=True, max_examples=300)
@given(trajectories(), st.data())
def test_damaged_bytes_are_refused_by_a_trajectory_error_or_read_as_by_rclpy(message, data):
    damaged = bytearray(serialize_message(message))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(damaged) // 4 - 1)) * 4
        word = data.draw(st.sampled_from((0, 1, 3, 2**31 - 1, 2**32 - 1, 2**32 - 8, len(damaged))))
        damaged[place : place + 4] = struct.pack("<I", word)
    cut = data.draw(st.integers(0, len(damaged)))
    for candidate in (bytes(damaged), bytes(damaged[:cut])):
        try:
            raw = RawTrajectory(JointTrajectory, candidate)
            if raw.points:
                raw.table()
        except TrajectoryError:
            continue
        same(candidate)


def test_a_name_ends_at_its_first_zero():
    message = JointTrajectory(joint_names=["xsa"], points=[JointTrajectoryPoint(positions=[0.0])])
    same(serialize_message(message).replace(b"xsa", b"\0sa"))


def test_monsters_are_refused_before_anything_is_converted():
    with pytest.raises(TrajectoryError, match=f"{LARGEST + 1} bytes; at most {LARGEST} are read"):
        RawTrajectory(JointTrajectory, b"\0\1\0\0" + bytes(LARGEST - 3))
    with pytest.raises(TrajectoryError, match="in another encapsulation"):
        RawTrajectory(JointTrajectory, b"\0\7\0\0" + bytes(LARGEST_FOREIGN))
    message = JointTrajectory(joint_names=["abc"], points=[JointTrajectoryPoint(positions=[0.0])] * 2)
    data = bytes(serialize_message(message))
    count, many = data.index(struct.pack("<I", 2)), struct.pack("<I", 100_001)
    with pytest.raises(TrajectoryError, match=r"100001 elements, of which its .* bytes hold few"):
        RawTrajectory(JointTrajectory, data[:count] + many + data[count + 4 :])
    with pytest.raises(TrajectoryError, match="100001 waypoints; 1 to 100000"):
        RawTrajectory(JointTrajectory, data[:count] + many + bytes(40 * 100_001))


def test_a_point_with_too_few_values_is_named():
    message = JointTrajectory(joint_names=["a", "b"])
    message.points = [JointTrajectoryPoint(positions=[1.0, 2.0]), JointTrajectoryPoint(positions=[1.0])]
    with pytest.raises(TrajectoryError, match="waypoint 1 has 1 positions for 2 joints"):
        RawTrajectory(JointTrajectory, bytes(serialize_message(message))).table()
    message.points[1].positions = [1.0, float("nan")]
    with pytest.raises(TrajectoryError, match="waypoint 1: positions of joint 'b' is nan"):
        RawTrajectory(JointTrajectory, bytes(serialize_message(message))).table()
