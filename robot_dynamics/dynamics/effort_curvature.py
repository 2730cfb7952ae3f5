"""Bounds of how fast the efforts of an arm bend over time, from bounds of its joints' rates.

Newton-Euler recursion with magnitudes: every vector of the recursion is replaced by bounds of the norms of
its first derivatives by time, in a frame at rest. A vector r that is fixed in a link has r' = ω × r, hence
with Leibniz' rule

    |r^(k+1)| ≤ Σ_i C(k, i) |ω^(i)| |r^(k−i)|.

Sums and products of vectors have the sums and the products of norms as bounds. An inertia tensor is split
into a multiple of the identity and a rest D, for which D' = ω̂ D − D ω̂ and |D'| ≤ 2 |ω| |D|.
The result holds for every configuration: it needs the rates of the joints, and positions of sliding ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from robot_dynamics.model.chain import JointKind, KinematicChain, RigidBody
from robot_dynamics.model.lumping import moved_body
from robot_dynamics.spatial import Array

Bounds = list[Array]
"""Bounds (N,) of the norms of a vector and its derivatives by time, from the zeroth on."""

_ORDER = 2
"""Of the efforts' derivative."""


@dataclass(frozen=True)
class _InertiaBounds:
    """Composite body of a link: mass, distance of its centre from the link's origin, and inertia about it.

    The eigenvalues of the inertia are ``mean`` ± ``spread`` at most.
    """

    mass: float
    distance: float
    mean: float
    spread: float

    @staticmethod
    def of(body: RigidBody) -> _InertiaBounds:
        moments = np.linalg.eigvalsh(0.5 * (body.inertia + body.inertia.T))
        mean, spread = 0.5 * (moments[-1] + moments[0]), 0.5 * (moments[-1] - moments[0])
        return _InertiaBounds(
            abs(body.mass), float(np.linalg.norm(body.center_of_mass)), abs(float(mean)), float(spread)
        )


class EffortCurvature:
    """Bounds of the second derivatives by time of the efforts of rigid links.

    Args:
        chain: the arm.
        gravity: (3,) [m/s²].
        payload: (10,) for each tip what it carries beside the chain, as ``CompiledDynamics.payload``.
    """

    def __init__(self, chain: KinematicChain, gravity: Array, payload: Array | None = None) -> None:
        self._chain = chain
        self._gravity = float(np.linalg.norm(gravity))
        bodies = [[joint.body] for joint in chain.joints]
        for k, tip in enumerate(chain.tips if payload is not None else ()):
            carried = _payload_body(np.asarray(payload).reshape(-1, 10)[k])
            if carried is not None:
                bodies[tip.joint].append(moved_body(carried, tip.transform))
        self._bodies = [[_InertiaBounds.of(body) for body in carried if body.mass] for carried in bodies]

    def of(self, rates: Sequence[Array], positions: Array) -> Array:
        """Bounds (N, n) of the second derivatives [N·m/s² or N/s²].

        Args:
            rates: four arrays (N, n) of bounds of the magnitudes of velocity, acceleration, jerk and the
                derivative of jerk.
            positions: (N, n) bounds of the magnitudes of positions.
        """
        chain = self._chain
        count = len(positions)
        turning: list[Bounds] = []  # ω of each link
        unit: list[Bounds] = []  # a unit vector fixed in each link
        offset: list[Bounds] = []  # from the origin of the link before
        origin: list[Bounds] = []  # acceleration of each link's origin
        still = [np.zeros(count) for _ in range(_ORDER + 2)]
        fixed = [np.ones(count)] + [np.zeros(count) for _ in range(_ORDER + 2)]
        for joint, parent in zip(chain.joints, chain.carriers, strict=True):
            scale = abs(joint.multiplier)
            q = [scale * positions[:, joint.coordinate] + abs(joint.offset)]
            q += [scale * rate[:, joint.coordinate] for rate in rates]
            before, along = (turning[parent], unit[parent]) if parent >= 0 else (still, fixed)
            distance = float(np.linalg.norm(joint.origin[:3, 3]))
            way = [distance * part for part in along]
            if joint.kind is JointKind.REVOLUTE:
                about = _product(along, q[1:], _ORDER + 1)
                turning.append([a + b for a, b in zip(before, about, strict=True)])
            else:
                turning.append(before)
                way = [a + b for a, b in zip(way, _product(along, q, _ORDER + 2), strict=True)]
            unit.append(_carried(turning[-1], np.ones(count), _ORDER + 2, 1.0))
            offset.append(way)
            moved = origin[parent] if parent >= 0 else still
            origin.append([moved[k] + way[k + 2] for k in range(_ORDER + 1)])
        return self._efforts(turning, unit, offset, origin, fixed)

    def _efforts(
        self,
        turning: list[Bounds],
        unit: list[Bounds],
        offset: list[Bounds],
        origin: list[Bounds],
        fixed: Bounds,
    ) -> Array:
        chain, count = self._chain, len(fixed[0])
        forces = [[np.zeros(count) for _ in range(_ORDER + 1)] for _ in chain.joints]
        moments = [[np.zeros(count) for _ in range(_ORDER + 1)] for _ in chain.joints]
        bent = np.zeros((count, chain.dof))
        for i in range(len(chain.joints) - 1, -1, -1):
            joint, parent = chain.joints[i], chain.carriers[i]
            for body in self._bodies[i]:
                self._add(body, turning[i], unit[i], origin[i], forces[i], moments[i])
            along = unit[parent] if parent >= 0 else fixed
            borne = moments[i] if joint.kind is JointKind.REVOLUTE else forces[i]
            bent[:, joint.coordinate] += abs(joint.multiplier) * _product(along, borne, _ORDER)[_ORDER]
            if parent >= 0:
                lever = _product(offset[i], forces[i], _ORDER)
                for k in range(_ORDER + 1):
                    forces[parent][k] = forces[parent][k] + forces[i][k]
                    moments[parent][k] = moments[parent][k] + moments[i][k] + lever[k]
        return bent

    def _add(
        self,
        body: _InertiaBounds,
        turning: Bounds,
        unit: Bounds,
        origin: Bounds,
        force: Bounds,
        moment: Bounds,
    ) -> None:
        """Add what accelerates ``body`` to force and moment about the link's origin."""
        arm = [body.distance * part for part in unit]
        needed = [body.mass * (origin[k] + arm[k + 2]) for k in range(_ORDER + 1)]
        needed[0] = needed[0] + body.mass * self._gravity
        lever = _product(arm, needed, _ORDER)
        rest = _carried(turning, np.full(len(unit[0]), body.spread), _ORDER + 1, 2.0)
        momentum = _product(rest, turning, _ORDER + 1)
        for k in range(_ORDER + 1):
            force[k] = force[k] + needed[k]
            moment[k] = moment[k] + lever[k] + momentum[k + 1] + body.mean * turning[k + 1]


def _product(x: Bounds, y: Bounds, order: int) -> Bounds:
    """Of a product, up to the derivative ``order``."""
    return [sum((comb(k, i) * x[i] * y[k - i] for i in range(k + 1)), np.zeros(1)) for k in range(order + 1)]


def _carried(turning: Bounds, size: Array, order: int, factor: float) -> Bounds:
    """Of what is fixed in a link that turns: a vector (factor 1) or a tensor (factor 2)."""
    found = [size]
    for k in range(order):
        found.append(factor * _product(turning[: k + 1], found, k)[k])
    return found


def _payload_body(values: Array) -> RigidBody | None:
    """The body of mass, first moment and inertia xx, xy, yy, xz, yz, zz; None without mass."""
    mass = float(values[0])
    if mass == 0.0:
        return None
    center = values[1:4] / mass
    xx, xy, yy, xz, yz, zz = values[4:]
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = about - mass * (center @ center * np.eye(3) - np.outer(center, center))
    return RigidBody(mass, center, inertia)
