"""A table of Denavit-Hartenberg parameters in one of the two conventions.

Between two rows both conventions do the same four elementary motions; they differ in where a row begins:

    modified (Craig, Khalil-Kleinfinger):  Rx(alpha) Tx(a) Rz(theta) Tz(d)
    standard (Denavit-Hartenberg, Paul):   Rz(theta) Tz(d) Tx(a) Rx(alpha)
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from robot_dynamics.errors import ParameterError, escaped, quoted, shown
from robot_dynamics.inputs.arrays import joint_vector, one_of
from robot_dynamics.inputs.records import a, check_fields, index, numbers, or_none, several, text
from robot_dynamics.inputs.records import number as finite_number
from robot_dynamics.model.chain import JointKind
from robot_dynamics.spatial import Array, about_x, about_z, rpy_from_rotation

_PRODUCT = {
    "modified": "Rx(alpha) Tx(a) Rz(theta) Tz(d)",
    "standard": "Rz(theta) Tz(d) Tx(a) Rx(alpha)",
}
CONVENTIONS = tuple(_PRODUCT)
_HEADER = ("row", "joint", "type", "alpha [deg]", "a [m]", "theta [deg]", "d [m]")
_PARAMETERS = ("alpha_rad", "a_m", "theta_rad", "d_m", "coordinate", "multiplier")
_PLACE = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")
_SHOWN = 1e-9  # what is smaller [deg or m] is shown as zero


def check_convention(convention: str) -> None:
    """Refuse anything but the two conventions.

    Raises:
        ParameterError: neither ``modified`` nor ``standard``.
    """
    one_of("convention", convention, CONVENTIONS, ParameterError)


_ROW = {
    "joint": or_none(text),
    "link": text,
    "kind": or_none(a(JointKind)),
    "alpha": finite_number,
    "a": finite_number,
    "theta": finite_number,
    "d": finite_number,
    "coordinate": or_none(index),
    "multiplier": finite_number,
    "link_pose": numbers(4, 4),
}


@dataclass(frozen=True)
class DHRow:
    """One row of the table.

    A revolute row turns by ``theta + multiplier * q[coordinate]``, a prismatic one slides by
    ``d + multiplier * q[coordinate]``; ``theta`` and ``d`` are what remains at q = 0, joint offset included.
    z always points along the joint's own axis, so ``multiplier`` is 1 unless the joint is a mimic, and an
    antiparallel axis shows as an ``alpha`` of π.

    Attributes:
        joint: name of the joint; None for an auxiliary row, which moves nothing.
        link: name of the link that the row's frame is fixed to.
        kind: revolute or prismatic; None for an auxiliary row.
        alpha: angle between the two z axes, about x [rad].
        a: distance between the two z axes, along x [m].
        theta: angle between the two x axes, about z, at q = 0 [rad].
        d: distance between the two x axes, along z, at q = 0 [m].
        coordinate: index into ``q``; None for an auxiliary row.
        multiplier: see above.
        link_pose: (4, 4) constant pose of the row's frame in the URDF frame of ``link``.
    """

    joint: str | None
    link: str
    kind: JointKind | None
    alpha: float
    a: float
    theta: float
    d: float
    coordinate: int | None
    multiplier: float
    link_pose: Array

    def __post_init__(self) -> None:
        check_fields(self, _ROW, ParameterError)

    @property
    def type_name(self) -> str:
        """``revolute``, ``prismatic`` or ``auxiliary``."""
        return "auxiliary" if self.kind is None else self.kind.value

    @property
    def offset(self) -> float:
        """Constant part of the row's joint variable: of ``d`` if prismatic, else of ``theta``."""
        return self.d if self.kind is JointKind.PRISMATIC else self.theta

    def transform(self, q: Array, convention: str) -> Array:
        """(4, 4) pose of this row's frame in the frame before it at coordinates ``q`` (n,)."""
        theta, d = self.theta, self.d
        if self.coordinate is not None:
            moved = self.multiplier * q[self.coordinate]
            theta, d = (theta, d + moved) if self.kind is JointKind.PRISMATIC else (theta + moved, d)
        along_z, along_x = about_z(theta, d), about_x(self.alpha, self.a)
        return np.asarray(along_x @ along_z if convention == "modified" else along_z @ along_x)


_TABLE = {
    "robot": text,
    "root": text,
    "tip": text,
    "convention": text,
    "joint_names": several(text),
    "rows": several(a(DHRow)),
    "base": numbers(4, 4),
    "tool": numbers(4, 4),
    "residual": finite_number,
}


@dataclass(frozen=True)
class DHTable:
    """Denavit-Hartenberg parameters of a serial chain.

    ``pose of tip in root = base · row 1 · row 2 ... · tool``

    Attributes:
        robot: name of the robot.
        root: name of the link in whose frame ``base`` is given.
        tip: name of the link whose frame ``tool`` leads to.
        convention: ``modified`` or ``standard``.
        joint_names: the joints that ``q`` belongs to, in order.
        rows: one per moving joint, mimic joints included, and an auxiliary row where two axes are parallel so
            nearly that their common normal cannot be expressed (see ``dh_parameters``).
        base: (4, 4) pose of frame 0 in the root frame.
        tool: (4, 4) pose of the tip frame in the last row's frame.
        residual: largest difference found between the table's and the chain's pose of the tip, over its
            entries (position in m).
    """

    robot: str
    root: str
    tip: str
    convention: str
    joint_names: tuple[str, ...]
    rows: tuple[DHRow, ...]
    base: Array
    tool: Array
    residual: float = 0.0

    def __post_init__(self) -> None:
        check_convention(self.convention)
        check_fields(self, _TABLE, ParameterError)
        for row in self.rows:
            if row.coordinate is not None and not 0 <= row.coordinate < self.dof:
                raise ParameterError(
                    f"the row of joint {quoted(row.joint)} has coordinate {quoted(row.coordinate)};"
                    f" joint_names has {self.dof}"
                )

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return len(self.joint_names)

    def forward_kinematics(self, q: Array) -> Array:
        """(4, 4) pose of the tip frame in the root frame at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` has the wrong length or is not finite.
        """
        return np.asarray(self.frames(q)[-1] @ self.tool)

    def frames(self, q: Array) -> tuple[Array, ...]:
        """(4, 4) poses in the root frame of frame 0 and of every row's frame at coordinates ``q`` (n,).

        Raises:
            StateError: ``q`` has the wrong length or is not finite.
        """
        q = joint_vector("q", q, self.joint_names)
        frames = [self.base]
        for row in self.rows:
            frames.append(frames[-1] @ row.transform(q, self.convention))
        return tuple(frames)

    def __repr__(self) -> str:
        return f"<DHTable {self._title()}, {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return html_table(self._title(), self._cells(), self._below())

    def text(self) -> str:
        """The table for reading: degrees and metres, aligned, with base and tool."""
        cells = [tuple(shown(cell) for cell in line) for line in self._cells()]
        columns = aligned(cells, left=(1, 2))
        lines = [self._title(), f"each row: {_PRODUCT[self.convention]}", "", *columns, "", *self._below()]
        return escaped("\n".join(lines)) + "\n"

    def json(self) -> str:
        """The table as JSON, every number with all its digits (rad, m), poses as 4x4 row-major matrices."""
        return json.dumps(self.document(), indent=2) + "\n"

    def document(self) -> dict[str, Any]:
        """Content of :meth:`json`."""
        return {
            "robot": self.robot,
            "root": self.root,
            "tip": self.tip,
            "convention": self.convention,
            "row_transform": _PRODUCT[self.convention],
            "units": {"angle": "rad", "length": "m"},
            "joint_names": list(self.joint_names),
            "base": self.base.tolist(),
            "rows": [
                {
                    "joint": row.joint,
                    "link": row.link,
                    "type": row.type_name,
                    "alpha": row.alpha,
                    "a": row.a,
                    "theta": row.theta,
                    "d": row.d,
                    "coordinate": row.coordinate,
                    "multiplier": row.multiplier,
                    "link_pose": row.link_pose.tolist(),
                }
                for row in self.rows
            ],
            "tool": self.tool.tolist(),
            "residual": self.residual,
        }

    def csv(self) -> str:
        """The table as CSV, every number with all its digits (rad, m); first row base, last row tool.

        The pose in a row is that of its frame in the URDF frame of its link.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        empty = [""] * len(_PARAMETERS)
        writer.writerow(("joint", "type", *_PARAMETERS, *_PLACE))
        writer.writerow(("", "base", *empty, *pose_numbers(self.base)))
        for row in self.rows:
            coordinate = "" if row.coordinate is None else shown(self.joint_names[row.coordinate])
            numbers = (repr(float(number)) for number in (row.alpha, row.a, row.theta, row.d))
            multiplier = "" if row.coordinate is None else repr(row.multiplier)
            place = pose_numbers(row.link_pose)
            writer.writerow((shown(row.joint or ""), row.type_name, *numbers, coordinate, multiplier, *place))
        writer.writerow(("", "tool", *empty, *pose_numbers(self.tool)))
        return stream.getvalue()

    def _title(self) -> str:
        robot, root, tip = shown(self.robot), shown(self.root), shown(self.tip)
        return f"{robot}: {root} -> {tip}, {self.convention} DH parameters"

    def _cells(self) -> list[tuple[str, ...]]:
        """The header and one line per row, for reading."""
        lines: list[tuple[str, ...]] = [_HEADER]
        for count, row in enumerate(self.rows, 1):
            theta, d = degrees(row.theta), number(row.d)
            if row.coordinate is not None and row.kind is JointKind.PRISMATIC:
                d = with_variable(row.multiplier, row.coordinate, d)
            elif row.coordinate is not None:
                theta = with_variable(row.multiplier, row.coordinate, theta)
            cells = (row.joint or "-", row.type_name, degrees(row.alpha), number(row.a), theta, d)
            lines.append((str(count), *cells))
        return lines

    def _below(self) -> list[str]:
        """Coordinates, base, tool and residual, for reading."""
        return [
            *(f"q{count} = {name}" for count, name in enumerate(self.joint_names, 1)),
            "",
            pose_line(f"base, {self.root} -> frame 0", self.base),
            pose_line(f"tool, frame {len(self.rows)} -> {self.tip}", self.tool),
            "",
            f"largest difference from the URDF's forward kinematics: {self.residual:.1e}",
        ]


def tables_text(tables: Sequence[DHTable]) -> str:
    """Tables for reading, one below the other; see :meth:`DHTable.text`."""
    return "\n".join(table.text() for table in tables)


def tables_json(tables: Sequence[DHTable]) -> str:
    """JSON of one table, or of several a list of them; see :meth:`DHTable.json`."""
    if len(tables) == 1:
        return tables[0].json()
    return json.dumps([table.document() for table in tables], indent=2) + "\n"


def number(value: float) -> str:
    """Nine digits of ``value``."""
    return "0" if abs(value) < _SHOWN else f"{value:.9g}"


def degrees(angle: float) -> str:
    """Nine digits of ``angle`` [rad] in degrees."""
    return number(np.rad2deg(angle))


def with_variable(multiplier: float, coordinate: int, constant: str) -> str:
    """``multiplier`` q_k + ``constant``, coordinates counted from 1."""
    name = f"q{coordinate + 1}"
    if multiplier != 1.0:
        name = f"-{name}" if multiplier == -1.0 else f"{number(multiplier)} {name}"
    if constant == "0":
        return name
    return f"{name} - {constant[1:]}" if constant.startswith("-") else f"{name} + {constant}"


def pose_line(label: str, pose: Array) -> str:
    """One line for a (4, 4) pose: position [m] and roll, pitch, yaw [deg]."""
    position = " ".join(number(value) for value in pose[:3, 3])
    angles = " ".join(degrees(angle) for angle in rpy_from_rotation(pose[:3, :3]))
    return f"{label}: xyz [m] {position}, rpy [deg] {angles}"


def pose_numbers(pose: Array) -> list[str]:
    """x, y, z [m], roll, pitch, yaw [rad] of a (4, 4) pose with all their digits."""
    return [repr(float(value)) for value in (*pose[:3, 3], *rpy_from_rotation(pose[:3, :3]))]


def aligned(lines: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """``lines`` of cells with the columns aligned: those in ``left`` to the left, the others to the right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def html_table(caption: str, lines: Sequence[Sequence[str]], below: Sequence[str]) -> str:
    """``lines`` of cells, the first of them the header, as an HTML table with lines of text below."""
    header, *body = ([escape(cell) for cell in line] for line in lines)
    head = "".join(f"<th>{cell}</th>" for cell in header)
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in body)
    text = "<br>".join(escape(line) for line in below)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table><p>{text}</p>"
    )
