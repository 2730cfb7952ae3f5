"""Targets of one point that come one by one, as teleoperation sends them: a stream, and what ends it."""

import numpy as np
import pytest
from arms import two_joint_chain
from closed_loop import READY, ArmLoop

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.waypoints import Waypoint, tabulate
from robot_dynamics.errors import TrajectoryError

PERIOD = 0.004
AHEAD = 0.04
MOST = np.array([30.0, 20.0])
"""Accelerations of the two joints: their velocity limits in 0.1 s."""


class Teleoperation:
    """An arm that does exactly what its reference says, and a sender of targets."""

    def __init__(self, **parameters):
        self.control = ArmController(two_joint_chain(), None, ArmParameters(**parameters))
        self.time, self.refused, self.remarks = 0.0, [], []
        self.random = np.random.default_rng(3)
        self.place, self.references = np.zeros(2), []
        self.cycle()

    def cycle(self):
        reference = self.control.reference(self.time)
        self.place = reference.position
        self.control.update(self.time, reference.position, reference.velocity)
        self.references.append(np.stack([reference.position, reference.velocity, reference.acceleration]))
        self.time += PERIOD

    def send(self, place, velocity=(), duration=AHEAD, start=None):
        points = [Waypoint(duration, tuple(place), velocity)]
        try:
            self.remarks += self.control.follow(self.control.chain.joint_names, points, start).remarks
        except TrajectoryError as error:
            self.refused.append(str(error))

    def stream(self, duration, place, rate=30.0, jitter=0.0, lost=0.0, velocity=None):
        """Send ``place`` of the time for which it is meant, for a while."""
        end, due = self.time + duration, self.time
        arrives = due
        while self.time < end:
            if self.time >= arrives:
                if self.random.random() >= lost:
                    meant = due + AHEAD
                    self.send(place(meant), tuple(velocity(meant)) if velocity else ())
                due += 1.0 / rate
                arrives = due + jitter * self.random.random()
            self.cycle()

    @property
    def accelerations(self):
        return np.array(self.references)[:, 2]


def swing(time):
    """It begins softly; up to 0.6 rad/s and 0.2 m/s."""
    s = np.clip(time / 0.6, 0.0, 1.0)
    return (
        s**3 * (10.0 - 15.0 * s + 6.0 * s**2) * np.array([0.3 * np.sin(2.0 * time), 0.1 * np.sin(2.0 * time)])
    )


def swinging(time):
    return (swing(time + 1e-4) - swing(time - 1e-4)) / 2e-4


@pytest.mark.long
@pytest.mark.parametrize(("rate", "ahead"), [(60.0, 0.15), (250.0, 0.24)])
def test_targets_far_ahead_are_waited_for_and_then_met_in_time(rate, ahead):
    """The first six were all later than the window of the filter, and the plan ended in a singular matrix."""
    sender = Teleoperation()
    began = sender.time

    def place(time):
        return swing(np.maximum(time - began - 0.5, 0.0))

    end, due = began + 2.5, began
    while sender.time < end:
        if sender.time >= due:
            sender.send(place(sender.time + ahead), duration=ahead)
            due += 1.0 / rate
        sender.cycle()
    assert not sender.refused
    assert any("followed as a stream" in remark for remark in sender.remarks)
    times = began + PERIOD * np.arange(len(sender.references))
    away = np.array(sender.references)[:, 0] - np.array([place(time) for time in times])
    assert np.abs(away[times > began + 1.0]).max() < 0.01
    assert (np.abs(sender.accelerations) <= 1.001 * MOST).all()


@pytest.mark.parametrize("rate", [30.0, 50.0])
def test_single_points_are_followed_smoothly_and_near_their_times(rate):
    """Speed swung from 0 to 0.58 rad/s, efforts to 100 %, 166 reversals."""
    loop = ArmLoop("ur5", READY)
    loop.run(0.1)
    began, due = loop.time, loop.time

    def place(time):
        return np.add(READY, [swing(time - began)[0], 0.0, 0.0, -swing(time - began)[0], 0.0, 0.0])

    while loop.time < began + 2.5:
        if loop.time >= due - 1e-9:
            loop.go(place(loop.time + AHEAD), AHEAD)
            due += 1.0 / rate
        loop.step()
    seen = np.array(loop.times) > began + 0.8
    behind = max(0.0, 1.7 / rate - AHEAD)
    wanted = np.array([place(time - behind) for time in np.array(loop.times)[seen]])
    np.testing.assert_allclose(loop.positions[seen], wanted, atol=3e-3)
    speed = loop.velocities[seen, 0]
    meant = np.array([swinging(time - began - behind)[0] for time in np.array(loop.times)[seen]])
    np.testing.assert_allclose(speed, meant, atol=0.05)
    assert np.abs(loop.efforts[seen] / loop.control.effort_limits).max() < 0.3


@pytest.mark.parametrize("velocity", [None, swinging])
def test_late_and_lost_targets_leave_the_motion_smooth(velocity):
    run = Teleoperation()
    run.stream(4.0, swing, jitter=0.012, lost=0.03, velocity=velocity)
    assert all("end at rest" in reason for reason in run.refused)
    assert len(run.refused) == (5 if velocity else 0)
    settled = np.array(run.references)[250:]
    times = PERIOD * np.arange(250, 250 + len(settled))
    lag = 0.03
    wanted = np.array([swing(time - lag) for time in times])
    assert np.abs(settled[:, 0] - wanted).max() < 0.02
    assert (np.abs(settled[:, 2]).max(axis=0) < 0.4 * MOST).all()
    [remark] = run.remarks
    assert remark.startswith("targets of one point come at ")


def test_a_stream_that_ends_comes_to_rest_and_the_next_one_is_joined_slowly():
    run = Teleoperation()
    run.stream(1.0, swing)
    at = run.place
    run.stream(0.6, swing, rate=1e-3)
    assert not np.array(run.references)[-1, 1:].any()
    assert (np.abs(run.place - at) < 0.1).all()
    far = run.place + np.array([0.5, 0.1])
    began = len(run.references)
    run.stream(3.0, lambda time: far)
    joined = np.array(run.references)[began:]
    assert (np.abs(joined[:, 1]).max(axis=0) < 0.3 * np.array([3.0, 2.0])).all()
    np.testing.assert_allclose(run.place, far, atol=1e-3)


def test_a_stream_that_speeds_up_and_ends_goes_on_at_its_last_speed_and_brakes():
    """The curve of its last targets bends on, and the reference was behind: it had almost twice the speed."""
    run, speed = Teleoperation(), np.array([1.3, 0.6])
    targets = []

    def place(time):
        targets.append(speed * max(0.0, time - 1.0 - AHEAD))
        return targets[-1]

    run.stream(1.08, place)
    for _ in range(250):
        run.cycle()
    allowed = targets[-1] + 2.0 / 30.0 * speed + speed**2 / (2.0 * MOST)
    assert (targets[-1] < run.place).all() and (run.place < allowed).all()


def test_a_stream_stays_within_the_limits_and_targets_beyond_them_are_refused():
    run = Teleoperation()
    run.stream(1.8, lambda time: [min(2.5 * swing(time)[0] + max(0.0, time - 0.6) * 2.8, 1.999), 0.0])
    assert len(run.refused) < 6 and all("acceleration" in reason for reason in run.refused)
    places, rates, bends = np.array(run.references).transpose(1, 0, 2)
    assert places[:, 0].max() <= 2.0 + 1e-6 and (np.abs(rates) <= [3.03, 2.02]).all()
    assert (np.abs(bends) <= MOST * (1 + 1e-9)).all()
    run.refused.clear()
    run.stream(0.2, lambda time: [2.05, 0.0])
    assert run.refused and all("outside its limits [-1.0, 2.0]" in reason for reason in run.refused)
    assert run.place[0] <= 2.0 + 1e-6


@pytest.mark.parametrize("command", ["hold", "trajectory", "latch"])
def test_a_command_ends_a_stream_until_it_pauses(command):
    run = Teleoperation()
    run.stream(1.0, swing)
    if command == "hold":
        run.control.hold()
    elif command == "latch":
        run.control.protect()
    else:
        names = run.control.chain.joint_names
        run.control.follow(names, [Waypoint(0.5, (0.1, 0.0)), Waypoint(1.0, (0.2, 0.0))])
    run.stream(1.5, swing)
    if command == "latch":
        assert run.control.reset_fault() == ""
        run.stream(0.5, swing)
    assert not np.array(run.references)[-1, 1:].any()
    assert "pause it for 0.5 s" in run.refused[-1]
    run.stream(0.6, swing, rate=1e-3)
    before = len(run.references)
    run.stream(1.0, swing)
    assert np.ptp(np.array(run.references)[before:, 0, 0]) > 0.05


def test_trajectories_that_are_replaced_before_they_end_are_said_once():
    run = Teleoperation(stream_horizon=-1.0)
    for k in range(12):
        run.send([0.01 * k, 0.0], duration=0.2)
        for _ in range(10):
            run.cycle()
    [remark] = run.remarks
    assert remark.startswith("6 trajectories in a row have been replaced before they ended")
    assert run.control.parameters.switched_off == ["stream_horizon"]


def test_a_plan_that_is_made_again_does_not_lose_the_report_of_its_stream():
    run = Teleoperation()
    control = run.control
    names = control.chain.joint_names
    for number in range(12):
        table = tabulate([Waypoint(AHEAD, (0.001 * number, 0.0))], names)
        plans = [control.plan(names, table, control.plan_start(None)) for _ in range(2)]
        assert not control.accept(plans[1])
        run.remarks += plans[1].trajectory.remarks
        for _ in range(8):
            run.cycle()
    [remark] = run.remarks
    assert "followed as a stream" in remark


def test_targets_with_another_lead_begin_anew_and_do_not_swing_out():
    """Targets that move and then some that stand, sent farther ahead: the arm left these by 0.08 rad."""
    sender = Teleoperation()
    for place in (0.007, 0.014, 0.021, 0.028, 0.007):
        sender.send((place, 0.0), duration=0.08)
        for _ in range(8):
            sender.cycle()
    target = sender.place.copy()
    for _ in range(25):
        sender.send(target, duration=0.24)
        for _ in range(4):
            sender.cycle()
    away = np.array(sender.references)[-100:, 0] - target
    assert not sender.refused
    assert np.abs(away).max() < 0.01


def test_the_stop_of_a_stream_has_no_piece_that_is_too_short_for_its_acceleration():
    """A joint that stood almost braked for 1e-10 s, with 1.7 times its acceleration by rounding."""
    run = Teleoperation()
    run.stream(0.5, lambda time: np.array([1e-3 * swing(time)[0], 1e-9 * np.sin(40.0 * time)]))
    path = run.control.follow(
        run.control.chain.joint_names, [Waypoint(AHEAD, tuple(run.place + np.array([1e-4, 1e-10])))]
    ).spline
    assert np.diff(path.times).min() > 0.99e-4
    for time in path.times:
        _, _, acceleration = path.sample(float(time))
        assert (np.abs(acceleration) <= 1.001 * MOST).all()
