"""Parameters that somebody sets and nobody has: refused by name, because a misspelt one would be ignored."""

from __future__ import annotations

import difflib
import re
from functools import cache

from rclpy.node import Node

from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.files import read_text
from robot_dynamics.resources import share_directory

# By topic or joint, so that no file can list them.
_BY_NAME = re.compile(
    r"qos_overrides\..+"
    r"|constraints\.(goal_time|stopped_velocity_tolerance|.+\.(trajectory|goal))"
    # joint_limits.yaml of MoveIt as a whole, also what no node here looks at
    r"|joint_limits\..+\.(has_(position|velocity|acceleration|jerk)_limits|(min|max)_position)"
    r"|joint_limits\..+\.max_(velocity|acceleration|jerk)"
    r"|default_(velocity|acceleration)_scaling_factor"
)
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
    unknown = sorted(name for name in given - known if not _BY_NAME.fullmatch(name))
    if unknown:
        raise ParameterError("; ".join(_unknown(name, known) for name in unknown))


def _unknown(name: str, known: set[str] | frozenset[str]) -> str:
    nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    hint = f"; '{nearest[0]}' may be meant" if nearest else ""
    return f"no node of robot_dynamics has a parameter '{name}'{hint}"
