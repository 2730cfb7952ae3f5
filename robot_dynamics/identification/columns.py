"""Logs of any form: which column holds what, in which unit, and how motors move joints.

A mapping file says how rows are written, and for each joint where its position, velocity and effort are:

    position = sign · unit · value / reduction + offset        effort = sign · unit · gain · value

A gain may have a standard deviation, ``gain_deviation`` in its own unit.

Where motors move several joints, positions, velocities and efforts are of the motors first. Joint positions
are C times motor positions, so joint efforts are C⁻ᵀ times motor efforts, because the power is the same.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import yaml

from robot_dynamics.errors import LogError, quoted, shown
from robot_dynamics.identification.logs import Log
from robot_dynamics.inputs.decimals import decimal
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.tables import numbers, rows
from robot_dynamics.spatial import Array

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": None}
UNKNOWN = "???"
"""Entry of `inspect_log` without a guess."""
_TURN, _DEGREE = 2.0 * np.pi, np.pi / 180.0
UNITS: dict[str, dict[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "position": {"rad": 1.0, "deg": _DEGREE, "mrad": 1e-3, "rev": _TURN, "m": 1.0, "mm": 1e-3},
    "velocity": {
        "rad/s": 1.0, "deg/s": _DEGREE, "mrad/s": 1e-3, "rev/s": _TURN, "rpm": _TURN / 60.0, "m/s": 1.0,
        "mm/s": 1e-3,
    },
    "effort": {
        "N.m": 1.0, "N·m": 1.0, "Nm": 1.0, "mN.m": 1e-3, "N": 1.0, "A": 1.0, "mA": 1e-3, "permille": 1.0,
        "percent": 1.0,
    },
}  # fmt: skip
NO_EFFORTS = ("A", "mA", "permille", "percent")
"""Units of efforts that need a gain."""
_SETTINGS = ("column", "unit", "sign", "offset", "reduction", "gain", "gain_deviation")


@dataclass(frozen=True)
class LogSource:
    """Source of a joint's signal: value · factor + offset.

    Attributes:
        column: name, or number from 1 on where the rows have no names.
        factor: to rad or m, rad/s or m/s, N·m or N.
        offset: of a position.
        deviation: relative standard deviation of an effort's gain.
    """

    column: str
    factor: float
    offset: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True)
class LogColumns:
    """Content of a mapping file.

    Attributes:
        separator: a character, or None for any blank space.
        skip: lines before the names or the first row.
        header: whether the first row names the columns.
        time: where the time is; None where ``rate`` is given.
        rate: of the rows [Hz].
        joints: position, velocity and effort of each joint, by its name; velocity may be missing.
        coupling: C (n, n) in the order of ``joints``.
    """

    separator: str | None
    skip: int
    header: bool
    time: LogSource | None
    rate: float
    joints: Mapping[str, Mapping[str, LogSource]]
    coupling: Array


def read_columns(path: str, joint_names: Sequence[str]) -> LogColumns:
    """The mapping in a file.

    Args:
        path: of the YAML file.
        joint_names: the joints that must have an entry.

    Raises:
        LogError: the file cannot be read, or says something else; the message says where.
    """
    return columns_of(read_yaml(path, "mapping file", LogError), path, joint_names)


def columns_of(document: Mapping[str, Any], path: str, joint_names: Sequence[str]) -> LogColumns:
    """The mapping in a document; arguments and errors as of `read_columns`."""
    given = _Section(path, document, ("rows", "time", "joints", "coupling"))
    form = given.section("rows", ("separator", "skip", "header"))
    separator = form.choice("separator", tuple(SEPARATORS), "comma")
    clock = given.section("time", ("column", "unit", "rate"))
    rate = clock.number("rate", 0.0)
    if ("column" in clock.values) == (rate > 0.0):
        raise LogError(f"{path}: time needs either a column or a rate [Hz] above 0")
    time = clock.source("time") if "column" in clock.values else None
    joints = given.section("joints")
    missing = [name for name in joint_names if name not in joints.values]
    if missing:
        raise LogError(f"{path}: joints has no {shown(*missing)}")
    sources = {}
    for name in joint_names:
        joint = joints.section(name, ("position", "velocity", "effort"))
        sources[name] = {
            kind: joint.section(kind, _SETTINGS).source(kind)
            for kind in ("position", "velocity", "effort")
            if kind != "velocity" or kind in joint.values
        }
    skip = form.number("skip", 0.0)
    if skip < 0.0 or skip != int(skip):
        raise LogError(f"{path}: rows: skip is {skip:g}; it must be a number of lines")
    header = form.values.get("header", True)
    if not isinstance(header, bool):
        raise LogError(f"{path}: rows: header is {quoted(header)}; it must be true or false")
    return LogColumns(
        SEPARATORS[separator], int(skip), header, time, rate, sources, _coupling(given, tuple(joint_names))
    )


def with_gains(path: str | None, joint_names: Sequence[str], factors: Array, deviations: Array) -> str:
    """A mapping file whose gains are multiplied by factors.

    Args:
        path: of the mapping file with the gains as they were; None for CSV files and bags that need none.
        joint_names: the joints, in the order of the others.
        factors: (n,) of the gains; 1 for those that stay, whose deviation stays with them.
        deviations: (n,) relative standard deviations of the others.

    Raises:
        LogError: the file cannot be read, or its motors are coupled.
    """
    document: dict[str, Any]
    if path is None:
        named = {
            name: {"position": {"column": f"{name}.position"}, "effort": {"column": f"{name}.effort"}}
            for name in joint_names
        }
        document = {"time": {"column": "time"}, "joints": named}
    else:
        document = dict(read_yaml(path, "mapping file", LogError))
    if "coupling" in document:
        raise LogError(f"{path}: gains of coupled motors are not separable from efforts of their joints")
    for name, factor, deviation in zip(joint_names, factors.tolist(), deviations.tolist(), strict=True):
        if factor != 1.0:
            effort = document["joints"][name]["effort"]
            gain = float(f"{factor * effort.get('gain', 1.0):.6g}")
            effort.update(gain=gain, gain_deviation=float(f"{deviation * abs(gain):.3g}"))
    return str(
        yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    )


def _coupling(given: _Section, names: tuple[str, ...]) -> Array:
    matrix = np.eye(len(names))
    if "coupling" not in given.values:
        return matrix
    section = given.section("coupling", ("joints", "matrix"))
    chosen, entries = section.values.get("joints"), section.values.get("matrix")
    where = f"{given.path}: coupling"
    if not isinstance(chosen, list) or not chosen or not set(map(str, chosen)) <= set(names):
        raise LogError(f"{where}: joints must list some of {shown(*names)}")
    try:
        part = np.array(entries, dtype=float)
    except (TypeError, ValueError):
        part = np.zeros(0)
    if part.shape != (len(chosen), len(chosen)) or not np.isfinite(part).all():
        raise LogError(f"{where}: matrix must have {len(chosen)} rows of {len(chosen)} numbers")
    if abs(np.linalg.det(part)) < 1e-9:
        raise LogError(f"{where}: matrix is singular, so motors do not determine the joints")
    places = [names.index(str(name)) for name in chosen]
    matrix[np.ix_(places, places)] = part
    return matrix


@dataclass(frozen=True)
class _Section:
    """A mapping of the file, with its place for messages."""

    path: str
    values: Mapping[str, Any]
    allowed: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        unknown = sorted(set(self.values) - set(self.allowed)) if self.allowed else []
        if unknown and self.allowed:
            raise LogError(f"{self.path}: unknown {shown(*unknown)}; there are {shown(*self.allowed)}")

    def section(self, name: str, allowed: tuple[str, ...] | None = None) -> _Section:
        """The mapping below ``name``; an empty one for what may be missing."""
        below = self.values.get(name)
        if below is None and name == "rows":
            below = {}
        if not isinstance(below, Mapping):
            raise LogError(f"{self.path}: no mapping {name}")
        return _Section(f"{self.path}: {name}", below, allowed)

    def number(self, name: str, default: float) -> float:
        """A finite number."""
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise LogError(f"{self.path}: {name} is {quoted(value)}; it must be a number")
        return float(value)

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of some words."""
        value = self.values.get(name, default)
        if value not in choices:
            raise LogError(f"{self.path}: {name} is {quoted(value)}; choices are {shown(*choices)}")
        return str(value)

    def source(self, kind: str) -> LogSource:
        """Place of a signal."""
        column = self.values.get("column")
        if column is None or column == UNKNOWN or isinstance(column, bool | list | Mapping):
            raise LogError(f"{self.path}: column is {quoted(column)}; give its name, or its number from 1 on")
        units = UNITS[kind]
        unit = self.choice("unit", tuple(units), next(iter(units)))
        sign = self.number("sign", 1.0)
        if sign not in (1.0, -1.0):
            raise LogError(f"{self.path}: sign is {sign:g}; it must be 1 or -1")
        factor = sign * units[unit]
        if kind == "effort":
            if unit in NO_EFFORTS and "gain" not in self.values:
                raise LogError(f"{self.path}: a value in {unit} needs a gain, the N·m or N of one {unit}")
            per = 1.0 if unit != "mA" else 1e3  # a gain counts for the unit that is given
            factor *= per * self.number("gain", 1.0)
        reduction = self.number("reduction", 1.0)
        if not abs(factor) > 0.0 or not abs(reduction) > 0.0:
            raise LogError(f"{self.path}: gain and reduction must not be zero")
        deviation = self.number("gain_deviation", 0.0)
        if deviation < 0.0:
            raise LogError(f"{self.path}: gain_deviation is {deviation:g}; it must not be negative")
        name = str(int(column)) if isinstance(column, int | float) else str(column)
        relative = deviation / abs(self.number("gain", 1.0)) if kind == "effort" else 0.0
        return LogSource(name, factor / reduction, self.number("offset", 0.0), relative)


def read_mapped(lines: Iterable[str], columns: LogColumns, source: str) -> Log:
    """The motion in the lines of a text file.

    Raises:
        LogError: a column is missing, or there are no rows.
        StateError: an entry that is not a finite number, a row that is too long or too short.
    """
    reader = separated(itertools.islice(lines, columns.skip, None), columns.separator, source, columns.skip)
    first = next(reader, None)
    if first is None:
        raise LogError(f"{source}: no rows after {columns.skip} lines")
    header = first[1] if columns.header else [str(k + 1) for k in range(len(first[1]))]
    if not columns.header:
        reader = itertools.chain([first], reader)
    places = {name: index for index, name in enumerate(header)}
    needed = [part.column for signals in columns.joints.values() for part in signals.values()]
    needed += [columns.time.column] if columns.time else []
    missing = [name for name in dict.fromkeys(needed) if name not in places]
    if missing:
        raise LogError(f"{source}: no column {shown(*missing)}; columns found: {shown(*header)}")
    entries = array("d")
    for row in numbers(_complete(reader, len(header)), header, {places[name] for name in needed}, source):
        entries.extend(row)
    values = np.frombuffer(entries).reshape(-1, len(header))

    def taken(part: LogSource | None) -> Array:
        if part is None:
            return np.full(len(values), np.nan)
        return np.asarray(part.factor * values[:, places[part.column]] + part.offset)

    motors = [
        np.stack([taken(signals.get(kind)) for signals in columns.joints.values()], axis=1)
        for kind in ("position", "velocity", "effort")
    ]
    time = taken(columns.time) if columns.time else np.arange(len(values)) / columns.rate
    log = Log(source, tuple(columns.joints), time, *motors)
    return _joints(log, columns)


def _complete(reader: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
    """The rows without a last one that is shorter: a log whose writer was stopped."""
    before: tuple[int, list[str]] | None = None
    for row in reader:
        if before is not None:
            yield before
        before = row
    if before is not None and len(before[1]) >= width:
        yield before


def mapped_log(log: Log, columns: LogColumns) -> Log:
    """A log of a bag whose columns are called JOINT.position, JOINT.velocity and JOINT.effort."""
    parts = {}
    for kind, values in (("position", log.q), ("velocity", log.qd), ("effort", log.effort)):
        result = np.full_like(values, np.nan)
        for j, signals in enumerate(columns.joints.values()):
            if kind in signals:
                result[:, j] = signals[kind].factor * values[:, j] + signals[kind].offset
        parts[kind] = result
    mapped = Log(
        log.source, tuple(columns.joints), log.time, parts["position"], parts["velocity"], parts["effort"]
    )
    return _joints(mapped, columns)


def names_in_bag(columns: LogColumns) -> tuple[str, ...]:
    """The names that joints have in a bag, from columns such as ``left_elbow.position``."""
    return tuple(signals["position"].column.removesuffix(".position") for signals in columns.joints.values())


def _joints(motors: Log, columns: LogColumns) -> Log:
    """The motion of joints from that of the motors that move them."""
    coupling = columns.coupling
    efforts = np.linalg.solve(coupling.T, motors.effort.T).T
    own = np.array([signals["effort"].deviation for signals in columns.joints.values()])
    # Motors that share joints: the least certain gain counts for each of these.
    shared = np.abs(np.linalg.inv(coupling.T)) > 1e-12
    deviation = np.max(np.where(shared, own, 0.0), axis=1)
    coupled = not np.array_equal(coupling, np.eye(len(coupling)))
    return replace(
        motors,
        q=motors.q @ coupling.T,
        qd=motors.qd @ coupling.T,
        effort=efforts,
        gain_deviation=deviation,
        coupling=coupling if coupled else None,
    )


def separated(
    lines: Iterable[str], separator: str | None, source: str, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text and the number of each one's line; ``before`` lines came earlier."""
    if separator == ",":
        for number, cells in rows(lines, source):
            yield before + number, _trimmed(cells)
        return
    for number, line in enumerate(lines, before + 1):
        cells = line.split() if separator is None else [cell.strip() for cell in line.split(separator)]
        yield number, _trimmed(cells)


def _trimmed(cells: list[str]) -> list[str]:
    """The cells without an empty one that a separator at the end leaves."""
    cells = [cell.strip() for cell in cells]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


def is_number(text: str) -> bool:
    """True if a cell holds a finite number."""
    try:
        return bool(np.isfinite(decimal(text)))
    except ValueError:
        return False
