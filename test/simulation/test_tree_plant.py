"""A simulated robot with two arms: MuJoCo and the generated dynamics, which know nothing of each other."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo simulates the robot")
from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.errors import ParameterError, StateError
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

TOOL = 'xyz="0.1 0 -0.3" rpy="0 0.4 0"'
GRAVITY = (0.5, -1.0, -9.0)


def link(name, mass):
    return (
        f'<link name="{name}"><inertial><origin xyz="0.02 0.1 -0.2"/><mass value="{mass}"/>'
        '<inertia ixx="0.05" ixy="0.003" ixz="-0.002" iyy="0.04" iyz="0.001" izz="0.03"/></inertial></link>'
    )


def joint(name, parent, child, origin, axis, more="", kind="revolute"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin {origin}/><axis xyz="{axis}"/>'
        '<limit lower="-3" upper="3" effort="90" velocity="9"/>'
        f"{more}</joint>"
    )


def arm(side, y, more=""):
    return "".join(
        [
            link(f"{side}_upper", 3.0),
            link(f"{side}_fore", 2.0),
            f'<link name="{side}_hand"/>',
            joint(f"{side}_shoulder", "torso", f"{side}_upper", f'xyz="0 {y} 0.3" rpy="0.3 0 0.2"', "0 1 0"),
            joint(f"{side}_elbow", f"{side}_upper", f"{side}_fore", 'xyz="0 0 -0.4"', "0 0.6 0.8", more),
            joint(
                f"{side}_tool",
                f"{side}_fore",
                f"{side}_hand",
                'xyz="0.1 0 -0.3" rpy="0 0.4 0"',
                "1 0 0",
                "",
                "fixed",
            ),
        ]
    )


WAIST = joint("waist", "base", "torso", 'xyz="0 0 1"', "0 0 1")
FREE = (
    f'<robot name="two_arms"><link name="base"/>{link("torso", 9.0)}'
    f"{WAIST}{arm('left', 0.3)}{arm('right', -0.3)}</robot>"
)
COUPLED = FREE.replace(
    'velocity="9"/></joint><joint name="right_tool"',
    'velocity="9"/><mimic joint="left_elbow" multiplier="-0.7" offset="0.2"/></joint>'
    '<joint name="right_tool"',
)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::robot_dynamics.errors.ModelWarning")
@pytest.mark.parametrize(("text", "tolerance"), [(FREE, 1e-10), (COUPLED, 2e-3)], ids=["free", "coupled"])
def test_a_tree_accelerates_as_its_equations_of_motion_say(text, tolerance):
    chain = load_urdf(text, tips="all")
    plant = ArmPlant(text, tips="all", parameters=PlantParameters(gravity=GRAVITY, joint_limits=False))
    assert plant.joint_names == chain.joint_names
    dynamics = compile_dynamics(chain, GRAVITY, "python", (), friction=False)
    rng = np.random.default_rng(0)
    q, qd, tau = rng.uniform(-1.0, 1.0, (3, chain.dof))
    wrench = rng.uniform(-5.0, 5.0, 12)
    plant.reset(q, qd)
    plant.set_wrench(wrench)
    expected = dynamics.forward_dynamics(q, qd, 10.0 * tau, wrench)
    np.testing.assert_allclose(plant.acceleration(10.0 * tau), expected, rtol=tolerance, atol=tolerance)
    for number, tip in enumerate(chain.tips):
        pose = dynamics.forward_kinematics(q, frame=tip.link)
        np.testing.assert_allclose(plant.tip_pose(number), pose, atol=1e-12)


@pytest.mark.filterwarnings("ignore::robot_dynamics.errors.ModelWarning")
def test_the_bodies_of_a_loaded_tree_are_those_of_its_description():
    chain = load_urdf(FREE, tips="all")
    parameters = PlantParameters(gravity=GRAVITY)
    plants = [ArmPlant(chain, parameters=parameters), ArmPlant(FREE, tips="all", parameters=parameters)]
    q, tau = np.linspace(-0.5, 0.7, chain.dof), np.linspace(-3.0, 4.0, chain.dof)
    found = []
    for plant in plants:
        plant.reset(q)
        found.append(plant.acceleration(tau))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11)
    with pytest.raises(
        StateError, match="the wrench must be 12 finite numbers, force and torque for each tip"
    ):
        plants[0].set_wrench(np.zeros(6))
    with pytest.raises(ParameterError, match=r"'payload_mass' is for one tip, two_arms has .*: set 'payload"):
        ArmPlant(chain, parameters=PlantParameters(payload_mass=1.0))
    load = PayloadParameters(1.3, (0.05, -0.02, 0.1), (0.01, 0.001, 0.0, 0.012, 0.0, 0.009))
    loads = {chain.tips[1].link: load}
    dynamics = compile_dynamics(chain, GRAVITY, "python", (), friction=False)
    expected = dynamics.with_payload({chain.tips[1].link: load.payload}).forward_dynamics(q, 0.0 * q, tau)
    for source in (chain, FREE):
        tips = None if source is chain else "all"
        plant = ArmPlant(source, tips=tips, parameters=replace(parameters, tip_payloads=loads))
        plant.reset(q)
        np.testing.assert_allclose(plant.acceleration(tau), expected, rtol=1e-9, atol=1e-9)
    carrying = compile_dynamics(PayloadParameters().on(chain, loads), GRAVITY, "python", (), friction=False)
    np.testing.assert_allclose(carrying.forward_dynamics(q, 0.0 * q, tau), expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(ParameterError, match="payload at tip 'hand'; the tips are"):
        ArmPlant(chain, parameters=replace(parameters, tip_payloads={"hand": load}))
