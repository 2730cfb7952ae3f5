"""Rotations and inertias against transforms3d and the sums over point masses."""

import numpy as np
import pytest
from made_chains import point_masses
from transforms3d.axangles import axangle2mat
from transforms3d.euler import euler2mat, mat2euler

from robot_dynamics import spatial
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body, moved_body

GENERATOR = np.random.default_rng(11)
ANGLES = [*GENERATOR.uniform(-np.pi, np.pi, (20, 3)), np.array([0.3, np.pi / 2, 0.0]), np.zeros(3)]


@pytest.mark.parametrize("rpy", ANGLES, ids=range(len(ANGLES)))
def test_roll_pitch_yaw(rpy):
    rotation = spatial.rotation_from_rpy(rpy)
    assert np.allclose(rotation, euler2mat(*rpy, "sxyz"), atol=1e-15)
    assert np.allclose(spatial.rotation_from_rpy(spatial.rpy_from_rotation(rotation)), rotation, atol=1e-12)
    if abs(rotation[2, 0]) < 0.99:
        assert np.allclose(spatial.rpy_from_rotation(rotation), mat2euler(rotation, "sxyz"), atol=1e-12)


@pytest.mark.parametrize("short", [0.0, 1e-15, 1e-13, 1e-10, 1e-7, 1e-3])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_roll_pitch_yaw_keep_the_rotation_where_roll_and_yaw_are_alike(sign, short):
    for roll, yaw in GENERATOR.uniform(-np.pi, np.pi, (5, 2)):
        rotation = euler2mat(roll, sign * (np.pi / 2 - short), yaw, "sxyz")
        again = euler2mat(*spatial.rpy_from_rotation(rotation), "sxyz")
        assert np.abs(again - rotation).max() < 2e-14


def test_rotation_about_an_axis():
    for axis in GENERATOR.normal(size=(10, 3)):
        unit = axis / np.linalg.norm(axis)
        assert np.allclose(spatial.rotation_about(unit, 0.7), axangle2mat(unit, 0.7), atol=1e-14)


def assert_same_body(one: RigidBody, other: RigidBody) -> None:
    assert one.mass == pytest.approx(other.mass)
    assert np.allclose(one.center_of_mass, other.center_of_mass, atol=1e-13)
    assert np.allclose(one.inertia, other.inertia, atol=1e-12)


def test_lumping_bodies_is_lumping_their_point_masses():
    masses, places = GENERATOR.uniform(0.1, 2.0, 12), GENERATOR.normal(size=(12, 3))
    parts = [point_masses(masses[k : k + 4], places[k : k + 4]) for k in (0, 4, 8)]
    assert_same_body(lumped_body(parts), point_masses(masses, places))


def test_moving_a_body_is_moving_its_point_masses():
    masses, places = GENERATOR.uniform(0.1, 2.0, 5), GENERATOR.normal(size=(5, 3))
    pose = spatial.pose(spatial.rotation_from_rpy([0.4, -1.0, 2.0]), [0.3, -0.2, 0.9])
    moved = places @ pose[:3, :3].T + pose[:3, 3]
    assert_same_body(moved_body(point_masses(masses, places), pose), point_masses(masses, moved))


def test_nothing_has_no_mass():
    body = lumped_body([])
    assert body.mass == 0.0
    assert not body.inertia.any()
