"""Forward dynamics by articulated bodies: operations in proportion to the number of joints.

With the joints' accelerations left out, the forward recursion gives the bias force and moment of every link.
What the joint accelerations add obeys linear relations between the added accelerations (dw, da) of a link's
origin and the force and moment that the link passes on:

    [n]   [I    H] [dw]   [n0]
    [f] = [H^T  M] [da] + [f0]

and at a revolute joint, where dw = dw' + z qdd,

    qdd = (tau - n0_z - u . [dw'; da]) / d,   u the row of n_z, d = I_zz,

which put back gives the relation that the link before sees (Featherstone's articulated-body inertia). A
prismatic joint has the row of f_z in its place. The inertias of the links enter with their regrouped
parameters, so most of their entries are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.choices import Choices, Frame, LinkChoice
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.moments import Pseudo
from robot_dynamics.dynamics.generator.recursion import Recursion, RecursionState, RunLink
from robot_dynamics.dynamics.generator.regrouping import regrouped
from robot_dynamics.dynamics.generator.runs import joint_variable
from robot_dynamics.dynamics.generator.vectors import (
    Tensor,
    Vector,
    add,
    from_entry,
    from_turned,
    scaled,
    to_entry,
    to_turned,
)
from robot_dynamics.errors import ModelError
from robot_dynamics.spatial import cross_entries


@dataclass
class _Relation:
    """Linear relation between (dw, da) and (n, f) at a point."""

    inertia: Tensor
    coupling: Tensor
    mass: Tensor
    moment: Vector
    force: Vector


@dataclass
class _Joint:
    """Relation of a joint for the forward pass: qdd = remainder - row . [dw'; da']."""

    link: GeneratorLink
    member: RunLink
    arm: Vector
    row: Vector
    remainder: Expression


def articulated_body(
    graph: ExpressionGraph, links: tuple[GeneratorLink, ...], state: RecursionState, tau: Sequence[Expression]
) -> list[Expression]:
    """Joint accelerations from torques; every joint must have a coordinate of its own.

    Raises:
        ModelError: a joint moves no inertia.
    """
    choices = Choices(
        tuple(LinkChoice(frame=Frame.OWN, column=link.quarter_turn, joined=False) for link in links)
    )
    links = regrouped(links, choices)
    zeros = tuple(graph.expression(0.0) for _ in tau)
    recursion = Recursion(graph, links, replace(state, qdd=zeros), choices)
    members = [member for run in recursion.forces() for member in run]
    carried = {index: recursion.carried(index) for index in state.tied}
    return _Articulated(graph, links, members, state, tau, carried).accelerations()


class _Articulated:
    def __init__(
        self,
        graph: ExpressionGraph,
        links: Sequence[GeneratorLink],
        members: Sequence[RunLink],
        state: RecursionState,
        tau: Sequence[Expression],
        carried: Mapping[int, tuple[Vector, Vector]],
    ) -> None:
        self.graph = graph
        self.zero = graph.expression(0.0)
        self.links = links
        self.members = members
        self.state = state
        self.tau = tau
        self.carried = carried

    def accelerations(self) -> list[Expression]:
        """Joint by joint towards the tip, with what the joints before add to the bias motion."""
        joints = self._towards_base()
        added_to = {-1: ([self.zero] * 3, [self.zero] * 3)}
        result = [self.zero] * len(self.tau)
        for joint in joints:
            link, member = joint.link, joint.member
            turning, moving = added_to[link.parent]
            moving = add(moving, cross_entries(turning, from_entry(link, joint.arm)))
            turning = to_turned(*member.angle, to_entry(link, turning))
            moving = to_turned(*member.angle, to_entry(link, moving))
            own = joint.remainder
            for factor, added in zip(joint.row, [*turning, *moving], strict=True):
                own = own - factor * added
            if link.revolute:
                turning = [turning[0], turning[1], turning[2] + own]
            else:
                moving = [moving[0], moving[1], moving[2] + own]
            added_to[member.index] = turning, moving
            result[link.coordinate] = (1.0 / link.multiplier) * own
        return result

    def _towards_base(self) -> list[_Joint]:
        zero = self.zero
        empty = [[zero] * 3 for _ in range(3)]
        # Of links that carry others, exert or carry something: the relation of all that.
        relations: dict[int, _Relation] = {}
        for index, (force, moment) in self.carried.items():
            relation = _Relation(empty, empty, empty, moment, force)
            if index in self.state.payloads:
                relation = self._with_body(relation, self.state.payloads[index])
            relations[index] = relation
        joints = []
        for link, member in zip(reversed(self.links), reversed(self.members), strict=True):
            relation = relations.get(member.index) or _Relation(empty, empty, empty, [zero] * 3, [zero] * 3)
            relation = self._with_body(relation, link.pseudo.tolist())
            relation.moment = add(relation.moment, member.moment)
            relation.force = add(relation.force, member.force)
            tau = (1.0 / link.multiplier) * self.tau[link.coordinate]
            relation, row, remainder = self._released(relation, link, tau)
            r: Expression = self.graph.expression(link.r)
            if not link.revolute:
                r = joint_variable(link, self.state.q) + link.offset
            arm = [self.graph.expression(link.a), self.graph.expression(link.y_shift), r]
            joints.append(_Joint(link, member, arm, row, remainder))
            before = self._before(relation, link, member, arm)
            relations[link.parent] = (
                _both(relations[link.parent], before) if link.parent in relations else before
            )
        joints.reverse()
        return joints

    def _with_body(self, relation: _Relation, j: Pseudo) -> _Relation:
        """The relation with the inertia of a body with pseudo-inertia ``j`` added."""
        trace = j[0][0] + j[1][1] + j[2][2]
        x, y, z, m = j[3]
        own = [[(trace if i == k else 0.0) - j[i][k] for k in range(3)] for i in range(3)]
        skew = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        point = [[m if i == k else 0.0 for k in range(3)] for i in range(3)]
        return _Relation(
            _plus(relation.inertia, own),
            _plus(relation.coupling, skew),
            _plus(relation.mass, point),
            relation.moment,
            relation.force,
        )

    def _released(
        self, relation: _Relation, link: GeneratorLink, tau: Expression
    ) -> tuple[_Relation, Vector, Expression]:
        """The relation seen from behind the joint, and the joint's row and remainder."""
        h = relation.coupling
        if link.revolute:
            turning, moving = list(relation.inertia[2]), list(h[2])
            pivot, missing = turning[2], tau - relation.moment[2]
        else:
            turning, moving = [h[i][2] for i in range(3)], list(relation.mass[2])
            pivot, missing = moving[2], tau - relation.force[2]
        if pivot.is_zero:
            raise ModelError(f"the joint of coordinate {link.coordinate} moves no inertia; check the masses")
        inverse = 1.0 / pivot
        one = self.graph.expression(1.0)
        row = [x * inverse for x in (*turning, *moving)]
        row[2 if link.revolute else 5] = one
        u, v = row[:3], row[3:]

        def less(tensor: Tensor, left: Vector, right: Vector) -> Tensor:
            return [[tensor[i][k] - left[i] * right[k] for k in range(3)] for i in range(3)]

        inertia, mass = less(relation.inertia, turning, u), less(relation.mass, moving, v)
        coupling = less(h, turning, v)
        moment = add(relation.moment, scaled(missing, u))
        force = add(relation.force, scaled(missing, v))
        # Along the joint nothing of the relation is left but the joint's own force.
        for k in range(3):
            if link.revolute:
                inertia[2][k] = inertia[k][2] = coupling[2][k] = self.zero
            else:
                mass[2][k] = mass[k][2] = coupling[k][2] = self.zero
        if link.revolute:
            moment[2] = tau
        else:
            force[2] = tau
        return _Relation(inertia, coupling, mass, moment, force), row, missing * inverse

    def _before(self, relation: _Relation, link: GeneratorLink, member: RunLink, arm: Vector) -> _Relation:
        """The relation at the origin of the link before, in its frame."""
        turned = _Relation(
            _symmetric_from(member, relation.inertia),
            _from(member, relation.coupling),
            _symmetric_from(member, relation.mass),
            from_turned(*member.angle, relation.moment),
            from_turned(*member.angle, relation.force),
        )
        coupling = [
            [x + y for x, y in zip(r, s, strict=True)]
            for r, s in zip(turned.coupling, _cross_rows(arm, turned.mass), strict=True)
        ]
        # I - H p^ + p^ H'^T with the coupling H' at the new point; the result is symmetric.
        one = _cross_rows(arm, _transposed(turned.coupling))
        two = _cross_rows(arm, _transposed(coupling))
        inertia = [[turned.inertia[i][k] + (one[k][i] + two[i][k]) for k in range(3)] for i in range(3)]
        for i in range(3):
            for k in range(i):
                inertia[i][k] = inertia[k][i]
        moment = add(turned.moment, cross_entries(arm, turned.force))
        return _Relation(
            _at_entry(link, inertia),
            _at_entry(link, coupling),
            _at_entry(link, turned.mass),
            from_entry(link, moment),
            from_entry(link, turned.force),
        )


def _both(one: _Relation, other: _Relation) -> _Relation:
    return _Relation(
        _plus(one.inertia, other.inertia),
        _plus(one.coupling, other.coupling),
        _plus(one.mass, other.mass),
        add(one.moment, other.moment),
        add(one.force, other.force),
    )


def _plus(tensor: Tensor, other: Sequence[Sequence[Expression | float]]) -> Tensor:
    return [[x + y for x, y in zip(u, v, strict=True)] for u, v in zip(tensor, other, strict=True)]


def _transposed(tensor: Tensor) -> Tensor:
    return [[tensor[k][i] for k in range(3)] for i in range(3)]


def _cross_rows(p: Vector, tensor: Tensor) -> Tensor:
    """p^ T, the cross product of p with every column."""
    columns = [cross_entries(p, [tensor[i][k] for i in range(3)]) for k in range(3)]
    return [[columns[k][i] for k in range(3)] for i in range(3)]


def _from(member: RunLink, tensor: Tensor) -> Tensor:
    """R T R^T for a turn about z."""
    rows = [from_turned(*member.angle, row) for row in tensor]
    columns = [from_turned(*member.angle, [rows[i][k] for i in range(3)]) for k in range(3)]
    return [[columns[k][i] for k in range(3)] for i in range(3)]


def _symmetric_from(member: RunLink, t: Tensor) -> Tensor:
    """R T R^T of a symmetric tensor; the trace in the plane stays."""
    c, s = member.angle
    u, v = c * t[0][0] - s * t[0][1], c * t[0][1] - s * t[1][1]
    xx, xy = c * u - s * v, s * u + c * v
    yy = (t[0][0] + t[1][1]) - xx
    xz, yz, zz = from_turned(c, s, t[2])
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def _at_entry(link: GeneratorLink, tensor: Tensor) -> Tensor:
    """A tensor of the frame turned by alpha, in the frame before."""
    rows = [from_entry(link, row) for row in tensor]
    columns = [from_entry(link, [rows[i][k] for i in range(3)]) for k in range(3)]
    return [[columns[k][i] for k in range(3)] for i in range(3)]
