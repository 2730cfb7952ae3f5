"""Every function of ``spatial`` against scipy's rotations, numpy's products and sums over point masses."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics import spatial

DRAW = np.random.default_rng(23)
SINGLE = {"x": spatial.rotation_x, "y": spatial.rotation_y, "z": spatial.rotation_z}


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3)])
def test_cross_products_along_the_last_axis(shape):
    a, b = DRAW.normal(size=shape), DRAW.normal(size=shape)
    assert spatial.cross(a, b).shape == shape
    np.testing.assert_allclose(spatial.cross(a, b), np.cross(a, b), rtol=1e-13, atol=1e-13)


def test_cross_products_entry_by_entry_and_as_a_matrix():
    a, b = np.array([2.0, -3.0, 5.0]), np.array([-7.0, 11.0, 13.0])
    expected = [-94.0, -61.0, 1.0]
    assert spatial.cross_entries(list(a), list(b)) == expected
    assert (spatial.skew(a) @ b).tolist() == expected
    assert np.array_equal(spatial.skew([1, 2, 3]), [[0, -3, 2], [3, 0, -1], [-2, 1, 0]])


@pytest.mark.parametrize("axis", "xyz")
@pytest.mark.parametrize("angle", [-2.1, 0.7])
def test_rotations_about_the_axes(axis, angle):
    expected = Rotation.from_euler(axis, angle).as_matrix()
    np.testing.assert_allclose(SINGLE[axis](angle), expected, atol=1e-15)
    unit = np.eye(3)["xyz".index(axis)]
    np.testing.assert_allclose(spatial.rotation_about(unit, angle), expected, atol=1e-15)
    assert spatial.turn_about_z(spatial.rotation_z(angle)) == pytest.approx(angle, abs=1e-15)


def test_rotations_of_unit_quaternions_also_of_many_at_once():
    quaternions = DRAW.normal(size=(6, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    expected = Rotation.from_quat(quaternions).as_matrix()
    for quaternion, matrix in zip(quaternions, expected, strict=True):
        np.testing.assert_allclose(spatial.quaternion_rows(quaternion), matrix, atol=1e-15)
    many = np.array(spatial.quaternion_rows(quaternions.T))
    np.testing.assert_allclose(many.transpose(2, 0, 1), expected, atol=1e-15)


@pytest.mark.parametrize("rpy", [(0.3, -1.2, 2.5), (-2.9, 0.4, -0.6), (1.7, 1.1, -2.2)])
def test_roll_pitch_yaw_are_fixed_axis_angles(rpy):
    matrix = Rotation.from_euler("xyz", rpy).as_matrix()
    np.testing.assert_allclose(spatial.rotation_from_rpy(rpy), matrix, atol=1e-15)
    np.testing.assert_allclose(spatial.rpy_from_rotation(matrix), rpy, atol=1e-14)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-14])
@pytest.mark.parametrize("up", [1.0, -1.0])
def test_the_yaw_is_zero_where_the_x_axis_is_vertical_but_for_noise(up, noise):
    matrix = Rotation.from_euler("xyz", (0.7, up * math.pi / 2, 0.0)).as_matrix()
    matrix[0, 0], matrix[1, 0], matrix[2, 0] = 0.0, noise, -up
    roll, pitch, yaw = spatial.rpy_from_rotation(matrix)
    assert (roll, pitch) == pytest.approx((0.7, up * math.pi / 2), abs=1e-13)
    assert yaw == 0.0
    matrix[1, 0] = 2e-14
    assert spatial.rpy_from_rotation(matrix)[2] == pytest.approx(math.pi / 2)


def test_angles_of_exact_rotations_have_no_negative_zeros():
    half = np.diag([1.0, -1.0, -1.0])
    half[1, 0] = -0.0
    assert spatial.rpy_from_rotation(half)[0] == math.pi
    for angle in spatial.rpy_from_rotation(np.eye(3)):
        assert math.copysign(1.0, angle) == 1.0


def test_angles_are_wrapped_to_half_a_turn_the_positive_one_included():
    for angle in (-5.0, -3.2, 3.2, 7.0, 100.0, -100.0):
        wrapped = spatial.wrapped_angle(angle)
        assert -math.pi < wrapped <= math.pi
        assert abs(complex(math.cos(angle - wrapped), math.sin(angle - wrapped)) - 1) < 1e-13
    assert spatial.wrapped_angle(math.pi) == spatial.wrapped_angle(-math.pi) == math.pi
    assert spatial.wrapped_angle(3 * math.pi) == math.pi
    for small in (-1e-20, 1e-20, -3.1, 3.1, 0.5):
        assert spatial.wrapped_angle(small) == small


def test_poses_from_their_parts():
    turn, place = Rotation.from_euler("xyz", (0.2, -0.5, 1.3)).as_matrix(), np.array([2.0, -3.0, 5.0])
    assert np.array_equal(spatial.pose(), np.eye(4))
    only_turned, only_moved = spatial.pose(turn), spatial.pose(position=place)
    assert np.array_equal(only_turned[:3, :3], turn) and not only_turned[:3, 3].any()
    assert np.array_equal(only_moved[:3, 3], place) and np.array_equal(only_moved[:3, :3], np.eye(3))
    both = spatial.pose(turn, place)
    assert np.array_equal(both[3], [0, 0, 0, 1])
    np.testing.assert_allclose(spatial.inverse_pose(both) @ both, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(only_moved @ only_turned, both, atol=1e-15)


@pytest.mark.parametrize(("of", "axis"), [(spatial.about_x, 0), (spatial.about_z, 2)])
def test_screws_turn_about_and_slide_along_their_axis(of, axis):
    screw = of(0.6, -2.5)
    expected = Rotation.from_rotvec(0.6 * np.eye(3)[axis]).as_matrix()
    np.testing.assert_allclose(screw[:3, :3], expected, atol=1e-15)
    assert np.array_equal(screw[:, 3], [*(-2.5 * np.eye(3)[axis]), 1.0])


def test_inertia_turns_and_shifts_as_that_of_point_masses():
    masses, places = DRAW.uniform(0.5, 2.0, 6), DRAW.normal(size=(6, 3))
    places -= np.average(places, axis=0, weights=masses)

    def inertia(points):
        return sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))

    turn, offset = Rotation.from_euler("xyz", (0.9, 0.4, -1.7)).as_matrix(), np.array([0.4, -0.7, 1.1])
    turned = spatial.rotate_inertia(turn, inertia(places))
    np.testing.assert_allclose(turned, inertia(places @ turn.T), atol=1e-13)
    assert np.array_equal(turned, turned.T)
    shifted = inertia(places) + spatial.shift_inertia(masses.sum(), list(offset))
    np.testing.assert_allclose(shifted, inertia(places + offset), atol=1e-13)
    moments = sum(m * np.outer(r, r) for m, r in zip(masses, places, strict=True))
    np.testing.assert_allclose(spatial.second_moments(inertia(places)), moments, atol=1e-13)


def test_a_turned_inertia_is_symmetric_to_the_last_bit():
    for seed in range(20):
        inertia = np.diag([0.37, 1.21, 2.03])
        turn = Rotation.random(random_state=seed).as_matrix()
        turned = spatial.rotate_inertia(turn, inertia)
        assert np.array_equal(turned, turned.T)
        np.testing.assert_allclose(spatial.principal_moments(turned), [0.37, 1.21, 2.03], atol=1e-14)


def test_a_rotation_with_a_given_third_column_has_its_first_nearest_to_the_guide():
    z = np.array([2.0, -1.0, 2.0]) / 3.0
    guide = np.array([0.3, 0.9, -0.4])
    made = spatial.rotation_with_z(z, guide)
    np.testing.assert_allclose(made @ made.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(made) == pytest.approx(1.0)
    assert np.array_equal(made[:, 2], z)
    angles = np.linspace(0.0, 2.0 * np.pi, 73)
    others = np.cos(angles)[:, None] * made[:, 0] + np.sin(angles)[:, None] * made[:, 1]
    assert np.argmax(others @ guide) in (0, 72)
