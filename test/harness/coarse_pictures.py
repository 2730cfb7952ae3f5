"""Pictures of few dots, without their layout, each kind drawn once: they take most of the time of a report.

As a program: the command ``robot_dynamics`` with such pictures.
"""

from __future__ import annotations

import io
import sys
from functools import partial
from typing import Any

from robot_dynamics.report import plots

DOTS_PER_INCH = 30
_DRAWN: dict[str, bytes] = {}


def draw_coarsely() -> None:
    """Let every figure of this process be saved so; modules that make figures are imported afterwards."""
    make = plots.blank_figure

    def blank_figure(*arguments: Any, **options: Any) -> Any:
        figure: Any = make(*arguments, **options)
        figure.savefig = partial(_save, figure, (arguments, options), figure.savefig)
        return figure

    plots.blank_figure = blank_figure


def _save(figure: Any, made: Any, save: Any, file: Any, **options: Any) -> None:
    """Draw the first of those with the same title, size and axes; the others are copies of it."""
    axes = [(one.get_title(), one.get_xlabel(), one.get_ylabel(), one.get_yscale()) for one in figure.axes]
    kind = repr((made, axes, options["format"]))
    if kind not in _DRAWN:
        figure.set_layout_engine(None)
        stream = io.BytesIO()
        save(stream, **{**options, "dpi": DOTS_PER_INCH})
        _DRAWN[kind] = stream.getvalue()
    file.write(_DRAWN[kind])


if __name__ == "__main__":
    draw_coarsely()
    from robot_dynamics.cli.main import main

    sys.exit(main(sys.argv[1:]))
