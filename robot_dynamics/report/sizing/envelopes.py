"""Speed, acceleration and power of a platform along each of its six directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.report.sizing.axes import displaced, is_turn
from robot_dynamics.report.sizing.workspace import Excursion
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.actuators import coulomb_friction
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.newton_euler import balance

SAMPLES = 61
INSET = 1.0 - 1e-9
"""The ends of an excursion lie on a limit; what is looked at lies within."""


@dataclass(frozen=True)
class MotionEnvelope:
    """Along one direction from home, everything else as at home; infinite where no limit is given.

    Attributes:
        axis: the direction.
        displacement: (N,) [m or rad].
        speed: (N,) greatest within the legs' speeds [m/s or rad/s].
        forward, backward: (N,) greatest acceleration from rest along and against the direction within the
            legs' forces, dry friction included, not negative; zero where weight and friction alone are too
            much [m/s² or rad/s²].
        leg_power: (N,) greatest power of an actuator, moving at ``speed`` either way [W].
        total_power: (N,) what all actuators take then, without what they give back [W].
    """

    axis: int
    displacement: Array
    speed: Array
    forward: Array
    backward: Array
    leg_power: Array
    total_power: Array

    def at_home(self, values: Array) -> float:
        """One of the curves at home."""
        return float(np.interp(0.0, self.displacement, values))


def envelopes(machine: Machine, reached: list[Excursion]) -> list[MotionEnvelope]:
    """Of all six directions."""
    return [_envelope(machine, excursion) for excursion in reached]


def _envelope(machine: Machine, excursion: Excursion) -> MotionEnvelope:
    axis = excursion.axis
    # Home itself is one of the samples.
    half = SAMPLES // 2 + 1
    below, above = np.linspace(excursion.least, 0.0, half), np.linspace(0.0, excursion.greatest, half)
    displacement = INSET * np.concatenate([below[:-1], above])
    offsets = np.zeros((len(displacement), 6))
    offsets[:, axis] = displacement
    poses = displaced(machine, offsets)
    direction = _direction(axis, displacement)
    zero = np.zeros_like(poses.position)
    rest = Motion(poses.position, poses.rotation, zero, zero, zero, zero, zero, zero)
    limits = np.array([leg.limits.force for leg in machine.legs])
    held = balance(machine, rest).solve()[0]
    gain = balance(machine, _accelerated(rest, axis, direction)).solve()[0] - held
    legs = leg_geometry(machine, poses.position, poses.rotation)
    twist = np.zeros((len(displacement), 6))
    twist[:, 3 * is_turn(axis) :][:, :3] = direction
    along = (legs.jacobian @ twist[..., None])[..., 0]
    rates = np.abs(along)
    # A leg that begins to move has its dry friction against it.
    dry = coulomb_friction(machine) * np.sign(np.where(rates > 1e-9 * rates.max(), along, 0.0))
    speeds = np.array([leg.limits.speed for leg in machine.legs])
    speed = _least_ratio(speeds, rates)
    powers = [_powers(machine, rest, axis, sign * direction, speed) for sign in (1.0, -1.0)]
    return MotionEnvelope(
        axis=axis,
        displacement=displacement,
        speed=speed,
        forward=_reserve(limits, held + dry, gain),
        backward=_reserve(limits, held - dry, -gain),
        leg_power=np.maximum(*(power.max(axis=1) for power in powers)),
        total_power=np.maximum(*(power.clip(min=0.0).sum(axis=1) for power in powers)),
    )


def _direction(axis: int, displacement: Array) -> Array:
    """(N, 3) unit vectors along which the displacement grows; a pure turn keeps its axis."""
    return np.broadcast_to(np.eye(3)[axis % 3], (len(displacement), 3))


def _accelerated(rest: Motion, axis: int, direction: Array) -> Motion:
    if is_turn(axis):
        return rest._replace(angular_acceleration=direction)
    return rest._replace(linear_acceleration=direction)


def _powers(machine: Machine, rest: Motion, axis: int, direction: Array, speed: Array) -> Array:
    """(N, 6) power of the actuators at a constant speed [W]; NaN where there is no limit to it."""
    limited = np.isfinite(speed)[:, None]
    velocity = direction * np.where(limited, speed[:, None], 0.0)
    asked = rest._replace(**{"angular_velocity" if is_turn(axis) else "linear_velocity": velocity})
    result = balance(machine, asked)
    power = result.solve()[0] * result.motion.sliding_velocity
    return np.where(limited, power, np.nan)


def _reserve(limits: Array, held: Array, gain: Array) -> Array:
    """(N,) greatest factor of ``gain`` that keeps every force within its limit."""
    room = np.where(gain > 0.0, limits - held, limits + held)
    return np.maximum(_least_ratio(np.maximum(room, 0.0), np.abs(gain)), 0.0)


def _least_ratio(limits: Array, values: Array) -> Array:
    """(N,) least of limit over value; what asks nothing does not limit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(values > 1e-9 * values.max(axis=-1, keepdims=True), limits / values, np.inf)
    return np.asarray(ratios.min(axis=-1))


def envelope_rows(every: list[MotionEnvelope]) -> tuple[list[str], list[list[object]]]:
    """Columns and rows as a table, SI units."""
    from robot_dynamics.report.sizing.axes import NAMES

    names = ("displacement", "speed", "forward", "backward", "leg_power", "total_power")
    rows: list[list[object]] = []
    for envelope in every:
        values = zip(*(getattr(envelope, name).tolist() for name in names), strict=True)
        rows += [[NAMES[envelope.axis], *row] for row in values]
    return ["direction", *names], rows
