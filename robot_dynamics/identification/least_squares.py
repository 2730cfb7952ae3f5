"""What the data alone say: base parameters by weighted least squares that outliers cannot pull far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.spatial import Array

OUTLIER = 3.0
"""Residuals beyond so many standard deviations weigh less (Huber)."""
ROUNDS = 8
_INDEPENDENT = 1e-7


@dataclass(frozen=True)
class Base:
    """Combinations of parameters that the efforts depend on.

    Attributes:
        columns: index of the parameter that each combination is named after.
        grouping: (b, p) combinations = grouping @ parameters; identity in ``columns``.
    """

    columns: tuple[int, ...]
    grouping: Array


def base_of(regressor: Array) -> Base:
    """The base parameters of a regressor (M, p) at states that excite everything."""
    from scipy.linalg import qr

    scale = np.linalg.norm(regressor, axis=0)
    scale[scale < 1e-12 * max(1.0, float(scale.max(initial=0.0)))] = np.inf
    factors: Any = qr(regressor / scale, mode="r", pivoting=True)
    triangle, order = factors[0], factors[1]
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.sum(diagonal > _INDEPENDENT * diagonal[0]))
    weights = np.linalg.solve(triangle[:rank, :rank], triangle[:rank, rank:])
    size = np.where(np.isinf(scale), 1.0, scale)
    grouping = np.zeros((rank, regressor.shape[1]))
    grouping[np.arange(rank), order[:rank]] = 1.0
    grouping[:, order[rank:]] = weights * size[order[rank:]] / size[order[:rank], None]
    grouping[:, np.isinf(scale)] = 0.0
    return Base(tuple(int(k) for k in order[:rank]), grouping)


@dataclass(frozen=True)
class Equations:
    """Whitened equations ``matrix @ parameters = right``: squares of their residuals count 1 each.

    Attributes:
        matrix: (p, p).
        right: (p,).
        rest: sum of squares that no parameters remove.
    """

    matrix: Array
    right: Array
    rest: float

    def cost(self, parameters: Array) -> float:
        """Sum of the squares of all residuals."""
        return self.rest + float(np.sum((self.matrix @ parameters - self.right) ** 2))


def robust_equations(
    blocks: list[Array], efforts: list[Array], base: Base, counts: list[NDArray[np.bool_]] | None = None
) -> Equations:
    """Equations of all runs, each joint weighted by what its own residuals say.

    The variance of a joint's residuals is raised by their autocorrelation time, so that standard deviations
    hold for samples that hang together.

    Args:
        blocks: a regressor (N, n, p) a run.
        efforts: (N, n) a run.
        base: the combinations that are to be found.
        counts: (N, n) a run, which equations count; all where None.
    """
    regressor, effort = np.concatenate(blocks), np.concatenate(efforts)
    samples, joints, size = regressor.shape
    taken = np.concatenate(counts) if counts else np.ones(effort.shape, dtype=bool)
    weights, residual = robust_weights(regressor[:, :, list(base.columns)], effort, taken)
    lengths = np.cumsum([len(run) for run in efforts])[:-1]
    times = [max(correlation_time(part[:, j]) for part in np.split(residual, lengths)) for j in range(joints)]
    weights = weights / np.sqrt(times)
    full = np.column_stack(
        [
            (regressor * weights[:, :, None]).reshape(samples * joints, -1),
            (effort * weights).ravel(),
        ]
    )
    triangle: Any = np.linalg.qr(full, mode="r")
    rest = float(triangle[size, size] ** 2) if len(triangle) > size else 0.0
    return Equations(triangle[:size, :size], triangle[:size, size], rest)


def robust_weights(reduced: Array, effort: Array, counts: NDArray[np.bool_]) -> tuple[Array, Array]:
    """(N, n) weights of equations that outliers cannot pull far, and residuals (N, n) of those that count.

    Args:
        reduced: (N, n, b) columns of full rank.
        effort: (N, n).
        counts: (N, n) whether an equation does.
    """
    joints, count = reduced.shape[1:]
    share = max(0.1, 1.0 - count / max(1, int(counts.sum())))
    deviation = np.ones(joints)
    huber = counts.astype(float)
    for _ in range(ROUNDS):
        weights = np.sqrt(huber) / deviation
        values, *_ = np.linalg.lstsq(
            (reduced * weights[:, :, None]).reshape(-1, count), (effort * weights).ravel(), rcond=1e-9
        )
        residual = np.where(counts, reduced @ values - effort, 0.0)
        # The parameters have taken their part of the residuals.
        freedom = np.maximum(np.sum(huber, axis=0) * share, 1.0)
        deviation = np.sqrt(np.sum(huber * residual**2, axis=0) / freedom)
        deviation = np.maximum(deviation, 1e-12 * max(1.0, float(np.abs(effort).max())))
        huber = counts * np.minimum(1.0, OUTLIER / np.maximum(np.abs(residual) / deviation, 1e-12))
    return np.sqrt(huber) / deviation, residual


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


def solve_base(equations: Equations, base: Base) -> tuple[Array, Array]:
    """Base parameters (b,) by least squares, and their covariance (b, b)."""
    matrix = equations.matrix[:, list(base.columns)]
    values, *_ = np.linalg.lstsq(matrix, equations.right, rcond=None)
    return np.asarray(values, dtype=float), np.asarray(np.linalg.pinv(matrix.T @ matrix), dtype=float)
