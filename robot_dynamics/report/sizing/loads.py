"""Loads of every actuator and joint in a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.report.sizing.axes import NAMES, displaced, is_turn
from robot_dynamics.report.sizing.envelopes import MotionEnvelope
from robot_dynamics.report.sizing.workspace import Excursion
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.motion_table import MotionTable
from robot_dynamics.stewart.newton_euler import Reactions
from robot_dynamics.stewart.platform import StewartPlatform

SHARE = 0.5
"""Of excursion, speed and acceleration that the standard motion takes."""
SWING_SAMPLES = 240
BETWEEN = 4
"""Samples from one pose of a recorded motion to the next, so that peaks between them are seen."""
MOST_SAMPLES = 20_000
LONGEST_SWING = 10.0
REACTIONS = {
    "spherical_force": ("platform joint, force", "N"),
    "universal_force": ("base joint, force", "N"),
    "universal_moment": ("base joint, constraint moment", "N·m"),
    "prismatic_force": ("actuator guide, side force", "N"),
    "prismatic_moment": ("actuator guide, moment about the base point", "N·m"),
}
"""Names of the reactions, in words, with their units."""


@dataclass(frozen=True)
class Loads:
    """Of N samples of a motion.

    Attributes:
        title: what the motion is.
        time: (N,) strictly increasing [s].
        motion: poses of the platform and their derivatives.
        length, speed, force: (N, 6) of the legs [m, m/s, N].
        reactions: (N, 6, 3) each.
        condition: (N,) scaled condition number.
        messages: limits that the motion does not keep, in words.
        parts: first row and name of the motion's parts.
    """

    title: str
    time: Array
    motion: Motion
    length: Array
    speed: Array
    force: Array
    reactions: Reactions
    condition: Array
    messages: tuple[str, ...]
    parts: tuple[tuple[int, str], ...] = ()

    @property
    def power(self) -> Array:
        """(N, 6) mechanical power that the actuators give [W]."""
        return np.asarray(self.force * self.speed)

    def mean(self, values: Array) -> Array:
        """Mean over the time of all parts (6,) of values (N, 6), by trapezoids."""
        steps = np.diff(self.time)[:, None]
        steps[[row - 1 for row, _ in self.parts if row]] = 0.0
        return np.asarray((0.5 * (values[1:] + values[:-1]) * steps).sum(axis=0) / steps.sum())

    def actuators(self) -> dict[str, Array]:
        """Peaks and means (6,) by their names, SI units."""
        force, speed, power = self.force, self.speed, self.power
        return {
            "shortest": self.length.min(axis=0),
            "longest": self.length.max(axis=0),
            "peak_speed": np.abs(speed).max(axis=0),
            "rms_speed": np.sqrt(self.mean(speed**2)),
            "greatest_force": force.max(axis=0),
            "least_force": force.min(axis=0),
            "rms_force": np.sqrt(self.mean(force**2)),
            "peak_power": power.max(axis=0),
            "peak_power_given_back": -power.min(axis=0),
            "mean_power": self.mean(power.clip(min=0.0)),
        }

    def peak_reactions(self) -> dict[str, Array]:
        """Greatest magnitudes (6,) by the names in ``REACTIONS``."""
        return {
            name: np.linalg.norm(getattr(self.reactions, name), axis=-1).max(axis=0) for name in REACTIONS
        }


def recorded_loads(platform: StewartPlatform, table: MotionTable, title: str) -> Loads:
    """Of a recorded motion, looked at between its poses too."""
    motion = RecordedMotion(table)
    between = max(1, min(BETWEEN, MOST_SAMPLES // len(table.time)))
    steps = np.linspace(0.0, 1.0, between, endpoint=False)
    times = (table.time[:-1, None] + np.diff(table.time)[:, None] * steps).ravel()
    times = np.append(times, table.time[-1])
    return _loads(platform, times - times[0], motion.at(times), title)


def standard_loads(platform: StewartPlatform, reached: list[Excursion], able: list[MotionEnvelope]) -> Loads:
    """Of a swing along each direction in turn, with half of what the machine can do there.

    A swing begins and ends at rest. From one to the next the platform has half of both periods.
    """
    motions: list[Motion] = []
    times: list[Array] = []
    begin = 0.0
    parts: list[tuple[int, str]] = []
    for excursion, envelope in zip(reached, able, strict=True):
        period = _period(excursion, envelope)
        begin += 0.5 * period if times else 0.0
        share = np.linspace(0.0, 1.0, SWING_SAMPLES)
        motions.append(_swing(platform, excursion, 2.0 * np.pi * (share - 0.25), 2.0 * np.pi / period))
        times.append(begin + period * share)
        parts.append((SWING_SAMPLES * len(parts), NAMES[excursion.axis]))
        begin += 1.5 * period
    whole = Motion(*(np.concatenate(values) for values in zip(*motions, strict=True)))
    title = f"a swing along each direction in turn, at {100.0 * SHARE:.0f} % of reach, speed and acceleration"
    return _loads(platform, np.concatenate(times), whole, title, tuple(parts))


def _middle(excursion: Excursion) -> tuple[float, float]:
    """Centre and amplitude of a swing."""
    center = 0.5 * (excursion.greatest + excursion.least)
    return center, SHARE * 0.5 * (excursion.greatest - excursion.least)


def _period(excursion: Excursion, envelope: MotionEnvelope) -> float:
    """Shortest that keeps speed and acceleration to their shares; a second per direction without limits."""
    amplitude = max(_middle(excursion)[1], 1e-9)
    speed = SHARE * float(np.min(envelope.speed))
    acceleration = SHARE * float(min(np.min(envelope.forward), np.min(envelope.backward)))
    rates = [speed / amplitude, np.sqrt(max(acceleration, 0.0) / amplitude)]
    rate = min([rate for rate in rates if np.isfinite(rate)] or [2.0 * np.pi])
    return min(2.0 * np.pi / max(float(rate), 1e-9), LONGEST_SWING)


def _swing(platform: StewartPlatform, excursion: Excursion, phase: Array, rate: float) -> Motion:
    axis = excursion.axis
    center, amplitude = _middle(excursion)
    offsets = np.zeros((len(phase), 6))
    offsets[:, axis] = center + amplitude * np.sin(phase)
    poses = displaced(platform.machine, offsets)
    direction = np.eye(3)[axis % 3]
    velocity = (amplitude * rate * np.cos(phase))[:, None] * direction
    acceleration = (-amplitude * rate**2 * np.sin(phase))[:, None] * direction
    zero = np.zeros_like(velocity)
    if is_turn(axis):
        return Motion(poses.position, poses.rotation, zero, velocity, zero, acceleration, zero, zero)
    return Motion(poses.position, poses.rotation, velocity, zero, acceleration, zero, zero, zero)


def _loads(
    platform: StewartPlatform,
    time: Array,
    motion: Motion,
    title: str,
    parts: tuple[tuple[int, str], ...] = (),
) -> Loads:
    result = platform.inverse_dynamics_of(motion, on_violation="report")
    messages = tuple(
        violation.message.replace(
            f" of state {violation.state}", f" at t = {time[violation.state or 0]:.3f} s"
        )
        for violation in result.violations
    )
    return Loads(
        title=title,
        time=time,
        motion=motion,
        length=result.leg_lengths,
        speed=result.leg_velocities,
        force=result.actuator_forces,
        reactions=result.reactions,
        condition=result.scaled_condition_number,
        messages=messages,
        parts=parts,
    )
