"""Governed motions: how a stream is joined, when a goal is reached, and the segments that a core follows.

Oracles are the quintics of their end conditions, and plans whose turns are about one axis.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from motion_base import HOME
from moving_reference import TURN
from numpy.polynomial import Polynomial
from scipy.spatial.transform import Rotation
from smooth_paths import rows_at_ends

from robot_dynamics.control.stewart import governed_motion
from robot_dynamics.control.stewart.envelope import Pace
from robot_dynamics.control.stewart.governed_motion import GovernedMotion, Joining, PoseGoal, StreamGoal
from robot_dynamics.control.stewart.reference_governor import GovernedPlan, GovernedReference, PoseTarget
from robot_dynamics.control.stewart.segments import segments_along, segments_with_stop

PACE = Pace(2.0, 3.0, np.full(6, 9.0), 1.0)
MOST = np.array([2.0, 2.0, 2.0, 3.0, 3.0, 3.0])
JACOBIAN = np.random.default_rng(6).normal(size=(6, 6))
TARGET = PoseTarget(
    HOME + np.array([0.02, -0.01, 0.03]),
    TURN.as_matrix(),
    np.array([0.1, -0.2, 0.05, 0.3, -0.1, 0.2]),
    np.array([0.4, 0.3, -0.5, 0.2, 0.6, -0.3]),
    np.array([3.0, -2.0, 1.0, 4.0, -5.0, 2.0]),
)


def quintic(*ends):
    """Polynomial with value, slope and bend (3,) at 0 and (3,) at 1."""
    return Polynomial(np.linalg.solve(rows_at_ends(), ends))


WAY, RATE = quintic(1, 0, 0, 0, 0, 0), quintic(0, 1, 0, 0, 0, 0)


def test_constants_of_the_quintics_are_those_of_their_end_conditions():
    s = np.linspace(0.0, 1.0, 20001)
    assert np.abs(WAY.deriv()(s)).max() == pytest.approx(governed_motion.QUICKEST, rel=1e-6)
    assert np.abs(WAY.deriv(2)(s)).max() == pytest.approx(governed_motion.STRONGEST, rel=1e-5)
    assert np.abs(RATE.deriv(2)(s)).max() == pytest.approx(governed_motion.STRONGEST_RATE, rel=0.02)


def joining(way, rate, speed=0.4, begun=7.0):
    """From a reference that is so far from the target, and moves away at such a rate."""
    way, rate = np.array(way), np.array(rate)
    rotation = (Rotation.from_rotvec(way[3:]) * TURN).as_matrix()
    here = GovernedReference(begun, TARGET.position + way[:3], rotation, TARGET.twist + rate, np.zeros(6))
    return Joining(here, TARGET, speed, PACE, JACOBIAN)


def durations(way, rate, speed=0.4):
    """Times in which both offsets end, at 0.3 of the acceleration limits."""
    way, rate = np.array(way), np.array(rate)
    legs = np.abs(JACOBIAN @ way).max()
    return (
        max(0.5, 1.875 * legs / speed, np.sqrt(5.7735 * (np.abs(way) / MOST).max() / 0.3)),
        max(0.5, 4.0 * (np.abs(rate) / MOST).max() / 0.3),
    )


SMALL, LARGE = (
    np.array([0.01, -0.004, 0.006, 0.003, -0.008, 0.005]),
    np.array([0.2, -0.5, 0.3, 0.4, -0.1, 0.3]),
)
TURNED = np.array([0.05, 0.02, -0.03, 0.3, -0.9, 0.5])


@pytest.mark.parametrize(
    ("way", "rate", "speed"),
    [
        (SMALL, 0.1 * SMALL, 0.4),
        (LARGE, 0.2 * SMALL, 0.4),
        (TURNED, 0.2 * LARGE, 4.0),
        (LARGE, 0.2 * LARGE, 40.0),
        (TURNED, SMALL, 1e3),
        (SMALL, LARGE, 0.4),
        (SMALL, TURNED, 0.4),
    ],
)
def test_a_stream_is_joined_along_quintics_that_end_with_it(way, rate, speed):
    made = joining(way, rate, speed)
    long, short = durations(way, rate, speed)
    end = 7.0 + max(long, short)
    assert [bool(made.over(time)) for time in (7.0, end - 1e-6, end + 1e-6)] == [False, False, True]
    for t in np.linspace(0.0, 1.1 * max(long, short), 23):
        s, r = min(t / long, 1.0), min(t / short, 1.0)
        offset = way * WAY(s) + rate * short * RATE(r)
        slope = way * WAY.deriv()(s) / long + rate * RATE.deriv()(r)
        bend = way * WAY.deriv(2)(s) / long**2 + rate * RATE.deriv(2)(r) / short
        found = made.added(TARGET, 7.0 + t)
        np.testing.assert_allclose(found.position, TARGET.position + offset[:3], atol=1e-12)
        turned = Rotation.from_rotvec(offset[3:]) * TURN
        np.testing.assert_allclose(found.rotation, turned.as_matrix(), atol=1e-12)
        np.testing.assert_allclose(found.twist, TARGET.twist + slope, atol=1e-11)
        np.testing.assert_allclose(found.acceleration, TARGET.acceleration + bend, atol=1e-10)
        assert found.jerk is TARGET.jerk


def test_a_stream_that_is_reached_already_is_joined_in_half_a_second():
    made = joining(np.zeros(6), np.zeros(6), begun=0.0)
    assert [made.over(time) for time in (0.0, 0.4999, 0.5)] == [False, False, True]


class Stream:
    """A stream whose targets a test gives; None: it is interrupted."""

    def __init__(self):
        self.found, self.over, self.asked = TARGET, False, []

    def target(self, time):
        self.asked.append(time)
        return self.found

    def ended(self, time):
        self.asked.append(time)
        return self.over


def test_a_stream_goal_joins_follows_and_joins_again_after_a_gap():
    stream = Stream()
    goal = StreamGoal(stream, 0.4, JACOBIAN)
    here = GovernedReference(0.0, HOME, np.eye(3), np.full(6, 0.05), np.full(6, 0.1))
    governor = SimpleNamespace(reference=here, pace=PACE)
    assert not goal.joined
    step = 0.01
    ahead = TARGET.acceleration + 0.5 * step * TARGET.jerk
    # It begins where the reference is then.
    expected = Joining(here.at(1.0), TARGET, 0.4, PACE, JACOBIAN)
    for time in (1.0, 1.2, 1.4):
        found = goal.target(time, step, governor)
        of = expected.added(TARGET, time)
        np.testing.assert_allclose(found.position, of.position, atol=1e-14)
        np.testing.assert_allclose(found.twist, of.twist, atol=1e-14)
        np.testing.assert_allclose(
            found.acceleration, of.acceleration + ahead - TARGET.acceleration, atol=1e-12
        )
        assert not goal.joined
    for time in (30.0, 30.1):
        found = goal.target(time, step, governor)
        assert goal.joined
        np.testing.assert_array_equal(found.position, TARGET.position)
        np.testing.assert_allclose(found.acceleration, ahead, atol=1e-15)
    stream.found = None
    assert goal.target(31.0, step, governor) is None
    assert not goal.joined
    stream.found = TARGET
    again = goal.target(32.0, step, governor)
    np.testing.assert_allclose(again.position, here.at(32.0).position, atol=1e-9)
    assert not goal.joined
    assert stream.asked == [1.0, 1.2, 1.4, 30.0, 30.1, 31.0, 32.0]
    for stream.over in (True, False):
        assert goal.reached(governor, 40.0) is stream.over
    assert stream.asked[-1] == 40.0 and goal.stream is stream


@pytest.mark.parametrize(("stuck", "arrived", "reached"), [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)])
def test_a_pose_is_reached_where_the_reference_rests_there_or_no_way_leads_on(stuck, arrived, reached):
    asked = []

    def has_arrived(target):
        asked.append(target)
        return bool(arrived)

    governor = SimpleNamespace(stuck=bool(stuck), arrived=has_arrived)
    goal = PoseGoal(TARGET)
    assert goal.target(1.0, 0.01, governor) is TARGET
    assert bool(goal.reached(governor, 1.0)) is bool(reached)
    assert all(one is TARGET for one in asked)


def test_a_governed_motion_ends_when_its_goal_is_reached():
    calls = []

    class Goal:
        def target(self, time, step, governor):
            calls.append(("target", time, step, governor))
            return TARGET

        def reached(self, governor, time):
            calls.append(("reached", governor, time))
            return time > 2.0

    governor = SimpleNamespace(
        reference=SimpleNamespace(time=0.7), advance=lambda time, target: calls.append((time, target))
    )
    motion = GovernedMotion(governor, Goal())
    assert motion.end == np.inf
    motion.advance(1.5)
    assert motion.end == np.inf
    name, time, step, given = calls[0]
    assert (name, time, given) == ("target", 1.5, governor) and step == pytest.approx(0.8)
    assert calls[1] == (1.5, TARGET) and calls[2] == ("reached", governor, 1.5)
    motion.advance(2.5)
    assert motion.end == 2.5


# Segments


def level(time=2.0, yaw=0.4, twist=(0.2, -0.1, 0.3, 0.0, 0.0, 0.5), bend=(-0.5, 0.7, 0.2, 0.0, 0.0, -0.6)):
    """A reference without tilt, whose yaw is a polynomial of its own."""
    rotation = Rotation.from_rotvec([0.0, 0.0, yaw]).as_matrix()
    return GovernedReference(time, HOME, rotation, np.array(twist), np.array(bend))


def same(motion, reference, accelerations=True):
    np.testing.assert_allclose(motion.position, reference.position, atol=1e-12)
    np.testing.assert_allclose(motion.rotation, reference.rotation, atol=1e-11)
    np.testing.assert_allclose(motion.linear_velocity, reference.twist[:3], atol=1e-10)
    np.testing.assert_allclose(motion.angular_velocity, reference.twist[3:], atol=1e-10)
    if accelerations:
        np.testing.assert_allclose(motion.linear_acceleration, reference.acceleration[:3], atol=1e-8)
        np.testing.assert_allclose(motion.angular_acceleration, reference.acceleration[3:], atol=1e-8)


OTHER = np.array([0.9, -0.3, -0.8, 0.0, 0.0, 1.1])


@pytest.mark.parametrize("yaw", [0.4, 3.1])
@pytest.mark.parametrize(
    ("free", "stop", "ramp", "knots"),
    [
        (0.05, 0.25, 0.0, [0.0, 0.05, 0.05 + 0.25 / 3, 0.05 + 0.5 / 3, 0.3]),
        (0.05, 0.1, 0.0, [0.0, 0.05, 0.15]),
        (0.05, 0.1 + 1e-6, 0.0, [0.0, 0.05, 0.1 + 5e-7, 0.15 + 1e-6]),
        (0.05, 3 * 0.1, 0.0, [0.0, 0.05, 0.15, 0.25, 0.35]),
        (0.0, 0.1, 0.0, [0.0, 0.1]),
        (0.05, 0.0, 0.0, [0.0, 0.05]),
        (0.05, 0.2, 0.02, [0.0, 0.02, 0.05, 0.15, 0.25]),
        (0.05, 0.0, 0.02, [0.0, 0.02, 0.05]),
    ],
)
def test_segments_with_a_stop_are_the_plan_and_a_stop_has_pieces_of_a_tenth_of_a_second(
    yaw, free, stop, ramp, knots
):
    begin = level(yaw=yaw)
    if stop == 0.0:  # it stands then
        begin = level(yaw=yaw, twist=np.zeros(6), bend=np.zeros(6))
    bend = OTHER if stop else np.zeros(6)
    plan = GovernedPlan(begin.eased(bend, ramp), free, stop, begin if ramp else None, ramp)
    trajectory = segments_with_stop(plan)
    np.testing.assert_allclose(trajectory.spline.times - 2.0, knots, rtol=0.0, atol=1e-12)
    near = [*(np.array(knots[:-1]) + 1e-9), *np.linspace(0.001, knots[-1] - 0.001, 15)]
    for t in near:
        same(trajectory.sample(2.0 + t), plan.at(2.0 + t))
    assert not trajectory.sample(2.0 + knots[-1]).linear_velocity.any()


def test_a_stop_of_a_tilted_platform_meets_its_plan_at_the_knots():
    begin = GovernedReference(
        2.0,
        HOME,
        TURN.as_matrix(),
        np.array([0.2, -0.1, 0.3, 0.4, -0.3, 0.5]),
        np.array([0.5, 0.7, 0.2, -0.6, 0.4, 0.3]),
    )
    plan = GovernedPlan(begin, 0.05, 0.3)
    trajectory = segments_with_stop(plan)
    for time in trajectory.spline.times[:-1]:
        same(trajectory.sample(float(time) + 1e-12), plan.at(float(time) + 1e-12), accelerations=False)
        motion, of = trajectory.sample(float(time)), plan.at(float(time) + 1e-9)
        np.testing.assert_allclose(motion.linear_acceleration, of.acceleration[:3], atol=1e-6)
        np.testing.assert_allclose(motion.angular_acceleration, of.acceleration[3:], atol=1e-6)


def test_segments_along_references_keep_each_acceleration_until_the_next_one():
    """Each reference is where the one before leads; yaw goes on across half a turn."""
    references = [level(yaw=2.9)]
    for k, bend in enumerate(([0.3, 0.1, -0.2, 0.0, 0.0, 0.7], [-0.4, 0.2, 0.6, 0.0, 0.0, 0.5])):
        references.append(references[-1].at(2.3 + 0.4 * k).accelerated(np.array(bend)))
    trajectory = segments_along(references)
    np.testing.assert_array_equal(trajectory.spline.times, [one.time for one in references])
    for time in (2.0, 2.1, 2.29, 2.31, 2.5, 2.69):
        of = references[0] if time < 2.3 else references[1]
        same(trajectory.sample(time), of.at(time))
    assert abs(trajectory.spline.sample(2.69)[0][5]) > np.pi
