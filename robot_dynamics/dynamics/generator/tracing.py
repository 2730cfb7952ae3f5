"""The search over what a recursion may choose freely, for any quantity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.factoring import factored
from robot_dynamics.codegen.program import Columns, OperationCount
from robot_dynamics.dynamics.generator.choices import Choices, LinkChoice, default_choices
from robot_dynamics.dynamics.generator.inputs import Request
from robot_dynamics.dynamics.generator.search import best_choices

_EVERY_CHOICE = tuple(field.name for type_ in (LinkChoice, Choices) for field in fields(type_))


@dataclass(frozen=True)
class Trace:
    """A quantity as expressions.

    Attributes:
        graph: holds the inputs and the expressions.
        outputs: the scalars of every output, arrays of more axes row by row.
        columns: makes another way to compute them for a single state; None where there is none.
    """

    graph: ExpressionGraph
    outputs: tuple[list[Expression], ...]
    columns: Callable[[], Columns] | None = None

    @property
    def scalars(self) -> list[Expression]:
        """The scalars of all outputs."""
        return [scalar for output in self.outputs for scalar in output]

    def count(self) -> OperationCount:
        """Operations as they stand."""
        return self.graph.count(self.scalars)


def searched(
    request: Request, trace: Callable[[Choices], Trace], relevant: Iterable[str] = _EVERY_CHOICE
) -> Choices:
    """The best choices found for what ``trace`` makes, of which only the ``relevant`` fields matter.

    Choices that the request brings along are taken as they are.
    """
    if request.choices is not None:
        return request.choices

    def operations(choices: Choices) -> OperationCount:
        made = trace(choices)
        if request.effort == "high":
            graph, scalars = factored(made.graph, made.scalars)
            return graph.count(scalars)
        return made.count()

    start = default_choices(request.links)
    return best_choices(
        request.links, start, operations, request.objective, request.effort, frozenset(relevant)
    )


def best_trace(
    request: Request, trace: Callable[[Choices], Trace], relevant: Iterable[str] = _EVERY_CHOICE
) -> Trace:
    """Trace with the best choices found."""
    return trace(searched(request, trace, relevant))
