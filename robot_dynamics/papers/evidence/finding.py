"""Findings on one item of a paper, and the verdict that follows from them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.papers.counts.comparison import CountComparison, CountRow
from robot_dynamics.papers.counts.measure import Formula

# Number of links at which formulas in n are also given as numbers.
LINKS = 6


class EvidenceVerdict(enum.Enum):
    """Relation of a printed item to the computed result."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    INCOMPARABLE = "cannot be compared"


@dataclass(frozen=True)
class PaperFinding:
    """One item of a paper and what came out.

    Attributes:
        item: which table line, figure, equation or statement.
        printed: what the paper says.
        found: what came out here.
        agrees: whether the two are the same by a criterion that was evaluated; None when none can be.
        reason: why they differ or cannot be compared; it is not shown where they agree.
        remark: shown in any case.
        pictures: PNG files.
        derivation: for an error of the print, what is right and why.
    """

    item: str
    printed: str
    found: str
    agrees: bool | None
    reason: str = ""
    remark: str = ""
    pictures: tuple[Path, ...] = ()
    derivation: str = ""

    def __post_init__(self) -> None:
        if self.agrees is not True and not self.explanation:
            raise ValueError(f"{self.item}: what is not reproduced needs a reason")

    @property
    def explanation(self) -> str:
        """Explanation beside the verdict."""
        said = (self.remark, "" if self.agrees is True else self.reason)
        return "; ".join(part for part in said if part)

    @property
    def verdict(self) -> EvidenceVerdict:
        """The verdict that follows from `agrees`."""
        if self.agrees is None:
            return EvidenceVerdict.INCOMPARABLE
        return EvidenceVerdict.REPRODUCED if self.agrees else EvidenceVerdict.DIFFERS


@dataclass(frozen=True)
class Item:
    """A finding with its paper and the command that gives it.

    Attributes:
        paper: the paper's short name.
        section: the part of the paper's evidence that it belongs to.
        finding: what was found.
        command: gives this item again.
    """

    paper: str
    section: str
    finding: PaperFinding
    command: str

    def as_dict(self) -> dict[str, Any]:
        """For items.json."""
        finding = self.finding
        entry = {
            "paper": self.paper,
            "item": finding.item,
            "printed": finding.printed,
            "found": finding.found,
            "verdict": finding.verdict.value,
            "reason": finding.explanation,
            "command": self.command,
        }
        return {**entry, "derivation": finding.derivation} if finding.derivation else entry


@dataclass(frozen=True)
class Section:
    """A part of a paper's evidence that is made at once.

    Attributes:
        key: its name on the command line.
        title: for the page.
        run: makes the findings; it may write pictures into the folder that it is given.
    """

    key: str
    title: str
    run: Callable[[Path], Iterable[PaperFinding]]


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: short name.
        title: authors, title, where and when.
        sections: its evidence.
    """

    key: str
    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Erratum:
    """An error of a paper.

    Attributes:
        place: where it is.
        printed: what is printed.
        correct: what is right.
        derivation: why.
        measure: what is compared.
        check: gives the relative errors of the printed and of the corrected form.
    """

    place: str
    printed: str
    correct: str
    derivation: str
    measure: str
    check: Callable[[], tuple[float, float]]

    def finding(self) -> PaperFinding:
        """The printed form evaluated beside the corrected one."""
        wrong, right = self.check()
        found = f"{self.correct}. {self.measure}: as printed {wrong:.1e}, as corrected {right:.1e}"
        agrees: bool | None = wrong < TOLERANCE
        if right >= TOLERANCE:
            agrees = None
        reason = (
            "the print is wrong: see the derivation" if agrees is False else "the correction does not hold"
        )
        return PaperFinding(
            f"erratum: {self.place}", self.printed, found, agrees, reason,
            derivation=self.derivation,
        )  # fmt: skip


# Relative errors below this are rounding, or that of a finite difference.
TOLERANCE = 1e-6


def within(
    item: str, printed: str, error: float, what: str, tolerance: float = 1e-9, reason: str = ""
) -> PaperFinding:
    """A relation that holds when a relative error is rounding."""
    found = f"{what}: relative error {error:.0e}"
    return PaperFinding(
        item, printed, found, bool(error < tolerance), reason or f"error above {tolerance:.0e}"
    )


def relative_error(found: Any, expected: Any) -> float:
    """Greatest difference over the greatest magnitude expected."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    scale = float(np.abs(expected).max()) or 1.0
    return float(np.abs(found - expected).max()) / scale


def table_findings(table: CountComparison) -> list[PaperFinding]:
    """One finding for every printed line of a table of operation counts."""
    name = table.title.split(": ")[0].split(", ")[-1]
    findings = [_row_finding(name, row) for row in table.rows if row.printed is not None]
    return [*findings, *_sums(name, table)]


def _sums(name: str, table: CountComparison) -> list[PaperFinding]:
    """Remark on the sum of the printed lines, where the table has a total."""
    notes = [note for note in table.remarks if note.startswith("the printed lines add up to")]
    claim, agree = "a total of the lines", "the printed lines add up to the printed total"
    return [
        PaperFinding(f"{name}, sum of its lines", claim, note, note == agree, "see found") for note in notes
    ]


def _row_finding(name: str, row: CountRow) -> PaperFinding:
    printed, measured = _formula(row.printed), _formula(row.measured)
    counted = not row.reached and row.label != "Total"
    derivation = f"{row.remark[0].upper()}{row.remark[1:]}." if counted else ""
    return PaperFinding(
        f"{name}, {row.label}", printed, measured, row.reached, "", row.remark, (), derivation
    )


def _formula(formula: Formula | None) -> str:
    if formula is None:
        return ""
    at = formula.at(LINKS)
    text = f"{formula.multiplications} ×, {formula.additions} +"
    if max(len(formula.multiplications.coefficients), len(formula.additions.coefficients)) > 1:
        text += f" (n = {LINKS}: {at.multiplications} ×, {at.additions} +)"
    return text
