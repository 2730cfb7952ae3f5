"""The Jacobian of the tip."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.inputs import Inputs, Q, Request
from robot_dynamics.dynamics.generator.jacobian import tip_jacobian
from robot_dynamics.dynamics.generator.tracing import Trace, best_trace
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    def trace(choices: Choices) -> Trace:
        inputs = Inputs(request, Q)
        rows = tip_jacobian(inputs.graph, request.links, request.model.tip, inputs["q"], choices)
        return Trace(inputs.graph, ([entry for row in rows for entry in row],))

    return best_trace(request, trace, relevant=("joined",))


@quantity(
    states=(Q,),
    outputs=(
        OutputArray(
            "jacobian",
            "6 rows: linear, then angular velocity of the tip in the tip frame, per joint velocity",
            lambda sizes: (6, sizes.joints),
        ),
    ),
    trace=_trace,
)
def jacobian(self: Functions, q: ArrayLike, out: Array | None = None) -> Array:
    """Jacobian of the tip: [linear, angular] velocity of the tip frame, in the tip frame, is J(q) qd.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        out: array for the result.

    Returns:
        (6, n) or (N, 6, n).

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    matrix: Array = self.function("jacobian")(q, out)
    return matrix
