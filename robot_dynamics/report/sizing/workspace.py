"""Workspace of a platform: excursions along its six directions, and maps over pairs of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.report.sizing.axes import LARGEST_TURN, NAMES, PLANES, AxisPoses, displaced, is_turn
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import pose_quantities
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import motion_of
from robot_dynamics.stewart.newton_euler import balance
from robot_dynamics.stewart.physical import LOCKED_SINE

CAUSES = ("", "stroke, leg too long", "stroke, leg too short", "base joint", "platform joint", "singularity")
"""Reasons for the end of the workspace; 0 for none."""
SAMPLES = 400
HALVINGS = 30
GRID = 65
MARGINS = (1.25, 1.6, 2.0, 2.5)
"""Sizes of a map over the greatest excursion: the first whose border is out of reach."""
WORST = 1e6
"""Condition number up to which forces are worked out for the pictures."""


@dataclass(frozen=True)
class Excursion:
    """Excursion from home in one direction, everything else as at home.

    Attributes:
        axis: index into ``NAMES``.
        least: against the direction, negative [m or rad].
        greatest: along it [m or rad].
        causes: what ends both; empty where nothing does within what was looked at.
    """

    axis: int
    least: float
    greatest: float
    causes: tuple[str, str]


@dataclass(frozen=True)
class PlaneMap:
    """Poses over two directions, everything else as at home.

    Attributes:
        plane: the two indices into ``NAMES``.
        across: (n,) first displacement [m or rad].
        up: (m,) second displacement [m or rad].
        slack: (m, n, 5) room to what ends the workspace, in the order of ``CAUSES`` from its second on, as a
            share of it; negative beyond.
        condition: (m, n) scaled condition number.
        force: (m, n) greatest force of a leg that holds the platform at rest, out of reach too where there is
            one; else NaN [N].
    """

    plane: tuple[int, int]
    across: Array
    up: Array
    slack: Array
    condition: Array
    force: Array

    @property
    def kept(self) -> Array:
        """(m, n) whether a pose is within the limits."""
        return np.asarray(self.slack.min(axis=-1) >= 0.0)

    @property
    def cause(self) -> Array:
        """(m, n) index into ``CAUSES`` of what is passed most; 0 within the limits."""
        return np.where(self.kept, 0, 1 + self.slack.argmin(axis=-1))


def slacks(machine: Machine, poses: AxisPoses) -> tuple[Array, Array]:
    """(..., 5) room to each of the limits, and (...) scaled condition numbers; see :class:`PlaneMap`."""
    legs = leg_geometry(machine, poses.position, poses.rotation)
    condition = condition_number(legs.jacobian, machine.characteristic_length)
    locked = np.linalg.norm(np.cross(machine.universal_axes, legs.directions), axis=-1) < LOCKED_SINE
    free = np.array([leg.universal_axis is None for leg in machine.legs])
    rooms: list[Array] = []
    for _, _, values, limits, _ in pose_quantities(machine, legs, poses.rotation):
        bounds = np.array(limits)
        # A stroke counts by what lies between its ends.
        scale = _strokes(machine) if len(rooms) < 2 else bounds
        room = np.divide(bounds - values, scale, out=np.ones_like(values), where=np.isfinite(bounds))
        rooms.append(room.min(axis=-1))
    regular = np.log(machine.condition_limit / condition) / np.log(machine.condition_limit)
    rooms.append(np.where((locked & ~free).any(axis=-1), -1.0, regular))
    return np.stack(rooms, axis=-1), condition


def _strokes(machine: Machine) -> Array:
    strokes = np.array([leg.limits.longest - leg.limits.shortest for leg in machine.legs])
    return np.where(np.isfinite(strokes), strokes, 1.0)


def excursions(machine: Machine) -> list[Excursion]:
    """Of all six directions."""
    return [_excursion(machine, axis) for axis in range(6)]


def _excursion(machine: Machine, axis: int) -> Excursion:
    home = leg_geometry(machine, machine.home_position, machine.home_rotation)
    reach = float(LARGEST_TURN[axis - 3]) if is_turn(axis) else 1.5 * float(home.lengths.max())
    ends, why = [], []
    for sign in (-1.0, 1.0):
        shares = np.linspace(0.0, 1.0, SAMPLES + 1)
        room = slacks(machine, displaced(machine, _along(axis, sign * reach * shares)))[0]
        outside = np.flatnonzero(room.min(axis=-1) < 0.0)
        if not len(outside):
            ends.append(sign * reach)
            why.append("")
            continue
        low, high = shares[max(outside[0] - 1, 0)], shares[outside[0]]
        cause = int(room[outside[0]].argmin())
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            here = slacks(machine, displaced(machine, _along(axis, np.array(sign * reach * middle))))[0]
            low, high, cause = (
                (middle, high, cause) if here.min() >= 0.0 else (low, middle, int(here.argmin()))
            )
        ends.append(sign * reach * low)
        why.append(CAUSES[1 + cause])
    return Excursion(axis, ends[0], ends[1], (why[0], why[1]))


def _along(axis: int, values: Array) -> Array:
    offsets = np.zeros((*values.shape, 6))
    offsets[..., axis] = values
    return offsets


def maps(machine: Machine, reached: list[Excursion]) -> list[PlaneMap]:
    """Of all planes; those of one kind share the size of their windows."""
    return [_map(machine, plane, reached) for plane in PLANES]


def _map(machine: Machine, plane: tuple[int, int], reached: list[Excursion]) -> PlaneMap:
    for margin in MARGINS:
        across, up = (_window(axis, reached, margin) for axis in plane)
        edges = slacks(machine, displaced(machine, _border(plane, across, up)))[0].min(axis=-1)
        if edges.max() < 0.0:
            break
    offsets = np.zeros((GRID, GRID, 6))
    offsets[..., plane[0]], offsets[..., plane[1]] = across, up[:, None]
    poses = displaced(machine, offsets)
    slack, condition = slacks(machine, poses)
    force = np.full((GRID, GRID), np.nan)
    regular = (condition < WORST) & (slack[..., -1] > -1.0)
    if regular.any():
        held = holding_forces(machine, AxisPoses(poses.position[regular], poses.rotation[regular]))
        force[regular] = np.abs(held).max(axis=-1)
    return PlaneMap(plane, across, up, slack, condition, force)


def _window(axis: int, reached: list[Excursion], margin: float) -> Array:
    """(GRID,) displacements of a map along a direction; the same for all directions of a kind."""
    alike = [e for e in reached if is_turn(e.axis) == is_turn(axis)]
    return np.linspace(margin * min(e.least for e in alike), margin * max(e.greatest for e in alike), GRID)


def _border(plane: tuple[int, int], across: Array, up: Array) -> Array:
    """(4 GRID, 6) offsets on the border of a map."""
    offsets = np.zeros((4, GRID, 6))
    offsets[:2, :, plane[0]], offsets[:2, :, plane[1]] = across, up[[0, -1], None]
    offsets[2:, :, plane[0]], offsets[2:, :, plane[1]] = across[[0, -1], None], up
    return offsets.reshape(-1, 6)


def holding_forces(machine: Machine, poses: AxisPoses) -> Array:
    """(..., 6) forces that hold the platform at rest at usable poses [N]."""
    motion = motion_of(poses.position, [0.0, 0.0, 0.0])._replace(rotation=poses.rotation)
    return np.asarray(balance(machine, motion).solve()[0])


def map_rows(every: list[PlaneMap]) -> tuple[list[str], list[list[object]]]:
    """Columns and rows of the maps as a table, SI units."""
    columns = [
        "first",
        "second",
        "first_value",
        "second_value",
        "limit",
        "condition_number",
        "greatest_force",
    ]
    rows: list[list[object]] = []
    for m in every:
        first, second = (NAMES[axis] for axis in m.plane)
        causes = m.cause
        for (j, i), cause in np.ndenumerate(causes):
            values = (float(m.across[i]), float(m.up[j]))
            force = float(m.force[j, i])
            rows.append(
                [first, second, *values, CAUSES[cause], float(m.condition[j, i]), "" if cause else force]
            )
    return columns, rows
