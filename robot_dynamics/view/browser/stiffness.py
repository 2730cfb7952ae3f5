"""Sliders for the stiffness of an arm's springs, which are set while they are moved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import viser

PERIOD = 0.2
"""Seconds between two values that are sent while a slider moves."""
STIFFER = 5.0
"""Greatest stiffness of a slider over the one that it begins with."""
LEAST = 50.0
"""Greatest stiffness of a slider at least."""


@dataclass(frozen=True)
class Part:
    """Values of a parameter that one slider scales together.

    Attributes:
        label: of the slider.
        first, last: places of the values.
    """

    label: str
    first: int
    last: int


def parts_of(name: str, count: int) -> tuple[Part, ...]:
    """Parts of a stiffness with ``count`` values; none of another parameter."""
    if name == "joint_stiffness":
        return (Part("stiffness of the joints [N·m/rad, N/m]", 0, count),)
    if name == "cartesian_stiffness" and count in (2, 6):
        half = count // 2
        return (
            Part("stiffness of the frame [N/m]", 0, half),
            Part("turning stiffness of the frame [N·m/rad]", half, count),
        )
    return ()


class StiffnessSliders:
    """One slider for the joints, one each for moving and turning the frame; the largest value is shown.

    Args:
        server: the page.
        tab: where they stand.
        set_parameters: called with names and texts of parameters.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        tab: viser.GuiTabHandle,
        set_parameters: Callable[[Mapping[str, str]], None],
    ) -> None:
        self._server, self._tab, self._set = server, tab, set_parameters
        self._values: dict[str, list[float]] = {}
        self._sliders: dict[tuple[str, Part], Any] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, str] = {}
        self._timer: threading.Timer | None = None

    def show(self, texts: Mapping[str, str]) -> None:
        """Show stiffnesses as the controller reports them, by their names; all others are ignored."""
        values = {
            name: [float(word) for word in text.split()]
            for name, text in texts.items()
            if parts_of(name, len(text.split()))
        }
        wanted = [(name, part) for name, each in values.items() for part in parts_of(name, len(each))]
        if wanted != list(self._sliders):
            self.remove()
            for name, part in wanted:
                self._sliders[name, part] = self._slider(
                    name, part, max(values[name][part.first : part.last])
                )
        with self._lock:
            moving = set(self._waiting)
            self._values = values
        for (name, part), slider in self._sliders.items():
            value = max(values[name][part.first : part.last])
            if name not in moving and abs(slider.value - value) > 0.5 * slider.step:
                slider.max = max(slider.max, value)
                slider.value = value

    def _slider(self, name: str, part: Part, value: float) -> Any:
        most = max(STIFFER * value, LEAST)
        with self._tab:
            slider = self._server.gui.add_slider(
                part.label,
                min=0.0,
                max=most,
                step=most / 500.0,
                initial_value=value,
                hint=f"Sets {name} while it is moved; several values keep their ratios",
            )
        slider.on_update(lambda event: self._moved(event, name, part))
        return slider

    def _moved(self, event: viser.GuiEvent[Any], name: str, part: Part) -> None:
        if event.client_id is None:  # by show()
            return
        with self._lock:
            values = self._values[name] = scaled(self._values[name], part, float(event.target.value))
            self._waiting[name] = " ".join(f"{value:.6g}" for value in values)
            if self._timer is None:
                self._timer = threading.Timer(PERIOD, self._send)
                self._timer.daemon = True
                self._timer.start()

    def _send(self) -> None:
        with self._lock:
            waiting, self._waiting, self._timer = self._waiting, {}, None
        self._set(waiting)

    def remove(self) -> None:
        """Take the sliders off the page."""
        for slider in self._sliders.values():
            slider.remove()
        self._sliders = {}


def scaled(values: Sequence[float], part: Part, most: float) -> list[float]:
    """Values whose part has the largest value ``most``; equal ones where all of them were zero."""
    own = values[part.first : part.last]
    largest = max(own)
    changed = [most * value / largest if largest > 0.0 else most for value in own]
    return [*values[: part.first], *changed, *values[part.last :]]
