"""Jacobians of expressions, by the chain rule carried forward through the graph."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.lowering import reachable
from robot_dynamics.codegen.nodes import ADD, CONSTANT, COS, DIV, INPUT, MUL, SIN, SUB

Row = dict[int, Expression]  # derivatives by the number of the input, those that vanish left out


def jacobian(outputs: Sequence[Expression], inputs: Sequence[Expression]) -> list[list[Expression]]:
    """The derivative of every output (rows) by every input (columns), in the graph of the outputs.

    Args:
        outputs: expressions of one graph.
        inputs: inputs of the same graph.
    """
    graph = inputs[0].graph
    places = {scalar.literal >> 1: place for place, scalar in enumerate(inputs)}
    rows: dict[int, Row] = {}
    for number in reachable(graph.nodes, [output.literal for output in outputs]):
        place = places.get(number)
        rows[number] = _row(graph, number, rows) if place is None else {place: graph.expression(1.0)}
    zero = graph.expression(0.0)
    result = []
    for output in outputs:
        row = rows[output.literal >> 1]
        signed = [row.get(place, zero) for place in range(len(inputs))]
        result.append([-entry for entry in signed] if output.literal & 1 else signed)
    return result


def _row(graph: ExpressionGraph, number: int, rows: dict[int, Row]) -> Row:
    kind, a, b = graph.nodes[number]
    if kind in (INPUT, CONSTANT):
        return {}
    value = Expression(graph, 2 * number)
    if kind in (ADD, SUB):
        return _sum(rows[a], rows[b], 1.0, 1.0 if kind == ADD else -1.0)
    if kind in (MUL, DIV):
        x, y = Expression(graph, 2 * a), Expression(graph, 2 * b)
        if kind == MUL:
            return _sum(rows[a], rows[b], y, x)
        return _sum(rows[a], rows[b], 1.0 / y, -(value / y)) if rows[b] else _scaled(rows[a], 1.0 / y)
    inner = rows[a >> 1]
    if not inner:
        return {}
    argument, sign = Expression(graph, a), -1.0 if a & 1 else 1.0
    if kind == SIN:
        return _scaled(inner, sign * argument.cos())
    if kind == COS:
        return _scaled(inner, -sign * argument.sin())
    return _scaled(inner, sign * (0.5 / value))


def _scaled(row: Row, factor: Expression | float) -> Row:
    return {place: factor * entry for place, entry in row.items()}


def _sum(one: Row, other: Row, first: Expression | float, second: Expression | float) -> Row:
    total = _scaled(one, first)
    for place, entry in other.items():
        total[place] = total[place] + second * entry if place in total else second * entry
    return {place: entry for place, entry in total.items() if not entry.is_zero}
