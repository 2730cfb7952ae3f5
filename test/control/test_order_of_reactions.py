"""Two reactions at once, in either order: the stronger one is as it is alone (the control core in a loop)."""

from itertools import permutations

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import TrajectoryError

PERIOD, SPEED, LOST, PUSHED = 0.004, 2.0, 10, 25  # the last two in cycles
ORDER = ["states", "emergency stop", "protective stop", "overspeed", "refusal", "warning"]
STOPS = ORDER[1:4]


class Swing:
    """A pendulum amid a trajectory; errors only warn, so that each event begins its own reaction."""

    def __init__(self):
        parameters = ArmParameters(
            supervision="observe", max_following_error=(0.02,), ki=-1.0, max_stamp_step=10.0,
            max_acceleration=(5.0,), stop_deceleration=(20.0,),
        )  # fmt: skip
        self.control = ArmController(pendulum_chain(effort=30.0, velocity=SPEED), Pendulum(), parameters)
        self.plant, self.q, self.qd = Pendulum(), np.array([0.5]), np.zeros(1)
        self.cycles = self.lost = self.pushed = self.push = 0
        self.rows, self.refused = [], ""
        self.run(0.02)
        self.control.follow(["swing"], [Waypoint(2.0, (2.0,))])
        self.run(0.8)
        self.begun = len(self.rows)

    @property
    def time(self):
        return self.cycles * PERIOD

    def run(self, duration):
        for _ in range(round(duration / PERIOD)):
            if self.lost > 0:
                self.control.lost_states(0.0)
                command = self.control.safe_command(PERIOD * (LOST - self.lost))
            else:
                command = self.control.update(self.time, self.q.copy(), self.qd.copy())
            self.rows.append((command.phase, self.q[0], self.qd[0], command.effort[0]))
            effort = command.effort + (self.push if self.pushed > 0 else 0.0)
            for _ in range(4):
                h = 0.25 * PERIOD
                middle = self.qd + 0.5 * h * self.plant.acceleration(self.q, self.qd, effort)
                self.q = self.q + h * middle
                self.qd = self.qd + h * self.plant.acceleration(self.q, middle, effort)
            self.cycles, self.lost, self.pushed = self.cycles + 1, self.lost - 1, self.pushed - 1

    def happen(self, event):
        if event == "states":
            self.lost = LOST
        elif event == "emergency stop":
            assert self.control.emergency_stop() == ""
        elif event == "protective stop":
            self.control.protect("dispute")
        elif event == "refusal":
            with pytest.raises(TrajectoryError) as refused:
                self.control.follow(["swing"], [Waypoint(0.01, (9.0,))])
            self.refused = str(refused.value)
        else:
            self.pushed = PUSHED
            self.push = max(self.push, {"overspeed": 14.0, "warning": 2.0}[event])

    def column(self, k):
        return np.array([row[k] for row in self.rows[self.begun :]])

    @property
    def phases(self):
        return [row[0] for row in self.rows[self.begun :]]

    @property
    def rest_time(self):
        """From the events until the pendulum rests [s]."""
        return PERIOD * (1 + int(np.flatnonzero(np.abs(self.column(2)) > 0.01).max(initial=-1)))


def played(*events):
    swing = Swing()
    for event in events:
        swing.happen(event)
    swing.run(1.3)
    return swing


@pytest.fixture(scope="module")
def alone():
    return {event: played(event) for event in ORDER}


def is_as_alone(event, swing, alone):
    """The reaction to an event, whatever weaker one comes with it."""
    control = swing.control
    if event == "states":
        assert swing.phases[:LOST] == [Phase.STALE] * LOST
        assert Phase.STALE not in swing.phases[LOST:] and Phase.TRACKING not in swing.phases
    elif event in STOPS:
        assert control.latched and swing.phases[-1] is Phase.PROTECTIVE_STOP
        assert abs(swing.column(2)[-1]) < 0.01
        first = swing.phases.index(Phase.PROTECTIVE_STOP)
        assert first == 0 or event == "overspeed"
        assert Phase.TRACKING not in swing.phases[first:]
    elif event == "refusal":
        assert swing.refused == alone.refused
        assert set(swing.phases[:100]) == {Phase.TRACKING} and not control.latched
        np.testing.assert_allclose(swing.q, 2.0, atol=0.01)
    if event == "overspeed":
        assert swing.column(2).max() > 1.2 * SPEED and control.trip.rule == "overspeed"


@pytest.mark.parametrize("event", ORDER)
def test_each_event_alone_has_its_reaction(alone, event):
    swing = alone[event]
    is_as_alone(event, swing, swing)
    if event == "warning":
        trip = swing.control.trip
        assert trip.rule == "following_error" and not trip.stops
        assert "reported only" in swing.control.words_of_trip(trip)
        assert set(swing.phases[:100]) == {Phase.TRACKING}


@pytest.mark.parametrize(("first", "second"), permutations(ORDER, 2))
def test_of_two_events_the_stronger_one_decides(alone, first, second):
    stronger, weaker = sorted((first, second), key=ORDER.index)
    swing = played(first, second)
    is_as_alone(stronger, swing, alone[stronger])
    if stronger in STOPS and weaker not in ("overspeed", "warning"):
        assert swing.rest_time <= alone[stronger].rest_time + PERIOD
        assert swing.column(1).max() <= alone[stronger].column(1).max() + 1e-6
    if stronger == "states" and weaker in STOPS:  # it is played by the model, and latched when states return
        assert swing.phases[LOST] is Phase.PROTECTIVE_STOP or weaker == "overspeed"
    if stronger == "states" and weaker == "refusal":
        np.testing.assert_allclose(swing.column(3), alone[stronger].column(3))
    if weaker == "refusal":
        assert swing.refused
