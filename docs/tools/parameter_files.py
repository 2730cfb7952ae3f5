"""Parameter files of the nodes, written from the classes that declare the parameters.

python docs/tools/parameter_files.py
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from node_parameters import CLASSES, found, literal

from robot_dynamics.parameters import Description, describe
from robot_dynamics.resources import resource

WIDTH = 110
HEAD = """\
# Parameters of the node {node} at their defaults; docs/tools/parameter_files.py writes this file.
# Those that are not fixed can be changed while the node runs; a bad value is refused with a reason.
# A line such as "# name: [0.0]" stands for a list that is empty by default: ROS 2 has no typed empty list.
/**/{node}:
  ros__parameters:
"""


def parameter_file(node: str) -> str:
    """Text of a node's parameter file: a section for each class, its comments from the descriptions."""
    return HEAD.format(node=node) + "".join(f"{line}\n" for path in CLASSES[node] for line in section(path))


def section(path: str) -> Iterator[str]:
    """Lines of the parameters of one class."""
    cls = found(path)
    yield from ("", *comment("--- " + (cls.__doc__ or "").split("\n\n")[0]))
    for known in describe(cls):
        yield from comment(meaning(known))
        yield f"    {assignment(known)}"


def meaning(known: Description) -> str:
    """Meaning of a parameter, with its unit, bounds and time of change."""
    text = known.text + (f" [{known.unit}]" if known.unit else "")
    fixed = "fixed once the node has started" if known.read_only else ""
    return "; ".join(part for part in (text, known.constraints, fixed) if part) + "."


def assignment(known: Description) -> str:
    """The line that sets a parameter to its default, as a comment where the default is an empty list."""
    if known.array and not known.default:
        return f"# {known.name}: [{literal(known.type())}]"
    return f"{known.name}: {literal(known.default)}"


def comment(text: str) -> list[str]:
    """Lines of a comment."""
    lines = textwrap.wrap(" ".join(text.split()), WIDTH - 6, break_on_hyphens=False)
    return [f"    # {line}" for line in lines]


if __name__ == "__main__":
    for name in CLASSES:
        resource(f"config/{name}.yaml").write_text(parameter_file(name), encoding="utf-8")
