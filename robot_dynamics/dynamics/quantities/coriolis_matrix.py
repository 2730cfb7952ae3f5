"""The matrix of Coriolis and centrifugal terms."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.inputs import PAYLOAD, QD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.quantities.matrices import flat, square, way_back
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    inputs = Inputs(request, Q, QD)
    state = replace(inputs.state(), gravity=[inputs.graph.expression(0.0)] * 3)
    return Trace(inputs.graph, (flat(way_back(request, state).matrices().coriolis),))


@quantity(
    states=(Q, QD),
    held=(PAYLOAD,),
    outputs=(
        OutputArray(
            "coriolis_matrix",
            "C with C qd the velocity terms and dM/dt - 2 C skew, row by row [N m s or N s]",
            square,
        ),
    ),
    trace=_trace,
)
def coriolis_matrix(self: Functions, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
    """Matrix C of Christoffel's symbols: C(q, qd) qd are the velocity terms, and dM/dt - 2 C is skew.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        out: array for the result.

    Returns:
        (n, n) or (N, n, n).

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    matrix: Array = self.function("coriolis_matrix")(q, qd, out)
    return matrix
