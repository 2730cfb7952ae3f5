"""Dasgupta and Mruthyunjaya 1998: printed beside computed results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.papers.counts.measure import general_formulas, total
from robot_dynamics.papers.dasgupta.closed_form import closed_form
from robot_dynamics.papers.dasgupta.errata import ERRATA
from robot_dynamics.papers.dasgupta.figures import reproduction_figures, trajectory_figure
from robot_dynamics.papers.dasgupta.joint_space import plan
from robot_dynamics.papers.dasgupta.machines import frictionless, paper_platform
from robot_dynamics.papers.dasgupta.reproduction import (
    Reproduction,
    distribution_gap,
    fractions_of_light_platform,
    near_singularity,
    paper_paths,
    rank_correlation,
    reproduce,
    shows,
    singular_instant,
    statements,
)
from robot_dynamics.papers.dasgupta.verbatim import Counted, published_forces
from robot_dynamics.papers.evidence.finding import Paper, PaperFinding, Section, relative_error, within
from robot_dynamics.stewart.platform import StewartPlatform

_FIGURES = {
    4: ("I", "leg forces", "moderate, smooth, legs 5 and 6 cross zero"),
    5: ("I", "condition number", "well-conditioned along the path"),
    6: ("I", "fraction of dynamic forces", "around 20 %, up to 40 %"),
    7: ("II", "leg forces", "higher bounds, steep changes at the blends"),
    8: ("II", "fraction of dynamic forces", "higher, differently distributed"),
    9: ("III", "leg forces", "of the order of 10^5 N at a singularity"),
    10: ("III", "condition number", "rises sharply at the singularity"),
}
_NO_NUMBERS = "a sketch without numbers"
# Operations of Newton-Euler for a serial arm by Fu, Gonzalez and Lee, as the paper quotes them.
_SERIAL = 132 * 6 + 111 * 6 - 4
_PRINTED = {"leg": 694, "platform": 273, "system": 452}


def figures(folder: Path) -> Iterator[PaperFinding]:
    """Figures 3 to 10."""
    done = reproduce()
    path = trajectory_figure(folder / "figure_03_typical_trajectory.png")
    law = paper_paths()["I"].line.linear_law
    assert law.blend is not None
    speed = 0.08 * (6.0 - law.blend)
    yield within(
        "figure 3: typical trajectory of a coordinate",
        "constant acceleration, constant velocity, constant deceleration (39), (40)",
        relative_error([speed], [float(np.linalg.norm(done.paths["I"].line.displacement))]),
        "V (tau_f - tau_t) against the distance of Path I",
    )
    yield PaperFinding(
        "figure 3, drawn",
        "a sketch",
        "coordinate, velocity, acceleration of Path I",
        None,
        _NO_NUMBERS,
        pictures=(path,),
    )
    files = reproduction_figures(done, folder)
    for number, (name, what, described) in _FIGURES.items():
        pictures = tuple(file for file in files if file.name.startswith(f"figure_{number:02d}_"))
        yield PaperFinding(
            f"figure {number}: Path {name}, {what}",
            described,
            _numbers(done, number, name),
            shows(done, number),
            "the curves do not show what the text says of them",
            "judged by what the text says of the figure; its curves are printed without numbers",
            pictures,
        )


def text(folder: Path) -> Iterator[PaperFinding]:
    """Statements of sections 5 and 6."""
    done = reproduce()
    exact = {statement.claim: statement for statement in statements(done, "exact")}
    for statement in statements(done, "published"):
        other = exact[statement.claim]
        remark = f"exact model: {other.found}" + ("" if other.agrees else " (does not hold)")
        short = statement.claim.split(": ", 1)[1]
        otherwise = "our run of the published equations gives otherwise"
        yield PaperFinding(statement.claim, short, statement.found, statement.agrees, otherwise, remark)
    yield from _shares()
    yield from _near()


def _shares() -> Iterator[PaperFinding]:
    """Statements on the legs' share."""
    light = fractions_of_light_platform()
    yield PaperFinding(
        "dynamic share with a light platform",
        "with a platform of the mass of a leg (4 kg) often above 60 %",
        f"Path I: median {np.median(light):.0%}; {np.mean(light > 0.6):.0%} of all values above 60 %",
        bool(np.mean(light > 0.6) > 0.5),
        "not often above 60 %",
        "no plots of it are printed",
    )
    slow, fast = (np.abs(reproduce().results[name, "published"].dynamic_fraction) for name in ("I", "II"))
    order = [np.argsort(-np.median(part, axis=0)) + 1 for part in (slow, fast)]
    gap = distribution_gap(slow.ravel(), fast.ravel())
    yield PaperFinding(
        "Path II: distribution of the dynamic fractions",
        "bounds and distribution are altered significantly",
        f"median {np.median(slow):.0%} on Path I, {np.median(fast):.0%} on Path II; above 20 %:"
        f" {np.mean(slow > 0.2):.0%}"
        f" and {np.mean(fast > 0.2):.0%}; greatest distance of the two distribution functions {gap:.2f};"
        f" legs by"
        f" median share {_list(order[0])} and {_list(order[1])}",
        gap > 0.2 and list(order[0]) != list(order[1]),
        "the distributions are alike",
    )
    both = np.concatenate([slow.ravel(), fast.ravel()])
    inside = float(np.mean((both > 0.2) & (both < 0.5)))
    yield PaperFinding(
        "section 6: leg inertia's share of the forces",
        "generally 20 to 50 %",
        f"Paths I and II: {inside:.0%} of all values between 20 and 50 %, quartiles"
        f" {np.quantile(both, 0.25):.0%} and {np.quantile(both, 0.75):.0%}",
        bool(inside > 0.5),
        "the share is less than 20 % as often as not on Path I",
    )


def _near() -> Iterator[PaperFinding]:
    """Statements on forces and condition number."""
    forces, condition = near_singularity()
    for low, high in ((1e2, 1e3), (1e3, 1e4)):
        part = forces[(condition >= low) & (condition < high)]
        yield PaperFinding(
            f"forces near a singularity, condition number {low:.0e} to {high:.0e}",
            "10^2 or 10^3: of the order of 10^4 N or more",
            f"Path III in steps of 1 ms: {len(part)} instants, greatest leg force {part.min():.1e} to"
            f" {part.max():.1e} N",
            bool(part.min() >= 1e4),
            "some are smaller",
        )
    rank = rank_correlation(forces, condition)
    yield PaperFinding(
        "higher condition number, higher actuator forces",
        "a direct relation",
        f"rank correlation of condition number and greatest leg force along Path III: {rank:.3f}",
        rank > 0.9,
        "no such relation",
    )


def cost(folder: Path) -> Iterator[PaperFinding]:
    """Section 4.5, with the operations of the published equations counted from a verbatim form."""
    machine, motion = frictionless(paper_platform().machine), paper_paths()["I"].line.at(0.5)
    counted = published_forces(machine, motion)
    expected = StewartPlatform(machine).inverse_dynamics_of(motion, "published", on_violation="report")
    error = relative_error(counted.forces, expected.actuator_forces)
    yield within(
        "equations (1) to (37), verbatim", "give the actuator forces", error, "against the model 'published'"
    )
    yield from _parts(counted)
    ours = counted.total(matlab=True)
    yield PaperFinding(
        "operations of a time step",
        "6 · 694 + 273 + 452 = 4889",
        f"the printed parts add up to {6 * 694 + 273 + 452}; verbatim {ours} by Matlab's rule,"
        f" {counted.total(matlab=False)} scalar operations",
        6 * 694 + 273 + 452 == 4889,
        "the parts do not add up",
    )
    general = total(general_formulas("newton-euler-lee")).at(6)
    serial = general.multiplications + general.additions
    yield PaperFinding(
        "ratio to a serial arm of six joints",
        "3.36 (4889 to 132 n + 111 n - 4 = 1454)",
        f"{4889 / _SERIAL:.2f} of the printed numbers; {ours / serial:.2f} of our counts ({ours} verbatim"
        f" to {serial} of"
        " the Newton-Euler form of a general arm)",
        round(4889 / _SERIAL, 2) == 3.36 and abs(ours / serial / 3.36 - 1.0) < 0.1,
        "another ratio",
    )
    parallel = max(counted.leg.matlab, counted.platform.matlab) + counted.system.matlab
    yield PaperFinding(
        "seven branches at the same time",
        "expected of the same order as the Newton-Euler form of a serial arm",
        f"the longest branch and the final system take {parallel} operations, a general arm {serial}; in"
        f" print"
        f" {694 + 452} and {_SERIAL}",
        parallel < 2 * serial,
        "much more",
    )


def joint_space(folder: Path) -> Iterator[PaperFinding]:
    """Section 4.3: planning in joint space."""
    platform = paper_platform()
    path = plan(platform)
    forces = platform.inverse_dynamics_of(path.motion, "exact", on_violation="report")
    yield within(
        "joint-space planning: leg rates and accelerations",
        "forward kinematics, then the linear systems of (5) and (8)",
        max(
            relative_error(forces.leg_velocities, path.rates),
            relative_error(forces.leg_accelerations, path.accelerations),
            relative_error(forces.leg_lengths, path.lengths),
        ),
        "lengths, rates and accelerations of the platform's motion against the planned ones, between the"
        " ends of Path I",
        1e-7,
    )
    steps = float(path.iterations[1:].mean())
    yield PaperFinding(
        "joint-space planning is more expensive",
        "a system of six non-linear equations and two linear systems at each time step",
        f"{steps:.1f} Newton steps on average and two more systems of six equations an instant; planning in"
        f" Cartesian"
        " space needs none",
        steps > 0.0,
        "no further system is solved",
    )
    straight = reproduce().results["I", "exact"].actuator_forces
    peak = float(np.abs(straight).max())
    yield PaperFinding(
        "forces of a path planned in joint space",
        "no result is printed",
        f"greatest force {np.abs(forces.actuator_forces).max():.0f} N between the ends of Path I,"
        f" {peak:.0f} N on the"
        " straight path",
        None,
        "the paper plans in Cartesian space only",
    )


def errata(folder: Path) -> Iterator[PaperFinding]:
    """Errors of the print."""
    yield from (erratum.finding() for erratum in ERRATA)


def _parts(counted: Counted) -> Iterator[PaperFinding]:
    names = {
        "leg": "each leg (section 2)",
        "platform": "the platform only",
        "system": "the final system of equations",
    }
    for key, words in names.items():
        flops = getattr(counted, key)
        share = flops.matlab / _PRINTED[key] - 1.0
        yield PaperFinding(
            f"operations of {words}",
            f"{_PRINTED[key]}",
            f"{flops.matlab} by Matlab's rule (2 m n k for a product), {flops.operations} scalar operations",
            flops.matlab == _PRINTED[key],
            f"{share:+.0%}: the program is not printed; each equation counted once as it stands,"
            f" elimination by"
            " partial pivoting, what enters a product once made once",
        )


def _numbers(done: Reproduction, number: int, name: str) -> str:
    result = done.results[name, "published"]
    if number in (5, 10):
        values = result.condition_number
        extra = f"; singular at {singular_instant(done)[0]:.3f} s" if name == "III" else ""
        return f"{values.min():.0f} to {values.max():.0f} on the paper's grid{extra}"
    if number in (6, 8):
        fraction = np.abs(result.dynamic_fraction)
        return f"median {np.median(fraction):.1%}, legs 1 to 4 up to {fraction[:, :4].max():.1%}"
    return f"{result.actuator_forces.min():.3g} to {result.actuator_forces.max():.3g} N"


def _list(legs: Any) -> str:
    return ", ".join(map(str, legs))


PAPER = Paper(
    "dasgupta",
    "B. Dasgupta and T. S. Mruthyunjaya, A Newton-Euler formulation for the inverse dynamics of the Stewart"
    " platform"
    " manipulator, Mech. Mach. Theory 33(8), 1998",
    (
        Section("figures", "Figures 3 to 10", figures),
        Section("statements", "Statements of sections 5 and 6", text),
        Section("cost", "Section 4.5: operations", cost),
        Section("joint-space", "Section 4.3: planning in joint space", joint_space),
        Section("closed-form", "Future work: closed-form equations", closed_form),
        Section("errata", "Errors of the print", errata),
    ),
)
