"""Writes a table of Denavit-Hartenberg parameters as text, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.model.chain import JointKind
from robot_dynamics.spatial import Array, rpy_from_rotation

if TYPE_CHECKING:
    from robot_dynamics.model.dh_table import DHRow, DHTable

_PRODUCT = {
    "modified": "Rx(alpha) Tx(a) Rz(theta) Tz(d)",
    "standard": "Rz(theta) Tz(d) Tx(a) Rx(alpha)",
}
_SHOWN = 1e-9  # what is smaller [deg or m] is shown as zero in the text


def text(table: DHTable) -> str:
    """Aligned columns in degrees and metres."""
    header = ("row", "joint", "type", "alpha [deg]", "a [m]", "theta [deg]", "d [m]")
    body = [_text_row(number, row) for number, row in enumerate(table.rows, 1)]
    widths = [max(len(line[k]) for line in (header, *body)) for k in range(len(header))]
    lines = [
        f"{table.robot}: {table.root} -> {table.tip}, {table.convention} DH parameters",
        f"each row: {_PRODUCT[table.convention]}",
        "",
    ]
    for line in (header, *body):
        cells = (
            cell.ljust(width) if k in (1, 2) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    lines += ["", *(f"q{number} = {name}" for number, name in enumerate(table.joint_names, 1)), ""]
    lines += [_text_pose(f"base, {table.root} -> frame 0", table.base)]
    lines += [_text_pose(f"tool, frame {len(table.rows)} -> {table.tip}", table.tool)]
    lines += ["", f"largest difference from the URDF's forward kinematics: {table.residual:.1e}"]
    return "\n".join(lines) + "\n"


def json_text(table: DHTable) -> str:
    """A JSON object; angles in rad, lengths in m, poses as 4x4 row-major matrices."""
    document: dict[str, Any] = {
        "robot": table.robot,
        "root": table.root,
        "tip": table.tip,
        "convention": table.convention,
        "row_transform": _PRODUCT[table.convention],
        "units": {"angle": "rad", "length": "m"},
        "joint_names": list(table.joint_names),
        "base": table.base.tolist(),
        "rows": [
            {
                "joint": row.joint,
                "link": row.link,
                "type": _kind(row),
                "alpha": row.alpha,
                "a": row.a,
                "theta": row.theta,
                "d": row.d,
                "coordinate": row.coordinate,
                "multiplier": row.multiplier,
                "link_pose": row.link_pose.tolist(),
            }
            for row in table.rows
        ],
        "tool": table.tool.tolist(),
        "residual": table.residual,
    }
    return json.dumps(document, indent=2) + "\n"


def csv_text(table: DHTable) -> str:
    """One line per row, between a line for the base and one for the tool (x, y, z, roll, pitch, yaw)."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    parameters = ("alpha_rad", "a_m", "theta_rad", "d_m", "coordinate", "multiplier")
    place = ("x_m", "y_m", "z_m", "roll_rad", "pitch_rad", "yaw_rad")
    writer.writerow(("joint", "type", *parameters, *place))
    writer.writerow(("", "base", *[""] * len(parameters), *_place(table.base)))
    for row in table.rows:
        coordinate = "" if row.coordinate is None else table.joint_names[row.coordinate]
        numbers = (repr(float(number)) for number in (row.alpha, row.a, row.theta, row.d))
        multiplier = "" if row.coordinate is None else repr(row.multiplier)
        writer.writerow((row.joint or "", _kind(row), *numbers, coordinate, multiplier, *[""] * len(place)))
    writer.writerow(("", "tool", *[""] * len(parameters), *_place(table.tool)))
    return stream.getvalue()


def _kind(row: DHRow) -> str:
    return "auxiliary" if row.kind is None else row.kind.value


def _place(pose: Array) -> list[str]:
    return [repr(float(number)) for number in (*pose[:3, 3], *rpy_from_rotation(pose[:3, :3]))]


def _text_row(number: int, row: DHRow) -> tuple[str, ...]:
    theta, d = _number(np.rad2deg(row.theta)), _number(row.d)
    if row.coordinate is not None:
        variable = _variable(row)
        if row.kind is JointKind.PRISMATIC:
            d = _sum(variable, d)
        else:
            theta = _sum(variable, theta)
    return (
        str(number),
        row.joint or "-",
        _kind(row),
        _number(np.rad2deg(row.alpha)),
        _number(row.a),
        theta,
        d,
    )


def _variable(row: DHRow) -> str:
    assert row.coordinate is not None
    name = f"q{row.coordinate + 1}"
    if row.multiplier == 1.0:
        return name
    return f"-{name}" if row.multiplier == -1.0 else f"{_number(row.multiplier)} {name}"


def _sum(variable: str, constant: str) -> str:
    if constant == "0":
        return variable
    return f"{variable} - {constant[1:]}" if constant.startswith("-") else f"{variable} + {constant}"


def _number(value: float) -> str:
    return "0" if abs(value) < _SHOWN else f"{value:.9g}"


def _text_pose(label: str, pose: Array) -> str:
    position = " ".join(_number(number) for number in pose[:3, 3])
    angles = " ".join(_number(np.rad2deg(number)) for number in rpy_from_rotation(pose[:3, :3]))
    return f"{label}: xyz [m] {position}, rpy [deg] {angles}"
