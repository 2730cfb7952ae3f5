"""Efforts of each joint's drive as columns: linear in all but Stribeck's velocity and presliding's travel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.actuators import Drives
from robot_dynamics.dynamics.friction import PARAMETERS, SCALES, DriveFriction
from robot_dynamics.errors import ParameterError
from robot_dynamics.spatial import Array

DRIVE_COLUMNS = (
    "rotor_inertia", "damping", "friction", "static_friction", "friction_offset",
    "presliding_friction", "load_friction", "torque_offset",
)  # fmt: skip
"""Parameters of each joint's drive, as in `ActuatorParameters`, and the offset of its sensor."""
NOT_DRY = ("rotor_inertia", "damping", "torque_offset")
SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Stribeck velocities that are tried [rad/s or m/s]."""
TRAVELS = (0.002, 0.005, 0.01)
"""Travels after a reversal that are tried [rad or m]."""
_BESIDE = (0.9, 1.0, 1.1)
"""Shares of a travel that show what its change does."""


@dataclass(frozen=True)
class FrictionLaw:
    """Quantities that friction depends on.

    Attributes:
        stribeck_velocity: (n,) [rad/s or m/s]; zero where friction is the same at all speeds.
        asymmetric: (n,) whether it differs between the directions. Only near standstill this is unlike an
            offset of the sensor; most of a constant effort is then put down to friction.
        loaded: (n,) whether it grows with the load of the gear.
        presliding_travel: (n,) over which part of it builds up after a reversal [rad or m]; zero where none
            does.
        coupling: C (n, n) with the joints' velocities = C · those of the motors, whose friction it is; None:
            each motor moves its own joint.
    """

    stribeck_velocity: Array
    asymmetric: NDArray[np.bool_]
    loaded: NDArray[np.bool_]
    presliding_travel: Array
    coupling: Array | None = None

    @classmethod
    def plain(cls, count: int, coupling: Array | None = None) -> FrictionLaw:
        """Viscous and Coulomb friction alone, for ``count`` joints."""
        none = np.zeros(count, dtype=bool)
        return cls(np.zeros(count), none, none, np.zeros(count), coupling)

    @classmethod
    def of(cls, drives: Drives) -> FrictionLaw:
        """That of drives that are known.

        Raises:
            ParameterError: friction that identification has no columns for.
        """
        known = drives.friction
        for name in PARAMETERS:
            if name not in (*DRIVE_COLUMNS, *SCALES) and np.any(getattr(known, name)):
                raise ParameterError(
                    f"parameter '{name}' is not 0, but identification does not know this friction: give 0"
                )
        curved = known.static_friction != known.friction
        speeds = np.where(curved, known.stribeck_velocity, 0.0)
        travels = np.where(known.presliding_friction > 0.0, known.presliding_travel, 0.0)
        return cls(speeds, known.friction_offset != 0.0, known.load_friction != 0.0, travels)

    def described(self, drives: Array) -> Array:
        """Parameters of the drives (8 n,) without what this law has no place for."""
        n = len(self.loaded)
        rows = dict(zip(DRIVE_COLUMNS, drives.reshape(-1, n), strict=True))
        curved = self.stribeck_velocity > 0.0
        rows["static_friction"] = np.where(curved, rows["static_friction"], rows["friction"])
        rows["friction_offset"] = np.where(self.asymmetric, rows["friction_offset"], 0.0)
        rows["load_friction"] = np.where(self.loaded, rows["load_friction"], 0.0)
        slides = self.presliding_travel > 0.0
        rows["presliding_friction"] = np.where(slides, rows["presliding_friction"], 0.0)
        return np.concatenate(list(rows.values()))


@dataclass(frozen=True)
class DriveSignals:
    """Factors of the parameters of the drives, (N, n) each.

    Attributes:
        acceleration, velocity: of the joints, or of the motors that move several of them.
        sign, square: of the velocity, smooth through standstill, and its square.
        one: ones.
        load: magnitude of the gears' load times the sign.
        fading: (S, N, n) sign · exp(−|velocity| / speed) for each of ``speeds``.
        speeds: (S, n) Stribeck velocities.
        building: (T, N, n) effort beside the sign after a reversal, of a unit of friction that builds up over
            each of ``travels``.
        travels: (T, n) [rad or m].
        coupling: of the motors; see `FrictionLaw`.
    """

    acceleration: Array
    velocity: Array
    sign: Array
    square: Array
    one: Array
    load: Array
    fading: Array
    speeds: Array
    building: Array
    travels: Array
    coupling: Array | None = None

    @classmethod
    def of(
        cls,
        qd: Array,
        qdd: Array,
        speeds: Array,
        load: Array | None = None,
        coupling: Array | None = None,
        travels: Array | None = None,
        slid: Array | None = None,
    ) -> DriveSignals:
        """The signals of a motion of the joints.

        Args:
            qd, qdd: (N, n) velocities and accelerations.
            speeds: (S, n) Stribeck velocities.
            load: (N, n) efforts that the joints pass on; none when None.
            coupling: of the motors; see `FrictionLaw`.
            travels: (T, n) of presliding; none when None.
            slid: (T, N, n) states of presliding; when None joints have travelled far since they reversed.
        """
        if coupling is not None:
            qd, qdd = motor_values(qd, coupling), motor_values(qdd, coupling)
            load = None if load is None else load @ coupling
        plain, offset = DriveFriction.plain(0.0, 1.0), DriveFriction(0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
        rubbed = DriveFriction(0.0, 0.0, 0.0, 1.0, 0.0, 1.0).effort(qd, load=load) + 0.0 * qd
        # Of static friction alone, which there is none of where friction is the same at all speeds.
        some = np.where(speeds > 0.0, speeds, 1.0)
        fading = np.array([DriveFriction(0.0, 0.0, 1.0, row, 0.0, 0.0).effort(qd) for row in some])
        fading = np.where(speeds[:, None] > 0.0, fading.reshape(len(speeds), *qd.shape), 0.0)
        travels = np.zeros((0, qd.shape[1])) if travels is None else travels
        building = np.zeros((len(travels), *qd.shape))
        if slid is not None:
            building = _built_up(qd, slid, travels)
        one = np.ones_like(qd)
        signals = (plain.effort(qd), offset.effort(qd), one, rubbed)
        return cls(qdd, qd, *signals, fading, speeds, building, travels, coupling)

    def changed(self, change: Callable[[Array], Array]) -> DriveSignals:
        """Each signal put through ``change``, which takes and gives one value for each sample and joint."""
        values = {name: change(getattr(self, name)) for name in _SIGNALS}
        for name in _SEVERAL:
            several = getattr(self, name)
            parts = [change(part) for part in several]
            values[name] = np.array(parts) if parts else several
        return replace(self, **values)

    def part(self, rows: slice | NDArray[np.intp]) -> DriveSignals:
        """The signals of some samples."""
        return self.changed(lambda signal: signal[rows])

    @classmethod
    def joined(cls, parts: Sequence[DriveSignals]) -> DriveSignals:
        """Signals one after the other."""

        def all_of(name: str) -> Array:
            return np.concatenate([getattr(part, name) for part in parts])

        values = {name: all_of(name) for name in _SIGNALS}
        for name in _SEVERAL:
            values[name] = np.concatenate([getattr(part, name) for part in parts], axis=1)
        return replace(parts[0], **values)

    @property
    def joint_velocity(self) -> Array:
        """(N, n) of the joints."""
        return self.velocity if self.coupling is None else self.velocity @ self.coupling.T

    def placed(self, signal: Array) -> Array:
        """(N, n, n) efforts of the joints for a signal (N, n) of the motors, one column a motor."""
        shares = np.eye(signal.shape[1]) if self.coupling is None else np.linalg.inv(self.coupling).T
        return np.asarray(signal[:, None, :] * shares)

    def sliding(self, law: FrictionLaw, over: Callable[[Array], Array]) -> DriveSignals:
        """The signals with the law's travels, and with those beside them.

        Args:
            law: of friction.
            over: signals ``building`` (T, N, n) for travels (T, n).
        """
        travels = np.outer(_BESIDE, law.presliding_travel)
        building = np.concatenate([self.building, over(travels)])
        return replace(self, travels=np.vstack([self.travels, travels]), building=building)

    def knows(self, travels: Array) -> bool:
        """True if there are signals for the travels (n,) that are not zero."""
        return bool(np.all((travels == 0.0) | np.any(self.travels == travels, axis=0)))

    def travel_columns(self, law: FrictionLaw) -> Array:
        """(N, n, m) change of the efforts by the logarithm of each of the law's travels.

        It is that of a unit of friction that builds up, and needs the signals of `sliding`.
        """
        travels = law.presliding_travel
        less, more = (_chosen(self.building, self.travels, share * travels) for share in _BESIDE[::2])
        change = (more - less) / np.log(_BESIDE[2] / _BESIDE[0])
        return self.placed(change)[:, :, travels > 0.0]

    def columns(self, law: FrictionLaw) -> Array:
        """(N, n, 8 n) with the drives' efforts = columns · parameters, in the order of DRIVE_COLUMNS."""
        fading = _chosen(self.fading, self.speeds, law.stribeck_velocity)
        building = _chosen(self.building, self.travels, law.presliding_travel)
        square = np.where(law.asymmetric, self.square, 0.0)
        load = np.where(law.loaded, self.load, 0.0)
        dry = (self.sign - fading, fading, square, building, load)
        parts = (self.acceleration, self.velocity, *dry, self.one)
        return np.concatenate([self.placed(part) for part in parts], axis=2)


def _chosen(several: Array, choices: Array, chosen: Array) -> Array:
    """(N, n) signals of those (K, N, n) that each joint has chosen; zero where it has chosen none."""
    result = np.zeros(several.shape[1:])
    for j, choice in enumerate(chosen):
        if choice > 0.0:
            row = int(np.flatnonzero(choices[:, j] == choice)[0])
            result[:, j] = several[row, :, j]
    return result


def slid_along(position: Array, travels: Array) -> Array:
    """(T, N, n) states of presliding along positions (N, n), for travels (T, n); zero at first."""
    scale = np.where(travels > 0.0, travels, 1.0)
    law = replace(_UNIT, presliding_travel=scale)
    result = np.zeros((len(travels), *position.shape))
    for row, travel in enumerate(np.diff(position, axis=0), start=1):
        result[:, row] = law.slid_after(result[:, row - 1], travel)
    return result


def built_along(position: Array, velocity: Array, travels: Array) -> Array:
    """(T, N, n) signals ``building`` along positions and velocities (N, n), for travels (T, n)."""
    return _built_up(velocity, slid_along(position, travels), travels)


def _built_up(velocity: Array, slid: Array, travels: Array) -> Array:
    return np.asarray(np.where(travels[:, None] > 0.0, _UNIT.presliding(velocity, slid), 0.0))


def motor_values(values: Array, coupling: Array) -> Array:
    """(N, n) velocities or accelerations of motors from those of the joints."""
    return np.asarray(np.linalg.solve(coupling, values.T).T)


def drives_at_joints(drives: Mapping[str, Array], coupling: Array | None) -> Mapping[str, Array]:
    """Parameters (n,) of the joints' drives from those of the motors, as if each joint moved alone."""
    if coupling is None:
        return drives
    shares = np.linalg.inv(coupling).T
    result = dict(drives)
    for name in ("rotor_inertia", "damping"):
        result[name] = shares**2 @ drives[name]
    for name in ("friction", "static_friction", "presliding_friction"):
        result[name] = np.abs(shares) @ drives[name]
    result["friction_offset"] = np.abs(shares) * np.sign(shares) @ drives["friction_offset"]
    bound = np.minimum(result["friction"], result["static_friction"]) - result["presliding_friction"]
    result["friction_offset"] = np.clip(result["friction_offset"], -bound, bound)
    return result


_UNIT = DriveFriction(0.0, 1.0, 1.0, 1.0, 0.0, 0.0, presliding_friction=1.0)
_SEVERAL = ("fading", "building")
_SIGNALS = ("acceleration", "velocity", "sign", "square", "one", "load")


def generators(
    law: FrictionLaw, held: NDArray[np.bool_], given: Array, offsets: Array
) -> tuple[Array, Array, Array, Array]:
    """All possible parameters of drives: offset (d,) + matrix (d, g) · z, z ≥ lower (g,), and spread (g,).

    Coulomb friction F, static friction S, asymmetry O and the part B that builds up after a reversal, with
    F, S, B ≥ 0 and |O| + B ≤ F, S, are the cone of (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 1, 0), (1, 1, −1, 0)
    and (1, 1, 0, 1).

    Args:
        law: of friction.
        held: (8 n,) what stays as ``given`` (8 n,).
        given: the parameters as known.
        offsets: (n,) typical size of the sensors' offsets, the spread of these; all else has none.
    """
    count = len(law.stribeck_velocity)
    index = {name: count * k for k, name in enumerate(DRIVE_COLUMNS)}
    rays: list[tuple[tuple[int, float], ...]] = []
    lower: list[float] = []
    spread: dict[int, float] = {}
    for j in range(count):
        for name in (*NOT_DRY, *(["load_friction"] if law.loaded[j] else [])):
            if not held[index[name] + j]:
                rays.append(((index[name] + j, 1.0),))
                lower.append(-np.inf if name == "torque_offset" else 0.0)
                if name == "torque_offset":
                    spread[len(rays) - 1] = float(offsets[j])
        if held[index["friction"] + j]:
            continue
        curved = law.stribeck_velocity[j] > 0.0
        coulomb, static = (index["friction"] + j, 1.0), (index["static_friction"] + j, 1.0)
        dry: list[tuple[tuple[int, float], ...]] = [(coulomb,), (static,)] if curved else [(coulomb, static)]
        if law.asymmetric[j]:
            both = [(coulomb, static, (index["friction_offset"] + j, sign)) for sign in (1.0, -1.0)]
            dry = [*(dry if curved else ()), *both]
        if law.presliding_travel[j] > 0.0:
            dry = [*dry, (coulomb, static, (index["presliding_friction"] + j, 1.0))]
        rays.extend(dry)
        lower.extend([0.0] * len(dry))
    matrix = np.zeros((len(held), len(rays)))
    for k, ray in enumerate(rays):
        for row, value in ray:
            matrix[row, k] = value
    sizes = np.array([spread.get(k, np.inf) for k in range(len(rays))])
    return np.where(matrix.any(axis=1), 0.0, given), matrix, np.array(lower), sizes
