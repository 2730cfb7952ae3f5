"""The efforts that hold an arm at rest."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.gravity import gravity_forces
from robot_dynamics.dynamics.generator.inputs import GRAVITY, PAYLOAD, TAU, Inputs, Q, Request
from robot_dynamics.dynamics.generator.tracing import Trace, best_trace
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    def trace(choices: Choices) -> Trace:
        inputs = Inputs(request, Q)
        tau = gravity_forces(
            inputs.graph, request.links, inputs["q"], inputs.gravity, choices, inputs.payloads
        )
        return Trace(inputs.graph, (tau,))

    return best_trace(request, trace, relevant=("point_mass", "joined", "turn"))


@quantity(
    states=(Q,), held=(GRAVITY, PAYLOAD), outputs=(OutputArray(TAU.name, TAU.description),), trace=_trace
)
def gravity(self: Functions, q: ArrayLike, out: Array | None = None) -> Array:
    """Joint efforts that hold the arm at rest.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        out: array for the result.

    Returns:
        Joint efforts, shaped like ``q`` [N·m or N].

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    efforts: Array = self.function("gravity")(q, out)
    return efforts
