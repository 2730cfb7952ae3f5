"""Small vector algebra on expressions; a vector is a list of three."""

from __future__ import annotations

from typing import TypeAlias

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.links import GeneratorLink

Vector: TypeAlias = list[Expression]
Tensor: TypeAlias = list[Vector]


def add(u: Vector, v: Vector) -> Vector:
    """Sum of two vectors."""
    return [x + y for x, y in zip(u, v, strict=True)]


def scaled(factor: Expression | float, v: Vector) -> Vector:
    """Multiple of a vector."""
    return [factor * x for x in v]


def to_turned(c: Expression, s: Expression, v: Vector) -> Vector:
    """Components in a frame turned about z by the angle with cosine ``c`` and sine ``s``."""
    return [c * v[0] + s * v[1], c * v[1] - s * v[0], v[2]]


def from_turned(c: Expression, s: Expression, v: Vector) -> Vector:
    """Components in the frame from which the turned one started."""
    return [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]


def to_entry(link: GeneratorLink, v: Vector) -> Vector:
    """Components in frame i-1 turned by gamma about z and alpha about x."""
    ca, sa = link.cos_alpha, link.sin_alpha
    if link.gamma:
        v = [
            link.cos_gamma * v[0] + link.sin_gamma * v[1],
            link.cos_gamma * v[1] - link.sin_gamma * v[0],
            v[2],
        ]
    return [v[0], ca * v[1] + sa * v[2], ca * v[2] - sa * v[1]]


def from_entry(link: GeneratorLink, v: Vector) -> Vector:
    """Components in frame i-1 from those in the frame turned by gamma about z and alpha about x."""
    ca, sa = link.cos_alpha, link.sin_alpha
    v = [v[0], ca * v[1] - sa * v[2], sa * v[1] + ca * v[2]]
    if link.gamma:
        v = [
            link.cos_gamma * v[0] - link.sin_gamma * v[1],
            link.sin_gamma * v[0] + link.cos_gamma * v[1],
            v[2],
        ]
    return v


def along_a(link: GeneratorLink, tensor: Tensor) -> Vector:
    """A tensor of frame i-1 times the unit vector along a."""
    if link.gamma:
        return [link.cos_gamma * row[0] + link.sin_gamma * row[1] for row in tensor]
    return [row[0] for row in tensor]


def tensor_at_entry(link: GeneratorLink, b: Tensor) -> Tensor:
    """Entries of a tensor in the frame turned by gamma and alpha, multiples of pi/2: a signed permutation."""
    if link.gamma:
        c, s = link.cos_gamma, link.sin_gamma
        turns = [(0, c) if c else (1, s), (1, c) if c else (0, -s), (2, 1.0)]
        b = [[b[i][j] * (p * r) for j, r in turns] for i, p in turns]
    cosine, sine = link.cos_alpha, link.sin_alpha
    axes = [(0, 1.0), (1, cosine) if cosine else (2, sine), (2, cosine) if cosine else (1, -sine)]
    return [[b[i][j] * (p * r) for j, r in axes] for i, p in axes]
