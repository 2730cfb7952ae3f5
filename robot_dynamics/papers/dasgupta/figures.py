"""Figures of the Stewart platform as PNG files, drawn without a screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.papers.dasgupta.reproduction import MODELS, Reproduction, paper_paths, singular_instant
from robot_dynamics.report.plots import blank_figure, panels, save
from robot_dynamics.spatial import Array

WORDS = {"exact": "exact model", "published": "equations as published"}
# Line styles of the paper's letters: total, static, dynamic.
CURVES = (
    ("T: total", "-", "C0", 1.8),
    ("S: massless legs", "--", "C1", 1.4),
    ("D: difference", ":", "C2", 1.8),
)
# Dynamic fractions beyond this come from a force that crosses zero and are cut off.
SHOWN_FRACTION = 1.0


def reproduction_figures(done: Reproduction, directory: Path) -> list[Path]:
    """Figures 4 to 10 of Dasgupta and Mruthyunjaya 1998, those with forces under both models."""
    files = []
    for model in MODELS:
        for number, name in ((4, "I"), (7, "II"), (9, "III")):
            result, times = done.results[name, model], done.paths[name].times
            files.append(
                force_figure(
                    times,
                    (result.actuator_forces, result.static_forces, result.dynamic_forces),
                    f"Figure {number}: Path {name}, leg forces ({WORDS[model]})",
                    directory / f"figure_{number:02d}_path_{name}_forces_{model}.png",
                )
            )
        for number, name in ((6, "I"), (8, "II")):
            files.append(
                fraction_figure(
                    done.paths[name].times,
                    done.results[name, model].dynamic_fraction,
                    f"Figure {number}: Path {name}, fraction of dynamic forces ({WORDS[model]})",
                    directory / f"figure_{number:02d}_path_{name}_fractions_{model}.png",
                )
            )
    for number, name in ((5, "I"), (10, "III")):
        files.append(
            condition_figure(
                done.paths[name].times,
                done.results[name, "exact"].condition_number,
                singular_instant(done)[0] if name == "III" else None,
                f"Figure {number}: Path {name}, condition number of H",
                directory / f"figure_{number:02d}_path_{name}_condition.png",
            )
        )
    return sorted(files)


def trajectory_figure(path: Path) -> Path:
    """Figure 3: a coordinate of Path I with its velocity and acceleration."""
    law = paper_paths()["I"].line.linear_law
    times = np.linspace(0.0, law.duration, 601)
    figure = blank_figure(7.0, 4.8, "Figure 3: typical trajectory of a coordinate (Path I)")
    rows = figure.subplots(3, 1, sharex=True)
    for axes, values, label in zip(rows, law.at(times), ("fraction", "rate [1/s]", "[1/s²]"), strict=True):
        axes.plot(times, values, color="C0", linewidth=1.6)
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
    rows[-1].set_xlabel("time [s]")
    return save(figure, path, 120)


def force_figure(times: Array, curves: Sequence[Array], title: str, path: Path) -> Path:
    """Total, static and dynamic forces (N, 6) [N] of the six legs over time [s]."""
    figure, grid = panels(6, title, "force [N]")
    for leg, axes in enumerate(grid):
        for (label, style, color, width), values in zip(CURVES, curves, strict=True):
            axes.plot(times, values[:, leg], style, color=color, linewidth=width, label=label)
        axes.axhline(0.0, color="0.6", linewidth=0.7, zorder=0)
        axes.set_title(f"leg {leg + 1}", fontsize="medium")
        axes.margins(x=0.0)
        axes.ticklabel_format(axis="y", scilimits=(-3, 4))
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    return save(figure, path, 120)


def fraction_figure(times: Array, fractions: Array, title: str, path: Path) -> Path:
    """Dynamic fractions (N, 6) of the six legs over time [s]."""
    figure, grid = panels(6, title, "$F_d / F$ [%]")
    for leg, axes in enumerate(grid):
        values = 100.0 * fractions[:, leg]
        axes.plot(times, values, color="C3", linewidth=1.6)
        axes.axhline(0.0, color="0.6", linewidth=0.7, zorder=0)
        axes.set_title(f"leg {leg + 1}", fontsize="medium")
        axes.margins(x=0.0)
        if np.abs(values).max() > 100.0 * SHOWN_FRACTION:
            axes.set_ylim(-100.0 * SHOWN_FRACTION, 100.0 * SHOWN_FRACTION)
            axes.set_title(f"leg {leg + 1} (its force crosses zero)", fontsize="medium")
    return save(figure, path, 120)


def condition_figure(times: Array, values: Array, singular: float | None, title: str, path: Path) -> Path:
    """Condition number (N,) over time [s], logarithmic where it grows by decades."""
    figure = blank_figure(7.0, 4.2, title)
    axes = figure.subplots()
    axes.plot(times, values, ".-", color="C0", linewidth=1.5, markersize=4)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("condition number [1]")
    axes.grid(alpha=0.3, which="both")
    axes.margins(x=0.0)
    if values.max() > 30.0 * values.min():
        axes.set_yscale("log")
    if singular is not None:
        axes.axvline(
            singular, color="C3", linestyle="--", linewidth=1.2, label=f"singular at {singular:.3f} s"
        )
        axes.legend(loc="upper left", fontsize="small")
    return save(figure, path, 120)
