"""Trajectories of two joints as users and planners send them: order, times, limits and what is refused."""

import numpy as np
import pytest
from arms import pendulum_chain

from robot_dynamics.control.arm.trajectory import Reference, plan
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError

NAMES = ["lift", "turn"]
SWAPPED = NAMES[::-1]
REST = Reference.at_rest(np.array([0.1, -0.2]))


def smoothest(times, positions, start, end):
    """Piecewise quintics (K - 1, 6) in t - times[k] through the positions of one joint.

    The path of least squared jerk has continuous derivatives up to the fourth where nothing but the position
    is given, and the ``(velocity, acceleration)`` of ``start`` and ``end``.
    """

    def row(segment, time, order):
        factors = [np.prod(np.arange(i, i - order, -1.0)) if i >= order else 0.0 for i in range(6)]
        values = np.zeros(6 * (len(times) - 1))
        t = time - times[segment]
        values[6 * segment : 6 * segment + 6] = [f * t ** max(i - order, 0) for i, f in enumerate(factors)]
        return values

    last = len(times) - 2
    rows, right = [], []
    for k in range(len(times) - 1):
        rows += [row(k, times[k], 0), row(k, times[k + 1], 0)]
        right += [positions[k], positions[k + 1]]
    for k in range(last):
        rows += [row(k, times[k + 1], order) - row(k + 1, times[k + 1], order) for order in (1, 2, 3, 4)]
        right += [0.0] * 4
    rows += [row(0, times[0], 1), row(0, times[0], 2), row(last, times[-1], 1), row(last, times[-1], 2)]
    right += [*start, *end]
    return np.linalg.solve(np.array(rows), np.array(right)).reshape(-1, 6)


def test_several_waypoints_in_another_joint_order_are_passed_on_the_smoothest_path(chain):
    """Positions between the waypoints; for other paths see test_path_shape.py."""
    moving = Reference(np.array([0.1, -0.2]), np.array([0.3, -0.1]), np.array([0.4, -0.1]))
    goals = {1.0: (0.6, -0.3), 1.7: (1.0, -0.38), 3.0: (1.4, -0.45)}
    waypoints = [Waypoint(time, [turn, lift]) for time, (lift, turn) in goals.items()]
    path = plan(chain, SWAPPED, waypoints, 5.0, moving, 5.0)
    times = np.array([0.0, *goals])
    assert (path.start, path.end) == (5.0, 8.0)
    for joint in range(2):
        positions = [moving.position[joint], *(goal[joint] for goal in goals.values())]
        start = (moving.velocity[joint], moving.acceleration[joint])
        pieces = smoothest(times, positions, start, (0.0, 0.0))
        for t in np.linspace(0.0, 3.0, 61)[:-1]:
            k = np.searchsorted(times, t, side="right") - 1
            piece = np.polynomial.Polynomial(pieces[k])
            found = path.sample(5.0 + t)
            local = t - times[k]
            assert found.position[joint] == pytest.approx(piece(local), abs=1e-9)
            assert found.velocity[joint] == pytest.approx(piece.deriv()(local), abs=1e-8)
            assert found.acceleration[joint] == pytest.approx(piece.deriv(2)(local), abs=1e-7)
    for time in (8.0, 8.5, 100.0):
        after = path.sample(time)
        np.testing.assert_allclose(after.position, goals[3.0], atol=1e-12)
        assert not after.velocity.any() and not after.acceleration.any()


def test_velocities_and_accelerations_of_a_waypoint_are_met_in_their_own_order(chain):
    points = [Waypoint(1.0, [-0.1, 0.5], [0.05, -0.3], [-0.2, 0.7]), Waypoint(2.0, [0.1, 0.0])]
    at = plan(chain, SWAPPED, points, 0.0, REST, 0.0).sample(1.0)
    np.testing.assert_allclose(at.position, [0.5, -0.1], atol=1e-12)
    np.testing.assert_allclose(at.velocity, [-0.3, 0.05], atol=1e-12)
    np.testing.assert_allclose(at.acceleration, [0.7, -0.2], atol=1e-11)


@pytest.mark.parametrize("first", [0.0, 5e-7])
def test_a_first_waypoint_at_zero_is_where_the_arm_is_already(chain, first):
    """MoveIt's first waypoint is the state from which it has planned, at rest or nearly."""
    goals = [Waypoint(0.8, [0.3, 0.1]), Waypoint(1.5, [0.5, 0.2])]
    for here in ([0.1, -0.2], [0.1004, -0.2003]):
        planned = plan(chain, NAMES, [Waypoint(first, here, [0.0, 0.0]), *goals], 2.0, REST, 2.0)
        alone = plan(chain, NAMES, goals, 2.0, REST, 2.0)
        assert planned.start == 2.0
        for time in np.linspace(2.0, 3.5, 16):
            np.testing.assert_array_equal(planned.sample(time).position, alone.sample(time).position)


def test_a_waypoint_just_after_the_start_is_passed_however_near(chain):
    with pytest.raises(TrajectoryError, match="'lift' would"):
        plan(chain, NAMES, [Waypoint(2e-6, [0.2, -0.2]), Waypoint(1.0, [0.3, -0.2])], 0.0, REST, 0.0)


def test_nothing_but_a_waypoint_at_zero_is_in_the_past(chain):
    with pytest.raises(TrajectoryError, match=r"the last one is due at 3\.000 s, the clock says 3\.000 s"):
        plan(chain, NAMES, [Waypoint(0.0, [0.3, 0.1])], 3.0, REST, 3.0)


def test_a_start_in_the_future_waits_and_skips_its_waypoint_at_zero_too(chain):
    points = [Waypoint(0.0, [0.1, -0.2]), Waypoint(1.0, [0.3, 0.0])]
    path = plan(chain, NAMES, points, 4.0, REST, 1.0)
    assert (path.start, path.end) == (4.0, 5.0)
    np.testing.assert_array_equal(path.sample(2.0).position, REST.position)


def test_an_old_stamp_drops_what_is_past_and_keeps_the_times_of_the_rest(chain):
    points = [Waypoint(1.0, [0.9, 0.4]), Waypoint(2.0, [0.3, 0.0]), Waypoint(3.0, [0.2, -0.1])]
    path = plan(chain, NAMES, points, 10.0, REST, 11.5)
    assert (path.start, path.end) == (11.5, 13.0)
    for time, expected in ((11.5, REST.position), (12.0, [0.3, 0.0]), (13.0, [0.2, -0.1])):
        np.testing.assert_allclose(path.sample(time).position, expected, atol=1e-12)
    with pytest.raises(TrajectoryError, match=r"due at 13\.000 s, the clock says 13\.250 s"):
        plan(chain, NAMES, points, 10.0, REST, 13.25)


@pytest.mark.parametrize(
    ("names", "points", "expected"),
    [
        (NAMES, [], "0 waypoints; 1 to 100000 are accepted"),
        (NAMES, [Waypoint(1.0, [0.1, -0.2])] * 100_001, "100001 waypoints; 1 to 100000"),
        (NAMES, [Waypoint(1.0, [0.1])], "waypoint 0 has 1 positions for 2 joints"),
        (NAMES, [Waypoint(1.0, [0.1, 0.0]), Waypoint(2.0, [])], "waypoint 1 has 0 positions for 2 joints"),
        (NAMES, [Waypoint(1.0, [0.1, 0.0], [0.0])], "waypoint 0 has 1 velocities for 2 joints"),
        (NAMES, [Waypoint(1.0, [0.1, 0.0], [], [0.0] * 3)], "waypoint 0 has 3 accelerations for 2 joints"),
        (SWAPPED, [Waypoint(1.0, [np.nan, 0.0])], "waypoint 0: positions of joint 'turn' is nan"),
        (SWAPPED, [Waypoint(1.0, [0.0, 0.1], [0.0, np.inf])], "velocities of joint 'lift' is inf"),
        (SWAPPED, [Waypoint(1.0, [0.0, 0.1], [2e-6, 0.0])], "moves joint 'turn' at 2e-06"),
        (SWAPPED, [Waypoint(1.0, [0.0, 0.1], [0.0, -0.5])], "moves joint 'lift' at -0.5"),
        (NAMES, [Waypoint(-0.5, [0.1, 0.0])], "time_from_start of the first waypoint is -0.5"),
        (
            NAMES,
            [Waypoint(t, [0.1, 0.0]) for t in (1.0, 2.0, 2.0)],
            r"waypoint 2 \(2.0 s\) is not later than that of waypoint 1",
        ),
        (["lift", "twist"], [Waypoint(1.0, [0.1, 0.0])], r"unknown joint names \['twist'\]"),
        (["lift"], [Waypoint(1.0, [0.1])], r"missing joint names \['turn'\]"),
        ([*NAMES, "lift"], [Waypoint(1.0, [0.1, 0.0, 0.1])], r"repeated joint names \['lift'\]"),
    ],
)
def test_refused_with_the_reason(chain, names, points, expected):
    with pytest.raises(TrajectoryError, match=expected):
        plan(chain, names, points, 0.0, REST, 0.0)


def test_an_end_that_is_as_good_as_at_rest_is_accepted(chain):
    path = plan(chain, NAMES, [Waypoint(2.0, [0.3, 0.0], [9e-7, -9e-7])], 0.0, REST, 0.0)
    assert path.end == 2.0


@pytest.mark.parametrize(("joint", "limit", "sense"), [(0, 2.0, 1.0), (0, -1.0, -1.0), (1, 0.5, 1.0)])
def test_the_limits_of_each_joint_are_kept_and_named(chain, joint, limit, sense):
    goal = np.zeros(2)
    goal[joint] = limit
    plan(chain, NAMES, [Waypoint(9.0, goal)], 0.0, Reference.at_rest(np.zeros(2)), 0.0)
    goal[joint] = limit + 1e-5 * sense
    with pytest.raises(TrajectoryError, match=f"'{NAMES[joint]}' would reach {goal[joint]:.4f}, outside"):
        plan(chain, NAMES, [Waypoint(9.0, goal)], 0.0, Reference.at_rest(np.zeros(2)), 0.0)


@pytest.mark.parametrize(("limit", "out"), [(2.0, 0.01), (-1.0, -0.01)])
def test_an_arm_just_outside_a_limit_may_stay_or_come_back_but_go_no_further(chain, limit, out):
    outside = Reference.at_rest(np.array([limit + out, 0.0]))
    for lift in (limit, limit - 5.0 * out, limit + 0.5 * out, limit + out):
        path = plan(chain, NAMES, [Waypoint(2.0, [lift, 0.0])], 0.0, outside, 0.0)
        assert path.sample(2.0).position[0] == pytest.approx(lift)
    with pytest.raises(TrajectoryError, match=r"'lift' would reach .*, outside its limits \[-1.0, 2.0\]"):
        plan(chain, NAMES, [Waypoint(2.0, [limit + 1.1 * out, 0.0])], 0.0, outside, 0.0)
    # Being outside one limit is no leave for the other one, nor for the other joint.
    with pytest.raises(TrajectoryError, match="'turn' would reach"):
        plan(chain, NAMES, [Waypoint(9.0, [limit, 0.51])], 0.0, outside, 0.0)
    with pytest.raises(TrajectoryError, match="'lift' would reach"):
        plan(chain, NAMES, [Waypoint(9.0, [1.0 - limit - out, 0.0])], 0.0, outside, 0.0)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_velocity_limit_holds_to_a_hundredth(chain, sense):
    """The fastest moment of a quintic from rest to rest is in its middle: 15/8 of the mean speed."""
    start = Reference.at_rest(np.array([0.0, -0.1 * sense]))
    goal = [0.0, 0.1 * sense]
    at_limit = 0.2 * 15.0 / 8.0 / 2.0
    plan(chain, NAMES, [Waypoint(at_limit / 1.009, goal)], 0.0, start, 0.0)
    with pytest.raises(TrajectoryError, match=r"'turn' would move at 2\.02.*; its velocity limit is 2\.0"):
        plan(chain, NAMES, [Waypoint(at_limit / 1.012, goal)], 0.0, start, 0.0)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_joint_that_is_too_fast_already_may_be_stopped(chain, sense):
    fast = Reference(np.zeros(2), np.array([0.0, 2.4 * sense]), np.zeros(2))
    path = plan(chain, NAMES, [Waypoint(0.25, [0.0, 0.3 * sense])], 0.0, fast, 0.0)
    assert path.sample(0.0).velocity[1] == pytest.approx(2.4 * sense)
    with pytest.raises(TrajectoryError, match="'lift' would"):
        plan(chain, NAMES, [Waypoint(0.25, [1.5, 0.3 * sense])], 0.0, fast, 0.0)


def test_replacements_in_motion_never_pass_the_velocity_limit(chain):
    """The limit of 2 m/s holds for the tenth replacement as for the first."""
    origin, fastest, refused = Reference.at_rest(np.array([0.0, -0.45])), 0.0, 0
    for _ in range(12):
        for seconds in np.arange(0.3, 1.2, 0.02):
            try:
                path = plan(chain, NAMES, [Waypoint(seconds, [0.0, 0.45])], 0.0, origin, 0.0)
            except TrajectoryError as error:
                assert "'turn' would" in str(error)
                refused += 1
                continue
            break
        fastest = max(fastest, *(abs(path.sample(t).velocity[1]) for t in np.linspace(0.0, path.end, 200)))
        origin = path.sample(0.3 * path.end)
    assert refused > 0
    assert 1.8 < fastest <= 1.01 * 2.0 + 1e-6


@pytest.mark.parametrize(
    ("origin", "goals", "reached"),
    [
        (3.1, [-3.1], [2.0 * np.pi - 3.1]),
        (12.9, [0.5], [0.5 + 4.0 * np.pi]),
        (0.0, [0.0, 6.28], [0.0, 6.28]),
        (-6.0, [0.1, 6.38, 0.1], [0.1 - 2.0 * np.pi, 6.38 - 2.0 * np.pi, 0.1 - 2.0 * np.pi]),
    ],
)
def test_a_continuous_joint_takes_the_shorter_way_to_its_first_waypoint(origin, goals, reached):
    """Differences between waypoints stay, so that a turn is a turn; a joint with limits is never shifted."""
    for lower, upper, expected in ((-np.inf, np.inf, reached), (-50.0, 50.0, goals)):
        joint = pendulum_chain(lower=lower, upper=upper)
        points = [Waypoint(10.0 * (k + 1), [goal]) for k, goal in enumerate(goals)]
        path = plan(joint, ["swing"], points, 0.0, Reference.at_rest(np.array([origin])), 0.0)
        found = [path.sample(10.0 * (k + 1)).position[0] for k in range(len(goals))]
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert points[0].positions[0] == goals[0]


def test_what_is_handed_over_is_neither_kept_nor_changed(chain):
    here = np.array([0.1, -0.2])
    rest = Reference.at_rest(here)
    goal, velocity = np.array([0.3, 0.1]), np.array([1e-7, 0.0])
    path = plan(chain, NAMES, [Waypoint(1.0, goal, velocity)], 0.0, rest, 0.0)
    before = path.sample(0.0).position.copy()
    here += 1.0
    goal += 1.0
    np.testing.assert_array_equal(rest.position, [0.1, -0.2])
    np.testing.assert_array_equal(path.sample(0.0).position, before)
    np.testing.assert_allclose(path.sample(1.0).position, [0.3, 0.1])
    assert velocity.tolist() == [1e-7, 0.0]
