"""What files for other controllers and for ROS set: it counts here too, or the log tells that not."""

import pytest
from rclpy.qos import QoSReliabilityPolicy
from ros_harness import NodeProcess, peer_with
from two_links import NODE

from robot_dynamics.ros.actions.deferred_server import AVAILABLE

pytestmark = pytest.mark.ros


@pytest.mark.parametrize("native", ["auto", "off"])
def test_constraints_are_taken_and_quality_of_service_is_what_the_parameters_say(native):
    parameters = {
        "native_loop": native,
        "constraints.elbow.goal": 0.1,
        "constraints.goal_time": 1.0,
        "qos_overrides./joint_states.subscription.reliability": "reliable",
        "qos_overrides./effort_controller/commands.publisher.reliability": "best_effort",
        f"qos_overrides./{NODE}/joint_trajectory.subscription.reliability": "best_effort",
        "qos_overrides./of_another_node.publisher.depth": 3,
    }
    reliable, best_effort = QoSReliabilityPolicy.RELIABLE, QoSReliabilityPolicy.BEST_EFFORT
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        node.wait_for_output("waiting for the topic")
        graph = peer.node
        seen = {
            "/joint_states": (graph.get_subscriptions_info_by_topic, reliable),
            f"/{NODE}/joint_trajectory": (graph.get_subscriptions_info_by_topic, best_effort),
            "/effort_controller/commands": (graph.get_publishers_info_by_topic, best_effort),
            "/joint_command": (graph.get_publishers_info_by_topic, reliable),
        }
        for topic, (ends, expected) in seen.items():
            end = peer.wait_until(lambda ends=ends, topic=topic: ends(topic), f"nobody at {topic}")[0]
            assert end.qos_profile.reliability == expected, topic
        without = "constraints.elbow.goal, constraints.goal_time: no effect, because without control_msgs"
        assert (node.output.count(without) == 1) != AVAILABLE


def test_a_quality_of_service_that_there_is_not_ends_the_node_with_those_that_there_are():
    bad = {"qos_overrides./joint_states.subscription.reliability": "certain"}
    with NodeProcess(NODE, bad) as node:
        assert node.wait_for_exit() == 1
        assert "the topic joint_states" in node.output and "reliable or best_effort" in node.output
        assert "Traceback" not in node.output
