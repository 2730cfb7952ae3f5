"""Choice of the part of the runs that is predicted and not learned from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.identification.runs import Run
from robot_dynamics.spatial import Array

REPEATED = 0.1
"""Distance between states that counts as a repetition, in standard deviations of each joint."""
SHORTEST_PERIOD = 1.0
"""Shortest period of a motion that repeats itself [s]."""
WHOLE_RUNS = 0.1
"""Greatest deviation of the share that whole runs hold out from the share that is asked for."""


def held_out(runs: Sequence[Run], learn_share: float) -> tuple[list[Run], list[Run], str]:
    """The runs to learn from, those to validate with, and how they were divided.

    Held out are whole runs where some make about the right share. Else it is the last part of each run, or,
    where that repeats what came before, the last part of each period.

    Args:
        runs: all of them.
        learn_share: of the samples that are learned from.
    """
    whole = _whole_runs(runs, learn_share)
    if whole:
        others = [run for k, run in enumerate(runs) if k in whole]
        named = ", ".join(run.source for run in others)
        return [run for k, run in enumerate(runs) if k not in whole], others, named
    learn, others, periods = [], [], []
    for run in runs:
        period = repetition(run)
        if period is None or period > learn_share * (run.time[-1] - run.time[0]):
            share = np.arange(len(run.time)) / len(run.time)
        else:
            share = ((run.time - run.time[0]) / period) % 1.0
            periods.append(period)
        learn.append(run.part(np.flatnonzero(share < learn_share)))
        others.append(run.part(np.flatnonzero(share >= learn_share)))
    part = f"the last {100.0 * (1.0 - learn_share):.0f} %"
    if not periods:
        return learn, others, f"{part} of each run"
    named = ", ".join(f"{period:.2f} s" for period in dict.fromkeys(periods))
    return learn, others, f"{part} of each period: the motion repeats itself after {named}"


def _whole_runs(runs: Sequence[Run], learn_share: float) -> set[int]:
    """Indices of the last runs that together have the share to be held out; empty where none have."""
    counts = np.array([len(run.time) for run in runs])
    wanted = (1.0 - learn_share) * counts.sum()
    for first in range(len(runs) - 1, 0, -1):
        last = runs[first:]
        if abs(counts[first:].sum() - wanted) > WHOLE_RUNS * counts.sum():
            continue
        if not any(_repeats(run, runs[:first]) for run in last):
            return set(range(first, len(runs)))
    return set()


def _repeats(run: Run, others: Sequence[Run]) -> bool:
    """True if most states of a run are those of others."""
    from scipy.spatial import cKDTree

    before = np.concatenate([_states(other) for other in others])
    size = np.maximum(before.std(axis=0), 1e-9)
    distance, _ = cKDTree(before / size).query(_states(run) / size)
    return bool(np.median(distance) < REPEATED * np.sqrt(before.shape[1]))


def _states(run: Run) -> Array:
    return np.concatenate([run.position, run.drives.velocity], axis=1)


def repetition(run: Run) -> float | None:
    """The period after which the motion of a run repeats itself [s]; None where it does not."""
    states = _states(run)
    states = (states - states.mean(axis=0)) / np.maximum(states.std(axis=0), 1e-9)
    step = float(np.median(np.diff(run.time)))
    count = len(states)
    first, last = max(1, round(SHORTEST_PERIOD / step)), int(0.9 * count)
    if last <= first:
        return None
    lags = np.arange(first, last)
    spectrum = np.fft.rfft(states, 2 * count, axis=0)
    together = np.fft.irfft(np.abs(spectrum) ** 2, axis=0).sum(axis=1)[lags]
    squares = np.concatenate([[0.0], np.cumsum(np.sum(states**2, axis=1))])
    both = squares[count - lags] + squares[-1] - squares[lags] - 2.0 * together
    apart = np.sqrt(np.maximum(0.0, both) / ((count - lags) * states.shape[1]))
    same = np.flatnonzero(apart < REPEATED)
    if not len(same):
        return None
    # The nearest of the lags around the first that is near enough.
    around = apart[same[0] : same[0] + max(1, round(0.5 / step))]
    return float(step * lags[same[0] + int(np.argmin(around))])
