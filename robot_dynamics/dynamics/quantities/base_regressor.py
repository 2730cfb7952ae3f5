"""The matrix that multiplies the base parameters in the efforts of a motion."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.inputs import GRAVITY, QD, QDD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.regressor import regressor
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.identifiable import base_of_model
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    inputs = Inputs(request, Q, QD, QDD)
    composed = request.objective is not Objective.OPERATIONS
    frames = (None,) * len(request.links)
    rows = regressor(request.links, inputs.state(), frames, composed=composed)
    columns = base_of_model(request.model, any_gravity=GRAVITY in request.more).columns
    return Trace(inputs.graph, ([row[column] for row in rows for column in columns],))


@quantity(
    states=(Q, QD, QDD),
    held=(GRAVITY,),
    outputs=(
        OutputArray(
            "base_regressor",
            "joint efforts per base parameter, row by row",
            lambda sizes: (sizes.joints, sizes.base),
        ),
    ),
    trace=_trace,
)
def base_regressor(
    self: Functions, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None
) -> Array:
    """Matrix of full column rank over motions: ``regressor`` is ``base_regressor @ base_map``.

    Its b columns belong to the base parameters ``base_map @ p``, the fewest combinations of the inertial
    parameters p of ``regressor`` that give the same efforts: closed-form rules of Gautier and Khalil (IEEE
    Trans. Robotics and Automation 6, 1990), no decision on samples. After ``with_gravity`` they are those for
    any direction of gravity. Where a joint follows another, b may be more than the rank.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        qdd: joint accelerations, shaped like ``q`` [rad/s² or m/s²].
        out: array for the result.

    Returns:
        (n, b) or (N, n, b).

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    matrix: Array = self.function("base_regressor")(q, qd, qdd, out)
    return matrix
