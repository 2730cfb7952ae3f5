"""Kinematics, dynamics in task space, simulation and paths."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from stewart_oracles import random_motion, random_oracle, rotation, state
from transforms3d.axangles import axangle2mat

from robot_dynamics import stewart
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.resources import resource
from robot_dynamics.stewart.dynamics import State, _runge_kutta_step, simulate
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_of,
    rotation_vector,
)

HOME = ([0.0, 0.0, 0.55], [0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def demo():
    return stewart.load(resource("config/stewart_demo.yaml"))


@pytest.mark.parametrize("seed", range(3))
def test_rates_and_jacobian_are_derivatives_of_the_lengths(seed):
    oracle, motion = random_oracle(seed), random_motion(seed)
    platform = stewart.load(oracle.mapping)
    _, _, rates = oracle.rates(motion, 0.4)
    moved = state(motion, 0.4)
    result = platform.inverse_dynamics(*moved)
    np.testing.assert_allclose(result.leg_lengths, oracle.positions(motion(0.4))[2], rtol=1e-14)
    np.testing.assert_allclose(result.leg_velocities, rates, atol=1e-12)
    np.testing.assert_allclose(result.jacobian @ np.concatenate(moved[2:4]), rates, atol=1e-12)
    step = 1e-3
    ahead, behind = (oracle.rates(motion, 0.4 + d)[2] for d in (step, -step))
    np.testing.assert_allclose(result.leg_accelerations, (ahead - behind) / (2 * step), atol=1e-3)


def test_condition_number_is_that_of_the_definition(demo):
    legs = demo.legs([0.05, 0.02, 0.6], [0.1, -0.2, 0.15])
    h = legs.jacobian.T
    result = demo.inverse_dynamics([0.05, 0.02, 0.6], [0.1, -0.2, 0.15], *np.zeros((4, 3)))
    singular = np.sqrt(np.linalg.eigvalsh(h @ h.T))
    assert result.condition_number == pytest.approx(singular[-1] / singular[0], rel=1e-9)
    h[3:] /= demo.machine.characteristic_length
    singular = np.sqrt(np.linalg.eigvalsh(h @ h.T))
    assert result.scaled_condition_number == pytest.approx(singular[-1] / singular[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_forward_kinematics_finds_the_pose_back(demo, seed):
    rng = np.random.default_rng(seed)
    position = np.array(HOME[0]) + rng.uniform(-0.06, 0.06, 3)
    turn = rotation(rng.uniform(-0.25, 0.25, 3))
    lengths = demo.legs(position, quaternion_from_rotation(turn)).lengths
    found = demo.forward_kinematics(lengths)
    assert found.converged and found.residual < 1e-10 and found.iterations < 8
    np.testing.assert_allclose(found.position, position, atol=1e-9)
    np.testing.assert_allclose(found.rotation, turn, atol=1e-9)
    warm = demo.forward_kinematics(lengths, position + 1e-3, quaternion_from_rotation(turn))
    assert warm.converged and warm.iterations <= 3


def test_forward_kinematics_tells_what_did_not_work(demo):
    lengths = demo.legs(*HOME).lengths
    impossible = lengths.copy()
    impossible[0] *= 3.0
    try:
        assert not demo.forward_kinematics(impossible).converged
    except SingularityError as error:
        assert "singular" in str(error)
    with pytest.raises(StateError, match="six positive"):
        demo.forward_kinematics(lengths[:5])
    with pytest.raises(StateError, match="six positive"):
        demo.forward_kinematics(np.full(6, np.nan))
    with pytest.raises(StateError, match=r"^lengths is .*six positive leg lengths"):  # in one line
        demo.forward_kinematics(np.zeros((6, 6, 6)))
    with warnings.catch_warnings(action="error"), pytest.raises(StateError, match="too far away"):
        demo.forward_kinematics([1e160] * 6)


@pytest.mark.parametrize("seed", range(3))
def test_mass_matrix_holds_the_kinetic_energy_of_every_point(seed):
    oracle, motion = random_oracle(seed), random_motion(seed)
    platform = stewart.load(oracle.mapping)
    moved = state(motion, 0.8)
    dynamics = platform.task_space_dynamics(*moved[:4])
    twist = np.concatenate(moved[2:4])
    still = oracle.energy(lambda time: motion(np.real(time)), 0.8)
    kinetic = oracle.energy(motion, 0.8) - still
    assert 0.5 * twist @ dynamics.mass_matrix @ twist == pytest.approx(kinetic, rel=1e-9)
    assert np.linalg.eigvalsh(dynamics.mass_matrix).min() > 0.0


@pytest.mark.parametrize("seed", range(3))
def test_forward_dynamics_undoes_inverse_dynamics(seed):
    platform = stewart.load(random_oracle(seed).mapping)
    moved = state(random_motion(seed), 0.2)
    load = {"force": np.array([1.0, 2.0, -3.0]), "torque": np.array([0.3, -0.2, 0.1])}
    forces = platform.inverse_dynamics(*moved, **load).actuator_forces
    linear, angular = platform.forward_dynamics(*moved[:4], forces, **load)
    np.testing.assert_allclose(linear, moved[4], atol=1e-9)
    np.testing.assert_allclose(angular, moved[5], atol=1e-9)


def test_simulation_without_friction_keeps_the_energy():
    oracle = random_oracle(2)
    for leg in oracle.mapping["legs"]:
        leg["friction"] = dict.fromkeys(leg["friction"], 0.0)
    platform = stewart.load(oracle.mapping)
    hold = platform.inverse_dynamics([0.02, -0.03, 0.6], [0.05, -0.1, 0.1], *np.zeros((4, 3))).actuator_forces
    push = 0.9 * hold
    times, states = platform.simulate(lambda time, state: push, 0.1, 0.01)
    assert times[-1] == pytest.approx(0.1) and len(states) == 11
    first, last = states[0], states[-1]
    assert np.linalg.norm(last.linear_velocity) > 0.05

    def energy(moving):
        pose = np.concatenate([moving.position, angles_of(moving.orientation)])
        twist = np.concatenate([moving.linear_velocity, moving.angular_velocity])
        mass = platform.task_space_dynamics(*parts(moving)).mass_matrix
        return oracle.energy(lambda time: pose + 0j, 0.0) + 0.5 * twist @ mass @ twist

    lengths = [platform.legs(x.position, x.orientation).lengths for x in (first, last)]
    assert energy(last) - energy(first) == pytest.approx(push @ (lengths[1] - lengths[0]), abs=1e-7)


def parts(moving):
    return moving.position, moving.orientation, moving.linear_velocity, moving.angular_velocity


def angles_of(quaternion):
    r = rotation_from_quaternion(quaternion)
    return np.array([np.arctan2(r[2, 1], r[2, 2]), -np.arcsin(r[2, 0]), np.arctan2(r[1, 0], r[0, 0])])


def test_simulation_holds_its_pose_under_the_forces_of_its_weight(demo):
    hold = demo.inverse_dynamics(*HOME, *np.zeros((4, 3))).actuator_forces
    _, states = demo.simulate(lambda time, state: hold, 0.05, 0.01)
    np.testing.assert_allclose(states[-1].position, HOME[0], atol=1e-12)


def test_a_payload_beside_compiled_forces_moves_as_one_of_the_machine(demo):
    body = RigidBody(4.0, np.array([0.05, -0.03, 0.2]), np.diag([0.1, 0.2, 0.15]))
    turned = [0.05, 0.1, -0.02, np.sqrt(0.9871)]
    start = State(np.array(HOME[0]), np.array(turned), np.array([0.1, 0.2, -0.1]), np.array([0.3, -0.2, 0.5]))
    forces = np.array([50.0, 60.0, 70.0, 80.0, 90.0, 40.0])

    def end(machine, **given):
        return simulate(machine, start, lambda time, state: forces, 0.03, 0.01, **given)[1][-1]

    expected = end(replace(demo.machine, platform=lumped_body((demo.machine.platform, body))))
    for found in (end(demo.machine, compiled=demo.compile(), payload=body), end(demo.machine, payload=body)):
        for name in ("position", "orientation", "linear_velocity", "angular_velocity"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)


def test_parabolic_path_is_that_of_the_paper():
    """Path I: equations 39 and 40 by hand."""
    path = stewart.straight_line(
        [0.1, 0, 0.4], [0, 0, -0.2], [0.3, 0, 0.6], [0, 0, 0.2], 6.0, "parabolic", 0.08, 0.08
    )
    blend = 6.0 - np.sqrt(0.08) / 0.08
    assert path.linear_law.blend == pytest.approx(blend)
    assert path.angular_law.blend == pytest.approx(1.0)
    start, middle, end = path.at(0.0), path.at(3.0), path.at(6.0)
    np.testing.assert_allclose(
        start.linear_acceleration, 0.08 / blend * np.array([1.0, 0.0, 1.0]) / np.sqrt(2), rtol=1e-12
    )
    np.testing.assert_allclose(np.linalg.norm(middle.linear_velocity), 0.08)
    np.testing.assert_allclose(middle.angular_velocity, [0.0, 0.0, 0.08])
    np.testing.assert_allclose(middle.position, [0.2, 0.0, 0.5])
    np.testing.assert_allclose(end.position, [0.3, 0.0, 0.6])
    np.testing.assert_allclose(end.linear_velocity, 0.0, atol=1e-15)


@pytest.mark.parametrize("profile", ["quintic", "parabolic"])
@pytest.mark.parametrize("kind", ["angles", "quaternions"])
def test_paths_move_as_their_derivatives_say(profile, kind):
    ends = ([0.1, 0.2, -0.1], [0.3, -0.2, 0.4])
    if kind == "quaternions":
        ends = tuple(quaternion_from_rotation(rotation_of(angles)) for angles in ends)
    path = stewart.straight_line([0.0, 0.1, 0.5], ends[0], [0.1, 0.0, 0.6], ends[1], 2.0, profile, 0.17, 0.64)
    # Away from the corners of the parabolic profile.
    for time in (0.11, 0.93, 1.87):
        h = 1e-5
        now, ahead, behind = path.at(time), path.at(time + h), path.at(time - h)
        np.testing.assert_allclose(
            (ahead.position - behind.position) / (2 * h), now.linear_velocity, atol=1e-8
        )
        np.testing.assert_allclose(
            (ahead.linear_velocity - behind.linear_velocity) / (2 * h), now.linear_acceleration, atol=1e-8
        )
        spin = (ahead.rotation - behind.rotation) / (2 * h) @ now.rotation.T
        np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], now.angular_velocity, atol=1e-8)
        np.testing.assert_allclose(
            (ahead.angular_velocity - behind.angular_velocity) / (2 * h), now.angular_acceleration, atol=1e-8
        )
    for time, orientation in ((0.0, ends[0]), (2.0, ends[1]), (-1.0, ends[0]), (3.0, ends[1])):
        np.testing.assert_allclose(path.at(time).rotation, rotation_of(orientation), atol=1e-12)
    if profile == "quintic":
        assert np.abs(path.at(np.array([0.0, 2.0])).linear_acceleration).max() < 1e-12


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-6, 0.3, 0.5 * np.pi, 3.0, np.pi - 1e-9, np.pi])
def test_rotation_vector_is_the_axis_times_the_angle(angle):
    for axis in np.random.default_rng(3).normal(size=(20, 3)):
        axis /= np.linalg.norm(axis)
        vector = rotation_vector(axangle2mat(axis, angle, is_normalized=True))
        if angle == np.pi:  # both signs are the same rotation
            vector *= np.sign(vector @ axis)
        np.testing.assert_allclose(vector, angle * axis, atol=1e-8 if angle > 3.1 else 1e-14)


@pytest.mark.parametrize("power", range(4))
def test_a_step_integrates_cubics_of_time_exactly_and_growth_to_its_fourth_order(power):
    """Forces may change within a step: each of its four looks is at its own time."""
    begin, h = 0.7, 0.3
    moved = _runge_kutta_step(lambda t, x: np.array([(power + 1) * t**power]), begin, np.zeros(1), h)
    np.testing.assert_allclose(moved, (begin + h) ** (power + 1) - begin ** (power + 1), rtol=1e-14)
    grown = _runge_kutta_step(lambda t, x: x, begin, np.ones(1), h)
    np.testing.assert_allclose(grown, 1 + h + h**2 / 2 + h**3 / 6 + h**4 / 24, rtol=1e-15)
