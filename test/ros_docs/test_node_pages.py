"""Each node's page and parameter file tell what the running node offers: no less, no more."""

import importlib.util
import re

import pytest
import yaml
from pages import is_row_of, offered_services, offered_topics, rows
from ros_harness import NodeProcess, free_port, peer_with

from robot_dynamics.resources import resource

pytest.importorskip("rclpy", reason="rclpy runs the nodes")
from rcl_interfaces.srv import ListParameters

pytestmark = pytest.mark.ros

ARM = {"robot_description": resource("urdf/scara.urdf").read_text(encoding="utf-8")}
FROM_IMU = {**ARM, "gravity_from_imu": True}
MACHINE = {"machine": "stewart_demo"}
WHERE_INSTALLED = {"control_msgs", "tf2_msgs"}
"""Packages that nodes use where they are installed."""
OF_THE_ACTION = {"path_tolerance", "goal_tolerance", "stopped_velocity_tolerance", "goal_time_tolerance"}
"""Parameters that exist where control_msgs is installed."""


# Parameters in which a node offers all it can; some of it only one after the other.
NODES = {
    "computed_torque_controller": [FROM_IMU],
    "trajectory_feedforward": [{**FROM_IMU, "effort_path": "commands"}],
    "robot_model": [FROM_IMU],
    "stewart_platform": [MACHINE],
    "simulator": [
        {**ARM, "publish_clock": True, "command_message": "sensor_msgs/JointState"},
        {**MACHINE, "lockstep": True},
        {**ARM, "publish_description": True, "measure_latency": True},
    ],
    "markers": [ARM],
    "web_view": [
        {**ARM, "port": free_port()},
        {**MACHINE, "port": free_port()},
    ],
}
READY = {
    "web_view": "is shown at",
    "simulator": "simulating",
    "stewart_platform": "machine",
    "markers": "markers of",
}
OF_EVERY_NODE = {"use_sim_time", "robot_description", "start_type_description_service"}
SILENT = ("markers", "web_view")
"""Nodes without diagnostics."""


def offer(node):
    """Topics, services and parameters of a node, with everything on that it can do."""
    topics, services, parameters = {}, {}, set()
    for given in NODES[node]:
        process = NodeProcess(node, given)
        with peer_with(process) as peer:
            process.wait_for_output(READY.get(node, "model of"))
            peer.wait_until(lambda peer=peer: node in peer.node.get_node_names(), "the node is not seen")
            answer = peer.call(ListParameters, f"/{node}/list_parameters")
            peer.wait_until(
                lambda peer=peer: node in SILENT or "/diagnostics" in offered_topics(peer, node),
                "the node's topics",
            )
            topics.update(offered_topics(peer, node))
            services.update(offered_services(peer, node))
            parameters.update(answer.result.names)
    return topics, services, parameters


def unsaid_topics(node, topics, table):
    """What the page does not tell of the topics."""
    for name, (kind, reliabilities) in topics.items():
        about = [row for row in table if is_row_of(row, name, node)]
        text = " ".join(row.text for row in about)
        if kind not in [row.type for row in about]:
            yield f"the topic {name} ({kind})"
        yield from (f"that {name} is {word}" for word in reliabilities if word not in text)


def unsaid_services(node, services, table):
    """The services that the page does not name."""
    for name, kind in services.items():
        if kind not in [row.type for row in table if is_row_of(row, name, node)]:
            yield f"the service {name} ({kind})"


def invented(node, names, table):
    """What the page names and the node does not offer."""
    for row in table:
        if row.type.split("/")[0] not in WHERE_INSTALLED and not any(is_row_of(row, n, node) for n in names):
            yield row.name


@pytest.mark.parametrize("node", sorted(NODES))
def test_page_and_parameter_file_are_those_of_the_node(node):
    if node == "web_view":
        pytest.importorskip("viser", reason="viser serves the page")
    topics, services, declared = offer(node)
    table = rows(node)
    unsaid = [*unsaid_topics(node, topics, table), *unsaid_services(node, services, table)]
    assert not unsaid, f"docs/{node}.md does not tell"
    assert not [*invented(node, {*topics, *services}, table)], f"docs/{node}.md names what is not there"

    text = resource(f"config/{node}.yaml").read_text(encoding="utf-8")
    mentioned = set(re.findall(r"^ +(?:# )?(\w+): +(?=\S)", text, re.MULTILINE))
    # rclpy's own names for what a launch file may say of a topic's quality of service.
    ours = {name for name in declared - OF_EVERY_NODE if not name.startswith("qos_overrides.")}
    assert not ours - mentioned, f"config/{node}.yaml lacks parameters"
    (given,) = yaml.safe_load(text).values()
    strangers = set(given["ros__parameters"]) - ours
    if importlib.util.find_spec("control_msgs") is None:
        strangers -= OF_THE_ACTION
    assert not strangers, f"config/{node}.yaml has parameters that do not exist"
