"""Every choice of the generator changes the number of operations, never the result."""

import random
from dataclasses import fields, replace

import numpy as np
import plain_recursion
import pytest
from interpreter import evaluate

from robot_dynamics.codegen.expression import ExpressionGraph
from robot_dynamics.codegen.program import Argument
from robot_dynamics.dynamics.generator.choices import Choices, Frame, Isotropic, LinkChoice, PointMass, Turn
from robot_dynamics.dynamics.generator.links import links_of
from robot_dynamics.dynamics.generator.mass_matrix import mass_matrix
from robot_dynamics.dynamics.generator.recursion import RecursionState, inverse_dynamics

VALUES = {
    "frame": list(Frame),
    "point_mass": list(PointMass),
    "isotropic": list(Isotropic),
    "turn": list(Turn),
}


def random_choices(generator, count):
    def link():
        return LinkChoice(
            **{f.name: generator.choice(VALUES.get(f.name, [True, False])) for f in fields(LinkChoice)}
        )

    lengths = (1.0, 0.3, 0.7)
    return Choices(
        tuple(link() for _ in range(count)),
        forward_length=generator.choice(lengths),
        backward_length=generator.choice(lengths),
        composed_angles=generator.random() < 0.5,
    )


@pytest.mark.parametrize("seed", range(60))
def test_any_choices_give_the_same_torques(seed):
    model = plain_recursion.random_arm(seed, n=1 + seed % 6)
    generator = random.Random(seed)
    choices = random_choices(generator, model.dof)
    links = links_of(model.rebased())
    graph = ExpressionGraph()
    q, qd, qdd = (graph.input(name, model.dof) for name in ("q", "qd", "qdd"))
    gravity = [graph.expression(x) for x in model.rebased().gravity.tolist()]
    tau = inverse_dynamics(graph, links, RecursionState(q, qd, qdd, gravity), choices)
    rows = mass_matrix(graph, links, q, choices)
    matrix = [entry for row in rows for entry in row]
    outputs = [(Argument("tau", model.dof), tau), (Argument("m", model.dof**2), matrix)]
    program = graph.build_program("program", outputs)
    for state in plain_recursion.states(model, seed, 2):
        result = evaluate(program, dict(zip(("q", "qd", "qdd"), state, strict=True)))
        expected = plain_recursion.inverse_dynamics(model, *state)
        np.testing.assert_allclose(result["tau"], expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        expected = plain_recursion.mass_matrix(model, state[0]).reshape(-1)
        np.testing.assert_allclose(result["m"], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_choices_are_replaced_one_link_at_a_time():
    choices = Choices((LinkChoice(), LinkChoice()))
    changed = choices.with_link(1, replace(choices.links[1], column=False))
    assert changed.links == (LinkChoice(), LinkChoice(column=False))
