"""Plans of some joints, limits on the way, overshoots and whole turns: each with its words and numbers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from arms import pendulum_chain, two_joint_chain, with_limits
from smooth_paths import rest_to_rest

from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.trajectory import (
    ANY_PATH,
    Reference,
    Trajectory,
    _braking,
    _check_end,
    _check_limits,
    _resting_but,
    overshoots,
    path_of,
    plan,
    turns,
    whole_turns,
)
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import JointKind, JointLimits

NAMES = ["lift", "turn"]
PARTIAL = PathRules(partial=True)
BACK = ", outside its limits [-1.0, 2.0]: from outside only a way back into them is followed"
MOVING = Reference(np.array([0.1, -0.2]), np.array([0.3, -0.1]), np.array([0.4, -0.6]))


def spline(start, *rows):
    """A path of one second with coefficients of each joint."""
    return QuinticSpline(np.array([start, start + 1.0]), np.array(rows, dtype=float).T[None])


def test_a_trajectory_begins_and_ends_on_the_clock_and_rests_beyond():
    sent = Trajectory(spline(3.0, [0.1, 0.2, 0.3, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0, 0.0, 0.7]))
    assert (sent.start, sent.end, sent.arrival) == (3.0, 4.0, 4.0)
    assert replace(sent, until=3.5).arrival == 3.5 and replace(sent, until=9.0).arrival == 4.0
    assert (sent.remarks, sent.stretch, sent.streamed, sent.joints) == ((), 1.0, False, ())
    assert (sent.until, sent.carried, sent.untested) == (np.inf, (), "")
    at = sent.sample(3.5)
    np.testing.assert_allclose(at.position, [0.275, 0.5 + 0.7 / 32.0])
    np.testing.assert_allclose(at.velocity, [0.5, 3.5 / 16.0])
    np.testing.assert_allclose(at.acceleration, [0.6, 14.0 / 8.0])
    just = sent.sample(np.nextafter(4.0, 0.0))
    assert just.velocity[0] == pytest.approx(0.8)
    for time in (4.0, 5.0):
        rest = sent.sample(time)
        np.testing.assert_allclose(rest.position, [0.6, 1.2])
        assert not rest.velocity.any() and not rest.acceleration.any()


def test_references_compare_and_show_their_fields():
    given = Reference(1.0, 2.0, 3.0)
    assert (given.position, given.velocity, given.acceleration) == (1.0, 2.0, 3.0)
    assert given == Reference(1.0, 2.0, 3.0) and given != Reference(1.0, 2.0, 4.0)
    assert repr(given) == "Reference(position=1.0, velocity=2.0, acceleration=3.0)"
    assert hash(given) == hash(Reference(1.0, 2.0, 3.0))
    with pytest.raises(AttributeError):
        given.position = 2.0
    rest = given.at_rest([1, 2])
    assert [row.tolist() for row in vars(rest).values()] == [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]


def test_joints_that_are_left_out_rest_where_they_are(chain):
    moved = _resting_but([1], MOVING)
    assert moved.position is MOVING.position
    assert (moved.velocity.tolist(), moved.acceleration.tolist()) == ([0.0, -0.1], [0.0, -0.6])
    planned = plan(
        chain,
        ["turn"],
        [Waypoint(1.0, [0.1]), Waypoint(2.5, [0.3])],
        4.0,
        Reference.at_rest([0.4, -0.2]),
        4.0,
        PARTIAL,
    )
    assert planned.joints == (1,) and planned.arrival == planned.end == 6.5 and planned.carried == ()
    for time, turn in ((4.0, -0.2), (5.0, 0.1), (6.5, 0.3)):
        np.testing.assert_allclose(planned.sample(time).position, [0.4, turn], atol=1e-12)
    whole = plan(
        chain, NAMES[::-1], [Waypoint(1.0, [0.1, 0.2])], 4.0, Reference.at_rest([0.4, -0.2]), 4.0, PARTIAL
    )
    assert (whole.joints, whole.until) == ((), np.inf)


def test_what_is_left_out_goes_on_and_what_is_named_arrives_first(chain):
    """turn leaves its motion for two waypoints; lift ends the long motion that it had."""
    rest = Reference.at_rest(np.array([0.1, -0.2]))
    long = plan(chain, NAMES, [Waypoint(8.0, [1.0, 0.3])], 0.0, rest, 0.0)
    at = long.sample(2.0)
    points = [Waypoint(1.0, [0.0]), Waypoint(2.5, [-0.3])]
    short = plan(chain, ["turn"], points, 1.5, at, 2.0, PARTIAL, queue=(long,))
    assert (short.start, short.until, short.end) == (2.0, 4.0, 8.0)
    assert (short.arrival, short.joints, short.carried) == (4.0, (1,), ())
    for time in (2.0, 2.3, 3.9, 5.0, 8.0):
        assert short.sample(time).position[0] == pytest.approx(long.sample(time).position[0], abs=1e-9)
    alone = path_of(chain, ["turn"], points, 1.5, _resting_but([1], at), 2.0, PARTIAL)
    for time in (2.0, 2.2, 2.5, 3.1, 4.0):
        assert short.sample(time).position[1] == pytest.approx(alone.sample(time)[0][1], abs=1e-9)
    assert short.sample(2.0).velocity[1] == pytest.approx(at.velocity[1], abs=1e-9)
    third = plan(
        chain, ["lift"], [Waypoint(1.0, [0.5])], 3.0, short.sample(3.0), 3.0, PARTIAL, queue=(short, long)
    )
    assert third.carried == (short,) and third.joints == (0,)
    # All joints are named: nothing goes on.
    whole = plan(chain, NAMES, [Waypoint(1.0, [0.5, 0.0])], 3.0, short.sample(3.0), 3.0, queue=(short, long))
    assert (whole.carried, whole.joints, whole.end) == ((), (), 4.0)


def test_another_timing_is_checked_and_its_stretch_is_told(chain):
    rest = Reference.at_rest(np.zeros(2))
    points = [Waypoint(0.1, [0.9, 0.2])]
    with pytest.raises(TrajectoryError, match="'lift' would move at"):
        plan(chain, NAMES, points, 1.0, rest, 1.0)

    def slower(path):
        return QuinticSpline(path.times[0] + 8.0 * (path.times - path.times[0]), path.coefficients)

    planned = plan(chain, NAMES, points, 1.0, rest, 1.0, retiming=slower)
    assert planned.stretch == pytest.approx(8.0) and planned.end == pytest.approx(1.8)
    assert plan(chain, NAMES, [Waypoint(2.0, [0.9, 0.2])], 1.0, rest, 1.0).stretch == 1.0
    limited = PathRules(acceleration={"lift": 0.1})
    with pytest.raises(TrajectoryError, match="lift"):
        plan(chain, NAMES, [Waypoint(2.0, [0.9, 0.2])], 1.0, rest, 1.0, limited)


def test_a_moving_start_brakes_as_hard_as_efforts_and_rules_allow(chain):
    asked = []

    def stopping(position, velocity):
        asked.append((position.tolist(), velocity.tolist()))
        return np.array([5.0, 7.0])

    assert _braking(chain, MOVING, ANY_PATH, stopping).tolist() == [5.0, 7.0]
    assert asked == [([0.1, -0.2], [0.3, -0.1])]
    rules = PathRules(acceleration={"turn": 2.0, "lift": 9.0})
    assert _braking(chain, MOVING, rules, stopping).tolist() == [5.0, 2.0]
    one = PathRules(acceleration={"turn": 2.0})
    still = Reference(np.zeros(2), np.zeros(2), np.array([0.4, -0.6]))
    asked.clear()
    assert _braking(chain, still, one, stopping).tolist() == [0.4, 2.0] and not asked
    slow = Reference(np.zeros(2), np.array([0.0, 0.1]), np.zeros(2))
    assert _braking(chain, slow, ANY_PATH, stopping).tolist() == [5.0, 7.0]


def test_the_widest_overshoot_of_each_joint_is_remarked():
    """Parabolas that leave the interval between their ends."""
    rows = np.zeros((3, 6, 3))
    rows[0, :3, 0] = [0.0, -0.4, 0.4]  # to -0.1 and back: 0.1 below
    rows[2, :3, 0] = [0.0, 0.8, -0.8]  # 0.2 above
    rows[1, :3, 2] = [1.0, -0.6, 0.6]  # 0.15 below
    rows[:, 1, 1] = 0.5  # straight
    path = QuinticSpline(np.array([2.0, 2.5, 4.0, 4.25]), rows)
    first, second = overshoots(("a", "b", "c"), path)
    pattern = (
        "joint {} goes {} rad or m beyond its waypoints between {} s and {} s: the velocities or"
        " accelerations given there force it"
    )
    assert first == pattern.format("'a'", "0.2000", "2.000", "2.250")
    assert second == pattern.format("'c'", "0.1500", "0.500", "2.000")
    assert overshoots(("a", "b", "c"), QuinticSpline(path.times, 0.004 * rows)) == ()


def test_an_overshoot_is_compared_with_the_distance_of_its_waypoints():
    """Of 3.75 rad 0.075 are allowed: a path -1.25 s + 5 s² goes back by 0.0781."""
    rows = np.zeros((1, 6, 1))
    rows[0, 1:3, 0] = [-1.25, 5.0]
    [remark] = overshoots(("a",), QuinticSpline(np.array([2.0, 3.0]), rows))
    assert remark.startswith(
        "joint 'a' goes 0.0781 rad or m beyond its waypoints between 0.000 s and 1.000 s"
    )
    rows[0, 1:3, 0] = [-1.25, 5.5]
    assert overshoots(("a",), QuinticSpline(np.array([2.0, 3.0]), rows)) == ()


def test_turns_belong_to_joints_that_turn_without_limits_and_alone():
    unlimited = pendulum_chain(lower=-np.inf, upper=np.inf)
    [joint] = unlimited.joints
    assert turns(unlimited).tolist() == [2.0 * np.pi]
    for lower, upper in ((-np.inf, 9.0), (-9.0, np.inf), (-9.0, 9.0)):
        assert turns(pendulum_chain(lower=lower, upper=upper)).tolist() == [0.0]
    sliding = replace(joint, kind=JointKind.PRISMATIC)
    for joints, turn in (
        ((sliding,), 0.0),
        ((joint, joint), 0.0),
        ((joint, replace(joint, coordinate=1)), 2.0 * np.pi),
    ):
        chain = SimpleNamespace(dof=1, joints=joints, driving_joint=lambda j, joints=joints: joints[0])
        assert turns(chain).tolist() == [turn]
    shift = whole_turns(unlimited, np.array([0.5]), np.array([0.5 + 4.0 * np.pi + 3.0]))
    assert shift[0] == pytest.approx(4.0 * np.pi)
    assert whole_turns(unlimited, np.array([0.5]), np.array([0.5 - 3.3]))[0] == pytest.approx(-2.0 * np.pi)
    assert whole_turns(pendulum_chain(), np.array([0.5]), np.array([20.0])).tolist() == [0.0]


def test_each_joint_takes_its_own_turns_in_its_own_order():
    """Two joints, of which the second is continuous, in a trajectory that names it first."""
    chain = two_joint_chain()
    free = JointLimits(-np.inf, np.inf, 9.0, 40.0)
    second = replace(chain.joints[1], kind=JointKind.REVOLUTE, limits=free)
    chain = replace(chain, joints=(chain.joints[0], second))
    origin = Reference.at_rest(np.array([0.2, 12.0]))
    planned = plan(
        chain, NAMES[::-1], [Waypoint(5.0, [0.1, 0.3]), Waypoint(9.0, [0.4, 0.1])], 0.0, origin, 0.0
    )
    np.testing.assert_allclose(planned.sample(5.0).position, [0.3, 0.1 + 4.0 * np.pi])
    np.testing.assert_allclose(planned.sample(9.0).position, [0.1, 0.4 + 4.0 * np.pi])


def test_the_end_is_at_rest(chain):
    velocities, accelerations = np.array([np.nan, 1e-6]), np.array([np.nan, 5.0])
    _check_end(velocities, accelerations, chain)
    assert velocities.tolist() == [0.0, 1e-6] and accelerations.tolist() == [0.0, 5.0]
    for value in (1.5e-6, -0.25):
        with pytest.raises(TrajectoryError) as told:
            _check_end(np.array([0.0, value]), np.zeros(2), chain)
        assert str(told.value) == (
            f"the last waypoint moves joint 'turn' at {value} (rad/s or m/s); a trajectory must end at rest"
        )


def limited(chain, rows, origin):
    try:
        _check_limits(chain, spline(2.0, *rows), origin)
    except TrajectoryError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("lift", "turn", "words"),
    [
        ((0.0, 2.0 + 0.9e-6), (0.0, 0.5 + 0.9e-6), ""),
        ((0.0, -1.0 - 0.9e-6), (0.0, -0.5 - 0.9e-6), ""),
        ((0.0, 2.0 + 1.5e-6), (0.0, 0.0), "joint 'lift' would reach 2.0000, outside its limits [-1.0, 2.0]"),
        ((0.0, 1.0), (0.0, -0.51234), "joint 'turn' would reach -0.5123, outside its limits [-0.5, 0.5]"),
        ((0.0, 1.0), (0.0, 0.51234), "joint 'turn' would reach 0.5123, outside its limits [-0.5, 0.5]"),
        ((2.5, 2.1), (0.0, 0.0), "joint 'lift' would end at 2.1000" + BACK),
        ((-1.5, -1.1), (0.0, 0.0), "joint 'lift' would end at -1.1000" + BACK),
        ((2.5, 2.0), (0.0, 0.0), ""),
        ((-1.5, -1.0), (0.0, 0.0), ""),
        ((2.5, 2.4801), (0.0, 0.0), ""),
        ((2.5, 2.4799), (0.0, 0.0), "joint 'lift' would end at 2.4799" + BACK),
        ((-1.5, -1.4801), (0.0, 0.0), ""),
        ((2.5, 2.5000009), (0.0, 0.0), ""),
        ((2.5, 2.500002), (0.0, 0.0), "joint 'lift' would reach 2.5000, outside its limits [-1.0, 2.0]"),
    ],
)  # fmt: skip
def test_positions_stay_within_the_limits_or_come_back(chain, lift, turn, words):
    origin = Reference.at_rest(np.array([lift[0], turn[0]]))
    assert (
        limited(with_limits(chain, velocity=99.0), (rest_to_rest(*lift), rest_to_rest(*turn)), origin)
        == words
    )


def test_the_end_of_the_last_segment_counts(chain):
    """From 2.5 by way of 2.1 into the limits."""
    rows = np.zeros((2, 6, 2))
    rows[0, :, 0], rows[1, :, 0] = rest_to_rest(2.5, 2.1), rest_to_rest(2.1, 1.9)
    path = QuinticSpline(np.array([2.0, 3.0, 4.0]), rows)
    _check_limits(with_limits(chain, velocity=99.0), path, Reference.at_rest([2.5, 0.0]))


@pytest.mark.parametrize(
    ("speed", "before", "words"),
    [
        (2.019, 0.0, ""),
        (2.021, 0.0, "joint 'turn' would move at 2.0210; its velocity limit is 2.0"),
        (-2.021, 0.0, "joint 'turn' would move at 2.0210; its velocity limit is 2.0"),
        (2.5, 2.5, ""),
        (2.5, -2.5, ""),
        (2.5, 2.49, "joint 'turn' would move at 2.5000; its velocity limit is 2.0"),
        (1.9, 0.5, ""),
    ],
)
def test_velocities_stay_within_the_limit_or_what_they_are(chain, speed, before, words):
    origin = Reference(np.zeros(2), np.array([0.0, before]), np.zeros(2))
    wide = with_limits(chain, 1, lower=-9.0, upper=9.0)
    assert limited(wide, ([0.0] * 6, [0.0, speed, 0.0, 0.0, 0.0, 0.0]), origin) == words
