"""Messages made at once from arrays equal those that ROS makes of the same points one by one."""

from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.ros.feedforward.messages import FilledTrajectory


@pytest.mark.parametrize("efforts", [True, False])
@pytest.mark.parametrize("joints", [1, 2, 7])
@pytest.mark.parametrize("name", ["a", "joint", "shoulder_1"])
@pytest.mark.parametrize("lead_points", [0, 2])
def test_bytes_and_object_are_the_same_message(name, joints, efforts, lead_points):
    rng = np.random.default_rng(joints)
    names = [f"{name}{k}" for k in range(joints)]
    columns = [rng.normal(size=(5, joints)) for _ in range(4)]
    times = 3.0 + np.array([0.0, 0.4, 0.999999999, 1.5, 200.25])
    samples = SimpleNamespace(
        times=times,
        **dict(zip(("positions", "velocities", "accelerations", "efforts"), columns, strict=True)),
    )
    lead = SimpleNamespace(
        times=times[:lead_points] - 1.0,
        **dict(
            zip(
                ("positions", "velocities", "accelerations", "efforts"),
                [rng.normal(size=(lead_points, joints)) for _ in range(4)],
                strict=True,
            )
        ),
    )
    spline = QuinticSpline(times[[0, -1]], rng.normal(size=(1, 6, joints)))
    made = SimpleNamespace(samples=samples, lead=lead, trajectory=SimpleNamespace(start=3.0, spline=spline))
    filled = FilledTrajectory(made, names, 5 * 10**9, efforts)
    read = deserialize_message(filled.data, JointTrajectory)
    assert read == filled.message
    begins = 7 if lead_points else 8
    assert read.header.stamp.sec == begins
    assert read.header.stamp.sec + read.points[-1].time_from_start.sec == 208
    assert read.points[-1].time_from_start.nanosec == 250_000_000
    assert len(read.points) == lead_points + (5 if efforts else 2)
    assert len(read.points[0].effort) == (joints if efforts else 0)
    assert not any(read.points[-1].velocities)
