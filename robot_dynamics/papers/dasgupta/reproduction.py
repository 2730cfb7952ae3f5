"""The paths of Dasgupta and Mruthyunjaya 1998, section 5, and what the paper says about them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from robot_dynamics.errors import SingularityError
from robot_dynamics.papers.dasgupta.machines import paper_platform
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.inverse_dynamics import InverseDynamics
from robot_dynamics.stewart.newton_euler import Model
from robot_dynamics.stewart.paths import StraightLine, straight_line
from robot_dynamics.stewart.platform import StewartPlatform

MODELS: tuple[Model, ...] = ("exact", "published")
# Beyond this condition number forces of the two models are not compared.
WELL_CONDITIONED = 1000.0


@dataclass(frozen=True)
class PaperPath:
    """One path of section 5.

    Attributes:
        name: "I", "II" or "III".
        line: the path.
        interval: sampling interval of the paper [s].
    """

    name: str
    line: StraightLine
    interval: float

    @property
    def times(self) -> Array:
        """The paper's sampling instants [s]."""
        return np.asarray(np.arange(round(self.line.duration / self.interval) + 1) * self.interval)


@dataclass(frozen=True)
class Reproduction:
    """All paths under both models.

    Attributes:
        platform: the paper's machine.
        paths: by name.
        results: by path name and model, at the paper's sampling instants.
    """

    platform: StewartPlatform
    paths: dict[str, PaperPath]
    results: dict[tuple[str, Model], InverseDynamics]


@dataclass(frozen=True)
class Statement:
    """A statement of the paper beside what was computed."""

    claim: str
    found: str
    agrees: bool


def paper_paths() -> dict[str, PaperPath]:
    """Paths I, II and III."""
    well = ([0.1, 0.0, 0.4], [0.0, 0.0, -0.2], [0.3, 0.0, 0.6], [0.0, 0.0, 0.2])
    singular = ([0.4, 1.4, 1.2], [0.1, 0.2, 0.0], [0.8, 1.8, 1.8], [0.3, 0.4, 0.0])
    return {
        "I": PaperPath("I", straight_line(*well, 6.0, "parabolic", 0.08, 0.08), 0.1),
        "II": PaperPath("II", straight_line(*well, 0.6, "parabolic", 0.8, 0.8), 0.01),
        "III": PaperPath("III", straight_line(*singular, 6.0, "parabolic", 0.2, 0.08), 0.1),
    }


@cache
def reproduce() -> Reproduction:
    """Compute every path under both models."""
    platform, paths = paper_platform(), paper_paths()
    results = {
        (name, model): platform.inverse_dynamics_of(path.line.at(path.times), model, on_violation="report")
        for name, path in paths.items()
        for model in MODELS
    }
    return Reproduction(platform, paths, results)


def write_csv(done: Reproduction, directory: Path) -> list[Path]:
    """One table per path and model: time, forces T, S and D, dynamic fractions, condition number, lengths."""
    files = []
    columns = ("force", "static_force", "dynamic_force", "dynamic_fraction", "length", "velocity")
    units = ("N", "N", "N", "1", "m", "m/s")
    legs = range(1, 7)
    header = ["time [s]", "condition_number"]
    header += [
        f"{column}_{leg} [{unit}]" for column, unit in zip(columns, units, strict=True) for leg in legs
    ]
    for (name, model), result in done.results.items():
        parts = (
            result.actuator_forces,
            result.static_forces,
            result.dynamic_forces,
            result.dynamic_fraction,
            result.leg_lengths,
            result.leg_velocities,
        )
        table = np.column_stack([done.paths[name].times, result.condition_number, *parts])
        file = directory / f"path_{name}_{model}.csv"
        with file.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(header)
            writer.writerows([f"{value:.9g}" for value in row] for row in table)
        files.append(file)
    return files


def statements(done: Reproduction, model: Model) -> Iterator[Statement]:
    """Statements of the paper's text, checked under one model."""
    first, third = done.results["I", model], done.results["III", model]
    fraction = np.abs(first.dynamic_fraction)
    common = float(np.median(fraction))
    yield Statement(
        "Path I: the leg inertia commonly contributes around 20 % of the actuator force",
        f"median over legs and time {common:.1%}; {np.mean((fraction > 0.1) & (fraction < 0.3)):.0%} of all"
        " values lie between 10 % and 30 %",
        0.15 < common < 0.25,
    )
    greatest = fraction[:, :4].max(axis=0)
    legs = ", ".join(f"leg {leg + 1} {value:.1%}" for leg, value in enumerate(greatest))
    yield Statement(
        "Path I: the maximum may even go up to 40 % (legs 5 and 6 apart, whose force crosses zero)",
        f"greatest values: {legs}",
        0.35 < float(greatest.max()) < 0.45,
    )
    crossings = {leg: _zero_crossings(done, model, leg) for leg in range(6)}
    found = ", ".join(
        f"leg {leg + 1} at t = {time:.2f} s" for leg, times in crossings.items() for time in times
    )
    yield Statement(
        "Path I: the forces of legs 5 and 6 cross zero, those of the others do not",
        found or "none crosses zero",
        [leg for leg, times in crossings.items() if times] == [4, 5],
    )
    weight = done.platform.machine.platform.mass * float(np.linalg.norm(done.platform.machine.gravity))
    peak = float(np.abs(first.actuator_forces).max())
    yield Statement(
        "Path I: the forces are of the order of the weight of platform and payload",
        f"greatest force {peak:.0f} N, weight {weight:.0f} N; condition number"
        f" {first.condition_number.min():.0f} to {first.condition_number.max():.0f}",
        0.1 < peak / weight < 10.0,
    )
    second = done.results["II", model]
    rise = float(np.abs(second.actuator_forces).max()) / peak
    yield Statement(
        "Path II, ten times as fast: the bounds of the leg forces rise significantly",
        f"greatest force {np.abs(second.actuator_forces).max():.0f} N, {rise:.2f} times that of Path I",
        rise > 1.2,
    )
    time, condition = singular_instant(done)
    sampled = int(third.condition_number.argmax())
    top = float(np.abs(third.actuator_forces).max())
    yield Statement(
        "Path III: a clear singularity with leg forces of the order of 10^5 N",
        f"the Jacobian's determinant changes sign at t = {time:.3f} s; on the paper's grid of 0.1 s the"
        f" forces reach {top:.2e} N",
        1e5 <= top < 1e6,
    )
    yield Statement(
        "Path III: precisely there the condition number rises sharply",
        f"it is {third.condition_number[sampled]:.0f} at t = {done.paths['III'].times[sampled]:.1f} s and"
        f" {condition:.1e} at t = {time:.3f} s, from {third.condition_number[0]:.0f} at the start",
        abs(float(done.paths["III"].times[sampled]) - time) <= done.paths["III"].interval,
    )


def model_difference(done: Reproduction, name: str) -> tuple[float, float]:
    """Greatest difference of the models' forces on a path, where it is well-conditioned.

    Returns:
        In newtons, and as a fraction of the greatest force of the leg concerned.
    """
    exact, published = done.results[name, "exact"], done.results[name, "published"]
    good = exact.condition_number < WELL_CONDITIONED
    gap = np.abs(exact.actuator_forces - published.actuator_forces)[good]
    peaks = np.abs(exact.actuator_forces)[good].max(axis=0)
    return float(gap.max()), float((gap.max(axis=0) / peaks).max())


def singular_instant(done: Reproduction) -> tuple[float, float]:
    """Time at which Path III is singular [s], and the condition number there (to rounding)."""
    path = done.paths["III"].line
    time = done.platform.singular_time(path)
    if time is None:
        raise SingularityError("Path III meets no singular pose; the machine is not that of the paper")
    motion = path.at(time)
    legs = done.platform.legs_of(motion)
    singular = np.linalg.svd(legs.jacobian, compute_uv=False)
    return time, float(singular[0] / max(float(singular[-1]), np.finfo(float).tiny))


def _zero_crossings(done: Reproduction, model: Model, leg: int) -> list[float]:
    times = done.paths["I"].times
    forces = done.results["I", model].actuator_forces[:, leg]
    before = np.flatnonzero(forces[:-1] * forces[1:] < 0.0)
    share = forces[before] / (forces[before] - forces[before + 1])
    return [float(time) for time in times[before] + share * (times[before + 1] - times[before])]


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
