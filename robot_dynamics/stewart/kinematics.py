"""Kinematics of the Stewart platform, for single poses or batches (leading axes are kept).

Equation numbers are those of Dasgupta and Mruthyunjaya 1998. The rows of the Jacobian are the lines of force
of the legs: leg rates = ``jacobian @ (velocity of the platform's origin, angular velocity)``, and the
platform feels the wrench ``jacobian.T @ forces`` of pushing massless legs. The paper's H is its transpose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import SingularityError, StateError, quoted
from robot_dynamics.inputs.arrays import real_array
from robot_dynamics.inputs.records import check_arrays
from robot_dynamics.spatial import Array, cross, rotation_about
from robot_dynamics.stewart.machine import LEG_COUNT, Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation

# A Newton step that moves the platform by more than this multiple of the error in length is a singularity's.
LONGEST_STEP = 1e8


@dataclass(frozen=True)
class LegGeometry:
    """The legs at given poses; every array has leading batch axes and then the six legs.

    Attributes:
        arms: (..., 6, 3) from the platform's origin to the platform points, q, base frame [m].
        vectors: (..., 6, 3) from base points to platform points, S, base frame [m] (eq. 1).
        lengths: (..., 6) [m] (eq. 2).
        directions: (..., 6, 3) unit vectors along the legs, s, base frame (eq. 3).
    """

    arms: Array
    vectors: Array
    lengths: Array
    directions: Array

    def __post_init__(self) -> None:
        check_arrays(self, "arms", "vectors", "lengths", "directions")

    @property
    def jacobian(self) -> Array:
        """(..., 6, 6) from platform velocity (linear, angular; base frame) to leg rates."""
        return np.concatenate([self.directions, cross(self.arms, self.directions)], axis=-1)


def leg_geometry(machine: Machine, position: Array, rotation: Array) -> LegGeometry:
    """The legs when the platform's origin is at ``position`` (..., 3) [m], turned by ``rotation``.

    Raises:
        StateError: a platform point lies on its base point, or farther away than doubles reach.
    """
    arms = machine.platform_points @ np.swapaxes(rotation, -1, -2)
    vectors = arms + position[..., None, :] - machine.base_points
    with np.errstate(over="ignore"):
        lengths = np.sqrt((vectors * vectors).sum(axis=-1))
    if not lengths.max(initial=0.0) < np.inf:
        raise StateError("the legs' lengths are not finite: the position is too far away")
    if not lengths.min(initial=np.inf) > 1e-9:
        leg = int(lengths.reshape(-1, LEG_COUNT).min(axis=0).argmin())
        raise StateError(f"{machine.leg_names[leg]} has length 0: its platform point lies on its base point")
    return LegGeometry(arms, vectors, lengths, vectors / lengths[..., None])


def condition_number(jacobian: Array, characteristic_length: float = 1.0) -> Array:
    """(...) ratio of the greatest to the least singular value, moments divided by a length [m]."""
    scale = np.array([1.0] * 3 + [1.0 / characteristic_length] * 3)
    singular = np.linalg.svd(jacobian * scale, compute_uv=False)
    with np.errstate(divide="ignore"):
        return np.asarray(singular[..., 0] / singular[..., -1])


@dataclass(frozen=True)
class PoseEstimate:
    """Result of forward kinematics.

    Attributes:
        position: (3,) of the platform's origin, base frame [m].
        rotation: (3, 3) from the platform frame to the base frame.
        converged: whether the leg lengths were met within the tolerance.
        iterations: Newton steps taken.
        residual: greatest remaining error of a leg length [m].
    """

    position: Array
    rotation: Array
    converged: bool
    iterations: int
    residual: float

    def __post_init__(self) -> None:
        check_arrays(self, "position", "rotation")

    @property
    def orientation(self) -> Array:
        """(4,) quaternion x, y, z, w."""
        return quaternion_from_rotation(self.rotation)


def forward_kinematics(
    machine: Machine,
    lengths: ArrayLike,
    start_position: Array,
    start_rotation: Array,
    tolerance: float = 1e-10,
    max_iterations: int = 30,
) -> PoseEstimate:
    """The pose near the start that has the given leg lengths, by damped Newton steps.

    A Stewart platform has up to 40 poses with the same leg lengths; the one in whose basin the start lies is
    found. A step that would increase the error is halved.

    Args:
        machine: the platform.
        lengths: (6,) [m].
        start_position: (3,) [m], where the search begins.
        start_rotation: (3, 3), where the search begins.
        tolerance: on every leg length [m].
        max_iterations: Newton steps at most.

    Raises:
        StateError: lengths of a wrong shape, not finite or not positive.
        SingularityError: the search ran into a singular pose.
    """
    wanted = real_array("lengths", lengths)
    if wanted.shape != (LEG_COUNT,) or not np.isfinite(wanted).all() or (wanted <= 0.0).any():
        raise StateError(f"lengths is {quoted(wanted.tolist())}; give six positive leg lengths [m]")
    position, rotation = start_position, start_rotation
    if rotation.shape != (3, 3):
        raise StateError(f"start_orientation holds a batch {rotation.shape[:-2]}; give one orientation")
    legs = leg_geometry(machine, position, rotation)
    error = wanted - legs.lengths
    iterations = 0
    while np.abs(error).max() > tolerance and iterations < max_iterations:
        step = _newton_step(legs, error)
        fraction = 1.0
        while True:
            trial_position = position + fraction * step[:3]
            trial_rotation = _rotation(fraction * step[3:]) @ rotation
            trial = leg_geometry(machine, trial_position, trial_rotation)
            trial_error = wanted - trial.lengths
            better = trial_error @ trial_error < error @ error
            if better or fraction < 1e-3:
                break
            fraction *= 0.5
        iterations += 1
        if not better:
            break
        position, rotation, legs, error = trial_position, trial_rotation, trial, trial_error
    residual = float(np.abs(error).max())
    return PoseEstimate(position, rotation, residual <= tolerance, iterations, residual)


def _newton_step(legs: LegGeometry, error: Array) -> Array:
    """Twist (6,) that would mend the leg lengths if they were linear.

    Raises:
        SingularityError: there is none of a sensible size.
    """
    try:
        step = np.linalg.solve(legs.jacobian, error)
    except np.linalg.LinAlgError:
        step = np.full(6, np.inf)
    if not np.abs(step).max() < LONGEST_STEP * float(np.abs(error).max()):
        raise SingularityError("forward kinematics ran into a singular pose; start nearer to the solution")
    return np.asarray(step)


def _rotation(vector: Array) -> Array:
    """(3, 3) rotation about a vector (3,) by its length."""
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # of lengths that no machine has; refused by the search
        angle = float(np.sqrt(vector @ vector))
        return np.eye(3) if angle < 1e-300 else rotation_about(vector / angle, angle)
