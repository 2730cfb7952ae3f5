"""Generalised momentum with what changes it besides the efforts: what a momentum observer integrates."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.gravity import gravity_forces
from robot_dynamics.dynamics.generator.inputs import GRAVITY, PAYLOAD, QD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.momentum import momentum as momenta_and_slopes
from robot_dynamics.dynamics.generator.tracing import Trace, best_trace
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array

# What the search may choose.
RELEVANT = ("point_mass", "isotropic", "joined", "turn", "backward_length")


def _trace(request: Request) -> Trace:
    def trace(choices: Choices) -> Trace:
        inputs = Inputs(request, Q, QD)
        graph, links, q = inputs.graph, request.links, inputs["q"]
        momenta, slopes = momenta_and_slopes(graph, links, q, inputs["qd"], choices, inputs.payloads)
        weight = gravity_forces(graph, links, q, inputs.gravity, choices, inputs.payloads)
        return Trace(graph, (momenta, slopes, weight))

    return best_trace(request, trace, RELEVANT)


@quantity(
    states=(Q, QD),
    held=(GRAVITY, PAYLOAD),
    outputs=(
        OutputArray("momentum", "generalised momentum [effort times s]"),
        OutputArray("slope", "derivative of the kinetic energy by each joint position [{effort}]"),
        OutputArray("weight", "joint efforts that hold the arm at rest [{effort}]"),
    ),
    trace=_trace,
)
def momentum(
    self: Functions, q: ArrayLike, qd: ArrayLike, out: tuple[Array, Array, Array] | None = None
) -> tuple[Array, Array, Array]:
    """Generalised momentum and the terms of its rate, in one call.

    With joint efforts tau (friction taken off) and external efforts tau_ext, all of them on the joints,
    dp/dt = tau + slope - weight + tau_ext.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        out: arrays for the results.

    Returns:
        momentum: M(q) qd, shaped like ``q`` [N·m·s or N·s].
        slope: derivative of the kinetic energy by each position, C(q, qd)^T qd [N·m or N].
        weight: efforts that hold the arm at rest, as of ``gravity`` [N·m or N].

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    results: tuple[Array, Array, Array] = self.function("momentum")(q, qd, out)
    return results
