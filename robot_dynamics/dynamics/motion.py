"""Motion of an arm under given efforts: Runge-Kutta integration, and the energy that checks it.

Turney, Mudge, Lee 1980, section 7: y = (qd, q), four evaluations of g(y) = (forward dynamics, qd) a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.forward_dynamics import articulated_body, forward_dynamics
from robot_dynamics.dynamics.gate import gate
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.dynamics.spatial_chain import joint_rates, spatial_chain, velocities
from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.inputs.arrays import joint_vector, real_number
from robot_dynamics.inputs.records import check_arrays
from robot_dynamics.spatial import Array

MOST_STEPS = 10_000_000
"""Of one simulation; their states are kept."""
Effort = Callable[[float, Array, Array], Array]


@dataclass(frozen=True)
class ArmMotion:
    """Times (N+1,) [s], coordinates and velocities (N+1, n) of a simulated motion."""

    time: Array
    q: Array
    qd: Array

    def __post_init__(self) -> None:
        check_arrays(self, "time", "q", "qd")


def runge_kutta_step(slope: Callable[[float, Array], Array], time: float, y: Array, step: float) -> Array:
    """y after ``step`` [s] of dy/dt = slope(t, y), by the classical four-point method."""
    h1 = step * slope(time, y)
    h2 = step * slope(time + 0.5 * step, y + 0.5 * h1)
    h3 = step * slope(time + 0.5 * step, y + 0.5 * h2)
    h4 = step * slope(time + step, y + h3)
    return np.asarray(y + (h1 + 2.0 * h2 + 2.0 * h3 + h4) / 6.0)


@gate
def simulate(
    model: SerialModel,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    duration: float,
    step: float,
    effort: Effort | None = None,
) -> ArmMotion:
    """Motion from the state ``q``, ``qd`` (n,) under the efforts ``effort(t, q, qd)`` (n,), by default none.

    Args:
        model: the arm.
        q, qd: initial coordinates [rad or m] and velocities.
        duration: simulated time [s]; the number of steps is rounded.
        step: step size [s].
        effort: efforts [N·m or N].

    Raises:
        ParameterError: a step or duration that is not positive, or too many steps.
        StateError: a wrong shape, efforts that are no (n,) finite numbers, or a motion that has left these.
    """
    duration = real_number("duration", duration, ParameterError)
    step = real_number("step", step, ParameterError)
    if not (step > 0.0 and duration >= step):
        raise ParameterError(f"need 0 < step <= duration, not step {step} s and duration {duration} s")
    if duration / step > MOST_STEPS:
        raise ParameterError(
            f"step is {step:g} s: {duration / step:.3g} steps in {duration:g} s; {MOST_STEPS} are possible"
        )
    start = np.array([qd, q], dtype=float)
    solve = articulated_body if len(model.links) == model.dof else forward_dynamics
    idle, names = np.zeros(model.dof), model.coordinate_names

    def slope(time: float, y: Array) -> Array:
        _require_finite(y, time, step)
        tau = idle if effort is None else _checked(effort(time, y[1], y[0]), time, names)
        return np.array([solve(model, y[1], y[0], tau), y[0]])

    steps = round(duration / step)
    states = [start]
    for k in range(steps):
        states.append(runge_kutta_step(slope, k * step, states[-1], step))
    _require_finite(states[-1], steps * step, step)
    history = np.array(states)
    return ArmMotion(np.arange(steps + 1, dtype=float) * step, history[:, 1], history[:, 0])


def _checked(given: Any, time: float, names: Sequence[str]) -> Array:
    """The efforts that the caller's function has given."""
    try:
        return joint_vector("effort", given, names)
    except StateError as reason:
        raise StateError(
            f"the efforts at {time:.4g} s are not finite numbers, one a joint: {reason}"
        ) from None


def _require_finite(y: Array, time: float, step: float) -> None:
    if not np.all(np.isfinite(y)):
        raise StateError(
            f"the motion is not finite at {time:.4g} s; use a step below {step} s, or check the efforts"
        )


@gate
def kinetic_energy(model: SerialModel, q: ArrayLike, qd: ArrayLike) -> float:
    """Kinetic energy [J], summed link by link.

    Args:
        model: the arm.
        q, qd: (n,) coordinates [rad or m] and velocities [rad/s or m/s].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    speed = velocities(chain, joint_rates(model, np.asarray(qd, dtype=float)))
    return float(sum(0.5 * v @ inertia @ v for v, inertia in zip(speed, chain.inertias, strict=True)))


@gate
def potential_energy(model: SerialModel, q: ArrayLike) -> float:
    """Potential energy of gravity [J], zero where every center of mass is in frame 0's origin.

    Args:
        model: the arm.
        q: (n,) coordinates [rad or m].
    """
    chain = spatial_chain(model, np.asarray(q, dtype=float))
    energy = 0.0
    for link, pose in zip(model.links, chain.poses, strict=True):
        energy -= float(model.gravity @ (pose[:3, :3] @ link.first_moment + link.mass * pose[:3, 3]))
    return energy
