"""Payload lumped into the last link, against Pinocchio and MuJoCo, which append a body of their own."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.gravity import GravityEstimator, ImuParameters
from robot_dynamics.control.arm.payload import PayloadParameters, inertia_matrix, with_payload
from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.resources import resource
from robot_dynamics.spatial import rotation_from_rpy

MASS, CENTER = 2.3, np.array([0.05, -0.08, 0.12])
INERTIA = (0.02, 0.001, -0.002, 0.03, 0.003, 0.025)
GRAVITY = np.array([1.0, -2.0, -9.0])


def states(dof):
    random = np.random.default_rng(3)
    return [random.uniform(-1.5, 1.5, (3, dof)) for _ in range(5)]


def test_inverse_dynamics_with_a_payload_are_those_of_pinocchio_with_an_appended_body():
    text = resource("urdf/puma560.urdf").read_text(encoding="utf-8")
    model = pin.buildModelFromXML(text)
    model.gravity.linear = GRAVITY
    chain = load_urdf(text)
    frame = model.frames[model.getFrameId(chain.tip)]
    inertia = pin.Inertia(MASS, CENTER, inertia_matrix(INERTIA))
    model.appendBodyToJoint(frame.parentJoint, inertia, frame.placement)
    data = model.createData()
    carrying = with_payload(chain, MASS, CENTER, inertia_matrix(INERTIA))
    dynamics = compile_dynamics(carrying, gravity=GRAVITY, backend="python")
    for q, qd, qdd in states(chain.dof):
        expected = pin.rnea(model, data, q, qd, qdd)
        np.testing.assert_allclose(dynamics.inverse_dynamics(q, qd, qdd), expected, rtol=1e-9, atol=1e-9)


def test_the_lumped_inertia_is_that_of_mujocos_second_body_where_the_tip_is_turned():
    urdf = """<robot name="arm"><link name="base"/>
      <link name="rod"><inertial><origin xyz="0 0.1 0.2"/><mass value="1.5"/>
        <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
      <link name="tool"/>
      <joint name="turn" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
      <joint name="flange" type="fixed"><parent link="rod"/><child link="tool"/>
        <origin xyz="0.3 0 0.1" rpy="0.4 -0.7 1.1"/></joint></robot>"""
    chain = with_payload(load_urdf(urdf, tip="tool"), MASS, CENTER, inertia_matrix(INERTIA))
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, rotation_from_rpy([0.4, -0.7, 1.1]).ravel())
    xx, xy, xz, yy, yz, zz = INERTIA
    scene = f"""<mujoco><option gravity="{" ".join(map(str, GRAVITY))}"/><worldbody><body>
      <joint type="hinge" axis="0 1 0"/><inertial pos="0 0.1 0.2" mass="1.5" diaginertia="0.02 0.02 0.01"/>
      <body pos="0.3 0 0.1" quat="{" ".join(map(str, quaternion))}">
        <inertial pos="{" ".join(map(str, CENTER))}" mass="{MASS}"
          fullinertia="{xx} {yy} {zz} {xy} {xz} {yz}"/></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(scene)
    data = mujoco.MjData(model)
    dynamics = compile_dynamics(chain, gravity=GRAVITY, backend="python")
    for q, qd, qdd in states(1):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(
            dynamics.inverse_dynamics(q, qd, qdd), data.qfrc_inverse, rtol=1e-9, atol=1e-9
        )


def test_a_payload_without_mass_is_nothing():
    nothing = PayloadParameters(0.0, (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)).payload
    assert nothing.mass == 0.0 and not nothing.inertia.any()


def test_no_payload_leaves_the_chain_and_the_original_is_never_touched():
    chain = load_urdf(resource("urdf/puma560.urdf"))
    before = chain.joints[-1].body.mass
    assert with_payload(chain, 0.0, CENTER) is chain
    assert with_payload(chain, 1.0).joints[-1].body.mass == pytest.approx(before + 1.0)
    assert chain.joints[-1].body.mass == before


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"payload_mass": -1.0}, "payload_mass"),
        ({"payload_mass": float("nan")}, "finite"),
        ({"payload_center": (0.0, 0.1)}, "must have 3"),
        ({"payload_inertia": (1.0, 0.0, 0.0)}, "must have 6"),
        ({"payload_inertia": (-1.0, 0.0, 0.0, 1.0, 0.0, 1.0)}, "no rigid body"),
        ({"payload_inertia": (1.0, 0.0, 0.0, 1.0, 0.0, 3.0)}, "sum of the other two"),
    ],
)
def test_impossible_payloads_are_refused(given, reason):
    with pytest.raises(ParameterError, match=reason):
        PayloadParameters(**given)


def test_gravity_from_an_accelerometer_is_turned_into_the_root_frame_and_filtered():
    tilt = (0.3, -0.2, 0.5)
    estimator = GravityEstimator(ImuParameters(imu_roll_pitch_yaw=tilt, imu_time_constant=1.0))
    gravity = np.array([0.0, 9.80665 * np.sin(0.4), -9.80665 * np.cos(0.4)])
    measured = -rotation_from_rpy(tilt).T @ gravity
    np.testing.assert_allclose(estimator.update(0.0, measured), gravity, atol=1e-12)
    level = -rotation_from_rpy(tilt).T @ np.array([0.0, 0.0, -9.80665])
    share = 1.0 - np.exp(-0.5)
    expected = gravity + share * (np.array([0.0, 0.0, -9.80665]) - gravity)
    np.testing.assert_allclose(estimator.update(0.5, level), expected, atol=1e-12)
    for bad in ([0.0, 0.0, 14.0], [0.0, 0.0, 1.0], [np.nan, 0.0, 9.8], [9.8]):
        with pytest.raises(StateError):
            estimator.update(1.0, np.array(bad))
    np.testing.assert_allclose(estimator.vector, expected, atol=1e-12)
