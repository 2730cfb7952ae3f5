"""The pose of the tip, or of any link."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.inputs import Inputs, Q, Request
from robot_dynamics.dynamics.generator.placing import frame_poses, placed_on
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.quantities.frames import FRAME, frame_of, steps_to
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    inputs, frame = Inputs(request, Q), frame_of(request)
    steps = steps_to(request, frame.links, inputs["q"])
    placed = placed_on(frame_poses(steps, request.model.base)[-1], frame.pose)
    columns = [placed.x, placed.y, placed.z, placed.origin]
    last = [inputs.graph.expression(x) for x in (0.0, 0.0, 0.0, 1.0)]
    return Trace(inputs.graph, ([column[i] for i in range(3) for column in columns] + last,))


@quantity(
    states=(Q,),
    outputs=(
        OutputArray("pose", "4 x 4 pose in the root frame, row by row; lengths [m]", lambda sizes: (4, 4)),
    ),
    trace=_trace,
    options=(FRAME,),
)
def forward_kinematics(
    self: Functions, q: ArrayLike, out: Array | None = None, *, frame: str | None = None
) -> Array:
    """Pose of the tip, or of the frame of any moving link, in the root frame.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        out: array for the result.
        frame: name of a moving link, whose frame is its joint frame in the URDF; the tip when omitted.

    Returns:
        (4, 4) or (N, 4, 4): rotation and position [m].

    Raises:
        ParameterError: no such link moves.
        StateError: a wrong shape or a value that is not finite.
    """
    pose: Array = self.function("forward_kinematics", frame=frame)(q, out)
    return pose
