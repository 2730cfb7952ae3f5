"""M, C, G, the Jacobian and forward dynamics: identities, Pinocchio, and each way against the other."""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
import random_robots
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.dynamics.composite_body import mass_matrix
from robot_dynamics.dynamics.equations import (
    christoffel_symbols,
    coriolis_matrix,
    kinetic_energy,
    potential_energy,
    root_jacobian,
    tip_jacobian,
)
from robot_dynamics.dynamics.formulations import FORMULATIONS
from robot_dynamics.dynamics.forward_dynamics import articulated_body, forward_dynamics
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.dynamics.strobing import (
    coriolis_forces,
    gravity_forces,
    strobed_coriolis_matrices,
    strobed_mass_matrix,
)
from robot_dynamics.errors import ModelError, SingularityError
from robot_dynamics.model.chain import JointKind, KinematicChain

robots = given(st.integers(0, 10**6))
quick = settings(deadline=None, derandomize=True, max_examples=25)


def case(seed):
    """A random robot, its model and a state."""
    robot = random_robots.chain(seed)
    rng = np.random.default_rng(seed)
    gravity = rng.normal(scale=7.0, size=3)
    q, qd, qdd = rng.uniform(-2, 2, (3, robot.dof))
    return robot, SerialModel.from_chain(robot, gravity), gravity, q, qd, qdd


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.max(np.abs(expected))))


@quick
@robots
def test_mass_matrix(seed):
    robot, model, gravity, q, *_ = case(seed)
    pin_model = random_robots.pinocchio_model(robot, gravity)
    data = pin_model.createData()
    pinocchio.crba(pin_model, data, q)
    expected = np.triu(data.M) + np.triu(data.M, 1).T
    composite = mass_matrix(model, q)
    close(composite, expected)
    close(strobed_mass_matrix(model, q), expected)
    assert np.array_equal(composite, composite.T)
    assert np.all(np.linalg.eigvalsh(composite) > 0.0)


@quick
@robots
def test_coriolis_and_gravity(seed):
    robot, model, gravity, q, qd, _ = case(seed)
    pin_model = random_robots.pinocchio_model(robot, gravity)
    data = pin_model.createData()
    matrix = np.array(pinocchio.computeCoriolisMatrix(pin_model, data, q, qd))
    close(coriolis_matrix(model, q, qd), matrix)
    close(coriolis_forces(model, q, qd), matrix @ qd)
    close(gravity_forces(model, q), np.array(pinocchio.computeGeneralizedGravity(pin_model, data, q)))
    symbols = christoffel_symbols(model, q)
    close(strobed_coriolis_matrices(model, q), symbols)
    close(np.einsum("ijk,j,k->i", symbols, qd, qd), matrix @ qd)


@quick
@robots
def test_mass_matrix_rate_minus_twice_coriolis_is_skew(seed):
    _, model, _, q, qd, _ = case(seed)
    h = 1e-6
    rate = (mass_matrix(model, q + h * qd) - mass_matrix(model, q - h * qd)) / (2 * h)
    difference = rate - 2.0 * coriolis_matrix(model, q, qd)
    close(difference + difference.T, np.zeros_like(difference), 1e-6)


@quick
@robots
def test_gravity_is_the_gradient_of_the_potential_energy(seed):
    _, model, _, q, *_ = case(seed)
    h = 1e-6
    gradient = [
        (potential_energy(model, q + h * unit) - potential_energy(model, q - h * unit)) / (2 * h)
        for unit in np.eye(model.dof)
    ]
    close(gravity_forces(model, q), np.array(gradient), 1e-7)


@quick
@robots
def test_power_balance(seed):
    """The joints' power is the rate of kinetic and potential energy, in any formulation."""
    _, model, _, q, qd, qdd = case(seed)
    h = 1e-5

    def energy(t):
        state = q + qd * t + 0.5 * qdd * t * t, qd + qdd * t
        return kinetic_energy(model, *state) + potential_energy(model, state[0])

    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    name = list(FORMULATIONS)[seed % len(FORMULATIONS)] if model.dof < 5 else "augmented-body"
    power = FORMULATIONS[name](model, q, qd, qdd) @ qd
    assert power == pytest.approx(rate, rel=1e-6, abs=1e-6)


@quick
@robots
def test_kinetic_energy_is_the_quadratic_form_of_the_mass_matrix(seed):
    _, model, _, q, qd, _ = case(seed)
    assert kinetic_energy(model, q, qd) == pytest.approx(0.5 * qd @ mass_matrix(model, q) @ qd, rel=1e-10)


@quick
@robots
def test_forward_dynamics(seed):
    robot, model, gravity, q, qd, qdd = case(seed)
    wrench = np.random.default_rng(seed).normal(size=6)
    tau = random_robots.pinocchio_inverse_dynamics(robot, gravity, q, qd, qdd, wrench)
    condition = np.linalg.cond(mass_matrix(model, q))
    close(forward_dynamics(model, q, qd, tau, wrench), qdd, 1e-11 * condition)
    close(articulated_body(model, q, qd, tau, wrench), qdd, 1e-11 * condition)


@quick
@robots
def test_jacobian(seed):
    robot, model, _, q, qd, _ = case(seed)
    h = 1e-6
    before, after = robot.forward_kinematics(q - h * qd), robot.forward_kinematics(q + h * qd)
    turning = (after[:3, :3] - before[:3, :3]) @ robot.forward_kinematics(q)[:3, :3].T / (2 * h)
    expected = [*((after - before)[:3, 3] / (2 * h)), turning[2, 1], turning[0, 2], turning[1, 0]]
    close(root_jacobian(model, q) @ qd, np.array(expected), 1e-7)
    wrench = np.random.default_rng(seed).normal(size=6)
    zero = np.zeros(robot.dof)
    load = random_robots.pinocchio_inverse_dynamics(robot, np.zeros(3), q, zero, zero, wrench)
    close(tip_jacobian(model, q).T @ wrench, load)


def test_mimic_joint_in_mass_matrix_and_forward_dynamics():
    free = random_robots.chain(11, n=4)
    joints = list(free.joints)
    joints[3] = replace(joints[3], coordinate=1, multiplier=2.0, offset=0.1)
    model = SerialModel.from_chain(
        KinematicChain("mimic", "root", "tip", tuple(joints), ("j0", "j1", "j2"), free.tip_transform)
    )
    q, qd, tau = np.array([0.3, -0.4, 0.5]), np.array([1.0, -2.0, 0.7]), np.array([3.0, 1.0, -2.0])
    qdd = forward_dynamics(model, q, qd, tau)
    close(FORMULATIONS["craig"](model, q, qd, qdd), tau, 1e-9)
    close(mass_matrix(model, q), strobed_mass_matrix(model, q))
    close(np.einsum("ijk,j,k->i", christoffel_symbols(model, q), qd, qd), coriolis_forces(model, q, qd))
    with pytest.raises(ModelError, match="mimic"):
        articulated_body(model, q, qd, tau)


def test_a_joint_that_moves_no_mass_is_named():
    model = SerialModel.from_chain(random_robots.chain(1, n=3, kinds=[JointKind.REVOLUTE] * 3, massless=(2,)))
    zero = np.zeros(3)
    for solve in (forward_dynamics, articulated_body):
        with pytest.raises(SingularityError, match="j2"):
            solve(model, zero, zero, zero)
