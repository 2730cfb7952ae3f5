"""The joint efforts as a linear function of the links' inertial parameters.

Of a link with mass m, first moment h = m c and inertia I about the origin of a frame that is fixed in it,
with that frame's acceleration a less gravity, angular velocity w and acceleration tensor b (:mod:`.motion`),

    force  m a + b h,          moment  h x a + I wd + w x I w

and joint i, which moves the frame's origin at s and turns the link about e, carries s . force + e . moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.link_motions import Motions
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.motion import AngularMotion, tensor_of
from robot_dynamics.dynamics.generator.recursion import RecursionState
from robot_dynamics.dynamics.generator.vectors import Vector, add
from robot_dynamics.spatial import Array, cross_entries

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Of a link; moments and inertia about the origin and in the axes of its frame."""


def regressor(
    links: tuple[GeneratorLink, ...], state: RecursionState, poses: Sequence[Array | None], *, composed: bool
) -> list[list[Expression]]:
    """One row per coordinate; ten columns per link, in the order of ``PARAMETERS``.

    Args:
        links: the arm; its mass properties do not matter.
        state: of the arm.
        poses: (4, 4) of every link's frame, to which its parameters belong, in the frame of ``links``; None
            where they are one.
        composed: sines and cosines of sums of angles by products.
    """
    graph = state.q[0].graph
    moved = Motions(links, state, composed=composed)
    rows = [[graph.expression(0.0)] * (10 * len(links)) for _ in state.q]
    fields: list[dict[int, tuple[Vector, Vector]]] = []
    for index, link in enumerate(links):
        before = fields[link.parent] if link.parent >= 0 else {}
        own = {joint: moved.steps.carried(index, *field) for joint, field in before.items()}
        zero, one = graph.expression(0.0), graph.expression(1.0)
        none, along = [zero] * 3, [zero, zero, one]
        own[index] = (along, none) if link.revolute else (none, along)
        fields.append(own)
        motion, origin, pose = moved.motions[index], moved.origins[index], poses[index]
        if pose is not None:
            motion, origin, own = _placed(pose, motion, origin, own)
        turning = _turning_moments(motion)
        for joint, (e, s) in own.items():
            row, multiplier = rows[links[joint].coordinate], links[joint].multiplier
            swept = cross_entries(origin, e)
            entries = [_dot(s, origin)]
            entries += [_dot(s, [r[k] for r in motion.b]) + swept[k] for k in range(3)]
            entries += [_dot(e, moment) for moment in turning]
            for k, entry in enumerate(entries):
                row[10 * index + k] = row[10 * index + k] + multiplier * entry
    return rows


def _placed(
    pose: Array, motion: AngularMotion, origin: Vector, fields: dict[int, tuple[Vector, Vector]]
) -> tuple[AngularMotion, Vector, dict[int, tuple[Vector, Vector]]]:
    """Motion and joints as seen from a frame with this pose in the link's."""
    columns, p = pose[:3, :3].T.tolist(), pose[:3, 3].tolist()

    def turned(v: Vector) -> Vector:
        return [_dot(v, column) for column in columns]

    origin = add(origin, [_dot(row, p) for row in motion.b])
    w, wd = turned(motion.velocity), turned(motion.acceleration)
    moved = {}
    for joint, (e, s) in fields.items():
        graph = e[0].graph
        arm = [graph.expression(x) for x in p]
        moved[joint] = (turned(e), turned(add(s, cross_entries(e, arm))))
    return AngularMotion(w, wd, tensor_of(w, wd)), turned(origin), moved


def _turning_moments(motion: AngularMotion) -> list[Vector]:
    """I wd + w x I w for each entry of I = 1: xx, xy, yy, xz, yz, zz."""
    b, w, wd = motion.b, motion.velocity, motion.acceleration
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [wd[0], xz, -xy],
        [-b[2][0], b[2][1], b[0][0] - b[1][1]],
        [-yz, wd[1], xy],
        [b[1][0], b[2][2] - b[0][0], -b[1][2]],
        [b[1][1] - b[2][2], -b[0][1], b[0][2]],
        [yz, -xz, wd[2]],
    ]


def _dot(u: Vector, v: Vector | list[float]) -> Expression:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
