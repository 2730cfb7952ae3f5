"""Friction of the simulated arm beyond what MuJoCo has: it depends on speed and direction."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo simulates the arms")
from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.resources import resource
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

FLAT = (0.0, 0.0, 0.0)
WHEEL = """<robot name="wheel"><link name="base"/><link name="disc"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="0.5"/></inertial></link>
<joint name="turn" type="continuous">
<parent link="base"/><child link="disc"/><axis xyz="0 0 1"/></joint></robot>"""
LAW = {
    "damping": (0.05,), "friction": (0.6,), "static_friction": (1.0,), "stribeck_velocity": (0.3,),
    "friction_offset": (0.2,),
}  # fmt: skip


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_wheel_coasts_as_its_equation_of_motion_says(sign):
    plant = ArmPlant(WHEEL, parameters=PlantParameters(gravity=FLAT, **LAW))
    plant.reset([0.0], [2.0 * sign])

    def slowing(speed):
        return -(0.05 * speed + 0.6 + 0.4 * np.exp(-speed / 0.3) + 0.2 * sign) / 0.5

    speed, step = 2.0, 1e-4
    for _ in range(5000):  # Heun's method
        first = slowing(speed)
        speed += 0.5 * step * (first + slowing(speed + step * first))
    plant.advance(0.5, [0.0])
    assert plant.velocity[0] == pytest.approx(sign * speed, abs=1e-6)
    plant.advance(3.0, [0.0])
    assert abs(plant.velocity[0]) < 1e-9  # it stands, and friction does not turn it


def test_friction_builds_up_with_the_travel_as_its_equation_says():
    """Dahl's equation by Heun's method, through a reversal; at rest the elastic part is held by the other."""
    law = {
        "damping": (0.05,),
        "friction": (0.6,),
        "presliding_friction": (0.25,),
        "presliding_travel": (0.05,),
    }
    plant = ArmPlant(WHEEL, parameters=PlantParameters(gravity=FLAT, **law))
    plant.reset([0.0], [-0.5])

    def changes(speed, built, effort):
        against = 0.05 * speed + 0.35 * np.sign(speed) + 0.25 * built
        return np.array([(effort - against) / 0.5, speed / 0.05 * (1.0 - built * np.sign(speed))])

    state, step = np.array([-0.5, 0.0]), 1e-5
    for cycle in range(10):
        effort = 1.0 if cycle < 8 else 0.0
        for _ in range(5000):
            first = changes(*state, effort)
            state = state + 0.5 * step * (first + changes(*(state + step * first), effort))
        plant.advance(0.05, [effort])
        assert plant.velocity[0] == pytest.approx(state[0], abs=1e-3)  # a step about the reversal
    assert state[0] > 0.05 and state[1] == pytest.approx(plant._slid[0], abs=3e-3)
    plant.advance(3.0, [0.0])
    assert abs(plant.velocity[0]) < 1e-6
    with pytest.raises(ParameterError, match=r"'presliding_travel' is 0.0001 for turn, too short"):
        plant.prepare(PlantParameters(**{**law, "presliding_travel": (1e-4,)}, physics_timestep=0.02))


@pytest.mark.parametrize(("effort", "moves"), [(0.95, False), (-0.95, False), (1.3, True), (-1.3, True)])
def test_static_friction_holds_and_is_overcome(effort, moves):
    plant = ArmPlant(WHEEL, parameters=PlantParameters(gravity=FLAT, **LAW))
    plant.advance(1.0, [effort])
    assert (abs(plant.position[0]) > 0.05) == moves
    plant.reconfigure(PlantParameters(gravity=FLAT, joint_friction=False, **LAW))
    plant.reset([0.0])
    plant.advance(1.0, [effort])
    assert plant.position[0] == pytest.approx(effort, rel=1e-6)  # ½ (effort / 0.5) t²


def test_the_model_with_the_same_parameters_has_the_efforts_of_the_arm():
    path = resource("urdf/puma560.urdf")
    chain = load_urdf(path)
    law = {**LAW, "rotor_inertia": (0.3,), "load_friction": (0.08,)}
    plant = ArmPlant(path, parameters=PlantParameters(**law))
    arm = ActuatedArm(compile_dynamics(chain), chain, ActuatorParameters(**law))
    draw = np.random.default_rng(4)
    for _ in range(5):
        q, effort = draw.uniform(-0.5, 0.5, 6), draw.normal(0.0, 20.0, 6)
        qd = draw.uniform(0.1, 1.0, 6) * draw.choice([-1, 1], 6)
        plant.reset(q, qd)
        qdd = plant.acceleration(effort)
        np.testing.assert_allclose(arm.inverse_dynamics(q, qd, qdd), effort, atol=1e-6)


@pytest.mark.parametrize(("share", "moves"), [(0.9, False), (1.1, True)])
def test_friction_that_grows_with_the_load_holds_a_weight(share, moves):
    """A gear with μ = 0.3 lets a weight W sink where the motor bears less than W (1 − μ)."""
    limit = '<limit lower="-9" upper="9" effort="99" velocity="9"/></joint>'
    slide = WHEEL.replace("continuous", "prismatic").replace("</joint>", limit)
    plant = ArmPlant(slide, parameters=PlantParameters(gravity=(0.0, 0.0, -10.0), load_friction=(0.3,)))
    bears = 10.0 * (1.0 - 0.3 * share)
    plant.advance(0.5, [bears])
    assert (plant.position[0] < -1e-3) == moves
    if moves:  # L = m (g + a) and effort = L (1 − μ), downwards
        fall = plant.velocity[0] / 0.5
        assert 0.7 * (10.0 + fall) == pytest.approx(bears, rel=1e-3)
