"""Lee, Chung, Mudge and Turney: printed beside computed results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robot_dynamics.papers.counts.comparison import compare
from robot_dynamics.papers.counts.measure import feedback_formula, general_formulas, total
from robot_dynamics.papers.evidence.finding import (
    LINKS,
    Paper,
    PaperFinding,
    Section,
    relative_error,
    table_findings,
    within,
)
from robot_dynamics.papers.evidence.kinematics import random_arm, random_state
from robot_dynamics.papers.lee.errata import ERRATA
from robot_dynamics.papers.lee.figures import figures
from robot_dynamics.papers.lee.law import closed_loop_error, controllable, explicit_law, substituted_law
from robot_dynamics.papers.lee.tables import LEE_1, LEE_2

# PDP 11/45: an integer multiplication, an addition, one fetch from core memory [s].
_MULTIPLICATION, _ADDITION, _FETCH = 3.3e-6, 0.5e-6, 0.45e-6


def tables(folder: Path) -> Iterator[PaperFinding]:
    """Tables 1 and 2, line by line."""
    yield from table_findings(compare(LEE_1))
    yield from table_findings(compare(LEE_2))


def law(folder: Path) -> Iterator[PaperFinding]:
    """(4.1) on D, H and G beside (4.4), with full gain matrices."""
    random = np.random.default_rng(6)
    for kind in ("diagonal", "full, symmetric", "full, not symmetric"):
        errors = []
        for seed in range(5):
            model = random_arm(8)
            q, qd, _ = random_state(model, seed)
            desired = random.uniform(-1.0, 1.0, (3, 6))
            kp, kv = (_gains(random, kind) for _ in range(2))
            arguments = (model, q, qd, *desired, kp, kv)
            errors.append(relative_error(substituted_law(*arguments), explicit_law(*arguments)))
        yield within(
            f"(4.4) is (4.1), gain matrices {kind}",
            "substituting theta'' in the Newton-Euler recursion gives D (...) + H + G (4.41)",
            max(errors),
            "torques of 5 random states; D, H and G by (3.8) to (3.10)",
            1e-11,
        )
    yield within(
        "(4.3) D (e'' + K_v e' + K_p e) = 0",
        "with an exact model the error obeys this equation",
        closed_loop_error(),
        "accelerations of the closed loop, full gain matrices",
    )
    stable, unstable = controllable()
    yield PaperFinding(
        "conditions (a) to (c) after (4.3)",
        "K_v symmetric and not negative, K_p positive definite, rank [K_v | K_p K_v | ...] = n: the error"
        " vanishes",
        f"largest real part of the error's modes: {stable:.3f} 1/s where the conditions hold with a"
        f" singular K_v;"
        f" {unstable:.1e} 1/s where only the rank is too low",
        stable < -1e-6 and abs(unstable) < 1e-6,
        "the modes do not behave so",
    )


def statements(folder: Path) -> Iterator[PaperFinding]:
    """Statements on cost and time."""
    direct, recursion = (table.total for table in (LEE_1, LEE_2))
    assert direct is not None and recursion is not None
    first, second = direct.at(LINKS), recursion.at(LINKS)
    ratio = (first.multiplications + first.additions) / (second.multiplications + second.additions)
    runs = [
        total(general_formulas(name)) + feedback_formula() for name in ("lagrange-direct", "newton-euler-lee")
    ]
    ours = [run.at(LINKS) for run in runs]
    measured = (ours[0].multiplications + ours[0].additions) / (ours[1].multiplications + ours[1].additions)
    better = (total(general_formulas("lagrange")) + feedback_formula()).at(LINKS)
    cubic = (better.multiplications + better.additions) / (ours[1].multiplications + ours[1].additions)
    yield PaperFinding(
        "operations of the Lagrange-Euler law for six joints",
        "about 100 times more than of the Newton-Euler law",
        f"{ratio:.0f} times by the printed totals, {measured:.0f} times by our runs of the same organisation,"
        f" {cubic:.1f} times with Turney's O(n³) organisation of the Lagrange form",
        0.5 < ratio / 100.0 < 2.0 and 0.5 < measured / 100.0 < 2.0,
        "not of this order",
        "the factor compares a wasteful organisation with a good one",
    )
    times = [
        second.multiplications * (_MULTIPLICATION + fetches * _FETCH)
        + second.additions * (_ADDITION + fetches * _FETCH)
        for fetches in (1, 2)
    ]
    yield PaperFinding(
        "time of the law on a PDP 11/45",
        "approximately 3 ms (MUL 3.3 µs, ADD 0.5 µs, a memory cycle of 450 ns for each)",
        f"{times[0] * 1e3:.2f} ms with one fetch an instruction, {times[1] * 1e3:.2f} ms with two",
        abs(times[0] - 3e-3) < 0.5e-3,
        "another time",
        "integer instructions; scaling and table look-up of sines and cosines are not counted",
    )
    bit = 4.26e-4
    yield PaperFinding(
        "resolution of a 12-bit converter",
        "4.26e-4 rad per bit",
        f"4096 bits of it are {np.degrees(4096 * bit):.1f} degrees; a full turn gives"
        f" {2 * np.pi / 4096:.2e} rad",
        bool(abs(np.degrees(4096 * bit) - 100.0) < 0.1),
        "the range of the converter is not stated",
        "the number is what a converter over 100 degrees resolves, not an error that was measured",
    )


def errata(folder: Path) -> Iterator[PaperFinding]:
    """Errors of the print."""
    yield from (erratum.finding() for erratum in ERRATA)


def _gains(random: np.random.Generator, kind: str) -> np.ndarray:
    root = random.normal(size=(6, 6))
    if kind == "diagonal":
        return np.diag(random.uniform(1.0, 100.0, 6))
    return 20.0 * root @ root.T if "not" not in kind else 20.0 * root


PAPER = Paper(
    "lee",
    "C. S. G. Lee, M. J. Chung, T. N. Mudge and J. L. Turney, On the control of mechanical manipulators,"
    " University"
    " of Michigan",
    (
        Section("tables", "Tables 1 and 2, line by line", tables),
        Section("law", "Section 4: the control law in two forms", law),
        Section("statements", "Statements on cost and time", statements),
        Section("figures", "Figures 2 to 8: position errors of a PUMA", figures),
        Section("errata", "Errors of the print", errata),
    ),
)
