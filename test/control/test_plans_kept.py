"""Plans on their way into a core: what is kept, followed and refused, for pictures of a core made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.core import plans as keeping
from robot_dynamics.control.core.library import array_at, ffi
from robot_dynamics.control.core.plans import PLAN_WAITS, QUEUE_FULL, Plans, along_a_spline, plan_value
from robot_dynamics.control.core.snapshot import PHASES, VERDICTS
from robot_dynamics.control.protocol import LATCHED, VOID, Phase, Planned, late
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import TrajectoryError


def followed(start, end, joints=2, **more):
    """A trajectory whose sample is its name and the time."""
    path = QuinticSpline(np.array([start, end]), np.arange(6.0 * joints).reshape(1, 6, joints))
    return SimpleNamespace(start=start, end=end, spline=path, sample=lambda time: (start, time), **more)


class Core:
    """A core by its picture; it notes what is handed over."""

    def __init__(self):
        self.picture = SimpleNamespace(
            phase=PHASES.index(Phase.TRACKING), epoch=5, time=10.0, considered=0, waiting=(), current=0,
            finished=0, oldest_plan=0, rests=0.0, verdict=VERDICTS.index("accepted"), late=0.0,
            trip=SimpleNamespace(latched=False),
        )  # fmt: skip
        self.offered, self.withdrawn, self.taken = [], [], 0
        self.hold = np.array([0.7, -0.7])
        self.motion = np.array([[1.0, 2.0], [0.5, -0.25], [-0.125, 0.0625]])
        self.plans = Plans(self, "core", 2, self, lambda *coordinates: coordinates, self.take)

    def read(self):
        return SimpleNamespace(**vars(self.picture))

    def take(self):
        self.taken += 1
        self.picture.considered = self.plans.last

    def rd_core_offer_plan(self, core, plan):
        self.offered.append((core, plan))

    def rd_core_withdraw_plan(self, core, number):
        self.withdrawn.append((core, number))
        return len(self.withdrawn) == 1

    def accept(self, trajectory, epoch=5, **more):
        return self.plans.accept(Planned(trajectory, epoch), **more)


def test_a_plan_is_handed_over_with_its_number_its_epoch_and_its_quintics():
    core, trajectory = Core(), followed(11.0, 12.0)
    core.picture.considered, core.picture.epoch = 3, 5
    assert core.accept(trajectory) == ""
    (name, plan), path = core.offered[0], trajectory.spline
    assert name == "core"
    assert (plan.number, plan.epoch, plan.continues, plan.knots) == (4, 5, 0, 2)
    assert (plan.while_latched, plan.exact) == (0, 0)
    np.testing.assert_array_equal(array_at(plan.times, 2), path.times)
    np.testing.assert_array_equal(array_at(plan.coefficients, 12), path.coefficients.ravel())
    assert core.plans.last == 4 and len(core.plans) == 1


def test_plans_that_are_not_streamed_are_exact_and_may_continue_another_during_a_stop():
    core = Core()
    core.picture.trip.latched = True
    assert core.accept(followed(11.0, 12.0)) == LATCHED and not core.offered
    assert core.accept(followed(11.0, 12.0, streamed=False), continues=9, while_latched=True) == ""
    plan = core.offered[0][1]
    assert (plan.continues, plan.while_latched, plan.exact) == (9, 1, 1)
    assert core.accept(followed(11.0, 12.0, streamed=True), at_once=True, while_latched=True) == ""
    assert core.offered[1][1].exact == 0
    bare, arrays = plan_value(followed(1.0, 2.0).spline, 7, 8, 6)
    assert (bare.number, bare.epoch, bare.continues, bare.while_latched, bare.exact) == (7, 8, 6, 0, 0)
    assert ffi().cast("double *", arrays[0]) == bare.times


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        (SimpleNamespace(start=11.0), "this controller follows planned trajectories along quintics only"),
        (SimpleNamespace(spline=3), "this controller follows planned trajectories along quintics only"),
        (followed(11.0, 12.0, joints=3), "the plan moves 3 coordinates; this machine has 2"),
    ],
)
def test_plans_of_other_machines_are_refused(trajectory, message):
    with pytest.raises(TrajectoryError) as found:
        Core().accept(trajectory)
    assert str(found.value) == message
    assert not along_a_spline(SimpleNamespace()) and along_a_spline(followed(1.0, 2.0))


def test_plans_of_an_epoch_that_is_over_are_void():
    core = Core()
    assert core.accept(followed(11.0, 12.0), epoch=4) == VOID
    core.picture.phase = PHASES.index(Phase.STALE)
    assert core.accept(followed(11.0, 12.0)) == VOID
    core.picture.phase = PHASES.index(Phase.HOLDING)
    assert core.accept(followed(11.0, 12.0)) == ""
    assert core.plans.epoch(core.read()) == 6  # the one that waits ends an epoch
    assert core.accept(followed(11.5, 12.0)) == VOID
    core.plans.considered()
    assert core.plans.epoch(core.read()) == 5
    assert core.accept(followed(11.5, 12.0), continues=1) == ""
    assert core.plans.epoch(core.read()) == 5  # one that only goes on does not


def test_a_plan_that_waits_is_replaced_by_an_earlier_one_or_at_once():
    core = Core()
    core.accept(followed(11.0, 12.0))
    assert core.accept(followed(11.25, 12.0), epoch=6) == PLAN_WAITS
    assert core.accept(followed(11.0, 13.0), epoch=6) == ""
    assert core.accept(followed(11.5, 13.0), epoch=6, at_once=True) == ""
    assert [plan.number for _, plan in core.offered] == [1, 2, 3]


def test_plans_that_should_have_begun_are_late():
    core = Core()
    assert (
        core.accept(followed(9.75, 12.0))
        == late(0.25)
        == "planning took 0.250 s longer than it was allowed to"
    )
    assert core.accept(followed(10.0, 12.0)) == ""


def test_plans_are_kept_as_long_as_the_core_may_use_them():
    core = Core()
    for number in range(1, 7):
        core.accept(followed(10.0 + number, 20.0), epoch=core.plans.epoch(core.read()), at_once=True)
        core.picture.considered = number
    assert len(core.plans) == 6
    core.picture.oldest_plan, core.picture.finished = 5, 2
    core.accept(followed(18.0, 20.0))
    assert sorted(core.plans._kept) == [2, 5, 6, 7]
    core.picture.considered = 40
    core.accept(followed(18.0, 20.0), at_once=True)
    assert core.plans.last == 41


def four():
    """Plan 4 is followed since 12 s, 5 and 6 wait for 14 and 16 s, and 7 has just been handed over."""
    core = Core()
    for number, (start, end) in enumerate(
        [(11, 12), (11, 12), (11, 12), (12, 13), (14, 15), (16, 17), (18, 19)], 1
    ):
        core.picture.considered = number - 1
        core.accept(followed(float(start), float(end)))
    core.picture.waiting, core.picture.current, core.picture.finished = (5, 6), 4, 3
    return core, core.plans, [None] + [core.plans._kept[k].trajectory for k in range(1, 8)]


def test_the_queue_has_the_last_one_first():
    core, plans, one = four()
    assert plans.waiting(core.read()) == 7
    assert plans.queue() == (one[7], one[6], one[5], one[4])
    core.picture.considered, core.picture.current = 7, 0
    assert plans.waiting(core.read()) == 0
    assert plans.queue() == (one[6], one[5])
    empty = Core()
    assert empty.plans.queue() == () and empty.plans.last == 0 and empty.plans.waiting(empty.read()) == 0


def test_of_the_queue_the_last_that_has_begun_is_followed():
    _, plans, one = four()
    for time, expected in (
        (11.9, None),
        (12.0, 4),
        (12.9, 4),
        (13.0, None),
        (13.9, None),
        (14.0, 5),
        (16.5, 6),
        (18.9, 7),
        (19.0, None),
    ):
        assert plans.active(time) is (None if expected is None else one[expected]), time
    for time, start in ((12.0, 12.0), (13.9, 12.0), (14.0, 14.0), (25.0, 18.0)):
        assert plans.reference(time) == (start, time)
    assert plans.waits(17.9) and not plans.waits(18.0)


def test_a_motion_has_what_is_followed_at_each_time_rests_after_its_end_and_the_stop_before_it():
    """Of quintics by numpy's polynomials; a stop from 12.5 s on that goes on until the first begins."""
    core = Core()
    for start in (14.0, 16.0):
        core.picture.considered = core.plans.last
        core.accept(followed(start, start + 1.5))
    core.picture.waiting, core.picture.rests, core.picture.time = (1, 2), 12.8, 12.5
    times = np.array([16.0, 12.6, 14.75, 15.5, 13.0, 17.4999, 18.0, 14.0])
    place, rate, acceleration = core.motion
    moved = [place + since * (rate + 0.5 * since * acceleration) for since in (0.1, 0.3)]
    rests = np.zeros(2)
    expected = {
        12.6: (moved[0], rate + 0.1 * acceleration, acceleration),
        13.0: (moved[1], rests, rests),
        15.5: (np.array([30.0, 36.0]), rests, rests),  # sums of all coefficients
        18.0: (np.array([30.0, 36.0]), rests, rests),
    }
    for start, time in ((14.0, 14.0), (14.0, 14.75), (16.0, 16.0), (16.0, 17.4999)):
        joints = [
            np.polynomial.Polynomial(np.arange(6) * 2.0 + joint, [start, start + 1.5], [0.0, 1.0])
            for joint in (0, 1)
        ]
        expected[time] = tuple(np.array([joint.deriv(k)(time) for joint in joints]) for k in range(3))
    found = core.plans.motion(times)
    for part, rows in enumerate(found):
        np.testing.assert_allclose(rows, [expected[time][part] for time in times], atol=1e-12)


def test_followed_are_those_that_wait_are_active_or_were_followed_to_their_end():
    core, plans, one = four()
    assert [plans.follows(each) for each in one[1:]] == [False, False, True, True, True, True, True]
    core.picture.considered = 7
    assert not plans.follows(one[7])
    core.picture.finished = 99
    assert not plans.follows(one[3])
    carried = followed(18.5, 20.0, carried=(one[1], one[2]))
    core.accept(carried)
    assert (
        plans.follows(carried)
        and plans.follows(one[1])
        and plans.follows(one[2])
        and not plans.follows(one[3])
    )


def test_without_a_plan_the_reference_rests_where_the_robot_is_held():
    core = Core()
    for rests in (0.0, 10.0):
        core.picture.rests = rests
        place, *derivatives = core.plans.reference(10.5)
        assert place.tolist() == [0.7, -0.7] and place is not core.hold and not np.any(derivatives)


@pytest.mark.parametrize(("time", "since"), [(9.0, 0.0), (10.0, 0.0), (10.5, 0.5), (11.75, 1.75)])
def test_the_reference_of_a_stop_keeps_its_present_deceleration(time, since):
    core = Core()
    core.picture.rests = 12.0
    place, rate, acceleration = core.plans.reference(time)
    start, speed, bend = np.array([[1.0, 2.0], [0.5, -0.25], [-0.125, 0.0625]])
    np.testing.assert_allclose(place, start + speed * since + bend * since**2 / 2.0)
    np.testing.assert_allclose(rate, speed + bend * since)
    np.testing.assert_array_equal(acceleration, bend)
    assert acceleration is not core.motion[2] and acceleration.base is not core.motion


def test_after_its_end_a_stop_rests_where_it_came_to():
    core = Core()
    core.picture.rests = 12.0
    for time in (12.0, 99.0):
        place, *derivatives = core.plans.reference(time)
        np.testing.assert_allclose(place, [1.0 + 1.0 - 0.25, 2.0 - 0.5 + 0.125])
        assert not np.any(derivatives)


def test_the_last_plan_is_withdrawn():
    core, plans, _ = four()
    assert plans.withdraw() is True and plans.withdraw() is False
    assert core.withdrawn == [("core", 7)] * 2


def test_verdicts_of_the_core_in_words():
    core, plans, _ = four()
    assert plans.verdict() == "" and core.taken == 1
    assert plans.verdict() == "" and core.taken == 1  # it has been looked at
    core.picture.late = 0.375
    for verdict, words in (
        ("late", late(0.375)), ("queue_full", QUEUE_FULL), ("latched", LATCHED), ("superseded", VOID),
        ("pending", VOID), ("accepted", ""),
    ):  # fmt: skip
        core.picture.verdict = VERDICTS.index(verdict)
        assert plans.verdict() == words
    starved, plans, _ = four()
    starved.take = lambda: None
    plans._take = lambda: None
    starved.picture.verdict = VERDICTS.index("late")
    assert plans.verdict() == ""
    assert keeping.QUEUE_FULL == "too many trajectories wait for their start"
    assert keeping.PLAN_WAITS == "the trajectory before it waits for the next joint state"
