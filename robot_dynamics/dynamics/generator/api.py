"""From a robot to the straight-line programs of its customised models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.factoring import factored, factored_program
from robot_dynamics.codegen.program import Argument, OperationCount, Program
from robot_dynamics.dynamics.generator.articulated_body import articulated_body
from robot_dynamics.dynamics.generator.choices import Choices, LinkChoice, default_choices
from robot_dynamics.dynamics.generator.forward_dynamics import solve_symmetric
from robot_dynamics.dynamics.generator.gravity import gravity_forces
from robot_dynamics.dynamics.generator.jacobian import tip_jacobian
from robot_dynamics.dynamics.generator.links import Link, axes_made_parallel, links_of
from robot_dynamics.dynamics.generator.mass_matrix import mass_matrix
from robot_dynamics.dynamics.generator.recursion import State, inverse_dynamics
from robot_dynamics.dynamics.generator.search import EFFORTS, Objective, best_choices, cost
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ParameterError

Outputs = list[tuple[Argument, list[Expression]]]

_EVERY_CHOICE = tuple(field.name for type_ in (LinkChoice, Choices) for field in fields(type_))
_OF_MASS_MATRIX = ("point_mass", "isotropic", "joined", "turn", "backward_length")
_OF_GRAVITY = ("point_mass", "joined", "turn")


@dataclass(frozen=True)
class _Request:
    """What is generated, and with which inputs."""

    model: SerialModel
    links: tuple[Link, ...]
    wrench: bool
    gravity_input: bool
    objective: Objective
    effort: str
    choices: Choices | None = None


def generate(
    model: SerialModel,
    quantity: str = "inverse_dynamics",
    *,
    wrench: bool = False,
    gravity_input: bool = False,
    objective: Objective = Objective.TIME,
    effort: str = "normal",
    choices: Choices | None = None,
) -> Program:
    """The straight-line program of one quantity for this robot.

    Inputs are the arrays ``q``, ``qd``, ``qdd`` or ``tau`` that the quantity needs (``dof`` scalars each, in
    the order of the coordinates), then ``wrench`` and ``gravity`` if asked for. Every parameter of the robot
    is a constant; what vanishes for this robot is left out.

        quantity            inputs          output
        inverse_dynamics    q, qd, qdd      tau[n]                  [N·m or N]
        gravity             q               tau[n]
        coriolis            q, qd           tau[n], velocity terms alone
        mass_matrix         q               mass_matrix[n*n], row by row
        forward_dynamics    q, qd, tau      qdd[n]
        jacobian            q               jacobian[6*n], row by row: linear, then angular, tip frame

    Args:
        model: the robot.
        quantity: one of ``QUANTITIES``.
        wrench: add the input ``wrench``: [force, torque] that the arm exerts on its environment at the tip,
            in the tip frame [N, N·m] (inverse and forward dynamics).
        gravity_input: add the input ``gravity``: acceleration of free fall in the root frame [m/s²], instead
            of the model's own (inverse and forward dynamics, gravity).
        objective: what the search over equivalent programs makes small.
        effort: "none", "normal" (under two seconds) or "high"; the result depends on nothing else.
        choices: what a search found before (:func:`find_choices`), instead of a search.

    Raises:
        ParameterError: an unknown quantity or effort, or an input that the quantity does not take.
    """
    if quantity not in _BUILDERS:
        raise ParameterError(f"unknown quantity {quantity!r}; known are {', '.join(QUANTITIES)}")
    if effort not in EFFORTS:
        raise ParameterError(f"unknown effort {effort!r}; known are {', '.join(EFFORTS)}")
    if wrench and quantity not in ("inverse_dynamics", "forward_dynamics"):
        raise ParameterError(f"{quantity} takes no wrench")
    if gravity_input and quantity not in ("inverse_dynamics", "forward_dynamics", "gravity"):
        raise ParameterError(f"{quantity} does not depend on gravity")
    model = axes_made_parallel(model.rebased())
    request = _Request(model, links_of(model), wrench, gravity_input, objective, effort, choices)
    graph, outputs = _BUILDERS[quantity](request)
    return factored_program(graph, quantity, outputs)


def find_choices(model: SerialModel, objective: Objective, effort: str = "normal") -> Choices:
    """The choices with which :func:`generate` writes the inverse dynamics of ``model``."""
    model = model.rebased()
    request = _Request(model, links_of(model), False, False, objective, effort)
    return _search(request, partial(_build_inverse_dynamics, request))


class _Inputs:
    """Declares the inputs of a program, in the documented order."""

    def __init__(self, request: _Request, states: str) -> None:
        self.graph = ExpressionGraph()
        self.request = request
        n = request.model.dof
        zeros = tuple(self.graph.expression(0.0) for _ in range(n))
        arrays = {name: self.graph.input(name, n, _STATES[name]) for name in states.split()}
        self.q = arrays["q"]
        self.qd = arrays.get("qd", zeros)
        self.qdd = arrays.get("qdd", zeros)
        self.tau = arrays.get("tau", zeros)
        self.force: list[Expression] | None = None
        self.moment: list[Expression] | None = None
        if request.wrench:
            self._wrench()
        self.gravity = [self.graph.expression(x) for x in request.model.gravity.tolist()]
        if request.gravity_input:
            root = self.graph.input("gravity", 3, "acceleration of free fall in the root frame [m/s^2]")
            rotation = _snapped(request.model.base[:3, :3].tolist())
            self.gravity = [_dot([row[i] for row in rotation], root) for i in range(3)]

    def _wrench(self) -> None:
        given = self.graph.input(
            "wrench",
            6,
            "[force, torque] that the arm exerts on its environment at the tip, in the tip frame [N, N m]",
        )
        rotation = _snapped(self.request.model.tip[:3, :3].tolist())
        p = self.request.model.tip[:3, 3].tolist()
        f = [_dot(row, given[:3]) for row in rotation]
        n = [_dot(row, given[3:]) for row in rotation]
        self.force = f
        self.moment = [
            n[0] + (p[1] * f[2] - p[2] * f[1]),
            n[1] + (p[2] * f[0] - p[0] * f[2]),
            n[2] + (p[0] * f[1] - p[1] * f[0]),
        ]

    def state(self) -> State:
        """The state with the arrays that were declared; the others are zero."""
        return State(self.q, self.qd, self.qdd, self.gravity, self.force, self.moment)


def _search(
    request: _Request,
    build: Callable[[Choices], tuple[ExpressionGraph, Outputs]],
    relevant: Iterable[str] = _EVERY_CHOICE,
) -> Choices:
    """Choices for what ``build`` makes, of which only the ``relevant`` fields matter."""

    def operations(choices: Choices) -> OperationCount:
        graph, outputs = build(choices)
        scalars = [scalar for _, values in outputs for scalar in values]
        if request.effort == "high":
            graph, scalars = factored(graph, scalars)
        return graph.count(scalars)

    if request.choices is not None:
        return request.choices
    start = default_choices(request.links)
    return best_choices(
        request.links, start, operations, request.objective, request.effort, frozenset(relevant)
    )


def _inverse_dynamics(request: _Request) -> tuple[ExpressionGraph, Outputs]:
    build = partial(_build_inverse_dynamics, request)
    return build(_search(request, build))


def _build_inverse_dynamics(request: _Request, choices: Choices) -> tuple[ExpressionGraph, Outputs]:
    inputs = _Inputs(request, "q qd qdd")
    tau = inverse_dynamics(inputs.graph, request.links, inputs.state(), choices)
    return inputs.graph, [(_torques(len(tau)), tau)]


def _coriolis(request: _Request) -> tuple[ExpressionGraph, Outputs]:
    def build(choices: Choices) -> tuple[ExpressionGraph, Outputs]:
        inputs = _Inputs(request, "q qd")
        zero = inputs.graph.expression(0.0)
        state = replace(inputs.state(), gravity=[zero] * 3)
        tau = inverse_dynamics(inputs.graph, request.links, state, choices)
        return inputs.graph, [(_torques(len(tau)), tau)]

    return build(_search(request, build))


def _gravity(request: _Request) -> tuple[ExpressionGraph, Outputs]:
    def build(choices: Choices) -> tuple[ExpressionGraph, Outputs]:
        inputs = _Inputs(request, "q")
        tau = gravity_forces(inputs.graph, request.links, inputs.q, inputs.gravity, choices)
        return inputs.graph, [(_torques(len(tau)), tau)]

    return build(_search(request, build, _OF_GRAVITY))


def _mass_matrix(request: _Request) -> tuple[ExpressionGraph, Outputs]:
    def build(choices: Choices) -> tuple[ExpressionGraph, Outputs]:
        inputs = _Inputs(request, "q")
        matrix = mass_matrix(inputs.graph, request.links, inputs.q, choices)
        n = len(matrix)
        argument = Argument("mass_matrix", n * n, "joint-space mass matrix, row by row")
        return inputs.graph, [(argument, [entry for row in matrix for entry in row])]

    return build(_search(request, build, _OF_MASS_MATRIX))


def _forward_dynamics(request: _Request) -> tuple[ExpressionGraph, Outputs]:
    """The cheaper of articulated bodies and a factorised mass matrix.

    The factorisation grows with the cube of the number of joints; from a dozen joints on it is not tried.
    """
    shared = len(request.links) != request.model.dof
    candidates = []
    if shared or len(request.links) <= 12:
        candidates.append(_by_factorisation(request))
    if not shared:
        inputs = _Inputs(request, "q qd tau")
        qdd = articulated_body(inputs.graph, request.links, inputs.state(), inputs.tau)
        candidates.append((inputs.graph, [(_accelerations(len(qdd)), qdd)]))

    def price(candidate: tuple[ExpressionGraph, Outputs]) -> float:
        graph, outputs = candidate
        return cost(graph.count(outputs[0][1]), request.objective)

    return min(candidates, key=price)


def _by_factorisation(request: _Request) -> tuple[ExpressionGraph, Outputs]:
    def bias(choices: Choices) -> tuple[ExpressionGraph, Outputs]:
        inputs = _Inputs(request, "q qd")
        tau = inverse_dynamics(inputs.graph, request.links, inputs.state(), choices)
        return inputs.graph, [(_torques(len(tau)), tau)]

    def matrix(choices: Choices) -> tuple[ExpressionGraph, Outputs]:
        inputs = _Inputs(replace(request, wrench=False, gravity_input=False), "q")
        rows = mass_matrix(inputs.graph, request.links, inputs.q, choices)
        return inputs.graph, [(Argument("m", len(rows) ** 2), [entry for row in rows for entry in row])]

    for_bias = _search(request, bias)
    for_matrix = replace(_search(request, matrix, _OF_MASS_MATRIX), composed_angles=for_bias.composed_angles)
    inputs = _Inputs(request, "q qd tau")
    graph = inputs.graph
    forces = inverse_dynamics(graph, request.links, inputs.state(), for_bias)
    rows = mass_matrix(graph, request.links, inputs.q, for_matrix)
    right = [given - needed for given, needed in zip(inputs.tau, forces, strict=True)]
    qdd = solve_symmetric(rows, right)
    return graph, [(_accelerations(len(qdd)), qdd)]


def _jacobian(request: _Request) -> tuple[ExpressionGraph, Outputs]:
    def build(choices: Choices) -> tuple[ExpressionGraph, Outputs]:
        inputs = _Inputs(request, "q")
        rows = tip_jacobian(inputs.graph, request.links, request.model.tip, inputs.q, choices)
        argument = Argument(
            "jacobian",
            6 * len(rows[0]),
            "6 rows: linear, then angular velocity of the tip in the tip frame, per joint velocity",
        )
        return inputs.graph, [(argument, [entry for row in rows for entry in row])]

    return build(_search(request, build, ("joined",)))


def _torques(n: int) -> Argument:
    return Argument("tau", n, "joint efforts [N m or N]")


def _accelerations(n: int) -> Argument:
    return Argument("qdd", n, "joint accelerations [rad/s^2 or m/s^2]")


def _dot(constants: list[float], values: tuple[Expression, ...] | list[Expression]) -> Expression:
    return constants[0] * values[0] + constants[1] * values[1] + constants[2] * values[2]


def _snapped(rotation: list[list[float]]) -> list[list[float]]:
    """Entries of a rotation matrix without the rounding of quarter turns."""
    return [[0.0 if abs(x) < 1e-15 else x for x in row] for row in rotation]


_STATES = {
    "q": "joint positions [rad or m]",
    "qd": "joint velocities [rad/s or m/s]",
    "qdd": "joint accelerations [rad/s^2 or m/s^2]",
    "tau": "joint efforts [N m or N]",
}
_BUILDERS: Mapping[str, Callable[[_Request], tuple[ExpressionGraph, Outputs]]] = {
    "inverse_dynamics": _inverse_dynamics,
    "gravity": _gravity,
    "coriolis": _coriolis,
    "mass_matrix": _mass_matrix,
    "forward_dynamics": _forward_dynamics,
    "jacobian": _jacobian,
}
QUANTITIES = tuple(_BUILDERS)
