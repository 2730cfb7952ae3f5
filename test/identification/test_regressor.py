"""The regressor beside Pinocchio's, and parameters beside bodies."""

from __future__ import annotations

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.errors import StateError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.regressor import inertial_regressor, regressor
from robot_dynamics.resources import resource
from robot_dynamics.spatial import pose, rotation_from_rpy

ARMS = ["urdf/puma560.urdf", "urdf/scara.urdf", "urdf/arm7.urdf"]


# arm7 has a gripper, which Pinocchio moves.
@pytest.mark.parametrize("arm", ARMS[:2])
def test_the_inertial_columns_are_pinocchios(arm):
    pinocchio = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    chain = rd.load_urdf(resource(arm))
    model = pinocchio.buildModelFromUrdf(str(resource(arm)))
    data = model.createData()
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 4, chain.dof))
    ours = inertial_regressor(chain, q, qd, qdd)
    for k in range(len(q)):
        theirs = pinocchio.computeJointTorqueRegressor(model, data, q[k], qd[k], qdd[k])
        assert np.abs(ours[k] - theirs).max() < 1e-12
    bodies = np.concatenate([model.inertias[k + 1].toDynamicParameters() for k in range(chain.dof)])
    assert np.abs(inertial.chain_parameters(chain) - bodies).max() < 1e-12


@pytest.mark.parametrize("arm", ARMS)
def test_the_efforts_are_those_of_the_compiled_dynamics(arm):
    chain = rd.load_urdf(resource(arm))
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 5, chain.dof))
    gravity = (1.0, -2.0, 3.0)
    dynamics = rd.compile_dynamics(chain, gravity, backend="python")
    efforts = inertial_regressor(chain, q, qd, qdd, gravity) @ inertial.chain_parameters(chain)
    assert np.abs(efforts - dynamics.inverse_dynamics(q, qd, qdd)).max() < 1e-9


def test_a_body_is_its_parameters_and_moves_with_its_frame():
    body = rd.load_urdf(resource("urdf/puma560.urdf")).joints[2].body
    parameters = inertial.parameters_of(body)
    again = inertial.body_of(parameters)
    assert again.mass == pytest.approx(body.mass)
    assert np.allclose(again.center_of_mass, body.center_of_mass)
    assert np.allclose(again.inertia, body.inertia)
    assert np.linalg.eigvalsh(inertial.pseudo_inertia(parameters))[0] > 0.0
    frame = pose(rotation_from_rpy([0.3, -0.2, 1.0]), [0.1, 0.2, -0.3])
    alone = inertial.with_payload(inertial.RigidBody(0.0, np.zeros(3), np.zeros((3, 3))), body, frame)
    moved = inertial.moved_parameters(frame) @ parameters
    assert np.allclose(inertial.parameters_of(alone), moved)


def test_states_of_other_shapes_are_refused():
    chain = rd.load_urdf(resource("urdf/scara.urdf"))
    with pytest.raises(StateError, match=r"all must be \(N, 4\)"):
        regressor(chain, np.zeros((2, 4)), np.zeros((2, 3)), np.zeros((2, 4)))
