"""Lanes picked from expressions, as tests of all stages need them."""

from robot_dynamics.codegen.expression import Expression


def pick(expression: Expression, lane: int) -> Expression:
    """A lane of an expression that is a vector."""
    return Expression(expression.graph, expression.graph.pick(expression.literal, lane))
