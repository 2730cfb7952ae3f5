"""Tables of operation counts as papers print them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from robot_dynamics.papers.counts.measure import Formula
from robot_dynamics.papers.counts.polynomial import Polynomial

Number = int | Fraction

ALPHA_REMARK = (
    "R (alpha + omega x z qd + z qdd) takes 9 products for R and 2 for omega x z qd = (omega_y qd,"
    " -omega_x qd, 0): 11. The table drops the 2, and nothing else in it supplies them"
)


@dataclass(frozen=True)
class PublishedLine:
    """One line of a table.

    Attributes:
        label: as printed.
        printed: the printed formulas.
        steps: the formulation's steps that it counts.
        remark: why the measured count differs, or what else is to be known; empty when it is simply reached.
        formulation: where it is not the table's.
    """

    label: str
    printed: Formula
    steps: tuple[str, ...]
    remark: str = ""
    formulation: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """One table.

    Attributes:
        key: short name.
        title: what it counts and where it is printed.
        formulation: the formulation that is run for it.
        lines: its lines.
        total: the printed total, None when there is none.
        outside: steps that the table leaves out.
        remarks: on the table as a whole.
    """

    key: str
    title: str
    formulation: str
    lines: tuple[PublishedLine, ...]
    total: Formula | None
    outside: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def formula(multiplications: Iterable[Number], additions: Iterable[Number]) -> Formula:
    """Printed polynomials in n: coefficients from the highest power down."""
    return Formula(Polynomial.of(*multiplications), Polynomial.of(*additions))


def constant(multiplications: int, additions: int) -> Formula:
    """Printed numbers that do not depend on n."""
    return formula((multiplications,), (additions,))
