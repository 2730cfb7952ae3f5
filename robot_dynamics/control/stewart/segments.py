"""Polynomial segments of governed motions: a step of the governor, and the stop that it has found safe.

A robot that follows such segments comes to rest by itself when no further ones arrive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.spline import hermite_spline
from robot_dynamics.control.stewart.reference_governor import GovernedPlan, GovernedReference
from robot_dynamics.control.stewart.trajectory import PoseTrajectory
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import angle_motion, roll_pitch_yaw

LONGEST = 0.1
"""Longest stop that is one quintic in roll, pitch and yaw [s]."""


def segments_along(references: Sequence[GovernedReference]) -> PoseTrajectory:
    """Trajectory through references, each with its acceleration until the next one.

    Args:
        references: at increasing times, two at least.
    """
    return _through(references, [one.acceleration for one in references[:-1]])


def _through(references: Sequence[GovernedReference], ends: Sequence[Array]) -> PoseTrajectory:
    """Trajectory through references whose accelerations change linearly to those at the ``ends``."""
    times = np.array([one.time for one in references])
    positions = np.array([one.position for one in references])
    angles = np.unwrap(roll_pitch_yaw(np.array([one.rotation for one in references])), axis=0)
    twists = np.array([one.twist for one in references])
    accelerations = np.array([one.acceleration for one in references[:-1]])
    places = np.hstack([positions, angles])
    begins = _coordinates(places[:-1], twists[:-1], accelerations)
    arrivals = _coordinates(places[1:], twists[1:], np.array(ends))
    return PoseTrajectory(hermite_spline(times, begins, arrivals))


def segments_with_stop(plan: GovernedPlan) -> PoseTrajectory:
    """Trajectory of a reference with its acceleration for a while, and then a stop straight on."""
    reference = plan.reference
    after = reference.at(reference.time + plan.free)
    begins = [reference] if plan.free > 0.0 else []
    if plan.before is not None:
        begins = [plan.before, reference.at(reference.time + plan.ramp)]
    if plan.stop_time <= 0.0:
        stops = [after]
    else:
        slowing = after.accelerated(-after.twist / plan.stop_time)
        count = max(1, math.ceil(plan.stop_time / LONGEST - 1e-9))
        stops = [slowing.at(after.time + plan.stop_time * k / count) for k in range(count + 1)]
    places = [*begins, *stops]
    ends = [one.acceleration for one in places[:-1]]
    if plan.before is not None:
        ends[0] = reference.acceleration
    return _through(places, ends)


def _coordinates(places: Array, twists: Array, accelerations: Array) -> Array:
    """(K, 3, 6) places, their rates and second derivatives."""
    rates, second = angle_motion(places[:, 3:], twists[:, 3:], accelerations[:, 3:])
    return np.stack(
        [places, np.hstack([twists[:, :3], rates]), np.hstack([accelerations[:, :3], second])], axis=1
    )
