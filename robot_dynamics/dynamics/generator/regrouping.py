"""Regrouping of inertial parameters: exchanges of mass between links that leave the motion as it is.

Revolute joint i: whatever lies on its axis belongs to link i or to link i-1 alike. In frame i that is the
part of the pseudo-inertia with the entries zz, z and 1 (J_zz, s_z, m); in frame i-1 it is T P T^T for all
theta. With all of it given to link i-1 there remain J_xx, J_xy, J_xz, J_yy, J_yz, s_x, s_y: with no mass
left the force of link i is b s alone (Renaud's augmented bodies). A part of the mass kept at the origin of
frame i may instead clear a first moment of link i-1: m p replaces the moment s, and the moment p x m b p
comes with the force at the joint for nothing.

Prismatic joint i: both links have the same angular motion, so all of J belongs to link i-1.

Second run of axes: when the first run's axes stand at right angles to the second's, a distribution
k (xx + yy) in a link of the second run acts only through constant inertias, k on the first axle and 2k on the
second: its angular momentum is k (omega + omega_z z), whose rate has no velocity terms along either axle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics.generator.choices import Choices, Isotropic, LinkChoice, PointMass, Turn
from robot_dynamics.dynamics.generator.links import GeneratorLink, leaves, parallel_runs
from robot_dynamics.spatial import Array

# A point mass, or its second moment, that is so many times the robot's largest makes rounding errors grow.
_LARGEST = 1e3


def regrouped(links: tuple[GeneratorLink, ...], choices: Choices) -> tuple[GeneratorLink, ...]:
    """The links with their parameters placed as ``choices`` says."""
    placed = list(links)
    mass, second_moment = _largest(links)
    for index in range(len(links) - 1, -1, -1):
        link = placed[index]
        if link.parent < 0:
            continue
        if link.revolute:
            rule = choices.links[index].point_mass
            pair = _move_axis(link, placed[link.parent], rule, mass, second_moment)
        else:
            pair = _move_inertia(link, placed[link.parent])
        placed[index], placed[link.parent] = pair
    _move_isotropic(placed, choices.links)
    for index in leaves(links):
        placed[index] = turned(placed[index], choices.links[index].turn)
    return tuple(placed)


def _largest(links: Sequence[GeneratorLink]) -> tuple[float, float]:
    """Bounds of a point mass and of its second moment; links that are regrouped already may have no mass."""
    length = max(float(np.linalg.norm(link.pose_at(0.0)[:3, 3])) for link in links)
    moments = [max(float(np.max(np.abs(link.pseudo[row, :3]))) for link in links) for row in (3, slice(3))]
    mass = max(*(float(link.pseudo[3, 3]) for link in links), moments[0] / length if length else 0.0)
    return _LARGEST * mass, _LARGEST * moments[1]


def _move_axis(
    link: GeneratorLink, previous: GeneratorLink, rule: PointMass, mass: float, second_moment: float
) -> tuple[GeneratorLink, GeneratorLink]:
    on_axis = np.zeros((4, 4))
    on_axis[2:, 2:] = 1.0
    transform = link.pose_at(0.0)
    moved = on_axis * link.pseudo
    noise = previous.noise + _magnitude(transform, on_axis * link.noise, moved)
    total = previous.pseudo + transform @ moved @ transform.T
    kept = 0.0
    if rule is not PointMass.NONE:
        row = 0 if rule is PointMass.CLEARS_X else 1
        if abs(total[row, 3]) > noise[row, 3] and transform[row, 3] != 0.0:
            kept = float(total[row, 3] / transform[row, 3])
    if abs(kept) > mass or abs(kept) * float(transform[:3, 3] @ transform[:3, 3]) > second_moment:
        kept = 0.0
    remaining = np.zeros((4, 4))
    remaining[3, 3] = kept
    if kept:
        noise = noise + _magnitude(transform, np.zeros((4, 4)), remaining)
        total = total - transform @ remaining @ transform.T
        total[row, 3] = total[3, row] = 0.0
    return (
        link.with_pseudo(link.pseudo - moved + remaining, (1.0 - on_axis) * link.noise),
        previous.with_pseudo(total, noise),
    )


def _move_inertia(link: GeneratorLink, previous: GeneratorLink) -> tuple[GeneratorLink, GeneratorLink]:
    block = np.zeros((4, 4))
    block[:3, :3] = 1.0
    turn = link.pose_at(0.0)
    turn[:3, 3] = 0.0
    moved = block * link.pseudo
    noise = previous.noise + _magnitude(turn, block * link.noise, moved)
    return (
        link.with_pseudo(link.pseudo - moved, (1.0 - block) * link.noise),
        previous.with_pseudo(previous.pseudo + turn @ moved @ turn.T, noise),
    )


def _magnitude(transform: Array, noise: Array, moved: Array) -> Array:
    """Rounding noise of ``transform @ moved @ transform.T`` when ``moved`` carries ``noise``."""
    absolute = np.abs(transform)
    unit = 2.0 * float(np.finfo(float).eps)
    return np.asarray(absolute @ (noise + unit * np.abs(moved)) @ absolute.T)


def _move_isotropic(placed: list[GeneratorLink], choices: Sequence[LinkChoice]) -> None:
    runs = parallel_runs(placed)
    first = {run[-1]: run for run in runs if placed[run[0]].parent < 0}
    for run in runs:
        before = first.get(placed[run[0]].parent)
        if before is None or placed[run[0]].cos_alpha != 0.0:
            continue
        axles = [index for index in before if placed[index].revolute]
        if axles:
            _move_isotropic_of(run, axles[-1], placed, choices)


def _move_isotropic_of(
    run: list[int], axle_index: int, placed: list[GeneratorLink], choices: Sequence[LinkChoice]
) -> None:
    for index in run:
        link = placed[index]
        xx, yy = float(link.pseudo[0, 0]), float(link.pseudo[1, 1])
        k = {
            Isotropic.NONE: 0.0,
            Isotropic.XX: xx,
            Isotropic.YY: yy,
            Isotropic.MEAN: (xx + yy) / 2.0,
        }[choices[index].isotropic]
        if k == 0.0 or not any(placed[j].revolute for j in run if j <= index):
            continue
        pseudo = link.pseudo - np.diag([k, k, 0.0, 0.0])
        if choices[index].isotropic is Isotropic.MEAN:
            # Equal and opposite to the last bit, so that they are one constant.
            pseudo[0, 0], pseudo[1, 1] = 0.5 * (xx - yy), -0.5 * (xx - yy)
        placed[index] = replace(link.with_pseudo(pseudo, link.noise), spin=link.spin + 2.0 * k)
        axle = placed[axle_index]
        placed[axle_index] = replace(axle, spin=axle.spin + k)


def turned(link: GeneratorLink, turn: Turn) -> GeneratorLink:
    """The link in a frame that is turned about its own z axis."""
    pseudo = link.pseudo
    if turn is Turn.NONE or not link.revolute:
        return link
    angle = {
        Turn.FIRST_MOMENT: math.atan2(pseudo[1, 3], pseudo[0, 3]),
        Turn.PRODUCTS: math.atan2(pseudo[1, 2], pseudo[0, 2]),
        Turn.PRINCIPAL: 0.5 * math.atan2(2.0 * pseudo[0, 1], pseudo[0, 0] - pseudo[1, 1]),
    }[turn]
    c, s = math.cos(angle), math.sin(angle)
    rotation = np.eye(4)
    rotation[:2, :2] = [[c, -s], [s, c]]
    noise = link.noise + _magnitude(rotation, link.noise, pseudo)
    result = link.with_pseudo(rotation.T @ pseudo @ rotation, noise)
    return replace(result, offset=link.offset + angle)
