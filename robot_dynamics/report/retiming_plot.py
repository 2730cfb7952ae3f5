"""Pictures of a retimed path: efforts before and after, and the path speed with the joint that limits it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_rules import unit_of
from robot_dynamics.control.retiming.retime import KINDS, Retimed
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.report.plots import blank_figure, save
from robot_dynamics.spatial import Array

SAMPLES = 2000


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
