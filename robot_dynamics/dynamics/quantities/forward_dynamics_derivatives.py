"""Derivatives of forward dynamics by state and efforts."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from robot_dynamics.codegen.columns import ColumnGraph, Rows
from robot_dynamics.codegen.program import Columns
from robot_dynamics.dynamics.generator.choices import default_choices
from robot_dynamics.dynamics.generator.columns import column_sensitivity, fit_columns
from robot_dynamics.dynamics.generator.forward_dynamics import inverse_symmetric
from robot_dynamics.dynamics.generator.inputs import (
    FRICTION,
    GRAVITY,
    PAYLOAD,
    QD,
    TAU,
    WRENCH,
    Inputs,
    Q,
    Request,
)
from robot_dynamics.dynamics.generator.recursion import inverse_dynamics
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.generator.vectors import add
from robot_dynamics.dynamics.quantities.inverse_mass_matrix import NO_INVERSE
from robot_dynamics.dynamics.quantities.matrices import (
    composed_angles,
    flat,
    product,
    square,
    velocities,
    way_back,
)
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    """With tau held, d qdd = -M^-1 d tau(q, qd, qdd) at the accelerations qdd = M^-1 (tau - bias)."""
    inputs = Inputs(request, Q, QD, TAU)
    still = inputs.state()
    choices = replace(default_choices(request.links), composed_angles=composed_angles(request))
    bias = inverse_dynamics(inputs.graph, request.links, still, choices)
    inverse = inverse_symmetric(way_back(request, still).matrices().mass)
    needed = add(bias, inputs.friction_efforts())
    driving = [[given - taken] for given, taken in zip(inputs["tau"], needed, strict=True)]
    way = way_back(request, replace(still, qdd=flat(product(inverse, driving))))
    slopes = inputs.friction_slopes()

    def columns() -> Columns:
        graph = ColumnGraph(inputs.graph)
        found = column_sensitivity(graph, way, slopes)
        left = flat(inverse)
        outputs = [Rows(left, matrix.negated) for matrix in (found.positions, found.velocities)]
        return graph.columns("columns", request.model.dof, [*outputs, Rows(left)])

    found = way.matrices()
    by_q, by_qd = (
        [-entry for entry in flat(product(inverse, matrix))]
        for matrix in (found.positions, velocities(found, slopes))
    )
    outputs = (by_q, by_qd, flat(inverse))
    return Trace(inputs.graph, outputs, columns if fit_columns(request.links) else None)


@quantity(
    states=(Q, QD, TAU),
    optional=(WRENCH,),
    held=(GRAVITY, PAYLOAD, FRICTION),
    outputs=(
        OutputArray("qdd_q", "derivative of the joint accelerations by the positions, row by row", square),
        OutputArray("qdd_qd", "derivative of the joint accelerations by the velocities, row by row", square),
        OutputArray("qdd_tau", "derivative by the efforts: the inverse mass matrix, row by row", square),
    ),
    trace=_trace,
    singular=NO_INVERSE,
)
def forward_dynamics_derivatives(
    self: Functions,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrench: ArrayLike | None = None,
    out: tuple[Array, Array, Array] | None = None,
) -> tuple[Array, Array, Array]:
    """Derivatives of ``forward_dynamics`` by its arguments; the wrench stays as it is in the tip frame.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        tau: joint efforts, shaped like ``q`` [N·m or N].
        wrench: (6,) or (N, 6) [force, torque] that the arm exerts on its environment at the tip, in the tip
            frame [N, N·m]; nothing when omitted.
        out: three arrays for the results.

    Returns:
        The derivatives by q, by qd and by tau (the inverse mass matrix), each (n, n) or (N, n, n): row i is
        of the acceleration of joint i.

    Raises:
        StateError: a wrong shape or a value that is not finite.
        SingularityError: a joint moves no mass.
    """
    function = self.function("forward_dynamics_derivatives")
    derivatives: tuple[Array, Array, Array] = function(q, qd, tau, wrench, out)
    return derivatives
