"""Pictures without their layout worked out and of few dots: that takes most of the time of a report.

As a program: the command ``robot_dynamics`` with such pictures.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from robot_dynamics.report import plots

DOTS_PER_INCH = 30


def draw_coarsely() -> None:
    """Let every figure of this process be saved so; modules that make figures are imported afterwards."""
    make = plots.blank_figure

    def blank_figure(*arguments: Any, **options: Any) -> Any:
        figure: Any = make(*arguments, **options)
        figure.savefig = partial(_save, figure, figure.savefig)
        return figure

    plots.blank_figure = blank_figure


def _save(figure: Any, save: Any, *arguments: Any, **options: Any) -> None:
    figure.set_layout_engine(None)
    save(*arguments, **{**options, "dpi": DOTS_PER_INCH})


if __name__ == "__main__":
    draw_coarsely()
    from robot_dynamics.cli.main import main

    sys.exit(main(sys.argv[1:]))
