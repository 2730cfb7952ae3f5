"""Mass matrix, Coriolis matrix and derivatives of inverse dynamics, in one pass.

A point x beyond joint j moves with it at J_j(x) = s + e x rho: e is the joint's axis, s the velocity of the
origin O_i of a link i at or beyond j, rho = x - O_i. Now tau_i = sum m J_i . (x'' - g), and d x''/d q_j is
the second rate of J_j, because derivatives commute. So

    M_ij = sum m J_i . J_j,     C_ij = sum m J_i . J_j'     (Christoffel's: d tau_i/d q_j' = 2 C_ij)

and for j <= i, where everything beyond j turns with it (a_i: acceleration of O_i less gravity),

    d tau_i/d q_j = sum m J_i . ((s'' - e x a_i) + e'' x rho + 2 e' x rho')
    d tau_j/d q_i = along joint j, the wrench of this field of joint i, and (e_i x f, e_i x n)

with (f, n) the wrench about O_i that moves all beyond i, a tip wrench included, which turns with the body. A
prismatic joint has z x f in the place of e x n, and no force. So each joint i has one linear functional

    (sigma, epsilon, eta) -> alpha . sigma + beta . epsilon + gamma . eta
                           = z . sum m J_i . (sigma + epsilon x rho + eta x rho')

of the fields of the joints before, and two wrenches; all are carried towards the base as they stand. At its
own origin a joint's fields have few components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.choices import Choices, LinkChoice
from robot_dynamics.dynamics.generator.composite_inertia import CompositeInertia, applied
from robot_dynamics.dynamics.generator.link_motions import Motions
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.moments import Units, own_moment
from robot_dynamics.dynamics.generator.recursion import RecursionState
from robot_dynamics.dynamics.generator.regrouping import regrouped
from robot_dynamics.dynamics.generator.vectors import (
    Vector,
    add,
    from_entry,
    from_turned,
    scaled,
)
from robot_dynamics.spatial import cross_entries

Matrix = list[list[Expression]]
Wrench = tuple[Vector, Vector]  # force, moment


@dataclass(frozen=True)
class Sensitivity:
    """Matrices over the coordinates.

    Attributes:
        mass: M.
        coriolis: C.
        positions: d tau / d q.
    """

    mass: Matrix
    coriolis: Matrix
    positions: Matrix

    @property
    def velocities(self) -> Matrix:
        """d tau / d qd."""
        return [[2.0 * entry for entry in row] for row in self.coriolis]


@dataclass(frozen=True)
class Carried:
    """Quantities that joint i hands to the joints before it, in the frame of the link reached."""

    alpha: Vector
    beta: Vector
    gamma: Vector
    velocity: Wrench
    position: Wrench

    @property
    def scalars(self) -> list[Expression]:
        """Every component, in the order of :meth:`of`."""
        return [x for v in (self.alpha, self.beta, self.gamma, *self.velocity, *self.position) for x in v]

    @staticmethod
    def of(scalars: Sequence[Expression]) -> Carried:
        """From every component."""
        v = [list(scalars[k : k + 3]) for k in range(0, len(scalars), 3)]
        return Carried(v[0], v[1], v[2], (v[3], v[4]), (v[5], v[6]))


@dataclass(frozen=True)
class Entries:
    """Entries of joint i with a joint j before it: (i, j), and (j, i) of what is not symmetric."""

    mass: Expression
    coriolis: Expression
    position: Expression
    coriolis_back: Expression
    position_back: Expression


@dataclass(frozen=True)
class Passage:
    """A link that is passed on the way to the base.

    Attributes:
        link: the link.
        turn: cosine and sine of its joint's angle.
        arm: its origin from that of the link before, in that link's axes turned by alpha.
        arm_rate: the rate of ``arm``, likewise.
        axis_rate: first rate of the joint's axis.
        second: its second rate.
        origin: acceleration of the origin less gravity.
    """

    link: GeneratorLink
    turn: tuple[Expression, Expression]
    arm: Vector
    arm_rate: Vector
    axis_rate: Vector
    second: Vector
    origin: Vector

    def back(self, carried: Carried) -> Carried:
        """From this link to the one before."""
        alpha, beta, gamma = (
            from_turned(*self.turn, v) for v in (carried.alpha, carried.beta, carried.gamma)
        )
        beta = add(beta, cross_entries(self.arm, alpha))
        gamma = add(gamma, cross_entries(self.arm_rate, alpha))
        return Carried(
            alpha=from_entry(self.link, alpha),
            beta=from_entry(self.link, beta),
            gamma=from_entry(self.link, gamma),
            velocity=self.wrench_back(carried.velocity),
            position=self.wrench_back(carried.position),
        )

    def wrench_back(self, wrench: Wrench) -> Wrench:
        """A wrench about the origin of the link before."""
        force, moment = (from_turned(*self.turn, v) for v in wrench)
        moment = add(moment, cross_entries(self.arm, force))
        return from_entry(self.link, force), from_entry(self.link, moment)

    def entries(self, carried: Carried) -> Entries:
        """Entries of the joint that ``carried`` comes from with this link's."""
        turning, second, a = self.axis_rate, self.second, self.origin
        alpha, beta, gamma = carried.alpha, carried.beta, carried.gamma
        if self.link.revolute:
            mass, along = beta[2], 1
            velocity = beta[0] * turning[0] + beta[1] * turning[1] + gamma[2]
            position = alpha[0] * a[1] - alpha[1] * a[0] + _dot(beta, second)
            position = position + 2.0 * (gamma[0] * turning[0] + gamma[1] * turning[1])
        else:
            mass, along = alpha[2], 0
            velocity = alpha[0] * turning[0] + alpha[1] * turning[1]
            position = _dot(alpha, second)
        return Entries(mass, velocity, position, carried.velocity[along][2], carried.position[along][2])


class WayBack(Motions):
    """The way back to the base.

    Attributes:
        passages: the links as they are passed.
    """

    def __init__(self, links: tuple[GeneratorLink, ...], state: RecursionState, *, composed: bool) -> None:
        """Carry the motion of ``state`` to the tip."""
        placed = regrouped(links, Choices(tuple(LinkChoice(column=link.quarter_turn) for link in links)))
        super().__init__(placed, state, composed=composed)
        self.passages = [self._passage(index) for index in range(len(placed))]

    def matrices(self) -> Sensitivity:
        """From the tip to the base."""
        dof = len(self.state.q)
        result = Sensitivity(*([[self.zero] * dof for _ in range(dof)] for _ in range(3)))
        for index, carried in reversed(list(enumerate(self.begun()))):
            self._enter(result, index, index, carried)
            at = index
            while (parent := self.links[at].parent) >= 0:
                carried = self.passages[at].back(carried)
                at = parent
                self._enter(result, index, at, carried)
        return result

    def begun(self) -> list[Carried]:
        """Quantities that every joint hands to those before it, at its own origin."""
        beyond = [
            CompositeInertia.of(
                [[self.graph.expression(x) for x in row] for row in link.pseudo.tolist()], motion.velocity
            )
            for link, motion in zip(self.links, self.motions, strict=True)
        ]
        loads = [self._own_load(index) for index in range(len(self.links))]
        for at, (force, moment) in self.state.wrenches.items():
            loads[at] = (add(loads[at][0], force), add(loads[at][1], moment))
        for at, payload in self.state.payloads.items():
            beyond[at] = beyond[at].plus(CompositeInertia.of(payload, self.motions[at].velocity))
            moment, force = own_moment(payload, self.motions[at], self.origins[at], Units(1.0, 1.0))
            loads[at] = (add(loads[at][0], force), add(loads[at][1], moment))
        begun = []
        for index in range(len(self.links) - 1, -1, -1):
            begun.append(self._begun(index, beyond[index], loads[index]))
            if (parent := self.links[index].parent) >= 0:
                link, turn = self.links[index], self.steps.turns[index]
                before = beyond[index].back(link, turn, self.steps.arms[index], self.arm_rates[index])
                beyond[parent] = beyond[parent].plus(before)
                force, moment = self.passages[index].wrench_back(loads[index])
                loads[parent] = (add(loads[parent][0], force), add(loads[parent][1], moment))
        return begun[::-1]

    def _passage(self, index: int) -> Passage:
        return Passage(
            self.links[index],
            self.steps.turns[index],
            self.steps.arms[index],
            self.arm_rates[index],
            self._axis_rate(index),
            [row[2] for row in self.motions[index].b],
            self.origins[index],
        )

    def _own_load(self, index: int) -> Wrench:
        motion, origin = self.motions[index], self.origins[index]
        pseudo, spin = self.links[index].pseudo.tolist(), self.links[index].spin
        moment, force = own_moment(pseudo, motion, origin, Units(1.0, 1.0), spin=spin)
        return force, moment

    def _begun(self, index: int, beyond: CompositeInertia, load: Wrench) -> Carried:
        """The functional and the wrenches of joint ``index``, at its own origin."""
        zero, m, s, p = self.zero, beyond.mass, beyond.first, beyond.momentum
        passage = self.passages[index]
        turning, second, a = passage.axis_rate, passage.second, passage.origin
        (fx, fy, _), (nx, ny, _) = load
        if not self.links[index].revolute:
            return Carried(
                alpha=[zero, zero, m],
                beta=[s[1], -s[0], zero],
                gamma=[p[1], -p[0], zero],
                velocity=(scaled(m, turning), cross_entries(s, turning)),
                position=(scaled(m, second), add(cross_entries(s, second), [-fy, fx, zero])),
            )
        d, inertia = beyond.spread, beyond.inertia
        sigma = [a[1], -a[0], zero]
        twice = scaled(2.0, turning)
        force = add(add(scaled(m, sigma), cross_entries(second, s)), cross_entries(twice, p))
        moment = add(add(cross_entries(s, sigma), applied(inertia, second)), beyond.swept(twice))
        z = [zero, zero, self.graph.expression(1.0)]
        return Carried(
            alpha=[-s[1], s[0], zero],
            beta=inertia[2],
            gamma=[-d[0][2], -d[1][2], d[0][0] + d[1][1]],
            velocity=(
                add(cross_entries(turning, s), [-p[1], p[0], zero]),
                add(applied(inertia, turning), beyond.swept(z)),
            ),
            position=(add(force, [-fy, fx, zero]), add(moment, [-ny, nx, zero])),
        )

    def _axis_rate(self, index: int) -> Vector:
        """w x z, the rate of the joint's axis."""
        w = self.motions[index].velocity
        return [w[1], -w[0], self.zero]

    def _enter(self, result: Sensitivity, i: int, j: int, carried: Carried) -> None:
        """Entries (i, j) and (j, i) of joint i with a joint j before it, or with itself."""
        entries = self.passages[j].entries(carried)
        self._put(result.mass, i, j, entries.mass)
        self._put(result.coriolis, i, j, entries.coriolis)
        self._put(result.positions, i, j, entries.position)
        if i != j:
            self._put(result.mass, j, i, entries.mass)
            self._put(result.coriolis, j, i, entries.coriolis_back)
            self._put(result.positions, j, i, entries.position_back)

    def _put(self, matrix: Matrix, i: int, j: int, entry: Expression) -> None:
        row, column = self.links[i], self.links[j]
        entry = (row.multiplier * column.multiplier) * entry
        matrix[row.coordinate][column.coordinate] = matrix[row.coordinate][column.coordinate] + entry


def _dot(u: Sequence[Expression], v: Sequence[Expression]) -> Expression:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
