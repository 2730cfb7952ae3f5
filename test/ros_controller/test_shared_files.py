"""Settings in files for other controllers and for ROS: they count here too, or the log tells that not."""

import pytest
import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import QoSReliabilityPolicy
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from two_links import NAMES, NODE, TWO_LINKS

from robot_dynamics.errors import ParameterError
from robot_dynamics.ros.actions.deferred_server import AVAILABLE
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.joint_limits import declared_rules
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp
from robot_dynamics.ros.support.processes import claim_domain

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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/joint_states.subscription.reliability", ["the topic joint_states", "reliable or best_effort"]),
        ("/joint_state.subscription.reliability", ["'qos_overrides./joint_states.subscription.reliability'"]),
    ],
)
def test_a_quality_of_service_that_there_is_not_ends_the_node_with_those_that_there_are(name, words):
    with NodeProcess(NODE, {f"qos_overrides.{name}": "certain"}) as node:
        assert node.wait_for_exit() == 1
        assert all(word in node.output for word in words), node.output
        assert "Traceback" not in node.output


LIMITS = {
    "joint_limits.elbow.has_velocity_limits": True,
    "joint_limits.elbow.max_velocity": 1,
    "joint_limits.shoulder.has_velocity_limits": False,
    "joint_limits.shoulder.max_velocity": 0.001,
    "joint_limits.shoulder.has_acceleration_limits": True,
    "joint_limits.shoulder.max_acceleration": 0.5,
    "joint_limits.finger.max_velocity": 0.2,
    "joint_limits.finger.has_jerk_limits": False,
    "default_velocity_scaling_factor": 0.1,
}


@pytest.mark.parametrize("name", [NODE, "trajectory_feedforward"])
def test_limits_of_moveit_refuse_a_trajectory_and_joints_may_be_left_out(name):
    parameters = {"robot_description": TWO_LINKS, "state_timeout": 60.0, "allow_partial_joints_goal": True}
    with NodeProcess(name, {**parameters, **LIMITS}) as node, peer_with(node) as peer:
        states = peer.publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        if name != NODE:  # the feedforward node refuses what no controller would hear
            peer.subscribe(JointTrajectory, "joint_trajectory_controller/joint_trajectory", qos.TRAJECTORY)
        send = peer.publisher(JointTrajectory, f"{name}/joint_trajectory", qos.TRAJECTORY)
        now = 10**9

        def says(text, names, *goal):
            """Send what moves in a second, with states of an arm that stands, until the log has the text."""

            def publish():
                nonlocal now
                now += 10**7
                state = JointState(name=NAMES, position=[0.0, 0.0], velocity=[0.0, 0.0])
                state.header.stamp = nanoseconds_to_stamp(now)
                states.publish(state)
                point = JointTrajectoryPoint(positions=list(goal))
                point.time_from_start.sec = 1
                send.publish(JointTrajectory(joint_names=names, points=[point]))

            peer.repeat_until(publish, lambda: text in node.output, f"the log has no {text!r}")

        says("'elbow' would have the velocity 1.8750 (rad/s or m/s) 0.500 s after", NAMES, 0.0, 1.0)
        says("'shoulder' would have the acceleration -1.7", NAMES, 0.3, 0.0)
        says("missing joint names ['shoulder', 'elbow']", [])
        says("1 points for 1.0" if name == NODE else "points for 1.000 s", ["elbow"], 0.1)
        assert "joint_limits of finger: the arm has no such joint" in node.output


def test_a_limit_without_a_value_is_refused():
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=claim_domain(), args=[])
    given = [Parameter("joint_limits.elbow.has_velocity_limits", value=True)]
    node = rclpy.create_node("limits", context=context, parameter_overrides=given)
    with pytest.raises(ParameterError, match=r"'joint_limits.elbow.max_velocity' is None; it must be"):
        declared_rules(node)
    node.destroy_node()
    context.try_shutdown()
