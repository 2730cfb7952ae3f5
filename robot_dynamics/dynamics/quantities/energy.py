"""Kinetic and potential energy."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.frame_kinematics import Steps, Twist, twists
from robot_dynamics.dynamics.generator.inputs import GRAVITY, PAYLOAD, QD, Inputs, Q, Request
from robot_dynamics.dynamics.generator.payload import inertia_of
from robot_dynamics.dynamics.generator.tracing import Trace
from robot_dynamics.dynamics.generator.vectors import Tensor, Vector, add, from_entry, from_turned, scaled
from robot_dynamics.dynamics.quantities.frames import steps_to
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array, cross_entries


def _trace(request: Request) -> Trace:
    inputs = Inputs(request, Q, QD)
    steps = steps_to(request, request.links, inputs["q"])
    kinetic = inputs.graph.expression(0.0)
    bodies = [
        [[inputs.graph.expression(x) for x in row] for row in link.pseudo.tolist()] for link in request.links
    ]
    for index, payload in inputs.payloads.items():
        bodies[index] = [add(u, v) for u, v in zip(bodies[index], payload, strict=True)]
    for pseudo, twist in zip(bodies, twists(steps, inputs["qd"]), strict=True):
        kinetic = kinetic + _twice_kinetic(pseudo, twist)
    base = request.model.base
    root = (base[:3, :3].T @ base[:3, 3]).tolist()
    potential = -_dot(inputs.gravity, _first_moment(steps, bodies, root))
    return Trace(inputs.graph, ([0.5 * kinetic, potential],))


def _twice_kinetic(pseudo: Tensor, twist: Twist) -> Expression:
    """v . (m v + 2 w x s) + w . I w, about the link's origin."""
    w, v = twist.angular, twist.linear
    momentum = add(scaled(pseudo[3][3], v), scaled(2.0, cross_entries(w, pseudo[3][:3])))
    turning = [_dot(w, row) for row in inertia_of(pseudo)]
    return _dot(v, momentum) + _dot(w, turning)


def _first_moment(steps: Steps, bodies: list[Tensor], root: list[float]) -> Vector:
    """First moment of the links' ``bodies`` about the root frame's origin, in axes of frame 0.

    ``root`` is the origin of frame 0 from the root frame's, in the same axes.
    """
    graph = steps.graph
    moments = [pseudo[3][:3] for pseudo in bodies]
    masses = [pseudo[3][3] for pseudo in bodies]
    total = [graph.expression(0.0)] * 3
    for index in range(len(steps.links) - 1, -1, -1):
        link = steps.links[index]
        moment = add(
            from_turned(*steps.turns[index], moments[index]), scaled(masses[index], steps.arms[index])
        )
        moment = from_entry(link, moment)
        if link.parent >= 0:
            moments[link.parent] = add(moments[link.parent], moment)
            masses[link.parent] = masses[link.parent] + masses[index]
        else:
            total = add(total, add(moment, [masses[index] * x for x in root]))
    return total


def _dot(u: Vector, v: Vector | list[float]) -> Expression:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


@quantity(
    states=(Q, QD),
    held=(GRAVITY, PAYLOAD),
    outputs=(
        OutputArray(
            "energy", "kinetic energy, potential energy (zero at the root frame) [J]", lambda _: (2,)
        ),
    ),
    trace=_trace,
)
def energy(self: Functions, q: ArrayLike, qd: ArrayLike, out: Array | None = None) -> Array:
    """Kinetic and potential energy of the links; without gravity's pull on a mass at the root frame's origin.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        out: array for the result.

    Returns:
        (2,) or (N, 2): kinetic energy, potential energy, zero with all mass at the root frame's origin [J].

    Raises:
        StateError: a wrong shape or a value that is not finite.
    """
    energies: Array = self.function("energy")(q, qd, out)
    return energies
