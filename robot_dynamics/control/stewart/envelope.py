"""Envelope of references: those that a machine can follow, and from which it can still stop.

A reference is safe when the legs bear it and when a stop from there, straight on along its twist with the
declared deceleration, keeps every limit too. A feasible stop exists after every safe step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.spatial import Array, quaternion_rows
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import rotation_from_vector, rotation_vector
from robot_dynamics.stewart.verified_limits import MachineLimits

ROUNDING = 1e-9
STOP_SAMPLES = 8
"""Poses of a stop that are checked."""
STOP_SHARES = np.linspace(0.0, 1.0, STOP_SAMPLES)
COVERED = STOP_SHARES - 0.5 * STOP_SHARES**2
STROKE_MARGIN = 5e-4
"""Share of a stroke that references leave at its ends, because a stop is checked in samples."""
LAG_SHARE = 0.2
"""Share of a new lag of the legs in its mean."""
LADDER = 17
"""Poses between home and one that is out of reach, of which the last that is not is taken."""

Forces = Callable[[Array, Array, Array, Array, Array], Array]
"""Leg forces (N, 6) [N] of positions (N, 3), unit quaternions (N, 4), the rotations (N, 3, 3) that these are,
twists and accelerations (N, 6)."""


@dataclass(frozen=True)
class Pace:
    """Limits of a reference's rate of change.

    Attributes:
        acceleration: linear [m/s²].
        angular_acceleration: [rad/s²].
        leg_speed: (6,) of the legs [m/s].
        share: of the legs' force limits that it may take; the rest is the feedback's.
    """

    acceleration: float
    angular_acceleration: float
    leg_speed: Array
    share: float

    def cut(self, acceleration: Array) -> Array:
        """(6,) with linear and angular part no longer than allowed."""
        result: Array = acceleration.copy()
        for part, most in ((result[:3], self.acceleration), (result[3:], self.angular_acceleration)):
            size = float(np.sqrt(part @ part))
            if size > most:
                part *= most / size
        return result

    def stop_time(self, twist: Array) -> Array:
        """Duration of stops from twists (..., 6) [s]."""
        return np.asarray(
            np.maximum(
                np.sqrt((twist[..., :3] ** 2).sum(axis=-1)) / self.acceleration,
                np.sqrt((twist[..., 3:] ** 2).sum(axis=-1)) / self.angular_acceleration,
            )
        )


class ReferenceEnvelope:
    """The limits of one machine for references.

    Args:
        machine: geometry and limits.
        forces: the model with all that the platform carries.

    Attributes:
        limits: of references.
        lag: (6,) by how much each leg is longer than its reference [m]; the leg keeps its stroke, too.
    """

    def __init__(self, machine: Machine, forces: Forces) -> None:
        self._machine = machine
        self.lag = np.zeros(6)
        self._forces = forces
        self.limits = MachineLimits.of(machine)
        self._margin = self._stroke_margin()

    def note_lag(self, measured: tuple[Array, Array], wanted: tuple[Array, Array]) -> None:
        """Take a measured position (3,) and rotation (3, 3) and those of the reference at the same time."""
        places, turns = (np.array(part) for part in zip(measured, wanted, strict=True))
        found, led = leg_geometry(self._machine, places, turns).lengths
        self.lag = self.lag + LAG_SHARE * (found - led - self.lag)

    def widen(self, position: Array, rotation: Array) -> None:
        """Allow a pose at the present, e.g. on a stop: one may return from it, but not go further."""
        legs = leg_geometry(self._machine, position, rotation)
        limits = MachineLimits.of(self._machine).widened(self._machine, position, rotation)
        present = float(condition_number(legs.jacobian, self._machine.characteristic_length))
        self.limits = replace(limits, condition=max(limits.condition, present * (1.0 + ROUNDING)))
        longer, shorter = legs.lengths + np.maximum(self.lag, 0.0), legs.lengths + np.minimum(self.lag, 0.0)
        inside = np.minimum(self.limits.longest - longer, shorter - self.limits.shortest)
        self._margin = np.minimum(self._stroke_margin(), inside - ROUNDING)

    def _stroke_margin(self) -> Array:
        strokes = self.limits.longest - self.limits.shortest
        return np.where(np.isfinite(strokes), STROKE_MARGIN * strokes, 0.0)

    def safe_steps(
        self,
        position: Array,
        rotation: Array,
        twist: Array,
        accelerations: Array,
        step: float,
        pace: Pace,
        place: Array | None = None,
    ) -> tuple[NDArray[np.bool_], bool]:
        """(M,) which accelerations (M, 6) over ``step`` [s] from a reference are safe.

        With a ``place`` (6,), translation and rotation vector from the reference, also whether the machine
        can rest there: all in one evaluation, which costs little more than one pose.
        """
        count = len(accelerations)
        after = twist + step * accelerations
        times = np.maximum(pace.stop_time(after), step)
        # From the present, through the end of the step, to the standstill.
        covered = COVERED[None, :, None] * (times[:, None] * after)[:, None, :]
        moved = step * (twist + 0.5 * step * accelerations)
        stopping = moved[:, None] + covered
        twists = (1.0 - STOP_SHARES)[None, :, None] * after[:, None]
        slowing = np.broadcast_to((-after / times[:, None])[:, None], twists.shape)
        both = np.broadcast_to(accelerations[:, None], (count, 2, 6))
        ends = np.stack([np.broadcast_to(twist, after.shape), after], axis=1)
        starts = np.stack([np.zeros_like(moved), moved], axis=1)
        rest = np.zeros((0 if place is None else 1, 6))
        kept = self._kept(
            position,
            rotation,
            np.concatenate([rest + (0.0 if place is None else place), _rows(starts, stopping)]),
            np.concatenate([rest, _rows(ends, twists)]),
            np.concatenate([rest, _rows(both, slowing)]),
            pace,
            (count, step),
        )
        steps = kept[len(rest) :].reshape(count, -1).all(axis=1)
        return np.asarray(steps), bool(kept[: len(rest)].all())

    def reachable(self, position: Array, rotation: Array, pace: Pace, levels: int = 2) -> tuple[Array, Array]:
        """The pose itself if the machine can rest there; else the last on the way from home to it.

        Each of the ``levels`` divides the way by another 16.
        """
        zero = np.zeros((1, 6))
        if self._kept(position, rotation, zero, zero, zero, pace)[0]:
            return position, rotation
        home, level = self._machine.home_position, self._machine.home_rotation
        way = np.concatenate([position - home, rotation_vector(rotation @ level.T)])
        low, high = 0.0, 1.0
        for _ in range(levels):
            shares = np.linspace(low, high, LADDER)
            rest = np.zeros((LADDER, 6))
            kept = self._kept(home, level, shares[:, None] * way, rest, rest, pace)
            last = int(np.argmin(kept)) if not kept.all() else LADDER
            low, high = shares[max(last - 1, 0)], shares[min(last, LADDER - 1)]
        return home + low * way[:3], rotation_from_vector(low * way[3:]) @ level

    def cause(self, motion: tuple[Array, Array, Array, Array], pace: Pace) -> str:
        """Limit of references that a motion is farthest beyond, in words; empty where it keeps them all.

        Args:
            motion: position (3,), rotation (3, 3), twist (6,) and acceleration (6,).
            pace: of references.
        """
        position, rotation, twist, acceleration = motion
        machine, limits = self._machine, self.limits
        legs = leg_geometry(machine, position, rotation)
        excess = [
            ("longest length", legs.lengths / limits.longest),
            ("shortest length", limits.shortest / legs.lengths),
            ("speed", np.abs(legs.jacobian @ twist) / pace.leg_speed),
        ]
        angles = (legs.directions, legs.directions @ rotation)
        home = machine.home_directions
        for name, found, axes, cosine in (
            ("base_angle", angles[0], home, limits.base_cosine),
            ("platform_angle", angles[1], home @ machine.home_rotation, limits.platform_cosine),
        ):
            turned = np.arccos(np.clip((found * axes).sum(axis=-1), -1.0, 1.0))
            excess.append((name, turned / np.maximum(np.arccos(np.clip(cosine, -1.0, 1.0)), 1e-9)))
        try:
            quaternion = turned_by(rotation, np.zeros((1, 3)))
            rows = (position[None], quaternion, rotation[None], twist[None], acceleration[None])
            excess.append(("force", np.abs(self._forces(*rows)[0]) / (pace.share * limits.force)))
        except (StateError, SingularityError):
            return "a singular pose"
        linear, angular = (float(np.linalg.norm(part)) for part in (acceleration[:3], acceleration[3:]))
        condition = float(condition_number(legs.jacobian, machine.characteristic_length))
        names = machine.leg_names
        worst = [(float(value.max()), f"{name} of {names[int(np.argmax(value))]}") for name, value in excess]
        worst.append((condition / limits.condition, "condition_limit"))
        worst.append((linear / pace.acceleration, "max_acceleration"))
        worst.append((angular / pace.angular_acceleration, "max_angular_acceleration"))
        most, name = max(worst)
        return name if most > 1.0 else ""

    def _kept(
        self,
        position: Array,
        rotation: Array,
        moved: Array,
        twists: Array,
        accelerations: Array,
        pace: Pace,
        steps: tuple[int, float] = (0, 0.0),
    ) -> NDArray[np.bool_]:
        """(N,) which states keep all limits, each ``moved`` (N, 6) away from a pose.

        The last of them may be of so many steps of a duration [s]: the first two of each are its begin and
        its end, between which a leg may turn.
        """
        places = position + moved[:, :3]
        quaternions = turned_by(rotation, moved[:, 3:])
        turns = np.array(quaternion_rows(quaternions.T)).transpose(2, 0, 1)
        try:
            legs = leg_geometry(self._machine, places, turns)
        except StateError:
            return np.zeros(len(moved), dtype=bool)
        limits, home = self.limits, self._machine.home_directions
        local = (home @ self._machine.home_rotation) @ turns.swapaxes(-1, -2)
        jacobian = legs.jacobian
        rates = (jacobian @ twists[:, :, None])[:, :, 0]
        lengths = _with_turns(legs.lengths, rates, *steps)
        kept: NDArray[np.bool_] = (
            (lengths <= limits.longest - self._margin - np.maximum(self.lag, 0.0))
            & (lengths >= limits.shortest + self._margin - np.minimum(self.lag, 0.0))
            & (np.abs(rates) <= pace.leg_speed * (1.0 + 1e-9))
            & ((legs.directions * home).sum(axis=-1) >= limits.base_cosine - ROUNDING)
            & ((legs.directions * local).sum(axis=-1) >= limits.platform_cosine - ROUNDING)
        ).all(axis=1)
        # Forces and singular poses only where the rest is kept, beyond which they may not exist.
        sound = np.flatnonzero(kept)
        few = sound[::4]
        condition = condition_number(jacobian[few], self._machine.characteristic_length)
        kept[few] &= condition <= limits.condition
        try:
            forces = self._forces(
                places[sound], quaternions[sound], turns[sound], twists[sound], accelerations[sound]
            )
            kept[sound] &= (np.abs(forces) <= pace.share * limits.force).all(axis=1)
        except (StateError, SingularityError):
            kept[sound] = False
        return kept


def _with_turns(lengths: Array, rates: Array, steps: int, duration: float) -> Array:
    """(N, 6) lengths; a leg that turns within a step has the length where it turns at the step's begin."""
    if steps == 0:
        return lengths
    size = 2 + STOP_SAMPLES
    first = len(lengths) - steps * size
    begins = slice(first, None, size)
    rate, later = rates[begins], rates[first + 1 :: size]
    turns = rate * later < 0.0
    found: Array = lengths.copy()
    found[begins] += 0.5 * duration * rate**2 * turns / np.where(turns, rate - later, 1.0)
    return found


def _rows(steps: Array, stops: Array) -> Array:
    return np.concatenate([steps, stops], axis=1).reshape(-1, 6)


def turned_by(rotation: Array, vectors: Array) -> Array:
    """(N, 4) quaternions of a rotation (3, 3) after further ones by rotation vectors (N, 3)."""
    halves = 0.5 * np.sqrt((vectors * vectors).sum(axis=1))
    turns = np.empty((len(vectors), 4))
    np.multiply(vectors, 0.5 * (np.sin(halves) / np.maximum(halves, 1e-300))[:, None], out=turns[:, :3])
    np.cos(halves, out=turns[:, 3])
    x, y, z, w = _quaternion(rotation)
    # The product with the rotation's quaternion, which is linear in the turn's.
    return np.asarray(turns @ np.array([[w, -z, y, -x], [z, w, -x, -y], [-y, x, w, -z], [x, y, z, w]]))


def rotated(rotation: Array, vector: Array) -> Array:
    """(3, 3) a rotation after a further one by a rotation vector (3,), base frame."""
    return np.array(quaternion_rows(turned_by(rotation, vector[None])[0]))


def _quaternion(rotation: Array) -> tuple[float, float, float, float]:
    """x, y, z, w of one rotation, from its greatest entry (Shepperd 1978)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    trace = xx + yy + zz
    greatest = max(xx, yy, zz, trace)
    if greatest == trace:
        q = (zy - yz, xz - zx, yx - xy, 1.0 + trace)
    elif greatest == xx:
        q = (1.0 + 2.0 * xx - trace, xy + yx, xz + zx, zy - yz)
    elif greatest == yy:
        q = (xy + yx, 1.0 + 2.0 * yy - trace, yz + zy, xz - zx)
    else:
        q = (xz + zx, yz + zy, 1.0 + 2.0 * zz - trace, yx - xy)
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] / size, q[1] / size, q[2] / size, q[3] / size
