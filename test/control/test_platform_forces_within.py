"""Motions, errors and forces of a platform: a made-up machine, in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from platform_body import (
    PLACE,
    POSE,
    RATE,
    SECOND,
    TWIST,
    WRENCH,
    PlatformBody,
    error_of,
    matrix_of,
    motion_of,
)
from scipy.spatial.transform import Rotation


@pytest.fixture
def made():
    return PlatformBody()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_reference_is_a_pose_a_twist_and_an_acceleration(made, sign):
    pose, twist, acceleration = motion_of(PLACE, sign * RATE, SECOND)
    reference = made.motion(PLACE, sign * RATE, SECOND)
    outs = [made.ffi.new("double[9]", [9.0] * 9) for _ in range(3)]
    made.calls.rd_platform_motion(reference, *outs)
    for out, expected in zip(outs, (pose, twist, acceleration), strict=True):
        found = np.array(list(out))
        assert (found[len(expected) :] == 9.0).all()
        expected = expected * (np.sign(expected @ found[:7]) if len(expected) == 7 else 1.0)
        np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-12, atol=1e-14)
    found = made.doubles("rd_platform_reference", PLACE, sign * RATE, SECOND, size=24)
    expected = np.concatenate([PLACE[:3], matrix_of(pose[3:]).ravel(), twist, acceleration])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("signs", [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)])
@pytest.mark.parametrize("angle", [1e-13, 1e-5, 0.7, 3.0])
def test_the_error_of_a_pose_is_the_rotation_vector_in_the_base_frame(made, signs, angle):
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    own = POSE[3:] if angle > 1e-6 else np.array([0.0, 0.0, 0.0, 1.0])
    half = np.concatenate([np.sin(0.5 * angle) * axis, [np.cos(0.5 * angle)]])
    wanted = half if angle < 1e-6 else (Rotation.from_quat(half) * Rotation.from_quat(own)).as_quat()
    given = (
        np.concatenate([[0.5, -0.4, 1.1], signs[0] * wanted]),
        np.concatenate([[0.2, 0.3, 1.5], signs[1] * own]),
    )
    found = made.doubles("rd_pose_error", *given)
    expected = np.concatenate([[0.3, -0.7, -0.4], angle * axis])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-16)


def carry(made, mass=25.0):
    """Give the model a payload; returns the forces that it adds to a motion."""
    center, inertia = (
        np.array([0.3, -0.2, 0.4]),
        np.array([[3.0, 0.5, 0.2], [0.5, 4.0, -0.6], [0.2, -0.6, 5.0]]),
    )
    made.model.payload_mass, made.model.payload_center = mass, center.tolist()
    made.model.payload_inertia = inertia.ravel().tolist()

    def added(motion):
        pose, twist, a, _ = np.split(motion, [7, 13, 19])
        wrench = made.body(matrix_of(pose[3:]), twist[3:], a[:3], a[3:], mass, center, inertia)
        return np.linalg.solve(made.jacobian(pose).T, wrench)

    return added


@pytest.mark.parametrize("mass", [25.0, 0.5])
def test_a_payload_adds_the_forces_of_its_own_body_to_each_motion(made, mass):
    added = carry(made, mass)
    motions = np.array([np.concatenate([POSE, s * TWIST, s * SECOND, s * WRENCH]) for s in (1.0, -0.6, 0.3)])
    given, out = made.array(motions.ravel()), made.ffi.new("double[19]", [7.0] * 19)
    assert made.calls.rd_platform_forces_of(made.settings, 3, given, out)
    assert out[18] == 7.0
    found = np.array(list(out))[:18].reshape(3, 6)
    expected = [made.forces(motion) + added(motion) for motion in motions]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for fails_at in (1, 2, 3):
        made.motions.clear()
        made.fails_at = fails_at
        assert not made.calls.rd_platform_forces_of(made.settings, 3, made.array(motions.ravel()), out)


def test_without_a_payload_the_wrench_of_now_is_the_only_one(made):
    made.model.payload_center, made.model.payload_inertia = [1.0] * 3, [5.0] * 9
    made.put(POSE, TWIST, wrench=WRENCH)
    acceleration = made.array(SECOND)
    found = made.call("rd_platform_forces", made.array(POSE), made.array(TWIST), acceleration)
    np.testing.assert_array_equal(made.motions[-1], np.concatenate([POSE, TWIST, SECOND, WRENCH]))
    np.testing.assert_allclose(found, made.forces(made.motions[-1]), rtol=1e-12)


def test_loads_are_carried_with_the_estimated_disturbance(made):
    z = 0.1 * SECOND
    made.put(POSE, TWIST, wrench=WRENCH, disturbance=z)
    for name, twist in (("rd_platform_bearing", TWIST), ("rd_platform_load", 0.0 * TWIST)):
        expected = made.forces(np.concatenate([POSE, twist, z, WRENCH]))
        np.testing.assert_allclose(made.call(name), expected, rtol=1e-12)
    reference = made.motion(PLACE, RATE, SECOND)
    pose, twist, acceleration = motion_of(PLACE, RATE, SECOND)
    expected = made.forces(np.concatenate([pose, twist, acceleration, WRENCH]))
    np.testing.assert_allclose(made.call("rd_platform_reference_effort", reference), expected, rtol=1e-10)
    made.settings.mode = made.calls.RD_PLATFORM_FEEDFORWARD
    np.testing.assert_allclose(made.effort(reference), expected, rtol=1e-10)
    made.core.trip.latched = 1
    made.refer(PLACE, RATE, SECOND)
    assert np.abs(made.effort(reference) - expected).max() > 1.0


def test_legs_at_a_reference_and_their_distance_from_it(made):
    made.model.zero_lengths = zero = [0.7, 0.8, 0.9, 0.6, 0.5, 0.4]
    pose, twist, _ = motion_of(PLACE, RATE, SECOND)
    made.put(POSE, TWIST)
    reference = made.refer(PLACE, RATE, SECOND)
    position, rates = made.ffi.new("double[6]"), made.ffi.new("double[6]")
    made.calls.rd_platform_joints_of(made.core, reference, position, rates)
    legs = made.top @ matrix_of(pose[3:]).T + pose[:3] - made.base
    np.testing.assert_allclose(list(position), np.linalg.norm(legs, axis=1) - zero, rtol=1e-12)
    np.testing.assert_allclose(list(rates), made.jacobian(pose) @ twist, rtol=1e-10)
    linear, angular = made.ffi.new("double *"), made.ffi.new("double *")
    made.calls.rd_platform_stray(made.core, position, linear, angular)
    error = error_of(pose, POSE)
    np.testing.assert_allclose(list(position), made.j @ error, rtol=1e-10)
    np.testing.assert_allclose(
        [linear[0], angular[0]], [np.linalg.norm(error[:3]), np.linalg.norm(error[3:])]
    )
    np.testing.assert_allclose(made.doubles("rd_platform_stray_rate", made.core), made.j @ (twist - TWIST))
