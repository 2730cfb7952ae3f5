"""Picture of the efforts along a path against their limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_rules import unit_of
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report.plots import legend_below, panels, save
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
