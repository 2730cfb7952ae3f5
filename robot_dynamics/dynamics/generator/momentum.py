"""Generalised momentum and its velocity term: one pass to the tips, one back.

A link with pseudo-inertia (J, s, m) that turns at w, its origin moving at v, has about its origin

    L = m v + w x s,        K = (tr(J) 1 - J) w + s x v.

With (K, L) of all that is beyond joint i, about a point of its axis, in axes whose z is the joint's,

    revolute:   p_i = K_z,  beta_i = K_x w_y - K_y w_x + L_x v_y - L_y v_x
    prismatic:  p_i = L_z,  beta_i = L_x w_y - L_y w_x

where p = M qd and beta = dT/dq = C^T qd: the momentum times the rate of the joint's axis, which moves with
the link before. Axes of a run are those of its entry E (see :mod:`.recursion`); w_x and w_y are the same for
all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.dynamics.generator.angles import Trigonometry
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.links import GeneratorLink
from robot_dynamics.dynamics.generator.moments import Pseudo
from robot_dynamics.dynamics.generator.regrouping import regrouped
from robot_dynamics.dynamics.generator.runs import Place, joint_variable, places
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
from robot_dynamics.spatial import cross_entries

Momentum = tuple[Vector, Vector]
"""Angular and linear, K and L."""


def momentum(
    graph: ExpressionGraph,
    links: tuple[GeneratorLink, ...],
    q: Sequence[Expression],
    qd: Sequence[Expression],
    choices: Choices,
    payloads: Mapping[int, Tensor] = MappingProxyType({}),
) -> tuple[list[Expression], list[Expression]]:
    """Generalised momentum M qd, and the derivative of the kinetic energy by each position.

    ``payloads`` are (4, 4) pseudo-inertias of what links carry, by their indices.
    """
    choices = choices.as_given(payloads)
    return _Sweep(graph, regrouped(links, choices), q, qd, choices, payloads).sums()


class _Sweep:
    def __init__(
        self,
        graph: ExpressionGraph,
        links: tuple[GeneratorLink, ...],
        q: Sequence[Expression],
        qd: Sequence[Expression],
        choices: Choices,
        payloads: Mapping[int, Tensor],
    ) -> None:
        self.zero = graph.expression(0.0)
        self.unit = choices.backward_length
        self.qd = qd
        self.payloads = payloads
        trigonometry = Trigonometry(graph, choices.composed_angles)
        self.runs = places(graph, links, choices, q, trigonometry, self.unit, payloads)

    def sums(self) -> tuple[list[Expression], list[Expression]]:
        """Both results."""
        zero = self.zero
        # Angular velocity, and velocity of the origin in units of length, of the last link of every run.
        ends = {-1: ([zero] * 3, [zero] * 3)}
        passed = []
        for run in self.runs:
            entry = tuple(to_entry(run[0].link, v) for v in ends[run[0].link.parent])
            motions = self._motions(run, entry[0], entry[1])
            last = run[-1]
            ends[last.index] = tuple(to_turned(last.cosine, last.sine, v) for v in motions[-1])  # type: ignore[assignment]
            passed.append((run, entry[0], motions))
        momenta, slopes = [zero] * len(self.qd), [zero] * len(self.qd)
        carried = {index: self._own(payload, *ends[index]) for index, payload in self.payloads.items()}
        for run, velocity, motions in reversed(passed):
            total: Momentum = ([zero] * 3, [zero] * 3)
            for place, motion in zip(reversed(run), reversed(motions), strict=True):
                total = _both(total, self._of_link(place, motion, carried.get(place.index)))
                link, (angular, linear), origin = place.link, total, motion[1]
                slope, own = _axial(linear, velocity), linear[2]
                if link.revolute:
                    slope, own = _axial(angular, velocity) + _axial(linear, origin), angular[2]
                else:
                    slope, own = (1.0 / self.unit) * slope, (1.0 / self.unit) * own
                momenta[link.coordinate] = momenta[link.coordinate] + link.multiplier * own
                slopes[link.coordinate] = slopes[link.coordinate] + link.multiplier * slope
                total = add(angular, cross_entries(place.arm, linear)), linear
            first = run[0].link
            before = from_entry(first, total[0]), from_entry(first, total[1])
            parent = first.parent
            carried[parent] = _both(carried[parent], before) if parent in carried else before
        return momenta, slopes

    def _motions(self, run: list[Place], angular: Vector, linear: Vector) -> list[tuple[Vector, Vector]]:
        """Angular velocity and velocity of the origin of every link of a run, in the axes of its entry."""
        motions = []
        for place in run:
            rate = joint_variable(place.link, self.qd)
            linear = add(linear, cross_entries(angular, place.arm))
            if place.link.revolute:
                angular = [angular[0], angular[1], angular[2] + rate]
            else:
                linear = [linear[0], linear[1], linear[2] + (1.0 / self.unit) * rate]
            motions.append((angular, linear))
        return motions

    def _of_link(self, place: Place, motion: tuple[Vector, Vector], carried: Momentum | None) -> Momentum:
        """Momentum of a link and of what later runs and payloads bring to it, in the axes of the entry."""
        turn = place.cosine, place.sine
        own = self._own(place.link.pseudo.tolist(), to_turned(*turn, motion[0]), to_turned(*turn, motion[1]))
        own[0][2] = own[0][2] + place.link.spin * motion[0][2]
        angular, linear = own if carried is None else _both(own, carried)
        return from_turned(*turn, angular), from_turned(*turn, linear)

    def _own(self, pseudo: Pseudo, w: Vector, v: Vector) -> Momentum:
        """Momentum of a body about its frame's origin, in its axes."""
        j, s = pseudo, [self.unit * x for x in pseudo[3][:3]]
        xx, yy, zz = j[1][1] + j[2][2], j[0][0] + j[2][2], j[0][0] + j[1][1]
        angular = [
            xx * w[0] - j[0][1] * w[1] - j[0][2] * w[2] + (s[1] * v[2] - s[2] * v[1]),
            yy * w[1] - j[0][1] * w[0] - j[1][2] * w[2] + (s[2] * v[0] - s[0] * v[2]),
            zz * w[2] - j[0][2] * w[0] - j[1][2] * w[1] + (s[0] * v[1] - s[1] * v[0]),
        ]
        mass = self.unit**2 * pseudo[3][3]
        turning = [w[1] * s[2] - w[2] * s[1], w[2] * s[0] - w[0] * s[2], w[0] * s[1] - w[1] * s[0]]
        return angular, add(scaled(mass, v), turning)


def _axial(u: Vector, v: Vector) -> Expression:
    """The z component of u x v."""
    return u[0] * v[1] - u[1] * v[0]


def _both(one: Momentum, other: Momentum) -> Momentum:
    return add(one[0], other[0]), add(one[1], other[1])
