"""The pose of the tip, or of any link."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from robot_dynamics.dynamics.generator.frame_kinematics import frame_poses, placed_on
from robot_dynamics.dynamics.generator.inputs import Inputs, Q, Request, Sizes
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.quantities.frames import FRAME, FRAMES, frame_of, frames_of, steps_to
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array


def _trace(request: Request) -> Trace:
    inputs, frames = Inputs(request, Q), frames_of(request) or [frame_of(request)]
    needed = request.links[: 1 + max(frame.path[-1] for frame in frames)]
    poses = frame_poses(steps_to(request, needed, inputs["q"]), request.model.base)
    last = [inputs.graph.expression(x) for x in (0.0, 0.0, 0.0, 1.0)]
    entries = []
    for frame in frames:
        placed = placed_on(poses[frame.path[-1]], frame.pose)
        columns = [placed.x, placed.y, placed.z, placed.origin]
        entries += [column[i] for i in range(3) for column in columns] + last
    return Trace(inputs.graph, (entries,))


def _shape(sizes: Sizes) -> tuple[int, ...]:
    chosen = sizes.options[FRAMES.name]
    return (len(chosen.split(",")), 4, 4) if chosen else (4, 4)


@quantity(
    states=(Q,),
    outputs=(OutputArray("pose", "4 x 4 pose in the root frame, row by row; lengths [m]", _shape),),
    trace=_trace,
    options=(FRAME, FRAMES),
)
def forward_kinematics(
    self: Functions,
    q: ArrayLike,
    out: Array | None = None,
    *,
    frame: str | None = None,
    frames: Sequence[str] | None = None,
) -> Array:
    """Pose of the tip, or of the frame of any moving link, in the root frame.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        out: array for the result.
        frame: name of a moving link or of a link fixed to one, as its joint frame in the URDF; the
            tip when omitted.
        frames: names of k of them (the tip's among them), for all their poses in one call.

    Returns:
        (4, 4) or (N, 4, 4): rotation and position [m]; with ``frames`` (k, 4, 4) or (N, k, 4, 4).

    Raises:
        ParameterError: no such link moves, or both ``frame`` and ``frames`` are given.
        StateError: a wrong shape or a value that is not finite.
    """
    pose: Array = self.function("forward_kinematics", frame=frame, frames=frames)(q, out)
    return pose
