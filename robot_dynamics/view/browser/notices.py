"""Messages beside the buttons of the page."""

from __future__ import annotations

import html
import math
import time

import viser

_COLORS = {
    "info": ("#e7f5ff", "#1864ab"),
    "warning": ("#fff3bf", "#7a4a00"),
    "error": ("#ffe3e3", "#a01414"),
}


class Notices:
    """Messages, one for each subject, and a button that takes refusals away.

    Args:
        server: the page.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._texts: dict[str, tuple[str, str]] = {}
        self._ends: dict[str, float] = {}
        self._kept: set[str] = set()
        self._box = server.gui.add_html("")
        self._dismiss = server.gui.add_button(
            "dismiss", visible=False, color="gray", hint="Take the refusals away"
        )
        self._dismiss.on_click(lambda _: self.dismiss())
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
        self._kept.discard(subject)
        if text:
            self._texts[subject] = (level, text)
        else:
            self._texts.pop(subject, None)
        self._draw()

    def refuse(self, subject: str, text: str) -> None:
        """Show a refusal, which stays until it is dismissed or something else is said about the subject."""
        self.say(subject, text, "error")
        self._kept.add(subject)
        self._draw()

    def dismiss(self) -> None:
        """Take the refusals away."""
        for subject in self._kept:
            self._texts.pop(subject, None)
        self._kept.clear()
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
        if self._dismiss.visible != bool(self._kept):
            self._dismiss.visible = bool(self._kept)


def _notice(level: str, text: str) -> str:
    background, ink = _COLORS[level]
    style = (
        f"background:{background};color:{ink};border-left:4px solid {ink};border-radius:4px;"
        "margin:4px 10px;padding:5px 9px;font-size:0.85em;overflow-wrap:anywhere"
    )
    return f'<div class="notice {level}" style="{style}">{html.escape(text)}</div>'


def list_of(lines: tuple[str, ...]) -> str:
    """HTML of lines as a list."""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return (
        f'<ul style="margin:4px 10px;padding-left:1.2em;font-size:0.85em;overflow-wrap:anywhere">{items}</ul>'
    )
