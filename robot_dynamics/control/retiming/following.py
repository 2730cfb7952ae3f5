"""Retiming of what nodes follow: off, slower where limits are exceeded, or as fast as the limits permit."""

from __future__ import annotations

from collections.abc import Callable

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_check import Finding, check_path
from robot_dynamics.control.arm.path_rules import RETIME_OFF, SLOWER, PathRules
from robot_dynamics.control.retiming.executable import executable
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

INTERVALS = 400
"""Of the grid: a plan is wanted soon, and sent point by point."""


def retimed(
    chain: KinematicChain, model: EffortModel, efforts: Array, rules: PathRules
) -> Callable[[QuinticSpline], QuinticSpline] | None:
    """The retiming that the rules ask for; None where they ask for none.

    A path that keeps all limits stays as it is where it may only become slower.

    Args:
        chain: the arm.
        model: its inverse dynamics with its actuators.
        efforts: (n,) effort limits [N·m or N], infinite where there is none.
        rules: of trajectories.
    """
    mode, reduced = rules.torque.retime, (1.0 - rules.torque.torque_margin) * efforts
    if mode == RETIME_OFF:
        return None

    def run(spline: QuinticSpline) -> QuinticSpline:
        if not isinstance(model, ActuatedArm):
            raise TrajectoryError(f"retime {mode!r} needs a model of links and actuators; set it to 'off'")
        if not (spline.coefficients[:, 1:] != 0.0).any():
            return spline
        if mode == SLOWER and not _too_fast(check_path(chain, model, spline, reduced, rules).exceeded):
            return spline
        table, _, verdict = executable(chain, model, spline, reduced, rules, mode == SLOWER, INTERVALS)
        if wrong := _too_fast(verdict.exceeded):
            raise TrajectoryError(f"retimed, it still exceeds a limit: {wrong[0].message}")
        times = table.times + spline.times[0]
        return waypoint_spline(times, table.positions, table.velocities, table.accelerations)

    return run


def _too_fast(findings: tuple[Finding, ...]) -> list[Finding]:
    """Those that a slower motion may change."""
    return [one for one in findings if one.quantity != "position"]
