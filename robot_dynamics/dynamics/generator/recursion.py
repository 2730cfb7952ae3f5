"""The customised Newton-Euler recursion over runs of parallel axes.

Joints whose axes are parallel form a run. Its entry frame E is frame i-1 turned by alpha, so it is fixed in
the link before the run and its z axis is parallel to all axes of the run. Seen from E every link of the run
has turned by the sum of the angles: its motion comes straight from E, without the links between, and its
moment goes straight back to E, where only the z components enter the torques of the run. Accelerations of the
origins are added up in E, forces step from link to link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Angle, Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices, Frame, LinkChoice
from robot_dynamics.dynamics.generator.links import GeneratorLink, leaves
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
    Tensor,
    Vector,
    add,
    along_a,
    from_entry,
    from_turned,
    scaled,
    to_entry,
    to_turned,
)
from robot_dynamics.spatial import cross_entries


@dataclass(frozen=True)
class RecursionState:
    """The scalars that a program computes with.

    Attributes:
        q, qd, qdd: positions, velocities, accelerations by coordinate.
        gravity: acceleration of free fall in frame 0.
        wrenches: force and moment that a link exerts on its environment, about the origin and in the axes of
            its frame, by its index.
        payloads: (4, 4) pseudo-inertia of a body that a link carries, likewise.
    """

    q: Sequence[Expression]
    qd: Sequence[Expression]
    qdd: Sequence[Expression]
    gravity: Vector
    wrenches: Mapping[int, tuple[Vector, Vector]] = field(default_factory=dict)
    payloads: Mapping[int, Tensor] = field(default_factory=dict)

    @property
    def tied(self) -> frozenset[int]:
        """Links in whose frames something is given, which must then stay as they are."""
        return frozenset(self.wrenches) | frozenset(self.payloads)


@dataclass
class _Walk:
    """The forward pass within a run: its entry, and the link it stands at as seen from E.

    Attributes:
        entry: motion of E.
        origin: acceleration of the link's origin, less gravity.
        angle: by which the link has turned from E.
        rate, acceleration: first and second derivative of ``angle``.
        turn: cosine and sine of ``angle``.
    """

    entry: Entry
    origin: Vector
    angle: Angle
    rate: Expression
    acceleration: Expression
    turn: tuple[Expression, Expression]


@dataclass
class RunLink:
    """A link of a run during the recursion: its angle from E, its own step, its force and moment."""

    index: int
    angle: tuple[Expression, Expression]
    step: tuple[Expression, Expression]
    own: bool
    moment: Vector
    force: Vector


def inverse_dynamics(
    graph: ExpressionGraph, links: tuple[GeneratorLink, ...], state: RecursionState, choices: Choices
) -> list[Expression]:
    """Generalised forces of the coordinates [N·m or N]."""
    choices = choices.as_given(state.tied)
    return Recursion(graph, regrouped(links, choices), state, choices).torques()


class Recursion:
    """The recursion for links whose parameters are placed already (see :func:`.regrouped`)."""

    def __init__(
        self,
        graph: ExpressionGraph,
        links: tuple[GeneratorLink, ...],
        state: RecursionState,
        choices: Choices,
    ) -> None:
        self.graph = graph
        self.links = links
        self.state = state
        self.choices = choices
        self.units = Units(choices.forward_length, choices.backward_length)
        self.trigonometry = Trigonometry(graph, choices.composed_angles)
        self.runs = runs_of(links, choices, state.tied)
        self._leaves = leaves(links)
        self.zero = graph.expression(0.0)

    def forces(self) -> list[list[RunLink]]:
        """Forward over the runs: the force and moment that each link's own motion takes."""
        # Motion and acceleration of the origin of the last link of every run; -1 is the fixed frame.
        ends = {-1: (at_rest(self.graph), scaled(-1.0 / self.units.forward, self.state.gravity))}
        members = []
        for run in self.runs:
            run_members, ends[run[-1]] = self._forward(run, *ends[self.links[run[0]].parent])
            members.append(run_members)
        self._ends = ends
        return members

    def carried(self, index: int) -> tuple[Vector, Vector]:
        """Force and moment at a link's origin of what it carries and exerts, after :meth:`forces`."""
        force = moment = [self.zero] * 3
        if index in self.state.wrenches:
            given, moment = self.state.wrenches[index]
            force = scaled(self.units.backward, given)
        if index in self.state.payloads:
            own = own_moment(self.state.payloads[index], *self._ends[index], self.units)
            force, moment = add(force, own[1]), add(moment, own[0])
        return force, moment

    def torques(self) -> list[Expression]:
        """Generalised forces: forward, then backward over the runs."""
        members = self.forces()
        tau = [self.zero] * len(self.state.q)
        loads: dict[int, tuple[Vector, Vector]] = {}
        for run_members in reversed(members):
            parent, last = self.links[run_members[0].index].parent, run_members[-1].index
            load = self.carried(last)
            if last in loads:
                load = add(loads[last][0], load[0]), add(loads[last][1], load[1])
            before = self._backward(run_members, *load, tau)
            if parent in loads:
                before = add(loads[parent][0], before[0]), add(loads[parent][1], before[1])
            loads[parent] = before
        return tau

    def _forward(
        self, run: list[int], motion: AngularMotion, origin: Vector
    ) -> tuple[list[RunLink], tuple[AngularMotion, Vector]]:
        """Members of a run; motion and acceleration of the origin of its last link, in its own frame."""
        walk = self._entered(run, motion, origin)
        quarter_turn = self.links[run[0]].quarter_turn
        members: list[RunLink] = []
        for index in run:
            link, choice = self.links[index], self.choices.links[index]
            if members and (link.a or link.y_shift):
                walk.origin = add(walk.origin, self._arm(link, walk))
            self._advance(walk, link)
            in_own_frame = choice.frame is Frame.OWN or not (quarter_turn and link.revolute)
            needed = index not in self._leaves or index in self.state.payloads
            if in_own_frame or (index == run[-1] and needed):
                motion = own_motion(
                    walk.entry,
                    *walk.turn,
                    walk.rate,
                    walk.acceleration,
                    column=choice.column,
                    square_x=choice.square_x,
                )
            moment, force = self._load(link, choice, walk, motion if in_own_frame else None)
            members.append(RunLink(index, walk.turn, self._step(link), in_own_frame, moment, force))
        return members, (motion, to_turned(*walk.turn, walk.origin))

    def _entered(self, run: list[int], motion: AngularMotion, origin: Vector) -> _Walk:
        """At E, where the run begins, from the motion and acceleration of the origin of the link before."""
        first = self.links[run[0]]
        by_tensor = any(self.choices.links[index].frame is Frame.ENTRY for index in run)
        arms = any(self.links[index].a or self.links[index].y_shift for index in run[1:])
        entry = enter(first, motion, by_tensor or arms or first.y_shift != 0.0)
        a, y = first.a / self.units.forward, first.y_shift / self.units.forward
        origin = to_entry(first, add(origin, scaled(a, along_a(first, motion.b))))
        if y:
            assert entry.b is not None
            origin = add(origin, scaled(y, [row[1] for row in entry.b]))
        return _Walk(entry, origin, Angle(), self.zero, self.zero, self.trigonometry.cos_sin(Angle()))

    def _advance(self, walk: _Walk, link: GeneratorLink) -> None:
        """Along and about the axis of ``link``, from the frame before its joint to its own."""
        if link.revolute:
            walk.origin = add(walk.origin, scaled(link.r / self.units.forward, walk.entry.column))
            walk.angle = walk.angle.plus(joint_variable(link, self.state.q), link.offset)
            walk.rate = walk.rate + joint_variable(link, self.state.qd)
            walk.acceleration = walk.acceleration + joint_variable(link, self.state.qdd)
        else:
            walk.origin = add(walk.origin, self._slide(link, walk.entry))
            walk.angle = walk.angle.plus(None, link.theta)
        walk.turn = self.trigonometry.cos_sin(walk.angle)

    def _step(self, link: GeneratorLink) -> tuple[Expression, Expression]:
        """Cosine and sine of the joint's own angle."""
        if link.revolute:
            return self.trigonometry.cos_sin(Angle().plus(joint_variable(link, self.state.q), link.offset))
        return self.trigonometry.cos_sin(Angle().plus(None, link.theta))

    def _load(
        self, link: GeneratorLink, choice: LinkChoice, walk: _Walk, motion: AngularMotion | None
    ) -> tuple[Vector, Vector]:
        """Moment and force that move the link: by its own ``motion`` in its own frame, without it in E."""
        squares = choice.difference_of_squares
        if motion is not None:
            origin = to_turned(*walk.turn, walk.origin)
            return own_moment(
                link.pseudo.tolist(),
                motion,
                origin,
                self.units,
                spin=link.spin,
                square_x=choice.square_x,
                squares=squares,
            )
        rates = (walk.rate, walk.acceleration)
        return entry_moment(
            link, walk.entry, walk.angle, rates, walk.origin, self.units, self.trigonometry, squares=squares
        )

    def _arm(self, link: GeneratorLink, walk: _Walk) -> Vector:
        """Acceleration added by the arm (a, y_shift) of a link, which is fixed in the link before, in E."""
        arm = [link.a / self.units.forward, link.y_shift / self.units.forward, 0.0]
        x, y, _ = from_turned(*walk.turn, [self.graph.expression(length) for length in arm])
        return [row[0] * x + row[1] * y for row in relative_tensor(walk.entry, walk.rate, walk.acceleration)]

    def _slide(self, link: GeneratorLink, entry: Entry) -> Vector:
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
        self, members: list[RunLink], force: Vector, moment: Vector, tau: list[Expression]
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
            a, y = link.a / self.units.backward, link.y_shift / self.units.backward
            r = self.graph.expression(link.r / self.units.backward)
            if not link.revolute:
                r = unit * (joint_variable(link, self.state.q) + link.offset)
            if position == 0:
                force_e = add(force_e, from_turned(*member.angle, force))
                break
            arm = [self.graph.expression(a), self.graph.expression(y)]
            in_entry = from_turned(*members[position - 1].angle, [*arm, zero])[:2]
            moment_e = add(moment_e, cross_entries([*in_entry, r], force_e))
            force = from_turned(*member.step, force)
            moment = cross_entries([*arm, r], force)
        first = self.links[members[0].index]
        moment_e = add(moment_e, cross_entries([zero, self.graph.expression(y), r], force_e))
        before, moment = from_entry(first, force_e), from_entry(first, moment_e)
        if first.gamma:
            arm = [
                self.graph.expression(a * first.cos_gamma),
                self.graph.expression(a * first.sin_gamma),
                zero,
            ]
            return before, add(moment, cross_entries(arm, before))
        return before, [moment[0], moment[1] - a * before[2], moment[2] + a * before[1]]
