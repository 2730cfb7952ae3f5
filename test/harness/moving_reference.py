"""A reference of a platform that moves and turns about one axis, by integrals and rotations of scipy."""

import numpy as np
from motion_base import HOME
from scipy.spatial.transform import Rotation

from robot_dynamics.control.stewart.envelope import Pace
from robot_dynamics.control.stewart.reference_governor import GovernedReference

AXIS = np.array([2.0, -3.0, 6.0]) / 7.0
PLACE = HOME + np.array([0.05, -0.03, 0.08])
TURN = Rotation.from_rotvec([0.1, -0.2, 0.15])
ROTATION = TURN.as_matrix()
TWIST = np.concatenate([[0.2, -0.1, 0.3], 0.4 * AXIS])
BEND = np.concatenate([[-0.5, 0.7, 0.2], -0.6 * AXIS])
OTHER = np.concatenate([[0.9, -0.3, -0.8], 1.1 * AXIS])
"""Turns are about one axis, about which those of several parts add up."""
PACE = Pace(4.0, 3.0, np.full(6, np.inf), 1.0)
REST = np.zeros(6)


def reference(time=2.0, twist=TWIST, acceleration=BEND):
    return GovernedReference(time, PLACE, ROTATION, twist, acceleration)


def moved(way):
    """Position and rotation after a way (6,) from the reference's."""
    return PLACE + way[:3], (Rotation.from_rotvec(way[3:]) * TURN).as_matrix()


def check(found, time, way, twist, acceleration):
    """Compare a reference with a way, a twist and an acceleration."""
    position, rotation = moved(way)
    assert found.time == time
    np.testing.assert_allclose(found.position, position, atol=1e-14)
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-13)
    np.testing.assert_allclose(found.twist, twist, atol=1e-14)
    np.testing.assert_allclose(found.acceleration, acceleration, atol=1e-13)
