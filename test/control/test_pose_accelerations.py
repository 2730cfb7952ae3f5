"""Pose trajectories of given splines: values, the acceleration limit at its bound, what is left open."""

import numpy as np
import pytest
from motion_base import HOME, motion_base
from numpy.polynomial import Polynomial
from scipy.spatial.transform import Rotation
from smooth_paths import rest_to_rest

from robot_dynamics import stewart
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.stewart import trajectory as module
from robot_dynamics.control.stewart.trajectory import (
    PoseTrajectory,
    PoseWaypoint,
    acceleration_excess,
    at_rest,
    motion_along,
    plan_pose,
    smooth_pose,
    trajectory_violations,
)
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.stewart.motion import Motion

REST = at_rest(HOME, np.eye(3))
SMOOTH = Polynomial(rest_to_rest(0.0, 1.0))


def trajectory(*pieces, begin=3.0, duration=0.5):
    """A trajectory of pieces that each have polynomials of some of x, y, z, roll, pitch, yaw, of 0 to 1."""
    coefficients = np.zeros((len(pieces), 6, 6))
    for k, piece in enumerate(pieces):
        for name, polynomial in piece.items():
            column = ("x", "y", "z", "roll", "pitch", "yaw").index(name)
            coefficients[k, : len(polynomial.coef), column] = polynomial.coef
    return PoseTrajectory(QuinticSpline(begin + duration * np.arange(len(pieces) + 1.0), coefficients))


def test_values_of_a_trajectory_are_those_of_its_polynomials():
    x, yaw = Polynomial([0.1, 0.2, -0.3, 0.4, 0.5, -0.6]), Polynomial([0.3, -0.2, 0.5, 0.1, -0.4, 0.2])
    path = trajectory({"x": x, "yaw": yaw}, {"x": x - 1.0, "yaw": yaw + 1.0})
    assert (path.start, path.end, path.duration) == (3.0, 4.0, 1.0)
    np.testing.assert_array_equal(path.pieces.times, [3.0, 3.5, 4.0])
    assert path.pieces.coefficients is path.spline.coefficients
    for t in (0.0, 0.2, 0.6, 0.999):
        k, s = int(t // 0.5), t % 0.5 / 0.5
        for motion in (path.sample(3.0 + t), path.at(t), path.motion(np.array(3.0 + t))):
            assert motion.position[0] == pytest.approx(x(s) - k, abs=1e-12)
            turn = Rotation.from_rotvec([0.0, 0.0, yaw(s) + k]).as_matrix()
            np.testing.assert_allclose(motion.rotation, turn, atol=1e-12)
            assert motion.linear_velocity[0] == pytest.approx(x.deriv()(s) / 0.5, abs=1e-12)
            assert motion.angular_velocity[2] == pytest.approx(yaw.deriv()(s) / 0.5, abs=1e-12)
            assert motion.linear_acceleration[0] == pytest.approx(x.deriv(2)(s) / 0.25, abs=1e-11)
            assert motion.angular_acceleration[2] == pytest.approx(yaw.deriv(2)(s) / 0.25, abs=1e-11)
            assert not motion.force.any() and not motion.torque.any()
    for time in (4.0, 9.0):
        end = path.sample(time)
        assert end.position[0] == pytest.approx(x(1.0) - 1.0)
        turn = Rotation.from_rotvec([0.0, 0.0, yaw(1.0) + 1.0]).as_matrix()
        np.testing.assert_allclose(end.rotation, turn, atol=1e-12)
        assert not any(part.any() for part in end[2:])


def test_a_motion_at_rest_has_no_rate_and_no_load():
    found = at_rest(HOME, np.eye(3))
    assert found.position is HOME
    assert all(part.shape == (3,) and not part.any() for part in found[2:])


def test_motions_along_coordinates_keep_their_leading_axes():
    random = np.random.default_rng(3)
    places, rates, seconds = random.uniform(-0.5, 0.5, (3, 2, 4, 6))
    found = motion_along(places, rates, seconds)
    angles = Rotation.from_euler("xyz", places[1, 2, 3:])
    np.testing.assert_allclose(found.rotation[1, 2], angles.as_matrix(), atol=1e-12)
    for part, expected in (
        (found.position, places),
        (found.linear_velocity, rates),
        (found.linear_acceleration, seconds),
    ):
        np.testing.assert_array_equal(part, expected[..., :3])
    h = 1e-5
    ahead, behind = (Rotation.from_euler("xyz", places[1, 2, 3:] + s * rates[1, 2, 3:]) for s in (h, -h))
    turning = (ahead * behind.inv()).as_rotvec() / (2.0 * h)
    np.testing.assert_allclose(found.angular_velocity[1, 2], turning, atol=1e-8)


# The acceleration limit


S = np.linspace(0.0, 1.0, 64)
PEAK = np.abs(SMOOTH.deriv(2)(S)).max()
"""Largest acceleration of a lift of 1 in 1 at 64 moments, near 10 / sqrt(3)."""


def test_an_acceleration_may_exceed_its_limit_by_a_hundredth():
    assert pytest.approx(5.7735, rel=1e-3) == PEAK
    for height, name, part, unit in (
        (0.2, "z", 0, "m/s²"),
        (-0.3, "yaw", 1, "rad/s²"),
        (0.3, "roll", 1, "rad/s²"),
        (0.25, "pitch", 1, "rad/s²"),
    ):
        path = trajectory({name: height * SMOOTH})
        most = abs(height) * PEAK / 0.25
        for share, kept in ((1.0 + 1e-9, True), (1.0 - 1e-9, False)):
            limits = [np.inf, np.inf]
            limits[part] = share * most / 1.01
            found = acceleration_excess(path, tuple(limits))
            if kept:
                assert found == ""
                continue
            size = np.linalg.norm(path.at(0.5 * S)[4 + part], axis=-1)
            moment = float(S[int(np.argmax(size))])
            assert 0.2 < min(moment, 1.0 - moment) < 0.22
            limit = ("max_acceleration", "max_angular_acceleration")[part]
            assert found == (
                f"the platform would have the acceleration {most:.4f} {unit} {0.5 * moment:.3f} s after the"
                f" start; {limit} allows {limits[part]:.4g}"
            )


def test_the_parts_of_an_acceleration_add_up_as_vectors_do():
    path = trajectory({"x": 0.2 * SMOOTH, "y": -0.1 * SMOOTH, "z": 0.2 * SMOOTH})
    most = 0.3 * PEAK / 0.25
    assert acceleration_excess(path, (most / 1.01 * (1.0 + 1e-9), np.inf)) == ""
    assert f"acceleration {most:.4f} m/s²" in acceleration_excess(path, (most / 1.01 * 0.999, np.inf))


@pytest.mark.parametrize(("roll", "pitch"), [(4.0, 5.0), (-0.6, 0.8), (0.2, 0.1)])
def test_turns_about_two_axes_accelerate_though_their_rates_are_constant(roll, pitch):
    """About axes of which the first turns about the second: by the product of the rates."""
    lines = Polynomial([0.0, 0.5 * roll]), Polynomial([-0.25 * pitch, 0.5 * pitch])
    moving = trajectory({"roll": lines[0], "pitch": lines[1]})
    most = abs(roll * pitch)
    found = trajectory_accelerations(moving)
    np.testing.assert_allclose(found, most, rtol=1e-9)
    # What moves already may go on as it does.
    assert acceleration_excess(moving, (np.inf, 0.5 * most)) == ""
    # Behind a start at rest it may not.
    both = trajectory({}, {"roll": Polynomial([0.0, 0.5 * roll]), "pitch": Polynomial([0.0, 0.5 * pitch])})
    assert acceleration_excess(both, (np.inf, most / 1.01 * (1.0 + 1e-9))) == ""
    said = acceleration_excess(both, (np.inf, 0.99 * most / 1.01))
    assert f"acceleration {most:.4f} rad/s²" in said


def trajectory_accelerations(path):
    times = np.linspace(0.0, path.duration, 9)
    return np.linalg.norm(path.at(times).angular_acceleration, axis=-1)


def test_the_worst_of_all_segments_is_reported_with_its_time_since_the_start():
    pieces = [{"z": 0.02 * SMOOTH}, {"z": 0.3 * SMOOTH}, {"x": 0.4 * SMOOTH}, {}, {"yaw": 0.2 * SMOOTH}]
    for limits, name, most, k in (
        ((2.0, 3.0), "max_acceleration", 0.4 * PEAK / 0.25, 2),
        ((8.0, 1.0), "max_angular_acceleration", 0.2 * PEAK / 0.25, 4),
        ((np.inf, 1.0), "max_angular_acceleration", 0.2 * PEAK / 0.25, 4),
    ):
        found = acceleration_excess(trajectory(*pieces), limits)
        assert f"acceleration {most:.4f} " in found
        since = float(found.partition("s² ")[2].partition(" s ")[0])
        assert min(abs(since - 0.5 * (k + at)) for at in (13 / 63, 50 / 63)) < 6e-4
        assert f" s after the start; {name} allows" in found
    assert acceleration_excess(trajectory(*pieces), (np.inf, np.inf)) == ""


def test_an_acceleration_at_the_start_is_allowed_as_far_as_it_goes():
    bend = 0.5 * Polynomial([0.0, 0.0, 1.0])
    path = trajectory({"x": bend})
    assert acceleration_excess(path, (1.0, 1.0)) == ""
    more = trajectory({"x": bend + Polynomial([0.0, 0.0, 0.0, 0.1])})
    assert "max_acceleration allows 4" in acceleration_excess(more, (1.0, 1.0))
    assert path.sample(3.0).linear_acceleration[0] == pytest.approx(4.0)


@pytest.mark.parametrize(("name", "limits"), [("x", (3.9, np.inf)), ("roll", (np.inf, 3.9))])
def test_a_constant_acceleration_behind_a_start_at_rest_counts(name, limits):
    path = trajectory({}, {name: 0.5 * Polynomial([0.0, 0.0, 1.0])})
    assert "acceleration 4.0000 " in acceleration_excess(path, tuple(np.array(limits) / 1.01))


# Waypoints


def waypoint(time, way=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0), **more):
    return PoseWaypoint(time, HOME + np.array(way), Rotation.from_rotvec(turn).as_quat().tolist(), **more)


def test_an_angular_acceleration_without_a_velocity_is_left_open():
    """The second derivatives of the angles do not follow from it."""
    way, turn = (0.01, 0.0, 0.02), (0.1, -0.05, 0.08)
    plain, given = (
        smooth_pose([waypoint(1.0, way, turn, **more), waypoint(2.0)], 0.0, REST, 0.0)
        for more in ({}, {"angular_acceleration": [3.0, -2.0, 1.0]})
    )
    np.testing.assert_array_equal(plain.spline.coefficients, given.spline.coefficients)
    moving = smooth_pose(
        [waypoint(1.0, way, turn, angular_velocity=[0.1, 0.2, -0.1], angular_acceleration=[3.0, -2.0, 1.0]),
         waypoint(2.0)], 0.0, REST, 0.0,
    )  # fmt: skip
    np.testing.assert_allclose(moving.sample(1.0).angular_acceleration, [3.0, -2.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(moving.sample(1.0).angular_velocity, [0.1, 0.2, -0.1], atol=1e-10)


@pytest.mark.parametrize(
    ("now", "start", "switch", "knots"), [(0.5, 0.2, 0.5, 3), (0.5, 0.9, 0.9, 3), (1.5, 0.2, 1.5, 2)]
)
def test_a_path_begins_now_or_at_its_start_and_leaves_out_what_is_past(now, start, switch, knots):
    path = smooth_pose([waypoint(1.0, (0.0, 0.0, 0.02)), waypoint(2.0)], start, REST, now)
    assert path.start == switch and path.end == start + 2.0
    assert len(path.spline.times) == knots
    np.testing.assert_allclose(
        path.sample(start + 1.0).position[2] if knots == 3 else HOME[2] + 0.02, HOME[2] + 0.02
    )


def test_a_moving_start_begins_without_a_jump_whatever_its_pose():
    turn = Rotation.from_rotvec([0.2, -0.1, 0.4])
    parts = np.random.default_rng(2).normal(size=(4, 3)) * 0.1
    zero = np.zeros(3)
    origin = Motion(HOME, turn.as_matrix(), parts[0], parts[1], parts[2], parts[3], zero, zero)
    path = smooth_pose([waypoint(1.0)], 0.0, origin, 0.0)
    found = path.sample(0.0)
    for name in ("position", "rotation", "linear_velocity", "angular_velocity", "linear_acceleration",
                 "angular_acceleration"):  # fmt: skip
        np.testing.assert_allclose(getattr(found, name), getattr(origin, name), atol=1e-12, err_msg=name)


@pytest.mark.parametrize(("limits", "most"), [((4.0, 3.0), (2.0, 1.5)), ((0.5, np.inf), (0.25, None))])
def test_a_moving_start_brakes_with_half_of_the_acceleration_limits(limits, most):
    """A start that moves away from its waypoint comes to rest first, at this deceleration."""
    zero = np.zeros(3)
    speed = np.array([0.4, 0.0, 0.0])
    origin = Motion(HOME, np.eye(3), speed, np.array([0.0, 0.0, 0.3]), zero, zero, zero, zero)
    path = smooth_pose([waypoint(20.0, (-0.1, 0.0, 0.0), (0.0, 0.0, -0.1))], 0.0, origin, 0.0, limits)
    _, highest, _ = path.spline.extremes()
    # With parts of no jerk the way of a stop is v²/2a; the ramps of a stop add to it.
    for column, way, deceleration in ((0, 0.4, most[0]), (5, 0.3, most[1])):
        usual = way / 0.5 if deceleration is None else min(way / 0.5, deceleration)
        begin = HOME[0] if column == 0 else 0.0
        assert highest[column] - begin == pytest.approx(way**2 / (2.0 * usual), rel=0.02)


def test_a_start_without_limits_brakes_as_it_moves(monkeypatch):
    """Within half a second, or as hard as it is accelerated."""
    given, zero = [], np.zeros(3)
    spline = module.moving_spline
    monkeypatch.setattr(module, "moving_spline", lambda *rest: given.append(rest[-1]) or spline(*rest))
    speeds, bends = np.array([0.4, -0.1, 0.05]), np.array([0.3, 0.6, -0.9])
    origin = Motion(HOME, np.eye(3), speeds, zero, bends, zero, zero, zero)
    for limits, most in (((np.inf, np.inf), np.inf), ((1.0, np.inf), 0.5)):
        smooth_pose([waypoint(2.0)], 0.0, origin, 0.0, limits)
        expected = np.minimum([0.8, 0.6, 0.9], most)
        np.testing.assert_allclose(given.pop()[:3], expected, rtol=1e-12)


def test_the_last_waypoint_rests_up_to_a_micrometre_a_second():
    for speed, kept in ((1e-6, True), (1.01e-6, False), (-1.01e-6, False)):
        points = [waypoint(1.0, linear_velocity=[0.0, speed, 0.0])]
        if kept:
            assert smooth_pose(points, 0.0, REST, 0.0).end == 1.0
        else:
            with pytest.raises(
                TrajectoryError, match=r"^the last waypoint moves; a trajectory must end at rest$"
            ):
                smooth_pose(points, 0.0, REST, 0.0)
    # An acceleration of the last one is met; where none is given it rests.
    bent = smooth_pose([waypoint(1.0, linear_acceleration=[0.0, 0.3, 0.0])], 0.0, REST, 0.0)
    assert bent.spline.at(np.array(1.0))[2][1] == pytest.approx(0.3)
    for points in ([waypoint(1.0, (0.1, 0.0, 0.0))], [waypoint(0.4, (0.1, 0.05, 0.0)), waypoint(1.0)]):
        free = smooth_pose(points, 0.0, REST, 0.0)
        np.testing.assert_allclose(free.spline.at(np.array(1.0))[1:], 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "words", [(1.0,), "waypoints", 3.0, [waypoint(1.0), None]], ids=["number", "text", "none", "mixed"]
)
def test_what_is_no_list_of_waypoints_is_refused(words):
    with pytest.raises(TypeError, match="waypoint"):
        smooth_pose(words, 0.0, REST, 0.0)


# Limits along a trajectory


def test_violations_have_times_since_the_start_and_their_wrench():
    platform = motion_base()
    path = smooth_pose([waypoint(1.0, (0.0, 0.0, 0.4)), waypoint(2.0)], 100.0, REST, 100.0)
    assert path.start == 100.0
    found = trajectory_violations(platform, path)
    assert {one.violation.quantity for one in found} >= {"length"}
    assert all(0.0 <= one.time <= 2.0 for one in found)
    high = at_rest(HOME + np.array([0.0, 0.0, 0.4]), np.eye(3))
    down = smooth_pose([waypoint(2.0, (0.0, 0.0, 0.02))], 0.0, high, 0.0)
    assert trajectory_violations(platform, down)[0].violation.quantity == "length"
    assert trajectory_violations(platform, down, from_outside=True) == ()
    calm = smooth_pose([waypoint(2.0, (0.0, 0.0, 0.02))], 0.0, REST, 0.0)
    assert trajectory_violations(platform, calm) == ()
    heavy = trajectory_violations(platform, calm, np.array([0.0, 0.0, -9e4, 0.0, 0.0, 0.0]))
    assert {one.violation.quantity for one in heavy} == {"force"}
    with pytest.raises(stewart.LimitError, match="force"):
        plan_pose(platform, [waypoint(2.0)], 0.0, REST, 0.0, np.array([0.0, 0.0, -9e4, 0.0, 0.0, 0.0]))


def test_a_plan_keeps_the_accelerations_that_are_allowed():
    platform = motion_base()
    lift = [waypoint(1.0, (0.0, 0.0, 0.1))]
    assert plan_pose(platform, lift, 0.0, REST, 0.0).end == 1.0
    with pytest.raises(TrajectoryError, match=r"^the platform would have the acceleration 0\.577\d m/s² "):
        plan_pose(platform, lift, 0.0, REST, 0.0, accelerations=(0.5, np.inf))
