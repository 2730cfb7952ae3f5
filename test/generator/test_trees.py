"""Every quantity of trees, against Pinocchio: random trees, and robots with several limbs.

Joints that follow others are not in Pinocchio's model: the constant matrix from coordinates to joints is.
"""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
import random_robots
from tree_oracle import GRAVITY, Oracle, agree, as_placed, real_tree

from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.dynamics.formulations.newton_euler import newton_euler
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.errors import ModelError, ParameterError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.dh import dh_parameters

REAL = ("go1_description/urdf/go1.urdf",)


def trees():
    plain = [random_robots.tree(seed, 6, special=bool(seed % 2)) for seed in (0, 5)]
    return [*plain, random_robots.tree(7, 6, followers=True), random_robots.tree(8, 6, True, followers=True)]


@pytest.fixture(scope="module", params=range(4), ids=str)
def case(request):
    chain = trees()[request.param]
    # Angles and lengths are made round by up to 1e-9: the oracle has them as they are then.
    chain = as_placed(chain)
    return chain, compile_dynamics(chain, GRAVITY, "python", ()), Oracle(chain)


def test_inverse_dynamics_and_its_parts(case):
    _, dynamics, oracle = case
    agree(dynamics.inverse_dynamics(oracle.q, oracle.qd, oracle.qdd), oracle.efforts())
    agree(dynamics.gravity(oracle.q), oracle.weight())
    agree(dynamics.coriolis(oracle.q, oracle.qd), oracle.bias() - oracle.weight())
    agree(dynamics.coriolis_matrix(oracle.q, oracle.qd) @ oracle.qd, oracle.bias() - oracle.weight())


def test_momentum(case):
    chain, dynamics, oracle = case
    loads = [random_robots.body(np.random.default_rng(2)) for _ in chain.tips]
    loaded = dynamics.with_payload({tip.link: load for tip, load in zip(chain.tips, loads, strict=True)})
    for found, at in ((dynamics, oracle), (loaded, Oracle(chain, loads=loads))):
        mass, g = at.mass(), at.of_joints
        matrix = at.at(pinocchio.computeCoriolisMatrix, 2)
        momentum, slope, weight = found.momentum(at.q, at.qd)
        agree(momentum, mass @ at.qd)
        agree(slope, g.T @ matrix.T @ at.joints[1])
        agree(weight, at.weight())


@pytest.mark.long
def test_matrices_and_accelerations(case):
    chain, dynamics, oracle = case
    mass = oracle.mass()
    found = dynamics.mass_matrix(oracle.q)
    agree(found, mass)
    assert not found[mass == 0.0].any()
    if chain.dof == len(chain.joints):
        apart = [(i, j) for i in range(chain.dof) for j in range(i) if not on_one_way(chain, i, j)]
        assert apart or len(chain.tips) == 1
        assert not any(found[i, j] for i, j in apart)
    scale = np.linalg.cond(mass)
    assert (
        np.abs(dynamics.inverse_mass_matrix(oracle.q) @ mass - np.eye(chain.dof)).max() < 1e-15 * scale * 10
    )
    accelerations = np.linalg.solve(mass, oracle.tau - oracle.bias())
    given = dynamics.forward_dynamics(oracle.q, oracle.qd, oracle.tau)
    assert np.abs(given - accelerations).max() <= 1e-14 * scale * max(1.0, np.abs(accelerations).max())


def on_one_way(chain, i, j):
    while i >= 0 and i != j:
        i = chain.carriers[i]
    return i == j


def test_derivatives(case):
    _, dynamics, oracle = case
    oracle.at(pinocchio.computeRNEADerivatives)
    g = oracle.of_joints
    positions, velocities, mass = dynamics.inverse_dynamics_derivatives(oracle.q, oracle.qd, oracle.qdd)
    agree(positions, g.T @ oracle.data.dtau_dq @ g)
    agree(velocities, g.T @ oracle.data.dtau_dv @ g)
    agree(mass, oracle.mass())


def test_kinematics_of_every_tip(case):
    chain, dynamics, oracle = case
    jacobians = oracle.jacobians()
    poses = dynamics.forward_kinematics(oracle.q, frames=[tip.link for tip in chain.tips])
    for k, tip in enumerate(chain.tips):
        expected = oracle.data.oMf[oracle.frames[k]].homogeneous
        agree(poses[k], expected)
        agree(dynamics.forward_kinematics(oracle.q, frame=tip.link), expected)
        agree(dynamics.jacobian(oracle.q, frame=tip.link), jacobians[k])
        turn = np.kron(np.eye(2), expected[:3, :3])
        agree(dynamics.jacobian(oracle.q, frame=tip.link, axes="root"), turn @ jacobians[k])
        oracle.at(pinocchio.computeJointJacobiansTimeVariation, 2)
        local = pinocchio.ReferenceFrame.LOCAL
        rate = pinocchio.getFrameJacobianTimeVariation(oracle.model, oracle.data, oracle.frames[k], local)
        agree(dynamics.jacobian_rate(oracle.q, oracle.qd, frame=tip.link), rate @ oracle.joints[1])


def test_energy_and_regressors(case):
    _, dynamics, oracle = case
    kinetic, potential = (
        oracle.at(pinocchio.computeKineticEnergy, 2),
        oracle.at(pinocchio.computePotentialEnergy, 1),
    )
    agree(dynamics.energy(oracle.q, oracle.qd), [kinetic, potential])
    matrix = oracle.of_joints.T @ oracle.at(pinocchio.computeJointTorqueRegressor)
    agree(dynamics.regressor(oracle.q, oracle.qd, oracle.qdd), matrix)
    base = dynamics.base_regressor(oracle.q, oracle.qd, oracle.qdd)
    agree(base @ dynamics.base_map, matrix)


def test_base_parameters_are_as_few_as_motions_tell(case):
    chain, dynamics, _ = case
    rng = np.random.default_rng(0)
    states = rng.uniform(-3.0, 3.0, (3, 40 * len(chain.joints) // chain.dof, chain.dof))
    matrix = dynamics.regressor(*states).reshape(-1, 10 * len(chain.joints))
    values = np.linalg.svd(matrix, compute_uv=False)
    rank = np.sum(values > 1e-9 * values[0])
    # Where joints follow others there may be more.
    assert len(dynamics.base_map) == rank or chain.dof != len(chain.joints)


@pytest.mark.long
def test_wrenches_and_payloads_of_every_tip(case):
    chain, dynamics, oracle = case
    rng = np.random.default_rng(1)
    wrench = rng.uniform(-1.0, 1.0, 6 * len(chain.tips))
    on_joints = sum(
        (jacobian.T @ part for jacobian, part in zip(oracle.jacobians(), wrench.reshape(-1, 6), strict=True)),
        np.zeros(chain.dof),
    )
    found = dynamics.inverse_dynamics(oracle.q, oracle.qd, oracle.qdd, wrench)
    agree(found, oracle.efforts() + on_joints)
    mass = oracle.mass()
    accelerations = dynamics.forward_dynamics(oracle.q, oracle.qd, oracle.tau, wrench)
    agree(mass @ accelerations + oracle.bias() + on_joints, oracle.tau)
    loads = [random_robots.body(rng) for _ in chain.tips]
    loaded = dynamics.with_payload({tip.link: load for tip, load in zip(chain.tips, loads, strict=True)})
    heavy = Oracle(chain, loads=loads)
    agree(loaded.inverse_dynamics(heavy.q, heavy.qd, heavy.qdd), heavy.efforts())
    agree(loaded.mass_matrix(heavy.q), heavy.mass())
    agree(loaded.gravity(heavy.q), heavy.weight())
    only = [loads[0], *(RigidBody(0.0, np.zeros(3), np.zeros((3, 3))) for _ in loads[1:])]
    one = dynamics.with_payload({chain.tip: loads[0]})
    agree(one.gravity(heavy.q), Oracle(chain, loads=only).weight())
    with pytest.raises(ParameterError, match=f"payload names 'hand'; the tips are {chain.tip}"):
        dynamics.with_payload({"hand": loads[0]})


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_real_robots_whole(name):
    chain = real_tree(name)
    dynamics, oracle = compile_dynamics(chain, GRAVITY, "python", ()), Oracle(chain)
    agree(dynamics.inverse_dynamics(oracle.q, oracle.qd, oracle.qdd), oracle.efforts())
    agree(dynamics.mass_matrix(oracle.q), oracle.mass())
    accelerations = dynamics.forward_dynamics(oracle.q, oracle.qd, oracle.tau)
    agree(oracle.mass() @ accelerations + oracle.bias(), oracle.tau)


def test_a_branch_is_a_chain_and_what_takes_chains_alone_says_so():
    chain = random_robots.tree(3)
    q = np.linspace(-1.0, 1.0, chain.dof)
    for tip in chain.tips:
        branch = chain.branch(tip.link)
        own = q[[chain.joint_names.index(name) for name in branch.joint_names]]
        pose = chain.link_poses(q)[tip.joint] @ tip.transform
        np.testing.assert_allclose(branch.forward_kinematics(own), pose, atol=1e-14)
        np.testing.assert_allclose(dh_parameters(branch).forward_kinematics(own), pose, atol=1e-8)
    with pytest.raises(ModelError, match="is a tree with the tips"):
        dh_parameters(chain)
    with pytest.raises(ModelError, match="is for serial arms; the model is a tree"):
        newton_euler(SerialModel.from_chain(chain), q, q, q)
