"""Poses and velocities of frames, carried from the root to a frame that is fixed in a link.

With the axes (x, y, z) and the origin p of link i in root axes, and those of the link before with the same
letters primed and turned by gamma, y_e = c_alpha y' + s_alpha z' and z = c_alpha z' - s_alpha y' (the axis of
joint i),

    p = p' + a x' + y_shift y_e + r z,     x = c x' + s y_e,     y = c y_e - s x'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Angle, Trigonometry
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.runs import joint_variable
from robot_dynamics.dynamics.generator.vectors import (
    Vector,
    add,
    scaled,
    to_entry,
    to_turned,
)
from robot_dynamics.spatial import Array, cross_entries


@dataclass(frozen=True)
class Pose:
    """A frame in root axes: its axes and its origin [m]."""

    x: Vector
    y: Vector
    z: Vector
    origin: Vector

    def directed(self, v: Vector) -> Vector:
        """A vector given in the axes of this frame, in root axes."""
        return add(add(scaled(v[0], self.x), scaled(v[1], self.y)), scaled(v[2], self.z))


class Steps:
    """The steps from each link's frame to the next, at given coordinates.

    Attributes:
        turns: cosine and sine of every joint's angle.
        arms: (3,) origin of every link from that of the link before, in that link's axes turned by gamma and
            alpha [m].
    """

    def __init__(
        self,
        graph: ExpressionGraph,
        links: Sequence[GeneratorLink],
        q: Sequence[Expression],
        *,
        composed: bool,
    ) -> None:
        self.graph = graph
        self.links = tuple(links)
        self.turns: list[tuple[Expression, Expression]] = []
        self.arms: list[Vector] = []
        trigonometry = Trigonometry(graph, composed)
        for link in links:
            variable = joint_variable(link, q)
            along = graph.expression(link.r)
            if link.revolute:
                angle = Angle().plus(variable, link.offset)
            else:
                angle, along = Angle().plus(None, link.theta), variable + link.offset
            self.turns.append(trigonometry.cos_sin(angle))
            self.arms.append([graph.expression(link.a), graph.expression(link.y_shift), along])

    def carried(self, index: int, angular: Vector, linear: Vector) -> tuple[Vector, Vector]:
        """Velocities of the link before, at the origin and in the axes of link ``index``."""
        link = self.links[index]
        angular, linear = to_entry(link, angular), to_entry(link, linear)
        linear = add(linear, cross_entries(angular, self.arms[index]))
        return to_turned(*self.turns[index], angular), to_turned(*self.turns[index], linear)


def frame_poses(steps: Steps, base: Array) -> list[Pose]:
    """The frame of every link in root axes; ``base`` (4, 4) is the pose of frame 0."""
    graph = steps.graph
    columns = [[graph.expression(x) for x in base[:3, k].tolist()] for k in range(4)]
    root = Pose(*columns)
    poses: list[Pose] = []
    for link, (c, s), arm in zip(steps.links, steps.turns, steps.arms, strict=True):
        before = poses[link.parent] if link.parent >= 0 else root
        x, y = before.x, before.y
        if link.gamma:
            x, y = (
                add(scaled(link.cos_gamma, before.x), scaled(link.sin_gamma, before.y)),
                add(scaled(link.cos_gamma, before.y), scaled(-link.sin_gamma, before.x)),
            )
        across = add(scaled(link.cos_alpha, y), scaled(link.sin_alpha, before.z))
        z = add(scaled(link.cos_alpha, before.z), scaled(-link.sin_alpha, y))
        origin = add(add(before.origin, scaled(arm[0], x)), add(scaled(arm[1], across), scaled(arm[2], z)))
        x, y = add(scaled(c, x), scaled(s, across)), add(scaled(c, across), scaled(-s, x))
        poses.append(Pose(x, y, z, origin))
    return poses


def placed_on(pose: Pose, fixed: Array) -> Pose:
    """The frame with the pose ``fixed`` (4, 4) in another one, in root axes; its z axis is x cross y."""
    x, y = (pose.directed(fixed[:3, k].tolist()) for k in (0, 1))
    origin = add(pose.origin, pose.directed(fixed[:3, 3].tolist()))
    third = [abs(entry) for entry in fixed[:3, 2].tolist()]
    z = pose.directed(fixed[:3, 2].tolist()) if sorted(third)[1] == 0.0 else cross_entries(x, y)
    return Pose(x, y, z, origin)


def root_jacobian(steps: Steps, poses: Sequence[Pose], point: Vector, dof: int) -> list[list[Expression]]:
    """Six rows (linear velocity of a point of the last link, angular velocity), in root axes."""
    zero = steps.graph.expression(0.0)
    rows = [[zero] * dof for _ in range(6)]
    for link, pose in zip(steps.links, poses, strict=True):
        arm = add(point, scaled(-1.0, pose.origin))
        column = [*cross_entries(pose.z, arm), *pose.z] if link.revolute else [*pose.z, *[zero] * 3]
        for row, entry in zip(rows, column, strict=True):
            row[link.coordinate] = row[link.coordinate] + link.multiplier * entry
    return rows


@dataclass(frozen=True)
class Twist:
    """Motion of a link in its own axes: angular velocity, velocity of its origin, and the rates of both.

    The rates are those of the components, without joint accelerations.
    """

    angular: Vector
    linear: Vector
    angular_rate: Vector
    linear_rate: Vector


def twists(steps: Steps, qd: Sequence[Expression]) -> list[Twist]:
    """Motion of every link at joint velocities ``qd``.

    With the velocity (w, v) of link i and its joint's own (s_w, s_v) along z, all in axes of link i, the
    components of the velocity change by those of the link before, carried over, and by w x s_w, and
    v x s_w + w x s_v.
    """
    zero = steps.graph.expression(0.0)
    rest = Twist([zero] * 3, [zero] * 3, [zero] * 3, [zero] * 3)
    result: list[Twist] = []
    for index, link in enumerate(steps.links):
        before = result[link.parent] if link.parent >= 0 else rest
        rate = joint_variable(link, qd)
        w, v = steps.carried(index, before.angular, before.linear)
        wd, vd = steps.carried(index, before.angular_rate, before.linear_rate)
        if link.revolute:
            w = [w[0], w[1], w[2] + rate]
            wd = [wd[0] + w[1] * rate, wd[1] - w[0] * rate, wd[2]]
            vd = [vd[0] + v[1] * rate, vd[1] - v[0] * rate, vd[2]]
        else:
            v = [v[0], v[1], v[2] + rate]
            vd = [vd[0] + w[1] * rate, vd[1] - w[0] * rate, vd[2]]
        result.append(Twist(w, v, wd, vd))
    return result
