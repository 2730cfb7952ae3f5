"""Parameters that somebody sets and nobody has: refused by name, because a misspelt one would be ignored."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rclpy.node import Node

from robot_dynamics.errors import ParameterError, RobotDynamicsError, shown
from robot_dynamics.inputs.documents import parse_yaml
from robot_dynamics.inputs.files import read_text
from robot_dynamics.resources import share_directory

# By topic or joint, so that no file can list them.
_BY_NAME = re.compile(
    r"constraints\.(goal_time|stopped_velocity_tolerance|.+\.(trajectory|goal))"
    # joint_limits.yaml of MoveIt as a whole, also what no node here looks at
    r"|joint_limits\..+\.(has_(position|velocity|acceleration|jerk)_limits|(min|max)_position)"
    r"|joint_limits\..+\.max_(velocity|acceleration|jerk)"
    r"|payload\..+\.(mass|center|inertia)"
    r"|default_(velocity|acceleration)_scaling_factor"
)
_OVERRIDE = re.compile(r"qos_overrides\.(?P<topic>.+)\.(?P<side>[^.]+)\.(?P<policy>[^.]+)")
_SIDES = ("publisher", "subscription")
_POLICIES = ("history", "depth", "reliability")
ALIKE = 0.9
"""From this likeness on, a part of a topic's name is taken for a misspelt one."""
_EVERYWHERE = {"use_sim_time", "robot_description", "start_type_description_service"}
# A line of a parameter file that sets a parameter, or shows in a comment how it would be set.
_NAMED = re.compile(r"^ {4}(?:# )?([a-z][a-z0-9_]*):", re.MULTILINE)
# The first line of a file that lists all parameters of a node.
_NODE_FILE = re.compile(r"# Parameters of the node (\w+)")


@cache
def known_in_the_package() -> frozenset[str]:
    """Names of the parameters of every node of this package, from their commented parameter files.

    What one node of a robot has may stand in a file that all of them are given.
    """
    names = set(_EVERYWHERE)
    for file in sorted((share_directory() / "config").glob("*.yaml")):
        text = read_text(file, "parameter file")
        if _NODE_FILE.match(text):
            names |= set(_NAMED.findall(text))
    return frozenset(names)


def refuse_undeclared(node: Node) -> None:
    """Refuse what was set for ``node`` on the command line or in a file and is a parameter of no node here.

    Raises:
        ParameterError: names the parameter, and the one that may be meant.
    """
    # rclpy has no public name for what was set; where it has another one, nothing is refused.
    given = set(getattr(node, "_parameter_overrides", ()))
    declared = set(node.get_parameters_by_prefix(""))
    known = declared | known_in_the_package()
    overrides = {name for name in given - known if name.startswith("qos_overrides")}
    unknown = sorted(name for name in given - known - overrides if not _BY_NAME.fullmatch(name))
    topics = {made["topic"] for made in map(_OVERRIDE.fullmatch, declared) if made}
    faults = [_unknown(name, known) for name in unknown]
    faults += filter(None, (_faulty_override(name, topics) for name in sorted(overrides)))
    if faults:
        raise ParameterError("; ".join(faults))


def unmatched_files(node: str, files: Collection[str]) -> list[str]:
    """Parameter files without a section for a node, each in a sentence for the log.

    ROS has read them, and takes more than this package's YAML: launch writes a list of a launch file with the
    tag of a Python tuple. Such a file is passed over.

    Args:
        node: its full name.
        files: paths, readable.
    """
    found = []
    for path in files:
        try:
            document = parse_yaml(read_text(Path(path), "parameter file"), path, ParameterError)
        except RobotDynamicsError:
            continue
        sections = list(_sections(document))
        if sections and not any(_matches(section, node) for section in sections):
            nearest = max(sections, key=lambda one: difflib.SequenceMatcher(None, one, node).ratio())
            found.append(
                f"no section of the parameter file {path} is for the node {node}; the nearest is for"
                f" {shown(nearest)}: nothing in the file counts"
            )
    return found


def _sections(document: Mapping[str, Any], space: str = "") -> Iterator[str]:
    """Patterns of the nodes in a parameter file, as full names."""
    for name, below in document.items():
        if name == "ros__parameters":
            yield space
        elif isinstance(below, Mapping):
            yield from _sections(below, f"{space}/{str(name).strip('/')}")


def _matches(section: str, node: str) -> bool:
    """Check whether a section is for a node: ``*`` is one name, ``**`` any number of them, as in ROS."""
    pattern = re.escape(section).replace(r"/\*\*", r"(/\w+)*").replace(r"/\*", r"/\w+")
    return re.fullmatch(pattern, node) is not None


def _unknown(name: str, known: set[str] | frozenset[str]) -> str:
    nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
    return f"no node of robot_dynamics has a parameter '{name}'{hint}"


def _faulty_override(name: str, topics: Collection[str]) -> str:
    """Fault of an override of a topic's quality of service; empty where nothing is.

    Args:
        name: of the parameter, which the node has not declared.
        topics: whose quality of service the node lets be overridden. Those of another node are accepted.
    """
    parts = _OVERRIDE.fullmatch(name)
    if parts is None:
        return f"the parameter '{name}' must be qos_overrides.<topic>.<publisher or subscription>.<policy>"
    topic, side, policy = parts.group("topic", "side", "policy")
    right = [
        _nearest(topic, [f"/{topic}"] if topic[0] != "/" else [one for one in topics if _alike(topic, one)]),
        _nearest(side, () if side.startswith(tuple(f"{known}_" for known in _SIDES)) else _SIDES),
        _nearest(policy, _POLICIES),
    ]
    if right == [topic, side, policy]:
        return ""
    if policy not in _POLICIES and not difflib.get_close_matches(policy, _POLICIES, n=1):
        return f"the parameter '{name}': what can be overridden is {', '.join(_POLICIES)}"
    return f"no topic is as in the parameter '{name}'; did you mean 'qos_overrides.{'.'.join(right)}'?"


def _nearest(word: str, right: Collection[str]) -> str:
    """The nearest of the right words; the word itself where there are none."""
    if not right or word in right:
        return word
    return max(right, key=lambda one: difflib.SequenceMatcher(None, word, one).ratio())


def _alike(given: str, topic: str) -> bool:
    """Return whether one part of a topic's name is misspelt; ``arm_1`` and ``arm_2`` are two names."""
    ours, theirs = topic.split("/"), given.split("/")
    differing = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    if len(ours) != len(theirs) or len(differing) != 1:
        return False
    (pair,) = differing
    letters = [re.sub(r"\d", "", word) for word in pair]
    return letters[0] != letters[1] and difflib.SequenceMatcher(None, *pair).ratio() >= ALIKE
