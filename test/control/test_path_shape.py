"""Paths stay where their waypoints are, from rest and from a moving start, for times over five decades."""

import numpy as np
import pytest
import yaml
from arms import Pendulum, pendulum_chain
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.stopping import stop_within
from robot_dynamics.control.arm.trajectory import Reference, plan
from robot_dynamics.control.moving_start import farthest, moving_spline
from robot_dynamics.control.path_bounds import extremes
from robot_dynamics.control.shape import allowance, waypoint_spline
from robot_dynamics.control.spline import minimum_jerk_spline
from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.control.stewart.trajectory import PoseWaypoint, at_rest, smooth_pose
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.motion_table import MotionTable
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector
from robot_dynamics.stewart.path_bounds import Boxes, PathBounds

DEMO = load_machine(yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8")))
OPEN = np.nan
REST = Reference.at_rest(np.zeros(1))
DURATIONS = st.floats(-2.0, 3.0).map(lambda power: 10.0**power)


def swing(points, origin=REST, rules=None, **limits):
    """The path of one joint through ``points`` of time and position."""
    waypoints = [Waypoint(time, [position]) for time, position in points]
    chain = pendulum_chain(lower=-100.0, upper=100.0, velocity=np.inf, **limits)
    return plan(chain, ["swing"], waypoints, 0.0, origin, 0.0, rules or PathRules())


@pytest.mark.parametrize("late", [10.0, 20.0])
def test_uneven_times_make_no_joint_swing_away(late):
    """Least jerk alone would reach −0.167 and −1.07 rad."""
    path = swing([(1.0, 0.05), (2.0, 0.05), (late, 0.05)])
    lowest, highest, _ = path.spline.extremes()
    assert lowest[0] >= -1e-12 and highest[0] <= 0.05 + 1e-12
    resting = path.spline.at(np.linspace(1.0, late, 50))
    np.testing.assert_allclose(resting[0], 0.05, rtol=0.0, atol=1e-15)
    assert not resting[1].any() and not resting[2].any()


def test_a_slow_replacement_slows_down_and_goes_on():
    """One quintic from 0.5 rad/s would travel to 2.09 rad."""
    path = swing([(20.0, 0.5)], Reference(np.zeros(1), np.array([0.5]), np.zeros(1)))
    lowest, highest, speed = path.spline.extremes()
    assert lowest[0] >= -1e-9 and highest[0] <= 0.5 + 1e-9 and speed[0] <= 0.5 + 1e-9
    assert not path.remarks


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(DURATIONS, min_size=1, max_size=12), st.integers(0, 10_000))
def test_open_velocities_give_a_path_between_each_two_waypoints(durations, seed):
    random = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.cumsum(durations)])
    positions = np.round(random.normal(size=(len(times), 3)), random.integers(0, 5))
    rates = np.full(positions.shape, OPEN)
    rates[[0, -1]] = 0.0
    spline = waypoint_spline(times, positions, rates, rates.copy())
    tolerance = allowance(np.diff(positions, axis=0)) + 1e-12
    for k in range(len(durations)):
        position, velocity, _ = spline.at(np.linspace(times[k], times[k + 1], 200))
        ends = np.sort(positions[[k, k + 1]], axis=0)
        assert (position >= ends[0] - tolerance[k]).all() and (position <= ends[1] + tolerance[k]).all()
        still = ends[0] == ends[1]
        even = np.ptp(np.log(durations[max(k - 1, 0) : k + 2])) <= np.log(2.0)
        assert even or not velocity[:-1, still].any()
    if len(durations) == 1:
        return
    after, before = spline.coefficients[1:, :3], spline.coefficients[:-1]
    h = np.array(durations)[:, None]
    v = (before * np.arange(6.0)[:, None]).sum(axis=1) / h[:-1]
    a = (before * (np.arange(6.0) * np.arange(-1.0, 5.0))[:, None]).sum(axis=1) / h[:-1] ** 2
    np.testing.assert_allclose(v, after[:, 1] / h[1:], rtol=1e-6, atol=1e-7 * (1.0 + 1.0 / h[:-1].min()))
    np.testing.assert_allclose(
        a, 2.0 * after[:, 2] / h[1:] ** 2, rtol=1e-6, atol=1e-7 * (1.0 + 1.0 / h[:-1].min() ** 2)
    )


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    st.lists(DURATIONS, min_size=1, max_size=4),
    st.floats(-2.0, 2.0),
    st.floats(-3.0, 3.0),
    st.floats(0.3, 30.0),
    st.integers(0, 10_000),
)
def test_a_moving_start_goes_no_farther_than_its_shortest_stop(durations, speed, bend, braking, seed):
    random = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.cumsum(durations)])
    positions = np.concatenate([[0.0], random.normal(size=len(durations))])[:, None]
    rates = np.full((2, *positions.shape), OPEN)
    rates[:, 0, 0], rates[:, -1] = (speed, bend), 0.0
    brake = np.array([max(braking, abs(bend))])
    spline = moving_spline(times, positions, *rates, brake)
    stop = farthest(positions[0], rates[0, 0], brake)
    slack = allowance(np.diff(positions, axis=0)).max() + 1e-9
    if durations[0] < 2.0 * (abs(speed) / brake[0] + 0.05):
        return  # no time to stop before the first waypoint
    lowest, highest, _ = spline.extremes()
    assert lowest[0] >= min(stop[0], positions.min()) - slack
    assert highest[0] <= max(stop[0], positions.max()) + slack
    start = spline.at(times[:1])
    np.testing.assert_allclose([start[1][0, 0], start[2][0, 0]], [speed, bend], atol=1e-9)


def test_joints_that_move_alike_have_the_path_of_each_alone():
    """Their knots differ by rounding only; an interval between two of them fits no quintic."""
    open_ends, rng = np.full((2, 2, 3), OPEN), np.random.default_rng(0)
    for _ in range(6):
        begin = rng.uniform(-1.0, 1.0, 3) * [1.0, 1.0, 0.0] + [0.3, -0.6, 0.0]
        positions = np.array([begin, begin + 0.4])
        open_ends[:, 0], open_ends[:, -1] = [[-0.5] * 3, [rng.uniform(-1.0, 1.0)] * 3], 0.0
        whole = moving_spline(np.array([0.0, 2.0]), positions, *open_ends, np.full(3, 5.0))
        for j in range(3):
            rates = [rate[:, [j]] for rate in open_ends]
            alone = moving_spline(np.array([0.0, 2.0]), positions[:, [j]], *rates, np.full(1, 5.0))
            for order in (0, 1, 2):
                bounds = [extremes(path.times, path.coefficients, order).largest for path in (whole, alone)]
                assert bounds[0][j] == pytest.approx(bounds[1][0], abs=1e-3)


def test_the_way_back_begins_with_a_stop_within_the_acceleration_limit():
    """0.5 rad/s with 5 rad/s²: the shortest stop takes 25 mrad, the allowance is 2 % of half a radian."""
    moving = Reference(np.zeros(1), np.array([0.5]), np.zeros(1))
    path = swing([(2.0, -0.5)], moving, PathRules(acceleration={"swing": 5.0}))
    assert path.spline.extremes()[1][0] <= 0.025 + 0.01 + 1e-9
    assert extremes(path.spline.times, path.spline.coefficients, 2).largest[0] <= 5.0 * 1.01


def test_effort_limits_bound_the_stop():
    """The pendulum at the bottom, 2 rad/s: 3 N·m brake m l² = 0.24 kg·m² and damping helps."""
    stop = stop_within(Pendulum(), np.array([3.0]))(np.zeros(1), np.array([2.0]))
    assert 3.0 / Pendulum.inertia * 0.8 < stop[0] < (3.0 + 1.6) / Pendulum.inertia
    free = stop_within(Pendulum(), np.array([np.inf]))(np.zeros(1), np.array([2.0]))
    assert np.isinf(free).all()


def test_an_overshoot_that_given_velocities_force_is_reported_and_refused_beyond_the_limits():
    points = [Waypoint(1.0, [0.5], [2.0]), Waypoint(2.0, [0.5])]
    path = plan(pendulum_chain(), ["swing"], points, 0.0, REST, 0.0)
    (remark,) = path.remarks
    assert "'swing' goes 0." in remark and "between 1.000 s and 2.000 s" in remark
    with pytest.raises(TrajectoryError, match="'swing' would reach"):
        plan(pendulum_chain(upper=0.51), ["swing"], points, 0.0, REST, 0.0)


def test_samples_of_a_sine_are_followed_as_a_sine():
    """Two of them beside a peak are equal, which is no rest."""
    times = np.arange(0.0, 5.01, 0.02)
    positions = 0.05 * np.round(np.sin(2.0 * np.pi * times), 12)[:, None]
    rates = np.full(positions.shape, OPEN)
    rates[[0, -1]] = 0.0
    assert (np.diff(positions[:, 0]) == 0.0).any()
    expected = minimum_jerk_spline(times, positions, rates, rates.copy())
    found = waypoint_spline(times, positions, rates, rates.copy())
    np.testing.assert_array_equal(found.coefficients, expected.coefficients)


def test_least_jerk_stays_where_it_keeps_the_shape():
    times, positions = np.arange(6.0), np.array([[0.0], [0.4], [1.1], [1.6], [2.3], [2.5]])
    rates = np.full(positions.shape, OPEN)
    rates[[0, -1]] = 0.0
    expected = minimum_jerk_spline(times, positions, rates, rates.copy())
    found = waypoint_spline(times, positions, rates, rates.copy())
    np.testing.assert_array_equal(found.coefficients, expected.coefficients)


@settings(deadline=None, derandomize=True, max_examples=15)
@given(st.lists(DURATIONS, min_size=2, max_size=5), st.integers(0, 10_000))
def test_poses_and_recorded_motions_stay_between_their_poses(durations, seed):
    random = np.random.default_rng(seed)
    times = np.cumsum(durations)
    places = random.uniform(-0.05, 0.05, (len(times), 3))
    turns = random.uniform(-0.2, 0.2, len(times))
    quaternions = np.stack([0 * turns, 0 * turns, np.sin(turns / 2.0), np.cos(turns / 2.0)], axis=1)
    points = [PoseWaypoint(t, p, q) for t, p, q in zip(times, places, quaternions, strict=True)]
    path = smooth_pose(points, 0.0, at_rest(np.zeros(3), np.eye(3)), 0.0)
    knots = np.vstack([np.zeros(4), np.column_stack([places, turns])])
    planned = path.spline, np.concatenate([[0.0], times]), knots
    recorded = RecordedMotion(MotionTable(times, places, quaternions))
    for moved, when, values in (planned, (None, times, knots[1:])):
        for k in range(len(when) - 1):
            grid = np.linspace(when[k], when[k + 1], 60)
            found = recorded.at(grid).position if moved is None else moved.at(grid)[0][:, [0, 1, 2, 5]]
            ends = np.sort(values[[k, k + 1], : found.shape[1]], axis=0)
            slack = allowance(ends[1] - ends[0]) + 1e-9
            assert (found >= ends[0] - slack).all() and (found <= ends[1] + slack).all()


@settings(deadline=None, derandomize=True, max_examples=10)
@given(st.lists(DURATIONS, min_size=2, max_size=4), st.integers(0, 10_000))
def test_legs_between_poses_stay_within_the_bounds_of_whole_intervals(durations, seed):
    """Lengths by the distances of the joints, and speeds by their differences, of dense samples."""
    machine, random = DEMO, np.random.default_rng(seed)
    times = np.cumsum(durations)
    places = machine.home_position + random.uniform(-0.03, 0.03, (len(times), 3))
    turns = [rotation_from_vector(turn) for turn in random.uniform(-0.15, 0.15, (len(times), 3))]
    points = [
        PoseWaypoint(t, p, quaternion_from_rotation(turn @ machine.home_rotation))
        for t, p, turn in zip(times, places, turns, strict=True)
    ]
    path = smooth_pose(points, 0.0, at_rest(machine.home_position, machine.home_rotation), 0.0)
    pieces = path.pieces
    boxes = Boxes.over(len(pieces.times) - 1)
    for _ in range(2):
        bounds = PathBounds(machine, np.zeros(6)).of(pieces, boxes)
        start, _, end = boxes.spans(pieces)
        for k in range(len(start)):
            grid = np.linspace(start[k], end[k], 41)
            moved = path.at(grid)
            joints = moved.position[:, None] + np.einsum(
                "tij,lj->tli", moved.rotation, machine.platform_points
            )
            lengths = np.linalg.norm(joints - machine.base_points, axis=2)
            speeds = np.diff(lengths, axis=0) / np.diff(grid)[:, None]
            for found, (middle, spread) in ((lengths, bounds.lengths[:, k]), (speeds, bounds.speeds[:, k])):
                slack = 1e-9 + 1e-13 / np.diff(grid)[0]
                assert (np.abs(found - middle) <= spread + slack).all()
        boxes = boxes.split(slice(None), len(pieces.times) - 1)


def test_extremes_are_those_of_the_roots_of_the_derivative():
    random = np.random.default_rng(5)
    times = np.cumsum(random.uniform(0.05, 1.0, 40))
    coefficients = random.normal(size=(39, 6, 2))
    for order in range(3):
        values: list[list[float]] = [[], []]
        for k, h in enumerate(np.diff(times)):
            for j in range(2):
                derivative = np.polynomial.Polynomial(coefficients[k, :, j]).deriv(order)
                roots = derivative.deriv().roots()
                inside = roots.real[(abs(roots.imag) < 1e-9) & (roots.real > 0.0) & (roots.real < 1.0)]
                values[j] += (derivative(np.array([0.0, 1.0, *inside])) / h**order).tolist()
        found = extremes(times, coefficients, order)
        np.testing.assert_allclose(found.lowest, [min(column) for column in values], rtol=1e-8)
        np.testing.assert_allclose(found.highest, [max(column) for column in values], rtol=1e-8)
