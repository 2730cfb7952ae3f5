"""The exact model of one machine as a straight-line program, and its operations part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.factoring import factored
from robot_dynamics.codegen.lowering import reachable
from robot_dynamics.codegen.nodes import ADD, DIV, MUL, SQRT, SUB
from robot_dynamics.codegen.program import Argument, OperationCount, Program, count_operations
from robot_dynamics.stewart.exact_model import PlatformInputs, actuator_forces
from robot_dynamics.stewart.machine import LEG_COUNT, Machine
from robot_dynamics.stewart.regrouping import Parameters, regroup
from robot_dynamics.stewart.wrench_distribution import wrench_distribution

# The parts of the input array "motion", in order, with their sizes.
MOTION = (
    ("position", 3),
    ("orientation", 4),
    ("linear_velocity", 3),
    ("angular_velocity", 3),
    ("linear_acceleration", 3),
    ("angular_acceleration", 3),
    ("force", 3),
    ("torque", 3),
)
MOTION_SIZE = sum(size for _, size in MOTION)
DESCRIPTION = (
    "position of the platform's origin [m], unit quaternion x, y, z, w, linear and angular velocity [m/s,"
    " rad/s], linear and angular acceleration [m/s², rad/s²] in the base frame, external force and torque"
    " [N, N·m] in the platform frame"
)
# Operations printed in section 4.5 of the paper: per leg, platform, linear system; friction is not counted.
PUBLISHED = {"legs": 6 * 694, "platform": 273, "linear system": 452}
# A leg of the moment triangle must rise at least this much above it at home, per length.
LEAST_RISE = 0.1
# Point masses of the platform may not exceed this multiple of all moving masses.
GREATEST_CARRIED = 4.0


@dataclass(frozen=True)
class StewartProgram:
    """A program and where its operations are.

    Attributes:
        program: takes "motion" (25,), gives "actuator_forces" (6,).
        parts: operations by part: "platform", "legs" (all six) and "linear system".
        parameters: the regrouped constants that it was made from.
    """

    program: Program
    parts: dict[str, OperationCount]
    parameters: Parameters

    @property
    def count(self) -> OperationCount:
        """Operations of the whole program."""
        return count_operations(self.program)


def make_program(machine: Machine) -> StewartProgram:
    """The program with the free choices that need the fewest operations; the same on every run."""
    triangle = min(_triangles(machine), key=lambda candidate: _balancing_cost(machine, candidate))
    best = regroup(machine, triangle=triangle)
    for reference in range(LEG_COUNT):
        best = _cheaper(best, regroup(machine, reference, triangle=triangle))
    for carriers in _carriers(machine, best.reference):
        best = _cheaper(best, regroup(machine, best.reference, carriers, triangle))
    graph, kept, forces = _trace(best)
    used = set(_reached(graph, forces))
    borders = {part: [value for value in kept[part] if value.literal >> 1 in used] for part in kept}
    # What the parts hand on stays a value of its own, so that the parts can still be distinguished.
    graph, simpler = factored(graph, [*forces, *borders["platform"], *borders["legs"]])
    forces, rest = simpler[:LEG_COUNT], simpler[LEG_COUNT:]
    split = len(borders["platform"])
    output = Argument("actuator_forces", LEG_COUNT, "positive when the leg pushes [N]")
    program = graph.build_program("stewart_inverse_dynamics", [(output, forces)])
    everything = set(_reached(graph, forces))
    platform = everything & set(_reached(graph, rest[:split]))
    legs = (everything & set(_reached(graph, rest[split:]))) - platform
    parts = {"platform": platform, "legs": legs, "linear system": everything - platform - legs}
    return StewartProgram(program, {name: _tally(graph, nodes) for name, nodes in parts.items()}, best)


def _cheaper(best: Parameters, candidate: Parameters) -> Parameters:
    return candidate if _cost(candidate) < _cost(best) else best


@lru_cache(maxsize=2)
def _cost(parameters: Parameters) -> int:
    graph, _, forces = _trace(parameters)
    return _tally(graph, _reached(graph, forces)).total


def _balancing_cost(machine: Machine, triangle: tuple[int, int, int]) -> int:
    graph = ExpressionGraph()
    vectors = [graph.input(name, 3) for name in (*machine.leg_names, "the point", "the force", "the moment")]
    shares = wrench_distribution(regroup(machine, triangle=triangle), vectors[:6], *vectors[6:])
    return _tally(graph, _reached(graph, shares)).total


def _trace(
    parameters: Parameters,
) -> tuple[ExpressionGraph, dict[str, list[Expression]], list[Expression]]:
    """The model on expressions: the graph, what each part hands on, and the forces."""
    graph = ExpressionGraph()
    motion = graph.input("motion", MOTION_SIZE, DESCRIPTION)
    kept: dict[str, list[Expression]] = {}

    def keep(part: str, values: Sequence[Any]) -> None:
        kept[part] = [graph.expression(value) for value in values]

    forces = actuator_forces(parameters, PlatformInputs(**split_motion(motion)), keep)
    return graph, kept, [graph.expression(force) for force in forces]


def _triangles(machine: Machine) -> Iterator[tuple[int, int, int]]:
    """Triples of legs whose base points span a triangle that all three rise from."""
    base, directions = machine.base_points, machine.home_directions
    for triple in combinations(range(LEG_COUNT), 3):
        first, second = base[triple[1]] - base[triple[0]], base[triple[2]] - base[triple[0]]
        area = np.cross(first, second)
        size = float(np.linalg.norm(area))
        if size < 0.05 * float(np.linalg.norm(first) * np.linalg.norm(second)):
            continue
        if np.abs(directions[list(triple)] @ area).min() < LEAST_RISE * size:
            continue
        a, b, c = triple
        yield from ((a, b, c), (b, a, c), (c, a, b))


def _carriers(machine: Machine, reference: int | None) -> Iterator[tuple[int, ...]]:
    """Sets of legs that can carry point masses of moderate size, without the reference leg."""
    legs = [leg for leg in range(LEG_COUNT) if leg != reference]
    total = machine.platform.mass + sum(leg.upper.mass for leg in machine.legs)
    rank = int(
        np.linalg.matrix_rank(np.array([leg.arm for leg in regroup(machine, reference).legs]), tol=1e-9)
    )
    for carriers in combinations(legs, rank):
        tips = [leg.tip_mass for leg in regroup(machine, reference, carriers).legs]
        if np.abs(tips).max() <= GREATEST_CARRIED * total:
            yield carriers


def split_motion(motion: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """The named parts of a motion whose first axis has 25 entries."""
    parts, start = {}, 0
    for name, size in MOTION:
        parts[name] = motion[start : start + size]
        start += size
    return parts


def _reached(graph: ExpressionGraph, values: Sequence[Expression]) -> list[int]:
    return reachable(graph.nodes, [value.literal for value in values])


def _tally(graph: ExpressionGraph, nodes: Iterable[int]) -> OperationCount:
    kinds = [graph.nodes[node][0] for node in nodes]
    return OperationCount(
        multiplications=kinds.count(MUL),
        additions=kinds.count(ADD) + kinds.count(SUB),
        divisions=kinds.count(DIV),
        square_roots=kinds.count(SQRT),
    )
