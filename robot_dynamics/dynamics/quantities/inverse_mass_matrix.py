"""The inverse of the joint-space mass matrix."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.forward_dynamics import inverse_symmetric
from robot_dynamics.dynamics.generator.inputs import PAYLOAD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.mass_matrix import mass_matrix
from robot_dynamics.dynamics.generator.tracing import Trace, searched
from robot_dynamics.dynamics.quantities.mass_matrix import RELEVANT
from robot_dynamics.dynamics.quantities.matrices import flat, square
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array

NO_INVERSE = (
    "the mass matrix is singular because one of the joints {joints} moves no mass; give the links beyond it"
    " an inertia"
)


def _trace(request: Request) -> Trace:
    def trace(choices: Choices) -> Trace:
        inputs = Inputs(request, Q)
        rows = mass_matrix(inputs.graph, request.links, inputs["q"], choices, inputs.payloads)
        return Trace(inputs.graph, (flat(rows),))

    inputs = Inputs(request, Q)
    choices = searched(request, trace, RELEVANT)
    inverse = inverse_symmetric(
        mass_matrix(inputs.graph, request.links, inputs["q"], choices, inputs.payloads)
    )
    return Trace(inputs.graph, (flat(inverse),))


@quantity(
    states=(Q,),
    held=(PAYLOAD,),
    outputs=(
        OutputArray(
            "inverse_mass_matrix",
            "inverse of the joint-space mass matrix, row by row, symmetric [1/(kg m^2), 1/(kg m) or 1/kg]",
            square,
        ),
    ),
    trace=_trace,
    singular=NO_INVERSE,
)
def inverse_mass_matrix(self: Functions, q: ArrayLike, out: Array | None = None) -> Array:
    """The inverse of the joint-space mass matrix, symmetric.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        out: array for the result.

    Returns:
        (n, n) or (N, n, n) [1/(kg·m²), 1/(kg·m) or 1/kg].

    Raises:
        StateError: a wrong shape or a value that is not finite.
        SingularityError: a joint moves no mass.
    """
    matrix: Array = self.function("inverse_mass_matrix")(q, out)
    return matrix
