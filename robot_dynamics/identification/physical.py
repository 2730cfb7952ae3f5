"""The physically possible parameters that fit the data and stay near the description.

Minimised is half the weighted square of the residuals plus λ times the log-det divergence of every link's
pseudo-inertia from that of the description (Lee, Wensing, Park, "Geometric robot dynamic identification",
IEEE T-RO 36 (2020) 348-365), which keeps the scale of what the data do not tell and makes every P ≻ 0. λ is
the one under which the data are most probable (MacKay, "Bayesian interpolation", Neural Computation 4 (1992)
415-447): it says how far the description is off, by what the data tell well. Each centre of
mass stays in its link's box, and each link's second moments are those of some mass inside the ellipsoid about
that box, tr(P·Q) ≥ 0 (Wensing, Kim, Slotine, see `robot_dynamics.identification.inertial`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError, quoted
from robot_dynamics.extras import lacking
from robot_dynamics.identification.inertial import COUNT, possible_pseudo_inertia, pseudo_basis
from robot_dynamics.identification.least_squares import Equations
from robot_dynamics.identification.link_boxes import LinkBox
from robot_dynamics.spatial import Array

WEIGHTS = np.logspace(-3.0, 4.0, 15)
"""The λ among which one is chosen."""
SHARPEST = 1e4
"""Greatest information of the programme in units of the prior; sharper data would spoil its scaling."""
POSSIBLE = 1e-7
"""Least eigenvalue of a link's pseudo-inertia in units of the description's."""
MOST_REPAIR = 1e-3
"""Greatest share of the way to the description by which a solver's solution is made possible."""
_INSIDE = 1e-6


@dataclass(frozen=True)
class DriveInertias:
    """The possible parameters that are no link's, the last of all columns: given + matrix · z, z ≥ lower.

    Attributes:
        given: (d,) values of what is known, zero elsewhere.
        matrix: (d, g).
        lower: (g,) may be infinite.
        spread: (g,) standard deviation of each z without any data; infinite where any size is as likely.
    """

    given: Array
    matrix: Array
    lower: Array
    spread: Array

    @property
    def free(self) -> NDArray[np.bool_]:
        """(d,) what is not known."""
        return np.asarray(self.matrix.any(axis=1), dtype=bool)


@dataclass(frozen=True)
class Estimate:
    """Physically possible parameters.

    Attributes:
        parameters: (10 k + d,).
        prior_weight: the λ of the prior.
        inaccurate: the solvers' own words where none reached its tolerance; empty where one did.
    """

    parameters: Array
    prior_weight: float
    inaccurate: str = ""


def physical_estimate(
    equations: Equations,
    links: Array,
    boxes: Sequence[LinkBox],
    drives: DriveInertias,
    weight: float | None = None,
    typical_mass: float | None = None,
) -> Estimate:
    """The estimate for the prior ``links`` (k, 10).

    Args:
        equations: whitened, in the parameters of the links and then of the drives.
        links: inertial parameters of the description.
        boxes: of the links' centres of mass.
        drives: the possible values of the others.
        weight: λ; None: that under which the data are most probable.
        typical_mass: of a link [kg]; None: the mean of ``links``.

    Raises:
        RobotDynamicsError: cvxpy or Clarabel is missing, or no solver finds physically possible parameters.
    """
    if not len(links):
        nothing = np.concatenate([np.zeros(0), np.zeros(len(drives.given))])
        return Estimate(_refitted_drives(equations, nothing, drives), weight or 0.0)
    typical = (float(np.mean(links[:, 0])) if typical_mass is None else typical_mass) or 1.0
    priors = [possible_pseudo_inertia(link, typical) for link in links]
    program = _Program(equations, priors, boxes, drives)
    solution = program.solve(weight) if weight is not None else program.likeliest()
    refitted = _refitted_drives(equations, solution.parameters, drives)
    return Estimate(refitted, solution.weight, solution.inaccurate)


@dataclass(frozen=True)
class _Solution:
    """A solution, with its sum of squares and the divergence of all links from the description."""

    weight: float
    cost: float
    divergence: float
    parameters: Array
    inaccurate: str


class _Program:
    """The programme in whitened unknowns X with P = L X Lᵀ, where the description has P = L Lᵀ and X = 1."""

    def __init__(
        self, equations: Equations, priors: list[Array], boxes: Sequence[LinkBox], drives: DriveInertias
    ) -> None:
        try:
            import cvxpy as untyped_cvxpy
        except ImportError as error:
            raise RobotDynamicsError(lacking("identification needs", "cvxpy", "clarabel")) from error
        cvxpy: Any = untyped_cvxpy
        self._cvxpy, self._known = cvxpy, drives
        split = COUNT * len(priors)
        self._transform = np.zeros((split, split))
        for index, prior in enumerate(priors):
            own = slice(COUNT * index, COUNT * (index + 1))
            lower = np.linalg.cholesky(prior)
            moved = np.array([lower @ unit @ lower.T for unit in _SYMMETRIC])
            columns, *_ = np.linalg.lstsq(
                pseudo_basis().reshape(COUNT, 16).T, moved.reshape(COUNT, 16).T, rcond=None
            )
            self._transform[own, own] = columns
        matrix = np.column_stack(
            [equations.matrix[:, :split] @ self._transform, equations.matrix[:, split:] @ drives.matrix]
        )
        right = equations.right - equations.matrix[:, split:] @ drives.given
        costly = np.flatnonzero(np.isfinite(drives.spread))
        likely = np.zeros((len(costly), matrix.shape[1]))
        likely[np.arange(len(costly)), split + costly] = 1.0 / drives.spread[costly]
        matrix, right = np.vstack([matrix, likely]), np.concatenate([right, np.zeros(len(costly))])
        # The unknowns of the drives are scaled to columns as long as the longest of the links.
        longest = np.linalg.norm(matrix[:, :split], axis=0).max(initial=1.0)
        length = np.linalg.norm(matrix[:, split:], axis=0)
        self._scale = np.where(length > 0.0, longest / np.maximum(length, 1e-300), 1.0)
        matrix[:, split:] *= self._scale
        left, singular, across = np.linalg.svd(matrix, full_matrices=False)
        blunt = np.minimum(singular, SHARPEST)
        self._matrix = blunt[:, None] * across
        self._right = blunt / np.maximum(singular, 1e-300) * (left.T @ right)
        self._unknowns = cvxpy.Variable(matrix.shape[1])
        self._weight = cvxpy.Parameter(nonneg=True)
        bodies, others = self._unknowns[:split], self._unknowns[split:]
        divergence: Any = 0.0
        constraints: list[Any] = []
        for index, box in enumerate(boxes):
            own = slice(COUNT * index, COUNT * (index + 1))
            whitened = cvxpy.reshape(_SYMMETRIC.reshape(COUNT, 16).T @ bodies[own], (4, 4), order="C")
            divergence = divergence + cvxpy.trace(whitened) - cvxpy.log_det(whitened)
            rows = box.rows(priors[index]) @ self._transform[own, own]
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            constraints.append(rows @ bodies[own] >= _INSIDE)
        bounded = np.flatnonzero(np.isfinite(drives.lower))
        if len(bounded):
            constraints.append(others[bounded] >= drives.lower[bounded] / self._scale[bounded])
        residual = self._matrix @ self._unknowns - self._right
        objective = cvxpy.sum_squares(residual) / 2.0 + self._weight * divergence
        self._problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
        self._count = len(priors)

    def solve(self, weight: float) -> _Solution:
        """The solution of the first solver that reaches its tolerance, else of one that does not.

        Raises:
            RobotDynamicsError: no solver finds a solution in which every link is physically possible.
        """
        self._weight.value = weight
        best: _Solution | None = None
        reasons = []
        for solver, settings in self._solvers():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # what cvxpy warns of is in the status
                    self._problem.solve(solver=solver, **settings)
            except Exception as error:  # the solvers raise their own classes
                reasons.append(f"{solver}: {quoted(str(error), 120)}")
                continue
            status = str(self._problem.status)
            found = self._found(weight, "" if status == self._cvxpy.OPTIMAL else f"{solver}: {status}")
            if found is None:
                reasons.append(f"{solver}: {status}")
            elif not found.inaccurate:
                return found
            elif best is None or found.cost < best.cost:
                best = found
        if best is None:
            raise RobotDynamicsError(
                f"no physically possible parameters were found ({'; '.join(reasons)}): is this the"
                " robot's description, and are the efforts in N·m or N?"
            )
        return best

    def _solvers(self) -> list[tuple[str, dict[str, Any]]]:
        installed = set(self._cvxpy.installed_solvers())
        tried: list[tuple[str, dict[str, Any]]] = [
            ("CLARABEL", {}),
            ("CLARABEL", {"equilibrate_enable": False, "max_iter": 400}),
            ("SCS", {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iters": 5000}),
        ]
        return [(solver, settings) for solver, settings in tried if solver in installed]

    def _found(self, weight: float, inaccurate: str) -> _Solution | None:
        """The solver's unknowns as parameters; None where a link is not physically possible."""
        if self._unknowns.value is None:
            return None
        unknowns = np.array(self._unknowns.value, dtype=float)
        split = COUNT * self._count
        lower = self._known.lower / self._scale
        unknowns[split:] = np.maximum(unknowns[split:], lower)
        bodies = unknowns[:split].reshape(self._count, COUNT)
        if not np.isfinite(unknowns).all():
            return None
        least = np.linalg.eigvalsh(np.einsum("ka,aij->kij", bodies, _SYMMETRIC)).min()
        if least < POSSIBLE:
            # On the way to the description, whose X is 1, all constraints hold.
            share = (POSSIBLE - least) / (1.0 - least)
            if share > MOST_REPAIR:
                return None
            unknowns[:split] += share * (np.tile(_ONE, self._count) - unknowns[:split])
        cost = float(np.sum((self._matrix @ unknowns - self._right) ** 2))
        others = self._known.given + self._known.matrix @ (self._scale * unknowns[split:])
        whitened = np.einsum("ka,aij->kij", unknowns[:split].reshape(self._count, COUNT), _SYMMETRIC)
        logarithms = np.linalg.slogdet(whitened)[1]
        divergence = float(np.sum(np.trace(whitened, axis1=1, axis2=2) - logarithms - 4.0))
        parameters = np.concatenate([self._transform @ unknowns[:split], others])
        return _Solution(weight, cost, divergence, parameters, inaccurate)

    def likeliest(self) -> _Solution:
        """The solution of the weight under which the data are most probable."""
        tried: dict[int, _Solution | None] = {}

        def value(index: int) -> float:
            if index not in tried:
                try:
                    tried[index] = self.solve(float(WEIGHTS[index]))
                except RobotDynamicsError:
                    tried[index] = None
            found = tried[index]
            return np.inf if found is None else self._surprise(found)

        index, step = len(WEIGHTS) // 2, 4
        while step:
            near = [k for k in (index - step, index, index + step) if 0 <= k < len(WEIGHTS)]
            best = min(near, key=value)
            step = step if best != index else step // 2
            index = best
        found = tried[index]
        return self.solve(float(WEIGHTS[index])) if found is None else found

    def _surprise(self, found: _Solution) -> float:
        """Minus the logarithm of the probability of the data under a weight, by Laplace's approximation.

        The divergence is the prior's energy. About the description its second derivative is 1 in the whitened
        unknowns of the links, which the prior therefore scatters by λ^(−1/2).
        """
        split = COUNT * self._count
        curvature = self._matrix.T @ self._matrix
        curvature[np.diag_indices(split)] += found.weight
        curvature[np.diag_indices(len(curvature))] += 1e-12 * np.trace(curvature) / len(curvature)
        spread = float(np.linalg.slogdet(curvature)[1]) - split * float(np.log(found.weight))
        return 0.5 * found.cost + found.weight * found.divergence + 0.5 * spread


def _refitted_drives(equations: Equations, parameters: Array, drives: DriveInertias) -> Array:
    """The drives' parameters by bounded least squares beside the links that were found."""
    from scipy.optimize import lsq_linear

    split = len(parameters) - len(drives.given)
    result: Array = parameters.copy()
    result[split:] = drives.given
    if len(drives.lower):
        right = equations.right - equations.matrix @ result
        bounds = (drives.lower, np.full(len(drives.lower), np.inf))
        # What is as likely at any size has no row of its own.
        units = np.where(np.isfinite(drives.spread), 1.0 / drives.spread, 0.0)
        matrix = np.vstack([equations.matrix[:, split:] @ drives.matrix, np.diag(units)[units > 0.0]])
        right = np.concatenate([right, np.zeros(len(matrix) - len(right))])
        found = lsq_linear(matrix, right, bounds, method="bvls")
        result[split:] += drives.matrix @ np.asarray(found.x)
    return result


def _symmetric() -> Array:
    """(10, 4, 4) orthonormal basis of the symmetric matrices."""
    units = []
    for i in range(4):
        for j in range(i, 4):
            unit = np.zeros((4, 4))
            unit[i, j] = unit[j, i] = 1.0 if i == j else np.sqrt(0.5)
            units.append(unit)
    return np.array(units)


_SYMMETRIC = _symmetric()
_ONE = np.einsum("aii->a", _SYMMETRIC)
