"""The description that the generated package brings: the user's, with hardware to try it on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.spatial import Array, rpy_from_rotation

_JOINT = """    <joint name={name}>
{commands}      <state_interface name="position"><param name="initial_value">{start}</param></state_interface>
      <state_interface name="velocity"><param name="initial_value">0.0</param></state_interface>
      <state_interface name="effort"/>
    </joint>
"""
_SYSTEM = """  <ros2_control name={name} type="system">
    <hardware><plugin>{plugin}</plugin>{parameters}</hardware>
{joints}  </ros2_control>
"""
_GAINS = '<param name="kp">100.0</param><param name="kd">10.0</param>'
"""Gains of simulated drives that have a loop of their own."""


# Marks of writing direction, by which an editor shows another document than the one that is read. They stand
# in values, texts and comments alone, where a reference means the same.
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class System(NamedTuple):
    """Simulated hardware.

    Attributes:
        name: of the hardware.
        plugin: that simulates it.
        joints: where each begins [rad or m].
        interfaces: command interfaces of every joint.
        gravity: (3,) in the root frame, where it is not that of the model [m/s²].
    """

    name: str
    plugin: str
    joints: Mapping[str, float]
    interfaces: Sequence[str] = ("effort",)
    gravity: Array | None = None


class Placed(NamedTuple):
    """A description in the world of all robots.

    Attributes:
        urdf: the description.
        prefix: of the names of its links, joints and materials.
        base: (4, 4) pose of its root link [m].
    """

    urdf: bytes
    prefix: str
    base: Array


def with_simulated_hardware(urdf: bytes, systems: Sequence[System]) -> str:
    """The text of a description, with models as hardware for ros2_control.

    Args:
        urdf: the description.
        systems: that simulate the robots without hardware of their own.

    Raises:
        ModelError: it is not in UTF-8.
    """
    try:
        text = _without_directions(urdf.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ModelError(
            "the description is not in UTF-8, which the package's copy of it has to be"
        ) from error
    end = text.rfind("</robot>")
    if end < 0:
        return text
    return text[:end] + _without_directions("".join(map(_hardware, systems))) + text[end:]


def names_hardware(urdf: bytes) -> bool:
    """Return whether a description has hardware of its own for ros2_control."""
    return re.search(rb"<ros2_control[\s>]", urdf) is not None


def _hardware(system: System) -> str:
    commands = "".join(f'      <command_interface name="{kind}"/>\n' for kind in system.interfaces)
    gravity = "" if system.gravity is None else f'<param name="gravity">{_numbers(system.gravity)}</param>'
    return _SYSTEM.format(
        name=quoteattr(system.name),
        plugin=system.plugin,
        parameters=(_GAINS if "position" in system.interfaces else "") + gravity,
        joints="".join(
            _JOINT.format(name=quoteattr(joint), commands=commands, start=start)
            for joint, start in system.joints.items()
        ),
    )


_NAMED = {"link": ("name", "link"), "joint": ("name", "joint"), "parent": ("link",), "child": ("link",),
          "mimic": ("joint",), "material": ("name",), "gazebo": ("reference",), "ros2_control": ("name",),
          "transmission": ("name",), "actuator": ("name",)}  # fmt: skip
"""Attributes of elements that are names of the description."""


def combined(name: str, robots: Sequence[Placed]) -> str:
    """One description of several robots, each fixed to the link ``world``.

    Args:
        name: of the whole.
        robots: with different prefixes.

    Raises:
        ModelError: two links or joints would have the same name.
    """
    ElementTree.register_namespace("xacro", "http://www.ros.org/wiki/xacro")
    whole = ElementTree.Element("robot", name=name)
    ElementTree.SubElement(whole, "link", name="world")
    used = {("link", "world")}
    for urdf, prefix, base in robots:
        own = ElementTree.fromstring(urdf)
        for element in own.iter():
            for attribute in _NAMED.get(element.tag, ()) if prefix else ():
                if attribute in element.attrib:
                    element.set(attribute, prefix + element.attrib[attribute])
        children = {one.get("link") for one in own.iterfind("joint/child")}
        roots = [link.get("name") for link in own.iterfind("link") if link.get("name") not in children]
        for kind in ("link", "joint"):
            for element in own.iterfind(kind):
                key = kind, str(element.get("name"))
                if key in used:
                    raise ModelError(f"two {kind}s would be named {quoted(key[1])}: give the robots prefixes")
                used.add(key)
        mount = ElementTree.SubElement(whole, "joint", name=f"{prefix}mount", type="fixed")
        xyz, rpy = base[:3, 3], rpy_from_rotation(base[:3, :3])
        ElementTree.SubElement(mount, "origin", xyz=_numbers(xyz), rpy=_numbers(rpy))
        ElementTree.SubElement(mount, "parent", link="world")
        ElementTree.SubElement(mount, "child", link=str(roots[0]))
        whole.extend(list(own))
    ElementTree.indent(whole)
    return ElementTree.tostring(whole, encoding="unicode") + "\n"


def _numbers(values: Array) -> str:
    return " ".join(f"{value:.12g}" for value in values.tolist())


def _without_directions(text: str) -> str:
    return _DIRECTIONS.sub(lambda mark: f"&#x{ord(mark[0]):x};", text)
