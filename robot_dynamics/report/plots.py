"""Plots of arm recordings as PNG files, drawn without a screen."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.inputs.files import write_files
from robot_dynamics.report.recording import ArmRecording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RESOLUTION = 4.26e-4
"""Resolution of Lee et al.: one bit of their 12-bit converter over 100 degrees [rad]."""


def blank_figure(width: float, height: float, title: str) -> Figure:
    """An empty figure of ``width`` by ``height`` inches that needs no screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise RobotDynamicsError(lacking("plots need", "matplotlib")) from error
    figure = NewFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    return figure


def panels(
    count: int, title: str, unit: str, same_scale: bool | Literal["row"] = False, over: str = "time [s]"
) -> tuple[Figure, Sequence[Axes]]:
    """A figure with one panel a joint, at most three in a row.

    Args:
        count: of the panels.
        title: of the figure.
        unit: of their vertical axes.
        same_scale: whether all share the vertical axis, or ``"row"`` for those beside each other.
        over: name and unit of the horizontal axis, which is the same for all where it is the time.
    """
    columns = min(3, count)
    rows = -(-count // columns)
    figure = blank_figure(4.0 * columns, 2.8 * rows + 0.6, title)
    grid = figure.subplots(
        rows, columns, squeeze=False, sharex=over.startswith("time"), sharey=same_scale
    ).ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    for number, axes in enumerate(grid[:count]):
        axes.grid(alpha=0.3)
        if not same_scale or number % columns == 0:
            axes.set_ylabel(unit)
    for axes in grid[max(0, count - columns) : count]:
        axes.set_xlabel(over)
        axes.tick_params(labelbottom=True)
    return figure, list(grid[:count])


def legend_below(figure: Figure, axes: Axes) -> None:
    """Name the lines of one panel, which stand for those of all, where they hide nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), fontsize="small")


def _per_joint(
    recording: ArmRecording, title: str, unit: str, draw: Callable[[Any, int], str | None]
) -> Figure:
    """One panel a joint, all of one scale; what ``draw`` returns stands behind the joint's name."""
    figure, grid = panels(len(recording.joint_names), title, unit, same_scale=True)
    for j, axes in enumerate(grid):
        axes.set_title(f"{recording.joint_names[j]}{draw(axes, j) or ''}", fontsize="medium")
    legend_below(figure, grid[0])
    return figure


def position_plot(recording: ArmRecording, path: Path) -> Path:
    """Reference and measured position of every joint."""

    def draw(axes: Any, j: int) -> None:
        axes.plot(recording.time, np.degrees(recording.reference[:, j]), lw=3.0, alpha=0.4, label="reference")
        axes.plot(recording.time, np.degrees(recording.position[:, j]), "k--", lw=1.0, label="measured")

    return save(_per_joint(recording, f"Position: {recording.name}", "degrees", draw), path)


def effort_plot(recording: ArmRecording, path: Path) -> Path:
    """Commanded effort of every joint as a share of its limit, which is drawn where it is near."""
    near = bool(np.any(np.abs(recording.effort) > 0.5 * recording.effort_limits))

    def draw(axes: Any, j: int) -> str:
        limit = recording.effort_limits[j]
        share = 100.0 * recording.effort[:, j] / limit
        axes.step(recording.time, share, where="post", lw=1.2, label="commanded torque")
        if near:
            for side in (-100.0, 100.0):
                label = "effort limit" if side > 0.0 else None
                axes.axhline(side, color="tab:red", ls=":", lw=1.0, label=label)
        return f", limit {limit:g} N·m"

    return save(_per_joint(recording, f"Torque: {recording.name}", "% of the limit", draw), path)


def error_plot(
    recordings: Sequence[ArmRecording], path: Path, title: str, limit: float | None = None
) -> Path:
    """Position error of every joint over time, as figures 3 to 8 of Lee et al.

    Several recordings share the panels: their errors differ by powers of ten, so their size is drawn on a
    logarithmic axis.

    Args:
        recordings: of the same joints.
        path: of the picture.
        title: of the figure.
        limit: that the first recording is judged by [rad].
    """
    several = len(recordings) > 1

    def draw(axes: Any, j: int) -> None:
        for recording in recordings:
            error = recording.error[:, j]
            name = recording.name if several else "reference less measured position"
            axes.plot(recording.time, np.abs(error) if several else 1e6 * error, lw=1.1, label=name)
        if several:
            axes.set_yscale("log")
            axes.set_ylim(1e-7, 2.0 * max(recording.largest_error for recording in recordings))
            axes.axhline(RESOLUTION, color="k", ls=":", lw=1.0, label="what Lee et al. resolve")
            if limit:
                of_first = f"limit of {recordings[0].name}: {limit:.0e} rad"
                axes.axhline(limit, color="tab:red", ls=":", lw=1.0, label=of_first)
        elif limit:
            for side in (-1e6 * limit, 1e6 * limit):
                label = f"limit {1e6 * limit:g} µrad" if side > 0.0 else None
                axes.axhline(side, color="tab:red", ls=":", lw=1.0, label=label)

    return save(_per_joint(recordings[0], title, "rad" if several else "µrad", draw), path)


def comparison_plot(recordings: Sequence[ArmRecording], path: Path, limit: float) -> Path:
    """Largest error of each run, on a logarithmic axis."""
    figure = blank_figure(9.0, 0.6 * len(recordings) + 1.9, "Largest joint error of each run")
    axes = figure.subplots()
    values = [recording.largest_error for recording in recordings]
    names = [recording.name for recording in recordings]
    bars = axes.barh(names, values, color=["tab:green" if v <= limit else "tab:orange" for v in values])
    axes.bar_label(bars, fmt="%.2e", padding=4, fontsize="small")
    axes.axvline(limit, color="tab:red", ls=":", lw=1.4, label=f"limit of {names[0]}: {limit:.0e} rad")
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 3.0, max(values) * 6.0)
    axes.set_xlabel("rad")
    axes.invert_yaxis()
    legend_below(figure, axes)
    return save(figure, path)


def picture(figure: Figure, caption: str) -> dict[str, str]:
    """A figure for a page, with its caption."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=90)
    return {"caption": caption, "data": base64.b64encode(stream.getvalue()).decode()}


def save(figure: Figure, path: Path, dpi: int = 110) -> Path:
    """Write a figure in the format that the file's ending names; returns the file.

    Raises:
        ParameterError: the file cannot be written; a FIFO that nobody reads is not waited for.
    """
    stream = io.BytesIO()
    figure.savefig(stream, format=path.suffix[1:].lower(), dpi=dpi)
    write_files(path.parent, {path.name: stream.getvalue()})
    return path
