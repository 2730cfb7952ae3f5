"""Figures 2 to 8: the law as published on the links alone, and what this package does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robot_dynamics.papers.evidence.finding import PaperFinding
from robot_dynamics.papers.lee.plant import DURATION, SAMPLING, LeeRun, simulate
from robot_dynamics.report.plots import RESOLUTION, panels, save

_NOT_STATED = (
    "the paper prints neither the move's duration and shape nor the arm's inertial parameters, and its"
    " curves have no"
    f" numbers in the text; here a quintic of {DURATION:g} s and the PUMA 560 of Armstrong et al."
)
_CASES = (
    ("published law, links alone", {"half_period_ahead": False, "motors": False}),
    ("published law, with the motors' inertia", {"half_period_ahead": False, "motors": True}),
    ("evaluated half a period ahead, links alone", {"half_period_ahead": True, "motors": False}),
    ("evaluated half a period ahead, with the motors' inertia", {"half_period_ahead": True, "motors": True}),
)


def figures(folder: Path) -> Iterator[PaperFinding]:
    """The simulation's flow, the errors of the six joints, and the statement about them."""
    runs = {name: simulate(**conditions) for name, conditions in _CASES}
    published = runs[_CASES[0][0]]
    yield PaperFinding(
        "figure 2: flow of the simulation",
        f"set point, law (4.4), arm, state, every {SAMPLING} s",
        f"the same loop: torque held over {SAMPLING} s, plant integrated by Runge-Kutta in steps of"
        f" {SAMPLING / 10 * 1e3:g} ms",
        None,
        "a flow chart carries no number",
    )
    picture = _picture(runs, folder)
    for joint in range(6):
        errors = ", ".join(f"{name}: {np.abs(run.error[:, joint]).max():.2e}" for name, run in runs.items())
        yield PaperFinding(
            f"figure {joint + 3}: position error of joint {joint + 1}",
            "a curve, slightly oscillatory, less than 4.26e-4 rad",
            f"largest [rad]: {errors}",
            None,
            _NOT_STATED,
            pictures=(picture,) if joint == 0 else (),
        )
    for name, run in runs.items():
        yield PaperFinding(
            f"errors always below 4.26e-4 rad: {name}",
            "always well below the resolution of a 12-bit converter",
            f"{run.largest:.2e} rad",
            run.largest < RESOLUTION,
            _reason(name, run),
        )
    slow = _slowest(published)
    yield PaperFinding(
        "how slow the move would have to be",
        "nothing; the duration is not stated",
        f"the published law on the links alone stays below 4.26e-4 rad from a duration of {slow:.1f} s on",
        None,
        "the paper does not state the duration",
    )


def _reason(name: str, run: LeeRun) -> str:
    where = int(np.abs(run.error).max(axis=0).argmax()) + 1
    return (
        f"in our plant, in joint {where}: the torque is computed for the state at the sampling instant and"
        f" held for"
        f" {SAMPLING} s, while inertia and velocity change; duration, shape and arm of the paper are not"
        f" stated"
    )


def _slowest(run: LeeRun) -> float:
    low, high = DURATION, 12.0
    assert run.largest > RESOLUTION
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        below = simulate(half_period_ahead=False, motors=False, duration=middle).largest < RESOLUTION
        low, high = (low, middle) if below else (middle, high)
    return high


def _picture(runs: dict[str, LeeRun], folder: Path) -> Path:
    figure, grid = panels(6, "Figures 3 to 8: position error of each joint", "rad")
    for joint, axes in enumerate(grid):
        for name, run in runs.items():
            axes.plot(run.time, run.error[:, joint], lw=1.0, label=name)
        for side in (-RESOLUTION, RESOLUTION):
            axes.axhline(side, color="k", ls=":", lw=0.8)
        axes.set_title(f"figure {joint + 3}: joint {joint + 1}", fontsize="medium")
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    return save(figure, folder / "figures_3_to_8_position_errors.png")
