"""Streams as games send them: jittered, unstamped, lost, too slow, contradictory; and how they begin and end.

The machine does exactly what the reference says; time is that of the states.
"""

import re

import numpy as np
import pytest
from motion_base import mix, motion_base, platform_mappings

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.control.smoothing import NEEDED
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.envelope import STROKE_MARGIN
from robot_dynamics.control.stewart.operating_modes import OperatingMode
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.resources import resource
from robot_dynamics.simulation.stewart import StewartPlant
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.orientation import rotation_from_vector

PERIOD = 0.004
LEVEL = np.eye(3)


@pytest.fixture(scope="module")
def base():
    return motion_base()


class Game:
    """A controller, and a sender of poses."""

    def __init__(self, platform, period=PERIOD, **parameters):
        self.platform, self.home, self.period = platform, platform.machine.home_position, period
        self.control = StewartController(platform, StewartParameters(**parameters))
        self.time = 0.0
        self.cycle()

    def cycle(self):
        motion = self.control.reference(self.time)
        legs = self.platform.legs_of(motion)
        twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
        self.command = self.control.update(self.time, legs.lengths, legs.jacobian @ twist)
        self.time += self.period
        return self.command.reference

    def send(self, shift, turn=(0.0, 0.0, 0.0), twist=None, rotation=None):
        rotation = rotation_from_vector(np.array(turn)) if rotation is None else rotation
        place = self.home + np.array(shift)
        self.control.command_pose(PoseSample(self.time - self.period, place, rotation, twist))

    def stream(self, duration, place, rate=60.0):
        """Send ``place(time)`` for a while; the references of its cycles."""
        end, sent, references = self.time + duration, self.time, []
        while self.time < end:
            if self.time >= sent:
                self.send(place(self.time - PERIOD))
                sent += 1.0 / rate
            references.append(self.cycle())
        return references

    def rest(self, duration):
        end = self.time + duration
        return [self.cycle() for _ in iter(lambda: self.time < end, False)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("rate", "meant", "stamp"),
    [
        (30, "tick", "meant"),
        (30, "tick", "sent"),
        (30, "sending", "none"),
        (60, "tick", "meant"),
        (60, "tick", "sent"),
        (60, "tick", "none"),
        (60, "sending", "none"),
        (100, "tick", "meant"),
        (100, "tick", "sent"),
        (100, "sending", "none"),
    ],
)
def test_a_stream_is_smooth_however_its_sender_scatters(base, rate, meant, stamp):
    """Lag, error and force steps at 500 Hz, 2 s after the start, also after the sender has stalled once.

    Intervals scatter by 3 ms (standard deviation), and 2 % of the poses are lost. Poses that wait for 25 ms,
    at 2.1 s, are sent in a burst. Noiseless, forces change by at most 0.2 % of their limits in 2 ms.
    """
    random, period, end, lost = np.random.default_rng(3), 1.0 / rate, 2.6, 0.02
    count = int(end * rate)
    ticks = 0.02 + period * np.arange(count)
    sent = np.maximum.accumulate(ticks + random.normal(size=count) * 0.003 / np.sqrt(2.0))
    stalls = int(np.searchsorted(sent, 2.1))
    sent[stalls:] = np.maximum(sent[stalls:], sent[stalls] + 0.025)
    kept = (random.random(count) >= lost) | (np.arange(count) < 2 * NEEDED)
    ticks, sent = ticks[kept], sent[kept]
    recovered = meant == "tick" and stamp == "sent"
    game = Game(base, 0.002, stream_clock="recovered" if recovered else "stamps")
    k, rows = 0, []
    while game.time < end:
        while k < len(sent) and sent[k] <= game.time - game.period:
            moment = ticks[k] if meant == "tick" else sent[k]
            place, turn = mix(moment)
            given = {"meant": moment, "sent": sent[k], "none": None}[stamp]
            pose = PoseSample(given, game.home + place, rotation_from_vector(turn), None, sent[k])
            game.control.command_pose(pose)
            k += 1
        reference = game.cycle()
        if game.time > 2.0:
            rows.append((game.time - game.period, reference.position - game.home, game.command.effort))
    times, places, forces = (np.array(column) for column in zip(*rows, strict=True))
    lags = np.arange(1.0, 2.5, 0.05) * period
    errors = [np.abs(places - [mix(t - lag)[0] for t in times]).max() for lag in lags]
    assert lags[int(np.argmin(errors))] <= 2.0 * period
    assert min(errors) < 1e-3
    assert np.abs(np.diff(forces, axis=0)).max() < 0.05 * 15e3
    intake = game.control.intake
    assert intake.rate == pytest.approx(rate, rel=0.02)
    assert intake.clock.jitter < 1e-3 if stamp == "meant" else 1e-3 < intake.clock.jitter < 6e-3
    assert intake.remarks == []


@pytest.mark.long
def test_after_a_gap_of_the_states_forces_stay_within_what_the_motion_needs(base):
    """Without real-time priority gaps of 22 to 117 ms saturated all legs.

    MuJoCo moves on under the last forces. The motion needs 5 kN of 15 kN.
    """
    plant, game = StewartPlant(base), Game(base, stream_timeout=0.2)
    control, time, sent, forces = game.control, 0.0, 0.0, []
    effort = game.command.effort
    while time < 1.6:
        while sent <= time:
            place, turn = mix(sent)
            control.command_pose(PoseSample(sent, game.home + place, rotation_from_vector(turn), None))
            sent += 1.0 / 60.0
        gap = 0.116 if abs(time - 1.2) < 1e-9 else PERIOD
        time = round(time + gap, 9)
        plant.advance(gap, effort)
        effort = control.update(time, plant.position, plant.velocity).effort
        forces.append(np.abs(effort).max())
    assert max(forces) < 9e3
    assert control.following_stream and not control.latched
    far = np.linalg.norm(control.reference(time).position - plant.platform_pose[0])
    assert far < 1e-3


@pytest.mark.long
def test_one_pose_moves_nothing_and_several_are_joined_slowly(base):
    """Before, one pose dropped the trajectory and parked, and the first was chased at 4 m/s²."""
    game = Game(base)
    target = game.home + np.array([0.0, 0.0, 0.05])
    game.control.follow([PoseWaypoint(1.0, target, [0.0, 0.0, 0.0, 1.0])])
    game.send((0.1, 0.0, 0.0))
    game.rest(1.2)
    np.testing.assert_allclose(game.command.reference.position, target, atol=1e-9)
    assert game.control.modes.mode is OperatingMode.OPERATIONAL
    joining = game.stream(3.0, lambda _: (0.1, 0.0, 0.05))
    assert max(np.linalg.norm(one.linear_acceleration) for one in joining) < 0.2
    assert max(np.linalg.norm(one.linear_velocity) for one in joining) < 0.1
    np.testing.assert_allclose(game.command.reference.position[0], 0.1, atol=5e-3)


def test_a_first_pose_out_of_reach_is_refused_with_what_may_be_wrong(base):
    """z = 0 drove the platform down by 323 mm; identity as w, x, y, z tilted it by 33 degrees."""
    game = Game(base)
    with pytest.raises(TrajectoryError, match=r"out of reach .* absolute, not from home, which is \(0\.000"):
        game.send(-game.home)
    with pytest.raises(TrajectoryError, match=r"is it given as w, x, y, z\?"):
        game.send((0.0, 0.0, 0.0), rotation=np.diag([1.0, -1.0, -1.0]))
    game.rest(0.1)
    assert not game.command.reference.linear_velocity.any()


@pytest.mark.long
def test_a_slow_stream_is_followed_and_one_too_slow_for_its_motion_is_reported(base):
    """At 10 Hz the acceleration swung by 4 m/s² where 0.18 is meant."""
    game = Game(base)

    def sine(amplitude, frequency):
        return lambda t: (0.0, 0.0, amplitude * np.sin(2.0 * np.pi * frequency * t))

    game.stream(3.0, sine(0.0046, 1.0), rate=10.0)
    steady = game.stream(2.0, sine(0.0046, 1.0), rate=10.0)
    assert max(np.linalg.norm(one.linear_acceleration) for one in steady) < 1.5 * 0.18
    assert game.control.intake.remarks == []
    game.stream(3.0, sine(0.02, 1.5), rate=10.0)
    assert re.match(r"a stream of (10|9)\S* Hz is too slow for its motion", game.control.intake.remarks[0])


@pytest.mark.long
@pytest.mark.parametrize("reaction", ["hold", "settle", "park"])
def test_a_stream_that_stutters_is_joined_again(base, reaction):
    """A stutter of 0.1 s ended the session: 119 refusals that did not name the way back."""
    game = Game(base, on_stream_end=reaction, settle_speed=0.3)
    game.stream(1.0, lambda _: (0.0, 0.0, 0.02))
    game.rest(0.2)
    mode = game.control.modes.mode
    assert mode is (OperatingMode.OPERATIONAL if reaction == "hold" else OperatingMode.SETTLING)
    game.stream(2.0, lambda _: (0.0, 0.0, 0.02))
    assert game.control.following_stream
    np.testing.assert_allclose(game.command.reference.position[2], game.home[2] + 0.02, atol=1e-3)
    game.rest(3.0)
    if reaction == "park":
        assert game.control.modes.mode is OperatingMode.PARKED
        with pytest.raises(TrajectoryError, match="call ~/unpark"):
            game.send((0.0, 0.0, 0.0))
        return
    assert game.control.modes.mode is OperatingMode.OPERATIONAL
    assert not game.control.brake
    game.stream(1.0, lambda _: (0.0, 0.0, 0.0))
    assert game.control.following_stream


@pytest.mark.long
def test_a_command_ends_a_stream_until_a_service_resumes_it(base):
    game = Game(base)
    game.stream(0.5, lambda _: (0.0, 0.0, 0.0))
    game.control.follow([PoseWaypoint(0.5, game.home + 0.01, [0.0, 0.0, 0.0, 1.0])])
    game.cycle()
    for ended, resume in (
        ("a trajectory", game.control.resume_stream),
        ("a hold", game.control.resume_stream),
        ("an emergency stop", game.control.unpark),
    ):
        if ended == "a hold":
            game.control.hold()
        elif ended == "an emergency stop":
            game.control.emergency_stop()
        with pytest.raises(TrajectoryError, match=f"{ended} has ended this stream; call ~/resume_stream"):
            game.send((0.0, 0.0, 0.0))
        game.rest(1.0)
        assert resume() == ""
        game.rest(3.0)
        game.stream(0.5, lambda _: (0.0, 0.0, 0.0))
        assert game.control.following_stream


@pytest.mark.long
def test_a_twist_that_contradicts_the_poses_is_ignored(base):
    """A constant pose with a twist of 50 (millimetres a second) was 281 mm off."""
    game = Game(base)
    for _ in range(100):
        game.send((0.0, 0.0, 0.0), twist=np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        for _ in range(5):
            reference = game.cycle()
        np.testing.assert_allclose(reference.position, game.home, atol=1e-6)
    assert "twists contradict the poses" in game.control.intake.remarks[0]


def test_two_senders_end_the_stream_in_a_stop(base):
    game = Game(base)
    game.stream(0.5, lambda _: (0.0, 0.0, 0.0))
    with pytest.raises(TrajectoryError, match=r"back and forth .* two senders\?; .* call ~/resume_stream"):
        for k in range(20):
            game.send((0.1 * (k % 2), 0.0, 0.0))
            for _ in range(4):
                game.cycle()
    game.rest(1.0)
    assert not game.control.following_stream
    assert not game.command.reference.linear_velocity.any()
    assert abs(game.command.reference.position[0]) < 0.05


@pytest.mark.parametrize("apart", [0.002, 0.02])
def test_two_senders_whose_poses_are_near_end_the_stream_too(base, apart):
    """Two senders 2 mm apart swung it by 25 mm, and 20 mm apart at 0.8 of the legs' speed limit."""
    game = Game(base)
    game.stream(0.5, lambda _: (0.0, 0.0, 0.0))
    with pytest.raises(TrajectoryError, match=r"back and forth .* two senders\?; .* call ~/resume_stream"):
        for k in range(120):
            game.send((0.0, 0.0, apart * (k % 2)))
            game.cycle()
            game.cycle()
    stopping = game.rest(1.0)
    assert not game.control.following_stream
    assert abs(stopping[-1].position[2] - game.home[2]) < 1.5 * apart
    assert max(np.linalg.norm(one.linear_velocity) for one in stopping) < 0.15


@pytest.mark.long
@pytest.mark.parametrize("rate", [60, 120])
def test_noise_and_a_shaking_motion_are_no_two_senders(base, rate):
    game, random = Game(base), np.random.default_rng(5)
    game.stream(5.0, lambda _: 1.5e-3 * random.normal(size=3), rate=rate)
    game.stream(5.0, lambda _: (0.0, 0.0, 1.5e-3 * random.normal()), rate=rate)
    game.stream(2.0, lambda t: (0.0, 0.0, 1e-3 * np.sin(2.0 * np.pi * 10.0 * t)), rate=rate)
    assert game.control.following_stream


@pytest.mark.long
def test_a_change_of_the_stream_by_a_limit_is_reported_with_the_limit(base):
    """Heave of ±0.15 m became ±0.10 m, diagnostics OK."""
    game = Game(base)
    game.stream(1.0, lambda _: (0.0, 0.0, 0.0))
    assert game.control.modes.deviation()[0] < 1e-3
    game.stream(1.5, lambda t: (0.0, 0.0, 0.35 * np.sin(1.5 * (t - 1.0))))
    assert game.control.following_stream
    linear, angular, cause = game.control.modes.deviation()
    assert linear > 0.02
    assert angular < 1e-3
    assert re.fullmatch(r"longest length of leg_\d", cause)


@pytest.mark.long
def test_check_predicts_what_the_limits_leave_of_a_stream(tmp_path, capsys):
    """The same heave through the control core is the oracle."""
    machine = resource("config/stewart_demo.yaml")
    times = np.arange(0.0, 2.51, 0.05)

    def heave(time):
        s = np.clip(time, 0.0, 1.0)
        return 0.15 * s**3 * (10.0 - 15.0 * s + 6.0 * s**2) * np.sin(np.pi * time)

    file = tmp_path / "motion.csv"
    rows = "\n".join(f"{t},0,0,{heave(t)},0,0,0" for t in times)
    file.write_text(f"time,surge,sway,heave,roll,pitch,yaw\n{rows}\n", encoding="utf-8")
    assert main(["stewart", "check", str(machine), str(file), "--as-streamed"]) == 1
    told = capsys.readouterr().out
    predicted = float(re.search(r"distance .* worst (\S+) mm", told)[1])
    assert re.search(r"limit that changes the stream: (short|long)est length of leg_\d", told)
    worst, lag = 0.0, 1.7 / 60.0 + PERIOD
    game = Game(stewart.load(machine))
    game.stream(1.0, lambda _: (0.0, 0.0, 0.0))
    begun, at = game.time, game.time
    for reference in game.stream(2.5, lambda t: (0.0, 0.0, heave(max(t - begun, 0.0)))):
        worst = max(worst, abs(reference.position[2] - game.home[2] - heave(max(at - begun - lag, 0.0))))
        at += PERIOD
    assert predicted == pytest.approx(1e3 * worst, rel=0.25)
    assert predicted > 5.0


def test_a_recorded_stream_that_begins_out_of_reach_is_refused_with_both_places(tmp_path, capsys):
    file = tmp_path / "motion.csv"
    rows = "\n".join(f"{t},0,0,9,0,0,0" for t in (0.0, 1.0))
    file.write_text(f"time,surge,sway,heave,roll,pitch,yaw\n{rows}\n", encoding="utf-8")
    machine = resource("config/stewart_demo.yaml")
    assert main(["stewart", "check", str(machine), str(file), "--as-streamed"]) == 1
    said = capsys.readouterr().err
    assert "(0.000, 0.000, 9.550) m in the base frame, where home is (0.000, 0.000, 0.550) m" in said


@pytest.mark.long
def test_a_stream_that_ends_towards_an_end_stop_keeps_its_distance():
    """A find of the sweep ``operators``: each step began its stop anew, and a leg came to its end stop."""
    game = Game(stewart.load(platform_mappings()["platform_25_kg"]))
    game.stream(0.6, lambda _: (0.0, 0.0, 0.0))
    begun = game.time

    def down(time):
        since = max(time - begun, 0.0)
        way = 0.4 * (since - 0.2 * (1.0 - np.exp(-since / 0.2)))
        return 0.5 * way, 0.0, -way

    references = game.stream(0.6, down) + game.rest(0.3)
    machine = game.platform.machine
    ends = np.array([[leg.limits.shortest, leg.limits.longest] for leg in machine.legs])
    lengths = [leg_geometry(machine, one.position, one.rotation).lengths for one in references]
    gap = np.abs(ends - np.array(lengths)[:, :, None]).min() / (ends[0, 1] - ends[0, 0])
    assert STROKE_MARGIN - 1e-6 < gap < 0.01
