"""How the efforts of a motion change with the motion."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.inputs import (
    FRICTION,
    GRAVITY,
    PAYLOAD,
    QD,
    QDD,
    WRENCH,
    Inputs,
    Q,
    Request,
    Sizes,
)
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.generator.sensitivity import sensitivity
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    inputs = Inputs(request, Q, QD, QDD)
    composed = request.objective is not Objective.OPERATIONS
    found = sensitivity(request.links, inputs.state(), composed=composed)
    velocities = found.velocities
    for i, slope in enumerate(inputs.friction_slopes()):
        velocities[i][i] = velocities[i][i] + slope
    return Trace(inputs.graph, (flat(found.positions), flat(velocities), flat(found.mass)))


def flat(matrix: list[list[Expression]]) -> list[Expression]:
    """The entries row by row."""
    return [entry for row in matrix for entry in row]


def square(sizes: Sizes) -> tuple[int, int]:
    """The shape of a matrix over the joints."""
    return sizes.joints, sizes.joints


@quantity(
    states=(Q, QD, QDD),
    optional=(WRENCH,),
    held=(GRAVITY, PAYLOAD, FRICTION),
    outputs=(
        OutputArray(
            "tau_q", "derivative of the joint efforts [{effort}] by the positions, row by row", square
        ),
        OutputArray("tau_qd", "derivative of the joint efforts by the velocities, row by row", square),
        OutputArray("tau_qdd", "derivative by the accelerations: the mass matrix, row by row", square),
    ),
    trace=_trace,
)
def inverse_dynamics_derivatives(
    self: Functions,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrench: ArrayLike | None = None,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Derivatives of ``inverse_dynamics`` by its arguments; the wrench stays as it is in the tip frame.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        qdd: joint accelerations, shaped like ``q`` [rad/s² or m/s²].
        wrench: (6,) or (N, 6) [force, torque] that the arm exerts on its environment at the tip, in the tip
            frame [N, N·m]; nothing when omitted.
        out: three arrays for the results.

    Returns:
        The derivatives by q, by qd and by qdd (the mass matrix), each (n, n) or (N, n, n): row i is of the
        effort of joint i.

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    function = self.function("inverse_dynamics_derivatives")
    derivatives: tuple[Array, Array, Array] = function(q, qd, qdd, wrench, out)
    return derivatives
