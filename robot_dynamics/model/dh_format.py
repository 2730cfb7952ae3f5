"""Numbers, poses and columns for reading, as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from robot_dynamics.spatial import Array, rpy_from_rotation

_SHOWN = 1e-9  # what is smaller [deg or m] is shown as zero


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
