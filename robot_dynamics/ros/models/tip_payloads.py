"""Payloads of a tree, one for each tip: parameters whose names are known with the robot's description."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.control.arm.payload import PayloadParameters, TipPayloadParameters
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.parameters import describe
from robot_dynamics.ros.support import parameters

PREFIX = "payload."
_NAME = re.compile(r"payload\.(.+)\.(?:mass|center|inertia)")


class TipPayloads:
    """Declares ``payload.<tip>.mass``, ``.center`` and ``.inertia`` and follows their changes.

    Args:
        node: gets the parameters, when its tips are known.
        on_change: called in the node's thread when a load has changed.
        check: raises RobotDynamicsError for loads, by tip, that the robot cannot have.
    """

    def __init__(
        self,
        node: Node,
        on_change: Callable[[], None],
        check: Callable[[Mapping[str, PayloadParameters]], None],
    ) -> None:
        self._node = node
        self._on_change = on_change
        self._check = check
        self._watchers: dict[str, parameters.Watcher[TipPayloadParameters]] = {}

    def declare(self, tips: Sequence[str]) -> None:
        """Declare the payload of each of several tips; of one tip it is ``payload_mass``.

        Raises:
            ParameterError: a value that the node was started with is refused, or names no tip.
        """
        given = getattr(self._node, "_parameter_overrides", {})
        named = sorted({match[1] for match in map(_NAME.fullmatch, given) if match is not None})
        several = len(tips) > 1
        for tip in named:
            if not several or tip not in tips:
                remedy = "" if several else ": set payload_mass"
                raise ParameterError(
                    f"a parameter names the payload of {quoted(tip)}; the tips are {', '.join(tips)}{remedy}"
                )
        for tip in tips if several else ():
            if tip not in self._watchers:
                prefix = f"{PREFIX}{tip}."
                first = parameters.declare(self._node, TipPayloadParameters, prefix)
                self._watchers[tip] = parameters.watch(
                    self._node,
                    first,
                    lambda _: self._on_change(),
                    prefix=prefix,
                    check=lambda candidate, tip=tip: self._look(tip, candidate),  # type: ignore[misc]
                )

    def of(self, tips: Sequence[str]) -> dict[str, PayloadParameters]:
        """Loads of several tips by their names; those that are not declared yet carry nothing."""
        if len(tips) < 2:
            return {}
        known = self._watchers
        return {tip: known[tip].current.load if tip in known else PayloadParameters() for tip in tips}

    def show(self, loads: Mapping[str, PayloadParameters]) -> list[Parameter]:
        """The parameters with the values of these loads."""
        names = [about.name for about in describe(TipPayloadParameters)]
        return [
            Parameter(f"{PREFIX}{tip}.{name}", value=getattr(load, f"payload_{name}"))
            for tip, load in loads.items()
            for name in names
        ]

    def _look(self, tip: str, candidate: TipPayloadParameters) -> None:
        loads = {name: watcher.current.load for name, watcher in self._watchers.items()}
        self._check({**loads, tip: candidate.load})
