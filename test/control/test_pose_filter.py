"""Filter of a stream of poses: targets on one curve behind the poses, with its derivatives."""

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.control.smoothing import DELAY
from robot_dynamics.control.stewart.stream import PoseFilter, PoseSample

HOME = np.array([0.1, -0.2, 1.2])
LEVEL = np.eye(3)
TICK = 1.0 / 64.0


def test_a_filter_of_poses_gives_targets_behind_the_stream():
    """A screw motion, whose twist is constant, with and without twists."""
    axis, rate = np.array([2.0, -3.0, 6.0]) / 7.0, 0.5
    velocity = np.array([0.1, -0.2, 0.05])
    turn = Rotation.from_rotvec([0.2, 0.1, -0.3])
    for twist in (None, np.concatenate([velocity, rate * axis])):
        made = PoseFilter(0.1)
        for k in range(12):
            time = k * TICK
            rotation = (Rotation.from_rotvec(rate * time * axis) * turn).as_matrix()
            made.add(PoseSample(time, HOME + velocity * time, rotation, twist), time, time, TICK)
        now = 11.3 * TICK
        at = now - DELAY * TICK
        found = made.target(now)
        np.testing.assert_allclose(found.position, HOME + velocity * at, atol=1e-9)
        expected = (Rotation.from_rotvec(rate * at * axis) * turn).as_matrix()
        np.testing.assert_allclose(found.rotation, expected, atol=1e-8)
        np.testing.assert_allclose(found.twist, np.concatenate([velocity, rate * axis]), atol=1e-6)
        np.testing.assert_allclose(found.acceleration, np.zeros(6), atol=1e-4)
        np.testing.assert_allclose(found.jerk, np.zeros(6), atol=1e-2)
        assert made.target(20.0 * TICK) is None
    # Rates exist where every pose of the window has one.
    samples = [PoseSample(0.0, HOME, LEVEL, one) for one in (np.ones(6), None, np.ones(6))]
    assert made.rates(samples) is None
    np.testing.assert_array_equal(made.rates(samples[::2]), np.ones((2, 6)))


def test_targets_of_a_filter_are_derivatives_of_one_curve():
    """A cubic in time, which the filter has exactly."""
    made, c = PoseFilter(0.1), np.array([0.02, -0.05, 0.3])
    for k in range(12):
        t = k * TICK
        made.add(PoseSample(t, HOME + c * t**3, LEVEL, None), t, t, TICK)
    now = 10.0 * TICK
    t, found = now - DELAY * TICK, made.target(now)
    np.testing.assert_allclose(found.position, HOME + c * t**3, atol=1e-8)
    np.testing.assert_allclose(found.twist[:3], 3.0 * c * t**2, atol=1e-6)
    np.testing.assert_allclose(found.acceleration[:3], 6.0 * c * t, atol=1e-4)
    np.testing.assert_allclose(found.jerk[:3], 6.0 * c, atol=0.02)
