"""Pictures of a path: efforts against their limits, before and after retiming, and in simulated runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_rules import unit_of
from robot_dynamics.control.retiming.retime import KINDS, Retimed
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report.plots import blank_figure, legend_below, panels, save
from robot_dynamics.spatial import Array

SAMPLES = 2000


def torque_plot(
    chain: KinematicChain, model: EffortModel, spline: QuinticSpline, limits: Array, path: Path
) -> Path:
    """Effort of every joint over time with its limits, red where it is beyond them.

    Args:
        chain: the arm.
        model: its inverse dynamics with its actuators.
        spline: the path.
        limits: (n,) [N·m or N], infinite where there is none.
        path: of the PNG file.
    """
    times = np.linspace(spline.times[0], spline.times[-1], SAMPLES)
    efforts = model.inverse_dynamics(*map(np.ascontiguousarray, spline.at(times)))
    figure, grid = panels(chain.dof, "Torque along the path", "effort")
    since = times - times[0]
    for j, axes in enumerate(grid):
        beyond = np.abs(efforts[:, j]) > limits[j]
        axes.set_title(f"{chain.joint_names[j]} [{unit_of(chain, j, 'effort')}]", fontsize="medium")
        axes.plot(since, efforts[:, j], lw=1.2, label="needed")
        axes.plot(since, np.where(beyond, efforts[:, j], np.nan), "r", lw=2.0, label="beyond the limit")
        if np.isfinite(limits[j]):
            for side in (-1.0, 1.0):
                axes.axhline(
                    side * limits[j], color="tab:red", ls=":", lw=1.0, label="limit" if side > 0.0 else None
                )
    legend_below(figure, grid[0])
    return save(figure, path)


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


def retiming_plot(
    chain: KinematicChain,
    model: EffortModel,
    before: QuinticSpline,
    after: Retimed,
    limits: Array,
    path: Path,
) -> Path:
    """Efforts of all joints before and after over time, and the path speed, coloured by the limiting joint.

    Args:
        chain: the arm.
        model: its inverse dynamics with its actuators.
        before: the path with its own timing, from time 0 on.
        after: the retimed motion.
        limits: (n,) of efforts [N·m or N], infinite where there is none.
        path: of the PNG file.
    """
    count = chain.dof
    figure = blank_figure(10.0, 1.35 * count + 3.2, "Before and after retiming")
    grid = figure.add_gridspec(count + 1, 2, height_ratios=[*[1.0] * count, 2.0])
    for column, spline in enumerate((before, after.spline)):
        times = np.linspace(0.0, spline.times[-1], SAMPLES)
        efforts = model.inverse_dynamics(*map(np.ascontiguousarray, spline.at(times)))
        for j in range(count):
            axes = figure.add_subplot(grid[j, column])
            beyond = np.abs(efforts[:, j]) > limits[j] * (1.0 + 1e-3)
            axes.plot(times, efforts[:, j], lw=1.0)
            axes.plot(times, np.where(beyond, efforts[:, j], np.nan), "r", lw=1.8)
            if np.isfinite(limits[j]):
                for side in (-1.0, 1.0):
                    axes.axhline(side * limits[j], color="tab:red", ls=":", lw=1.0)
            axes.grid(alpha=0.3)
            if column == 0:
                unit = unit_of(chain, j, "effort")
                axes.set_ylabel(f"{chain.joint_names[j]}\n[{unit}]", fontsize="small")
            if j == 0:
                title = "before" if column == 0 else "after"
                axes.set_title(f"{title}: {spline.times[-1]:.2f} s", fontsize="medium")
            if j == count - 1:
                axes.set_xlabel("time [s]", fontsize="small")
    axes = figure.add_subplot(grid[count, :])
    share = (after.s - after.s[0]) / (after.s[-1] - after.s[0])
    speed = np.sqrt(after.x) / (after.s[-1] - after.s[0])
    axes.plot(share, speed, color="0.7", lw=0.8)
    for j in np.unique(after.joint).tolist():
        for kind in np.unique(after.kind[after.joint == j]).tolist():
            chosen = (after.joint == j) & (after.kind == kind)
            name = KINDS[kind] if j < 0 else f"{chain.joint_names[j]}, {KINDS[kind]}"
            axes.scatter(share[chosen], speed[chosen], s=5.0, label=name)
    axes.set_xlabel("place along the path (0 to 1)")
    axes.set_ylabel("path speed [1/s]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", title="nearest limit", ncols=2, markerscale=2.0)
    return save(figure, path, dpi=80)
