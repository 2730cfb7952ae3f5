"""Retimed lines and curves of two axes without coupling, and the waypoints and rates that come of them."""

import numpy as np
import pytest
from uncoupled_axes import AXES, LIMITS, LINE, LINES

from robot_dynamics.control.retiming import retime as retiming
from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.retime import Retimed, retime, through
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import TrajectoryError


def test_a_line_is_passed_with_the_greatest_acceleration_of_one_joint():
    """2 rad with 2 rad/s² and 1 m with 5 m/s²: the first is the slower one."""
    limits = PathLimits(acceleration=[2.0, 5.0], effort=[np.inf, 14.9])
    made = retime(AXES, LINE, limits)
    assert (
        made.duration == pytest.approx(2.0, rel=1e-3)
        and made.duration == made.times[-1] == made.spline.times[-1]
    )
    assert made.joint_names == ("turn", "lift") and made.times[0] == 0.0 and made.rounds >= 1
    inner = np.abs(made.s - 0.5) < 0.49
    assert (made.kind[inner] == retiming.KINDS.index("acceleration")).all() and (made.joint[inner] == 0).all()
    np.testing.assert_allclose(made.share[inner], 1.0, rtol=2e-3)
    np.testing.assert_allclose(made.q, made.s[:, None] * [2.0, -1.0], atol=1e-9)
    np.testing.assert_allclose(made.qp, np.broadcast_to([2.0, -1.0], made.q.shape), atol=1e-9)
    np.testing.assert_allclose(made.qpp, 0.0, atol=1e-9)
    middles = 0.5 * (made.s[1:] + made.s[:-1])
    np.testing.assert_allclose(
        made.path_acceleration[abs(middles - 0.5) < 0.49],
        np.where(middles < 0.5, 1.0, -1.0)[abs(middles - 0.5) < 0.49],
        rtol=5e-3,
    )
    times = made.times
    expected = np.where(times < 1.0, 2.0 * times, 2.0 * (2.0 - times))
    np.testing.assert_allclose(made.velocities[:, 0], expected, atol=5e-3)
    np.testing.assert_allclose(made.velocities[:, 1], -0.5 * expected, atol=5e-3)
    assert made.accelerations.shape == made.q.shape
    behind = np.abs(times - 1.0) > 0.01
    np.testing.assert_allclose(
        made.accelerations[behind, 0], np.where(times < 1.0, 2.0, -2.0)[behind], rtol=5e-3
    )
    assert "_spline" not in repr(made) and "share" in repr(made)


def test_a_table_has_the_ends_and_the_middles_of_all_intervals():
    made = retime(AXES, LINE, PathLimits(acceleration=2.0), intervals=20)
    table, times = made.table(), made.times
    np.testing.assert_allclose(table.times, [times[0], *(0.5 * (times[1:] + times[:-1])), times[-1]])
    for found, expected in zip(
        (table.positions, table.velocities, table.accelerations), made.spline.at(table.times), strict=True
    ):
        np.testing.assert_allclose(found, expected)


def test_middles_that_fall_together_are_one_waypoint():
    path = QuinticSpline(np.array([0.0, 5e-324, 1.0, 2.0]), LINES[[0, 0, 0]])
    nothing = np.zeros(4)
    made = Retimed(("a", "b"), nothing, nothing, *[np.zeros((4, 2))] * 3, nothing, nothing, nothing, 1, path)
    with np.errstate(all="ignore"):
        times = made.table().times
    assert (np.diff(times) > 0.0).all() and times[[0, -1]].tolist() == [0.0, 2.0]


def test_points_of_a_curved_path_keep_its_geometry_and_one_limit_is_reached_behind_each():
    points = np.array([[0.0, 0.0], [0.5, 0.8], [1.5, 0.5], [2.0, -0.7]])
    limits = PathLimits(velocity=[1.5, 1.0], acceleration=[2.0, 3.0])
    made, path = retime(AXES, points, limits, intervals=300), through(points, AXES.chain.joint_names)
    for found, expected in zip((made.q, made.qp, made.qpp), path.at(made.s), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
    moments = np.linspace(0.0, made.duration, 2000)
    _, velocity, acceleration = made.spline.at(moments)
    assert (np.abs(velocity) <= [1.5 + 1e-4, 1.0 + 1e-4]).all()
    assert (np.abs(acceleration) <= [2.0 + 1e-2, 3.0 + 1e-2]).all()
    shares = np.abs(made.velocities) / [1.5, 1.0]
    chosen = np.flatnonzero(made.kind == retiming.KINDS.index("velocity"))
    assert len(chosen) > 20
    np.testing.assert_allclose(made.share[chosen], shares[chosen, made.joint[chosen]], atol=2e-2)
    assert set(made.joint.tolist()) <= {0, 1} and made.share.min() > 0.85


def test_accelerations_are_those_behind_each_point_and_at_the_end():
    c = np.random.default_rng(4).normal(size=(3, 6, 2))
    path, nothing = QuinticSpline(np.array([0.0, 1.0, 1.5, 3.5]), c), np.arange(4.0)
    qp = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0], [-7.0, 8.0]])
    made = Retimed(("a", "b"), nothing, nothing**2, qp, qp, qp, nothing, nothing, nothing, 1, path)
    expected = [2.0 * c[0, 2], 8.0 * c[1, 2], 0.5 * c[2, 2], (np.arange(6) * np.arange(-1, 5)) @ c[2] / 4.0]
    np.testing.assert_allclose(made.accelerations, expected)
    np.testing.assert_allclose(made.velocities, [[0, 0], [3, -4], [10, 12], [-21, 24]])
    np.testing.assert_allclose(made.path_acceleration, [0.5, 1.5, 2.5])
    assert made.duration == 3.5 and made.spline is path and made.times is path.times


def test_speeds_at_the_ends_are_kept():
    made = retime(AXES, LINE, PathLimits(acceleration=2.0), start_speed=0.5, end_speed=0.25)
    np.testing.assert_allclose(made.x[[0, -1]], [0.25, 0.0625], rtol=1e-6)
    np.testing.assert_allclose(made.velocities[[0, -1]], [[1.0, -0.5], [0.5, -0.25]], rtol=1e-6)
    with pytest.raises(TrajectoryError, match=r"the path starts with the speed 5 along it; at most 1"):
        retime(AXES, LINE, PathLimits(acceleration=2.0), start_speed=5.0)
    with pytest.raises(TrajectoryError, match=r"the path ends with the speed 5 along it; the limits allow 2"):
        retime(AXES, LINE, LIMITS, end_speed=5.0)
