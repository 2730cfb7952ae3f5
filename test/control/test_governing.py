"""Segments of governed motions on their way into a core: leads, epochs, and what is given up.

The core is made of wishes: its pictures, its references and what it says to each plan come from a test.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from motion_base import HOME, MACHINE

from robot_dynamics.control.core.snapshot import PHASES, VERDICTS
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.governed_motion import GovernedMotion, StreamGoal
from robot_dynamics.control.stewart.governing import Governing
from robot_dynamics.control.stewart.platform_model import REPORTED
from robot_dynamics.control.stewart.reference_governor import GovernedPlan, GovernedReference, PoseTarget
from robot_dynamics.control.stewart.stream import PoseFilter
from robot_dynamics.errors import TrajectoryError

TARGET = PoseTarget.rest(HOME, np.eye(3))
SPEED = np.array([0.1, -0.2, 0.05, 0.0, 0.0, 0.0])


def place(time):
    """The core's reference, which moves evenly."""
    return PoseTarget(HOME + SPEED[:3] * time, np.eye(3), SPEED, np.zeros(6))


class Core:
    """Plans and snapshot of a core."""

    def __init__(self):
        self.now = SimpleNamespace(
            time=1.0, epoch=7, considered=0, verdict=VERDICTS.index("accepted"),
            phase=PHASES.index(Phase.HOLDING), current=0, waiting=[0, 0],
        )  # fmt: skip
        self.telemetry = np.zeros(sum(REPORTED.values()))
        self.accepted, self.answers, self.waits, self.last, self.works = [], [], 0, 40, 0.0
        self.ahead = 0

    def read(self):
        return SimpleNamespace(**vars(self.now))

    def considered(self):
        return self.read()

    def epoch(self, now):
        return now.epoch + self.ahead

    def waiting(self, now):
        return self.waits

    def reference(self, time):
        return place(time).motion

    def accept(self, planned, continues, at_once):
        self.accepted.append((planned, continues, at_once))
        self.last += 1
        self.now.time += self.works
        return self.answers.pop(0) if self.answers else ""


class Governor:
    """A governor that keeps its reference, and records its calls."""

    def __init__(self, time=1.0):
        self.reference = GovernedReference(time, HOME, np.eye(3), SPEED, np.zeros(6))
        self.plan, self.calls = None, []
        self.envelope = SimpleNamespace(lag=np.ones(6), noted=[])
        self.envelope.note_lag = lambda *given: self.envelope.noted.append(given)

    def advance(self, time, target, step, free):
        self.calls.append((time, target, step, free))
        self.reference = GovernedReference(time, HOME + SPEED[:3] * time, np.eye(3), SPEED, np.zeros(6))
        self.plan = GovernedPlan(self.reference, free, 0.1)


class Goal:
    """A place that is reached when a test says so."""

    def __init__(self):
        self.over, self.asked = False, []

    def target(self, time, step, governor):
        self.asked.append((time, step))
        return TARGET

    def reached(self, governor, time):
        self.asked.append(time)
        return self.over


class Following(StreamGoal):
    """A stream that a test feeds."""

    def __init__(self):
        super().__init__(PoseFilter(0.1), 0.1, np.eye(6))

    def target(self, time, step, governor):
        return TARGET

    def reached(self, governor, time):
        return False


def governing(goal=None, time=1.0):
    core = Core()
    made = Governing(core, core, MACHINE)
    motion = GovernedMotion(Governor(time), Goal() if goal is None else goal)
    return made, core, motion


def test_a_motion_is_handed_over_with_the_epoch_of_the_core():
    made, core, motion = governing()
    assert made.motion is None and made.step == 0.01
    core.ahead = 1  # another plan waits, and will be void
    made.begin(motion)
    assert made.motion is motion
    ((planned, continues, at_once),) = core.accepted
    assert (planned.epoch, continues, at_once) == (8, 0, True)
    time, target, step, free = motion.governor.calls[0]
    assert (time, target, step, free) == (1.0, TARGET, 0.01, 0.03)
    assert motion.goal.asked == [(1.0, 0.01), 1.0]
    assert planned.trajectory.start == 1.0
    assert planned.trajectory.end == pytest.approx(1.0 + 0.03 + 0.1)
    np.testing.assert_array_equal(motion.governor.envelope.lag, np.zeros(6))
    assert motion.end == np.inf and not motion.governor.envelope.noted


def test_steps_are_shorter_while_a_stream_is_followed():
    made, _, motion = governing(Following())
    made.begin(motion)
    assert made.step == 0.005
    assert motion.governor.calls[0][2:] == (0.25 * 0.005, 0.05)
    # The interval is that of the motion that begins, not of the one before.
    other = GovernedMotion(Governor(), Goal())
    made.begin(other)
    assert other.governor.calls[0][2:] == (0.01, 0.03)
    made.drop()
    assert made.motion is None and made.step == 0.01


def test_the_lag_of_the_legs_is_noted_while_a_stream_is_followed():
    made, core, motion = governing(Following())
    core.telemetry[:7] = [0.1, 0.2, 1.2, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    made.begin(motion)
    ((measured, wanted),) = motion.governor.envelope.noted
    np.testing.assert_allclose(measured[0], [0.1, 0.2, 1.2])
    np.testing.assert_allclose(measured[1], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(wanted[0], HOME + SPEED[:3])
    np.testing.assert_array_equal(wanted[1], np.eye(3))
    np.testing.assert_array_equal(motion.governor.envelope.lag, np.ones(6))


@pytest.mark.parametrize(("elsewhere", "lead"), [(False, 0.0), (True, 0.003)])
def test_segments_begin_a_lead_after_the_last_state_where_another_thread_runs_the_cycle(elsewhere, lead):
    made, core, _ = governing()
    made.elsewhere = elsewhere
    assert made.switch_time == 1.0 + lead
    core.now.time = 2.0
    assert made.switch_time == 2.0 + lead


def test_a_motion_that_is_refused_is_tried_five_times_with_twice_the_lead():
    made, core, motion = governing()
    made.elsewhere = True
    core.answers = ["late", "late", ""]
    made.begin(motion)
    assert [call[0] for call in motion.governor.calls] == [1.0, pytest.approx(1.006), pytest.approx(1.012)]
    assert made.switch_time == pytest.approx(1.012)
    assert made.motion is motion
    refused, core, motion = governing()
    refused.elsewhere = True
    core.answers = [f"reason {k}" for k in range(9)]
    with pytest.raises(TrajectoryError, match=r"^reason 4$"):
        refused.begin(motion)
    assert refused.motion is None and len(core.accepted) == 5
    assert refused.switch_time == pytest.approx(1.02)
    # Tries begin anew with another motion.
    core.answers = ["late", ""]
    refused.begin(motion)
    assert refused.motion is motion


def test_the_work_on_a_segment_lengthens_the_lead():
    for works, lead in ((0.001, 0.003), (0.004, 0.006), (0.1, 0.02)):
        made, core, motion = governing()
        made.elsewhere, core.works = True, works
        made.begin(motion)
        assert made.switch_time - core.now.time == pytest.approx(lead)


# The next segment


def begun(goal=None, **now):
    made, core, motion = governing(goal)
    made.begin(motion)
    vars(core.now).update({"considered": 41, "current": 41, "time": 1.01, "epoch": 8, **now})
    return made, core, motion


def test_the_next_segment_goes_on_with_the_one_that_is_followed():
    made, core, motion = begun()
    made.go_on(1.015)
    planned, continues, at_once = core.accepted[1]
    assert (planned.epoch, continues, at_once) == (8, 41, True)
    assert motion.governor.calls[1][0] == 1.015
    assert planned.trajectory.start == 1.015
    np.testing.assert_allclose(planned.trajectory.sample(1.015).position, HOME + SPEED[:3] * 1.015)
    assert not made.lost()


def test_where_another_thread_runs_the_cycle_the_next_segment_begins_a_lead_later():
    made, _, motion = begun()
    made.elsewhere = True
    made.go_on()
    assert motion.governor.calls[1][0] == pytest.approx(1.013)


@pytest.mark.parametrize(
    ("now", "waits", "time", "goes"),
    [
        ({}, 0, 1.015, True),
        ({}, 5, 1.015, False),
        ({"waiting": [3, 0]}, 0, 1.015, False),
        ({"waiting": [0, 3]}, 0, 1.015, True),
        ({"time": 1.0}, 0, None, False),
        ({"time": 1.0}, 0, 1.004, True),
        ({}, 0, 1.0, False),
        ({}, 0, 0.9, False),
        ({}, 0, None, True),
    ],
)
def test_a_segment_is_handed_over_after_a_new_state_and_when_none_waits(now, waits, time, goes):
    made, core, _ = begun(**now)
    core.waits = waits
    made.go_on(time)
    assert len(core.accepted) == 1 + goes


def test_nothing_is_handed_over_without_a_motion_or_after_its_end():
    made, core, motion = begun()
    motion.goal.over = True
    made.go_on(1.015)
    assert motion.end == 1.015
    assert motion.goal.asked[-1] == 1.0, "poses that had come by the state before count"
    made.go_on(1.02)
    assert len(core.accepted) == 2
    made.drop()
    made.go_on(1.03)
    assert len(core.accepted) == 2


def test_the_interval_between_segments_is_a_mean_of_the_last_ones():
    """Segments are safe for three intervals, within bounds."""
    made, core, motion = begun()
    interval = 0.01
    for k, (elapsed, kept) in enumerate([(0.02, 0.02), (0.03, 0.03), (1e-4, 1e-3), (0.7, 0.25)]):
        core.now.time = core.now.time - 0.01 + elapsed if k == 0 else core.now.time + elapsed
        interval += 0.2 * (kept - interval)
        made.go_on(core.now.time + 1e-3)
        _, _, step, free = motion.governor.calls[-1]
        assert step == pytest.approx(interval)
        assert free == pytest.approx(min(max(0.03, 3.0 * interval), 0.25))
        assert motion.goal.asked[-2] == (core.now.time + 1e-3, step)
    made, core, motion = begun(Following())
    for k in range(40):
        core.now.time = 1.02 + 0.02 * k
        made.go_on(core.now.time)
    assert motion.governor.calls[-1][2:] == pytest.approx((0.25 * 0.02, 3.0 * 0.02), rel=1e-3)


def test_where_the_segment_before_has_come_to_its_stop_another_plan_begins():
    made, core, _ = begun(current=0)
    core.ahead = 3
    made.go_on(1.015)
    planned, continues, _ = core.accepted[1]
    assert (planned.epoch, continues) == (11, 0)
    core.now.epoch, core.ahead, core.now.considered = 12, 0, 42
    assert not made.lost(), "the epoch of the plan that has begun"
    # One that is void does not begin.
    refused, core, _ = begun(current=0)
    core.answers = ["void"]
    refused.go_on(1.015)
    assert not refused.lost()
    core.now.epoch = 9
    assert refused.lost()
    # One that goes on begins none.
    going, core, _ = begun()
    going.go_on(1.015)
    core.now.epoch, core.now.considered = 9, 42
    assert going.lost()


@pytest.mark.parametrize(("verdict", "lead"), [("late", 0.006), ("accepted", 0.003)])
def test_a_segment_that_came_late_doubles_the_lead(verdict, lead):
    made, core, motion = begun(verdict=VERDICTS.index(verdict))
    made.elsewhere = True
    made.go_on()
    assert motion.governor.calls[1][0] == pytest.approx(1.01 + lead)
    # It is judged once, and the lead shrinks by a tenth where no further one is late.
    core.now.considered, core.now.verdict, core.now.time = 42, VERDICTS.index("accepted"), 1.03
    made.go_on()
    shrunk = max(0.003, 0.9 * lead)
    assert motion.governor.calls[2][0] == pytest.approx(1.03 + shrunk)
    core.now.considered, core.now.verdict, core.now.time = 42, VERDICTS.index("late"), 1.04
    made.go_on()
    assert motion.governor.calls[3][0] == pytest.approx(1.04 + max(0.003, 0.9 * shrunk))


def test_late_segments_lengthen_the_lead_up_to_a_bound():
    made, core, motion = begun(verdict=VERDICTS.index("late"))
    made.elsewhere = True
    leads = []
    for k in range(5):
        core.now.considered, core.now.time = 41 + k, 1.01 + 0.03 * k
        made.go_on()
        leads.append(motion.governor.calls[-1][0] - core.now.time)
    assert leads == pytest.approx([0.006, 0.012, 0.02, 0.02, 0.02])


# Losses of the motion, and first segments that come too late


def test_a_hold_or_a_loss_of_states_loses_the_motion():
    made, core, motion = governing()
    assert made.lost() is False
    made.begin(motion)
    core.ahead = 1
    assert made.lost() is False, "the first segment waits"
    core.ahead, core.now.epoch, core.now.considered = 0, 8, 41
    assert made.lost() is False, "the first segment counts"
    core.now.epoch = 9
    assert made.lost() is True
    core.now.epoch, core.now.phase = 8, PHASES.index(Phase.STALE)
    assert made.lost() is True


@pytest.mark.parametrize(
    ("verdict", "considered", "tried"),
    [("late", 41, True), ("superseded", 41, True), ("accepted", 41, False), ("late", 40, False)],
)
def test_a_first_segment_that_came_too_late_is_handed_over_again(verdict, considered, tried):
    made, core, motion = governing()
    made.begin(motion)
    core.now.epoch, core.now.considered, core.now.verdict = 9, considered, VERDICTS.index(verdict)
    assert made.lost() is (not tried)
    assert len(core.accepted) == 1 + tried
    if tried:
        assert core.accepted[1][0].epoch == 9
        core.now.epoch, core.now.considered = 11, 42
        core.answers = ["void"]
        assert made.lost() is True
        # After a segment that goes on no first one is tried again.
        other, core, motion = begun()
        other.go_on(1.015)
        core.now.epoch, core.now.considered, core.now.verdict = 9, 42, VERDICTS.index(verdict)
        assert other.lost() is True and len(core.accepted) == 2


def test_a_first_segment_is_handed_over_five_times_at_most():
    made, core, motion = governing()
    made.begin(motion)
    for k in range(6):
        core.now.epoch, core.now.considered = 20 + 5 * k, 41 + k
        core.now.verdict = VERDICTS.index("late")
        assert made.lost() is (k >= 4)
    assert len(core.accepted) == 5


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (None, True),
        ({"current": 5}, False),
        ({"position": 0.9e-4}, True),
        ({"position": -1.1e-4}, False),
        ({"twist": 0.9e-4}, True),
        ({"twist": 1.1e-4}, False),
    ],
)
def test_the_plan_of_the_motion_before_is_carried_on_where_the_reference_is_on_it(change, kept):
    made, core, motion = begun()
    change = change or {}
    core.now.current = change.get("current", 41)
    plan = motion.governor.plan
    here = plan.at(1.02)
    there = GovernedReference(
        1.02, here.position + change.get("position", 0.0), here.rotation,
        here.twist + change.get("twist", 0.0), here.acceleration,
    )  # fmt: skip
    next_one = GovernedMotion(Governor(1.02), Goal())
    next_one.governor.reference = there
    given = []
    advance = next_one.governor.advance
    next_one.governor.advance = lambda *rest: given.append(next_one.governor.plan) or advance(*rest)
    core.now.time = 1.02
    made.begin(next_one)
    assert given == [plan if kept else None]


@pytest.mark.parametrize(("place", "twist"), [(1e-4, 0.0), (0.0, 1e-4)])
def test_a_reference_a_tenth_of_a_millimetre_beside_a_plan_is_not_on_it(place, twist):
    made, core, _ = begun()
    rest = GovernedReference(1.0, HOME, np.eye(3), np.zeros(6), np.zeros(6))
    made._plan = GovernedPlan(rest, 5.0, 0.0)
    assert HOME[0] == 0.0 and core.now.current == 41
    found = []
    for share in (1.0, 0.999):
        beside, rate = HOME + np.eye(3)[0] * share * place, np.eye(6)[0] * share * twist
        found.append(made._carried(GovernedReference(1.02, beside, np.eye(3), rate, np.zeros(6))))
    assert found == [None, made._plan]
