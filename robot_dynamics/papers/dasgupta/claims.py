"""Statements of the paper on its figures, as numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.papers.dasgupta.machines import paper_platform
from robot_dynamics.papers.dasgupta.reproduction import (
    Reproduction,
    paper_paths,
    singular_instant,
)
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.platform import StewartPlatform


def shows(done: Reproduction, number: int) -> bool:
    """True where a figure shows what the text says of it."""
    first, second, third = (done.results[name, "published"] for name in ("I", "II", "III"))
    peak = np.abs(first.actuator_forces).max()
    shares = [np.abs(result.dynamic_fraction) for result in (first, second)]
    crossing = [leg + 1 for leg in range(6) if np.ptp(np.sign(first.actuator_forces[:, leg])) > 0.0]
    sampled = done.paths["III"].times[int(third.condition_number.argmax())]
    return bool(
        {
            4: crossing == [5, 6] and peak < 2000.0,
            5: first.condition_number.max() < 100.0,
            6: 0.15 < np.median(shares[0]) < 0.25 and 0.35 < shares[0][:, :4].max() < 0.45,
            7: np.abs(second.actuator_forces).max() > 1.2 * peak,
            8: np.median(shares[1]) > 1.2 * np.median(shares[0]),
            9: 1e5 <= np.abs(third.actuator_forces).max() < 1e6,
            10: abs(sampled - singular_instant(done)[0]) <= done.paths["III"].interval,
        }[number]
    )


def fractions_of_light_platform() -> Array:
    """(N, 6) |F_d / F| on the first path with a platform of 4 kg."""
    machine = paper_platform().machine
    light = replace(machine, platform=replace(machine.platform, mass=4.0))
    path = paper_paths()["I"]
    run = StewartPlatform(light).inverse_dynamics_of(
        path.line.at(path.times), "published", on_violation="report"
    )
    return np.asarray(np.abs(run.dynamic_fraction))


def near_singularity() -> tuple[Array, Array]:
    """Greatest force (N,) [N] and condition number (N,) along the singular path, finely sampled."""
    line = paper_paths()["III"].line
    times = np.linspace(0.0, line.duration, 6001)
    run = paper_platform().inverse_dynamics_of(line.at(times), "published", on_violation="report")
    return np.abs(run.actuator_forces).max(axis=1), run.condition_number


def distribution_gap(first: Array, second: Array) -> float:
    """Greatest distance of two empirical distribution functions."""
    grid = np.concatenate([first, second])
    steps = [np.searchsorted(np.sort(part), grid, side="right") / len(part) for part in (first, second)]
    return float(np.abs(steps[0] - steps[1]).max())


def rank_correlation(first: Array, second: Array) -> float:
    """Spearman's, of two samples without ties."""
    ranks = [np.argsort(np.argsort(part)).astype(float) for part in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
