"""The efforts that velocities cause."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.inputs import PAYLOAD, QD, TAU, Inputs, Q, Request
from robot_dynamics.dynamics.generator.recursion import inverse_dynamics
from robot_dynamics.dynamics.generator.tracing import Trace, best_trace
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    def trace(choices: Choices) -> Trace:
        inputs = Inputs(request, Q, QD)
        weightless = replace(inputs.state(), gravity=[inputs.graph.expression(0.0)] * 3)
        return Trace(inputs.graph, (inverse_dynamics(inputs.graph, request.links, weightless, choices),))

    return best_trace(request, trace)


@quantity(states=(Q, QD), held=(PAYLOAD,), outputs=(OutputArray(TAU.name, TAU.description),), trace=_trace)
def coriolis(self: Functions, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
    """Joint efforts of the Coriolis and centrifugal terms, C(q, qd) qd.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        out: array for the result.

    Returns:
        Joint efforts, shaped like ``q`` [N·m or N].

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    efforts: Array = self.function("coriolis")(q, qd, out)
    return efforts
