"""The mass matrix from composite bodies.

Beyond joint j all links are frozen into one body with pseudo-inertia P about the joint. A unit acceleration
of the joint takes the force and moment

    revolute:  f = z x s,  n = (-J_xz, -J_yz, J_xx + J_yy)        prismatic:  f = m z,  n = s x z

and what of them acts along the axes of the joints before is column j. P itself is moved towards the base by
P -> T P T^T, link by link, the angles of parallel axes summed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.regrouping import regrouped
from robot_dynamics.dynamics.generator.runs import Place, places
from robot_dynamics.dynamics.generator.vectors import (
    Tensor,
    Vector,
    add,
    from_entry,
    from_turned,
    scaled,
)
from robot_dynamics.spatial import cross_entries


@dataclass
class _Body:
    """Second moments (upper triangle is kept in step with the lower), first moments and mass."""

    second: Tensor
    first: Vector
    mass: Expression
    spin: float

    def shifted(self, arm: Vector) -> _Body:
        """About the point from which the present origin is ``arm`` away."""
        m, s = self.mass, self.first
        # arm s^T + s arm^T + m arm arm^T = arm t^T + s arm^T with t = s + m arm.
        t = add(s, scaled(m, arm))
        second = [[self.second[i][j] + (arm[i] * t[j] + s[i] * arm[j]) for j in range(3)] for i in range(3)]
        for i in range(3):
            for j in range(i):
                second[i][j] = second[j][i]
        return _Body(second, t, m, self.spin)


@dataclass
class _Column:
    """Force and moment that a unit acceleration of joint ``index`` takes, at the current origin."""

    place: Place
    force: Vector
    moment: Vector


def mass_matrix(
    graph: ExpressionGraph,
    links: tuple[GeneratorLink, ...],
    q: Sequence[Expression],
    choices: Choices,
    payloads: Mapping[int, Tensor] = MappingProxyType({}),
) -> list[list[Expression]]:
    """The symmetric mass matrix of the coordinates, row by row [kg·m², kg·m or kg].

    ``payloads`` are (4, 4) pseudo-inertias of what links carry, by their indices.
    """
    choices = choices.as_given(payloads)
    return _Composite(graph, regrouped(links, choices), q, choices, payloads).matrix()


class _Composite:
    def __init__(
        self,
        graph: ExpressionGraph,
        links: tuple[GeneratorLink, ...],
        q: Sequence[Expression],
        choices: Choices,
        payloads: Mapping[int, Tensor],
    ) -> None:
        self.graph = graph
        self.zero = graph.expression(0.0)
        self.unit = choices.backward_length
        self.trigonometry = Trigonometry(graph, choices.composed_angles)
        self.payloads = payloads
        self.runs = places(graph, links, choices, q, self.trigonometry, self.unit, payloads)
        self.result = [[self.zero] * len(q) for _ in q]

    def matrix(self) -> list[list[Expression]]:
        zero = self.zero
        # Of links that carry others: all beyond them as a body, and the columns of all joints beyond them.
        bodies = {index: self._given(payload) for index, payload in self.payloads.items()}
        columns: dict[int, list[_Column]] = {}
        for run in reversed(self.runs):
            last, parent = run[-1].index, run[0].link.parent
            empty = _Body([[zero] * 3 for _ in range(3)], [zero] * 3, zero, 0.0)
            body, met = self._run(run, bodies.get(last, empty), columns.get(last, []))
            bodies[parent] = self._sum(bodies[parent], body) if parent in bodies else body
            columns[parent] = [*columns.get(parent, []), *met]
        return self.result

    def _given(self, payload: Tensor) -> _Body:
        second = [row[:3] for row in payload[:3]]
        return _Body(second, scaled(self.unit, payload[3][:3]), self.unit**2 * payload[3][3], 0.0)

    def _run(self, run: list[Place], body: _Body, columns: list[_Column]) -> tuple[_Body, list[_Column]]:
        """Through one run; ``body`` and ``columns`` at the origin of its last link, in that link's frame."""
        last = run[-1]
        body = self._turned(last, self._sum(body, self._constant(last.link)))
        columns = [
            _Column(
                column.place,
                from_turned(last.cosine, last.sine, column.force),
                from_turned(last.cosine, last.sine, column.moment),
            )
            for column in columns
        ]
        for place in reversed(run):
            if place is not last:
                body = self._sum(body, self._turned_constant(place))
            columns = [*columns, self._column(place, body)]
            for column in columns:
                self._store(place.link, column)
            columns = [
                _Column(c.place, c.force, add(c.moment, cross_entries(place.arm, c.force))) for c in columns
            ]
            body = body.shifted(place.arm)
        first = run[0].link
        rows = [from_entry(first, row) for row in body.second]
        turned = [from_entry(first, [rows[i][j] for i in range(3)]) for j in range(3)]
        for i in range(3):
            for j in range(i):
                turned[i][j] = turned[j][i]
        spin = body.spin if first.parallel else 0.0
        body = _Body(turned, from_entry(first, body.first), body.mass, spin)
        return body, [
            _Column(c.place, from_entry(first, c.force), from_entry(first, c.moment)) for c in columns
        ]

    def _constant(self, link: GeneratorLink) -> _Body:
        pseudo = link.pseudo.tolist()
        expression = self.graph.expression
        return _Body(
            [[expression(pseudo[i][j]) for j in range(3)] for i in range(3)],
            [expression(self.unit * pseudo[i][3]) for i in range(3)],
            expression(self.unit**2 * pseudo[3][3]),
            link.spin,
        )

    def _sum(self, body: _Body, other: _Body) -> _Body:
        second = [
            [x + y for x, y in zip(u, v, strict=True)] for u, v in zip(body.second, other.second, strict=True)
        ]
        return _Body(second, add(body.first, other.first), body.mass + other.mass, body.spin + other.spin)

    def _turned(self, place: Place, body: _Body) -> _Body:
        """A body given in a link's own frame, in the axes of E."""
        c, s, p = place.cosine, place.sine, body.second
        u, v = c * p[0][0] - s * p[0][1], c * p[0][1] - s * p[1][1]
        xx, xy = c * u - s * v, s * u + c * v
        yy = (p[0][0] + p[1][1]) - xx
        xz, yz, zz = from_turned(c, s, p[2])
        return _Body(
            [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
            from_turned(c, s, body.first),
            body.mass,
            body.spin,
        )

    def _turned_constant(self, place: Place) -> _Body:
        """The link's own distribution, in the axes of E."""
        p = place.link.pseudo.tolist()
        expression, turn = self.graph.expression, self.trigonometry
        mean, half = 0.5 * (p[0][0] + p[1][1]), 0.5 * (p[0][0] - p[1][1])
        cosine, xy = turn.turned_twice(place.angle, half, p[0][1])
        xz, yz = turn.turned(place.angle, p[0][2], p[1][2])
        sx, sy = turn.turned(place.angle, self.unit * p[0][3], self.unit * p[1][3])
        return _Body(
            [[mean + cosine, xy, xz], [xy, mean - cosine, yz], [xz, yz, expression(p[2][2])]],
            [sx, sy, expression(self.unit * p[2][3])],
            expression(self.unit**2 * p[3][3]),
            place.link.spin,
        )

    def _column(self, place: Place, body: _Body) -> _Column:
        s, j = body.first, body.second
        if place.link.revolute:
            axial = (j[0][0] + j[1][1]) + body.spin
            return _Column(place, [-s[1], s[0], self.zero], [-j[0][2], -j[1][2], axial])
        return _Column(place, [self.zero, self.zero, body.mass], [s[1], -s[0], self.zero])

    def _store(self, link: GeneratorLink, column: _Column) -> None:
        other = column.place.link
        value = column.moment[2] if link.revolute else column.force[2]
        for joint in (link, other):
            if not joint.revolute:
                value = value * (1.0 / self.unit)
        value = value * (link.multiplier * other.multiplier)
        i, j = link.coordinate, other.coordinate
        self.result[i][j] = self.result[i][j] + value
        if link is not other:
            self.result[j][i] = self.result[j][i] + value
