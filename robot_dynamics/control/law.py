"""Control laws: joint efforts from the state of the arm and the reference that it shall follow.

Lee, Chung, Mudge and Turney, "On the Control of Mechanical Manipulators": the inverse dynamics are evaluated
at the commanded acceleration (4.4)

    a = qdd_d + Kv (qd_d - qd) + Kp (q_d - q),

which makes the error obey  e'' + Kv e' + Kp e = 0  when the model is exact (4.3).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Protocol

import numpy as np

from robot_dynamics.control.trajectory import Reference
from robot_dynamics.spatial import Array

SLOWEST = 1.0
"""Least velocity gain by which an acceleration is turned into a velocity to be reached [1/s]."""


class InverseDynamics(Protocol):
    """What a law needs of the model."""

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Joint efforts (n,) for the motion."""


class DrivenDynamics(Protocol):
    """What Lee's law needs: the model with the dry friction of its drives."""

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, heading: Array | None = None) -> Array:
        """Joint efforts (n,) for the motion; dry friction is overcome along ``heading`` (n,), else ``qd``."""


class Mode(enum.Enum):
    """What the controller computes from the model."""

    COMPUTED_TORQUE = "computed_torque"
    FEEDFORWARD = "feedforward"
    GRAVITY_COMPENSATION = "gravity_compensation"
    PD = "pd"


def computed_torque(
    dynamics: DrivenDynamics,
    q: Array,
    qd: Array,
    reference: Callable[[float], Reference],
    kp: Array,
    kv: Array,
    half_period: float,
) -> Array:
    """Lee's law, with the model evaluated ``half_period`` ahead.

    The effort is held over a whole control period, so the model that suits it best is the one in the middle
    of that period: position and velocity are extrapolated there with the commanded acceleration, and the
    reference acceleration is taken there. ``half_period = 0`` is the law as published.

    Dry friction is overcome along the velocity to which the law leads the joint, qd + a / Kv, not along the
    measured one: a joint that friction holds has none, and would stay where it is.

    Args:
        dynamics: the model.
        q: (n,) measured positions [rad or m].
        qd: (n,) measured velocities [rad/s or m/s].
        reference: the reference so many seconds from now.
        kp: (n,) position gains [1/s²].
        kv: (n,) velocity gains [1/s].
        half_period: half the control period, or zero [s].

    Returns:
        (n,) joint efforts [N·m or N].
    """
    now = reference(0.0)
    feedback = kv * (now.velocity - qd) + kp * (now.position - q)
    acceleration = reference(half_period).acceleration + feedback
    velocity_ahead = qd + half_period * acceleration
    position_ahead = q + half_period * (qd + 0.5 * half_period * acceleration)
    heading = qd + acceleration / np.maximum(kv, SLOWEST)
    return dynamics.inverse_dynamics(position_ahead, velocity_ahead, acceleration, heading)


def feedforward(dynamics: InverseDynamics, reference: Reference) -> Array:
    """Efforts of the reference motion alone; the arm's state is not used."""
    return dynamics.inverse_dynamics(reference.position, reference.velocity, reference.acceleration)


def gravity_load(dynamics: InverseDynamics, q: Array) -> Array:
    """Efforts that carry the arm at rest in ``q``."""
    rest = np.zeros(len(q))
    return dynamics.inverse_dynamics(q, rest, rest)


def proportional_derivative(
    q: Array, qd: Array, reference: Reference, kp: Array, kv: Array, inertia: Array
) -> Array:
    """Independent joint control without a model: constant ``inertia`` (n,) scales the gains to efforts."""
    return inertia * (kv * (reference.velocity - qd) + kp * (reference.position - q))


def joint_inertia(dynamics: InverseDynamics, q: Array) -> Array:
    """(n,) diagonal of the mass matrix at ``q``: effort per own acceleration."""
    count = len(q)
    rest = np.zeros(count)
    load = dynamics.inverse_dynamics(q, rest, rest)
    unit = np.eye(count)
    return np.array([(dynamics.inverse_dynamics(q, rest, unit[j]) - load)[j] for j in range(count)])
