"""A platform's motion in CSV text: poses over time.

The first row names the columns:

- ``time``;
- ``x``, ``y``, ``z`` of the platform's origin in the base frame, or ``surge``, ``sway``, ``heave`` from home;
- ``qx``, ``qy``, ``qz``, ``qw``, a unit quaternion, or ``roll``, ``pitch``, ``yaw``; beside ``surge``,
  ``sway``, ``heave`` from home too.

A name may carry a unit, such as ``x [mm]``, ``roll_deg`` or ``time (ms)``. Other columns are ignored.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import ParameterError, RobotDynamicsError, StateError, quoted
from robot_dynamics.extras import lacking
from robot_dynamics.inputs.files import open_regular
from robot_dynamics.inputs.tables import check_header, numbers, rows, text_lines
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.fields import LARGEST
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
)

PLACE, OFFSET = ("x", "y", "z"), ("surge", "sway", "heave")
QUATERNION, ANGLES = ("qx", "qy", "qz", "qw"), ("roll", "pitch", "yaw")
NORM_TOLERANCE = 1e-3
LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
TURNS = {"rad": 1.0, "deg": np.pi / 180.0, "°": np.pi / 180.0}
TIMES = {"s": 1.0, "ms": 1e-3}
_UNITS: dict[str, dict[str, float]] = {
    "time": TIMES,
    **dict.fromkeys((*PLACE, *OFFSET), LENGTHS),
    **dict.fromkeys(ANGLES, TURNS),
    **{name: {} for name in QUATERNION},
}
_NAME = re.compile(
    r"(?P<name>[a-z]+)(?:\s*[\[(]\s*(?P<unit>[^\])]*?)\s*[\])]|_(?P<suffix>mm|cm|m|deg|rad|s|ms))?"
)
QUANTA = (1e-2, 1e-3, 1e-4)
"""Steps to which recorded positions may be rounded [m]."""
BEYOND_ROUNDING = 5.0
"""Factor on the acceleration of rounding beyond which the motion itself jumps."""
BEYOND_SIZE = 5.0
"""Distance beyond which poses are taken for millimetres, in sizes of the machine."""
LOUD = 0.5
"""Acceleration by rounding that is worth a hint [m/s²]."""
FILTER_ORDER = 4


@dataclass(frozen=True)
class MotionUnits:
    """Meaning of columns whose names carry no unit.

    Attributes:
        length: of ``x``, ``y``, ``z`` or ``surge``, ``sway``, ``heave`` [m].
        angle: of ``roll``, ``pitch``, ``yaw`` [rad].
        from_home: whether ``x``, ``y``, ``z`` and the orientation count from home.
    """

    length: float = 1.0
    angle: float = 1.0
    from_home: bool = False


SI = MotionUnits()


@dataclass(frozen=True)
class MotionTable:
    """Poses over time.

    Attributes:
        time: (N,) strictly increasing [s].
        position: (N, 3) of the platform's origin, base frame [m]; from home where ``from_home`` is true.
        orientation: (N, 4) unit quaternions x, y, z, w, each with the sign that is next to the one before.
        ignored: names of the columns that were ignored.
        from_home: whether the poses are offsets from home.
    """

    time: Array
    position: Array
    orientation: Array
    ignored: tuple[str, ...] = ()
    from_home: bool = False

    def placed(self, machine: Machine) -> MotionTable:
        """The same motion with absolute poses.

        Args:
            machine: has the home pose.
        """
        if not self.from_home:
            return self
        rotations = rotation_from_quaternion(self.orientation) @ machine.home_rotation
        return replace(
            self,
            position=machine.home_position + self.position,
            orientation=_signed(quaternion_from_rotation(rotations)),
            from_home=False,
        )

    def low_passed(self, cutoff: float) -> MotionTable:
        """The motion without what is faster than ``cutoff`` [Hz], at equal steps and without a delay.

        Raises:
            ParameterError: the cut-off frequency is not below half the rate of the poses, or there are too
                few of them.
            RobotDynamicsError: scipy is not installed.
        """
        try:
            from scipy.signal import butter, sosfiltfilt
        except ImportError as error:
            raise RobotDynamicsError(lacking("a low-pass filter needs", "scipy")) from error
        step = float(np.median(np.diff(self.time))) if len(self.time) > 1 else np.inf
        if not 0.0 < cutoff < 0.5 / step:
            raise ParameterError(
                f"the cut-off frequency is {cutoff:g} Hz; it must be above 0 and below {0.5 / step:g} Hz,"
                " half the rate of the poses"
            )
        count = round((self.time[-1] - self.time[0]) / step) + 1
        time = np.linspace(self.time[0], self.time[-1], count)
        poses = np.hstack([self.position, self.orientation])
        even = np.column_stack([np.interp(time, self.time, column) for column in poses.T])
        sections = butter(FILTER_ORDER, 2.0 * step * cutoff, output="sos")
        pad = round(3.0 / (step * cutoff))
        smooth = sosfiltfilt(sections, even, axis=0, padlen=min(pad, count - 1))
        turns = smooth[:, 3:] / np.linalg.norm(smooth[:, 3:], axis=1, keepdims=True)
        return replace(self, time=time, position=smooth[:, :3], orientation=turns)

    def hints(self) -> list[str]:
        """Remarks on data that make forces which the true motion does not need."""
        if len(self.time) < 20:
            return []
        step = float(np.median(np.diff(self.time)))
        found, rounding = [], 0.0
        for quantum in QUANTA:
            # Twice the standard deviation of the second difference of rounded positions.
            noise = np.sqrt(2.0) * quantum / step**2
            if noise > LOUD and self._is_rounded(quantum):
                rounding = noise
                found.append(
                    f"positions are rounded to {1e3 * quantum:g} mm at steps of {1e3 * step:.3g} ms: about"
                    f" {noise:.2g} m/s² of their acceleration is rounding; see --low-pass"
                )
                break
        steps = np.diff(self.time)[:, None]
        accelerations = np.diff(np.diff(self.position, axis=0) / steps, axis=0) / steps[1:]
        jumps = np.abs(np.diff(accelerations, axis=0))
        greatest = float(np.abs(accelerations).max())
        if greatest > max(LOUD, BEYOND_ROUNDING * rounding) and jumps.max() > 0.5 * greatest:
            at = self.time[int(jumps.max(axis=1).argmax()) + 2]
            found.append(
                f"the acceleration jumps at t = {at:.3f} s: the smooth curve through the poses goes beyond it"
                " there; see --low-pass"
            )
        return found

    def abrupt_ends(self) -> list[str]:
        """Remarks on a motion that is not at rest at its ends, for a path that goes from rest to rest."""
        if len(self.time) < 3:
            return []
        steps = np.diff(self.time)
        turned = np.minimum(np.abs((self.orientation[1:] * self.orientation[:-1]).sum(axis=1)), 1.0)
        moved = np.column_stack([np.diff(self.position, axis=0), 2.0 * np.arccos(turned)])
        rates = np.linalg.norm(moved[:, :3], axis=1) / steps, moved[:, 3] / steps
        found = []
        for verb, k, near in (("begins", 0, 1), ("ends", -1, -2)):
            speed, turn = (float(rate[k]) for rate in rates)
            changes = [abs(float(rate[k] - rate[near])) for rate in rates]
            if any(v > LOUD * steps[k] + 2.0 * c for v, c in zip((speed, turn), changes, strict=True)):
                found.append(f"{verb} with {speed:.2g} m/s and {turn:.2g} rad/s")
        if not found:
            return []
        return [
            f"the motion {', and '.join(found)}; the path starts and stops there within one step: add poses"
            " that speed up and slow down"
        ]

    def _is_rounded(self, quantum: float) -> bool:
        moved = self.position[:, np.ptp(self.position, axis=0) > 3.0 * quantum]
        steps = moved / quantum
        return moved.size > 0 and bool(np.abs(steps - np.round(steps)).max() < 1e-6)


def read_motion(path: str | os.PathLike[str], units: MotionUnits = SI) -> MotionTable:
    """The motion in a CSV file; arguments and errors are those of :func:`parse_motion`."""
    with open_regular(
        path, "CSV file", lambda reason: StateError(f"cannot read the motion: {reason}")
    ) as file:
        return parse_motion(text_lines(file, os.fspath(path)), os.fspath(path), units)


def parse_motion(lines: Iterable[str], source: str, units: MotionUnits = SI) -> MotionTable:
    """The motion in CSV text.

    Args:
        lines: the text.
        source: its name in messages.
        units: meaning of columns whose names carry no unit.

    Raises:
        StateError: a missing or repeated column, an unknown unit, an entry that is not a finite number, times
            that do not increase, or an orientation that is no unit quaternion; the message names the line or
            the row.
    """
    reader = rows(lines, source)
    _, first = next(reader, (1, []))
    header = [name.strip() for name in first]
    check_header(header, source)
    columns = _columns(header, source)
    place, turn = _chosen(columns, source)
    chosen = [columns[name][0] for name in ("time", *place, *turn)]
    entries = array("d")
    for row in numbers(reader, header, set(chosen), source):
        entries.extend(row)
    if not entries:
        raise StateError(f"{source}: no poses below the column names")
    values = np.frombuffer(entries).reshape(-1, len(header))[:, chosen]
    default = {"time": 1.0, **dict.fromkeys(place, units.length), **dict.fromkeys(ANGLES, units.angle)}
    scales = [columns[name][1] or default.get(name, 1.0) for name in ("time", *place, *turn)]
    values = values * np.array(scales)
    if np.abs(values).max() > LARGEST:
        raise StateError(f"{source}: no number may exceed {LARGEST:g} (SI units)")
    if turn == QUATERNION:
        orientation = _continuous(values[:, 4:], source)
    else:
        orientation = _signed(quaternion_from_rotation(rotation_from_roll_pitch_yaw(values[:, 4:])))
    return MotionTable(
        _increasing(values[:, 0], source),
        values[:, 1:4],
        orientation,
        tuple(name for k, name in enumerate(header) if k not in chosen),
        place == OFFSET or units.from_home,
    )


def _columns(header: Sequence[str], source: str) -> dict[str, tuple[int, float | None]]:
    """Place of each known column, and the size of the unit in its name [SI]; None without a unit.

    Raises:
        StateError: a known column has an unknown unit, or occurs twice.
    """
    found: dict[str, tuple[int, float | None]] = {}
    for place, text in enumerate(header):
        match = _NAME.fullmatch(text)
        if match is None or (name := match["name"]) not in _UNITS:
            continue
        unit = match["unit"] if match["unit"] is not None else match["suffix"]
        known = _UNITS[name]
        if unit is not None and unit not in known:
            raise StateError(
                f"{source}: column {quoted(text)} has an unknown unit; {name} may be in"
                f" {', '.join(known) or 'no unit'}"
            )
        if name in found:
            raise StateError(f"{source}: column {name!r} occurs more than once")
        found[name] = place, None if unit is None else known[unit]
    return found


def _chosen(
    columns: dict[str, tuple[int, float | None]], source: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the three columns of the position, and of those of the orientation.

    Raises:
        StateError: one is missing, or there are two kinds of one.
    """
    kinds = []
    for first, second in ((PLACE, OFFSET), (QUATERNION, ANGLES)):
        one, other = (sum(name in columns for name in kind) for kind in (first, second))
        if one and other:
            raise StateError(
                f"{source}: there are columns of both {', '.join(first)} and {', '.join(second)}; give one"
            )
        kinds.append(second if other else first)
    place, turn = kinds
    missing = [name for name in ("time", *place, *turn) if name not in columns]
    if missing:
        raise StateError(
            f"{source}: no column {', '.join(missing)}; a motion has the columns time; x, y, z, or surge,"
            " sway, heave from home; and qx, qy, qz, qw, or roll, pitch, yaw"
        )
    return place, turn


def _increasing(times: Array, source: str) -> Array:
    steps = np.diff(times)
    if len(steps) and not steps.min() > 0.0:
        row = int(steps.argmin()) + 2
        raise StateError(
            f"{source}, row {row} of numbers: time {quoted(float(times[row - 1]))} does not come after"
            f" {quoted(float(times[row - 2]))}"
        )
    return times


def _continuous(quaternions: Array, source: str) -> Array:
    """Normalised, each with the sign that is next to the one before."""
    norms = np.linalg.norm(quaternions, axis=1)
    worst = int(np.abs(norms - 1.0).argmax())
    if abs(norms[worst] - 1.0) > NORM_TOLERANCE:
        raise StateError(
            f"{source}, row {worst + 1} of numbers: qx, qy, qz, qw have norm {norms[worst]:g}; a rotation's"
            " quaternion has norm 1"
        )
    return _signed(quaternions / norms[:, None])


def _signed(unit: Array) -> Array:
    """Unit quaternions (N, 4), each with the sign that is next to the one before."""
    turned = np.sign((unit[1:] * unit[:-1]).sum(axis=1))
    signs = np.concatenate([[1.0], np.cumprod(np.where(turned < 0.0, -1.0, 1.0))])
    return np.asarray(unit * signs[:, None])


def looks_like_millimetres(table: MotionTable, machine: Machine) -> bool:
    """True where poses are many times the machine's size away: probably they are in millimetres."""
    size = np.linalg.norm(machine.home_position) + np.linalg.norm(machine.base_points, axis=1).max()
    return bool(np.linalg.norm(table.position, axis=1).max() > BEYOND_SIZE * size)


def looks_like_offsets(table: MotionTable, machine: Machine) -> bool:
    """True where absolute poses begin nearer to zero than to home: probably they are offsets from home."""
    begin = table.position[0]
    far = float(np.linalg.norm(begin - machine.home_position))
    return not table.from_home and float(np.linalg.norm(begin)) < far
