"""The physically possible parameters that fit the data and stay near the description.

Minimised is half the weighted square of the residuals plus λ times the log-det divergence of every link's
pseudo-inertia from that of the description (Lee, Wensing, Park, "Geometric robot dynamic identification",
IEEE T-RO 36 (2020) 348-365), which keeps the scale of what the data do not tell and makes every P ≻ 0. λ is
the largest that worsens the fit by no more than the scatter that base parameters have anyway.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.identification.inertial import COUNT, pseudo_basis, pseudo_inertia
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.spatial import Array

WEIGHTS = np.logspace(-3.0, 4.0, 15)
"""The λ among which one is chosen."""
_LEAST_SHARE = 1e-4
_LEAST_RADIUS = 0.05


@dataclass(frozen=True)
class Drives:
    """The possible parameters that are no link's, the last of all columns: given + matrix · z, z ≥ lower.

    Attributes:
        given: (d,) values of what is known, zero elsewhere.
        matrix: (d, g).
        lower: (g,) may be infinite.
    """

    given: Array
    matrix: Array
    lower: Array

    @property
    def free(self) -> NDArray[np.bool_]:
        """(d,) what is not known."""
        return np.asarray(self.matrix.any(axis=1), dtype=bool)


@dataclass(frozen=True)
class Estimate:
    """Parameters and how well they are known.

    Attributes:
        parameters: (10 k + d,).
        covariance: (10 k + d, 10 k + d).
        prior_weight: the λ of the prior.
        inaccurate: the solver's own words where it did not reach its tolerance; empty where it did.
    """

    parameters: Array
    covariance: Array
    prior_weight: float
    inaccurate: str = ""


def prior_pseudo_inertia(parameters: Array, typical_mass: float) -> Array:
    """(4, 4) pseudo-inertia of a link of the description, made positive definite where it is not."""
    matrix = pseudo_inertia(parameters)
    radius = _LEAST_RADIUS**2
    least = _LEAST_SHARE * typical_mass * np.diag([radius, radius, radius, 1.0])
    whiten = np.diag(1.0 / np.sqrt(np.diag(least)))
    smallest = np.linalg.eigvalsh(whiten @ matrix @ whiten)[0]
    return np.asarray(matrix if smallest >= 1.0 else matrix + (1.0 - smallest) * least)


def physical_estimate(
    equations: Equations, links: Array, drives: Drives, allowance: float, weight: float | None = None
) -> Estimate:
    """The estimate for the prior ``links`` (k, 10).

    Args:
        equations: whitened, in the parameters of the links and then of the drives.
        links: inertial parameters of the description.
        drives: the possible values of the others.
        allowance: by how much the sum of squares may exceed the least one.
        weight: λ; None chooses it.

    Raises:
        RobotDynamicsError: cvxpy or Clarabel is missing, or finds no solution.
    """
    typical = float(np.mean(links[:, 0])) or 1.0
    priors = [prior_pseudo_inertia(link, typical) for link in links]
    program = _Program(equations, priors, drives)
    if weight is None:
        weight, parameters = program.strongest_prior(allowance)
    else:
        parameters = program.solve(weight)
    refitted = _refitted_drives(equations, parameters, drives)
    covariance = _covariance(equations, refitted, len(priors), drives, weight)
    return Estimate(refitted, covariance, weight, program.inaccurate(weight))


class _Program:
    def __init__(self, equations: Equations, priors: list[Array], drives: Drives) -> None:
        try:
            import cvxpy as untyped_cvxpy
        except ImportError as error:
            raise RobotDynamicsError(lacking("identification needs", "cvxpy", "clarabel")) from error
        cvxpy: Any = untyped_cvxpy
        self._equations, self._cvxpy, self._known = equations, cvxpy, drives
        self._bodies = cvxpy.Variable(COUNT * len(priors))
        self._drives = cvxpy.Variable(len(drives.lower))
        self._weight = cvxpy.Parameter(nonneg=True)
        self._inaccurate: dict[float, str] = {}
        split = COUNT * len(priors)
        residual = (
            equations.matrix[:, :split] @ self._bodies
            + equations.matrix[:, split:] @ drives.matrix @ self._drives
            - (equations.right - equations.matrix[:, split:] @ drives.given)
        )
        constraints: list[Any] = []
        divergence: Any = 0.0
        for index, prior in enumerate(priors):
            whiten = np.linalg.inv(np.linalg.cholesky(prior))
            basis = np.array([whiten @ matrix @ whiten.T for matrix in pseudo_basis()])
            matrix = cvxpy.Variable((4, 4), PSD=True)
            own = self._bodies[COUNT * index : COUNT * (index + 1)]
            constraints.append(cvxpy.vec(matrix, order="C") == basis.reshape(COUNT, 16).T @ own)
            divergence = divergence + cvxpy.trace(matrix) - cvxpy.log_det(matrix)
        bounded = np.flatnonzero(np.isfinite(drives.lower))
        if len(bounded):
            constraints.append(self._drives[bounded] >= drives.lower[bounded])
        objective = cvxpy.sum_squares(residual) / 2.0 + self._weight * divergence
        self._problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)

    def solve(self, weight: float) -> Array:
        self._weight.value = weight
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what cvxpy warns of is in the status
                self._problem.solve(solver=self._cvxpy.CLARABEL)
        except self._cvxpy.error.SolverError as error:
            raise RobotDynamicsError(f"the semidefinite programme has no solution: {error}") from error
        if self._bodies.value is None:
            raise RobotDynamicsError(f"the semidefinite programme is {self._problem.status}")
        reached = self._problem.status == self._cvxpy.OPTIMAL
        self._inaccurate[weight] = "" if reached else str(self._problem.status)
        bodies = np.asarray(self._bodies.value, dtype=float)
        if not len(self._known.lower):
            return np.concatenate([bodies, self._known.given])
        z = np.maximum(np.asarray(self._drives.value, dtype=float), self._known.lower)
        return np.concatenate([bodies, self._known.given + self._known.matrix @ z])

    def inaccurate(self, weight: float) -> str:
        """The solver's status at a weight that was solved for; empty where it reached its tolerance."""
        return self._inaccurate[weight]

    def strongest_prior(self, allowance: float) -> tuple[float, Array]:
        """The largest weight that costs at most ``allowance``, and its solution; the cost grows with it."""
        best, parameters = 0, self.solve(float(WEIGHTS[0]))
        limit = self._equations.cost(parameters) + allowance
        above = len(WEIGHTS)
        while above - best > 1:
            middle = (above + best) // 2
            tried = self.solve(float(WEIGHTS[middle]))
            if self._equations.cost(tried) <= limit:
                best, parameters = middle, tried
            else:
                above = middle
        return float(WEIGHTS[best]), parameters


def _refitted_drives(equations: Equations, parameters: Array, drives: Drives) -> Array:
    """The drives' parameters by bounded least squares beside the links that were found."""
    from scipy.optimize import lsq_linear

    split = len(parameters) - len(drives.given)
    result: Array = parameters.copy()
    result[split:] = drives.given
    if len(drives.lower):
        right = equations.right - equations.matrix @ result
        bounds = (drives.lower, np.full(len(drives.lower), np.inf))
        found = lsq_linear(equations.matrix[:, split:] @ drives.matrix, right, bounds, method="bvls")
        result[split:] += drives.matrix @ np.asarray(found.x)
    return result


def _covariance(equations: Equations, parameters: Array, links: int, drives: Drives, weight: float) -> Array:
    """Inverse of the Hessian of what was minimised, zero for what was held."""
    hessian: Array = equations.matrix.T @ equations.matrix
    for index in range(links):
        own = slice(COUNT * index, COUNT * (index + 1))
        hessian[own, own] += weight * divergence_hessian(parameters[own])
    free = np.concatenate([np.ones(COUNT * links, dtype=bool), drives.free])
    covariance: Array = np.zeros_like(hessian)
    chosen = np.ix_(free, free)
    covariance[chosen] = np.linalg.pinv(hessian[chosen], hermitian=True)
    return covariance


def divergence_hessian(parameters: Array) -> Array:
    """(10, 10) second derivative of −log det P at the inertial parameters (10,)."""
    inverse = np.linalg.inv(pseudo_inertia(parameters))
    basis = pseudo_basis()
    return np.asarray(np.einsum("ij,ajk,kl,bli->ab", inverse, basis, inverse, basis, optimize=True))
