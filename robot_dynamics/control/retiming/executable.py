"""Retimed motions as waypoints, whose path by quintics is verified in continuous time."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.path_check import PathVerdict, check_path
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.retiming.retime import INTERVALS, Retimed, retime
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

MOST_ATTEMPTS = 15
"""As often the limits that the waypoints' path exceeds are lowered."""
_SPARE = 0.003


def path_limits(
    chain: KinematicChain, efforts: Array, rules: PathRules, effort_rate: Any = None
) -> PathLimits:
    """Limits of retiming: velocities of a description and of rules, effort limits (n,) and their rate."""
    names = chain.joint_names
    own = [chain.driving_joint(j).limits.velocity for j in range(chain.dof)]
    asked = [rules.velocity.get(name, np.inf) for name in names]
    return PathLimits(
        velocity=np.minimum(own, asked),
        acceleration=np.array([rules.acceleration.get(name, np.inf) for name in names]),
        effort=efforts,
        effort_rate=effort_rate,
    )


def executable(
    chain: KinematicChain,
    model: ActuatedArm,
    spline: QuinticSpline,
    efforts: Array,
    rules: PathRules,
    slower: bool = False,
    intervals: int = INTERVALS,
    effort_rate: Any = None,
) -> tuple[WaypointTable, Retimed, PathVerdict]:
    """Retime a path, and verify the quintics between the resulting waypoints.

    Where these exceed a limit, the path is retimed within a smaller one for that joint.

    Args:
        chain: the arm.
        model: its inverse dynamics with its actuators.
        spline: the path.
        efforts: (n,) effort limits [N·m or N], infinite where there is none.
        rules: limits of velocity and acceleration beside the chain's.
        slower: never faster than the path's own timing.
        intervals: of the grid, about; there are about as many waypoints.
        effort_rate: limit of the effort's change, see `PathLimits`; None: there is none.

    Returns:
        Waypoints that begin at time 0, the motion, and the verdict about the waypoints' path.

    Raises:
        TrajectoryError: there is no such motion; names the joint, the place and the effort.
    """
    driven, limits = DrivenModel.of(model, chain), path_limits(chain, efforts, rules, effort_rate)
    names, scaled = list(chain.joint_names), limits.arrays(chain)
    found: tuple[WaypointTable, Retimed, PathVerdict] | None = None
    for _ in range(MOST_ATTEMPTS):
        try:
            made = retime(driven, spline, PathLimits(**scaled), slower=slower, intervals=intervals)
        except TrajectoryError:
            if found is None:
                raise
            break
        table = made.table()
        between = waypoint_spline(table.times, table.positions, table.velocities, table.accelerations)
        found = table, made, check_path(chain, model, between, efforts, rules)
        beyond = [one for one in found[2].exceeded if one.quantity in scaled]
        if not beyond:
            break
        for one in beyond:
            scaled[one.quantity][names.index(one.joint)] *= (1.0 - _SPARE) / one.share
    assert found is not None
    return found
