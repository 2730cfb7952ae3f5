"""Checks of every plan: effort limits, and the ranges in which an identified model was tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_rules import (
    OFF,
    REFUSE,
    IdentifiedRangeParameters,
    TorqueCheckParameters,
    unit_of,
)
from robot_dynamics.control.arm.trajectory import Trajectory
from robot_dynamics.control.arm.verified_torque import largest_efforts
from robot_dynamics.control.path_bounds import extremes
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

FAR_PLACE, FAR_SPEED, FAR_EFFORT = 0.5, 2.0, 1.5
"""Limits of a remark: share of a range's width beyond it, multiples of the greatest speed and effort."""
LEAST_WIDTH = 0.2
"""Width that a range of positions has at least when it is compared [rad or m]."""
SAMPLES = 200
"""Moments of a trajectory at which efforts are compared."""
_MOST_NAMED = 4


def torque_checked(
    chain: KinematicChain,
    model: EffortModel,
    trajectory: Trajectory,
    limits: Array,
    parameters: TorqueCheckParameters,
) -> Trajectory:
    """The trajectory, with a remark for each joint whose effort leaves the limits on it.

    Args:
        chain: the arm.
        model: its inverse dynamics with its actuators.
        trajectory: to be verified, in continuous time.
        limits: (n,) [N·m or N], infinite where there is none.
        parameters: what to do about it.

    Raises:
        TrajectoryError: an effort leaves its limit and ``torque_check`` is ``refuse``.
    """
    if parameters.torque_check == OFF or not np.isfinite(limits).any():
        return trajectory
    reduced = (1.0 - parameters.torque_margin) * limits
    refusing = parameters.torque_check == REFUSE
    try:
        found = largest_efforts(chain, model, trajectory.spline, reduced, verdict_only=True)
    except TrajectoryError as error:
        if refusing:
            raise
        return replace(trajectory, remarks=(*trajectory.remarks, str(error)))
    share = found.share(reduced)
    beyond = [j for j in np.argsort(-share).tolist() if share[j] > 1.0]
    remarks = []
    for j in beyond:
        unit = unit_of(chain, j, "effort")
        size = max(float(found.bound[j]), abs(float(found.value[j])))
        left = f", of which torque_margin leaves {short(reduced[j], 4)}" if parameters.torque_margin else ""
        remarks.append(
            f"joint {chain.joint_names[j]!r} needs {short(size, 4)} {unit}"
            f" {short(float(found.time[j]) - trajectory.start)} s after the start; its effort limit is"
            f" {short(limits[j], 4)} {unit}{left}"
        )
    if remarks and refusing:
        raise TrajectoryError("; ".join(remarks[:3]))
    return replace(trajectory, remarks=(*trajectory.remarks, *remarks))


def beyond_tested(
    chain: KinematicChain, model: EffortModel, trajectory: Trajectory, tested: IdentifiedRangeParameters
) -> str:
    """A remark about a trajectory that leaves the tested ranges by far; empty for one that does not.

    Args:
        chain: the arm.
        model: its inverse dynamics with its actuators.
        trajectory: positions and speeds count in continuous time, efforts at ``SAMPLES`` moments.
        tested: the ranges.
    """
    if not tested.known:
        return ""
    spline, count = trajectory.spline, chain.dof
    given = (tested.tested_lower, tested.tested_upper, tested.tested_velocity, tested.tested_effort)
    if any(len(values) not in (0, count) for values in given):
        sizes = ", ".join(str(len(values)) for values in given)
        return (
            f"tested_lower, _upper, _velocity and _effort have {sizes} values; give {count} each, or none:"
            " nothing is compared with them"
        )
    lower, upper, fastest, strongest = (
        np.array(values) if values else np.full(count, unknown)
        for values, unknown in zip(given, (-np.inf, np.inf, np.inf, np.inf), strict=True)
    )
    place, speed = (extremes(spline.times, spline.coefficients, order) for order in (0, 1))
    times = np.linspace(spline.times[0], spline.times[-1], SAMPLES)
    effort = np.abs(model.inverse_dynamics(*spline.at(times))).max(axis=0)
    with np.errstate(invalid="ignore"):
        room = FAR_PLACE * np.maximum(upper - lower, LEAST_WIDTH)
    found = []
    for j, name in enumerate(chain.joint_names):
        if place.lowest[j] < lower[j] - room[j] or place.highest[j] > upper[j] + room[j]:
            below = lower[j] - place.lowest[j] > place.highest[j] - upper[j]
            reached = place.lowest[j] if below else place.highest[j]
            found.append(
                f"{name} goes to {short(reached, 3)} (tested {short(lower[j], 3)} to {short(upper[j], 3)})"
            )
        for what, value, most, far in (
            ("moves at", speed.largest[j], fastest[j], FAR_SPEED),
            ("needs", effort[j], strongest[j], FAR_EFFORT),
        ):
            if value > far * most:
                found.append(f"{name} {what} {short(value, 3)} (tested to {short(most, 3)})")
    if not found:
        return ""
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return (
        f"the model was not identified for this trajectory: {', '.join(found[:_MOST_NAMED])}{more}."
        " Its efforts may be wrong there; record such motion and identify again"
    )
