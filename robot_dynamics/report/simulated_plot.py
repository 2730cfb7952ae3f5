"""Picture of simulated runs of a path: efforts as shares of their limits, and tracking errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from robot_dynamics.report.plots import blank_figure, save
from robot_dynamics.spatial import Array


class SimulatedRun(Protocol):
    """A run of a path; rows are control cycles."""

    @property
    def times(self) -> Array:
        """(N,) from the path's start [s]."""
        ...

    @property
    def efforts(self) -> Array:
        """(N, n) applied [N·m or N]."""
        ...

    @property
    def asked(self) -> Array:
        """(N, n) before the limits [N·m or N]."""
        ...

    @property
    def errors(self) -> Array:
        """(N, n) reference less measured position [rad or m]."""
        ...


def simulated_plot(
    joint_names: Sequence[str], runs: Mapping[str, SimulatedRun], limits: Array, path: Path
) -> Path:
    """Efforts of all joints as shares of their limits, red where they are cut, and tracking errors below.

    Args:
        joint_names: of the columns.
        runs: by their titles, side by side.
        limits: (n,) of efforts [N·m or N], infinite where there is none.
        path: of the PNG file.
    """
    count, largest = len(joint_names), np.where(np.isfinite(limits), limits, np.nan)
    figure = blank_figure(10.0, 1.25 * count + 2.2, "Simulated efforts as shares of their limits")
    grid = figure.subplots(
        count + 1, len(runs), squeeze=False, sharex="col", sharey="row", height_ratios=[1.0] * count + [1.5]
    )
    for column, (title, run) in enumerate(runs.items()):
        shares, asked = 100.0 * run.efforts / largest, 100.0 * run.asked / largest
        for j, name in enumerate(joint_names):
            axes, cut = grid[j, column], run.efforts[:, j] != run.asked[:, j]
            axes.plot(run.times, shares[:, j], lw=1.0)
            axes.plot(run.times, np.where(cut, asked[:, j], np.nan), "r", lw=1.5)
            for side in (-100.0, 100.0):
                axes.axhline(side, color="tab:red", ls=":", lw=1.0)
            axes.grid(alpha=0.3)
            if column == 0:
                axes.set_ylabel(f"{name}\n[%]", fontsize="small")
        axes = grid[count, column]
        axes.plot(run.times, 1e3 * np.abs(run.errors).max(axis=1), color="tab:purple", lw=1.0)
        axes.grid(alpha=0.3)
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_xlabel("time [s]", fontsize="small")
        grid[0, column].set_title(title, fontsize="medium")
    grid[count, 0].set_ylabel("largest error\n[mrad or mm]", fontsize="small")
    return save(figure, path, dpi=80)
