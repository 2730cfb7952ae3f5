"""Web view of one arm or platform at a time, with its messages."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import viser

from robot_dynamics.view.browser.fineness import CONTROLS
from robot_dynamics.view.browser.notices import Notices, list_of
from robot_dynamics.view.browser.panel import Actions as Actions
from robot_dynamics.view.browser.panel import Buttons, ControllerPanel, MovePanel, settled
from robot_dynamics.view.browser.picture import MOST_NUMBERS, Picture, Shown
from robot_dynamics.view.browser.plots import Plots
from robot_dynamics.view.browser.server import draws_fast, wait_until_drawn
from robot_dynamics.view.browser.stage import Stage
from robot_dynamics.view.browser.touch import Touch
from robot_dynamics.view.machine import Geometry
from robot_dynamics.view.moves import MoveGoal
from robot_dynamics.view.parameters import WebViewParameters
from robot_dynamics.view.samples import StateSample

BRAND, BRAND_ON_DARK = (38, 84, 124), (92, 158, 212)
"""Colour of titles and buttons, to be read on light and on dark panels."""
PLOT_PERIOD = 0.2
"""Seconds between two drawings of the plots."""
SLOW_PERIOD = 0.5
"""The same, and between two positions of the sliders, in a browser without a graphics card."""
SIMPLE = (
    "This browser draws slowly, as without a graphics card: meshes are simplified and shadows left out. The"
    " parameter detail:=full draws them all."
)
LEGEND = """
<div style="margin:4px 10px;font-size:0.85em;line-height:1.7">
<b style="color:#1c9e78">━</b>&thinsp;<b style="color:#f2ad24">━</b>&thinsp;<b style="color:#d62629">━</b>
effort: none, half, all of its limit (arc: 300° at the limit)<br>
<b style="color:#4575b5">━</b> effort whose limit is unknown<br>
<b style="color:#bf1a8c">━</b> external effort (inner arc), and force at the tip<br>
<b style="color:#6b4d9e">━</b> weight of a link, from its centre of mass<br>
<b style="color:#2673d9">■</b> reference of the controller, where it differs<br>
<b style="color:#f28c1a">■</b> goal of the sliders
</div>"""


class Page:
    """Web view of one robot or platform, which may change.

    Args:
        server: that serves it.
        settings: of the node.
        gravity: (3,) in the root frame [m/s²].
        actions: of the buttons.

    Attributes:
        notices: messages beside the buttons.
        controller: the controller's parameters.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        settings: WebViewParameters,
        gravity: Sequence[float],
        actions: Actions,
    ) -> None:
        self.server = server
        self._gravity = np.asarray(gravity, dtype=float)
        self._settings, self._actions = settings, actions
        self._simple = settings.detail != "full"
        self._geometry: Geometry | None = None
        self._picture: Picture | None = None
        self._move: MovePanel | None = None
        self._framed = False
        self._drawn = 0.0
        self._dark = settings.dark
        self._dress()
        self._stage = Stage(server, settings.shadows and not self._simple)
        gui = server.gui
        gui.main_panel.dock_right()
        gui.main_panel.set_width(CONTROLS)
        self._title = gui.add_markdown("")
        self._heading = ""
        self._degrees = False
        self._holds = 0
        self._buttons = Buttons(server, self._send, self._hold, self._choose, self._show_in)
        self.notices = Notices(server)
        self._panel = gui.add_panel()
        self._panel.dock_below(gui.main_panel)
        self._tabs = {
            name: self._panel.add_tab(name) for name in ("Move", "Controller", "Touch", "Show", "Notes")
        }
        self.controller = ControllerPanel(server, self._tabs["Controller"], actions)
        self._boxes = self._choices()
        self._touch = Touch(server, self._tabs["Touch"], actions)
        with self._tabs["Notes"]:
            self._notes = gui.add_html("")
        self._plots = Plots(server, settings.plot_window)
        self._lines: dict[str, tuple[str, ...]] = {"given": settings.notes}
        self._list()

    def _choices(self) -> dict[str, viser.GuiCheckboxHandle]:
        gui = self.server.gui
        with self._tabs["Show"]:
            gui.add_html(LEGEND)
            boxes = {
                "efforts": gui.add_checkbox("efforts against limits", True),
                "numbers": gui.add_checkbox(
                    "numbers",
                    True,
                    hint=f"At the {MOST_NUMBERS} joints nearest to their limits, where there is room",
                ),
                "weights": gui.add_checkbox("weights of the links", True),
                "reference": gui.add_checkbox("reference (blue ghost)", True),
                "goal": gui.add_checkbox("goal of the sliders (orange ghost)", True),
            }
            dark = gui.add_checkbox("dark panels", self._dark)
        dark.on_update(lambda _: self._darken(dark.value))
        return boxes

    def _dress(self) -> None:
        self.server.gui.configure_theme(
            show_logo=False,
            show_share_button=False,
            brand_color=BRAND_ON_DARK if self._dark else BRAND,
            dark_mode=self._dark,
        )

    def _darken(self, dark: bool) -> None:
        self._dark = dark
        self._dress()

    def _choose(self, pose: str) -> None:
        if self._move is not None:
            self._move.choose(pose)

    def _show_in(self, degrees: bool) -> None:
        self._degrees = degrees
        if self._move is not None:
            self._move.show_in(degrees)

    def _send(self) -> None:
        if self._move is None:
            self.notices.refuse("wish", "not sent: there is no robot yet")
            return
        move, holds = self._move, self._holds
        goal, duration = settled(lambda: (move.goal if move.touched else {}, self._buttons.duration))
        if holds == self._holds:
            self._actions.send(MoveGoal(goal or move.goal, duration))

    def _hold(self) -> None:
        self._holds += 1
        self._actions.hold()

    def welcome(self, client: viser.ClientHandle) -> None:
        """Wait until a browser has drawn the page, and choose what it can draw."""
        wait_until_drawn(client)
        if self._settings.detail != "auto":
            return
        simple = not draws_fast(client)
        if simple != self._simple and not (self._simple and len(self.server.get_clients()) > 1):
            self._simple = simple
            with self.server.atomic():
                self._stage.set_shadows(self._settings.shadows and not simple)
                if self._picture is not None:
                    self._picture.draw_body(simple)
        self.note("browser", (SIMPLE,) if self._simple else ())

    def note(self, subject: str, lines: tuple[str, ...]) -> None:
        """Show lines about a subject under Notes, in place of those before."""
        if self._lines.get(subject, ()) != lines:
            self._lines[subject] = lines
            self._list()

    def _list(self) -> None:
        lines = tuple(line for lines in self._lines.values() for line in lines if line)
        self._notes.content = list_of(lines or ("Nothing to note.",))

    def show(self, geometry: Geometry) -> None:
        """Show another robot or platform."""
        if self._picture is not None:
            self._picture.remove()
        tab = self._tabs["Move"]
        with self.server.atomic():
            self._geometry = geometry
            self._head(geometry.name, "")
            self._stage.put_ground(geometry.ground)
            self._picture = Picture(self.server, geometry, self._gravity, self._simple)
            self._touch.show(geometry)
            if self._move is not None:
                self._move.remove()
            given = dict(zip(self._settings.home_joints, self._settings.home_positions, strict=True))
            home = {**geometry.home, **given}
            # Joints that are controlled come first; groups of others are locked soon, and have no curves.
            controlled = set(given) or {one.name for one in geometry.coordinates}
            coordinates = sorted(geometry.coordinates, key=lambda one: one.name not in controlled)
            self._move = MovePanel(self.server, tab, coordinates, home)
            self._move.show_in(self._degrees)
            self._buttons.offer_units(any(one.turns for one in geometry.coordinates))
        groups: dict[str, list[str]] = {}
        for one in coordinates:
            if not one.locked:
                groups.setdefault(one.group, []).append(one.name)
        groups = {group: names for group, names in groups.items() if controlled.intersection(names)}
        self._plots.show(geometry.charts, groups)
        self._framed = False
        skipped = [*geometry.skipped, *self._picture.failures]
        text = "" if not skipped else f"not drawn: {'; '.join(skipped[:3])}"
        if len(skipped) > 3:
            text += f"; and {len(skipped) - 3} more"
        self.note("visuals", (text,))

    def lock(self, reasons: Mapping[str, str]) -> None:
        """Lock joints, with the reason for each."""
        if self._move is not None:
            self._move.lock(reasons)

    def release(self) -> None:
        """Let the sliders follow the robot again."""
        if self._move is not None:
            self._move.release()

    def update(self, sample: StateSample) -> None:
        """Show one sample."""
        if self._picture is None or self._move is None:
            return
        shown = Shown(**{name: bool(box.value) for name, box in self._boxes.items()})
        now = time.monotonic()
        due = now - self._drawn > (SLOW_PERIOD if self._simple else PLOT_PERIOD)
        with self.server.atomic():
            # A browser that draws in software takes longer for a slider than for the robot.
            if due or not self._simple:
                self._move.follow(sample.positions)
            goal = self._move.goal if self._move.touched else {}
            poses = self._picture.update(sample, goal, shown)
            self._touch.update(sample, poses, shown.numbers)
            self._head(self._picture.name, sample.caption)
            if not self._framed:
                self._stage.look_at(*self._picture.bounds(sample.positions))
                self._framed = True
        self._plots.add(sample.time, {"errors": sample.errors, "efforts": sample.efforts})
        if due:
            self._drawn = now
            self._plots.draw()
            self._stage.include(*self._picture.bounds(sample.positions))
            clients = self.server.get_clients().values()
            for client in clients:
                self._stage.fit(client, self._plots.covered(client))
            views = (self._stage.viewpoint(client, self._plots.fineness(client)) for client in clients)
            self._picture.look_from(next(views, None))

    def _head(self, name: str, caption: str) -> None:
        heading = f"**{name}**" + (f" · {caption}" if caption else "")
        if heading != self._heading:
            self._title.content = self._heading = heading
