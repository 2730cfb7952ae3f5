"""Payload, gravity and friction set at robot_model count in every node that follows it."""

import numpy as np
import pytest
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from ros_harness import NodeProcess, peer_with
from test_robot_model_node import ARM

pytestmark = pytest.mark.ros

OWNER, FOLLOWERS = "robot_model", ("computed_torque_controller", "trajectory_feedforward")
FOLLOW = {"robot_description": ARM, "follow_robot_model": True, "payload_mass": 9.0}


def value(peer, node, name):
    answer = peer.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=[name]))
    found = parameter_value_to_python(answer.values[0])
    return list(found) if hasattr(found, "__iter__") else found


def test_who_follows_takes_what_is_set_at_robot_model_now_and_later():
    owner = NodeProcess(OWNER, {"robot_description": ARM, "payload_mass": 1.5, "friction": [0.3]})
    followers = [NodeProcess(node, FOLLOW) for node in FOLLOWERS]
    with peer_with(owner, *followers) as peer:

        def reaches(name, expected):
            for node in FOLLOWERS:
                peer.wait_until(lambda node=node: value(peer, node, name) == expected, f"{node}: {name}")

        reaches("payload_mass", 1.5)
        reaches("friction", [0.3])
        for name, wanted in [
            ("payload_center", [0.0, 0.1, 0.2]),
            ("payload_inertia", [0.01, 0.0, 0.0, 0.02, 0.0, 0.015]),
            ("payload_mass", 2.5),
            ("gravity", [3.0, 0.0, -9.0]),
            ("robot_compensates_gravity", True),
            ("damping", [0.1, 0.2]),
            ("rotor_inertia", [0.05, 0.06]),
        ]:
            assert peer.set_parameter(OWNER, name, wanted).successful, name
            reaches(name, wanted)
        for name, bad in [
            ("payload_mass", float("nan")),
            ("payload_inertia", [1.0, 0.0, 0.0, 1.0, 0.0, 3.0]),
            ("damping", [0.1, 0.2, 0.3]),
            ("friction", [-0.1]),
        ]:
            result = peer.set_parameter(OWNER, name, bad)
            assert not result.successful
            assert result.reason
        assert np.isclose(value(peer, FOLLOWERS[0], "payload_mass"), 2.5)
        assert value(peer, FOLLOWERS[0], "damping") == [0.1, 0.2]


def test_what_does_not_fit_a_follower_is_refused_there_with_the_reason():
    """The follower's arm ends at the upper link, so two values of damping are one too many."""
    owner = NodeProcess(OWNER, {"robot_description": ARM, "damping": [0.1, 0.2], "payload_mass": 1.5})
    follower = NodeProcess(FOLLOWERS[0], {**FOLLOW, "tip": "upper"})
    with peer_with(owner, follower) as peer:
        follower.wait_for_output("of /robot_model are refused, the own values stay: .*damping.* has 2 values")
        assert value(peer, FOLLOWERS[0], "payload_mass") == 9.0


def test_two_sources_of_gravity_are_refused():
    with NodeProcess(FOLLOWERS[0], {**FOLLOW, "gravity_from_imu": True}) as node:
        assert node.wait_for_exit() == 1
        node.wait_for_output("follow_robot_model and gravity_from_imu cannot both be true")
