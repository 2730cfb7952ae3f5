"""The description that the generated package brings: the user's, with hardware to try it on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from robot_dynamics.errors import ModelError

_JOINT = """    <joint name={name}>
{commands}      <state_interface name="position"><param name="initial_value">{start}</param></state_interface>
      <state_interface name="velocity"><param name="initial_value">0.0</param></state_interface>
    </joint>
"""
_SYSTEM = """  <ros2_control name="simulated_arm" type="system">
    <hardware><plugin>{plugin}</plugin>{gains}</hardware>
{joints}  </ros2_control>
"""
_GAINS = '<param name="kp">100.0</param><param name="kd">10.0</param>'
"""Gains of simulated drives that have a loop of their own."""


# Marks of writing direction, by which an editor shows another document than the one that is read. They stand
# in values, texts and comments alone, where a reference means the same.
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def with_simulated_hardware(
    urdf: bytes, joints: Mapping[str, float], plugin: str, interfaces: Sequence[str] = ("effort",)
) -> str:
    """The text of a description; where it names no hardware for ros2_control, the model is added as such.

    Args:
        urdf: the description.
        joints: of the arm, and where each begins [rad or m].
        plugin: that simulates it.
        interfaces: command interfaces of every joint.

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
    if re.search(r"<ros2_control[\s>]", text) or end < 0:
        return text
    commands = "".join(f'      <command_interface name="{name}"/>\n' for name in interfaces)
    system = _SYSTEM.format(
        plugin=plugin,
        gains=_GAINS if "position" in interfaces else "",
        joints="".join(
            _JOINT.format(name=quoteattr(name), commands=commands, start=start)
            for name, start in joints.items()
        ),
    )
    return text[:end] + _without_directions(system) + text[end:]


def _without_directions(text: str) -> str:
    return _DIRECTIONS.sub(lambda mark: f"&#x{ord(mark[0]):x};", text)
