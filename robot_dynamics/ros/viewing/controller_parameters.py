"""Mode, gains and payload of a controller, read and set by the web view."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.view.setting import Setting

SHOWN = re.compile(r"mode|kp|kv|ki|payload_mass|payload\..+\.mass|on_contact|(joint|cartesian)_stiffness")
"""Names of the parameters that the page shows."""
PERIOD = 2.0
"""Seconds between two looks at the parameters."""
PATIENCE = 5.0
"""Seconds after which an answer is no longer waited for."""


class ControllerParameters:
    """The parameters of another node that its users change most.

    Args:
        node: gets the clients.
        controller: name of the other node.
        show: called with the parameters when they have changed; empty when the controller is gone.
        refuse: called with the reason why a parameter was not set.
        confirm: called with the parameters that were set.
    """

    def __init__(
        self,
        node: Node,
        controller: str,
        show: Callable[[Sequence[Setting]], None],
        refuse: Callable[[str], None],
        confirm: Callable[[str], None],
    ) -> None:
        self._client = AsyncParameterClient(node, controller)
        self._show, self._refuse, self._confirm = show, refuse, confirm
        self._descriptions: dict[str, Any] = {}
        self._values: dict[str, Any] = {}
        self._shown: tuple[Setting, ...] = ()
        self._due = 0.0
        self._asked = 0.0

    def look(self) -> None:
        """Ask for the parameters now and then."""
        now = time.monotonic()
        if now < self._due or (self._asked and now - self._asked < PATIENCE):
            return
        self._due = now + PERIOD
        if not self._client.services_are_ready():
            self._descriptions = {}
            self._tell(())
            return
        self._asked = now
        if not self._descriptions:
            self._client.list_parameters(callback=self._on_names)
        else:
            self._ask(list(self._descriptions))

    def set(self, texts: Mapping[str, str]) -> None:
        """Set parameters, given as texts, all or none."""
        try:
            parameters = [self._parameter(name, text) for name, text in texts.items()]
        except (RobotDynamicsError, ValueError) as error:
            self._refuse(f"not set: {error}")
            return
        if not self._client.services_are_ready():
            self._refuse("not set: the controller does not answer")
            return
        # With the values: a browser may lose the last letters that were typed right before a click.
        what = ", ".join(f"{name} {text}" for name, text in texts.items())
        self._client.set_parameters_atomically(parameters, callback=lambda future: self._on_set(what, future))

    def _parameter(self, name: str, text: str) -> Parameter:
        known = self._values[name]
        if isinstance(known, str):
            return Parameter(name, value=text.strip())
        try:
            numbers = [decimal(word) for word in text.replace(",", " ").split()]
        except ValueError as reason:
            raise ValueError(f"{name}: {text!r} is {reason}") from None
        if isinstance(known, float):
            if len(numbers) != 1:
                raise ValueError(f"{name} takes one number, not {len(numbers)}")
            return Parameter(name, value=numbers[0])
        return Parameter(name, value=numbers)

    def _on_names(self, future: Any) -> None:
        names = [name for name in future.result().result.names if SHOWN.fullmatch(name)]
        if not names:
            self._asked = 0.0
            return

        def described(answer: Any) -> None:
            descriptors = answer.result().descriptors
            self._descriptions = {
                name: one for name, one in zip(names, descriptors, strict=True) if not one.read_only
            }
            self._ask(list(self._descriptions))

        self._client.describe_parameters(names, callback=described)

    def _ask(self, names: list[str]) -> None:
        self._client.get_parameters(names, callback=lambda future: self._on_values(names, future))

    def _on_values(self, names: list[str], future: Any) -> None:
        self._asked = 0.0
        values = [parameter_value_to_python(value) for value in future.result().values]
        self._values = {name: value for name, value in zip(names, values, strict=False) if value is not None}
        self._tell(tuple(self._text(name) for name in self._values))

    def _text(self, name: str) -> Setting:
        value, description = self._values[name], self._descriptions[name]
        text = " ".join(f"{one:g}" for one in value) if not isinstance(value, str | float) else ""
        if isinstance(value, str | float):
            text = value if isinstance(value, str) else f"{value:g}"
        found = re.findall(r"'([^']*)'", description.additional_constraints)
        choices = tuple(found) if isinstance(value, str) and text in found else ()
        return Setting(name, text, choices, description.description)

    def _tell(self, settings: tuple[Setting, ...]) -> None:
        if settings != self._shown:
            self._shown = settings
            self._show(settings)

    def _on_set(self, what: str, future: Any) -> None:
        result = future.result().result
        if result.successful:
            self._confirm(f"set: {what}")
        else:
            self._refuse(f"not set: {result.reason}")
        self._shown = ()  # what was typed is replaced by what the controller has
        self._due = 0.0
