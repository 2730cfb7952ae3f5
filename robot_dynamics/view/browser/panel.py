"""The controls of the page: messages, sliders that send trajectories, hold and reset, what is shown."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import viser

from robot_dynamics.view.machine import Coordinate
from robot_dynamics.view.moves import MoveGoal

LONGEST_MOVE = 20.0
"""Greatest duration that the slider offers [s]."""


@dataclass(frozen=True)
class Actions:
    """Callbacks of the buttons, called in a thread of the server.

    Attributes:
        send: gets the goal of a move.
        hold: stop and hold.
        reset: back to the initial state.
    """

    send: Callable[[MoveGoal], None]
    hold: Callable[[], None]
    reset: Callable[[], None]


class Notices:
    """Messages at the head of the panel, one for each subject.

    Args:
        server: the page.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._texts: dict[str, tuple[str, str]] = {}
        self._ends: dict[str, float] = {}
        self._box = server.gui.add_html("")
        self._shown = ""

    def say(self, subject: str, text: str, level: str = "warning", duration: float = math.inf) -> None:
        """Show a message about a subject in place of the one before; an empty text takes it away.

        Args:
            subject: what it is about; not shown.
            text: plain text.
            level: ``info``, ``warning`` or ``error``.
            duration: after which :meth:`tidy` takes it away [s].
        """
        self._ends[subject] = time.monotonic() + duration
        if text:
            self._texts[subject] = (level, text)
        else:
            self._texts.pop(subject, None)
        self._draw()

    def tidy(self) -> None:
        """Take away what has been said for long enough."""
        now = time.monotonic()
        for subject in [subject for subject in self._texts if self._ends[subject] < now]:
            del self._texts[subject]
        self._draw()

    def _draw(self) -> None:
        page = "".join(_notice(*self._texts[key]) for key in sorted(self._texts))
        if page != self._shown:
            self._box.content = page
            self._shown = page


_NOTICE_COLORS = {
    "info": ("#e7f5ff", "#1864ab"),
    "warning": ("#fff3bf", "#7a4a00"),
    "error": ("#ffe3e3", "#a01414"),
}


def _notice(level: str, text: str) -> str:
    background, ink = _NOTICE_COLORS[level]
    style = (
        f"background:{background};color:{ink};border-left:4px solid {ink};border-radius:4px;"
        "margin:4px 10px;padding:5px 9px;font-size:0.85em;overflow-wrap:anywhere"
    )
    return f'<div class="notice {level}" style="{style}">{html.escape(text)}</div>'


class MovePanel:
    """Sliders for the coordinates, the duration, and the buttons.

    Args:
        server: the page.
        coordinates: that can be commanded, in order.
        actions: of the buttons.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        coordinates: Sequence[Coordinate],
        actions: Actions,
    ) -> None:
        self._coordinates = tuple(coordinates)
        self._touched = False
        gui = server.gui
        self._folder = gui.add_folder("Move")
        with self._folder:
            self._sliders = {one.name: self._slider(gui, one) for one in self._coordinates}
            self._duration = gui.add_slider(
                "duration [s]", min=0.1, max=LONGEST_MOVE, step=0.1, initial_value=2.0
            )
            send = gui.add_button("send", color="green", hint="Move to the sliders in this time")
            take = gui.add_button("sliders to the robot", hint="Put the sliders where the machine is")
            hold = gui.add_button("hold", color="orange", hint="Drop the trajectory and hold")
            reset = gui.add_button("reset", color="gray", hint="Put the simulated machine where it began")
        send.on_click(lambda _: actions.send(self.goal))
        take.on_click(lambda _: self.release())
        hold.on_click(lambda _: actions.hold())
        reset.on_click(lambda _: self._reset(actions))

    def _reset(self, actions: Actions) -> None:
        self.release()
        actions.reset()

    def _slider(self, gui: viser.GuiApi, one: Coordinate) -> Any:
        low, high = (round(one.factor * value, 6) for value in (one.low, one.high))
        slider = gui.add_slider(
            f"{one.name} [{one.unit}]",
            min=low,
            max=high,
            step=one.step,
            initial_value=min(max(0.0, low), high),
        )
        slider.on_update(self._moved)
        return slider

    def _moved(self, event: viser.GuiEvent[Any]) -> None:
        if event.client_id is not None:  # not by follow()
            self._touched = True

    @property
    def touched(self) -> bool:
        """True when the user has moved a slider since the sliders last followed the robot."""
        return self._touched

    @property
    def goal(self) -> MoveGoal:
        """Goal that the sliders show."""
        positions = {one.name: float(self._sliders[one.name].value) / one.factor for one in self._coordinates}
        return MoveGoal(positions, float(self._duration.value))

    def release(self) -> None:
        """Let the sliders follow the machine again."""
        self._touched = False

    def follow(self, positions: Mapping[str, float]) -> None:
        """Put the sliders where the machine is, unless the user has moved one."""
        if self._touched:
            return
        for one in self._coordinates:
            slider, value = self._sliders[one.name], positions.get(one.name)
            if value is None:
                continue
            rounded = min(max(one.step * round(one.factor * value / one.step), slider.min), slider.max)
            if abs(rounded - slider.value) > 1.5 * one.step:
                slider.value = round(rounded, 6)

    def remove(self) -> None:
        """Remove the panel from the web view."""
        self._folder.remove()
