"""Work of a platform's controller beside the cycle: its core, modes and lead record what is asked of them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.core.snapshot import PHASES
from robot_dynamics.control.protocol import LATCHED, Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.reference_governor import GovernedReference
from robot_dynamics.errors import TrajectoryError


class Work(StewartController):
    """A controller whose core, modes and lead record what is asked of them."""

    def __init__(self, **now):
        trip = SimpleNamespace(latched=now.pop("latched", False))
        given = {
            "phase": PHASES.index(now.pop("phase", Phase.HOLDING)), "time": 5.0, "beyond": 0, "rests": 5.0,
            "current": 0, "waiting": [0, 0], "trip": trip, **now,
        }  # fmt: skip
        self._snapshot = SimpleNamespace(read=lambda: SimpleNamespace(**given), position=np.ones(6), time=5.0)
        self.calls, self._beyond, self._barred, self.handle = [], 0, "", 0
        self.waits, self.setpoints = 0, False

        def note(name):
            return lambda *given: self.calls.append((name, *given))

        self.modes = SimpleNamespace(
            mode=OperatingMode.OPERATIONAL, motion=None, protect=note("protect"), settle=note("settle"),
            changes=lambda time: self.due, next_motion=self.next, stands_on_brakes=False,
            brakes=SimpleNamespace(watch=note("watch")), brake_fields=(True, 0, 0.0, 0.0), active=False,
            release=note("release"),
        )  # fmt: skip
        self._brakes = self.modes.brake_fields
        self._governing = SimpleNamespace(
            drop=note("drop"), begin=note("begin"), lost=lambda: self.gone, go_on=note("go_on"), step=0.005,
            switch_time=5.1,
        )  # fmt: skip
        self._plans = SimpleNamespace(waiting=lambda now: self.waits)
        self.due = self.gone = False
        self.following = None
        self.intake = SimpleNamespace(coming=lambda time: True)
        self._parameters = SimpleNamespace(sends_setpoints=False)

    pose = SimpleNamespace(
        position=np.zeros(3), rotation=np.eye(3), twist=np.array([0.1, -0.3, 0.2, 0.0, 0.0, 0.0])
    )
    present = GovernedReference(5.1, np.ones(3), np.eye(3), np.zeros(6), np.zeros(6))

    def next(self, time, start, rests):
        self.calls.append(("next", time, start, rests))
        return self.following

    def halt(self):
        self.calls.append(("halt",))

    def offer_settings(self, model, law):
        self.calls.append(("offer", model, law))


def names(made):
    return [call[0] for call in made.calls]


@pytest.mark.parametrize(
    ("latched", "phase", "protects"),
    [(True, Phase.PROTECTIVE_STOP, True), (True, Phase.STALE, False), (False, Phase.HOLDING, False)],
)
def test_a_protective_stop_ends_streams_and_is_left_to_the_core(latched, phase, protects):
    made = Work(latched=latched, phase=phase)
    made.after_state()
    assert made.calls == ([("drop",), ("protect", 5.0, 0.3, 5e-3)] if protects else [])
    assert made._barred == (
        "a protective stop has ended this stream; call ~/resume_stream" if protects else ""
    )


@pytest.mark.parametrize("beyond", [1, -1])
@pytest.mark.parametrize("setpoints", [False, True])
@pytest.mark.parametrize("mode", [OperatingMode.OPERATIONAL, OperatingMode.SETTLING])
@pytest.mark.parametrize("phase", [Phase.HOLDING, Phase.STALE])
def test_a_state_beyond_the_limits_is_answered_by_settling(beyond, setpoints, mode, phase):
    """From the measured pose, or from the reference where drives follow it."""
    made = Work(beyond=beyond, phase=phase)
    made.modes.mode, made._parameters.sends_setpoints = mode, setpoints
    made.after_state()
    settles = phase.controls and mode is OperatingMode.OPERATIONAL
    assert names(made) == (["settle", "begin"] if settles else [])
    if settles:
        _, time, here = made.calls[0]
        assert time == 5.0 and here.time == 5.1
        assert (here is made.present) is setpoints
        if not setpoints:
            np.testing.assert_array_equal(here.position, np.zeros(3))
            np.testing.assert_array_equal(here.twist, made.pose.twist)
    assert made._beyond == beyond
    del made.calls[:]
    made.after_state()
    assert made.calls == []


@pytest.mark.parametrize(
    ("now", "waits", "rests"),
    [
        ({}, 0, True),
        ({"rests": 4.9}, 0, True),
        ({"rests": 5.1}, 0, False),
        ({"current": 3}, 0, False),
        ({"waiting": [3, 0]}, 0, False),
        ({"waiting": [0, 3]}, 0, True),
        ({}, 7, False),
        ({"current": 3, "waiting": [3, 0]}, 7, False),
    ],
)
@pytest.mark.parametrize("following", [None, "motion"])
def test_modes_change_when_they_are_due_and_know_whether_the_core_rests(now, waits, rests, following):
    made = Work(**now)
    made.waits, made.following = waits, following
    made.after_state()
    assert made.calls == []
    made.due = True
    made.after_state()
    assert made.calls[0] == ("next", 5.0, made.present, rests)
    assert made.calls[1:] == ([("drop",)] if following is None else [("begin", "motion")])
    away = Work(phase=Phase.STALE)
    away.due = True
    away.after_state()
    assert away.calls == []


@pytest.mark.parametrize(
    ("stands", "phase"), [(True, Phase.HOLDING), (True, Phase.WAITING), (False, Phase.HOLDING)]
)
def test_brakes_that_hold_alone_are_watched_from_the_first_state_on(stands, phase):
    made = Work(phase=phase)
    made.modes.stands_on_brakes = stands
    made.after_state()
    watched = stands and phase.controls
    assert names(made) == (["watch"] if watched else [])
    if watched:
        _, time, position, most = made.calls[0]
        assert (time, most) == (5.0, 2e-3) and position is made._snapshot.position


def test_a_motion_that_cannot_be_handed_over_ends_in_a_hold():
    made = Work()

    def refused(motion):
        raise TrajectoryError(LATCHED)

    made._governing.begin = refused
    made.modes.brake_fields = (False, 1, 2.0, 3.0)
    made.take_up("motion")
    assert made.calls == [("halt",), ("offer", False, False)]


@pytest.mark.parametrize("lost", [False, True])
def test_a_motion_that_something_came_before_is_given_up(lost):
    made = Work()
    made.gone = lost
    made.before_state(6.5)
    assert names(made) == (["drop", "release", "go_on"] if lost else ["go_on"])
    assert made.calls[-1] == ("go_on", 6.5)


@pytest.mark.parametrize(("active", "wait"), [(False, math.inf), (True, 0.005)])
def test_where_another_thread_runs_the_cycle_the_next_look_may_wait(active, wait):
    made = Work()
    made.modes.active = active
    assert made.conduct() == wait
    assert made.calls == [("go_on", None)]
