"""The controls of the page: hold, send, sliders of the joints, and the controller's parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import viser

from robot_dynamics.spatial import Array
from robot_dynamics.view.browser.stiffness import StiffnessSliders
from robot_dynamics.view.machine import Coordinate
from robot_dynamics.view.moves import MoveGoal
from robot_dynamics.view.setting import Setting

Value = TypeVar("Value")
LONGEST_MOVE = 20.0
"""Greatest duration that the slider offers [s]."""
HOLD = "hold (not an emergency stop)"
CURRENT, HOME = "current pose", "home"
"""Poses that the sliders can be put to."""
SETTLED = 0.3
"""Time without a change after which what is typed or dragged counts as complete [s]."""
LOCK = "🔒"
"""Before the name of a joint that cannot be moved."""


@dataclass(frozen=True)
class Actions:
    """Callbacks of the buttons, called in a thread of the server.

    Attributes:
        send: gets the goal of a move.
        hold: stop and hold.
        reset: back to the initial state.
        reset_fault: end a protective stop.
        set: gets names and texts of the controller's parameters.
        push: gets a link, and force and torque (6,) about its origin in root axes [N, N·m].
        target: gets a target pose (4, 4) of the tip in the root frame.
    """

    send: Callable[[MoveGoal], None]
    hold: Callable[[], None]
    reset: Callable[[], None]
    reset_fault: Callable[[], None]
    set: Callable[[Mapping[str, str]], None]
    push: Callable[[str, Array], None]
    target: Callable[[Array], None]


class Buttons:
    """``hold`` and ``send``, first on the page, and the duration of a move.

    Args:
        server: the page.
        send: called by ``send``.
        hold: called by ``hold``.
        choose: called with the pose that the sliders are to take, ``CURRENT`` or ``HOME``.
        degrees: called with True for angles in degrees, False for radians.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        send: Callable[[], None],
        hold: Callable[[], None],
        choose: Callable[[str], None],
        degrees: Callable[[bool], None],
    ) -> None:
        gui = server.gui
        stop = gui.add_button(
            HOLD,
            color="orange",
            icon=viser.Icon.HAND_STOP,
            hint="Drop the trajectory and hold the robot where it is. It needs the controller and the"
            " network: an emergency stop is a switch.",
        )
        go = gui.add_button(
            "send", color="green", icon=viser.Icon.SEND, hint="Move to the sliders in this time"
        )
        self._duration = gui.add_slider(
            "duration [s]", min=0.1, max=LONGEST_MOVE, step=0.1, initial_value=2.0
        )
        poses = gui.add_button_group("sliders to", (CURRENT, HOME))
        self._unit = unit = gui.add_button_group("angles in", ("radians", "degrees"))
        stop.on_click(lambda _: hold())
        go.on_click(lambda _: send())
        poses.on_click(lambda _: choose(poses.value))
        unit.on_click(lambda _: degrees(unit.value == "degrees"))

    def offer_units(self, offered: bool) -> None:
        """Show the choice between radians and degrees, or hide it."""
        self._unit.visible = offered

    @property
    def duration(self) -> float:
        """Duration of a move [s]."""
        return float(self._duration.value)


class MovePanel:
    """Sliders of the coordinates, grouped by limb.

    Args:
        server: the page.
        tab: where they stand.
        coordinates: in order.
        home: pose of the button ``home``, by name [rad or m].
    """

    def __init__(
        self,
        server: viser.ViserServer,
        tab: viser.GuiTabHandle,
        coordinates: Sequence[Coordinate],
        home: Mapping[str, float],
    ) -> None:
        self._server, self._tab, self._home = server, tab, dict(home)
        self._given = tuple(coordinates)
        self._coordinates = self._given
        self._locked = {one.name: one.locked for one in self._given if one.locked}
        self._touched = False
        self._positions: dict[str, float] = {}
        self._folders: list[viser.GuiFolderHandle] = []
        self._sliders: dict[str, Any] = {}
        self._make()

    def _make(self) -> None:
        """Sliders for the coordinates as they are shown now."""
        groups: dict[str, list[Coordinate]] = {}
        for one in self._coordinates:
            groups.setdefault(one.group, []).append(one)
        for name, members in groups.items():
            with self._tab:
                movable = any(one.name not in self._locked for one in members)
                label = name or ("joints" if any(one.turns for one in self._given) else "pose")
                folder = self._server.gui.add_folder(label, expand_by_default=movable)
            self._folders.append(folder)
            with folder:
                for one in members:
                    self._sliders[one.name] = self._slider(one)

    def _slider(self, one: Coordinate) -> Any:
        low, high = (round(one.factor * value, 6) for value in (one.low, one.high))
        value = round(one.factor * self._positions.get(one.name, 0.0) / one.step) * one.step
        reason = self._locked.get(one.name, "")
        slider = self._server.gui.add_slider(
            _label(one, reason),
            min=low,
            max=high,
            step=one.step,
            initial_value=round(min(max(value, low), high), 6) + 0.0,  # no minus before a zero
            disabled=bool(reason),
            hint=reason or f"{low:g} to {high:g} {one.unit}",
        )
        slider.on_update(self._moved)
        return slider

    def show_in(self, degrees: bool) -> None:
        """Show angles in degrees or radians."""
        goal = self.goal if self._touched else None
        for folder in self._folders:
            folder.remove()
        self._folders, self._sliders = [], {}
        self._coordinates = tuple(one.in_degrees() if degrees and one.turns else one for one in self._given)
        self._make()
        if goal is not None:
            self.go(goal)

    def _moved(self, event: viser.GuiEvent[Any]) -> None:
        if event.client_id is not None:  # not by follow()
            self._touched = True

    def lock(self, reasons: Mapping[str, str]) -> None:
        """Lock the joints with a reason, besides those that never move; unlock the others."""
        locked = {one.name: one.locked for one in self._given if one.locked}
        locked |= {name: reason for name, reason in reasons.items() if name in self._sliders}
        if locked == self._locked:
            return
        self._locked = locked
        for one in self._coordinates:
            slider, reason = self._sliders[one.name], locked.get(one.name, "")
            slider.disabled = bool(reason)
            slider.label = _label(one, reason)
            slider.hint = reason or None

    @property
    def touched(self) -> bool:
        """True when the user has moved a slider since the sliders last followed the robot."""
        return self._touched

    @property
    def goal(self) -> dict[str, float]:
        """Positions that the sliders of joints that move show [rad or m]."""
        return {
            one.name: float(self._sliders[one.name].value) / one.factor
            for one in self._coordinates
            if one.name not in self._locked
        }

    def go(self, positions: Mapping[str, float]) -> None:
        """Put the sliders at a pose [rad or m]."""
        self._touched = True
        for one in self._coordinates:
            if one.name in positions and one.name not in self._locked:
                self._put(one, positions[one.name])

    def release(self) -> None:
        """Let the sliders follow the robot again."""
        self._touched = False

    def choose(self, pose: str) -> None:
        """Put the sliders to the pose ``CURRENT`` or ``HOME``."""
        if pose == HOME:
            self.go(self._home)
        else:
            self.release()
            self.follow(self._positions)  # before the user moves one of them

    def follow(self, positions: Mapping[str, float]) -> None:
        """Put the sliders where the robot is; those that the user has moved stay, locked ones do not."""
        self._positions = dict(positions)
        for one in self._coordinates:
            value = positions.get(one.name)
            if value is not None and (not self._touched or one.name in self._locked):
                self._put(one, value)

    def remove(self) -> None:
        """Take everything off the page."""
        for folder in self._folders:
            folder.remove()

    def _put(self, one: Coordinate, value: float) -> None:
        slider = self._sliders[one.name]
        rounded = min(max(one.step * round(one.factor * value / one.step), slider.min), slider.max)
        if abs(rounded - slider.value) > 1.5 * one.step:
            slider.value = round(rounded, 6) + 0.0


def settled(read: Callable[[], Value]) -> Value:
    """Return what ``read`` returns once it no longer changes.

    A browser sends what is typed or dragged with a delay, clicks without one: its end comes later. It never
    comes where the click follows within 50 ms: viser sends one of two messages that are so close.
    """
    value = read()
    while True:
        time.sleep(SETTLED)
        before, value = value, read()
        if value == before:
            return value


def _label(one: Coordinate, reason: str) -> str:
    name = f"{one.name} [{one.unit}]"
    return f"{LOCK} {name}: {reason}" if reason else name


class ControllerPanel:
    """Mode, gains and payload of the controller, and the reset of its faults.

    Args:
        server: the page.
        tab: where they stand.
        actions: of the buttons.
    """

    def __init__(self, server: viser.ViserServer, tab: viser.GuiTabHandle, actions: Actions) -> None:
        self._server, self._tab, self._actions = server, tab, actions
        self._fields: dict[str, Any] = {}
        self._settings: tuple[Setting, ...] = ()
        self._applied: dict[str, str] = {}
        with tab:
            self._state = server.gui.add_markdown("No controller has been found.")
            reset = server.gui.add_button(
                "reset fault", color="gray", hint="End a protective stop once its cause is gone"
            )
            again = server.gui.add_button(
                "reset simulation", color="gray", hint="Put the simulated robot where it began"
            )
        reset.on_click(lambda _: actions.reset_fault())
        again.on_click(lambda _: actions.reset())
        self._apply: Any = None
        self._stiffness = StiffnessSliders(server, tab, actions.set)

    def show(self, settings: Sequence[Setting]) -> None:
        """Show the parameters as the controller reports them; typed values stay until they are applied."""
        shown = tuple(settings)
        if [replace(one, value="") for one in shown] != [replace(one, value="") for one in self._settings]:
            self._make(shown)
        for one, known in zip(shown, self._settings, strict=False):
            field = self._fields[one.name]
            if field.value != one.value and field.value in (known.value, self._applied.get(one.name)):
                field.value = one.value
        self._applied = {}
        self._settings = shown
        self._stiffness.show({one.name: one.value for one in shown})

    def _make(self, settings: tuple[Setting, ...]) -> None:
        for field in self._fields.values():
            field.remove()
        if self._apply is not None:
            self._apply.remove()
            self._apply = None
        self._fields = {}
        self._state.content = "" if settings else "No controller has been found."
        with self._tab:
            for one in settings:
                if one.choices:
                    self._fields[one.name] = self._server.gui.add_dropdown(
                        one.name, one.choices, initial_value=one.value, hint=one.hint
                    )
                else:
                    self._fields[one.name] = self._server.gui.add_text(one.name, one.value, hint=one.hint)
            if settings:
                self._apply = self._server.gui.add_button("apply", hint="Set what has been changed here")
                self._apply.on_click(lambda _: self._set())

    def _changed(self) -> dict[str, str]:
        """Texts of the fields that differ from the controller's, by name."""
        return {
            one.name: text
            for one in self._settings
            if (text := str(self._fields[one.name].value)) != one.value
        }

    def _set(self) -> None:
        changed = settled(self._changed)
        if changed:
            self._applied = changed
            self._actions.set(changed)
