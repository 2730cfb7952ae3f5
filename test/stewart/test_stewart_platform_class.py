"""The platform's class: what it takes when arguments are left out, and what it refuses by name."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from platform_legs import replace_legs

from robot_dynamics import stewart
from robot_dynamics.errors import ParameterError, StateError, WrongTypeError
from robot_dynamics.resources import resource
from robot_dynamics.stewart.platform import PlatformKinematics, StewartPlatform
from robot_dynamics.stewart.scalar_algebra import add, dot, flat, product, subtract, times, transpose

LEVEL = [0.0, 0.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def demo():
    return stewart.load(resource("config/stewart_demo.yaml"))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("forward_kinematics", {"start_position": None, "start_orientation": None, "tolerance": 1e-10}),
        ("check_pose", {"on_violation": "raise"}),
        ("check_path", {"step": 0.01, "on_violation": "raise", "from_outside": False}),
        ("singular_time", {"step": 0.01}),
        ("simulate", {"step": 0.001, "start": None, "external_force": None, "external_torque": None}),
        ("inverse_dynamics", {"force": None, "torque": None, "model": "exact", "on_violation": "raise"}),
        ("inverse_dynamics_of", {"model": "exact", "on_violation": "raise"}),
        ("compile", {"backend": "auto"}),
    ],
)
def test_arguments_that_may_be_left_out_have_these_values(method, expected):
    parameters = inspect.signature(getattr(StewartPlatform, method)).parameters
    found = {
        name: one.default for name, one in parameters.items() if one.default is not inspect.Parameter.empty
    }
    assert found == expected


def test_the_search_for_a_pose_begins_at_home_unless_told(demo):
    """Of two poses with these lengths one lies near home, the other below the base."""
    machine = demo.machine
    away = replace(machine, home_rotation=np.array([[0.96, -0.28, 0.0], [0.28, 0.96, 0.0], [0.0, 0.0, 1.0]]))
    kinematics = PlatformKinematics(away)
    lengths = kinematics.legs([0.03, -0.02, 0.56], LEVEL).lengths
    home = demo.forward_kinematics(lengths)
    np.testing.assert_allclose(home.position, [0.03, -0.02, 0.56], atol=1e-9)
    exact = demo.forward_kinematics(lengths, [0.03, -0.02, 0.56], LEVEL)
    assert exact.iterations == 0 and exact.converged
    # One of the two alone leaves the other at home.
    near = kinematics.forward_kinematics(lengths, start_orientation=[0.0, 0.0, 0.0])
    np.testing.assert_allclose(near.rotation, np.eye(3), atol=1e-9)
    below = demo.forward_kinematics(lengths, start_position=[0.0, 0.0, -0.56])
    assert below.position[2] < -0.5 and home.position[2] > 0.5
    loose = demo.forward_kinematics(lengths, tolerance=1.0)
    np.testing.assert_array_equal(loose.position, machine.home_position)
    np.testing.assert_allclose(loose.rotation, machine.home_rotation, atol=1e-15)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"start_position": [0.0] * 4}, StateError, "start_position"),
        ({"start_position": [0.0, 0.0, np.nan]}, StateError, "start_position"),
        ({"start_orientation": [0.0] * 4}, StateError, "norm 0"),
        ({"tolerance": np.nan}, ParameterError, "tolerance"),
    ],
)
def test_a_start_that_is_not_usable_is_named(demo, given, error, words):
    lengths = demo.legs(demo.machine.home_position, LEVEL).lengths
    with pytest.raises(error, match=words):
        demo.forward_kinematics(lengths, **given)


def test_the_acceleration_has_a_linear_and_an_angular_part(demo):
    random = np.random.default_rng(4)
    moved = random.normal(size=(2, 3)) * 0.3
    linear, angular = random.normal(size=(2, 3))
    pose = demo.machine.home_position, LEVEL
    forces = demo.inverse_dynamics(*pose, *moved, linear, angular).actuator_forces
    found = demo.forward_dynamics(*pose, *moved, forces)
    np.testing.assert_allclose(found, (linear, angular), atol=1e-9)
    for wrong in (forces[:5], [*forces, 1.0], np.nan):
        with pytest.raises(StateError, match="actuator_forces"):
            demo.forward_dynamics(*pose, *moved, wrong)


def test_a_simulation_begins_at_rest_at_home_unless_told(demo):
    hold = demo.inverse_dynamics(demo.machine.home_position, LEVEL, *np.zeros((4, 3))).actuator_forces
    _, states = demo.simulate(lambda time, state: hold, 0.002)
    assert len(states) == 3
    np.testing.assert_array_equal(states[0].position, demo.machine.home_position)
    np.testing.assert_array_equal(states[0].linear_velocity, np.zeros(3))
    begin = replace(states[0], position=np.array([0.01, 0.02, 0.54]))
    _, states = demo.simulate(lambda time, state: hold, 0.001, start=begin)
    np.testing.assert_array_equal(states[0].position, [0.01, 0.02, 0.54])
    with pytest.raises(WrongTypeError) as caught:
        demo.simulate([1.0] * 6, 0.002)
    assert str(caught.value) == (
        "forces is [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]; it must be a function of time and state"
    )
    with pytest.raises(TypeError, match="start"):
        demo.simulate(lambda time, state: hold, 0.002, start=[0.0] * 3)


def test_a_platform_tells_its_name_and_its_least_and_greatest_lengths(demo):
    limits = [stewart.LegLimits(0.5 - 0.01 * k, 0.7 + 0.02 * k) for k in (2, 0, 5, 1, 4, 3)]
    other = stewart.StewartPlatform(replace_legs(demo.machine, limits=limits))
    assert repr(other) == "<StewartPlatform stewart_demo: legs of 0.45 to 0.8 m>"


def test_vectors_and_matrices_of_any_scalars_follow_numpy():
    random = np.random.default_rng(5)
    a, b, (m, n) = *random.normal(size=(2, 3)), random.normal(size=(2, 3, 3))
    assert dot(a, b) == pytest.approx(a @ b)
    for found, expected in (
        (add(a, b), a + b),
        (subtract(a, b), a - b),
        (times(m, a), m @ a),
        (product(m, n), m @ n),
        (transpose(m), m.T),
        (flat(m), m.ravel()),
    ):
        assert type(found) is list
        np.testing.assert_allclose(found, expected, rtol=1e-13)
