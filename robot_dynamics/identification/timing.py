"""Cut-off frequency of the filter and delay of the efforts, both from the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.identification.least_squares import correlation_times, robust_fit
from robot_dynamics.spatial import Array

MOST_CUTOFF = 10.0
"""Greatest cut-off that is chosen [Hz]."""
RATE_SHARE = 0.2
"""Greatest cut-off that is chosen, as a share of the rate of the states."""
COHERENT = 0.5
"""Mean coherence of predicted and measured efforts above which a frequency is kept."""
ABOVE = 1.5
"""Cut-off over the greatest coherent frequency: the filter halves the amplitude at its cut-off."""
WINDOW = 4.0
"""Length of the windows for the coherence [s]."""
LONGEST_DELAY = 0.05
"""Greatest delay that is sought [s]."""
SIGNIFICANT = 3.0
"""Standard deviations by which a delay must differ from zero before it is taken off."""
BETWEEN_SAMPLES = 0.03
"""Error of a delay by the steps of dry friction, as a share of the period of the states."""
_BLOCK = 20
"""Samples in a row whose errors may hang together."""
_STEP = 1e-4
"""Difference of delays for the slope of the efforts [s]."""
_GRID = 21
_ROUNDS = 2
_REFINEMENTS = 3


def coherent_cutoff(pairs: Sequence[tuple[Array, Array, float]], most: float, least: float) -> float:
    """Cut-off above which predicted and measured efforts have little in common [Hz].

    Args:
        pairs: predicted and measured efforts (N, n) and their sampling period [s], one for each run.
        most: cut-off of the filter that both have passed; the result is at most this [Hz].
        least: the result is at least this [Hz].
    """
    from scipy.signal import csd

    frequencies = np.arange(0.5 / WINDOW, most, 0.5 / WINDOW)
    spectra: Array = np.zeros((3, len(frequencies), pairs[0][0].shape[1]), dtype=complex)
    for predicted, measured, period in pairs:
        length = min(len(measured), round(WINDOW / period))
        both = ((predicted, measured), (predicted, predicted), (measured, measured))
        for total, (one, other) in zip(spectra, both, strict=True):
            grid, density = csd(one, other, 1.0 / period, nperseg=length, axis=0, detrend="linear")
            nearest = np.abs(grid[:, None] - frequencies).argmin(axis=0)
            total += density[nearest] * len(measured)
    cross, own, others = spectra
    coherence = np.mean(np.abs(cross) ** 2 / np.maximum(np.abs(own * others), 1e-300), axis=1)
    low = np.flatnonzero(coherence < COHERENT)
    highest = frequencies[low[0]] if len(low) else np.inf
    return float(np.clip(ABOVE * highest, min(least, most), most))


@dataclass(frozen=True)
class Delay:
    """Delay of the efforts behind the positions.

    Attributes:
        seconds: that is taken off [s]; negative where the positions lag.
        deviation: its standard deviation [s]; zero for a delay that was given.
    """

    seconds: float
    deviation: float


@dataclass(frozen=True)
class Treatment:
    """Preparation of the logs, before anything is concluded from them.

    Attributes:
        cutoff: of the zero-phase filter [Hz].
        cutoff_given: whether the cut-off was given; else it is the data's.
        delay: of the efforts, which was taken off.
        notes: gaps and saturated efforts, one line each.
        held_out: what is predicted and not learned from.
    """

    cutoff: float
    cutoff_given: bool
    delay: Delay
    notes: tuple[str, ...]
    held_out: str = ""


def effort_delay(
    columns: Sequence[Array],
    effort_at: Sequence[Callable[[float], Array]],
    counts: Sequence[NDArray[np.bool_]],
    steady: Sequence[NDArray[np.bool_]],
    period: float,
) -> Delay:
    """The delay with which efforts fit the columns best.

    Each deviation is the greater of two: by the scatter of all residuals, and by that of the slopes of the
    squared error in blocks of samples. The latter knows that residuals are larger where dry friction steps,
    and that these samples say most about the delay (Zeger, Liang, "Longitudinal data analysis for discrete
    and continuous outcomes", Biometrics 42 (1986) 121-130).

    Two estimates are averaged by their variances. That of motion far from any step of dry friction knows
    no steps; that of all motion is off by a share of the period, because steps lie between samples. Where
    both disagree by more than their deviations, that of the average grows by as much (Birge ratio). A delay
    is taken off where the average is significant, or each of the two, with the same sign.

    Args:
        columns: (N, n, b) of full rank, one array for each run.
        effort_at: efforts (N, n) that a delay [s] brings to the times of the columns, for each run.
        counts: (N, n) which equations count, for each run.
        steady: (N, n) which of them are far from steps of dry friction, for each run.
        period: of the slowest log [s].
    """
    smooth = _best_delay(columns, effort_at, steady)
    every = _best_delay(columns, effort_at, counts)
    variances = np.array([smooth.deviation**2, every.deviation**2 + (BETWEEN_SAMPLES * period) ** 2])
    variances = np.maximum(variances, 1e-18)
    both, shares = np.array([smooth.seconds, every.seconds]), 1.0 / variances
    seconds = float(shares @ both / shares.sum())
    disagreement = abs(both[0] - both[1]) / np.sqrt(variances.sum())
    deviation = float(max(1.0, disagreement) / np.sqrt(shares.sum()))
    each = np.sign(seconds) * both / np.sqrt(variances)
    significant = abs(seconds) > SIGNIFICANT * deviation or bool((each > SIGNIFICANT).all())
    significant = significant and abs(seconds) < 0.98 * LONGEST_DELAY
    return Delay(seconds if significant else 0.0, deviation)


def _best_delay(
    columns: Sequence[Array],
    effort_at: Sequence[Callable[[float], Array]],
    counts: Sequence[NDArray[np.bool_]],
) -> Delay:
    reduced, counted = np.concatenate(columns), np.concatenate(counts)
    ends = np.cumsum([len(part) for part in columns])[:-1]

    def efforts(delay: float) -> Array:
        return np.concatenate([effort(delay) for effort in effort_at])

    best = curvature = 0.0
    for _ in range(_ROUNDS):
        # Steps between samples are no outliers.
        fit = robust_fit(reduced, efforts(best), counted, np.inf)
        weights = fit.weights / np.sqrt(correlation_times(np.split(fit.residual, ends)))
        rows = (reduced * weights[:, :, None]).reshape(-1, reduced.shape[2])
        basis = np.linalg.qr(rows / np.maximum(np.linalg.norm(rows, axis=0), 1e-300))[0]
        centre, width = 0.0, LONGEST_DELAY
        for _ in range(_REFINEMENTS):
            tried = centre + width * np.linspace(-1.0, 1.0, _GRID)
            whole = np.stack([(efforts(delay) * weights).ravel() for delay in tried], axis=1)
            costs = np.sum(whole**2, axis=0) - np.sum((basis.T @ whole) ** 2, axis=0)
            at = int(np.clip(np.argmin(costs), 1, _GRID - 2))
            step = float(tried[1] - tried[0])
            curvature = float(costs[at - 1] - 2.0 * costs[at] + costs[at + 1]) / step**2
            falling = float(costs[at - 1] - costs[at + 1]) / (2.0 * step)
            moved = float(np.clip(falling / curvature, -step, step)) if curvature > 0.0 else 0.0
            centre, width = float(tried[at]) + moved, 2.0 * step
        best = centre
    if not curvature > 0.0:
        return Delay(best, np.inf)

    def unexplained(values: Array) -> Array:
        values = (values * weights).ravel()
        return np.asarray(values - basis @ (basis.T @ values)).reshape(counted.shape)

    slope = unexplained((efforts(best + _STEP) - efforts(best - _STEP)) / (2.0 * _STEP))
    each = np.sum(slope * unexplained(efforts(best)), axis=1)
    blocks = [part.sum() for part in np.array_split(each, max(2, len(each) // _BLOCK))]
    # The parameters have taken their part of the residuals.
    share = max(0.1, 1.0 - basis.shape[1] / max(1, int(counted.sum())))
    scattered = float(np.linalg.norm(blocks) / np.sum(slope**2)) / share
    return Delay(best, max(float(np.sqrt(2.0 / curvature)), scattered))
