"""The Jacobian of the tip, or of any link."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.frame_kinematics import frame_poses, placed_on, root_jacobian
from robot_dynamics.dynamics.generator.inputs import Inputs, Q, Request
from robot_dynamics.dynamics.generator.jacobian import tip_jacobian
from robot_dynamics.dynamics.generator.tracing import Trace, best_trace
from robot_dynamics.dynamics.quantities.frames import AXES, FRAME, TIP, frame_of, steps_to
from robot_dynamics.dynamics.quantities.matrices import flat
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    frame = frame_of(request)

    def own(choices: Choices) -> Trace:
        inputs = Inputs(request, Q)
        rows = tip_jacobian(inputs.graph, frame.links, frame.pose, inputs["q"], choices.of(frame.path))
        return Trace(inputs.graph, (flat(rows),))

    if request.options[AXES.name] == TIP:
        return best_trace(request, own, relevant=("joined",))
    inputs = Inputs(request, Q)
    steps = steps_to(request, frame.links, inputs["q"])
    poses = frame_poses(steps, request.model.base)
    point = placed_on(poses[-1], frame.pose).origin
    return Trace(inputs.graph, (flat(root_jacobian(steps, poses, point, request.model.dof)),))


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
    options=(FRAME, AXES),
)
def jacobian(
    self: Functions,
    q: ArrayLike,
    out: Array | None = None,
    *,
    frame: str | None = None,
    axes: str = "tip",
) -> Array:
    """Jacobian: J(q) qd is the [linear, angular] velocity of a frame's origin, in the frame's own axes.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        out: array for the result.
        frame: name of a moving link or of a link fixed to one, as its joint frame in the URDF; the
            tip when omitted.
        axes: "tip" for the frame's own axes, "root" for those of the root frame.

    Returns:
        (6, n) or (N, 6, n).

    Raises:
        ParameterError: no such link moves, or no such axes.
        StateError: a wrong shape or a value that is not finite.
    """
    matrix: Array = self.function("jacobian", frame=frame, axes=axes)(q, out)
    return matrix
