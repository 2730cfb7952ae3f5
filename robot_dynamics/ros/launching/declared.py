"""How launch files declare their arguments and get the values.

A launch file names its arguments and gives a function that gets their values as text:

    def generate_launch_description() -> LaunchDescription:
        return describe(actions, "robot", "namespace", "on_exit")

    def actions(given: Given) -> list[Action]:
        return [node("simulator", given)]

The values are read while the file is visited: event handlers run later, when the arguments of an included
file are out of scope.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import EqualsSubstitution, LaunchConfiguration, NotEqualsSubstitution

from robot_dynamics.ros.launching.arguments import ARGUMENTS, plain, refuse_near_misses

Given = Mapping[str, str]
"""Launch arguments with their values."""
WIDTH = 100
"""Columns of the arguments' descriptions in ``ros2 launch --show-args``."""


def describe(
    actions: Callable[[Given], Iterable[Action]],
    *names: str,
    choices: Mapping[str, list[str]] | None = None,
    **defaults: Any,
) -> LaunchDescription:
    """A launch description that declares arguments and acts on their values.

    Args:
        actions: gets the values of the arguments by name, returns what to do.
        names: of the arguments, as in ``arguments.ARGUMENTS``.
        choices: other choices than the usual ones.
        defaults: other defaults than the usual ones.
    """
    chosen = choices or {}

    def visit(context: LaunchContext) -> list[Action]:
        refuse_near_misses(context.launch_configurations, names)
        given = {name: plain(name, LaunchConfiguration(name).perform(context)) for name in names}
        return list(actions(given))

    declared = [
        _Declared(
            name,
            description=ARGUMENTS[name].text,
            default_value=defaults.get(name, ARGUMENTS[name].default),
            choices=chosen.get(name, ARGUMENTS[name].choices),
        )
        for name in names
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=visit)])


class _Declared(DeclareLaunchArgument):  # type: ignore[misc]
    """An argument whose description is lines of a readable length; launch writes one, however long it is."""

    @property
    def description(self) -> str:
        """What ``ros2 launch --show-args`` prints."""
        return textwrap.fill(super().description, WIDTH, subsequent_indent=8 * " ")


class _Equals(EqualsSubstitution):  # type: ignore[misc]
    """Says what it is, instead of which objects it is made of."""

    def describe(self) -> str:
        """What ``ros2 launch --show-args`` prints as the default."""
        name, value = self.left[0].variable_name[0].text, self.right[0].text
        return f"'true' with {name}:={value}, else 'false'"


class _Differs(NotEqualsSubstitution):  # type: ignore[misc]
    """As :class:`_Equals`."""

    def describe(self) -> str:
        """What ``ros2 launch --show-args`` prints as the default."""
        name, value = self.left[0].variable_name[0].text, self.right[0].text
        return f"'false' with {name}:={value}, else 'true'"


def differs(name: str, value: str) -> NotEqualsSubstitution:
    """``true`` when the argument has another value: a default that depends on another argument."""
    return _Differs(LaunchConfiguration(name), value)


def equals(name: str, value: str) -> EqualsSubstitution:
    """``true`` when the argument has the value: a default that depends on another argument."""
    return _Equals(LaunchConfiguration(name), value)
