"""Derivatives of inverse dynamics by the motion."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.codegen.columns import ColumnGraph, Rows
from robot_dynamics.codegen.program import Columns
from robot_dynamics.dynamics.generator.columns import column_sensitivity, fit_columns
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
)
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.quantities.matrices import flat, square, velocities, way_back
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    inputs = Inputs(request, Q, QD, QDD)
    way = way_back(request, inputs.state())
    slopes = inputs.friction_slopes()

    def columns() -> Columns:
        graph = ColumnGraph(inputs.graph)
        found = column_sensitivity(graph, way, slopes)
        matrices = (found.positions, found.velocities, found.mass)
        return graph.columns("columns", request.model.dof, [Rows(right=matrix) for matrix in matrices])

    found = way.matrices()
    outputs = (flat(found.positions), flat(velocities(found, slopes)), flat(found.mass))
    return Trace(inputs.graph, outputs, columns if fit_columns(request.links) else None)


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
