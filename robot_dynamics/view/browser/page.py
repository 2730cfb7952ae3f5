"""Web view of one arm or platform at a time, with its messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import viser

from robot_dynamics.view.browser.panel import Actions as Actions
from robot_dynamics.view.browser.panel import Notices
from robot_dynamics.view.browser.picture import Picture
from robot_dynamics.view.browser.stage import Stage
from robot_dynamics.view.machine import Geometry
from robot_dynamics.view.samples import StateSample

BRAND, BRAND_ON_DARK = (38, 84, 124), (92, 158, 212)
"""Colour of titles and buttons, to be read on light and on dark panels."""


class Page:
    """Web view of one robot or platform, which may change.

    Args:
        server: that serves it.
        gravity: (3,) in the root frame [m/s²].
        window: seconds in the plots.
        shadows: whether the machine throws one.
        actions: of the buttons.
        dark: whether panels begin with dark colours.

    Attributes:
        notices: what is said at the head of the panel.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        gravity: Sequence[float],
        window: float,
        shadows: bool,
        actions: Actions,
        dark: bool = False,
    ) -> None:
        self.server = server
        self._gravity = np.asarray(gravity, dtype=float)
        self._window = window
        self._actions = actions
        self._picture: Picture | None = None
        self._framed = False
        server.gui.main_panel.dock_right()
        self._dark = dark
        self._dress()
        self._stage = Stage(server, shadows)
        self._title = server.gui.add_markdown("")
        self._heading = ""
        self.notices = Notices(server)

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

    def show(self, geometry: Geometry) -> None:
        """Show another robot or platform."""
        if self._picture is not None:
            self._picture.remove()
        with self.server.atomic():
            self._head(geometry.name, "")
            self._stage.put_ground(geometry.ground)
            self._picture = Picture(
                self.server, geometry, self._gravity, self._window, self._actions, (self._dark, self._darken)
            )
        self._framed = False
        skipped = [*geometry.skipped, *self._picture.failures]
        text = "" if not skipped else f"not drawn: {'; '.join(skipped[:3])}"
        if len(skipped) > 3:
            text += f"; and {len(skipped) - 3} more"
        self.notices.say("visuals", text, "info")

    def update(self, sample: StateSample) -> None:
        """Show one sample."""
        if self._picture is None:
            return
        with self.server.atomic():
            self._picture.update(sample)
            self._head(self._picture.name, sample.caption)
            if not self._framed:
                self._stage.look_at(*self._picture.bounds(sample.positions))
                self._framed = True

    def _head(self, name: str, caption: str) -> None:
        heading = f"**{name}**" + (f" · {caption}" if caption else "")
        if heading != self._heading:
            self._title.content = self._heading = heading
