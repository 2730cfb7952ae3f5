"""Leg lengths, Jacobian and forward kinematics against vectors written out, and a search written twice."""

import inspect
import math
from types import SimpleNamespace

import numpy as np
import pytest
from platform_legs import legs_of, replace_leg
from stewart_oracles import HOME, random_oracle, rotation
from transforms3d.axangles import axangle2mat

from robot_dynamics import stewart
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.stewart import kinematics
from robot_dynamics.stewart.kinematics import condition_number, forward_kinematics, leg_geometry
from robot_dynamics.stewart.orientation import quaternion_from_rotation


@pytest.fixture(scope="module")
def machine():
    return stewart.load(random_oracle(3).mapping).machine


def pose(seed, size=1.0):
    rng = np.random.default_rng(seed)
    position = HOME[:3] + size * rng.uniform(-0.05, 0.05, 3)
    return position, rotation(HOME[3:] + size * rng.uniform(-0.2, 0.2, 3))


def lengths_of(machine, position, turn):
    return legs_of(machine.base_points, machine.platform_points, position, turn)[0]


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)], ids=str)
def test_legs_of_a_batch_are_those_of_each_pose(machine, shape):
    poses = [pose(seed) for seed in range(math.prod(shape))]
    positions = np.array([p for p, _ in poses]).reshape(*shape, 3)
    turns = np.array([r for _, r in poses]).reshape(*shape, 3, 3)
    legs = leg_geometry(machine, positions, turns)
    for k in np.ndindex(shape):
        for i, leg in enumerate(machine.legs):
            arm = turns[k] @ leg.platform_point
            vector = positions[k] + arm - leg.base_point
            length = math.sqrt(sum(x * x for x in vector))
            np.testing.assert_allclose(legs.arms[k][i], arm, rtol=1e-14, atol=1e-16)
            np.testing.assert_allclose(legs.vectors[k][i], vector, rtol=1e-13)
            assert legs.lengths[k][i] == pytest.approx(length, rel=1e-14)
            np.testing.assert_allclose(legs.directions[k][i], vector / length, rtol=1e-13)
            row = [*(vector / length), *np.cross(arm, vector / length)]
            np.testing.assert_allclose(legs.jacobian[k][i], row, rtol=1e-12, atol=1e-15)
    assert legs.jacobian.shape == (*shape, 6, 6)


@pytest.mark.parametrize(("length", "batch"), [(None, 1.0), (0.25, 0.25), (4.0, 4.0)])
def test_the_condition_number_is_the_ratio_of_singular_values_with_moments_per_length(machine, length, batch):
    jacobians = np.array([leg_geometry(machine, *pose(seed)).jacobian for seed in range(3)])
    found = condition_number(jacobians) if length is None else condition_number(jacobians, length)
    for k, jacobian in enumerate(jacobians):
        scaled = np.hstack([jacobian[:, :3], jacobian[:, 3:] / batch])
        squares = np.linalg.eigvalsh(scaled.T @ scaled)
        assert found[k] == pytest.approx(math.sqrt(squares[-1] / squares[0]), rel=1e-7)
    assert condition_number(np.diag([1.0, 2.0, 3.0, 0.0, 1.0, 1.0])) == np.inf


@pytest.mark.parametrize("leg", [0, 3, 5])
def test_a_leg_without_length_is_named_also_in_a_batch(machine, leg):
    position, turn = pose(2)
    touching = machine.base_points[leg] - turn @ machine.platform_points[leg]
    words = f"leg_{leg + 1} has length 0: its platform point lies on its base point"
    for positions, turns in (
        (touching + np.array([0.0, 0.5e-9, 0.0]), turn),
        (np.array([position, position, touching]), np.array([turn] * 3)),
    ):
        with pytest.raises(StateError) as caught:
            leg_geometry(machine, positions, turns)
        assert str(caught.value) == words
    near = leg_geometry(machine, touching + np.array([0.0, 2e-9, 0.0]), turn)
    assert near.lengths[leg] == pytest.approx(2e-9, rel=1e-3)


def test_a_length_of_a_nanometre_is_none(machine):
    centred = replace_leg(machine, 0, base_point=np.zeros(3), platform_point=np.zeros(3))
    with pytest.raises(StateError, match=r"^leg_1 has length 0"):
        leg_geometry(centred, np.array([0.0, 1e-9, 0.0]), np.eye(3))
    assert leg_geometry(centred, np.array([0.0, 1.0000001e-9, 0.0]), np.eye(3)).lengths[0] > 1e-9


def test_legs_that_are_not_finite_are_refused_and_none_are_fine(machine):
    for y in (1e200, np.nan):
        with pytest.raises(StateError) as caught:
            leg_geometry(machine, np.array([0.0, y, 0.0]), np.eye(3))
        assert str(caught.value) == "the legs' lengths are not finite: the position is too far away"
    assert leg_geometry(machine, np.zeros((0, 3)), np.zeros((0, 3, 3))).lengths.shape == (0, 6)


def searched(machine, lengths, position, turn, tolerance=1e-10, most=30):
    """The same search, with the rotation of transforms3d; the halvings are counted."""

    def errors(p, r):
        return lengths - lengths_of(machine, p, r)

    steps = halvings = 0
    error = errors(position, turn)
    while max(abs(error)) > tolerance and steps < most:
        step = np.linalg.solve(leg_geometry(machine, position, turn).jacobian, error)
        steps += 1
        for halving in range(11):  # down to 1 / 1024, below a thousandth
            part = step * 0.5**halving
            angle = np.linalg.norm(part[3:])
            trial = position + part[:3], axangle2mat(part[3:], angle) @ turn
            if sum(errors(*trial) ** 2) < sum(error**2):
                break
        else:
            break
        halvings += halving
        (position, turn), error = trial, errors(*trial)
    return position, turn, steps, max(abs(error)), halvings


@pytest.mark.parametrize("seed", range(5))
def test_steps_are_those_of_a_damped_newton_search(machine, seed):
    position, turn = pose(seed, 2.0 + seed)
    lengths = lengths_of(machine, position, turn)
    start = pose(seed + 20, 0.5)
    for most in (30, 2, 1, 0, -1):
        found = forward_kinematics(machine, lengths, *start, max_iterations=most)
        wanted = searched(machine, lengths, *start, most=most)
        np.testing.assert_allclose(found.position, wanted[0], atol=1e-9)
        np.testing.assert_allclose(found.rotation, wanted[1], atol=1e-9)
        assert found.iterations == wanted[2]
        assert found.residual == pytest.approx(wanted[3], rel=1e-6, abs=1e-14)
        assert found.converged is (found.residual <= 1e-10)
        np.testing.assert_allclose(found.orientation, quaternion_from_rotation(found.rotation), rtol=1e-15)


def test_steps_that_make_the_error_worse_are_halved_until_a_thousandth(machine):
    """Lengths that no pose has, and far ones: the search halves, and gives up."""
    halved = given_up = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        start = pose(seed, 0.5)
        lengths = lengths_of(machine, *start) * rng.uniform(0.5, 1.6, 6)
        try:
            found = forward_kinematics(machine, lengths, *start)
        except SingularityError:
            continue
        wanted = searched(machine, lengths, *start)
        assert found.iterations == wanted[2]
        np.testing.assert_allclose(found.position, wanted[0], atol=1e-6)
        np.testing.assert_allclose(found.rotation, wanted[1], atol=1e-6)
        halved += wanted[4] > 0
        given_up += not found.converged
    assert halved > 2 and given_up > 2
    assert inspect.signature(forward_kinematics).parameters["max_iterations"].default == 30


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_the_search_ends_within_the_tolerance(machine, tolerance):
    start = machine.home_position, machine.home_rotation
    lengths = lengths_of(machine, *pose(4))
    found = forward_kinematics(machine, lengths, *start, tolerance)
    wanted = searched(machine, lengths, *start, tolerance)
    assert found.converged and found.iterations == wanted[2]
    assert found.residual == pytest.approx(wanted[3], rel=1e-6)
    again = forward_kinematics(machine, lengths, *start, found.residual)
    assert again.converged and again.iterations == found.iterations
    last = forward_kinematics(machine, lengths, *start, 0.0)
    assert last.iterations < 30 and last.residual < 1e-14
    exact = lengths_of(machine, *start)
    off = forward_kinematics(machine, exact + tolerance * np.array([0, 0, 1.001, 0, 0, 0]), *start, tolerance)
    assert off.iterations == 1
    kept = forward_kinematics(
        machine, exact - tolerance * np.array([0, 0, 0.999, 0, 0, 0]), *start, tolerance
    )
    assert kept.iterations == 0 and kept.converged
    np.testing.assert_array_equal(kept.position, machine.home_position)


@pytest.mark.parametrize("ratio", [99999999.4, 1e8, 100000000.6])
def test_a_newton_step_beyond_1e8_of_the_error_is_that_of_a_singular_pose(ratio):
    legs = SimpleNamespace(jacobian=np.diag([1.0, 1.0, -1.0 / ratio, 1.0, 1.0, 1.0]))
    error = np.array([0.1, 0.2, 0.25, -0.2, 0.1, 0.0])
    if ratio < 1e8:
        np.testing.assert_allclose(kinematics._newton_step(legs, error), error * [1, 1, -ratio, 1, 1, 1])
        return
    with pytest.raises(SingularityError) as caught:
        kinematics._newton_step(legs, error)
    assert str(caught.value) == "forward kinematics ran into a singular pose; start nearer to the solution"


def test_a_jacobian_without_an_inverse_is_that_of_a_singular_pose():
    legs = SimpleNamespace(jacobian=np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]))
    with pytest.raises(SingularityError, match="ran into a singular pose"):
        kinematics._newton_step(legs, np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.5, 2.5, 4.0])
def test_a_rotation_is_about_its_vector_by_its_length(angle):
    axis = np.array([0.48, -0.6, 0.64])
    np.testing.assert_allclose(kinematics._rotation(angle * axis), axangle2mat(axis, angle), atol=1e-15)


def test_lengths_and_starts_that_cannot_be_are_refused_in_words(machine):
    home = machine.home_position, machine.home_rotation
    exact = leg_geometry(machine, *home).lengths
    for k, wrong in ((0, 0.0), (3, -0.25), (5, np.nan), (5, np.inf)):
        lengths = np.where(np.arange(6) == k, wrong, np.round(exact, 1))
        with pytest.raises(StateError) as caught:
            forward_kinematics(machine, lengths, *home)
        assert str(caught.value) == f"lengths is {lengths.tolist()}; give six positive leg lengths [m]"
    with pytest.raises(StateError, match="six positive leg lengths"):
        forward_kinematics(machine, exact[None], *home)
    with pytest.raises(StateError) as caught:
        forward_kinematics(machine, exact, home[0], np.array([home[1]] * 5))
    assert str(caught.value) == "start_orientation holds a batch (5,); give one orientation"
