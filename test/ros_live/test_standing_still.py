"""An arm that follows its motion does not stand still where the motion itself is slow."""

from __future__ import annotations

import time

import numpy as np
import pytest

from robot_dynamics.identification.excitation.points import Points

pytestmark = pytest.mark.ros
sending = pytest.importorskip("robot_dynamics.ros.live.sending", reason="rclpy is not installed")
APPROACH, REACH, PERIOD = 20.0, 3.0, 6.0


def place(moment):
    """(2,) positions [rad] on the way to a waypoint far away, and in the oscillation that follows."""
    if moment <= APPROACH:
        s = moment / APPROACH
        way = REACH * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        return np.array([way, -way])
    s = 2.0 * np.pi * (moment - APPROACH) / PERIOD
    # Fourth order at its beginning: at rest, without acceleration.
    swing = (1.0 - np.cos(s)) ** 2
    return np.array([REACH + 0.4 * swing, -REACH - 0.3 * swing])


def motion():
    """One point for the approach, and eight a period, with exact derivatives by differences."""
    h = 1e-4
    times = np.concatenate([[0.0], APPROACH + np.linspace(0.0, PERIOD, 9)])
    inner = np.array([[place(t - h), place(t), place(t + h)] for t in times[2:-1]])
    ends = [(0.0, place(0.0)), (APPROACH, place(APPROACH)), (times[-1], place(APPROACH))]
    rest = np.zeros((1, 2))
    positions = np.array([ends[0][1], ends[1][1], *inner[:, 1], ends[2][1]])
    velocities = np.concatenate([rest, rest, (inner[:, 2] - inner[:, 0]) / (2.0 * h), rest])
    accelerations = np.concatenate([rest, rest, (inner[:, 2] - 2.0 * inner[:, 1] + inner[:, 0]) / h**2, rest])
    return Points(("a", "b"), times, positions, velocities, accelerations)


@pytest.fixture
def clock(monkeypatch):
    """The wall clock of this test, as fast as the arm's."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("late", (0.0, 3.0))
def test_a_slow_turn_between_two_motions_is_no_standstill(clock, late):
    """The arm rests for 1.3 s within 5 mrad where the approach ends, and it may begin late."""
    stands = sending.StandsStill(motion())
    for moment in np.arange(0.0, APPROACH + PERIOD + late, 0.01):
        clock[0] = 100.0 + moment
        assert not stands.at(moment, place(min(max(0.0, moment - late), APPROACH + PERIOD))), moment


@pytest.mark.parametrize("stop", (5.0, 10.0, APPROACH + 2.0))
def test_a_protective_stop_on_the_way_is_one(clock, stop):
    stands = sending.StandsStill(motion())
    for moment in np.arange(0.0, APPROACH + PERIOD, 0.01):
        clock[0] = 100.0 + moment
        if stands.at(moment, place(min(moment, stop))):
            assert stop < moment < stop + 3.0
            return
    pytest.fail("not noticed")


def test_an_arm_that_friction_holds_at_first_has_not_begun_late(clock):
    """Soft gains leave it 0.05 rad behind; the simulation runs seven times as fast as the wall clock."""
    times = np.concatenate([[0.0], 1.2 + np.linspace(0.0, 4.0, 41)])
    s = np.pi * (times[1:] - 1.2) / 4.0
    rest, rate = np.zeros((2, 1)), np.pi / 4.0
    swing = 0.04 - 0.5 * np.sin(s) ** 4
    speed = -2.0 * rate * np.sin(s) ** 3 * np.cos(s)
    change = -2.0 * rate**2 * (3.0 * np.sin(s) ** 2 * np.cos(s) ** 2 - np.sin(s) ** 4)
    points = Points(
        ("a", "b"),
        times,
        np.outer(np.append(0.0, swing), [1.0, 0.5]),
        np.outer(np.append(0.0, speed), [1.0, 0.5]),
        np.outer(np.append(0.0, change), [1.0, 0.5]),
    )
    stands = sending.StandsStill(points)
    path, arm = stands._path, rest.ravel()
    for moment in np.arange(0.0, 20.0, 0.005):
        clock[0] = 100.0 + moment / 7.0
        there = path.at(np.array([moment]))[0][0]
        arm = np.clip(arm, there - 0.05, there + 0.05)
        assert not stands.at(moment, arm), moment
        if stands.over(moment):
            return
    pytest.fail("the motion does not end")
