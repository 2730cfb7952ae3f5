"""Verification of the effort limits with every plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_rules import OFF, REFUSE, TorqueCheckParameters, unit_of
from robot_dynamics.control.arm.trajectory import Trajectory
from robot_dynamics.control.arm.verified_torque import largest_efforts
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array


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
