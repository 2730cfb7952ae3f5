"""The accelerations that efforts cause."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from robot_dynamics.codegen.expression import Expression
from robot_dynamics.dynamics.generator.articulated_body import articulated_body
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.forward_dynamics import Factors
from robot_dynamics.dynamics.generator.inputs import (
    FRICTION,
    GRAVITY,
    PAYLOAD,
    QD,
    QDD,
    TAU,
    WRENCH,
    Inputs,
    Q,
    Request,
)
from robot_dynamics.dynamics.generator.mass_matrix import mass_matrix
from robot_dynamics.dynamics.generator.recursion import inverse_dynamics
from robot_dynamics.dynamics.generator.search import cost
from robot_dynamics.dynamics.generator.tracing import Trace, searched
from robot_dynamics.dynamics.generator.vectors import add, scaled
from robot_dynamics.dynamics.quantities.mass_matrix import RELEVANT
from robot_dynamics.dynamics.quantities.matrices import flat
from robot_dynamics.dynamics.quantities.quantity import Functions, OutputArray, quantity
from robot_dynamics.spatial import Array

# The factorisation grows with the cube of the number of joints; with more links it is not tried.
_MOST_LINKS = 12


def _trace(request: Request) -> Trace:
    """The cheaper of articulated bodies and a factorised mass matrix."""
    shared = len(request.links) != request.model.dof
    candidates = []
    if shared or len(request.links) <= _MOST_LINKS:
        candidates.append(_by_factorisation(request))
    if not shared:
        inputs = Inputs(request, Q, QD, TAU)
        qdd = articulated_body(inputs.graph, request.links, inputs.state(), _driving(inputs))
        candidates.append(Trace(inputs.graph, (qdd,)))
    return min(candidates, key=lambda candidate: cost(candidate.count(), request.objective))


def _by_factorisation(request: Request) -> Trace:
    def bias(choices: Choices) -> Trace:
        inputs = Inputs(request, Q, QD)
        return Trace(inputs.graph, (inverse_dynamics(inputs.graph, request.links, inputs.state(), choices),))

    def matrix(choices: Choices) -> Trace:
        inputs = Inputs(replace(request, more=tuple(a for a in request.more if a is PAYLOAD)), Q)
        rows = mass_matrix(inputs.graph, request.links, inputs["q"], choices, inputs.payloads)
        return Trace(inputs.graph, (flat(rows),))

    for_bias = searched(request, bias)
    for_matrix = replace(searched(request, matrix, RELEVANT), composed_angles=for_bias.composed_angles)
    inputs = Inputs(request, Q, QD, TAU)
    graph = inputs.graph
    forces = inverse_dynamics(graph, request.links, inputs.state(), for_bias)
    rows = mass_matrix(graph, request.links, inputs["q"], for_matrix, inputs.payloads)
    right = [given - needed for given, needed in zip(_driving(inputs), forces, strict=True)]
    return Trace(graph, (Factors(rows).solved(right),))


def _driving(inputs: Inputs) -> list[Expression]:
    """Efforts that friction leaves to the links."""
    return add(list(inputs["tau"]), scaled(-1.0, inputs.friction_efforts()))


@quantity(
    states=(Q, QD, TAU),
    optional=(WRENCH,),
    held=(GRAVITY, PAYLOAD, FRICTION),
    outputs=(OutputArray(QDD.name, QDD.description),),
    trace=_trace,
    singular=(
        "the joint accelerations are not finite: the mass matrix is singular because one of the joints"
        " {joints} moves no mass; give the links beyond it an inertia"
    ),
)
def forward_dynamics(
    self: Functions,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrench: ArrayLike | None = None,
    out: Array | None = None,
) -> Array:
    """Joint accelerations under the efforts ``tau``.

    Args:
        q: (n,) or (N, n) joint positions [rad or m].
        qd: joint velocities, shaped like ``q`` [rad/s or m/s].
        tau: joint efforts, shaped like ``q`` [N·m or N].
        wrench: (6,) or (N, 6) [force, torque] that the arm exerts on its environment at the tip, in the tip
            frame [N, N·m]; nothing when omitted.
        out: array for the result.

    Returns:
        Joint accelerations, shaped like ``q`` [rad/s² or m/s²].

    Raises:
        StateError: a wrong shape or a value that is not finite.
        SingularityError: a joint moves no mass.
    """
    accelerations: Array = self.function("forward_dynamics")(q, qd, tau, wrench, out)
    return accelerations
