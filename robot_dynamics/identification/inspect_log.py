"""A guess of what the columns of a text log are, written as a mapping file with what was seen as comments."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import yaml

from robot_dynamics.errors import LogError, shown
from robot_dynamics.identification.columns import SEPARATORS, UNITS, UNKNOWN, is_number
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

MOST_ROWS = 200_000
"""Rows that are looked at."""
WORDS = {
    "velocity": r"vel|speed|(^|_)(qd|dq|qdot)(_|\d|$)",
    "effort": r"eff|torque|tau|curr|moment|force|(^|_)i(_|\d|$)",
    "position": r"pos|angle|(^|_)q(_|\d|$)|theta|jnt|joint",
}
"""Words in the names of columns, the most telling kinds first."""
CURRENT = re.compile(r"curr|(^|_)i(_|\d|$)|amp", re.IGNORECASE)
RELATED = 0.8
"""Correlation of a column with the rate of another above which it is its velocity."""
_SAME_SIZE = 2.0
"""Greatest ratio between the factors by which velocities of several joints are the rates of positions."""
_SHOWN = 5
_JUMP = 20.0
"""Step of the time that no row of a run has, in typical steps."""
_DEGREES = 180.0 / np.pi


@dataclass(frozen=True)
class _Table:
    """The rows of a log that are numbers.

    Attributes:
        separator: name of it.
        skip: lines before the names, or before the first row.
        names: of the columns; numbers from 1 on where there are none.
        header: whether a row names the columns.
        values: (N, c).
        garbage: numbers of the lines between the rows that are none.
    """

    separator: str
    skip: int
    names: list[str]
    header: bool
    values: Array
    garbage: list[int]


def inspect_log(lines: Iterable[str], chain: KinematicChain, source: str) -> str:
    """The text of a mapping file for the joints of ``chain``.

    Args:
        lines: of the log.
        chain: whose joints are sought.
        source: name of the log in messages.

    Raises:
        LogError: no rows of numbers.
    """
    table = _table([line.rstrip("\r\n") for line in itertools.islice(lines, MOST_ROWS)], source)
    clock, unit, rate = _time(table)
    table = _without_start(table, clock)
    time = (
        np.arange(len(table.values)) / rate if clock is None else table.values[:, clock] * UNITS["time"][unit]
    )
    found = _signals(table, chain, clock, time)
    text = [
        f"# Guess for {source}: check every line, then run identify --columns with this file.",
        *_seen(table, clock, rate),
        "rows:",
        f"  separator: {table.separator}   # {shown(*SEPARATORS)}",
        f"  skip: {table.skip}   # lines before the {'names' if table.header else 'first row'}",
        f"  header: {str(table.header).lower()}",
    ]
    if clock is None:
        text += ["time:", f"  rate: '{UNKNOWN}'   # Hz; no column advances as time does"]
    else:
        text += ["time:", f"  column: {_name(table, clock)}", f"  unit: {unit}   # {shown(*UNITS['time'])}"]
    text.append("joints:")
    for j, name in enumerate(chain.joint_names):
        text.append(f"  {_yaml(name)}:")
        turning = chain.driving_joint(j).kind is JointKind.REVOLUTE
        for kind in ("position", "velocity", "effort"):
            column = found.get(kind, [None] * chain.dof)[j]
            text += _signal(table, kind, column, turning, time, found, j)
    text += [
        "# Each may have: sign: -1, offset: 0.1 (added last), reduction: 100 (motor turns per joint turn),",
        "# gain: 11.5 (N.m or N of one A or permille; needed for currents).",
        "# Where motors move several joints, joint positions = matrix * motor positions:",
        "# coupling:",
        f"#   joints: [{', '.join(map(_yaml, chain.joint_names[-2:]))}]",
        "#   matrix: [[1, 0], [1, 1]]",
    ]
    return "\n".join(text) + "\n"


def _table(lines: list[str], source: str) -> _Table:
    best: _Table | None = None
    for name, separator in SEPARATORS.items():
        split = [
            [cell.strip() for cell in (line.split(separator) if separator else line.split())]
            for line in lines
        ]
        split = [cells[:-1] if len(cells) > 1 and not cells[-1] else cells for cells in split]
        numeric = [bool(cells) and all(map(is_number, cells)) for cells in split]
        counts = Counter(len(cells) for cells, plain in zip(split, numeric, strict=True) if plain)
        width, rows = counts.most_common(1)[0] if counts else (0, 0)
        if width < 2 or rows < 2 or (best is not None and rows * width <= best.values.size):
            continue
        taken = [plain and len(cells) == width for cells, plain in zip(split, numeric, strict=True)]
        first = taken.index(True)
        before = next((k for k in range(first - 1, -1, -1) if any(split[k])), -1)
        header = before >= 0 and len(split[before]) == width and not any(map(is_number, split[before]))
        garbage = [k + 1 for k in range(first, len(lines)) if not taken[k] and any(split[k])]
        if garbage and garbage[-1] == len(lines) and len(split[-1]) < width:
            garbage.pop()  # cut off where the writer was stopped; `read_mapped` leaves it out too
        best = _Table(
            name,
            before if header else first,
            split[before] if header else [str(k + 1) for k in range(width)],
            header,
            np.array(
                [[float(cell) for cell in cells] for cells, row in zip(split, taken, strict=True) if row]
            ),
            garbage,
        )
    if best is None:
        raise LogError(f"{source}: no two rows with the same number of two or more numbers")
    return best


def _without_start(table: _Table, clock: int | None) -> _Table:
    """The table without rows at its start between which the time jumps; they are garbage."""
    if clock is None:
        return table
    steps = np.diff(table.values[:, clock])
    typical = float(np.median(steps))
    jumps = np.flatnonzero(~((steps > 0.0) & (steps < _JUMP * typical))[: max(1, len(steps) // 20)])
    if not len(jumps):
        return table
    begin = int(jumps[-1]) + 1
    skipped = [] if not table.header else list(range(table.skip + 2, table.skip + 2 + begin))
    return replace(
        table,
        skip=table.skip if table.header else table.skip + begin,
        values=table.values[begin:],
        garbage=[*skipped, *table.garbage],
    )


def _seen(table: _Table, clock: int | None, rate: float) -> list[str]:
    lines = [f"# {len(table.values)} rows of {len(table.names)} columns."]
    if clock is not None:
        lines.append(f"# {rate:.4g} rows a second by {table.names[clock]}.")
    if table.garbage:
        listed = ", ".join(map(str, table.garbage[:_SHOWN]))
        lines.append(
            f"# {len(table.garbage)} lines are no rows of numbers, the first: {listed}. Remove them first."
        )
    constant = [table.names[k] for k in np.flatnonzero(np.ptp(table.values, axis=0) == 0.0)]
    if constant:
        lines.append(f"# Constant columns: {shown(*constant)}.")
    return lines


def _time(table: _Table) -> tuple[int | None, str, float]:
    """Column of the time, its unit and the rate of the rows [Hz]."""
    steps = np.diff(table.values, axis=0)
    advancing = (steps > 0.0).mean(axis=0) > 0.98
    typical = np.median(steps, axis=0)
    even = (np.abs(steps - typical) < 0.5 * np.abs(typical)).mean(axis=0) > 0.9
    candidates = [int(k) for k in np.flatnonzero(advancing & even)]
    if not candidates:
        return None, "s", 1.0
    named = [k for k in candidates if re.search(r"time|stamp|(^|_)t(_|$)|sec", table.names[k], re.IGNORECASE)]
    column = (named or candidates)[0]
    step = float(typical[column])
    # States come between 20 and 5000 times a second.
    unit = next((name for name, size in UNITS["time"].items() if 1e-4 < step * size < 0.06), "s")
    return column, unit, 1.0 / (step * UNITS["time"][unit])


def _signals(
    table: _Table, chain: KinematicChain, clock: int | None, time: Array
) -> dict[str, list[int | None]]:
    """Columns of each joint by the kind of signal."""
    found: dict[str, list[int | None]] = {}
    lower = [name.lower() for name in table.names]
    for kind, words in WORDS.items():
        own = [
            [
                k
                for k, name in enumerate(lower)
                if joint.lower() in name and re.search(words, name.replace(joint.lower(), "_"))
            ]
            for joint in chain.joint_names
        ]
        if kind == "position":  # a column that is called as the joint alone
            own = [
                columns or [k for k, name in enumerate(lower) if name.endswith(joint.lower())]
                for columns, joint in zip(own, chain.joint_names, strict=True)
            ]
        if all(len(columns) == 1 for columns in own):
            found[kind] = [columns[0] for columns in own]
    if "position" in found and "effort" in found:
        return found
    groups = _groups(table, chain.dof, clock)
    for kind, words in WORDS.items():
        named = [group for group in groups if all(re.search(words, lower[k]) for k in group)]
        # What is measured goes before what is commanded.
        named.sort(key=lambda group: bool(re.search(r"target|desired|command|ref", lower[group[0]])))
        if named and kind not in found:
            found[kind] = list(named[0])
            groups = [group for group in groups if group != named[0]]
    if "position" not in found:
        _related(table, time, groups, found)
    return found


def _groups(table: _Table, count: int, clock: int | None) -> list[list[int]]:
    """Columns that belong together: names that differ in a number, else as many in a row as joints."""
    stems: dict[str, list[int]] = {}
    if table.header:
        for k, name in enumerate(table.names):
            stems.setdefault(re.sub(r"\d+", "#", name), []).append(k)
        groups = [columns for columns in stems.values() if len(columns) == count]
        if groups:
            return groups
    others = [k for k in range(len(table.names)) if k != clock]
    constant = np.ptp(table.values, axis=0) == 0.0
    varied = [k for k in others if not constant[k]]
    if len(others) % count and not len(varied) % count:
        others = varied  # a constant column, such as a voltage, may stand between those of the joints
    return [others[k : k + count] for k in range(0, len(others) - count + 1, count)]


def _related(table: _Table, time: Array, groups: list[list[int]], found: dict[str, list[int | None]]) -> None:
    """Positions and their velocities by what they are, then efforts as the first that are left."""
    for first, second in itertools.permutations(groups, 2):
        rates = np.gradient(table.values[:, first], time, axis=0)
        values = table.values[:, second]
        alike = np.array([_correlation(*pair) for pair in zip(rates.T, values.T, strict=True)])
        sizes = (np.std(values, axis=0) / np.maximum(np.std(rates, axis=0), 1e-300))[alike > RELATED]
        # Efforts of friction follow the velocity too, but each joint by a factor of its own.
        if np.median(alike) > RELATED and sizes.max() < _SAME_SIZE * sizes.min():
            found["position"], found["velocity"] = list(first), list(second)
            break
    else:
        if groups:
            found["position"] = list(groups[0])
    left = [group for group in groups if group not in (found.get("position"), found.get("velocity"))]
    varied = [group for group in left if np.ptp(table.values[:, group], axis=0).all()]
    if varied and "effort" not in found:
        found["effort"] = list(varied[0])


def _correlation(one: Array, other: Array) -> float:
    one, other = one - one.mean(), other - other.mean()
    return float(one @ other / max(np.linalg.norm(one) * np.linalg.norm(other), 1e-300))


def _signal(
    table: _Table,
    kind: str,
    column: int | None,
    turning: bool,
    time: Array,
    found: dict[str, list[int | None]],
    joint: int,
) -> list[str]:
    if column is None:
        return [] if kind == "velocity" else [f"    {kind}: {{column: '{UNKNOWN}'}}"]
    values = table.values[:, column]
    unit, doubt = _unit(table, kind, column, turning, time, found, joint)
    gain = f", gain: '{UNKNOWN}'" if unit in ("A", "permille") else ""
    seen = f"{values.min():.4g} to {values.max():.4g}" + ("; constant" if np.ptp(values) == 0.0 else "")
    return [f"    {kind}: {{column: {_name(table, column)}, unit: {unit}{gain}}}   # {seen}{doubt}"]


def _unit(
    table: _Table,
    kind: str,
    column: int,
    turning: bool,
    time: Array,
    found: dict[str, list[int | None]],
    joint: int,
) -> tuple[str, str]:
    """Unit of a column, and what makes it doubtful."""
    values = table.values[:, column]
    if kind == "effort":
        if CURRENT.search(table.names[column]):
            return "A", "; a current, by its name: the gain is the N.m of one A"
        return ("N.m" if turning else "N"), "; N.m, A or permille?"
    if not turning:
        return ("m" if kind == "position" else "m/s"), ""
    if kind == "position":
        return ("deg", "; more than four turns if these were rad") if np.ptp(values) > 25.0 else ("rad", "")
    place = found.get("position", [None] * (joint + 1))[joint]
    if place is None:
        return "rad/s", ""
    rate = np.gradient(table.values[:, place], time)
    ratio = float(np.abs(values).mean() / max(np.abs(rate).mean(), 1e-300))
    in_degrees = np.ptp(table.values[:, place]) > 25.0
    unit = "deg/s" if (ratio > 7.0) != in_degrees else "rad/s"
    expected = (1.0 if unit == "rad/s" else _DEGREES) / (_DEGREES if in_degrees else 1.0)
    doubt = "" if 0.5 < ratio / expected < 2.0 else f"; {ratio / expected:.3g} times the rate of the position"
    return unit, doubt


def _name(table: _Table, column: int) -> str:
    return _yaml(table.names[column]) if table.header else str(column + 1)


def _yaml(text: str) -> str:
    """A text as YAML writes it in one line."""
    return str(yaml.safe_dump(text, default_flow_style=True, width=1000, allow_unicode=True)).split("\n")[0]
