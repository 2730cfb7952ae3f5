"""The simulated Stewart platform against the machine's own equations and against what physics demands."""

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import ModelError, StateError
from robot_dynamics.resources import resource
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.stewart import StewartPlant
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector


@pytest.fixture(scope="module")
def platform():
    return stewart.load(resource("config/stewart_demo.yaml"))


def home(platform):
    machine = platform.machine
    return machine.home_position, quaternion_from_rotation(machine.home_rotation)


def rest_forces(platform, position, orientation):
    zero = np.zeros(3)
    return platform.inverse_dynamics(position, orientation, zero, zero, zero, zero).actuator_forces


def test_the_exact_forces_hold_it_at_rest(platform):
    plant = StewartPlant(platform)
    plant.advance(0.2, rest_forces(platform, *home(platform)))
    np.testing.assert_allclose(plant.position, plant.rest_position(), atol=1e-7)
    assert plant.loop_error < 1e-7


@pytest.mark.parametrize("command", ["position", "velocity"])
def test_drives_that_close_the_loop_carry_the_platform_where_their_setpoints_lead(platform, command):
    """Through the controller: 30 mm up in 1 s, and back to rest; the drives know no weight."""
    plant = StewartPlant(platform, drives=command)
    control = StewartController(platform, StewartParameters(command=command))
    machine, period = platform.machine, 0.004
    goal = machine.home_position + np.array([0.0, 0.0, 0.03])
    place, worst = 1 if command == "velocity" else 0, 0.0
    for cycle in range(600):
        control.update(period * cycle, plant.position, plant.velocity)
        if cycle == 25:
            control.follow([PoseWaypoint(1.0, goal, quaternion_from_rotation(machine.home_rotation))])
        setpoints = control.drive_reference
        worst = max(worst, float(np.abs(plant.position - setpoints[0]).max()))
        applied = plant.advance(period, setpoints[place])
    assert worst < 0.005
    assert control.phase is Phase.HOLDING
    np.testing.assert_allclose(plant.platform_pose[0], goal, atol=2e-4)
    orientation = quaternion_from_rotation(machine.home_rotation)
    np.testing.assert_allclose(applied, rest_forces(platform, goal, orientation), rtol=0.02)


def test_it_starts_where_the_legs_say_and_is_held_there(platform):
    position, _ = home(platform)
    turned = quaternion_from_rotation(rotation_from_vector(np.array([0.08, -0.05, 0.1])))
    place = position + np.array([0.02, -0.03, 0.015])
    lengths = platform.legs(place, turned).lengths
    plant = StewartPlant(platform)
    plant.reset(lengths)
    true_position, true_rotation = plant.platform_pose
    np.testing.assert_allclose(true_position, place, atol=1e-9)
    np.testing.assert_allclose(quaternion_from_rotation(true_rotation), turned, atol=1e-9)
    assert plant.loop_error < 1e-9
    plant.advance(0.1, rest_forces(platform, place, turned))
    np.testing.assert_allclose(plant.position, lengths, atol=1e-7)


def test_accelerations_agree_with_the_forward_dynamics(platform):
    """Richardson's extrapolation of MuJoCo's first step against the Newton-Euler equations."""
    extra = np.array([10.0, -20.0, 30.0, 5.0, -8.0, 12.0])
    place, orientation = home(platform)
    forces = rest_forces(platform, place, orientation) + extra
    first = {}
    for step in (1e-4, 5e-5):
        plant = StewartPlant(platform, PlantParameters(physics_timestep=step, joint_friction=False))
        plant.advance(step, forces)
        first[step] = plant.velocity / step
    zero = np.zeros(3)
    linear, angular = platform.forward_dynamics(place, orientation, zero, zero, forces)
    expected = platform.legs(place, orientation).jacobian @ np.concatenate([linear, angular])
    # MuJoCo's constraints give by about one part in a thousand.
    np.testing.assert_allclose(2.0 * first[5e-5] - first[1e-4], expected, atol=2e-3 * np.abs(expected).max())


def test_a_payload_sinks_what_the_forces_do_not_know(platform):
    plant = StewartPlant(platform, PlantParameters(payload_mass=5.0))
    plant.advance(0.05, rest_forces(platform, *home(platform)))
    assert plant.platform_pose[0][2] < home(platform)[0][2] - 1e-4
    plant.reconfigure(PlantParameters())
    assert plant.platform_pose[0][2] < home(platform)[0][2] - 1e-4


def test_forces_are_cut_at_the_limit_and_brakes_hold(platform):
    plant = StewartPlant(platform)
    np.testing.assert_allclose(plant.advance(0.002, np.full(6, 1e5)), 1500.0)
    plant.reset(plant.rest_position())
    plant.set_brakes(True)
    plant.advance(0.2, np.zeros(6))
    np.testing.assert_allclose(plant.position, plant.rest_position(), atol=1e-4)


def test_faults_are_named(platform):
    plant = StewartPlant(platform)
    with pytest.raises(StateError, match=r"leg_3 cannot start at 0\.9"):
        plant.reset([0.6, 0.6, 0.9, 0.6, 0.6, 0.6])
    with pytest.raises(StateError, match="six finite numbers"):
        plant.advance(0.002, [1.0, np.nan, 0.0, 0.0, 0.0, 0.0])
    with pytest.warns(stewart.StewartModelWarning):
        impossible = stewart.load(resource("config/stewart_dasgupta1998.yaml"))
    with pytest.raises((ModelError, StateError)):
        StewartPlant(impossible).reset(np.zeros(6))


def test_a_plant_tells_in_a_line_what_it_is(platform):
    plant = StewartPlant(platform)
    assert repr(plant) == "StewartPlant(stewart_demo: 6 joints, implicitfast at 0.5 ms, at 0 s)"
