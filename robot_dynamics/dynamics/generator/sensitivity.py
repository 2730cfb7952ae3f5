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
from robot_dynamics.dynamics.generator.link_motions import Motions
from robot_dynamics.dynamics.generator.links import Link
from robot_dynamics.dynamics.generator.matter import Matter, applied
from robot_dynamics.dynamics.generator.moments import Units, own_moment
from robot_dynamics.dynamics.generator.recursion import State
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


@dataclass
class _Carried:
    """What joint i hands to the joints before it, about the origin and in the axes of the link reached."""

    alpha: Vector
    beta: Vector
    gamma: Vector
    velocity: Wrench
    position: Wrench


def sensitivity(links: tuple[Link, ...], state: State, *, composed: bool) -> Sensitivity:
    """M, C and d tau / d q at ``state``."""
    placed = regrouped(links, Choices(tuple(LinkChoice(column=link.quarter_turn) for link in links)))
    return _Pass(placed, state, composed=composed).matrices()


class _Pass(Motions):
    """The way back to the base, for links whose parameters are placed already."""

    def matrices(self) -> Sensitivity:
        """From the tip to the base."""
        dof = len(self.state.q)
        result = Sensitivity(*([[self.zero] * dof for _ in range(dof)] for _ in range(3)))
        matter = [
            Matter.of(
                [[self.graph.expression(x) for x in row] for row in link.pseudo.tolist()], motion.velocity
            )
            for link, motion in zip(self.links, self.motions, strict=True)
        ]
        loads = [self._own_load(index) for index in range(len(self.links))]
        if self.state.force is not None and self.state.moment is not None:
            loads[-1] = (add(loads[-1][0], self.state.force), add(loads[-1][1], self.state.moment))
        if (payload := self.state.payload) is not None:
            matter[-1] = matter[-1].plus(Matter.of(payload, self.motions[-1].velocity))
            moment, force = own_moment(payload, self.motions[-1], self.origins[-1], Units(1.0, 1.0))
            loads[-1] = (add(loads[-1][0], force), add(loads[-1][1], moment))
        for index in range(len(self.links) - 1, -1, -1):
            carried = self._begun(index, matter[index], loads[index])
            self._enter_entries(result, index, index, carried)
            at = index
            while (parent := self.links[at].parent) >= 0:
                carried = self._back(at, carried)
                at = parent
                self._enter_entries(result, index, at, carried)
            if (parent := self.links[index].parent) >= 0:
                link, turn = self.links[index], self.steps.turns[index]
                before = matter[index].back(link, turn, self.steps.arms[index], self.arm_rates[index])
                matter[parent] = matter[parent].plus(before)
                force, moment = self._wrench_back(index, loads[index])
                loads[parent] = (add(loads[parent][0], force), add(loads[parent][1], moment))
        return result

    def _own_load(self, index: int) -> Wrench:
        motion, origin = self.motions[index], self.origins[index]
        pseudo, spin = self.links[index].pseudo.tolist(), self.links[index].spin
        moment, force = own_moment(pseudo, motion, origin, Units(1.0, 1.0), spin=spin)
        return force, moment

    def _begun(self, index: int, matter: Matter, load: Wrench) -> _Carried:
        """The functional and the wrenches of joint ``index``, at its own origin."""
        zero, m, s, p = self.zero, matter.mass, matter.first, matter.momentum
        motion, a = self.motions[index], self.origins[index]
        turning = self._axis_rate(index)
        second = [row[2] for row in motion.b]
        (fx, fy, _), (nx, ny, _) = load
        if not self.links[index].revolute:
            return _Carried(
                alpha=[zero, zero, m],
                beta=[s[1], -s[0], zero],
                gamma=[p[1], -p[0], zero],
                velocity=(scaled(m, turning), cross_entries(s, turning)),
                position=(scaled(m, second), add(cross_entries(s, second), [-fy, fx, zero])),
            )
        d, inertia = matter.spread, matter.inertia
        sigma = [a[1], -a[0], zero]
        twice = scaled(2.0, turning)
        force = add(add(scaled(m, sigma), cross_entries(second, s)), cross_entries(twice, p))
        moment = add(add(cross_entries(s, sigma), applied(inertia, second)), matter.swept(twice))
        z = [zero, zero, self.graph.expression(1.0)]
        return _Carried(
            alpha=[-s[1], s[0], zero],
            beta=inertia[2],
            gamma=[-d[0][2], -d[1][2], d[0][0] + d[1][1]],
            velocity=(
                add(cross_entries(turning, s), [-p[1], p[0], zero]),
                add(applied(inertia, turning), matter.swept(z)),
            ),
            position=(add(force, [-fy, fx, zero]), add(moment, [-ny, nx, zero])),
        )

    def _axis_rate(self, index: int) -> Vector:
        """w x z, the rate of the joint's axis."""
        w = self.motions[index].velocity
        return [w[1], -w[0], self.zero]

    def _back(self, index: int, carried: _Carried) -> _Carried:
        """From link ``index`` to the link before."""
        turn, arm, arm_rate = self.steps.turns[index], self.steps.arms[index], self.arm_rates[index]
        link = self.links[index]
        alpha, beta, gamma = (from_turned(*turn, v) for v in (carried.alpha, carried.beta, carried.gamma))
        beta = add(beta, cross_entries(arm, alpha))
        gamma = add(gamma, cross_entries(arm_rate, alpha))
        return _Carried(
            alpha=from_entry(link, alpha),
            beta=from_entry(link, beta),
            gamma=from_entry(link, gamma),
            velocity=self._wrench_back(index, carried.velocity),
            position=self._wrench_back(index, carried.position),
        )

    def _wrench_back(self, index: int, wrench: Wrench) -> Wrench:
        turn, arm, link = self.steps.turns[index], self.steps.arms[index], self.links[index]
        force, moment = (from_turned(*turn, v) for v in wrench)
        moment = add(moment, cross_entries(arm, force))
        return from_entry(link, force), from_entry(link, moment)

    def _enter_entries(self, result: Sensitivity, i: int, j: int, carried: _Carried) -> None:
        """Entries (i, j) and (j, i) of joint i with a joint j before it, or with itself."""
        motion, a = self.motions[j], self.origins[j]
        turning, second = self._axis_rate(j), [row[2] for row in motion.b]
        alpha, beta, gamma = carried.alpha, carried.beta, carried.gamma
        if self.links[j].revolute:
            mass, along = beta[2], 1
            velocity = beta[0] * turning[0] + beta[1] * turning[1] + gamma[2]
            position = alpha[0] * a[1] - alpha[1] * a[0] + _dot(beta, second)
            position = position + 2.0 * (gamma[0] * turning[0] + gamma[1] * turning[1])
        else:
            mass, along = alpha[2], 0
            velocity = alpha[0] * turning[0] + alpha[1] * turning[1]
            position = _dot(alpha, second)
        self._put(result.mass, i, j, mass)
        self._put(result.coriolis, i, j, velocity)
        self._put(result.positions, i, j, position)
        if i != j:
            self._put(result.mass, j, i, mass)
            self._put(result.coriolis, j, i, carried.velocity[along][2])
            self._put(result.positions, j, i, carried.position[along][2])

    def _put(self, matrix: Matrix, i: int, j: int, entry: Expression) -> None:
        row, column = self.links[i], self.links[j]
        entry = (row.multiplier * column.multiplier) * entry
        matrix[row.coordinate][column.coordinate] = matrix[row.coordinate][column.coordinate] + entry


def _dot(u: Sequence[Expression], v: Sequence[Expression]) -> Expression:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
