"""Messages in memory: measured, and read as rclpy reads them, before they are objects."""

import pytest
from geometry_msgs.msg import Transform
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from robot_dynamics.ros.actions import message_memory as memory


def looked_at(message, look):
    """What ``look`` makes of the message's address, and the message as its own converter makes it."""
    kind = type(message)
    seen = []

    def read(address):
        seen.append(look(address))
        return memory.converter_of(kind)(address)

    taking = memory.taking_class(kind, read)
    again = rclpy_implementation.rclpy_deserialize(serialize_message(message), taking)
    return seen[0], again


@pytest.mark.parametrize(
    "message, size",
    [
        (JointState(name=["a", "bcd"], position=[1.0, 2.0]), 8 + 4 + 16),
        (
            JointTrajectory(joint_names=["ab"], points=[JointTrajectoryPoint(positions=[1.0] * 3)] * 2),
            8 + 2 + 2 * (24 + 8),
        ),
        (
            MultiDOFJointTrajectory(points=[MultiDOFJointTrajectoryPoint(transforms=[Transform()] * 3)]),
            8 + 3 * 56 + 8,
        ),
    ],
)
def test_a_message_is_measured_where_it_lies_and_converted_as_ever(message, size):
    budget = 10_000
    left, again = looked_at(message, lambda address: memory.remaining(type(message), address, budget))
    assert again == message
    assert budget - left == size
    spent, _ = looked_at(message, lambda address: memory.remaining(type(message), address, budget - left - 1))
    assert spent < 0


def test_measuring_ends_as_soon_as_the_budget_is_spent():
    many = MultiDOFJointTrajectory(points=[MultiDOFJointTrajectoryPoint()] * 100_000)
    left, _ = looked_at(many, lambda address: memory.remaining(type(many), address, 1000))
    assert left == 1000 - 8 - 100_000 * memory.layout_of(MultiDOFJointTrajectoryPoint).size
