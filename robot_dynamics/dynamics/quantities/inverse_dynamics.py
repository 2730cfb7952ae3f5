"""The efforts that a motion needs."""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.inputs import (
    FRICTION,
    GRAVITY,
    PAYLOAD,
    QD,
    QDD,
    TAU,
    WRENCH,
    Inputs,
    Q,
    Request,
)
from robot_dynamics.dynamics.generator.recursion import inverse_dynamics as recursion
from robot_dynamics.dynamics.generator.tracing import Trace, best_trace
from robot_dynamics.dynamics.generator.vectors import add
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def trace_recursion(request: Request, choices: Choices) -> Trace:
    """The recursion with given choices."""
    inputs = Inputs(request, Q, QD, QDD)
    tau = recursion(inputs.graph, request.links, inputs.state(), choices)
    return Trace(inputs.graph, (add(tau, inputs.friction_efforts()),))


def _trace(request: Request) -> Trace:
    return best_trace(request, partial(trace_recursion, request))


@quantity(
    states=(Q, QD, QDD),
    optional=(WRENCH,),
    held=(GRAVITY, PAYLOAD, FRICTION),
    outputs=(OutputArray(TAU.name, TAU.description),),
    trace=_trace,
)
def inverse_dynamics(
    self: Functions,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrench: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Joint efforts that give the accelerations ``qdd``.

    Args:
        q: (n,) or (N, n) joint positions, in the order of ``chain.joint_names`` [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        qdd: joint accelerations, shaped like ``q`` [rad/s² or m/s²].
        wrench: (6,) or (N, 6) [force, torque] that the arm exerts on its environment at the tip, in the tip
            frame [N, N·m]; nothing when omitted.
        out: array for the result.

    Returns:
        Joint efforts, shaped like ``q`` [N·m or N].

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    efforts: Array = self.function("inverse_dynamics")(q, qd, qdd, wrench, out)
    return efforts
