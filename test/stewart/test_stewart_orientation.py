"""Orientations against scipy's rotations and derivatives by complex steps, for single values and batches."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from stewart_oracles import axial, rotation

from robot_dynamics.errors import StateError
from robot_dynamics.spatial import skew
from robot_dynamics.stewart.orientation import (
    angle_motion,
    angular_motion,
    quaternion_from_rotation,
    roll_pitch_yaw,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
    rotation_from_vector,
    rotation_of,
    rotation_vector,
)

RANDOM = np.random.default_rng(8)
BATCH = (2, 5)
QUATERNIONS = RANDOM.normal(size=(*BATCH, 4))
"""Not of norm 1."""
MATRICES = Rotation.from_quat(QUATERNIONS.reshape(-1, 4)).as_matrix().reshape(*BATCH, 3, 3)
ANGLES = RANDOM.uniform(-1.4, 1.4, (*BATCH, 3)) * [2.0, 1.0, 2.0]


def test_quaternions_are_normalised_and_turn_as_those_of_scipy():
    np.testing.assert_allclose(rotation_from_quaternion(QUATERNIONS), MATRICES, atol=1e-14)
    np.testing.assert_allclose(
        rotation_from_quaternion(QUATERNIONS[1, 3].tolist()), MATRICES[1, 3], atol=1e-14
    )


def test_the_quaternion_of_a_rotation_has_a_scalar_part_that_is_not_negative():
    expected = Rotation.from_matrix(MATRICES.reshape(-1, 3, 3)).as_quat(canonical=True).reshape(*BATCH, 4)
    found = quaternion_from_rotation(MATRICES)
    assert (found[..., 3] > 0.0).all()
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(quaternion_from_rotation(MATRICES[0, 2].tolist()), expected[0, 2], atol=1e-13)


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, -0.8]])
def test_half_a_turn_has_its_axis_as_quaternion(axis):
    """The trace of such a rotation is its least, where formulas with one branch divide by zero."""
    found = quaternion_from_rotation(Rotation.from_rotvec(np.pi * np.array(axis)).as_matrix())
    np.testing.assert_allclose(np.abs(found), np.abs([*axis, 0.0]), atol=1e-12)
    np.testing.assert_allclose(
        rotation_from_quaternion(found), 2.0 * np.outer(axis, axis) - np.eye(3), atol=1e-12
    )


def test_roll_pitch_and_yaw_turn_about_fixed_axes_in_this_order():
    expected = Rotation.from_euler("xyz", ANGLES.reshape(-1, 3)).as_matrix().reshape(*BATCH, 3, 3)
    np.testing.assert_allclose(rotation_from_roll_pitch_yaw(ANGLES), expected, atol=1e-15)
    np.testing.assert_allclose(
        rotation_from_roll_pitch_yaw(ANGLES[1, 2].tolist()), expected[1, 2], atol=1e-15
    )
    np.testing.assert_allclose(roll_pitch_yaw(expected), ANGLES, atol=1e-13)
    np.testing.assert_allclose(roll_pitch_yaw(expected[0, 4]), ANGLES[0, 4], atol=1e-13)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_at_a_pitch_of_a_right_angle_the_yaw_is_zero_and_the_roll_has_the_rest(sense):
    upright = Rotation.from_euler("xyz", [0.7, 0.5 * np.pi * sense, 0.4]).as_matrix()
    exact = upright.copy()
    exact[0, 0] = exact[1, 0] = exact[2, 1] = exact[2, 2] = 0.0
    for matrix in (upright, exact):
        found = roll_pitch_yaw(matrix)
        np.testing.assert_allclose(found, [0.7 - 0.4 * sense, 0.5 * np.pi * sense, 0.0], atol=1e-12)
        assert found[2] == 0.0
    near = roll_pitch_yaw(Rotation.from_euler("xyz", [0.7, (0.5 * np.pi - 1e-9) * sense, 0.4]).as_matrix())
    assert near[2] == pytest.approx(0.4, abs=1e-6)
    np.testing.assert_allclose(Rotation.from_euler("xyz", near).as_matrix(), upright, atol=1e-8)


def test_angles_of_level_platforms_have_no_negative_zeros():
    """A roll of half a turn is +π, a pitch of zero no -0."""
    level = np.array([[1.0, 0.0, -0.0], [0.0, -1.0, 0.0], [0.0, -0.0, -1.0]])
    found = roll_pitch_yaw(level)
    np.testing.assert_array_equal(found, [np.pi, 0.0, 0.0])
    assert not np.signbit(found).any()
    assert not np.signbit(roll_pitch_yaw(np.eye(3))).any()


def turning(angles, rates, bends, time):
    """Angular velocity after ``time`` of a motion of constant second derivatives; exact for real times."""

    def turned(t):
        return rotation(angles + t * rates + 0.5 * t * t * bends)

    return axial(turned(time + 1e-30j).imag / 1e-30 @ turned(time).real.T)


def test_rates_of_angles_and_angular_velocities_follow_from_each_other():
    rates, bends = RANDOM.normal(size=(2, *BATCH, 3))
    velocity, acceleration = angular_motion(ANGLES, rates, bends)
    h = 1e-3
    for at in np.ndindex(BATCH):
        motion = ANGLES[at], rates[at], bends[at]
        expected = turning(*motion, 0.0)
        np.testing.assert_allclose(velocity[at], expected, atol=1e-13)
        one, two = (turning(*motion, k * h) - turning(*motion, -k * h) for k in (1, 2))
        slope = (8.0 * one - two) / (12.0 * h)
        np.testing.assert_allclose(acceleration[at], slope, atol=1e-8)
        alone = angular_motion(*(part.tolist() for part in motion))
        np.testing.assert_allclose(alone, (velocity[at], acceleration[at]), rtol=1e-15)
        back = angle_motion(ANGLES[at].tolist(), velocity[at].tolist(), acceleration[at].tolist())
        np.testing.assert_allclose(back, (rates[at], bends[at]), atol=1e-11)
    back = angle_motion(ANGLES, velocity, acceleration)
    assert back[0].shape == back[1].shape == (*BATCH, 3)
    np.testing.assert_allclose(back, (rates, bends), atol=1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-14, 1e-5, 0.7, 3.1, 4.0, 6.2, 7.5])
def test_a_rotation_vector_turns_by_its_length_about_itself(angle):
    axes = RANDOM.normal(size=(*BATCH, 3))
    vectors = angle * axes / np.linalg.norm(axes, axis=-1, keepdims=True)
    expected = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(*BATCH, 3, 3)
    np.testing.assert_allclose(rotation_from_vector(vectors), expected, atol=1e-14)
    np.testing.assert_allclose(rotation_from_vector(vectors[1, 4].tolist()), expected[1, 4], atol=1e-14)
    for matrix in expected.reshape(-1, 3, 3):
        found = rotation_vector(matrix)
        np.testing.assert_allclose(found, Rotation.from_matrix(matrix).as_rotvec(), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("size", [1e-7, 1e-11, 1e-13, 1e-20])
def test_the_vector_of_a_small_rotation_has_all_its_digits(size):
    """Cosines that differ from 1 by nothing do not spoil it."""
    vector = size * np.array([2.0, -3.0, 6.0])
    turn = skew(vector)
    found = rotation_vector(np.eye(3) + turn + 0.5 * turn @ turn)
    np.testing.assert_allclose(found, vector, rtol=1e-11)


def test_the_rotation_vector_of_a_half_turn_has_its_axis():
    for axis in np.vstack([np.eye(3), [[0.6, -0.8, 0.0], [2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0]]]):
        found = rotation_vector(2.0 * np.outer(axis, axis) - np.eye(3))
        np.testing.assert_allclose(np.sign(found @ axis) * found, np.pi * axis, atol=1e-7)
    np.testing.assert_array_equal(rotation_vector(np.eye(3)), np.zeros(3))
    for turn in np.eye(3):  # a right angle, whose cosine is zero
        quarter = rotation_vector(np.rint(Rotation.from_rotvec(0.5 * np.pi * turn).as_matrix()))
        np.testing.assert_allclose(quarter, 0.5 * np.pi * turn, rtol=1e-15, atol=1e-15)


def test_an_orientation_is_a_quaternion_or_three_angles_by_its_last_axis():
    unit = QUATERNIONS / np.linalg.norm(QUATERNIONS, axis=-1, keepdims=True)
    np.testing.assert_allclose(rotation_of(unit), MATRICES, atol=1e-14)
    np.testing.assert_allclose(rotation_of(unit[1, 1].tolist()), MATRICES[1, 1], atol=1e-14)
    expected = Rotation.from_euler("xyz", ANGLES.reshape(-1, 3)).as_matrix().reshape(*BATCH, 3, 3)
    np.testing.assert_allclose(rotation_of(ANGLES), expected, atol=1e-14)
    np.testing.assert_allclose(rotation_of(ANGLES[0, 3]), expected[0, 3], atol=1e-14)
    assert rotation_of(np.zeros((0, 4))).shape == (0, 3, 3)


@pytest.mark.parametrize(("norm", "sense"), [(0.9991, 1.0), (1.0009, -1.0)])
def test_a_quaternion_of_nearly_norm_one_is_normalised(norm, sense):
    unit = QUATERNIONS / np.linalg.norm(QUATERNIONS, axis=-1, keepdims=True)
    np.testing.assert_allclose(rotation_of(sense * norm * unit), MATRICES, atol=1e-14)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.0, 0.0, 0.0, 1.0011], "orientation has norm 1.0011; a quaternion of a rotation has norm 1"),
        ([0.0, 0.0, 0.9989, 0.0], "orientation has norm 0.9989; a quaternion of a rotation has norm 1"),
        (
            [[[0.0, 0.0, 0.0, 1.002], [1.0, 0.0, 0.0, 0.0]], [[0.0, 0.75, 0.0, 0.0], [0.0, 0.0, 0.0, 1.2]]],
            "orientation has norm 0.75; a quaternion of a rotation has norm 1",
        ),
        (
            [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.5], [0.0, 0.0, 0.6, 0.0]],
            "orientation has norm 1.5; a quaternion of a rotation has norm 1",
        ),
        ([0.0, np.inf, 0.0], "orientation is not finite"),
        ([[0.0, 0.0, 0.0, 1.0], [0.0, np.nan, 0.0, 1.0]], "orientation is not finite"),
    ],
)
def test_the_worst_norm_of_the_quaternions_is_named(given, message):
    with pytest.raises(StateError) as caught:
        rotation_of(given)
    assert str(caught.value) == message


@pytest.mark.parametrize("given", [1.0, [1.0, 0.0], [0.0] * 5, np.zeros((3, 2)), np.zeros((4, 0))])
def test_an_orientation_of_another_shape_is_refused_with_the_shapes_that_would_do(given):
    with pytest.raises(StateError) as caught:
        rotation_of(given)
    assert str(caught.value) == (
        f"orientation has shape {np.shape(given)}; give a quaternion (..., 4) in the order x, y, z, w or"
        " roll, pitch, yaw (..., 3)"
    )
