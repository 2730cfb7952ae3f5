"""Gravity, velocity terms, mass matrix, forward dynamics and Jacobian of generated models."""

from dataclasses import replace

import numpy as np
import plain_recursion
import pytest
from interpreter import evaluate

from robot_dynamics.codegen.expression import ExpressionGraph
from robot_dynamics.codegen.program import Argument, count_operations
from robot_dynamics.dynamics.generator.articulated_body import articulated_body
from robot_dynamics.dynamics.generator.links import links_of
from robot_dynamics.dynamics.generator.recursion import RecursionState
from robot_dynamics.dynamics.generator.search import Objective
from robot_dynamics.dynamics.programs import generate
from robot_dynamics.errors import ModelError
from robot_dynamics.papers.reference_models import reference_model

ARMS = [plain_recursion.random_arm(seed, generic=seed % 5 == 4) for seed in range(200, 212)]


def effort(index):
    return "normal" if index == 4 else "none"


@pytest.mark.parametrize("index", range(len(ARMS)))
def test_gravity(index):
    model = ARMS[index]
    program = generate(model, "gravity", effort=effort(index))
    live = generate(model, "gravity", inputs=("gravity",), effort="none")
    zero = np.zeros(model.dof)
    for q, _, _ in plain_recursion.states(model, index):
        expected = plain_recursion.inverse_dynamics(model, q, zero, zero)
        atol = 1e-12 * max(np.abs(expected).max(), 1.0)
        np.testing.assert_allclose(evaluate(program, {"q": q})["tau"], expected, rtol=0, atol=atol)
        root = model.rebased().base[:3, :3] @ model.rebased().gravity
        result = evaluate(live, {"q": q, "gravity": root})["tau"]
        np.testing.assert_allclose(result, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("index", range(len(ARMS)))
def test_velocity_terms(index):
    model = ARMS[index]
    program = generate(model, "coriolis", effort=effort(index))
    for q, qd, _ in plain_recursion.states(model, index):
        still = np.zeros(3)
        expected = plain_recursion.inverse_dynamics(model, q, qd, np.zeros(model.dof), gravity=still)
        result = evaluate(program, {"q": q, "qd": qd})["tau"]
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1.0))


@pytest.mark.parametrize("index", range(len(ARMS)))
def test_mass_matrix(index):
    model = ARMS[index]
    program = generate(model, "mass_matrix", effort=effort(index))
    for q, _, _ in plain_recursion.states(model, index):
        matrix = evaluate(program, {"q": q})["mass_matrix"].reshape(model.dof, model.dof)
        expected = plain_recursion.mass_matrix(model, q)
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("index", range(len(ARMS)))
def test_momentum(index):
    """The slope by another way: the rate of the momentum without efforts, M' qd, less the velocity terms."""
    model = ARMS[index]
    program = generate(model, "momentum", effort=effort(index))
    zero, still = np.zeros(model.dof), np.zeros(3)
    for q, qd, _ in plain_recursion.states(model, index):
        found = evaluate(program, {"q": q, "qd": qd})
        expected = plain_recursion.mass_matrix(model, q) @ qd
        close = {"rtol": 0, "atol": 1e-12 * max(1.0, np.abs(expected).max())}
        np.testing.assert_allclose(found["momentum"], expected, **close)
        weight = plain_recursion.inverse_dynamics(model, q, zero, zero)
        atol = 1e-12 * max(1.0, np.abs(weight).max())
        np.testing.assert_allclose(found["weight"], weight, rtol=0, atol=atol)
        step = 1e-6
        rate = plain_recursion.mass_matrix(model, q + step * qd) - plain_recursion.mass_matrix(
            model, q - step * qd
        )
        terms = plain_recursion.inverse_dynamics(model, q, qd, zero, gravity=still)
        slope = rate / (2.0 * step) @ qd - terms
        atol = 1e-7 * max(1.0, np.abs(terms).max())
        np.testing.assert_allclose(found["slope"], slope, rtol=0, atol=atol)


def test_momentum_of_a_puma_takes_less_than_its_inverse_dynamics():
    model = reference_model("puma560_base").model()
    counts = [
        count_operations(generate(model, name, objective=Objective.TIME)).total
        for name in ("momentum", "inverse_dynamics")
    ]
    assert counts[0] <= counts[1]


@pytest.mark.parametrize("index", range(len(ARMS)))
def test_forward_dynamics_inverts_inverse_dynamics(index):
    model = ARMS[index]
    program = generate(model, "forward_dynamics", inputs=("wrench",), effort=effort(index))
    rng = np.random.default_rng(index)
    for q, qd, qdd in plain_recursion.states(model, index):
        wrench = rng.normal(size=6)
        tau = plain_recursion.inverse_dynamics(model, q, qd, qdd, wrench)
        state = {"q": q, "qd": qd, "tau": tau, "wrench": wrench}
        condition = np.linalg.cond(plain_recursion.mass_matrix(model, q))
        result = evaluate(program, state)["qdd"]
        forces = np.abs(tau).max() + np.abs(plain_recursion.inverse_dynamics(model, q, qd, 0 * q)).max()
        scale = forces / np.abs(plain_recursion.mass_matrix(model, q)).max() + np.abs(qdd).max()
        np.testing.assert_allclose(result, qdd, rtol=0, atol=1e-13 * condition * scale)


@pytest.mark.parametrize("seed", range(8))
def test_articulated_bodies_invert_inverse_dynamics(seed):
    model = plain_recursion.random_arm(seed, n=1 + 2 * seed).rebased()
    graph = ExpressionGraph()
    q, qd, tau = (graph.input(name, model.dof) for name in ("q", "qd", "tau"))
    gravity = [graph.expression(x) for x in model.gravity.tolist()]
    zeros = (graph.expression(0.0),) * model.dof
    qdd = articulated_body(graph, links_of(model), RecursionState(q, qd, zeros, gravity), tau)
    program = graph.build_program("forward_dynamics", [(Argument("qdd", model.dof), qdd)])
    for position, velocity, expected in plain_recursion.states(model, seed):
        forces = plain_recursion.inverse_dynamics(model, position, velocity, expected)
        result = evaluate(program, {"q": position, "qd": velocity, "tau": forces})["qdd"]
        condition = np.linalg.cond(plain_recursion.mass_matrix(model, position))
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-13 * condition)


def test_a_massless_last_link_is_refused():
    model = plain_recursion.random_arm(1, n=3)
    bare = replace(model.links[-1], mass=0.0, first_moment=np.zeros(3), inertia=np.zeros((3, 3)))
    with pytest.raises(ModelError, match="coordinate 2 moves no inertia"):
        generate(replace(model, links=(*model.links[:-1], bare)), "forward_dynamics", effort="none")


@pytest.mark.parametrize("index", range(len(ARMS)))
def test_jacobian_is_the_derivative_of_the_tip_pose(index):
    model = ARMS[index]
    program = generate(model, "jacobian", effort=effort(index))
    q = plain_recursion.states(model, index, 1)[0, 0]
    jacobian = evaluate(program, {"q": q})["jacobian"].reshape(6, model.dof)
    rotation = model.forward_kinematics(q)[:3, :3]
    step = 1e-6
    for j, direction in enumerate(np.eye(model.dof)):
        ahead = model.forward_kinematics(q + step * direction)
        behind = model.forward_kinematics(q - step * direction)
        rate = (ahead - behind) / (2.0 * step)
        turning = rotation.T @ rate[:3, :3]
        np.testing.assert_allclose(jacobian[:3, j], rotation.T @ rate[:3, 3], atol=1e-8)
        np.testing.assert_allclose(jacobian[3:, j], [turning[2, 1], turning[0, 2], turning[1, 0]], atol=1e-8)


def test_parts_cost_less_than_strobing():
    model = reference_model("puma560_base").model()

    def total(name):
        program = generate(model, name, objective=Objective.OPERATIONS, effort="none")
        return count_operations(program).total

    assert total("gravity") <= 46
    assert total("coriolis") < 0.9 * total("inverse_dynamics")
    assert total("mass_matrix") <= 258
    assert total("forward_dynamics") <= 788
