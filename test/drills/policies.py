"""Topics and services that a node may use by its policy, and those in the graph of a running system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from rclpy.action import graph as actions

from robot_dynamics.resources import share_directory

Use = tuple[str, str]
"""A kind of use, such as "publish", and the full name of what is used."""
FOLDER = share_directory() / "security"
_ACTION_PARTS = "/_action/"


def declared(node: str) -> set[Use]:
    """Uses that the policy of a node in the root namespace allows."""
    root = ElementTree.parse(FOLDER / f"{node}.policy.xml").getroot()
    profile = root.find("enclaves/enclave/profiles/profile")
    assert profile is not None and profile.get("node") == node and profile.get("ns") == "/"
    return {
        (kind, _full(entry.text or "", node))
        for group in profile
        for kind, leave in group.attrib.items()
        for entry in group
        if leave == "ALLOW"
    }


def _full(name: str, node: str) -> str:
    return f"/{node}{name[1:]}" if name.startswith("~") else f"/{name.lstrip('/')}"


def used(observer: Any, node: str) -> set[Use]:
    """Uses of a running node in the root namespace, as another node sees them."""
    return set(_uses(observer, node))


def _uses(observer: Any, node: str) -> Iterator[Use]:
    plain = (
        ("publish", observer.get_publisher_names_and_types_by_node),
        ("subscribe", observer.get_subscriber_names_and_types_by_node),
        ("reply", observer.get_service_names_and_types_by_node),
        ("request", observer.get_client_names_and_types_by_node),
    )
    for kind, ask in plain:
        for name, _ in ask(node, "/"):
            if _ACTION_PARTS not in name:
                yield kind, name
    for kind, find in (
        ("execute", actions.get_action_server_names_and_types_by_node),
        ("call", actions.get_action_client_names_and_types_by_node),
    ):
        for name, _ in find(observer, node, "/"):
            yield kind, name
