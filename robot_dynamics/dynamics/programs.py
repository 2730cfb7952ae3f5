"""From a robot to the straight-line programs of its quantities."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.codegen.factoring import factored_program
from robot_dynamics.codegen.limbs import limbs_program
from robot_dynamics.codegen.program import Argument, Program
from robot_dynamics.dynamics.generator.choices import Choices
from robot_dynamics.dynamics.generator.inputs import Request, Sizes, described
from robot_dynamics.dynamics.generator.links import axes_made_parallel, links_of
from robot_dynamics.dynamics.generator.search import EFFORTS, Objective
from robot_dynamics.dynamics.generator.tracing import Trace, searched
from robot_dynamics.dynamics.quantities import quantity_named
from robot_dynamics.dynamics.quantities.inverse_dynamics import trace_recursion
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import BackendError, ModelError, ParameterError, SingularityError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

MAX_JOINTS = 150
"""Most joints that programs are generated for: of a chain their length grows with its square, and a few
quantities take a minute for so many; a humanoid with two hands has about a hundred."""
MOST_TIPS = 3
"""Tips of a tree that an error names."""


def generate(
    model: SerialModel,
    quantity: str = "inverse_dynamics",
    *,
    inputs: Collection[str] = (),
    objective: Objective = Objective.TIME,
    effort: str = "normal",
    choices: Choices | None = None,
    options: Mapping[str, str] | None = None,
    own: tuple[int, ...] | None = None,
) -> Program:
    """The straight-line program of one quantity for this robot.

    Inputs are the arrays that the quantity needs, in its order, then the requested ones. Every parameter of
    the robot is a constant; what vanishes for this robot is left out. Outputs are written row by row.

    Args:
        model: the robot.
        quantity: one of ``QUANTITIES``.
        inputs: names of what else is an input: "wrench", which is zero otherwise, or "gravity", which is the
            model's otherwise; see ``optional`` and ``held`` of the quantity.
        objective: what the search over equivalent programs makes small.
        effort: "none", "normal" (under two seconds) or "high"; the result depends on nothing else.
        choices: what a search found before (:func:`find_choices`), instead of a search.
        options: of the quantity, as `Option.read` gives them; the defaults where omitted.
        own: coordinates of ``model`` that states and outputs have, where the other joints are measured and
            their motion is the input "measured"; None: all.

    Raises:
        ModelError: the quantity does not exist for a robot with measured joints.
        ParameterError: an unknown quantity or effort, or an input that the quantity does not take.
    """
    about = quantity_named(quantity)
    request = _request(model, quantity, inputs, objective, effort, choices, options, own)
    trace = _traced(request, quantity)
    arguments = [
        Argument(output.name, int(np.prod(output.shape(request.sizes))), described(output.description))
        for output in about.outputs
    ]
    outputs = list(zip(arguments, trace.outputs, strict=True))
    program = factored_program(trace.graph, quantity, outputs)
    if objective is not Objective.TIME:
        return program
    if trace.columns is not None:
        return replace(program, columns=trace.columns())
    groups = request.alike_inputs(trace.graph.inputs)
    if not groups:
        return program
    return replace(program, limbs=limbs_program(trace.graph, quantity, outputs, groups, program))


def _request(
    model: SerialModel,
    quantity: str,
    inputs: Collection[str],
    objective: Objective,
    effort: str = "normal",
    choices: Choices | None = None,
    options: Mapping[str, str] | None = None,
    own: tuple[int, ...] | None = None,
) -> Request:
    about = quantity_named(quantity)
    if effort not in EFFORTS:
        raise ParameterError(f"unknown effort {effort!r}; known are {', '.join(EFFORTS)}")
    model = axes_made_parallel(model.rebased())
    defaults = {option.name: option.default for option in about.options}
    settings = {**defaults, **(options or {})}
    return Request(model, links_of(model), about.inputs(inputs), objective, effort, choices, settings, own)


def _traced(request: Request, quantity: str) -> Trace:
    """The expressions of a quantity; where joints are measured, the rows and columns of the others.

    Raises:
        ModelError: the quantity does not exist for a robot with measured joints.
    """
    about = quantity_named(quantity)
    if request.own is None:
        return about.trace(request)
    if not about.with_measured:
        raise ModelError(f"{quantity} does not exist for a robot with measured joints")
    trace = about.trace(request)
    outputs = []
    for output, scalars in zip(about.outputs, trace.outputs, strict=True):
        whole, own = output.shape(request.traced_sizes), output.shape(request.sizes)
        flat = np.empty(len(scalars), dtype=object)
        flat[:] = scalars
        table: NDArray[Any] = flat.reshape(whole)
        for axis, (size, kept) in enumerate(zip(whole, own, strict=True)):
            if size != kept:
                table = table.take(request.own, axis=axis)
        outputs.append(list(table.ravel()))
    return Trace(trace.graph, tuple(outputs))


def find_choices(model: SerialModel, objective: Objective, effort: str = "normal") -> Choices:
    """The choices with which :func:`generate` writes the inverse dynamics of ``model``."""
    model = axes_made_parallel(model.rebased())
    request = Request(model, links_of(model), (), objective, effort)
    return searched(request, partial(trace_recursion, request))


def make_program(
    chain: KinematicChain,
    gravity: Array | None,
    quantity: str,
    inputs: Collection[str] = (),
    objective: Objective = Objective.TIME,
    options: Mapping[str, str] | None = None,
) -> Program:
    """The program that computes ``quantity`` of ``chain``.

    Args:
        chain: the arm.
        gravity: (3,) gravity in the root frame [m/s²]; None where nothing depends on it or it is an input.
        quantity: a key of ``QUANTITIES``.
        inputs: as of :func:`generate`.
        objective: what the generator makes small.
        options: as of :func:`generate`.

    Raises:
        ModelError: the chain has more than ``MAX_JOINTS`` joints.
        SingularityError: forward dynamics of an arm with a joint that moves no mass.
    """
    model = _model(chain, np.zeros(3) if gravity is None else gravity)
    with _explained(chain, quantity):
        return generate(model, quantity, inputs=inputs, objective=objective, options=options, own=_own(chain))


def trace_of_chain(
    chain: KinematicChain,
    gravity: Array,
    quantity: str,
    inputs: Collection[str],
    objective: Objective,
    options: Mapping[str, str] | None = None,
) -> tuple[Trace, Sizes]:
    """The expressions of a quantity, and what the shapes of its outputs depend on; see :func:`make_program`.

    Raises:
        ModelError: the chain has more than ``MAX_JOINTS`` joints.
        SingularityError: forward dynamics of an arm with a joint that moves no mass.
    """
    request = _request(_model(chain, gravity), quantity, inputs, objective, options=options, own=_own(chain))
    with _explained(chain, quantity):
        return _traced(request, quantity), request.sizes


def _own(chain: KinematicChain) -> tuple[int, ...] | None:
    return chain.own_coordinates if chain.whole is not None else None


def _model(chain: KinematicChain, gravity: Array) -> SerialModel:
    chain = chain.modelled
    if chain.dof > MAX_JOINTS:
        tips = [tip.link for tip in chain.tips]
        more = f" and {len(tips) - MOST_TIPS} more tips" if len(tips) > MOST_TIPS else ""
        raise ModelError(
            f"{chain.name}: {chain.dof} joints from {chain.root} to {', '.join(tips[:MOST_TIPS])}{more};"
            " programs are generated for"
            f" at most {MAX_JOINTS}: choose fewer by root and tips, or lock joints"
        )
    return SerialModel.from_chain(chain, gravity)


@contextmanager
def _explained(chain: KinematicChain, quantity: str) -> Iterator[None]:
    """Context in which errors about a quantity without a result use the quantity's words."""
    about = quantity_named(quantity)
    try:
        yield
    except (BackendError, ModelError) as error:
        if not about.singular:
            raise
        raise SingularityError(about.no_result(chain)) from error
