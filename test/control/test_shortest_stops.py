"""Stops from a moving start against integrals of their accelerations and roots that scipy finds."""

import numpy as np
import pytest
from scipy.optimize import brentq

from robot_dynamics.control import moving_start
from robot_dynamics.control.moving_start import decelerations, farthest, moving_spline, unlimited_stop
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline

OPEN = np.nan


def integrated(v, a, parts):
    """Position, velocity and time after each part (duration, acceleration at its end)."""
    position, time, found = 0.0, 0.0, []
    for duration, after in parts:
        acceleration = np.polynomial.Polynomial([a, (after - a) / duration if duration else 0.0])
        velocity = acceleration.integ(k=[v])
        position += velocity.integ()(duration)
        v, a, time = velocity(duration), after, time + duration
        found.append((time, position, v, a))
    return np.array(found)


def test_what_limits_a_stop_is_the_smaller_of_two_or_the_motion_itself():
    np.testing.assert_array_equal(unlimited_stop(np.zeros(3), np.ones(3)), [np.inf] * 3)
    found = np.array([0.5, 5.0, np.inf, np.inf, np.inf, np.inf, 0.0, -1.0, OPEN, 3.0])
    allowed = np.array([3.0, 4.0, 6.0, np.inf, np.inf, np.inf, 7.0, 7.0, 7.0, np.inf])
    velocity = np.array([1.0, 1.0, 1.0, -2.0, 0.1, 0.0, 1.5, 0.2, 0.3, 9.0])
    acceleration = np.array([9.0, 9.0, 9.0, 3.0, -0.7, 0.0, 1.0, -0.9, 0.1, 9.0])
    np.testing.assert_allclose(
        decelerations(found, allowed, velocity, acceleration),
        [0.5, 4.0, 6.0, 4.0, 0.7, 1.0, 3.0, 0.9, 0.6, 3.0],
    )


def test_the_shortest_stop_ends_after_half_the_square_of_the_velocity_over_the_deceleration():
    position = np.array([0.5, 0.5, -1.0, 3.0, 2.0])
    velocity = np.array([2.0, -3.0, 1.0, 0.0, 1.0])
    with np.errstate(all="raise"):
        found = farthest(position, velocity, np.array([4.0, 0.5, np.inf, 0.0, 0.0]))
    np.testing.assert_allclose(found, [1.0, -8.5, -1.0, 3.0, 2.0])


@pytest.mark.parametrize(
    ("v", "a", "ramp", "deceleration"), [(2.0, 0.5, 0.3, 4.0), (1.0, -0.7, 0.1, 3.0), (0.6, 0.0, 0.2, 2.5)]
)
def test_a_stop_has_two_ramps_and_a_steady_part_between_them(v, a, ramp, deceleration):
    times, states = moving_start._stopping(v, a, ramp, deceleration)
    steady = brentq(
        lambda t: integrated(v, a, [(ramp, -deceleration), (t, -deceleration), (ramp, 0.0)])[-1, 2], 0.0, 9.0
    )
    expected = integrated(v, a, [(ramp, -deceleration), (steady, -deceleration), (ramp, 0.0)])
    np.testing.assert_allclose(times, expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(states, expected[:, 1:], atol=1e-9)
    assert states[-1][1:] == (0.0, 0.0)


@pytest.mark.parametrize(("v", "a", "ramp"), [(2.0, 0.5, 0.9), (1.0, -0.7, 1.2)])
def test_a_stop_with_long_ramps_needs_no_steady_part_and_less_deceleration(v, a, ramp):
    times, states = moving_start._stopping(v, a, ramp, 4.0)
    least = brentq(lambda d: integrated(v, a, [(ramp, -d), (ramp, 0.0)])[-1, 2], 0.0, 4.0)
    expected = integrated(v, a, [(ramp, -least), (0.0, -least), (ramp, 0.0)])
    np.testing.assert_allclose(times, expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(states, expected[:, 1:], atol=1e-9)


@pytest.mark.parametrize("sense", [1.0, -1.0])
@pytest.mark.parametrize(
    ("v", "a", "goal", "duration", "deceleration"),
    [
        (0.5, 0.0, 0.6, 20.0, 5.0),
        (0.9, 0.0, 0.5, 1.6, 8.0),
        (0.8, 0.4, 0.5, 6.0, 3.0),
        (0.8, -0.3, 0.5, 6.0, 3.0),
        (1.12107, 98.306, 0.25146, 0.4504, 12.57),
    ],
)
def test_a_joint_slows_down_to_the_mean_speed_of_the_second_half_of_its_way(
    v, a, goal, duration, deceleration, sense
):
    def missing(time):
        slow = 0.5 * goal / (duration - time)
        return (v + slow) * time / 2.0 + a * time**2 / 12.0 - goal / 2.0

    time = brentq(missing, 1e-9, 0.5 * duration, xtol=1e-14)
    start = (0.25, sense * v, sense * a)
    knots = moving_start._slowing(start, 0.25 + sense * goal, duration, deceleration)
    np.testing.assert_allclose(knots.times, [time], rtol=1e-9)
    np.testing.assert_allclose(
        knots.states, [[0.25 + sense * goal / 2.0, sense * 0.5 * goal / (duration - time), 0.0]], rtol=1e-9
    )


def slowed(v, a, goal, duration, deceleration):
    """The velocity's cubic while slowing down, and whether the deceleration's bound keeps it."""
    found = moving_start._slower(v, a, goal, duration, deceleration)
    return found if found is None else (float(found[0][0]), *found[1][0].tolist())


def test_slowing_down_that_is_too_hard_is_a_stop():
    time, _, slow, _ = slowed(0.8, 0.4, 0.5, 6.0, 3.0)
    hardest = 3.0 * (0.8 + 0.4 * time / 3.0 - slow) / time / 1.5
    assert slowed(0.8, 0.4, 0.5, 6.0, 1.0001 * hardest) and not slowed(0.8, 0.4, 0.5, 6.0, 0.9999 * hardest)
    assert slowed(0.8, -0.3, 0.5, 6.0, 5.0) and not slowed(0.8, -5.01, 0.5, 6.0, 5.0)
    for nothing in (
        (0.5, 0.0, 0.0, 2.0, 5.0),
        (0.5, 0.0, -0.4, 2.0, 5.0),
        (0.2, 0.0, 0.5, 2.0, 5.0),  # it is slower than the mean speed already
        (0.0, 0.1, 0.5, 2.0, 5.0),
        (0.25, 0.0, 0.5, 2.0, 5.0),
    ):
        assert slowed(*nothing) is None
    assert slowed(0.6, -1.2, 1.0, 2.0, 50.0) is None  # it is not at half of the way in half of the time
    assert slowed(0.3, 2.0, 1.0, 2.0, 50.0) is None  # it would have to become faster
    # Its velocity would become negative: its coefficient is -0.64, and with a little less acceleration 0.02.
    assert slowed(1.982, -3.0257, 3.0514, 5.6357, 50.0) is None
    low = slowed(0.9, -1.4, 0.5, 4.0, 50.0)
    assert low and 0.9 - 1.4 * low[0] / 3.0 > 0.0
    assert slowed(1.0, -1.0, 1.425, 5.0625, 1.01) and not slowed(1.0, -1.0, 1.425, 5.0625, 0.99)


@pytest.mark.parametrize("sense", [1.0, -1.0])
@pytest.mark.parametrize(
    ("v", "a", "goal", "duration", "deceleration"),
    [
        (0.5, 0.0, -0.5, 2.0, 5.0),
        (0.5, 1.0, -0.5, 2.0, 5.0),
        (0.5, -0.6, -0.5, 2.0, 5.0),
        (0.5, 0.0, 0.001, 0.6, 2.0),
        (2.0, 0.3, -3.0, 1.5, 4.0),
        (0.5, 0.0, -0.5, 20.0, 0.2),
        (0.0, 0.31678, 0.0, 1.5525, 90.5),
    ],
)
def test_a_stop_is_as_gentle_as_its_room_and_its_time_allow(v, a, goal, duration, deceleration, sense):
    """The ramps are longest: it ends after nine tenths of the time, or where the room ends."""
    start = (0.25, sense * v, sense * a)
    knots = moving_start._slowing(start, 0.25 + sense * goal, duration, deceleration)
    ends = sense * (knots.states - [0.25, 0.0, 0.0])
    room = max(goal, v * v / (2.0 * deceleration)) + 0.5 * max(0.02 * abs(goal), 1e-3)
    assert (ends[-1, 1:] == 0.0).all() and (np.diff(knots.times) > 0.0).all()
    assert knots.times[-1] <= 0.9 * duration + 1e-9 and ends[-1, 0] <= room + 1e-9
    assert ends[-1, 0] == pytest.approx(room, rel=1e-6) or knots.times[-1] == pytest.approx(0.9 * duration)
    ramp = knots.times[0]
    expected = integrated(v, a, [(ramp, ends[0, 2]), (knots.times[-1] - 2.0 * ramp, ends[0, 2]), (ramp, 0.0)])
    np.testing.assert_allclose(ends[-1], expected[-1, 1:], atol=1e-7)
    assert -ends[0, 2] <= deceleration * (1.0 + 1e-9)


def test_a_joint_that_turns_by_itself_next_to_its_start_goes_the_way_of_its_acceleration():
    """0.5 mm is how far it goes at most: v² / 2|a| < 0.25 mm."""
    for v, a in ((0.03, -2.0), (-0.03, 2.0)):
        knots = moving_start._slowing((0.0, v, a), v, 4.0, 5.0)
        assert np.sign(knots.states[-1][0]) == np.sign(a)
    for v, a in ((0.0224, -1.0), (-0.0224, 1.0)):
        knots = moving_start._slowing((0.0, v, a), -v, 4.0, 5.0)
        assert np.sign(knots.states[-1][0]) == np.sign(v)
    still = moving_start._slowing((0.0, 0.0, -2.0), 0.3, 4.0, 5.0)
    assert still.states[-1][0] < 0.0


@pytest.mark.parametrize(("v", "a"), [(-0.00230016, 0.017433), (-0.01, 0.5)])
def test_ramps_of_a_joint_that_turns_by_itself_are_twice_as_long_as_until_it_turns(v, a):
    """It has to brake after its turn: with shorter ramps its acceleration would grow instead."""
    ramp = 2.0 * -v / a
    assert moving_start._stop(v, a, 0.0, 0.999 * 2.0 * ramp / 0.9, 9.65) is None
    times, states = moving_start._stop(v, a, 0.0, 1.001 * 2.0 * ramp / 0.9, 9.65)
    np.testing.assert_allclose(times, [1.001 * ramp, 2.0 * 1.001 * ramp], rtol=1e-9)
    braking = integrated(v, a, [(1.001 * ramp, states[0][2]), (1.001 * ramp, 0.0)])
    assert states[0][2] < 0.0
    np.testing.assert_allclose(states, braking[:, 1:], atol=1e-12)


def test_a_way_of_rounding_ends_with_a_stop():
    """Sixty halvings of its time leave nothing, and 0.1 + 0.2 is 0.3 but for the last digit."""
    nothing = np.array([[0.0], [0.0]])
    ends = [
        moving_spline(
            np.array([0.0, 300.0]), np.array([[0.3], [goal]]), np.array([[1.0], [0.0]]), nothing, [2.0]
        )
        for goal in (0.3, 0.1 + 0.2)
    ]
    grid = np.linspace(0.0, 300.0, 301)
    np.testing.assert_allclose(ends[1].at(grid), ends[0].at(grid), atol=1e-9)
    assert ends[1].extremes()[1][0] <= 0.3 + 1.0 / (2.0 * 2.0) + 1e-3


def test_a_ramp_ends_where_the_joint_stands_and_the_stop_where_its_time_ends():
    """With room for more; a longer ramp from 0.5 rad/s and -1 rad/s² would turn the joint round."""
    times, states = moving_start._stop(0.5, -1.0, 5.0, 20.0, 5.0)
    np.testing.assert_allclose(times[[0, -1]], [1.0, 2.0], rtol=1e-9)
    np.testing.assert_allclose(states[0], [0.5 - 1.0 / 3.0, 0.0, 0.0], atol=1e-9)
    times, states = moving_start._stop(1.0, 0.0, 5.0, 2.0, 4.0)
    np.testing.assert_allclose(times, [0.9, 1.8], rtol=1e-9)
    np.testing.assert_allclose(states[-1], [0.9, 0.0, 0.0], atol=1e-9)
    steady = moving_start._stop(1.0, 0.0, 5.0, 1.0, 1.5)[0]  # 1 / 1.5 + ramp = 0.9
    np.testing.assert_allclose(steady, [0.9 - 2.0 / 3.0, 2.0 / 3.0, 0.9], rtol=1e-9)


def exceeding(excess, sign, brake, positions, duration):
    """A moving start whose quintic goes so far beyond its first waypoint, its start and its shortest stop."""
    times = np.array([0.5, 0.5 + duration, 1.5 + duration])
    places = sign * np.array(positions)[:, None]
    accelerations = np.full((3, 1), OPEN)
    accelerations[0], accelerations[-1] = 0.0, 0.0

    def path(v):
        velocities = np.array([[sign * v], [0.0], [0.0]])
        return times, places, velocities, accelerations, np.array([brake])

    def beyond(v):
        spline = waypoint_spline(*path(v)[:4])
        first = QuinticSpline(spline.times[:2], spline.coefficients[:1])
        lowest, highest, _ = first.extremes()
        limit = max(positions[0], positions[1], positions[0] + 0.5 * v * v / brake)
        return (highest[0] if sign > 0.0 else -lowest[0]) - limit - excess

    return path(brentq(beyond, 1e-4, 3.0, xtol=1e-5, rtol=1e-5))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("positions", "duration", "allowed"),
    [((0.0, -0.02, 1.0), 2.0, 0.001), ((0.3, 0.1, 3.0), 3.0, 0.004), ((0.5, -0.5, -0.5), 2.0, 0.02)],
)
def test_a_path_leaves_beyond_the_allowance_of_its_first_way(positions, duration, allowed, sign):
    inside = moving_spline(*exceeding(0.9 * allowed, sign, 20.0, positions, duration))
    beyond = moving_spline(*exceeding(1.1 * allowed, sign, 20.0, positions, duration))
    assert (len(inside.times), len(beyond.times) > 3) == (3, True)


def test_the_start_s_own_deceleration_is_allowed_and_a_stop_without_time_is_none():
    assert moving_start._slowing((0.0, 1.0, -8.0), -0.5, 3.0, 2.0) is not None
    assert moving_start._slowing((0.0, 1.0, 0.0), -0.5, 1.0, 1.0) is None
    assert moving_start._slowing((0.0, 1.0, 0.0), -0.5, 1.2, 1.0) is not None


def test_knots_that_differ_by_rounding_are_one():
    times = np.array([1.0, 2.0, 4.0])
    others = np.array([3.0, 1.5, 2.0 + 4e-7, 1.5 + 4e-7, 4.0 - 4e-7, 1.0, 3.0 + 6e-7])
    found = moving_start._merged(times, others)
    np.testing.assert_array_equal(found, [1.0, 1.5, 2.0, 3.0, 3.0 + 6e-7, 4.0])
    apart = moving_start._merged(times, np.array([2.0 + 6e-7]))
    np.testing.assert_array_equal(apart, [1.0, 2.0, 2.0 + 6e-7, 4.0])


def test_only_joints_that_would_leave_have_other_paths():
    """The first and the second go beyond their stops, the third is on its way, the fourth is at rest."""
    times = np.array([1.0, 6.0, 8.0])
    positions = np.array([[0.2, -0.2, 0.0, 0.1], [0.1, -0.7, 1.0, 0.1], [0.5, -0.9, 1.5, 0.4]])
    velocities, accelerations = np.full((3, 4), OPEN), np.full((3, 4), OPEN)
    velocities[0], accelerations[0] = (0.8, -0.8, 0.1, 0.0), (0.2, -0.3, 0.0, 0.0)
    velocities[-1] = accelerations[-1] = 0.0
    velocities[1, 3] = 0.9
    brakes = np.array([2.0, 3.0, 4.0, 5.0])
    whole = waypoint_spline(times, positions, velocities, accelerations)
    found = moving_spline(times, positions, velocities, accelerations, brakes)
    assert len(found.times) > 3
    grid = np.linspace(1.0, 8.0, 301)
    for order, (one, other) in enumerate(zip(found.at(grid), whole.at(grid), strict=True)):
        np.testing.assert_allclose(one[:, 2:], other[:, 2:], atol=1e-8, err_msg=str(order))
        assert np.abs(one[:, :2] - other[:, :2]).max(axis=0).min() > 0.05
    places = found.at(np.linspace(1.0, 6.0, 201))[0]
    assert places[:, 0].max() < 0.2 + 0.16 + 0.0011 and places[:, 1].min() > -0.711
    for j in (0, 1):
        alone = moving_spline(
            times, *(given[:, [j]] for given in (positions, velocities, accelerations)), brakes[[j]]
        )
        for one, other in zip(found.at(grid), alone.at(grid), strict=True):
            np.testing.assert_allclose(one[:, j], other[:, 0], atol=1e-8)
        knots = moving_start._slowing(
            (positions[0, j], velocities[0, j], accelerations[0, j]), positions[1, j], 5.0, brakes[j]
        )
        np.testing.assert_allclose(alone.times, np.sort([*times, *(1.0 + knots.times)]), atol=1e-12)
        for time, state in zip(knots.times, knots.states, strict=True):
            np.testing.assert_allclose(np.array(alone.sample(1.0 + time))[:, 0], state, atol=1e-9)
    still = moving_spline(times, positions[:, 2:], velocities[:, 2:], accelerations[:, 2:], brakes[2:])
    assert len(still.times) == 3


def test_a_start_that_only_accelerates_may_leave_too():
    times, positions = np.array([0.0, 9.0]), np.array([[0.0], [0.001]])
    velocities, accelerations = np.array([[0.0], [0.0]]), np.array([[-0.8], [0.0]])
    found = moving_spline(times, positions, velocities, accelerations, np.array([2.0]))
    assert len(found.times) > 2
    lowest = found.extremes()[0][0]
    assert lowest > waypoint_spline(times, positions, velocities, accelerations).extremes()[0][0] + 0.5


def test_ramps_take_a_tenth_of_a_millisecond_at_least():
    assert moving_start._stop(1.0, 0.0, -0.5, 1.00005 / 0.9, 1.0) is None
    times, _ = moving_start._stop(1.0, 0.0, -0.5, 1.00011 / 0.9, 1.0)
    assert times[-1] == pytest.approx(1.00011, abs=1e-5)


def test_a_start_below_its_stop_and_its_waypoint_is_on_its_way(monkeypatch):
    """The path of an other one uses half of the allowance."""
    times, nothing = np.array([0.0, 2.0, 3.0]), np.full((3, 1), OPEN)
    velocities, accelerations = nothing.copy(), nothing.copy()
    velocities[[0, -1]], accelerations[[0, -1]] = [[0.5], [0.0]], 0.0
    positions = np.array([[0.0], [1.0], [1.5]])
    parts, usual = [], moving_start.waypoint_spline

    def counted(*given, part=1.0):
        parts.append(part)
        return usual(*given, part=part)

    monkeypatch.setattr(moving_start, "waypoint_spline", counted)
    assert len(moving_spline(times, positions, velocities, accelerations, np.array([0.5])).times) == 3
    assert len(moving_spline(times, -positions, velocities, accelerations, np.array([9.0])).times) > 3
    assert parts == [1.0, 1.0, 0.5]
