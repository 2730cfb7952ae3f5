"""Planning of long, odd and impossible trajectories: the same path in time proportional to its points."""

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.trajectory import Reference, plan
from robot_dynamics.control.spline import minimum_jerk_spline
from robot_dynamics.control.waypoints import Waypoint, WaypointTable, joint_order
from robot_dynamics.errors import TrajectoryError

OPEN = np.nan


def test_a_hundred_thousand_points_make_the_path_that_they_are_taken_from():
    """Far from its ends the spline through samples of sin t is sin t, up to the spline's own error, h^6."""
    times = 0.02 * np.arange(1, 100_001)
    points = [Waypoint(t, [p]) for t, p in zip(times.tolist(), np.sin(times).tolist(), strict=True)]
    origin = Reference(np.zeros(1), np.ones(1), np.zeros(1))
    trajectory = plan(pendulum_chain(), ["swing"], points, 0.0, origin, 0.0)
    for t in (1.003, 999.995, 1998.87):
        reference = trajectory.sample(t)
        np.testing.assert_allclose(reference.position, np.sin(t), atol=1e-8)
        np.testing.assert_allclose(reference.velocity, np.cos(t), atol=1e-8)
        np.testing.assert_allclose(reference.acceleration, -np.sin(t), atol=1e-6)
    with pytest.raises(TrajectoryError, match="100001 waypoints; 1 to 100000 are accepted"):
        plan(pendulum_chain(), ["swing"], [*points, Waypoint(2001.0, [0.0])], 0.0, origin, 0.0)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([Waypoint(1.0, [1e308]), Waypoint(2.0, [-1e308]), Waypoint(3.0, [0.0])], "no finite position"),
        ([Waypoint(1.0, [0.1], [1e308], [1e308]), Waypoint(3.0, [0.0])], "no finite position"),
        ([Waypoint(1.0, [0.1]), Waypoint(np.inf, [0.2])], "waypoint 1 is inf s, not finite"),
        ([Waypoint(1.0, [0.1]), Waypoint(1e308, [0.2])], "no finite position"),
    ],
)
def test_numbers_that_no_path_can_have_are_refused_and_the_trajectory_in_force_goes_on(points, expected):
    """Also where no limit stands in the way: comparing NaN with a limit is false whatever the limit."""
    unlimited = pendulum_chain(lower=-np.inf, upper=np.inf, velocity=np.inf)
    for chain in (unlimited, pendulum_chain()):
        control = ArmController(chain, Pendulum(), ArmParameters())
        control.update(0.0, np.zeros(1), np.zeros(1))
        control.follow(["swing"], [Waypoint(1.0, [1.0])], None)
        with pytest.raises(TrajectoryError, match=expected):
            control.follow(["swing"], points, None)
        assert control.reference(0.5).position == pytest.approx(0.5)


def test_arrays_and_waypoints_make_the_same_path():
    times, positions = np.array([0.5, 1.0, 2.0]), np.array([[0.1], [0.4], [0.2]])
    velocities = np.array([[OPEN], [0.3], [OPEN]])
    table = WaypointTable(times, positions, velocities, np.full((3, 1), OPEN))
    points = [Waypoint(0.5, [0.1]), Waypoint(1.0, [0.4], [0.3]), Waypoint(2.0, [0.2])]
    origin = Reference.at_rest(np.zeros(1))
    one, other = (plan(pendulum_chain(), ["swing"], w, 0.0, origin, 0.0) for w in (table, points))
    np.testing.assert_array_equal(one.spline.coefficients, other.spline.coefficients)
    assert np.isnan(table.velocities[2]).all(), "what was handed over stays as it is"


def test_joint_names_are_found_in_any_order_and_long_lists_are_quoted_in_part():
    names = [f"joint_{i}" for i in range(20_000)]
    assert joint_order(names, names[::-1]) == list(range(20_000))[::-1]
    assert joint_order(("a", "b", "c"), ["c", "a", "b"]) == [1, 2, 0]
    with pytest.raises(TrajectoryError, match=r"unknown joint names .*and 19994 more") as unknown:
        joint_order(names[:1], names)
    assert len(str(unknown.value)) < 500
    with pytest.raises(TrajectoryError, match=r"'joint_4'\] and 38 more; .*'joint_39'\] and 3 more once"):
        joint_order(names[:43], [])


def test_a_segment_too_short_for_a_finite_acceleration_is_refused():
    """1 rad in 1e-160 s: the speed is finite, the acceleration is not."""
    rest = np.zeros((2, 1))
    for duration in (1e-160, 1e-155):
        with pytest.raises(TrajectoryError, match="no finite position"):
            minimum_jerk_spline(np.array([0.0, duration]), np.array([[0.0], [1.0]]), rest, rest.copy())
    assert minimum_jerk_spline(np.array([0.0, 1e-150]), np.array([[0.0], [1.0]]), rest, rest.copy())
