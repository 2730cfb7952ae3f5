"""A platform's path does not depend on how its base frame is turned: across half a turn, near 90 degrees."""

import copy

import numpy as np
import pytest
import yaml

from robot_dynamics import stewart
from robot_dynamics.control.stewart.trajectory import PoseWaypoint, at_rest, plan_pose, smooth_pose
from robot_dynamics.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.resources import resource
from robot_dynamics.spatial import rotation_from_rpy
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.orientation import (
    angular_motion,
    quaternion_from_rotation,
    rotation_from_roll_pitch_yaw,
    rotation_from_vector,
)

DOCUMENT = yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))


def turned_platform(rotation):
    """The demo machine as somebody describes it whose base frame is turned the other way."""
    document = copy.deepcopy(DOCUMENT)
    for leg in document["legs"]:
        for name in ("base_point", "universal_axis"):
            leg[name] = (rotation @ leg[name]).tolist()
    document["gravity"] = (rotation @ document["gravity"]).tolist()
    document["home"] = {
        "position": (rotation @ document["home"]["position"]).tolist(),
        "orientation": quaternion_from_rotation(rotation).tolist(),
    }
    return stewart.StewartPlatform(load_machine(document))


def points(rotation, moves):
    """Waypoints at (time, shift, turn, rates) of the demo machine, in the turned base frame."""
    home = np.array(DOCUMENT["home"]["position"])
    made = []
    for time, shift, turn, rates in moves:
        given = {name: (rotation @ value).tolist() for name, value in rates.items()}
        orientation = quaternion_from_rotation(rotation @ rotation_from_vector(np.array(turn)))
        made.append(PoseWaypoint(time, rotation @ (home + shift), orientation.tolist(), **given))
    return made


def planned(rotation, moves):
    platform = turned_platform(rotation)
    origin = at_rest(platform.machine.home_position, platform.machine.home_rotation)
    return plan_pose(platform, points(rotation, moves), 0.0, origin, 0.0)


MOVES = [
    (1.0, (0.01, 0.0, 0.02), (0.03, -0.02, 0.15), {}),
    (2.0, (0.0, 0.01, 0.0), (0.0, 0.04, -0.12), {"angular_velocity": [0.02, 0.01, -0.1]}),
    (
        3.0,
        (0.0, 0.0, 0.01),
        (-0.03, 0.02, 0.1),
        {
            "linear_velocity": [0.01, 0.0, -0.01],
            "angular_velocity": [0.0, 0.03, 0.08],
            "angular_acceleration": [0.1, -0.2, 0.05],
        },
    ),
    (4.0, (0.0, 0.0, 0.0), (0.0, 0.0, -0.1), {}),
]


@pytest.mark.parametrize("degrees", [90.0, 175.0, 180.0, -180.0, -174.0])
def test_a_path_across_half_a_turn_is_the_same_path(degrees):
    """Yaw runs from just below to just above 180 degrees, never the long way round.

    What keeps x and y between their waypoints is the same only where the axes are.
    """
    rotation = rotation_from_rpy([0.0, 0.0, np.radians(degrees)])
    reference, found = planned(np.eye(3), MOVES), planned(rotation, MOVES)
    right_angle = degrees % 90.0 == 0.0
    for time in np.linspace(0.0, 4.0, 41):
        expected, motion = reference.sample(time), found.sample(time)
        np.testing.assert_allclose(motion.rotation, rotation @ expected.rotation, atol=1e-9)
        same = ("position", "linear_velocity", "linear_acceleration") if right_angle else ()
        for field in ("angular_velocity", "angular_acceleration", *same):
            np.testing.assert_allclose(
                getattr(motion, field), rotation @ getattr(expected, field), atol=1e-7, err_msg=field
            )


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_path_up_to_80_degrees_of_pitch_is_planned_and_beyond_it_refused(sense):
    """Beyond lies the pitch of 90 degrees, where roll and yaw cannot be told apart."""
    steep = rotation_from_rpy([0.0, np.radians(75.0 * sense), 0.0])
    for degrees in (4.9, -9.0):
        tilt = (0.0, np.radians(degrees * sense), 0.0)
        path = planned(steep, [(2.0, (0.0, 0.0, 0.0), tilt, {})])
        for share in (0.5, 1.0):
            expected = steep @ rotation_from_vector(share * np.array(tilt))
            np.testing.assert_allclose(path.sample(2.0 * share).rotation, expected, atol=1e-9)
    for degrees in (5.1, 14.0, 15.0, 15.0 + 1e-9):
        with pytest.raises(TrajectoryError, match="tilts the platform by more than 80 degrees about y"):
            planned(steep, [(2.0, (0.0, 0.0, 0.0), (0.0, np.radians(degrees * sense), 0.0), {})])


def test_a_start_at_90_degrees_is_refused_with_a_sentence():
    with pytest.raises(TrajectoryError, match="80 degrees"):
        planned(rotation_from_rpy([0.0, 0.5 * np.pi, 0.0]), [(2.0, (0.0, 0.0, 0.01), (0.0, 0.0, 0.0), {})])


def test_rates_of_the_angles_are_those_of_finite_differences():
    """Functions that turn given twists into rates of roll, pitch and yaw, and back."""
    random = np.random.default_rng(5)
    for _ in range(20):
        angles, rates, bends = random.uniform(-1.2, 1.2, 3), random.normal(size=3), random.normal(size=3)
        h = 1e-4
        near = [rotation_from_roll_pitch_yaw(angles + t * rates + 0.5 * t * t * bends) for t in (-h, 0.0, h)]
        skew = (near[2] - near[0]) / (2.0 * h) @ near[1].T
        velocity, acceleration = angular_motion(angles, rates, bends)
        np.testing.assert_allclose([skew[2, 1], skew[0, 2], skew[1, 0]], velocity, atol=1e-6)
        # d/dt (R' Rᵀ) is the skew matrix of the acceleration plus the symmetric part ω̂².
        second = (near[2] - 2.0 * near[1] + near[0]) / h**2 @ near[1].T
        skew = 0.5 * (second - second.T)
        np.testing.assert_allclose([skew[2, 1], skew[0, 2], skew[1, 0]], acceleration, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"position": [0.0, 0.0]}, r"waypoint 1: position is \[0.0, 0.0\]; it must be three finite numbers"),
        ({"position": [0.0, 0.0, np.inf]}, "waypoint 1: position"),
        ({"linear_velocity": [0.0, np.nan, 0.0]}, "waypoint 1: linear_velocity"),
        ({"angular_velocity": [0.0, 0.0, 0.0, 0.0]}, "waypoint 1: angular_velocity"),
        ({"linear_acceleration": [np.nan] * 3}, "waypoint 1: linear_acceleration"),
        ({"angular_acceleration": [np.inf, 0.0, 0.0]}, "waypoint 1: angular_acceleration"),
        ({"orientation": [0.0, 1.0]}, "waypoint 1: "),
        ({"orientation": [0.0, 0.0, 0.0, np.nan]}, "waypoint 1: "),
        ({"linear_velocity": [0.0, 0.0, 2e-6]}, "the last waypoint moves"),
        ({"angular_velocity": [0.0, -0.1, 0.0]}, "the last waypoint moves"),
    ],
)
def test_the_waypoint_at_fault_is_named_by_its_number_in_the_message(change, expected):
    """Also when the ones before it are past."""
    platform = turned_platform(np.eye(3))
    origin = at_rest(platform.machine.home_position, platform.machine.home_rotation)
    good = points(np.eye(3), [(1.0, (0.0, 0.0, 0.01), (0.0, 0.0, 0.0), {}), (3.0, (0, 0, 0), (0, 0, 0), {})])
    for now in (0.0, 2.0):
        with pytest.raises(RobotDynamicsError, match=expected):
            values = {**vars(good[1]), **change}
            plan_pose(platform, [good[0], PoseWaypoint(**values)], 0.0, origin, now)


def test_an_end_that_is_as_good_as_at_rest_is_accepted():
    rates = {"linear_velocity": [9e-7, 0.0, 0.0], "linear_acceleration": [0.0, 0.0, 0.0]}
    path = planned(np.eye(3), [(2.0, (0.0, 0.0, 0.01), (0.0, 0.0, 0.0), rates)])
    assert (path.start, path.end, path.duration) == (0.0, 2.0, 2.0)
    motion = path.sample(2.5)
    assert not motion.linear_velocity.any() and not motion.angular_acceleration.any()


@pytest.mark.parametrize("field", ["linear_velocity", "angular_velocity", "linear_acceleration"])
def test_what_a_waypoint_gives_is_met_whatever_else_it_leaves_open(field):
    level, value = [0.0, 0.0, 0.0, 1.0], [0.05, -0.02, 0.03]
    points = [PoseWaypoint(1.0, [0.0, 0.0, 0.57], level, **{field: value})]
    points.append(PoseWaypoint(2.0, [0.0, 0.0, 0.55], level))
    path = smooth_pose(points, 0.0, at_rest(np.array([0.0, 0.0, 0.55]), np.eye(3)), 0.0)
    np.testing.assert_allclose(getattr(path.sample(1.0), field), value, atol=1e-12)


def test_many_references_at_once_are_those_one_by_one():
    path = planned(np.eye(3), MOVES)
    times = np.array([[0.0, 0.3], [1.7, 3.9]])
    together = path.at(times.ravel())
    for k, time in enumerate(times.ravel()):
        one, alone = path.sample(time), path.at(time)
        for field in ("position", "rotation", "linear_velocity", "angular_acceleration"):
            np.testing.assert_allclose(getattr(together, field)[k], getattr(one, field), atol=1e-12)
            np.testing.assert_allclose(getattr(alone, field), getattr(one, field), atol=1e-12)
