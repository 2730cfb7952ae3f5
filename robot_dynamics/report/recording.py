"""A recorded run of an arm and the figures drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class ArmRecording:
    """K samples of an arm that follows a reference.

    Attributes:
        name: of the run.
        joint_names: (n) in the order of the columns.
        time: (K,) since the trajectory's start [s].
        reference: (K, n) reference positions [rad or m].
        position: (K, n) measured at the same stamps [rad or m].
        effort: (K, n) commanded [N·m or N].
        effort_limits: (n,) [N·m or N].
    """

    name: str
    joint_names: tuple[str, ...]
    time: Array
    reference: Array
    position: Array
    effort: Array
    effort_limits: Array

    @property
    def error(self) -> Array:
        """(K, n) reference minus measured position [rad or m]."""
        return np.asarray(self.reference - self.position)

    @property
    def largest_error(self) -> float:
        """Over all joints and samples [rad or m]."""
        return float(np.abs(self.error).max())

    @property
    def root_mean_square_error(self) -> float:
        """Over all joints and samples [rad or m]."""
        return float(np.sqrt(np.mean(self.error**2)))

    def results(self) -> dict[str, object]:
        """The run in numbers, for the report."""
        largest = np.abs(self.error).max(axis=0)
        return {
            "samples": len(self.time),
            "largest_error": self.largest_error,
            "root_mean_square_error": self.root_mean_square_error,
            "largest_error_per_joint": dict(zip(self.joint_names, largest.tolist(), strict=True)),
            "final_error": float(np.abs(self.error[-1]).max()),
            "largest_effort_per_joint": dict(
                zip(self.joint_names, np.abs(self.effort).max(axis=0).tolist(), strict=True)
            ),
            "saturated_samples": int(
                np.any(np.abs(self.effort) >= self.effort_limits * (1.0 - 1e-9), axis=1).sum()
            ),
        }
