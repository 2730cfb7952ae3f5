"""Samples of the efforts against Pinocchio on a dense grid, and what refuses to be sampled."""

import numpy as np
import pinocchio as pin
import pytest

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.sampling import sample_efforts
from robot_dynamics.control.spline import minimum_jerk_spline
from robot_dynamics.dynamics.friction import STICTION_VELOCITY
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource

URDF = resource("urdf/puma560.urdf").read_text(encoding="utf-8")
GRAVITY = (0.0, 0.0, -9.81)


def path(dof, seed, knots=4, duration=2.0, start=0.0):
    random = np.random.default_rng(seed)
    times = start + np.linspace(0.0, duration, knots)
    positions = random.uniform(-1.0, 1.0, (knots, dof))
    velocities, accelerations = np.full((2, knots, dof), np.nan)
    for rows in (velocities, accelerations):
        rows[0] = rows[-1] = 0.0
    return minimum_jerk_spline(times, positions, velocities, accelerations)


def dense_error(samples, spline, effort, count=40_000):
    """(n,) largest difference between the straight lines and an independent model of the efforts."""
    times = np.linspace(samples.times[0], samples.times[-1], count)
    exact = np.array([effort(*state) for state in zip(*spline.at(times), strict=True)])
    lines = np.stack(
        [np.interp(times, samples.times, samples.efforts[:, j]) for j in range(exact.shape[1])], axis=1
    )
    return np.abs(lines - exact).max(axis=0)


@pytest.mark.parametrize(("seed", "start"), [(1, 0.0), (2, 1234.56789)])
def test_straight_lines_between_the_samples_stay_within_the_bound_of_pinocchios_efforts(seed, start):
    model = pin.buildModelFromXML(URDF)
    data = model.createData()
    chain = load_urdf(URDF)
    spline = path(chain.dof, seed, start=start)
    tolerance = np.array([0.5, 0.5, 0.3, 0.05, 0.05, 0.02])
    samples = sample_efforts(spline, compile_dynamics(chain, GRAVITY), tolerance)
    measured = dense_error(samples, spline, lambda q, qd, qdd: pin.rnea(model, data, q, qd, qdd))
    assert np.all(measured <= samples.error)
    assert np.all(samples.error <= tolerance)
    assert np.any(samples.error > 0.2 * tolerance), "far more points than the tolerance asks for"
    finer = sample_efforts(spline, compile_dynamics(chain, GRAVITY), tolerance / 16.0)
    # A chord's error falls with the square of its length: sixteen times finer takes about four times as many.
    assert 2.0 < len(finer.times) / len(samples.times) < 6.0


def smooth_sign(x):
    x = np.clip(x, -1.0, 1.0)
    return 1.5 * x - 0.5 * x**3


def test_the_steps_of_coulomb_friction_are_resolved_where_joints_turn_round():
    model = pin.buildModelFromXML(URDF)
    data = model.createData()
    chain = load_urdf(URDF)
    friction, rotor = 4.0, 0.7
    drives = ActuatorParameters(rotor_inertia=(rotor,), damping=(1.5,), friction=(friction,))
    spline = path(chain.dof, 5, knots=5)
    tolerance = np.full(chain.dof, 0.1)
    samples = sample_efforts(spline, ActuatedArm(compile_dynamics(chain, GRAVITY), chain, drives), tolerance)

    def effort(q, qd, qdd):
        return (
            pin.rnea(model, data, q, qd, qdd)
            + rotor * qdd
            + 1.5 * qd
            + friction * smooth_sign(qd / STICTION_VELOCITY)
        )

    assert np.all(dense_error(samples, spline, effort) <= tolerance)
    evenly = 2.0 / np.diff(samples.times).min()
    assert len(samples.times) < 0.1 * evenly, "the points are not where they are needed"


def test_the_samples_are_points_of_the_path_at_whole_nanoseconds_and_keep_its_knots():
    chain = load_urdf(URDF)
    spline = path(chain.dof, 3)
    samples = sample_efforts(spline, compile_dynamics(chain, GRAVITY), np.full(6, 0.5))
    nanoseconds = samples.times * 1e9
    np.testing.assert_allclose(nanoseconds, np.round(nanoseconds), atol=1e-5)
    for knot in spline.times:
        assert np.abs(samples.times - knot).min() < 2e-5
    for k in (0, len(samples.times) // 2, -1):
        expected = spline.sample(samples.times[k])
        for mine, theirs in zip(
            (samples.positions, samples.velocities, samples.accelerations), expected, strict=True
        ):
            np.testing.assert_allclose(mine[k], theirs, atol=1e-12)


def test_a_path_that_needs_too_many_points_is_refused_with_what_is_reached():
    chain = load_urdf(URDF)
    dynamics = compile_dynamics(chain, GRAVITY)
    with pytest.raises(TrajectoryError, match="more than 100 points"):
        sample_efforts(path(chain.dof, 3), dynamics, np.full(6, 1e-3), most_points=100)

    class Step:
        def inverse_dynamics(self, q, qd, qdd):
            return np.sign(q)

    with pytest.raises(TrajectoryError, match=r"joint 1 .* too close together"):
        sample_efforts(path(1, 3), Step(), np.array([0.1]))
