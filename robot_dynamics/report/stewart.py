"""A recorded run of a Stewart platform: its figures, plots and table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.report.plots import legend_below, panels, save
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class StewartRecording:
    """K samples of a platform that follows a reference.

    Attributes:
        name: of the run.
        leg_names: in the order of the forces.
        time: (K,) [s].
        reference: (K, 6) position [m] and rotation vector [rad] of the reference.
        pose: (K, 6) the platform's true ones at the same stamps.
        angle_error: (K,) angle between wanted and true orientation [rad].
        force: (K, 6) commanded actuator forces, positive when the leg pushes [N].
        force_limits: (6,) [N].
    """

    name: str
    leg_names: Sequence[str]
    time: Array
    reference: Array
    pose: Array
    angle_error: Array
    force: Array
    force_limits: Array

    @property
    def position_error(self) -> Array:
        """(K,) distance between wanted and true position [m]."""
        return np.asarray(np.linalg.norm(self.reference[:, :3] - self.pose[:, :3], axis=1))

    def results(self) -> dict[str, object]:
        """The run in numbers, for the report."""
        return {
            "title": self.name,
            "samples": len(self.time),
            "largest_position_error_m": float(self.position_error.max()),
            "largest_angle_error_rad": float(self.angle_error.max()),
            "amplitude_m": float(np.abs(self.reference[:, :3] - self.reference[0, :3]).max()),
            "largest_force_per_leg_N": dict(
                zip(self.leg_names, np.abs(self.force).max(axis=0).tolist(), strict=True)
            ),
            "saturated_samples": int(
                np.any(np.abs(self.force) >= self.force_limits * (1.0 - 1e-9), axis=1).sum()
            ),
        }


def table(recording: StewartRecording, position_limit: float, angle_limit: float) -> str:
    """Largest errors and forces, a few lines."""
    position, angle = recording.position_error.max(), recording.angle_error.max()
    forces = "  ".join(
        f"{name} {np.abs(recording.force[:, k]).max():.0f}" for k, name in enumerate(recording.leg_names)
    )
    return (
        f"{recording.name}\n"
        f"largest position error {1e3 * position:.4f} mm (limit {1e3 * position_limit:g} mm),"
        f" largest angle error {np.degrees(angle):.5f}° (limit {np.degrees(angle_limit):g}°)\n"
        f"largest forces [N]: {forces}"
    )


def write_plots(
    recording: StewartRecording, folder: Path, position_limit: float, angle_limit: float
) -> list[Path]:
    """Every plot of the run; returns the files."""
    return [
        _pose_plot(recording, folder / "platform_pose.png"),
        _error_plot(recording, folder / "platform_error.png", position_limit, angle_limit),
        _force_plot(recording, folder / "platform_forces.png"),
    ]


def _pose_plot(recording: StewartRecording, path: Path) -> Path:
    figure, grid = panels(6, f"Pose, from where it began: {recording.name}", "", same_scale="row")
    for k, axes in enumerate(grid):
        scale = 1e3 if k < 3 else float(np.degrees(1.0))
        home = recording.reference[0, k]
        axes.plot(
            recording.time, scale * (recording.reference[:, k] - home), lw=3.0, alpha=0.4, label="reference"
        )
        axes.plot(recording.time, scale * (recording.pose[:, k] - home), "k--", lw=1.0, label="true")
        axes.set_title("xyz"[k] if k < 3 else f"rotation about {'xyz'[k - 3]}", fontsize="medium")
    grid[0].set_ylabel("mm")
    grid[3].set_ylabel("degrees")
    legend_below(figure, grid[0])
    return save(figure, path)


def _error_plot(recording: StewartRecording, path: Path, position_limit: float, angle_limit: float) -> Path:
    figure, grid = panels(2, f"Tracking error: {recording.name}", "")
    rows: list[tuple[Any, float, str, str]] = [
        (1e3 * recording.position_error, 1e3 * position_limit, "position", "mm"),
        (np.degrees(recording.angle_error), float(np.degrees(angle_limit)), "angle", "°"),
    ]
    for axes, (values, limit, what, unit) in zip(grid, rows, strict=True):
        axes.plot(recording.time, values, lw=1.1, label="distance of true from wanted pose")
        axes.axhline(limit, color="tab:red", ls=":", lw=1.0, label="limit")
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel(f"{what} [{unit}]")
        axes.set_title(
            f"{what}, at most {values.max():.2g} {unit}, limit {limit:g} {unit}", fontsize="medium"
        )
    legend_below(figure, grid[0])
    return save(figure, path)


def _force_plot(recording: StewartRecording, path: Path) -> Path:
    title = f"Actuator forces: {recording.name}"
    figure, grid = panels(len(recording.leg_names), title, "N", same_scale=True)
    for k, axes in enumerate(grid):
        force, limit = recording.force[:, k], recording.force_limits[k]
        axes.plot(recording.time, force, lw=1.1, label="commanded force, positive when the leg pushes")
        axes.axhline(
            force[0], color="tab:orange", ls="--", lw=1.0, label="at rest: the leg's share of the weight"
        )
        axes.axhline(0.0, color="k", lw=0.6, label="below: the leg pulls")
        share = 100.0 * float(np.abs(force).max()) / limit
        axes.set_title(
            f"{recording.leg_names[k]}, at most {share:.0f} % of its {limit:g} N", fontsize="medium"
        )
    legend_below(figure, grid[0])
    return save(figure, path)
