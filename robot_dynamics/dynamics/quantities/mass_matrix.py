"""The joint-space mass matrix."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.inputs import PAYLOAD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.mass_matrix import mass_matrix as composite_bodies
from robot_dynamics.dynamics.generator.tracing import Trace, best_trace
from robot_dynamics.dynamics.quantities.matrices import flat, square
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array

# What the search may choose.
RELEVANT = ("point_mass", "isotropic", "joined", "turn", "backward_length")


def _trace(request: Request) -> Trace:
    def trace(choices: Choices) -> Trace:
        inputs = Inputs(request, Q)
        matrix = composite_bodies(inputs.graph, request.links, inputs["q"], choices, inputs.payloads)
        return Trace(inputs.graph, (flat(matrix),))

    return best_trace(request, trace, RELEVANT)


@quantity(
    states=(Q,),
    held=(PAYLOAD,),
    outputs=(
        OutputArray(
            "mass_matrix",
            "joint-space mass matrix, row by row, symmetric [kg m^2, kg m or kg]",
            square,
        ),
    ),
    trace=_trace,
)
def mass_matrix(self: Functions, q: ArrayLike, out: Array | None = None) -> Array:
    """The joint-space mass matrix M(q), symmetric.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        out: array for the result.

    Returns:
        (n, n) or (N, n, n) [kg·m², kg·m or kg].

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    matrix: Array = self.function("mass_matrix")(q, out)
    return matrix
