"""The matrix that multiplies the inertial parameters in the efforts of a motion."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.inputs import GRAVITY, QD, QDD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.regressor import regressor as rows_of
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.quantities.matrices import flat
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    inputs = Inputs(request, Q, QD, QDD)
    poses = request.model.link_poses or (None,) * len(request.links)
    composed = request.objective is not Objective.OPERATIONS
    rows = rows_of(request.links, inputs.state(), poses, composed=composed)
    return Trace(inputs.graph, (flat(rows),))


@quantity(
    states=(Q, QD, QDD),
    held=(GRAVITY,),
    outputs=(
        OutputArray(
            "regressor",
            "joint efforts per m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz of every moving link, row by row",
            lambda sizes: (sizes.joints, 10 * sizes.links),
        ),
    ),
    trace=_trace,
)
def regressor(
    self: Functions, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None
) -> Array:
    """Matrix Y with Y(q, qd, qdd) p the joint efforts of inverse dynamics, p the inertial parameters.

    p has ten entries for each of the m moving links, in the order of the chain: mass m, first moment m c (3),
    and inertia about the origin, xx, xy, yy, xz, yz, zz, in the axes of the link's joint frame in the URDF.
    These are the columns of Pinocchio's ``computeJointTorqueRegressor``.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        qdd: joint accelerations, shaped like ``q`` [rad/s² or m/s²].
        out: array for the result.

    Returns:
        (n, 10 m) or (N, n, 10 m).

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    matrix: Array = self.function("regressor")(q, qd, qdd, out)
    return matrix
