"""Each node's page, table and file of parameters are those of the running node: no less, no more."""

import importlib.util

import pytest
import yaml
from docs_tools import tool
from pages import is_row_of, offered_services, offered_topics, rows
from ros_harness import NodeProcess, free_port, peer_with

from robot_dynamics.control.arm import laws
from robot_dynamics.resources import resource

pytest.importorskip("rclpy", reason="rclpy runs the nodes")
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python

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
    "computed_torque_controller": [{**FROM_IMU, "brakes": True}],
    "trajectory_feedforward": [{**FROM_IMU, "effort_path": "commands"}],
    "robot_model": [FROM_IMU],
    "contact_monitor": [FROM_IMU],
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


def described(peer, node, names, given):
    """Text, bounds, whether it is read-only, and default of each parameter; None where one was given."""
    request = DescribeParameters.Request(names=names)
    about = peer.call(DescribeParameters, f"/{node}/describe_parameters", request).descriptors
    values = dict.fromkeys(names)
    # The answer has no place for a parameter without a value.
    asked = [known for known, (*_, default) in documented(node) if default is not None and known not in given]
    asked = [name for name in asked if name in values]
    request = GetParameters.Request(names=asked)
    answer = peer.call(GetParameters, f"/{node}/get_parameters", request).values
    values.update(zip(asked, map(parameter_value_to_python, answer), strict=True))
    for name, descriptor in zip(names, about, strict=True):
        yield (
            name,
            (descriptor.description, descriptor.additional_constraints, descriptor.read_only, values[name]),
        )


def documented(node):
    """Row of each parameter in the table of the site."""
    for name, known in tool("node_parameters").node_parameters(node).items():
        text = f"{known.text} [{known.unit}]" if known.unit else known.text
        default = (list(known.default) or None) if known.array else known.default
        yield name, (text, known.constraints, known.read_only, default)


def offer(node):
    """Topics, services and parameters of a node, with everything on that it can do."""
    topics, services, parameters = {}, {}, {}
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
            parameters.update(described(peer, node, list(answer.result.names), given))
    return topics, services, parameters


def unsaid_topics(node, topics, table):
    """Facts of the topics that the page does not tell."""
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
    """Names on the page that the node does not offer."""
    for row in table:
        if row.type.split("/")[0] not in WHERE_INSTALLED and not any(is_row_of(row, n, node) for n in names):
            yield row.name


@pytest.fixture(autouse=True)
def no_law_of_other_tests(monkeypatch):
    """The node under test imports no laws in Python; other tests of this process may have."""
    monkeypatch.setattr(laws, "_PYTHON_LAWS", {})


@pytest.mark.parametrize("node", sorted(NODES))
def test_page_and_parameter_file_are_those_of_the_node(node):
    if node == "web_view":
        pytest.importorskip("viser", reason="viser serves the page")
    topics, services, declared = offer(node)
    table = rows(node)
    unsaid = [*unsaid_topics(node, topics, table), *unsaid_services(node, services, table)]
    assert not unsaid, f"docs/reference/{node}.md does not tell"
    assert not [*invented(node, {*topics, *services}, table)], (
        f"docs/reference/{node}.md names what is not there"
    )

    # rclpy's own names for what a launch file may say of a topic's quality of service.
    ours = {name for name in declared.keys() - OF_EVERY_NODE if not name.startswith("qos_overrides.")}
    table = dict(documented(node))
    absent = OF_THE_ACTION if importlib.util.find_spec("control_msgs") is None else set()
    assert ours == table.keys() - absent
    for name in ours:
        *documented_so, default = table[name]
        *seen, value = declared[name]
        assert (name, seen) == (name, documented_so)
        assert value is None or (list(value) if isinstance(default, list) else value) == default, name
    written = resource(f"config/{node}.yaml").read_text(encoding="utf-8")
    (given,) = yaml.safe_load(written).values()
    assert given["ros__parameters"] == {name: row[-1] for name, row in table.items() if row[-1] is not None}
    assert written == tool("parameter_files").parameter_file(node), (
        "python docs/tools/parameter_files.py writes it"
    )
