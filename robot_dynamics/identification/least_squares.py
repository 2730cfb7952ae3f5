"""Base parameters from the data alone, by weighted least squares that outliers cannot pull far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.identification.base_parameters import RegroupedBase
from robot_dynamics.spatial import Array

OUTLIER = 3.0
"""Residuals beyond so many standard deviations weigh less (Huber)."""
ROUNDS = 8
LEAST_NOISE = 1e-5
"""Least scatter of a joint's equations, as a share of its efforts: what filters and splines leave."""


@dataclass(frozen=True)
class Equations:
    """Whitened equations ``matrix @ parameters = right``: squares of their residuals count 1 each.

    Attributes:
        matrix: (p, p).
        right: (p,).
        rest: sum of squares that no parameters remove.
        doubt: (p, n) change of ``right`` by one standard deviation of each joint's gain.
    """

    matrix: Array
    right: Array
    rest: float
    doubt: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def cost(self, parameters: Array) -> float:
        """Sum of the squares of all residuals."""
        return self.rest + float(np.sum((self.matrix @ parameters - self.right) ** 2))


def robust_equations(
    blocks: list[Array],
    efforts: list[Array],
    base: RegroupedBase,
    counts: list[NDArray[np.bool_]] | None = None,
    nuisance: list[Array] | None = None,
    doubts: list[Array] | None = None,
) -> Equations:
    """Equations of all runs, each joint weighted by what its own residuals say.

    The variance of a joint's residuals is raised by their autocorrelation time, so that standard deviations
    hold for samples that hang together.

    Args:
        blocks: a regressor (N, n, p) a run.
        efforts: (N, n) a run.
        base: the combinations that are to be found.
        counts: (N, n) a run, which equations count; all where None.
        nuisance: (N, n, m) a run, columns whose parameters are eliminated: they are estimated with the
            others, and the deviations of these know it.
        doubts: (N, n) a run, change of the efforts by one standard deviation of the joints' gains.
    """
    regressor, effort = np.concatenate(blocks), np.concatenate(efforts)
    samples, joints, size = regressor.shape
    taken = np.concatenate(counts) if counts else np.ones(effort.shape, dtype=bool)
    extra = np.concatenate(nuisance) if nuisance else np.zeros((samples, joints, 0))
    reduced = np.concatenate([extra, regressor[:, :, list(base.columns)]], axis=2)
    fit = robust_fit(reduced, effort, taken)
    lengths = np.cumsum([len(run) for run in efforts])[:-1]
    weights = fit.weights / np.sqrt(correlation_times(np.split(fit.residual, lengths)))
    doubt = np.zeros((samples, joints, 0))
    if doubts and any(part.any() for part in doubts):
        doubt = np.concatenate(doubts)[:, :, None] * np.eye(joints)
    full = np.concatenate([extra, regressor, effort[:, :, None], doubt], axis=2) * weights[:, :, None]
    triangle: Any = np.linalg.qr(full.reshape(samples * joints, -1), mode="r")
    own = slice(extra.shape[2], extra.shape[2] + size)
    rest = float(triangle[own.stop, own.stop] ** 2) if len(triangle) > own.stop else 0.0
    return Equations(triangle[own, own], triangle[own, own.stop], rest, triangle[own, own.stop + 1 :])


@dataclass(frozen=True)
class Fit:
    """Weighted least squares.

    Attributes:
        values: (b,).
        weights: (N, n) of the equations, zero for those that do not count.
        residual: (N, n) predicted less measured, zero where an equation does not count.
    """

    values: Array
    weights: Array
    residual: Array


def robust_fit(reduced: Array, effort: Array, counts: NDArray[np.bool_], outlier: float = OUTLIER) -> Fit:
    """Least squares with weights that outliers cannot pull far.

    Args:
        reduced: (N, n, b) columns of full rank.
        effort: (N, n).
        counts: (N, n) whether an equation does.
        outlier: residuals beyond so many standard deviations weigh less.
    """
    joints, count = reduced.shape[1:]
    share = max(0.1, 1.0 - count / max(1, int(counts.sum())))
    size = np.sqrt(np.mean(effort**2, axis=0))
    floor = LEAST_NOISE * np.maximum(size, 1e-3 * size.max())
    deviation = np.ones(joints)
    huber = counts.astype(float)
    scale = np.linalg.norm(reduced, axis=(0, 1))
    scale[scale == 0.0] = 1.0
    columns = reduced / scale
    for _ in range(ROUNDS):
        weights = np.sqrt(huber) / deviation
        values, *_ = np.linalg.lstsq(
            (columns * weights[:, :, None]).reshape(-1, count), (effort * weights).ravel(), rcond=1e-12
        )
        residual = np.where(counts, columns @ values - effort, 0.0)
        # The parameters have taken their part of the residuals.
        freedom = np.maximum(np.sum(huber, axis=0) * share, 1.0)
        deviation = np.sqrt(np.sum(huber * residual**2, axis=0) / freedom)
        deviation = np.maximum(deviation, np.maximum(floor, 1e-300))
        huber = counts * np.minimum(1.0, outlier / np.maximum(np.abs(residual) / deviation, 1e-12))
    return Fit(np.asarray(values / scale), np.sqrt(huber) / deviation, residual)


def correlation_times(residuals: Sequence[Array]) -> Array:
    """(n,) samples of each joint that count as one, from its residuals (N, n) in each run."""
    times = np.array([[correlation_time(column) for column in run.T] for run in residuals])
    return np.asarray(times.max(axis=0))


def correlation_time(residual: Array) -> float:
    """Samples that count as one: 1 + 2 Σ ρ_k up to the first ρ_k below 0, at least 1."""
    centred = residual - residual.mean()
    count = len(centred)
    spectrum = np.abs(np.fft.rfft(centred, 2 * count)) ** 2
    correlation = np.fft.irfft(spectrum)[: count // 2]
    if not correlation[0] > 0.0:
        return 1.0
    correlation = correlation / correlation[0]
    below = np.flatnonzero(correlation < 0.0)
    last = int(below[0]) if len(below) else len(correlation)
    return max(1.0, 1.0 + 2.0 * float(np.sum(correlation[1:last])))


def solve_base(equations: Equations, base: RegroupedBase) -> tuple[Array, Array]:
    """Base parameters (b,) by least squares, and their covariance (b, b).

    A combination that the data do not determine has a very large variance, never none.
    """
    matrix = equations.matrix[:, list(base.columns)]
    size = np.linalg.norm(matrix, axis=0)
    size[size == 0.0] = 1.0
    left, singular, right = np.linalg.svd(matrix / size, full_matrices=False)
    least = np.maximum(singular, 1e-9 * singular.max(initial=1e-300))
    inverse = right.T / least
    values = inverse @ (left.T @ equations.right) / size
    covariance = inverse @ inverse.T / np.outer(size, size)
    if equations.doubt.size:
        moved = inverse @ (left.T @ equations.doubt) / size[:, None]
        covariance = covariance + moved @ moved.T
    return values, covariance
