"""Recorded motions: the curve through their poses, and the deviations of a governor that follows them.

Rotations come from scipy; a governor whose deviations a test chooses stands for the real one.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from motion_base import HOME
from moving_reference import AXIS
from scipy.spatial.transform import Rotation

from robot_dynamics.control.stewart import as_streamed as module
from robot_dynamics.control.stewart.as_streamed import StreamedMotion, as_streamed
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.control.stewart.reference_governor import GovernedReference
from robot_dynamics.control.stewart.trajectory import motion_along
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.stewart.motion_table import MotionTable


def table(times, angles, ways=None):
    """Poses at times, with roll, pitch and yaw."""
    times = np.array(times, dtype=float)
    ways = np.zeros((len(times), 3)) if ways is None else np.array(ways)
    return MotionTable(times, HOME + ways, Rotation.from_euler("xyz", angles).as_quat())


def wandering(count=6):
    """A motion about all axes, at uneven times from 2 s on."""
    random = np.random.default_rng(4)
    times = 2.0 + np.cumsum(random.uniform(0.2, 0.5, count))
    return table(times, random.uniform(-0.5, 0.5, (count, 3)), random.uniform(-0.2, 0.2, (count, 3)))


def test_a_recorded_motion_meets_its_poses_and_its_rates_are_derivatives():
    given = wandering()
    motion = RecordedMotion(given)
    assert motion.times is given.time
    assert motion.duration == pytest.approx(given.time[-1] - given.time[0])
    found = motion.at(given.time)
    np.testing.assert_allclose(found.position, given.position, atol=1e-12)
    np.testing.assert_allclose(found.rotation, Rotation.from_quat(given.orientation).as_matrix(), atol=1e-12)
    times = np.linspace(given.time[0], given.time[-1], 40)[1:-1]
    found = motion.at(times)
    for name, expected in motion_along(*motion._spline.at(times))._asdict().items():
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-9, err_msg=name)
    h = 1e-5
    ahead, behind = motion.at(times + h), motion.at(times - h)
    np.testing.assert_allclose(found.linear_velocity, (ahead.position - behind.position) / (2 * h), atol=1e-6)
    turned = Rotation.from_matrix(ahead.rotation) * Rotation.from_matrix(behind.rotation).inv()
    np.testing.assert_allclose(found.angular_velocity, turned.as_rotvec() / (2 * h), atol=1e-6)
    bend = (ahead.linear_velocity - behind.linear_velocity) / (2 * h)
    np.testing.assert_allclose(found.linear_acceleration, bend, atol=1e-4)
    bend = (ahead.angular_velocity - behind.angular_velocity) / (2 * h)
    np.testing.assert_allclose(found.angular_acceleration, bend, atol=1e-4)
    assert not found.force.any() and not found.torque.any()


def test_two_poses_are_joined_by_a_straight_line():
    motion = RecordedMotion(
        table([1.0, 3.0], [[0.1, -0.2, 0.3], [0.3, 0.2, -0.1]], [[0, 0, 0], [0.4, -0.2, 0.1]])
    )
    found = motion.at([1.0, 1.5, 2.5, 3.0])
    for share, place, rotation in zip((0.0, 0.25, 0.75, 1.0), found.position, found.rotation, strict=True):
        np.testing.assert_allclose(place, HOME + share * np.array([0.4, -0.2, 0.1]), atol=1e-12)
        angles = np.array([0.1, -0.2, 0.3]) + share * np.array([0.2, 0.4, -0.4])
        np.testing.assert_allclose(rotation, Rotation.from_euler("xyz", angles).as_matrix(), atol=1e-12)
    np.testing.assert_allclose(found.linear_velocity, np.tile([0.2, -0.1, 0.05], (4, 1)), atol=1e-12)
    assert np.abs(found.linear_acceleration).max() < 1e-12


def test_angles_go_on_across_half_a_turn():
    """Roll and yaw cross it; between two poses the platform is between them."""
    angles = np.radians(
        [[170.0, 10.0, -170.0], [178.0, 20.0, -178.0], [186.0, 15.0, -186.0], [190.0, 5.0, -194.0]]
    )
    motion = RecordedMotion(table(np.arange(4.0), angles))
    for k in range(3):
        middle = Rotation.from_matrix(motion.at([k + 0.5]).rotation[0])
        far = [
            (middle * Rotation.from_euler("xyz", one).inv()).magnitude() for one in (angles[k], angles[k + 1])
        ]
        assert max(far) < np.radians(10.0)


@pytest.mark.parametrize(("pitch", "kept"), [(79.99, True), (-79.99, True), (80.01, False), (-80.01, False)])
def test_a_recorded_motion_may_tilt_by_eighty_degrees(pitch, kept):
    given = table([0.0, 1.0, 2.0], np.radians([[10.0, 0.0, 20.0], [5.0, pitch, -30.0], [0.0, 0.0, 0.0]]))
    if kept:
        found = RecordedMotion(given).at([1.0]).rotation[0]
        np.testing.assert_allclose(found, Rotation.from_quat(given.orientation[1]).as_matrix(), atol=1e-9)
    else:
        with pytest.raises(
            TrajectoryError, match=r"^the motion tilts the platform by more than 80 degrees about y$"
        ):
            RecordedMotion(given)


def test_a_single_pose_is_no_motion():
    with pytest.raises(TrajectoryError, match=r"^a motion needs at least two poses$"):
        RecordedMotion(table([0.0], [[0.0, 0.0, 0.0]]))


# As streamed


class Follower:
    """Controller, modes, governor and goal in one, whose reference deviates as a test says."""

    def __init__(self, motion, rate, away, tolerance, reaches=True):
        self.motion, self.away, self.behind = motion, away, 1.7 / rate + module.LEAD
        self.parameters = StewartParameters(stream_tolerance=tolerance)
        self.machine_description = SimpleNamespace(home_position=HOME)
        self.modes = self.intake = self.governor = self.goal = self
        self.filter, self.reaches, self.sent, self.steps, self.asked = object(), reaches, [], [], []

    def reachable(self, position, rotation):
        self.first = position, rotation
        return self.reaches

    def stream(self, time, start, poses):
        self.begun = time, start, poses
        return self

    def add(self, sample, now):
        self.sent.append((sample, now))

    def target(self, time, step, governor):
        assert governor is self and step == 0.01
        return time

    def advance(self, time, target, step, free):
        assert target == time
        self.steps.append((time, step, free))
        since = time - self.behind
        if since < -0.02:
            return
        at = self.motion.at([self.motion.times[0] + min(max(since, 0.0), self.motion.duration)])
        way = np.asarray(self.away(since), dtype=float)
        rotation = (Rotation.from_rotvec(way[3:]) * Rotation.from_matrix(at.rotation[0])).as_matrix()
        self.reference = GovernedReference(time, at.position[0] + way[:3], rotation, np.zeros(6), np.zeros(6))


def streamed(monkeypatch, away, rate=50.0, tolerance=(0.005, 0.02), motion=None, reaches=True):
    """A motion as followed with deviations, and the follower."""
    motion = RecordedMotion(wandering()) if motion is None else motion
    made = Follower(motion, rate, away, tolerance, reaches)
    given = []
    monkeypatch.setattr(module, "StewartController", lambda *arguments: given.append(arguments) or made)

    def told(governor, asked):
        made.asked.extend(asked)
        return "told"

    monkeypatch.setattr(module, "cause_of_deviation", told)
    platform, parameters = object(), StewartParameters()
    result = as_streamed(platform, motion, rate, parameters)
    assert given == [(platform, parameters)]
    return result, made


def bump(at, size, width=0.2):
    """A way that grows and falls around a time."""
    return lambda since: np.array(size) * max(0.0, 1.0 - abs(since - at) / width)


def test_the_poses_of_a_stream_are_sent_from_a_second_before_the_motion_on(monkeypatch):
    _, made = streamed(monkeypatch, lambda since: np.zeros(6))
    motion, times = made.motion, np.array([one.time for one, _ in made.sent])
    np.testing.assert_allclose(times, np.arange(len(times)) / 50.0, atol=1e-12)
    for sample, now in made.sent:
        assert 0.0 <= now - sample.time < 0.0100001
        expected = motion.at([motion.times[0] + np.clip(sample.time - 1.0, 0.0, motion.duration)])
        np.testing.assert_allclose(sample.position, expected.position[0], atol=1e-12)
        np.testing.assert_allclose(sample.rotation, expected.rotation[0], atol=1e-12)
        assert sample.twist is None and sample.arrival is None
    steps = np.array(made.steps)
    np.testing.assert_allclose(steps[:, 0], 0.01 * np.arange(1, len(steps) + 1), atol=1e-9)
    assert steps[-1, 0] == pytest.approx(1.0 + motion.duration + 1.7 / 50.0, abs=0.0100001)
    np.testing.assert_array_equal(steps[:, 1:], np.tile([0.0025, 0.05], (len(steps), 1)))
    time, start, poses = made.begun
    assert (time, start.time, poses) == (0.0, 0.0, made.filter)
    np.testing.assert_allclose(start.position, motion.at(motion.times[:1]).position[0], atol=1e-12)
    np.testing.assert_allclose(made.first[1], motion.at(motion.times[:1]).rotation[0], atol=1e-12)
    for still in (start.twist, start.acceleration):
        np.testing.assert_array_equal(still, np.zeros(6))


BRIEF = RecordedMotion(table([0.0, 0.1], np.zeros((2, 3))))


def test_deviations_are_the_largest_and_the_mean_ones_with_their_times(monkeypatch):
    """Before the motion and behind its end they do not count."""
    far, turned = bump(0.6, [0.03, -0.04, 0.0, 0, 0, 0]), bump(1.3, [0, 0, 0, *(0.3 * AXIS)])

    def away(since):
        if not 0.0 <= since <= 9.0:
            return np.full(6, 1.0)
        return far(since) + turned(since)

    monkeypatch.setattr(module, "LEAD", 0.05)
    found, made = streamed(monkeypatch, away)
    assert isinstance(found, StreamedMotion)
    assert found.lag == pytest.approx(1.7 / 50.0)
    moments = np.array([time - made.behind for time, *_ in made.steps])
    moments = moments[(moments >= 0.0) & (moments <= made.motion.duration)]
    ways = np.array([away(one) for one in moments])
    linear, angular = np.linalg.norm(ways[:, :3], axis=1), np.linalg.norm(ways[:, 3:], axis=1)
    assert found.worst == pytest.approx((linear.max(), angular.max()), rel=1e-6)
    assert found.rms == pytest.approx((np.sqrt((linear**2).mean()), np.sqrt((angular**2).mean())), rel=1e-6)
    assert found.times == pytest.approx((moments[linear.argmax()], moments[angular.argmax()]), abs=1e-9)
    assert found.cause == "told"
    # The limit is looked for at the larger of both, and up to a second before it.
    asked = np.array([one.position for one in made.asked])
    expected = found.times[1] - 0.02 * np.arange(51)
    np.testing.assert_allclose(asked, made.motion.at(made.motion.times[0] + expected).position, atol=1e-9)
    one, of = made.asked[7], made.motion.at([made.motion.times[0] + expected[7]])
    np.testing.assert_allclose(one.rotation, of.rotation[0], atol=1e-9)
    np.testing.assert_allclose(one.twist, [*of.linear_velocity[0], *of.angular_velocity[0]], atol=1e-7)
    bend = [*of.linear_acceleration[0], *of.angular_acceleration[0]]
    np.testing.assert_allclose(one.acceleration, bend, atol=1e-5)


def test_early_deviations_have_the_motion_since_its_begin(monkeypatch):
    monkeypatch.setattr(module, "LEAD", 0.05)
    found, made = streamed(monkeypatch, bump(0.3, [0.05, 0.0, 0.0, *(0.01 * AXIS)]))
    assert found.times[0] == pytest.approx(0.3, abs=0.01)
    count = int(np.floor(found.times[0] / 0.02 + 1e-7)) + 1
    assert len(made.asked) == count


@pytest.mark.parametrize(
    ("linear", "angular", "told"),
    [(0.0049, 0.019, ""), (0.0051, 0.019, "told"), (0.0049, 0.021, "told"), (0.0051, 0.021, "told")],
)
def test_deviations_within_the_tolerance_have_no_cause(monkeypatch, linear, angular, told):
    away = np.concatenate([[linear, 0.0, 0.0], angular * AXIS])
    monkeypatch.setattr(module, "LEAD", 0.05)
    found, made = streamed(monkeypatch, lambda since: away, motion=BRIEF)
    assert found.cause == told and bool(made.asked) == bool(told)
    assert found.worst == pytest.approx((linear, angular), rel=1e-6)


@pytest.mark.parametrize("rate", [4.0, 3.9, 0.0, 10000.1])
def test_a_rate_of_no_stream_is_refused_with_what_would_be_right(rate):
    said = rf"^a stream has more than 4 Hz and at most 10000, not {rate:g}$"
    with pytest.raises(ParameterError, match=said):
        as_streamed(object(), RecordedMotion(wandering()), rate)


def test_the_bounds_of_the_rate_are_those_of_a_stream(monkeypatch):
    def begun(platform, parameters):
        raise RuntimeError("begun")

    monkeypatch.setattr(module, "StewartController", begun)
    for rate in (4.001, 10000.0):
        with pytest.raises(RuntimeError, match="begun"):
            as_streamed(object(), BRIEF, rate)


def test_a_first_pose_out_of_reach_is_refused_with_both_places(monkeypatch):
    motion = RecordedMotion(table([0.0, 1.0], np.zeros((2, 3)), [[0.5, -0.25, 0.125], [0.0, 0.0, 0.0]]))
    said = (
        r"^the first pose is out of reach: \(0\.500, -0\.250, 1\.284\) m in the base frame,"
        r" where home is \(0\.000, 0\.000, 1\.159\) m$"
    )
    with pytest.raises(ParameterError, match=said):
        streamed(monkeypatch, lambda since: np.zeros(6), motion=motion, reaches=False)
