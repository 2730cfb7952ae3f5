"""Acceleration of the tip, or of any link, from joint velocities alone."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.frame_kinematics import frame_poses, twists
from robot_dynamics.dynamics.generator.inputs import QD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.generator.vectors import Vector, add
from robot_dynamics.dynamics.quantities.frames import AXES, FRAME, TIP, frame_of, steps_to
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array, cross_entries


def _trace(request: Request) -> Trace:
    inputs, frame = Inputs(request, Q, QD), frame_of(request)
    steps = steps_to(request, frame.links, inputs["q"])
    last = twists(steps, inputs["qd"])[-1]
    arm = [inputs.graph.expression(x) for x in frame.pose[:3, 3].tolist()]
    angular = last.angular_rate
    linear = add(last.linear_rate, cross_entries(angular, arm))
    if request.options[AXES.name] == TIP:
        result = [_seen(frame.pose, linear), _seen(frame.pose, angular)]
    else:
        # Components in fixed axes change with the turning of the link, too.
        velocity = add(last.linear, cross_entries(last.angular, arm))
        linear = add(linear, cross_entries(last.angular, velocity))
        pose = frame_poses(steps, request.model.base)[-1]
        result = [pose.directed(linear), pose.directed(angular)]
    return Trace(inputs.graph, ([*result[0], *result[1]],))


def _seen(pose: Array, v: Vector) -> Vector:
    """Components in the axes of a frame with this pose."""
    rotation = pose[:3, :3].tolist()
    return [sum((rotation[k][i] * v[k] for k in range(1, 3)), rotation[0][i] * v[0]) for i in range(3)]


@quantity(
    states=(Q, QD),
    outputs=(
        OutputArray(
            "jacobian_rate",
            "rate of the Jacobian times joint velocities: linear, then angular [m/s^2, rad/s^2]",
            lambda sizes: (6,),
        ),
    ),
    trace=_trace,
    options=(FRAME, AXES),
)
def jacobian_rate(
    self: Functions,
    q: ArrayLike,
    qd: ArrayLike,
    out: Array | None = None,
    *,
    frame: str | None = None,
    axes: str = "tip",
) -> Array:
    """Rate of the Jacobian times the joint velocities: J(q) qdd plus this is the rate of J(q) qd.

    With ``axes="root"`` that is the acceleration of the frame's origin and the angular acceleration; in the
    frame's own axes, which turn, it is the rate of the velocity's components, the spatial acceleration.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        out: array for the result.
        frame: name of a moving link or of a link fixed to one, as its joint frame in the URDF; the
            tip when omitted.
        axes: "tip" for the frame's own axes, "root" for those of the root frame.

    Returns:
        (6,) or (N, 6) [linear, angular] [m/s², rad/s²].

    Raises:
        ParameterError: no such link moves, or no such axes.
        StateError: a wrong shape or a value that is not finite.
    """
    rate: Array = self.function("jacobian_rate", frame=frame, axes=axes)(q, qd, out)
    return rate
