"""The customised Newton-Euler recursion over runs of parallel axes.

Joints whose axes are parallel form a run. Its entry frame E is frame i-1 turned by alpha, so it is fixed in
the link before the run and its z axis is parallel to all axes of the run. Seen from E every link of the run
has turned by the sum of the angles: its motion comes straight from E, without the links between, and its
moment goes straight back to E, where only the z components enter the torques of the run. Accelerations of the
origins are added up in E, forces step from link to link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Angle, Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices, Frame, Turn
from robot_dynamics.dynamics.generator.links import Link
from robot_dynamics.dynamics.generator.moments import Units, entry_moment, own_moment
from robot_dynamics.dynamics.generator.motion import (
    AngularMotion,
    Entry,
    at_rest,
    enter,
    own_motion,
    relative_tensor,
)
from robot_dynamics.dynamics.generator.regrouping import regrouped
from robot_dynamics.dynamics.generator.runs import joint_variable, runs_of
from robot_dynamics.dynamics.generator.vectors import (
    Vector,
    add,
    from_entry,
    from_turned,
    scaled,
    to_entry,
    to_turned,
)


@dataclass(frozen=True)
class State:
    """The scalars that a program computes with.

    Attributes:
        q, qd, qdd: positions, velocities, accelerations by coordinate.
        gravity: acceleration of free fall in frame 0.
        force, moment: exerted by the last link on its environment, about the origin and in the axes of the
            last frame; None for nothing.
    """

    q: Sequence[Expression]
    qd: Sequence[Expression]
    qdd: Sequence[Expression]
    gravity: Vector
    force: Vector | None = None
    moment: Vector | None = None


@dataclass
class Member:
    """A link of a run during the recursion: its angle from E, its own step, its force and moment."""

    index: int
    angle: tuple[Expression, Expression]
    step: tuple[Expression, Expression]
    own: bool
    moment: Vector
    force: Vector


def inverse_dynamics(
    graph: ExpressionGraph, links: tuple[Link, ...], state: State, choices: Choices
) -> list[Expression]:
    """Generalised forces of the coordinates [N·m or N]."""
    if state.force is not None:
        # The tip wrench is given in the last frame as it is.
        last = len(links) - 1
        choices = choices.with_link(last, replace(choices.links[last], turn=Turn.NONE))
    return Recursion(graph, regrouped(links, choices), state, choices).torques()


class Recursion:
    """The recursion for links whose parameters are placed already (see :func:`.regrouped`)."""

    def __init__(
        self, graph: ExpressionGraph, links: tuple[Link, ...], state: State, choices: Choices
    ) -> None:
        self.graph = graph
        self.links = links
        self.state = state
        self.choices = choices
        self.units = Units(choices.forward_length, choices.backward_length)
        self.trigonometry = Trigonometry(graph, choices.composed_angles)
        self.runs = runs_of(links, choices)
        self.zero = graph.expression(0.0)

    def forces(self) -> list[list[Member]]:
        """Forward over the runs: the force and moment that each link's own motion takes."""
        motion = at_rest(self.graph)
        origin = scaled(-1.0 / self.units.forward, self.state.gravity)
        members = []
        for run in self.runs:
            run_members, motion, origin = self._forward(run, motion, origin)
            members.append(run_members)
        return members

    def torques(self) -> list[Expression]:
        """Generalised forces: forward, then backward over the runs."""
        members = self.forces()
        tau = [self.zero] * len(self.state.q)
        force = moment = [self.zero] * 3
        if self.state.force is not None and self.state.moment is not None:
            force, moment = scaled(self.units.backward, self.state.force), self.state.moment
        for run_members in reversed(members):
            force, moment = self._backward(run_members, force, moment, tau)
        return tau

    def _forward(
        self, run: list[int], motion: AngularMotion, origin: Vector
    ) -> tuple[list[Member], AngularMotion, Vector]:
        """Members of a run; motion and acceleration of the origin of its last link, in its own frame."""
        first = self.links[run[0]]
        last_run = run is self.runs[-1]
        choices = [self.choices.links[index] for index in run]
        tensor = any(c.frame is Frame.ENTRY for c in choices) or any(
            self.links[i].a or self.links[i].b for i in run[1:]
        )
        entry = enter(first, motion, tensor or first.b != 0.0)
        a, b = first.a / self.units.forward, first.b / self.units.forward
        origin = to_entry(first, add(origin, scaled(a, [row[0] for row in motion.b])))
        if b:
            assert entry.b is not None
            origin = add(origin, scaled(b, [row[1] for row in entry.b]))
        angle, rate, acceleration = Angle(), self.zero, self.zero
        cosine_sine = self.trigonometry.cos_sin(angle)
        members: list[Member] = []
        own: AngularMotion | None = None
        for position, (index, choice) in enumerate(zip(run, choices, strict=True)):
            link = self.links[index]
            if position and (link.a or link.b):
                origin = add(origin, self._arm(link, cosine_sine, entry, rate, acceleration))
            own_step = Angle().plus(
                joint_variable(link, self.state.q) if link.revolute else None,
                link.offset if link.revolute else link.theta,
            )
            if link.revolute:
                origin = add(origin, scaled(link.r / self.units.forward, entry.column))
                angle = angle.plus(joint_variable(link, self.state.q), link.offset)
                rate = rate + joint_variable(link, self.state.qd)
                acceleration = acceleration + joint_variable(link, self.state.qdd)
            else:
                origin = add(origin, self._slide(link, entry))
                angle = angle.plus(None, link.theta)
            cosine_sine = self.trigonometry.cos_sin(angle)
            last = position == len(run) - 1
            evaluate_own = choice.frame is Frame.OWN or not (first.quarter_turn and link.revolute)
            own_origin = to_turned(*cosine_sine, origin)
            if evaluate_own or (last and not last_run):
                own = own_motion(
                    entry,
                    *cosine_sine,
                    rate,
                    acceleration,
                    column=choice.column,
                    square_x=choice.square_x,
                )
            if evaluate_own:
                assert own is not None
                moment, force = own_moment(
                    link,
                    own,
                    own_origin,
                    self.units,
                    square_x=choice.square_x,
                    squares=choice.difference_of_squares,
                )
            else:
                moment, force = entry_moment(
                    link,
                    entry,
                    angle,
                    (rate, acceleration),
                    origin,
                    self.units,
                    self.trigonometry,
                    squares=choice.difference_of_squares,
                )
            members.append(
                Member(index, cosine_sine, self.trigonometry.cos_sin(own_step), evaluate_own, moment, force)
            )
        return members, own if own is not None else motion, to_turned(*cosine_sine, origin)

    def _arm(
        self,
        link: Link,
        cosine_sine: tuple[Expression, Expression],
        entry: Entry,
        rate: Expression,
        acceleration: Expression,
    ) -> Vector:
        """Acceleration added by the arm (a, b) of a link that is fixed in the link before, in E."""
        a, b = link.a / self.units.forward, link.b / self.units.forward
        x, y = from_turned(*cosine_sine, [self.graph.expression(a), self.graph.expression(b), self.zero])[:2]
        tensor = relative_tensor(entry, rate, acceleration)
        return [row[0] * x + row[1] * y for row in tensor]

    def _slide(self, link: Link, entry: Entry) -> Vector:
        """Acceleration added by a prismatic joint, in E: distance, Coriolis and joint acceleration."""
        unit = 1.0 / self.units.forward
        distance = unit * (joint_variable(link, self.state.q) + link.offset)
        twice = 2.0 * unit * joint_variable(link, self.state.qd)
        column, w = entry.column, entry.velocity
        return [
            distance * column[0] + twice * w[1],
            distance * column[1] - twice * w[0],
            distance * column[2] + unit * joint_variable(link, self.state.qdd),
        ]

    def _backward(
        self, members: list[Member], force: Vector, moment: Vector, tau: list[Expression]
    ) -> tuple[Vector, Vector]:
        """Force and moment on the link before the run, in its own frame; adds to ``tau``.

        ``force`` and ``moment`` act on the run's last link from behind, in its own frame. What is known in E
        and what is known in the own frame of the current link are kept apart.
        """
        zero = self.zero
        unit = 1.0 / self.units.backward
        force_e, moment_e = [zero] * 3, [zero] * 3
        for position in range(len(members) - 1, -1, -1):
            member = members[position]
            link = self.links[member.index]
            if member.own:
                force, moment = add(force, member.force), add(moment, member.moment)
            else:
                force_e, moment_e = add(force_e, member.force), add(moment_e, member.moment)
            moment_e = add(moment_e, from_turned(*member.angle, moment))
            effort = moment_e[2] if link.revolute else unit * (force[2] + force_e[2])
            tau[link.coordinate] = tau[link.coordinate] + link.multiplier * effort
            # Divided, not multiplied by the inverse: a length that equals the unit must give exactly one.
            a, b = link.a / self.units.backward, link.b / self.units.backward
            r = self.graph.expression(link.r / self.units.backward)
            if not link.revolute:
                r = unit * (joint_variable(link, self.state.q) + link.offset)
            if position == 0:
                force_e = add(force_e, from_turned(*member.angle, force))
                break
            x, y = from_turned(
                *members[position - 1].angle, [self.graph.expression(a), self.graph.expression(b), zero]
            )[:2]
            moment_e = add(moment_e, _cross(x, y, r, force_e))
            force = from_turned(*member.step, force)
            moment = _cross(self.graph.expression(a), self.graph.expression(b), r, force)
        first = self.links[members[0].index]
        moment_e = add(moment_e, _cross(zero, self.graph.expression(b), r, force_e))
        before, moment = from_entry(first, force_e), from_entry(first, moment_e)
        return before, [moment[0], moment[1] - a * before[2], moment[2] + a * before[1]]


def _cross(x: Expression, y: Expression, z: Expression, f: Vector) -> Vector:
    return [y * f[2] - z * f[1], z * f[0] - x * f[2], x * f[1] - y * f[0]]
