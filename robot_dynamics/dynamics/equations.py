"""The equations of motion in their textbook forms, for one state, with the robot's parameters in sight.

All take a ``SerialModel``. ``mass_matrix``, ``forward_dynamics`` and ``tip_jacobian`` take scalars of any
kind, as the formulations do. For control loops and batches there is ``compile_dynamics``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.base_parameters import BaseParameters, base_parameters, standard_parameters
from robot_dynamics.dynamics.composite_body import mass_matrix
from robot_dynamics.dynamics.formulations import common
from robot_dynamics.dynamics.forward_dynamics import articulated_body, forward_dynamics
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.scalar import FLOATS, Matrix, Scalar, ScalarField, Vector
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.dynamics.spatial_chain import (
    SpatialChain,
    coordinate_map,
    joint_rates,
    motion_cross,
    spatial_chain,
    velocities,
)
from robot_dynamics.dynamics.strobing import (
    coriolis_forces,
    gravity_forces,
    strobed_coriolis_matrices,
    strobed_mass_matrix,
)
from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.inputs.arrays import joint_vector, real_number
from robot_dynamics.inputs.records import check_arrays
from robot_dynamics.spatial import Array, skew

__all__ = [
    "ArmMotion",
    "BaseParameters",
    "Motion",
    "articulated_body",
    "base_parameters",
    "christoffel_symbols",
    "coriolis_forces",
    "coriolis_matrix",
    "forward_dynamics",
    "gravity_forces",
    "kinetic_energy",
    "mass_matrix",
    "potential_energy",
    "root_jacobian",
    "simulate",
    "standard_parameters",
    "strobed_coriolis_matrices",
    "strobed_mass_matrix",
    "tip_jacobian",
]

MOST_STEPS = 10_000_000
"""Of one simulation; their states are kept."""
Effort = Callable[[float, Array, Array], Array]


@gate
def tip_jacobian(model: SerialModel, q: Sequence[Scalar] | Vector, scalars: ScalarField = FLOATS) -> Matrix:
    """J (6, n) with [linear; angular] velocity of the tip = J qd, in the tip frame.

    Rows are ordered like a wrench [force, torque], so J^T wrench are the efforts that it takes.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
        scalars: the kind of scalars of the coordinates.
    """
    rest = [0.0] * model.dof
    motions = common.joint_motions(model.links, q, rest, rest, scalars)
    rotation: Matrix = scalars.parameters(model.tip[:3, :3])  # pose of the tip in frame i
    position: Vector = scalars.parameters(model.tip[:3, 3])
    columns: list[list[Scalar]] = [[0.0] * 6 for _ in range(model.dof)]
    for link, motion in zip(reversed(model.links), reversed(motions), strict=True):
        along = rotation[2]  # z_i in the tip frame
        if link.revolute:
            lever = np.array([-position[1], position[0], 0.0])  # z x p
            twist = [*(rotation.T @ lever), *along]
        else:
            twist = [*along, 0.0, 0.0, 0.0]
        column = columns[link.coordinate]
        columns[link.coordinate] = [c + t * link.multiplier for c, t in zip(column, twist, strict=True)]
        step = common.modified_rotation(link, motion, scalars)
        position = step @ position + common.modified_displacement(link, motion, scalars)
        rotation = step @ rotation
    matrix: Matrix = np.array(columns).T
    return matrix


@gate
def root_jacobian(model: SerialModel, q: Sequence[float] | Vector) -> Matrix:
    """J (6, n) with [linear; angular] velocity of the tip = J qd, in the axes of the root frame.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
    """
    rotation = model.forward_kinematics(q)[:3, :3]
    jacobian = tip_jacobian(model, np.asarray(q, dtype=float))
    return np.vstack([rotation @ jacobian[:3], rotation @ jacobian[3:]])


@gate
def coriolis_matrix(model: SerialModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """C (n, n) with C qd the Coriolis and centrifugal forces and dM/dt - 2 C skew symmetric.

    One composite-body sweep gives the matrix of the Christoffel symbols of the first kind, without strobing:
    Echeandia & Wensing, "Numerical methods to compute the Coriolis matrix and Christoffel symbols for
    rigid-body systems", J. Comput. Nonlinear Dyn. 16(9), 2021.

    Args:
        model: the arm.
        q, qd: (n,) coordinates [rad or m] and velocities [rad/s or m/s].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    to_joints = coordinate_map(model)
    matrix = _joint_coriolis(chain, to_joints @ np.asarray(qd, dtype=float))
    return np.asarray(to_joints.T @ matrix @ to_joints)


@gate
def christoffel_symbols(model: SerialModel, q: ArrayLike) -> Array:
    """C^i_jk as an array (n, n, n) of the first kind: force i is sum over j, k of C[i, j, k] qd_j qd_k.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    to_joints = coordinate_map(model)
    slices = [to_joints.T @ _joint_coriolis(chain, to_joints[:, k]) @ to_joints for k in range(model.dof)]
    return np.stack(slices, axis=2)


def _joint_coriolis(chain: SpatialChain, rates: Array) -> Array:
    size = len(rates)
    speed = velocities(chain, rates)
    axis_rates = [motion_cross(v) @ s for v, s in zip(speed, chain.axes, strict=True)]
    matrix = np.zeros((size, size))
    inertia, coupling = np.zeros((6, 6)), np.zeros((6, 6))
    for j in range(size - 1, -1, -1):
        inertia = inertia + chain.inertias[j]
        coupling = coupling + _body_coupling(chain.inertias[j], speed[j])
        s = chain.axes[j]
        f1 = inertia @ axis_rates[j] + coupling @ s
        f2, f3 = inertia @ s, coupling.T @ s
        for i in range(j + 1):
            matrix[i, j] = chain.axes[i] @ f1
            if i < j:
                matrix[j, i] = axis_rates[i] @ f2 + chain.axes[i] @ f3
    return matrix


def _body_coupling(inertia: Array, v: Array) -> Array:
    """B = (v x* I - I v x + (I v) xbar*) / 2, the body's velocity-dependent coupling."""
    across = motion_cross(v)
    momentum = inertia @ v
    swapped = np.zeros((6, 6))  # (I v) xbar*: f xbar* m = m x* f
    swapped[:3, :3] = -skew(momentum[:3])
    swapped[:3, 3:] = -skew(momentum[3:])
    swapped[3:, :3] = -skew(momentum[3:])
    return np.asarray(0.5 * (-across.T @ inertia - inertia @ across + swapped))


@dataclass(frozen=True)
class ArmMotion:
    """Times (N+1,) [s], coordinates and velocities (N+1, n) of a simulated motion."""

    time: Array
    q: Array
    qd: Array

    def __post_init__(self) -> None:
        check_arrays(self, "time", "q", "qd")


Motion = ArmMotion
"""Former name of :class:`ArmMotion`; platforms have a class of that name too."""


def runge_kutta_step(slope: Callable[[float, Array], Array], time: float, y: Array, step: float) -> Array:
    """y after ``step`` [s] of dy/dt = slope(t, y), by the classical four-point method."""
    h1 = step * slope(time, y)
    h2 = step * slope(time + 0.5 * step, y + 0.5 * h1)
    h3 = step * slope(time + 0.5 * step, y + 0.5 * h2)
    h4 = step * slope(time + step, y + h3)
    return np.asarray(y + (h1 + 2.0 * h2 + 2.0 * h3 + h4) / 6.0)


@gate
def simulate(
    model: SerialModel,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    duration: float,
    step: float,
    effort: Effort | None = None,
) -> ArmMotion:
    """Motion from the state ``q``, ``qd`` (n,) under the efforts ``effort(t, q, qd)`` (n,), by default none.

    Runge-Kutta integration of y = (qd, q), with four evaluations of g(y) = (forward dynamics, qd) a step:
    Turney, Mudge, Lee 1980, section 7.

    Args:
        model: the arm.
        q, qd: initial coordinates [rad or m] and velocities.
        duration: simulated time [s]; the number of steps is rounded.
        step: step size [s].
        effort: efforts [N·m or N].

    Raises:
        ParameterError: a step or duration that is not positive, or too many steps.
        StateError: a wrong shape, efforts that are no (n,) finite numbers, or a motion that has left these.
    """
    duration = real_number("duration", duration, ParameterError)
    step = real_number("step", step, ParameterError)
    if not (step > 0.0 and duration >= step):
        raise ParameterError(f"need 0 < step <= duration, not step {step} s and duration {duration} s")
    if duration / step > MOST_STEPS:
        raise ParameterError(
            f"step is {step:g} s: {duration / step:.3g} steps in {duration:g} s; {MOST_STEPS} are possible"
        )
    start = np.array([qd, q], dtype=float)
    solve = articulated_body if len(model.links) == model.dof else forward_dynamics
    idle, names = np.zeros(model.dof), model.coordinate_names

    def slope(time: float, y: Array) -> Array:
        _require_finite(y, time, step)
        tau = idle if effort is None else _checked(effort(time, y[1], y[0]), time, names)
        return np.array([solve(model, y[1], y[0], tau), y[0]])

    steps = round(duration / step)
    states = [start]
    for k in range(steps):
        states.append(runge_kutta_step(slope, k * step, states[-1], step))
    _require_finite(states[-1], steps * step, step)
    history = np.array(states)
    return ArmMotion(np.arange(steps + 1, dtype=float) * step, history[:, 1], history[:, 0])


def _checked(given: Any, time: float, names: Sequence[str]) -> Array:
    """The efforts that the caller's function has given."""
    try:
        return joint_vector("effort", given, names)
    except StateError as reason:
        raise StateError(
            f"the efforts at {time:.4g} s are not finite numbers, one a joint: {reason}"
        ) from None


def _require_finite(y: Array, time: float, step: float) -> None:
    if not np.all(np.isfinite(y)):
        raise StateError(
            f"the motion is not finite at {time:.4g} s; use a step below {step} s, or check the efforts"
        )


@gate
def kinetic_energy(model: SerialModel, q: ArrayLike, qd: ArrayLike) -> float:
    """Kinetic energy [J], summed link by link.

    Args:
        model: the arm.
        q, qd: (n,) coordinates [rad or m] and velocities [rad/s or m/s].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    speed = velocities(chain, joint_rates(model, np.asarray(qd, dtype=float)))
    return float(sum(0.5 * v @ inertia @ v for v, inertia in zip(speed, chain.inertias, strict=True)))


@gate
def potential_energy(model: SerialModel, q: ArrayLike) -> float:
    """Potential energy of gravity [J], zero where every center of mass is in frame 0's origin.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    energy = 0.0
    for link, pose in zip(model.links, chain.poses, strict=True):
        energy -= float(model.gravity @ (pose[:3, :3] @ link.first_moment + link.mass * pose[:3, 3]))
    return energy
