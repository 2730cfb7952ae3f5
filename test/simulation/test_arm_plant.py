"""The simulated arm against Pinocchio's forward dynamics and closed forms.

Pinocchio reads the URDF by itself, so the lumping of fixed links and side branches is checked as well.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from plant_arms import ARM, CRANK, pendulum

from robot_dynamics.errors import ModelError, ParameterError, StateError
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

pytestmark = pytest.mark.filterwarnings("ignore:links without <inertial>")
pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")

PUMA = Path(__file__).parents[2] / "urdf" / "puma560.urdf"
IDEAL = {"joint_friction": False, "joint_limits": False, "effort_limits": False}
TILTED = (1.5, -2.0, -9.0)


def reference(xml: str, locked: dict[str, float] | None = None, gravity=TILTED):
    """Pinocchio's model of a description, side branches locked."""
    model = pin.buildModelFromXML(xml)
    locked = locked or {}
    configuration = pin.neutral(model)
    for name, value in locked.items():
        configuration[model.joints[model.getJointId(name)].idx_q] = value
    model = pin.buildReducedModel(model, [model.getJointId(name) for name in locked], configuration)
    model.gravity = pin.Motion(np.array(gravity), np.zeros(3))
    return model, model.createData()


def states(seed: int, dof: int, count: int = 5):
    rng = np.random.default_rng(seed)
    return [
        (rng.uniform(-2, 2, dof), rng.normal(size=dof), rng.normal(scale=5.0, size=dof)) for _ in range(count)
    ]


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


DESCRIPTIONS = {
    "puma560": (PUMA.read_text(), "", {}),
    "arm with a gripper": (ARM, "tool", {"finger_joint": 0.02, "pan": -0.3}),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_accelerations_are_those_of_pinocchio(name):
    xml, tip, locked = DESCRIPTIONS[name]
    plant = ArmPlant(
        xml, tip=tip or None, parameters=PlantParameters(gravity=TILTED, **IDEAL), locked_joints=locked
    )
    model, data = reference(xml, locked)
    for q, qd, tau in states(1, plant.dof):
        plant.reset(q, qd)
        assert relative(plant.acceleration(tau), pin.aba(model, data, q, qd, tau)) < 1e-10


def test_tip_wrench_loads_the_arm():
    plant = ArmPlant(ARM, tip="tool", parameters=PlantParameters(gravity=TILTED, **IDEAL))
    model, data = reference(ARM, {"finger_joint": 0.0, "pan": 0.0})
    frame = model.getFrameId("tool")
    wrench = np.array([3.0, -5.0, 7.0, 0.4, -0.2, 0.9])
    for q, qd, tau in states(2, plant.dof):
        plant.reset(q, qd)
        plant.set_wrench(wrench)
        jacobian = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)
        # The environment pushes back on the arm.
        expected = pin.aba(model, data, q, qd, tau - jacobian.T @ wrench)
        assert relative(plant.acceleration(tau), expected) < 1e-10


def gentle_effort(model, data, q):
    """Efforts that move every joint at a few rad/s² or m/s², none of them wildly."""
    inertia = np.diag(pin.crba(model, data, q))
    return pin.computeGeneralizedGravity(model, data, q) + inertia * np.array([1.0, -1.5, 0.5, 2.0])


def runge_kutta(model, data, q, qd, tau, duration, step):
    """Pinocchio's forward dynamics, integrated by the classical fourth-order rule."""

    def rate(q, qd):
        return qd, pin.aba(model, data, q, qd, tau)

    for _ in range(round(duration / step)):
        v1, a1 = rate(q, qd)
        v2, a2 = rate(q + step / 2 * v1, qd + step / 2 * a1)
        v3, a3 = rate(q + step / 2 * v2, qd + step / 2 * a2)
        v4, a4 = rate(q + step * v3, qd + step * a3)
        q = q + step / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
        qd = qd + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q, qd


def test_a_second_of_motion_is_that_of_pinocchio():
    plant = ArmPlant(ARM, tip="tool", parameters=PlantParameters(gravity=TILTED, **IDEAL))
    model, data = reference(ARM, {"finger_joint": 0.0, "pan": 0.0})
    q, qd, _ = states(3, plant.dof)[0]
    tau = gentle_effort(model, data, q)
    plant.reset(q, 0.3 * qd)
    assert plant.integrator == "rk4"
    for _ in range(100):
        plant.advance(0.01, tau)
    expected_q, expected_qd = runge_kutta(model, data, q, 0.3 * qd, tau, 1.0, 2.5e-4)
    assert plant.time == pytest.approx(1.0)
    np.testing.assert_allclose(plant.position, expected_q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(plant.velocity, expected_qd, rtol=0, atol=1e-6)


def test_energy_is_conserved_without_forces():
    plant = ArmPlant(ARM, tip="tool", parameters=PlantParameters(physics_timestep=1e-4, **IDEAL))
    q, qd, _ = states(4, plant.dof)[0]
    plant.reset(q, 0.3 * qd)
    before = sum(plant.energy())
    extent = plant.energy()[0]
    for _ in range(10):
        plant.advance(0.1, np.zeros(plant.dof))
        extent = max(extent, plant.energy()[0])
    assert abs(sum(plant.energy()) - before) < 1e-9 * extent


def test_work_of_the_efforts_becomes_energy():
    plant = ArmPlant(ARM, tip="tool", parameters=PlantParameters(**IDEAL))
    q, _, _ = states(5, plant.dof)[0]
    tau = gentle_effort(*reference(ARM, {"finger_joint": 0.0, "pan": 0.0}, gravity=(0, 0, -9.81)), q)
    plant.reset(q)
    before = sum(plant.energy())
    for _ in range(50):
        plant.advance(0.01, tau)
    assert plant.energy()[0] > 0.5
    assert sum(plant.energy()) - before == pytest.approx(tau @ (plant.position - q), rel=1e-7)


def test_damping_slows_a_wheel_exponentially():
    plant = ArmPlant(
        pendulum(mass=2.0, inertia=0.5, damping=0.3), parameters=PlantParameters(gravity=(0, 0, 0))
    )
    plant.reset([0.0], [1.0])
    plant.advance(1.0, [0.0])
    assert plant.velocity[0] == pytest.approx(np.exp(-0.3 / 0.5), rel=1e-9)


def test_coulomb_friction_holds_and_brakes():
    plant = ArmPlant(
        pendulum(mass=2.0, inertia=0.5, friction=0.4), parameters=PlantParameters(gravity=(0, 0, 0))
    )
    plant.reset([0.0])
    plant.advance(1.0, [0.39])
    assert abs(plant.velocity[0]) < 1e-3
    plant.reset([0.0], [1.0])
    plant.advance(0.5, [0.0])
    assert plant.velocity[0] == pytest.approx(1.0 - 0.4 / 0.5 * 0.5, abs=1e-3)


def test_large_damping_is_integrated_implicitly():
    plant = ArmPlant(pendulum(mass=1e-3, inertia=1e-6, damping=0.1))
    assert plant.integrator == "implicitfast"
    plant.reset([0.0], [1.0])
    plant.advance(1.0, [0.0])
    assert abs(plant.velocity[0]) < 1e-6


def test_payload_is_a_body_at_the_tip():
    inertia = np.array([[0.03, 0.002, 0.001], [0.002, 0.04, -0.003], [0.001, -0.003, 0.05]])
    parameters = PlantParameters(
        gravity=TILTED,
        payload_mass=2.5,
        payload_center=(0.1, -0.05, 0.2),
        payload_inertia=(0.03, 0.002, 0.001, 0.04, -0.003, 0.05),
        **IDEAL,
    )
    plant = ArmPlant(ARM, tip="tool", parameters=parameters)
    model, _ = reference(ARM, {"finger_joint": 0.0, "pan": 0.0})
    tool = model.frames[model.getFrameId("tool")]
    payload = pin.Inertia(2.5, np.array([0.1, -0.05, 0.2]), inertia)
    model.appendBodyToJoint(tool.parentJoint, payload, tool.placement)
    data = model.createData()
    for q, qd, tau in states(6, plant.dof):
        plant.reset(q, qd)
        assert relative(plant.acceleration(tau), pin.aba(model, data, q, qd, tau)) < 1e-10


def test_scales_act_on_mass_and_inertia():
    still = {"gravity": (0.0, 0.0, 0.0), **IDEAL}
    q, _, tau = states(7, 6)[0]
    plant = ArmPlant(PUMA, parameters=PlantParameters(**still))
    plant.reset(q)
    nominal = plant.acceleration(tau)
    plant.reconfigure(PlantParameters(mass_scale=1.25, **still))
    np.testing.assert_allclose(plant.acceleration(tau), nominal / 1.25, rtol=1e-9)
    wheel = ArmPlant(pendulum(mass=2.0, inertia=0.5), parameters=PlantParameters(inertia_scale=1.5))
    wheel.reset([0.0])
    assert wheel.acceleration([1.0])[0] == pytest.approx(1.0 / 0.75)


def test_reconfiguring_keeps_the_state():
    plant = ArmPlant(PUMA)
    q, qd, tau = states(8, 6)[0]
    plant.reset(0.2 * q, 0.1 * qd)
    plant.advance(0.01, 0.1 * tau)
    before = plant.position, plant.velocity, plant.time
    plant.reconfigure(PlantParameters(payload_mass=3.0))
    np.testing.assert_array_equal(plant.position, before[0])
    np.testing.assert_array_equal(plant.velocity, before[1])
    assert plant.time == before[2]


def test_efforts_are_clamped_to_the_description():
    plant = ArmPlant(pendulum(mass=2.0, inertia=0.5, effort=3.0))
    np.testing.assert_array_equal(plant.advance(0.01, [5.0]), [3.0])
    np.testing.assert_array_equal(plant.advance(0.01, [-5.0]), [-3.0])
    free = ArmPlant(
        pendulum(mass=2.0, inertia=0.5, effort=3.0), parameters=PlantParameters(effort_limits=False)
    )
    np.testing.assert_array_equal(free.advance(0.01, [5.0]), [5.0])


def test_joints_stop_at_their_limits():
    description = pendulum(mass=2.0, inertia=0.5, limit=0.5)
    plant = ArmPlant(description, parameters=PlantParameters(gravity=(0, 0, 0)))
    plant.reset([0.0])
    plant.advance(2.0, [1.0])
    assert plant.position[0] == pytest.approx(0.5, abs=0.01)
    with pytest.raises(StateError, match=r"joint swing cannot start at 0\.6.*-0\.5 to 0\.5"):
        plant.reset([0.6])


def test_a_light_joint_at_full_effort_stops_at_its_limit():
    plant = ArmPlant(PUMA)
    plant.reset(np.array([0.0, -0.4, 0.7, 0.0, 0.0, 0.0]))
    plant.advance(0.5, [0.0, 0.0, 0.0, 0.0, 0.0, 21.3])
    assert plant.position[5] == pytest.approx(plant.limits[5].upper, abs=0.01)


def test_brakes_hold_the_arm_against_gravity():
    plant = ArmPlant(PUMA)
    start = np.array([0.0, 0.4, 0.2, 0.0, 0.3, 0.0])
    plant.reset(start)
    plant.set_brakes(True)
    plant.advance(1.0, np.zeros(6))
    np.testing.assert_allclose(plant.position, start, rtol=0, atol=1e-4)
    plant.set_brakes(False)
    plant.advance(0.2, np.zeros(6))
    assert np.abs(plant.position - start).max() > 0.05


def test_a_massless_link_inside_and_an_impossible_inertia_are_simulated():
    xml = ARM.replace('<mass value="1.5"/>', '<mass value="0"/>').replace("0.011", "0").replace("0.013", "0")
    assert xml.count('<mass value="0"/>') == 1
    xml = xml.replace('izz="0.05"', 'izz="0.2"')
    with pytest.warns(UserWarning):
        plant = ArmPlant(xml, tip="tool", parameters=PlantParameters(gravity=TILTED, **IDEAL))
    model, data = reference(xml, {"finger_joint": 0.0, "pan": 0.0})
    for q, qd, tau in states(9, plant.dof):
        plant.reset(q, qd)
        assert relative(plant.acceleration(tau), pin.aba(model, data, q, qd, tau)) < 1e-9


def test_a_last_link_without_inertia_is_refused():
    with (
        pytest.raises(ModelError, match="joint swing of pendulum moves no inertia"),
        pytest.warns(UserWarning),
    ):
        ArmPlant(pendulum(mass=None, inertia=0.0))


def test_a_mimic_joint_moves_with_its_master():
    plant = ArmPlant(CRANK, parameters=PlantParameters(gravity=TILTED, **IDEAL))
    assert plant.joint_names == ("upper",)
    model, data = reference(CRANK)
    # lower = -2 upper + 0.3, so the reduced inertia and force are projections on (1, -2).
    direction = np.array([1.0, -2.0])
    for q, qd, tau in [(0.4, 0.5, 1.0), (-0.7, -1.0, 3.0)]:
        plant.reset([q], [qd])
        both = np.array([q, -2.0 * q + 0.3])
        mass = direction @ pin.crba(model, data, both) @ direction
        bias = direction @ pin.nle(model, data, both, qd * direction)
        assert plant.acceleration([tau])[0] == pytest.approx((tau - bias) / mass, rel=1e-3)
    plant.advance(0.2, [0.5])
    np.testing.assert_allclose(plant.tip_pose()[:3, 3], _crank_tip(plant.position[0]), atol=2e-4)


def _crank_tip(upper):
    """The tip in the x-z plane, by hand: links of 0.4 m and 0.3 m that turn about y."""
    elbow = upper + (-2.0 * upper + 0.3)
    return np.array(
        [0.4 * np.sin(upper) + 0.3 * np.sin(elbow), 0.0, 0.4 * np.cos(upper) + 0.3 * np.cos(elbow)]
    )


def test_divergence_is_an_error_and_not_a_reset():
    plant = ArmPlant(
        pendulum(mass=1e-3, inertia=1e-6), parameters=PlantParameters(effort_limits=False, joint_limits=False)
    )
    with pytest.raises(StateError, match=r"the motion of pendulum has diverged at"):
        plant.advance(0.02, [1e8])


@pytest.mark.parametrize("effort", [[1.0], [np.nan] * 6, [np.inf, 0, 0, 0, 0, 0], np.zeros((6, 1))])
def test_bad_efforts_are_refused_and_change_nothing(effort):
    plant = ArmPlant(PUMA)
    with pytest.raises(StateError, match="effort"):
        plant.advance(0.01, effort)
    assert plant.time == 0.0


def test_a_duration_is_a_whole_number_of_steps():
    with pytest.raises(ParameterError, match=r"not a multiple of the timestep 0\.0005 s"):
        ArmPlant(PUMA).advance(0.00075, np.zeros(6))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"physics_timestep": 0.0}, "physics_timestep"),
        ({"integrator": "euler"}, "one of 'auto', 'rk4', 'implicitfast'"),
        ({"gravity": (0.0, 0.0)}, "has 2 values; it must have 3"),
        ({"payload_mass": -1.0}, "payload_mass.*0 to 100000"),
        ({"payload_mass": float("nan")}, "finite"),
        ({"payload_inertia": (1.0, 0.0, 0.0, -1.0, 0.0, 1.0)}, "no rigid body"),
        ({"mass_scale": "2"}, "must be a number"),
    ],
)
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        PlantParameters(**given)


def test_joints_beside_the_chain_are_told_where_they_are_held():
    arm = PUMA.with_name("arm7.urdf")
    assert ArmPlant(arm).held_joints == {"finger_left": 0.0}
    locked = {"finger_left": 0.01, "joint2": 0.3}
    assert ArmPlant(arm, locked_joints=locked).held_joints == locked
    assert ArmPlant(PUMA).held_joints == {}


def test_a_push_accelerates_the_arm_by_the_link_s_jacobian():
    """Against Pinocchio; the push lasts until the next one, and through a reload."""
    plant = ArmPlant(PUMA, parameters=PlantParameters(**IDEAL, gravity=TILTED))
    q = np.array([0.3, -0.8, 0.5, 0.2, 0.6, -0.4])
    plant.reset(q)
    model, data = reference(PUMA.read_text())
    pin.crba(model, data, q)
    mass = np.triu(data.M) + np.triu(data.M, 1).T
    frame = model.getFrameId("link4")
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
    before, wrench = plant.acceleration(np.zeros(6)), np.array([10.0, -20.0, 5.0, 1.0, 2.0, -3.0])
    plant.push("link4", wrench)
    expected = np.linalg.solve(mass, jacobian.T @ wrench)
    np.testing.assert_allclose(plant.acceleration(np.zeros(6)) - before, expected, rtol=1e-6, atol=1e-6)
    plant.reconfigure(plant.parameters)
    np.testing.assert_allclose(plant.acceleration(np.zeros(6)) - before, expected, rtol=1e-6, atol=1e-6)
    plant.push("link4", np.zeros(6))
    np.testing.assert_allclose(plant.acceleration(np.zeros(6)), before, rtol=1e-12)
    with pytest.raises(StateError, match="no link 'link9'; choose from base_link"):
        plant.push("link9", wrench)
    with pytest.raises(StateError, match="six finite numbers"):
        plant.push("link4", [np.nan] * 6)


STANDING = """<robot name="standing"><link name="base"/>
  <link name="beam"><inertial><origin xyz="0.4 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="base"/><child link="beam"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="0" velocity="0"/></joint></robot>"""
HOLDING = -2.0 * 9.81 * 0.4
"""The torque about y that carries the level beam [N·m]."""


@pytest.mark.filterwarnings("ignore:limits of 0")
def test_an_effort_limit_of_zero_does_not_let_the_arm_fall():
    plant = ArmPlant(STANDING)
    for _ in range(500):
        assert plant.advance(0.002, [HOLDING]).tolist() == [HOLDING]
    assert abs(plant.position[0]) < 1e-9


@pytest.mark.filterwarnings("ignore:limits of 0")
def test_max_effort_is_what_the_actuators_give():
    plant = ArmPlant(STANDING, parameters=PlantParameters(max_effort=(3.0,)))
    assert plant.advance(0.002, [HOLDING]).tolist() == [-3.0]
    plant.reconfigure(PlantParameters())
    assert plant.advance(0.002, [HOLDING]).tolist() == [HOLDING]
    with pytest.raises(ParameterError, match="max_effort"):
        plant.prepare(PlantParameters(max_effort=(1.0, 2.0)))


def test_a_plant_tells_in_a_line_what_it_is():
    plant = ArmPlant(PUMA)
    assert repr(plant) == "ArmPlant(puma560: 6 joints, rk4 at 0.5 ms, at 0 s)"
