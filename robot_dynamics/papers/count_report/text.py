"""The counts as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from robot_dynamics.codegen.program import CONVENTION
from robot_dynamics.errors import escaped
from robot_dynamics.papers.count_report.report import (
    PAPERS_CONVENTION,
    CountReport,
    FormulationCount,
    formula_texts,
)
from robot_dynamics.papers.counts.comparison import CountComparison, CountRow
from robot_dynamics.papers.counts.measure import Formula
from robot_dynamics.papers.counts.scalars import Tally

_WIDTH = 108


def text(report: CountReport) -> str:
    """All of ``report``, with the conventions by which it counts."""
    lines = [
        *_paragraph("Counting convention (this robot): " + CONVENTION + "."),
        *_paragraph("Counting convention (general arm, the papers'): " + PAPERS_CONVENTION + "."),
        "",
        *_summary(report),
    ]
    if report.detailed:
        lines += [line for count in report.formulations for line in _steps(count)]
    for table in report.tables:
        lines += ["", *_table(table, report.links)]
    return escaped("\n".join(lines))


def _summary(report: CountReport) -> list[str]:
    head = ["formulation", "general arm x", "+", f"n = {report.links}: x", "+"]
    if report.robot:
        head += ["as run x", "+", "shared x", "+"]
    rows = []
    for count in report.formulations:
        at = count.total.at(report.links)
        row = [count.name, *formula_texts(count.total), str(at.multiplications), str(at.additions)]
        if count.robot is not None:
            numbers = (count.robot.as_run, count.robot.shared)
            row += [str(x) for tally in numbers for x in (tally.multiplications, tally.additions)]
        elif report.robot:
            row += ["not run", "", "", ""]
        rows.append(row)
    if report.generated is not None:
        customised = [str(report.generated.multiplications), str(report.generated.additions)]
        rows.append(["customised model", *[""] * 6, *customised])
    title = "Operations of one inverse-dynamics call (x multiplications, + additions), counted by running it"
    lines = [title, *_columns(head, rows)]
    if report.robot:
        lines += _paragraph(
            f"The last four columns are for {report.robot}. As run: its zeros and ones left out. Shared: by"
            " the convention above in full, equal results computed once and unused ones dropped too. The"
            " customised model is what robot_dynamics generate --objective operations writes, parameters"
            " regrouped."
        )
    if report.prismatic:
        lines += _paragraph(
            f"{report.prismatic} of its joints slide; the general arm and the papers' formulas have"
            f" revolute"
            " joints only."
        )
    return lines


def _steps(count: FormulationCount) -> list[str]:
    head = ["step", "general arm x", "+"]
    shared = None if count.robot is None else count.robot.shared_steps
    if shared is not None:
        head += ["shared x", "+"]
    rows = []
    for step, formula in count.steps.items():
        row = [step, *formula_texts(formula)]
        if shared is not None:
            tally = shared.get(step, Tally())
            row += [str(tally.multiplications), str(tally.additions)]
        rows.append(row)
    lines = ["", f"Steps of {count.name}", *_columns(head, rows)]
    if count.concurrent is not None:
        products, sums = formula_texts(count.concurrent)
        lines += _paragraph(
            f"One processor for each step of each link: {products} multiplications and {sums} additions"
            " one after the other (n >= 3)."
        )
    lines += _paragraph(
        f"Every operation as soon as its operands are there: {count.chain} operations one after the other"
        " (n >= 3)."
    )
    return lines


def _table(table: CountComparison, links: int) -> list[str]:
    rows, notes = [], []
    for row in table.rows:
        mark = ""
        if row.remark:
            notes.append(row.remark)
            mark = f" [{len(notes)}]"
        cells = [row.label + mark, *formula_texts(row.printed), *formula_texts(row.measured)]
        rows.append([*cells, _verdict(row), _at(row.printed, links), _at(row.measured, links)])
    lines = [table.title, *_rows(rows, links)]
    for number, note in enumerate(notes, 1):
        lines += _paragraph(f"[{number}] {note}.", "      ")
    for remark in table.remarks:
        lines += _paragraph(f"{remark[0].upper()}{remark[1:]}.")
    return lines


def _at(formula: Formula | None, links: int) -> str:
    if formula is None:
        return ""
    tally = formula.at(links)
    return f"{tally.multiplications} {tally.additions}"


def _verdict(row: CountRow) -> str:
    if row.printed is None:
        return ""
    return "reached" if row.reached else "differs"


def _paragraph(text: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent=indent, break_on_hyphens=False)


def _rows(rows: Sequence[Sequence[str]], links: int) -> list[str]:
    """Lines of a table side by side, or one below the other where the formulas are long."""
    head = ["line", "printed x", "+", "run x", "+", "", f"n = {links}: printed", "run"]
    lines = _columns(head, rows)
    if max(map(len, lines)) <= 140:
        return lines
    stacked = []
    for label, *printed, run_products, run_sums, verdict, printed_at, run_at in rows:
        equal = verdict == "reached"
        stacked.append(f"  {label}: {verdict or 'not in the table'}")
        if printed[0]:
            how = "printed, run" if equal else "printed     "
            stacked.append(f"      {how}  {printed[0]} x,  {printed[1]} +   (n = {links}: {printed_at})")
        if not equal:
            stacked.append(f"      run           {run_products} x,  {run_sums} +   (n = {links}: {run_at})")
    return stacked


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    lines = []
    for line in (head, *rows):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
