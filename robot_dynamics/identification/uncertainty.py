"""Certainty from the data: standard deviations without the prior, and the efforts of other motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import RegroupedBase
from robot_dynamics.identification.friction import DRIVE_COLUMNS, FrictionLaw
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.identification.regressor import regressor
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

STATES = 400
"""Random states for which the error of the efforts is estimated."""
SPEED, ACCELERATION = 0.5, 4.0
"""Greatest speed of these, as a share of the limit, and acceleration [rad/s² or m/s²]."""
_REACH, _FASTEST = 2.5, 3.0
_DETERMINED = 1e-6


@dataclass(frozen=True)
class Knowledge:
    """Base parameters by least squares.

    Attributes:
        base: the combinations.
        values: (b,) by least squares.
        covariance: (b, b) by the data alone.
    """

    base: RegroupedBase
    values: Array
    covariance: Array

    @property
    def deviations(self) -> Array:
        """(b,) standard deviations of the base parameters."""
        return np.sqrt(np.maximum(0.0, np.diag(self.covariance)))

    def deviation(self, combination: Array) -> float | None:
        """Standard deviation of combination (p,) · parameters; None where no motion determines it."""
        grouping = self.base.grouping
        shares = combination[list(self.base.columns)]  # the grouping is the identity there
        rest = combination - shares @ grouping
        size = np.abs(combination) + np.abs(shares) @ np.abs(grouping)
        if np.any(np.abs(rest) > _DETERMINED * np.maximum(size, size.max(initial=0.0) * _DETERMINED)):
            return None
        return float(np.sqrt(np.maximum(0.0, shares @ self.covariance @ shares)))


def posterior_covariance(equations: Equations, parameters: Array, sizes: Array, links: int) -> Array:
    """(p, p) covariance of all parameters by data and description together.

    The description's links count as uncertain by their own size, which is the unit of the log-det divergence.

    Args:
        equations: whitened.
        parameters: (p,) that were found.
        sizes: (p − 10 k,) of the drives' parameters, beyond which they cannot be.
        links: number ``k`` of the links.
    """
    count = inertial.COUNT
    information: Array = equations.matrix.T @ equations.matrix
    for index, hessian in enumerate(
        inertial.divergence_hessians(parameters[: count * links].reshape(-1, count))
    ):
        own = slice(count * index, count * (index + 1))
        information[own, own] += hessian
    others = np.arange(count * links, len(parameters))
    information[others, others] += 1.0 / sizes**2
    scale = 1.0 / np.sqrt(np.diag(information))
    covariance = np.linalg.inv(information * np.outer(scale, scale)) * np.outer(scale, scale)
    if equations.doubt.size:
        moved = covariance @ (equations.matrix.T @ equations.doubt)
        covariance = covariance + moved @ moved.T
    return np.asarray(covariance)


def workspace_regressor(
    chain: KinematicChain,
    law: FrictionLaw,
    gravity: tuple[float, float, float],
    bodies: Array,
    slowest: float = 1.0,
) -> Array:
    """(STATES, n, p) columns at random states of the workspace; those of the sensors' offsets are zero.

    Args:
        chain: with the limits of the joints.
        law: of the friction.
        gravity: (3,) in the root frame [m/s²].
        bodies: (10 k,) parameters of the links that load the gears.
        slowest: least speed of a state as a share of the greatest ones; 1: speeds are spread evenly.
    """
    draw = np.random.default_rng(0)
    limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
    lower = np.array([max(limit.lower, -_REACH) for limit in limits])
    upper = np.array([min(limit.upper, _REACH) for limit in limits])
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    fastest = SPEED * np.array([min(limit.velocity, _FASTEST) for limit in limits])
    q, qd, qdd = draw.uniform(-1.0, 1.0, (3, STATES, chain.dof))
    q = 0.5 * (lower + upper) + 0.5 * (upper - lower) * q
    qd *= slowest ** draw.uniform(0.0, 1.0, (STATES, 1))
    matrix = regressor(chain, q, fastest * qd, ACCELERATION * qdd, gravity, law, bodies)
    offsets = matrix.shape[2] - chain.dof * (len(DRIVE_COLUMNS) - DRIVE_COLUMNS.index("torque_offset"))
    matrix[:, :, offsets : offsets + chain.dof] = 0.0  # never commanded
    return matrix


def workspace_squares(states: Array, parameters: Array) -> Array:
    """(p, p) squared efforts at ``states`` (N, n, p), each joint in units of its own effort."""
    effort = np.sum((states @ parameters) ** 2, axis=0)
    rows = (states / np.sqrt(np.maximum(effort, 1e-300))[:, None]).reshape(-1, states.shape[2])
    return np.asarray(rows.T @ rows)


@dataclass(frozen=True)
class Expected:
    """Expected relative errors of the efforts over the workspace, one standard deviation.

    Attributes:
        whole: of all joints together.
        joints: of each.
    """

    whole: float
    joints: tuple[float, ...]


def expected_errors(states: Array, parameters: Array, squares: Array) -> Expected:
    """The expected errors at ``states`` (N, n, p).

    Args:
        states: columns.
        parameters: (p,) that were found.
        squares: (p, p) expected products of the errors of the parameters.
    """
    variance = np.einsum("nij,jk,nik->i", states, squares, states, optimize=True)
    effort = np.sum((states @ parameters) ** 2, axis=0)
    each = np.sqrt(variance / np.maximum(effort, 1e-300))
    whole = float(np.sqrt(variance.sum() / max(effort.sum(), 1e-300)))
    return Expected(whole, tuple(float(value) for value in each))
