"""Limits of the legs and nearness to singular poses, in words that name the leg and the number."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from robot_dynamics.errors import LimitError, LimitWarning, ParameterError, SingularityError, StateError
from robot_dynamics.inputs.arrays import one_of
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.kinematics import LegGeometry, condition_number
from robot_dynamics.stewart.machine import LEG_COUNT, Machine
from robot_dynamics.stewart.motion import Motion

OnViolation = Literal["raise", "warn", "report"]


@dataclass(frozen=True)
class Violation:
    """One limit that is not kept; of a batch the worst state.

    Attributes:
        quantity: "condition_number", "length", "base_angle", "platform_angle", "speed" or "force".
        leg: index of the leg, None for the condition number.
        state: index of the worst state of a batch, None for a single state.
        value: the number.
        limit: what it must keep to.
        message: all of this in words.
    """

    quantity: str
    leg: int | None
    state: int | None
    value: float
    limit: float
    message: str


class Violations(tuple[Violation, ...]):
    """Limits that poses do not keep: the worst state of each, and whether each state keeps all limits.

    Attributes:
        kept: (...) of booleans, the batch's axes: whether a state keeps every limit.
    """

    kept: Array

    def __new__(cls, found: Iterable[Violation], kept: Array) -> Violations:
        """Violations, and which states have none."""
        violations = super().__new__(cls, found)
        violations.kept = kept
        return violations


def pose_violations(machine: Machine, legs: LegGeometry, rotation: Array) -> Violations:
    """Limits of condition number, stroke and joint angles that poses do not keep."""
    found = list(_condition(machine, legs))
    kept = condition_number(legs.jacobian, machine.characteristic_length) <= machine.condition_limit
    for key, words, values, bounds, unit in pose_quantities(machine, legs, rotation):
        found.extend(_beyond(machine, key, words, values, np.array(bounds), unit))
        kept = kept & (values <= bounds).all(axis=-1)
    return Violations(found, np.asarray(kept))


def pose_quantities(
    machine: Machine, legs: LegGeometry, rotation: Array
) -> Iterator[tuple[str, str, Array, list[float], str]]:
    """Name, words, values (..., 6), greatest values (6,) and unit of what limits a pose."""
    home, limits = machine.home_directions, [leg.limits for leg in machine.legs]
    yield "length", "length", legs.lengths, [limit.longest for limit in limits], "m"
    yield "length", "length", -legs.lengths, [-limit.shortest for limit in limits], "m"
    angles = _angles(legs.directions, home)
    yield "base_angle", "angle at the base", angles, [x.base_angle for x in limits], "rad"
    angles = _angles(legs.directions @ rotation, home @ machine.home_rotation)
    yield "platform_angle", "angle at the platform", angles, [x.platform_angle for x in limits], "rad"


def load_violations(machine: Machine, speeds: Array, forces: Array) -> tuple[Violation, ...]:
    """Limits that leg rates (..., 6) [m/s] and actuator forces (..., 6) [N] do not keep."""
    limits = [leg.limits for leg in machine.legs]
    return (
        *_beyond(machine, "speed", "speed", np.abs(speeds), np.array([x.speed for x in limits]), "m/s"),
        *_beyond(machine, "force", "force", np.abs(forces), np.array([x.force for x in limits]), "N"),
    )


def act_on(violations: tuple[Violation, ...], policy: OnViolation) -> None:
    """Raise, warn, or leave it to the caller.

    Raises:
        SingularityError: the pose is too near a singularity and the policy is "raise".
        LimitError: another limit is not kept and the policy is "raise".
        ParameterError: no such policy.
    """
    one_of("on_violation", policy, ("raise", "warn", "report"), ParameterError)
    if not violations or policy == "report":
        return
    text = "; ".join(violation.message for violation in violations)
    if policy == "warn":
        warnings.warn(text, LimitWarning, stacklevel=3)
    elif any(violation.quantity == "condition_number" for violation in violations):
        raise SingularityError(text)
    else:
        raise LimitError(text)


def _condition(machine: Machine, legs: LegGeometry) -> Iterator[Violation]:
    values = condition_number(legs.jacobian, machine.characteristic_length)
    worst = float(values.max(initial=0.0))
    if worst > machine.condition_limit:
        state = int(values.argmax()) if values.ndim else None
        yield Violation(
            "condition_number",
            None,
            state,
            worst,
            machine.condition_limit,
            f"the pose{_of(state)} is near a singularity: condition number {worst:.4g}, limit"
            f" {machine.condition_limit:g}",
        )


def _beyond(
    machine: Machine, quantity: str, words: str, values: Array, bounds: Array, unit: str
) -> Iterator[Violation]:
    rows = values.reshape(-1, LEG_COUNT)
    if not len(rows):
        return
    for leg in np.flatnonzero((rows > bounds).any(axis=0)).tolist():
        worst = int(rows[:, leg].argmax())
        state = worst if values.ndim > 1 else None
        value, bound = abs(float(rows[worst, leg])), abs(float(bounds[leg]))
        side = "below its least" if bounds[leg] < 0.0 else "above its greatest"
        yield Violation(
            quantity,
            leg,
            state,
            value,
            bound,
            f"{machine.leg_names[leg]}{_of(state)}: {words} {value:.5g} {unit}, {side} {bound:.5g} {unit}",
        )


def _of(state: int | None) -> str:
    return "" if state is None else f" of state {state}"


def _angles(a: Array, b: Array) -> Array:
    """Angles between unit vectors (..., 6, 3)."""
    return np.asarray(2.0 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=-1) / 2.0, 0.0, 1.0)))


def require_finite(result: Array, motion: Motion) -> None:
    """Refuse a motion whose forces exceed what numbers can hold, naming its greatest entry."""
    finite = np.isfinite(result).all(axis=-1)
    if np.all(finite):
        return
    where = np.unravel_index(int(np.argmin(finite)), np.shape(finite))
    parts = {name: float(np.abs(value[where]).max()) for name, value in motion._asdict().items()}
    name = max(parts, key=lambda part: parts[part])
    sample = f" of sample {', '.join(map(str, where))}" if where else ""
    raise StateError(
        f"the actuator forces{sample} are not finite: {name} reaches {parts[name]:.3g}; give values that a"
        " machine can have"
    )
