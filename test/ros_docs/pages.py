"""Reads the pages of the nodes, and what a running node offers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs/reference"

# What every ROS 2 node has.
COMMON_PUBLISHED = {"/parameter_events", "/rosout"}
COMMON_SUBSCRIBED = {"/parameter_events", "/clock"}
COMMON_SERVICES = re.compile(
    r".*/(describe_parameters|get_parameter_types|get_parameters|list_parameters|set_parameters"
    r"|set_parameters_atomically|get_type_description|_action/.*"
    r"|change_state|get_state|get_available_states|get_available_transitions|get_transition_graph)$"
)


@dataclass(frozen=True)
class Row:
    """A line of a page's table of topics and services."""

    name: str
    type: str
    text: str


def rows(page: str) -> list[Row]:
    """Rows whose first cell names topics or services and whose second cell is a type in code."""
    found = []
    for line in (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 3:
            continue
        kind = re.match(r"`(\w+/\w+)`", cells[1])
        if kind:
            found.extend(
                Row(name, kind[1], ", ".join(cells[1:])) for name in re.findall(r"`([^`]+)`", cells[0])
            )
    return found


def short(kind: str) -> str:
    """``sensor_msgs/msg/Imu`` as pages write it: ``sensor_msgs/Imu``."""
    package, _, name = kind.split("/")
    return f"{package}/{name}"


def is_row_of(row: Row, endpoint: str, node: str) -> bool:
    """True if a row is about an endpoint; ``<controller>`` in a row stands for any name."""
    name = row.name.replace("~", f"/{node}")
    pattern = re.sub(r"<\w+>", r"\\w+", re.escape(name).replace(r"\<", "<").replace(r"\>", ">"))
    return re.fullmatch(f"/?{pattern}", endpoint) is not None


def offered_topics(peer: Any, node: str) -> dict[str, tuple[str, set[str]]]:
    """Type and reliabilities of each topic that the node publishes or subscribes to."""
    topics: dict[str, tuple[str, set[str]]] = {}
    graph = peer.node
    published = graph.get_publisher_names_and_types_by_node(node, "/")
    subscribed = graph.get_subscriber_names_and_types_by_node(node, "/")
    listed = [entry for entry in published if entry[0] not in COMMON_PUBLISHED]
    listed += [entry for entry in subscribed if entry[0] not in COMMON_SUBSCRIBED]
    for name, kinds in listed:
        if name.endswith("/transition_event") or "/_action/" in name:
            continue
        ends = graph.get_publishers_info_by_topic(name) + graph.get_subscriptions_info_by_topic(name)
        words = {
            end.qos_profile.reliability.name.lower().replace("_", " ")
            for end in ends
            if end.node_name == node
        }
        topics[name] = (short(kinds[0]), words)
    return topics


def offered_services(peer: Any, node: str) -> dict[str, str]:
    """Type of each service that the node serves, or calls."""
    graph = peer.node
    listed = graph.get_service_names_and_types_by_node(node, "/")
    listed += graph.get_client_names_and_types_by_node(node, "/")
    return {name: short(kinds[0]) for name, kinds in listed if not COMMON_SERVICES.fullmatch(name)}
