"""Targets that a stream of joints takes, refuses, forgets or begins anew with; its pauses and reports."""

import numpy as np
import pytest
from arms import STREAM_LIMITS, pendulum_chain, two_joint_chain

from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.stream import (
    PAUSE,
    JointStream,
    StreamParameters,
)
from robot_dynamics.control.arm.trajectory import Reference, Trajectory
from robot_dynamics.control.protocol import PlanStart
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.parameters import describe

STEP = 0.03125
"""Time between two targets [s]; a whole power of two, so that sums of it are exact."""
NAMES = ("lift", "turn")
NAN = float("nan")


def table(place, time=0.0625, velocity=(NAN, NAN)):
    rows = [np.array([row]) for row in (place, velocity, np.full(len(place), NAN))]
    return WaypointTable(np.array([time]), *rows)


def begins(now, origin=(0.1, -0.2), start=None):
    return PlanStart(now if start is None else start, now, Reference.at_rest(np.array(origin)), 0)


class Sent:
    """A stream and the time at which the next target is sent."""

    def __init__(self, chain=None):
        self.stream, self.now = JointStream(chain or two_joint_chain()), 8.0

    def add(self, place=(0.1, -0.2), step=STEP, order=(0, 1), velocity=(NAN, NAN), time=0.0625, start=None):
        self.now += step
        return self.stream.add(table(place, time, velocity), order, begins(self.now, start=start))

    def plan(self, given, start=None, names=NAMES, rules=None, horizon=0.25):
        begin = begins(self.now, start=start)
        return self.stream.plan(names, given, begin, rules or PathRules(), horizon, STREAM_LIMITS)

    def flow(self, count=7):
        return [self.add() for _ in range(count)]

    @property
    def count(self):
        return self.stream._filter.count


def test_the_sixth_target_in_a_row_makes_a_stream_that_comes_until_a_pause_of_half_a_second():
    sent = Sent()
    assert sent.stream.last(8.0) is None and not sent.stream.coming(8.0)
    assert sent.flow(7) == [False] * 5 + [True] * 2
    stream, now = sent.stream, sent.now
    for later, comes in (
        (0.0, True),
        (0.4375, True),
        (0.5, False),
        (0.75, False),
        (1.25, False),
        (-0.125, False),
    ):
        assert stream.coming(now + later) is comes
        found = stream.last(now + later)
        assert (found is not None) is comes
        assert not comes or found.tolist() == [0.1, -0.2]
    fewer = Sent()
    fewer.flow(5)
    assert not fewer.stream.coming(fewer.now) and fewer.stream.last(fewer.now).tolist() == [0.1, -0.2]
    stream.clear()
    assert not stream.coming(now) and stream.last(now) is None


def test_a_command_bars_a_stream_that_comes_until_half_a_second_without_targets():
    sent = Sent()
    sent.flow(4)
    sent.stream.end("a hold", sent.now)
    assert sent.flow(6)[-1]  # there was no stream yet
    sent.stream.end("a hold", sent.now)
    for step in (0.0, STEP, 0.4375, 0.4375):  # each refused target counts as one
        with pytest.raises(
            TrajectoryError, match=r"^a hold has ended this stream; pause it for 0\.5 s to begin anew$"
        ):
            sent.add(step=step)
    assert sent.count == 0
    assert not sent.add(step=0.5) and sent.count == 1
    sent.flow(5)
    sent.stream.end("a hold", sent.now + 0.5)  # it came no more
    assert sent.add() is False
    sent.stream.refuse("a stop", sent.now + 0.25)
    with pytest.raises(TrajectoryError, match=r"^a stop has ended"):
        sent.add(step=0.625)  # less than half a second after the refusal
    for back in (5.0, 0.5):  # a clock that went back is a pause
        sent.stream.refuse("a stop", sent.now + back)
        assert sent.add() is False


@pytest.mark.parametrize(
    ("time", "horizon", "lead", "taken"),
    [
        (0.125, 0.125, 0.0, True),
        (0.126, 0.125, 0.0, False),
        (0.0, 0.125, 0.0, True),
        (0.0625, 0.0, 0.0, False),
        (0.0625, -1.0, 0.0, False),
        (0.0625, 0.5, 0.4375, True),
        (0.0625, 0.5, 0.4377, False),
        (0.0625, 0.5, -0.3124, True),
        (0.0625, 0.5, -0.3125, False),
        (1.25, 0.25, 0.0, False),
    ],
)
def test_a_point_belongs_to_a_stream_within_the_horizon_and_a_quarter_of_a_second_past(
    time, horizon, lead, taken
):
    sent = Sent()
    assert sent.plan(table((0.1, -0.2), time), sent.now + lead, horizon=horizon) is None
    assert sent.count == taken


@pytest.mark.parametrize("case", ["two points", "beyond the horizon", "no horizon"])
def test_a_trajectory_ends_a_stream(case):
    sent = Sent()
    sent.flow()
    two = WaypointTable(np.array([0.0625, 0.1]), *(np.array([[0.1, -0.2], [NAN, NAN]]),) * 3)
    given = {"two points": two, "beyond the horizon": table((0.1, -0.2), 0.3)}.get(case, table((0.1, -0.2)))
    assert sent.plan(given, horizon=0.0 if case == "no horizon" else 0.25) is None
    with pytest.raises(TrajectoryError, match=r"^a trajectory has ended this stream"):
        sent.add()


def test_targets_of_some_joints_are_none_of_a_stream():
    sent = Sent()
    sent.flow()
    count = sent.count
    assert sent.plan(table((0.3,)), names=["turn"], rules=PathRules(partial=True)) is None
    assert sent.count == count and sent.stream.coming(sent.now)


def test_a_planned_stream_is_reported_with_its_rate_until_such_a_plan_is_accepted():
    sent = Sent()
    for _ in range(6):
        sent.now += STEP
        assert sent.plan(table((-0.2, 0.1)), names=NAMES[::-1], start=sent.now) is None or sent.count == 6
    report = (
        "targets of one point come at 32.000 Hz, each before the motion to the one before ends: they are"
        " followed as a stream, smoothed"
    )
    stream = sent.stream
    for _ in range(2):
        sent.now += STEP
        planned = sent.plan(table((-0.2, 0.1)), names=NAMES[::-1])
        assert planned.streamed and planned.remarks == (report,)
        assert (planned.stretch, planned.joints, planned.start) == (1.0, (), sent.now)
        np.testing.assert_allclose(planned.sample(sent.now + 0.05).position, [0.1, -0.2], atol=1e-9)
    stream.accepted(Trajectory(planned.spline, ("a remark",)))
    stream.accepted(Trajectory(planned.spline, (), streamed=True))
    sent.now += STEP
    assert sent.plan(table((-0.2, 0.1)), names=NAMES[::-1]).remarks == (report,)
    stream.accepted(planned)
    for other in (planned, Trajectory(planned.spline, ()), Trajectory(planned.spline, (), streamed=True)):
        stream.accepted(other)
        sent.now += STEP
        assert sent.plan(table((-0.2, 0.1)), names=NAMES[::-1]).remarks == ()
    stream.clear()
    sent.flow(6)
    assert len(stream._remark()) == 1


def test_a_table_that_is_planned_again_is_taken_once():
    sent = Sent()
    sent.flow(5)
    same = table((0.1, -0.2))
    begin = begins(sent.now + STEP)
    assert sent.stream.add(same, (0, 1), begin) and sent.count == 6
    later = begins(begin.now + 0.125)
    assert sent.stream.add(same, (0, 1), later) and sent.count == 6
    assert sent.stream._filter.latest == pytest.approx(begin.now + 0.0625, abs=1e-3)
    assert sent.stream.coming(later.now + 0.4375)
    alone = Sent()
    assert not alone.stream.add(same, (0, 1), begin) and not alone.stream.add(same, (0, 1), begin)
    assert alone.count == 1


@pytest.mark.parametrize(
    ("step", "kept"), [(0.0, False), (-0.01, False), (0.02, True), (0.24, True), (0.25, False), (0.7, False)]
)
def test_a_target_that_is_not_newer_or_comes_after_a_gap_begins_anew(step, kept):
    sent = Sent()
    sent.flow(3)
    due = sent.now + 0.0625 + step
    sent.stream.add(table((0.1, -0.2), 0.0625), (0, 1), begins(sent.now, start=due - 0.0625))
    assert sent.count == (4 if kept else 1)
    ready = Sent()
    ready.flow(8)
    assert ready.stream._filter.gap == 4.5 * STEP
    stamp = ready.now + min(step, 0.5) * 4.5 * STEP / 0.25
    ready.stream.add(table((0.1, -0.2), 0.0625), (0, 1), begins(ready.now, start=stamp))
    assert ready.count == (9 if kept else 1)


@pytest.mark.parametrize("change", [0.047, 0.053, -0.047, -0.053])
@pytest.mark.parametrize("stamped", [False, True])
def test_targets_that_are_suddenly_farther_ahead_begin_anew_unless_they_are_stamped(change, stamped):
    sent = Sent()
    for _ in range(3):
        sent.add(time=0.125, step=0.0625)
    start = sent.now + 0.0625 + 1e-3 if stamped else None
    sent.add(time=0.125 + change, step=0.0625, start=start)
    assert sent.count == (1 if abs(change) > 0.05 and not stamped else 4)


def test_the_first_lead_is_compared_with_none():
    """A first target far ahead, and those after it with the same lead."""
    sent = Sent()
    for k in range(6):
        assert sent.add(time=0.25) is (k == 5)
        assert sent.count == k + 1
    assert sent.stream._horizon == 0.25
    sent.add(time=0.225)
    assert sent.stream._horizon == pytest.approx(0.225)
    sent.add(time=0.24)
    assert sent.stream._horizon == pytest.approx(0.225)


@pytest.mark.parametrize(("joint", "sense"), [(0, 1.0), (1, -1.0)])
def test_a_target_farther_than_three_times_the_velocity_limit_is_out_of_reach(joint, sense):
    """lift: 3 rad/s, turn: 2 m/s; each in 1/32 s."""
    way = np.zeros(2)
    way[joint] = sense * 3.0 * (3.0, 2.0)[joint] * STEP
    for factor, far in ((0.999, False), (1.001, True)):
        sent = Sent()
        sent.flow(3)
        assert not sent.add(np.array([0.1, -0.2]) + factor * way) and sent.count == (1 if far else 4)
        sent = Sent()
        sent.flow(8)
        if far:
            with pytest.raises(
                TrajectoryError, match=r"^the target is out of reach of the one before it in its stream$"
            ):
                sent.add(np.array([0.1, -0.2]) + factor * way)
        else:
            assert sent.add(np.array([0.1, -0.2]) + factor * way)
    # One that comes early has the time of a period; the first target may be anywhere.
    sent = Sent()
    sent.add((1.9, 0.4))
    sent.flow(8)
    early = begins(sent.now + STEP, start=sent.now + 0.5 * STEP)
    assert sent.stream.add(table(np.array([0.1, -0.2]) + 0.9 * way), (0, 1), early)


def test_joints_are_ordered_and_velocities_count_where_all_have_one():
    sent = Sent()
    sent.add((-0.3, 0.7), order=(1, 0), velocity=(0.4, -0.5))
    sample = sent.stream._filter.last
    assert sample.position.tolist() == [0.7, -0.3] and sample.velocity.tolist() == [-0.5, 0.4]
    sent.add((-0.3, 0.7), order=(1, 0), velocity=(NAN, -0.5))
    assert sent.stream._filter.last.velocity is None
    sent.add((-0.3, 0.7), order=(1, 0), velocity=(0.5, NAN))
    assert sent.stream._filter.last.velocity is None


def test_a_continuous_joint_goes_on_from_the_target_before_and_begins_at_the_arm():
    """Whole turns bring a target nearest the one before it, and the first one nearest the reference."""
    turning = pendulum_chain(lower=-np.inf, upper=np.inf)
    stream = JointStream(turning)
    origin = Reference.at_rest(np.array([12.5]))
    places = []
    for k, given in enumerate((-0.1, 0.02, 0.1, 0.2 + 4.0 * np.pi)):
        now = 2.0 + STEP * k
        stream.add(table((given,), 0.0625, (NAN,)), (0,), PlanStart(now, now, origin, 0))
        places.append(stream._filter.last.position[0])
        origin = Reference.at_rest(np.array([50.0]))
    np.testing.assert_allclose(places, 4.0 * np.pi + np.array([-0.1, 0.02, 0.1, 0.2]))


@pytest.mark.parametrize("stamped", [False, True])
def test_stamped_targets_keep_their_times_and_others_are_smoothed_over_the_ticks(stamped):
    """Arrivals with jitter of 4 ms about a clock of 32 Hz."""
    random, sent, off = np.random.default_rng(6), Sent(), []
    for k in range(60):
        now = 4.0 + STEP * k + (0.0 if stamped else 0.004 * random.random())
        due = 4.0 + STEP * k + 0.0625 + (0.004 * random.random() if stamped else 0.0)
        place = (0.5 * np.sin(2.0 * STEP * k), 0.1)
        start = due - 0.0625 if stamped else now
        sent.stream.add(table(place), (0, 1), begins(now, start=start))
        off.append(sent.stream._filter.latest - ((due - 0.0625 if stamped else now) + 0.0625))
    if stamped:
        np.testing.assert_allclose(off, 0.0, atol=1e-12)
    else:
        assert np.abs(off[30:]).max() > 3e-4


def trajectory(start, end, **more):
    return Trajectory(QuinticSpline(np.array([start, end]), np.zeros((1, 6, 2))), **more)


REPLACED = (
    "6 trajectories in a row have been replaced before they ended: wait for their end, or send targets of"
    " one point within 0.25 s as a stream"
)


def test_the_sixth_replacement_in_a_row_is_remarked_once():
    stream = JointStream(two_joint_chain())
    seen = []
    for k in range(9):
        sent = trajectory(float(k), k + 2.0, remarks=("own",))
        found = stream.remarked(sent)
        seen.append(found.remarks)
        stream.accepted(found)
    assert seen == [("own",)] * 6 + [("own", REPLACED)] + [("own",)] * 2


@pytest.mark.parametrize("between", ["after the end", "at the end", "beside"])
def test_a_trajectory_that_ends_or_goes_beside_another_begins_the_count_anew(between):
    stream = JointStream(two_joint_chain())
    for k in range(6):
        stream.accepted(trajectory(float(k), k + 2.0))
    assert stream.remarked(trajectory(6.0, 8.0)).remarks == (REPLACED,)
    for start in (7.0, 7.5):  # it is after the last one: that one has ended
        assert stream.remarked(trajectory(start, 9.0)).remarks == ()
    start = {"after the end": 7.5, "at the end": 7.0, "beside": 6.5}[between]
    more = {"carried": (trajectory(0.0, 9.0),)} if between == "beside" else {}
    stream.accepted(trajectory(start, start + 2.0, **more))
    for k in range(5):
        assert stream.remarked(trajectory(start + k + 1.0, 99.0)).remarks == ()
        stream.accepted(trajectory(start + k + 1.0, start + k + 3.0))
    assert stream.remarked(trajectory(start + 6.0, 99.0)).remarks == (REPLACED,)


def test_streams_are_recognized_by_default_up_to_a_quarter_of_a_second():
    [horizon] = describe(StreamParameters)
    assert (horizon.name, horizon.unit, horizon.default) == ("stream_horizon", "s", 0.0)
    assert (horizon.minimum, horizon.maximum) == (-1.0, 0.25)
    assert "when 6 of them come in a row; 0: 0.25; -1" in horizon.text
    assert StreamParameters().stream_horizon == 0.0 and StreamParameters(-1).stream_horizon == -1.0
    with pytest.raises(ParameterError, match=r"'stream_horizon' is -1\.5 s; it must be -1 to 0\.25 s"):
        StreamParameters(-1.5)
    assert PAUSE == 0.5
