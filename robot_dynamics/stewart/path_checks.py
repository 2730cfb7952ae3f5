"""What a path of the platform violates, looked for before it is run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import Violation, pose_violations
from robot_dynamics.stewart.kinematics import LegGeometry, condition_number
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.paths import PlatformPath, PolynomialPath
from robot_dynamics.stewart.sound_checks import path_violations

HALVINGS = 40
MOST_SAMPLES = 1_000_000
"""Of one path, which are looked at together."""
# How much worse than at its start a pose may be, and still count as no worse [m or rad].
ROUNDING = 1e-9


class Platform(Protocol):
    """What is asked of a platform."""

    @property
    def machine(self) -> Machine:
        """Geometry and limits."""

    def legs_of(self, motion: Motion) -> LegGeometry:
        """Legs at the poses of a motion."""

    def inverse_dynamics_of(self, motion: Motion, *, on_violation: Any) -> Any:
        """Leg forces and more, with ``violations``."""


def violations_along(
    platform: Platform, path: PlatformPath, step: float, from_outside: bool
) -> tuple[Violation, ...]:
    """What a path violates, with times in the messages; see ``StewartPlatform.check_path``."""
    crossing = singular_time(platform, path, step)
    if crossing is not None:
        condition = float(condition_number(platform.legs_of(path.at(crossing)).jacobian))
        message = (
            f"the path meets a singular pose at t = {crossing:.3f} s; its condition number there is"
            f" {condition:.3g}"
        )
        limit = platform.machine.condition_limit
        return (Violation("condition_number", None, None, condition, limit, message),)
    if isinstance(path, PolynomialPath):
        pieces = path.pieces
        pieces = replace(pieces, times=pieces.times - pieces.times[0])
        sound = path_violations(platform.machine, pieces, path.at, np.zeros(6), from_outside)
        return tuple(replace(one.violation, message=one.message) for one in sound)
    times = samples(path, step)
    motion = path.at(times)
    found = platform.inverse_dynamics_of(motion, on_violation="report").violations
    if from_outside:
        begin = path.at(float(times[0]))
        there = pose_violations(platform.machine, platform.legs_of(begin), begin.rotation)
        found = tuple(violation for violation in found if not any(_no_worse(violation, v) for v in there))
    return tuple(
        replace(violation, message=f"at t = {times[violation.state or 0]:.3f} s: {violation.message}")
        for violation in found
    )


def singular_time(platform: Platform, path: PlatformPath, step: float) -> float | None:
    """When a path first crosses a singularity [s]; None when the determinant never changes sign."""
    times = samples(path, step)
    determinants = np.linalg.det(platform.legs_of(path.at(times)).jacobian)
    changes = np.flatnonzero(determinants[:-1] * determinants[1:] <= 0.0)
    if not len(changes):
        return None
    low, high = times[changes[0]], times[changes[0] + 1]
    sign = np.sign(determinants[changes[0]])
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if np.sign(np.linalg.det(platform.legs_of(path.at(middle)).jacobian)) == sign:
            low = middle
        else:
            high = middle
    return float(0.5 * (low + high))


def _no_worse(violation: Violation, start: Violation) -> bool:
    """Whether a violation is one of the start's that gets no worse; the condition number is not spared."""
    if violation.leg is None or (violation.quantity, violation.leg) != (start.quantity, start.leg):
        return False
    beyond, before = violation.value - violation.limit, start.value - start.limit
    return beyond * before > 0.0 and abs(beyond) <= abs(before) + ROUNDING


def samples(path: PlatformPath, step: float) -> Array:
    """Equally spaced times at most ``step`` apart, ends included [s]."""
    if not (np.isfinite(step) and step > 0.0):
        raise ParameterError(f"step is {step} s; it must be positive")
    count = path.duration / step
    if not count <= MOST_SAMPLES:
        raise ParameterError(
            f"step is {step:g} s: {count:.3g} samples in {path.duration:g} s; {MOST_SAMPLES} are possible"
        )
    return np.linspace(0.0, path.duration, max(2, int(np.ceil(count)) + 1))
