"""A platform as a motion base: streams within limits, stops, settling, brakes; MuJoCo is the machine."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from motion_base import lengths_at, motion_base
from platform_legs import with_limits

from robot_dynamics.control.brakes import Brakes, BrakeTiming
from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.smoothing import DELAY, NEEDED, check_stamp
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.envelope import STROKE_MARGIN, Pace, ReferenceEnvelope
from robot_dynamics.control.stewart.operating_modes import OperatingMode, OperatingModes
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.reference_governor import GovernedPlan, GovernedReference
from robot_dynamics.control.stewart.segments import segments_with_stop
from robot_dynamics.control.stewart.stream import PoseFilter, PoseSample
from robot_dynamics.control.stewart.stream_intake import StreamIntake
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.orientation import rotation_from_vector, rotation_vector

PERIOD = 0.004


@pytest.fixture(scope="module")
def base():
    return motion_base()


class Run:
    """A controller with a machine that does exactly what the reference says, or with MuJoCo's."""

    def __init__(self, platform, plant=False, **parameters):
        self.platform = platform
        self.control = StewartController(platform, StewartParameters(**parameters))
        self.limits = np.array([[leg.limits.shortest, leg.limits.longest] for leg in platform.machine.legs])
        self.time, self.command = 0.0, None
        self.fastest = self.fastest_at_stop = 0.0
        self.plant = None
        if plant:
            pytest.importorskip("mujoco", reason="MuJoCo simulates the platform")
            from robot_dynamics.simulation.parameters import PlantParameters
            from robot_dynamics.simulation.stewart import StewartPlant

            self.plant = StewartPlant(platform, PlantParameters(physics_timestep=0.002))

    def cycle(self, blind_since=None):
        """One cycle of the machine."""
        control = self.control
        if self.plant is None:
            motion = control.reference(self.time)
            legs = self.platform.legs_of(motion)
            twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
            self.command = control.update(self.time, legs.lengths, legs.jacobian @ twist)
            self.time += PERIOD
            return
        if blind_since is None:
            self.command = control.update(self.time, self.plant.position, self.plant.velocity)
        else:
            self.command = control.safe_command(self.time - blind_since)
        lengths, speeds = self.plant.position, np.abs(self.plant.velocity)
        at_stop = (np.abs(lengths[:, None] - self.limits) < 1e-3).any(axis=1)
        self.fastest = max(self.fastest, speeds.max())
        self.fastest_at_stop = max(self.fastest_at_stop, (speeds * at_stop).max())
        self.plant.advance(PERIOD, self.command.effort)
        self.time += PERIOD

    def begin_stream(self, place, turn=(0.0, 0.0, 0.0)):
        """Send as many poses as a stream needs to be followed, one each cycle."""
        for _ in range(NEEDED):
            pose = PoseSample(self.time, place, rotation_from_vector(np.array(turn)), None)
            self.control.command_pose(pose)
            self.cycle()
        assert self.control.following_stream

    def until(self, reached, most):
        """Cycles until something holds."""
        for _ in range(round(most / PERIOD)):
            self.cycle()
            if reached():
                return
        pytest.fail(f"not within {most} s: {self.control.state}")


@pytest.mark.long
def test_whatever_is_sent_the_reference_keeps_every_limit(base):
    """By the library's own inverse dynamics, which the governor does not use; steps come at any time."""
    random = np.random.default_rng(4)
    run, home = Run(base), base.machine.home_position
    run.cycle()
    place, turn = home, np.zeros(3)
    run.begin_stream(home)
    strongest = 0.0
    for k in range(400):
        if k % 5 == 0:
            if random.random() < 0.1:
                place, turn = home + random.normal(size=3) * 0.4, random.normal(size=3) * 0.3
            run.control.command_pose(PoseSample(run.time, place, rotation_from_vector(turn), None))
        run.cycle()
        motion = run.command.reference
        # At the limits that hold for the machine, not at the governor's share of them: none is reported.
        assert base.inverse_dynamics_of(motion, on_violation="report").violations == ()
        assert np.linalg.norm(motion.linear_acceleration) <= 4.0 * (1 + 1e-9)
        assert np.linalg.norm(motion.angular_acceleration) <= 4.0 / 1.2 * (1 + 1e-9)
        strongest = max(strongest, np.abs(run.command.effort).max())
    assert 4000.0 < strongest < 15e3


@pytest.mark.long
def test_when_nothing_further_is_handed_over_the_platform_stops_within_the_limits(base):
    """As when Python hangs: the core goes on alone, amid a stream that asks for too much."""
    random, home = np.random.default_rng(7), base.machine.home_position
    for _ in range(3):
        run = Run(base)
        run.cycle()
        run.begin_stream(home)
        place, turn = home + random.normal(size=3) * 0.4, random.normal(size=3) * 0.3
        for k in range(40):
            if k % 5 == 0:
                run.control.command_pose(PoseSample(run.time, place, rotation_from_vector(turn), None))
            run.cycle()
        assert np.abs(run.command.reference.linear_velocity).max() > 0.1
        run.control.update = partial(CoreController.update, run.control)
        for k in range(120):
            run.cycle()
            motion = run.command.reference
            assert np.linalg.norm(motion.linear_acceleration) <= 4.0 * (1 + 1e-9)
            assert k % 4 or base.inverse_dynamics_of(motion, on_violation="report").violations == ()
        assert run.control.phase is Phase.HOLDING


@pytest.mark.parametrize("since", [0.002, 0.004, 0.03, 0.1, 0.1498])
def test_a_plan_that_is_carried_on_from_beside_it_asks_for_no_more_acceleration(since):
    """As where a segment came too late, and the reference is on the one before."""
    twist, before, then = np.zeros((3, 6))
    twist[[0, 4]], before[0], then[[0, 2, 3]] = (0.2, 0.1), 1.0, (1.5, 0.2, 0.1)
    here = GovernedReference(0.0, np.array([0.0, 0.0, 1.0]), np.eye(3), twist, before)
    plan = GovernedPlan(here.eased(then, 0.005), 0.05, 0.1, here, 0.005)
    beside = plan.at(since)
    beside = replace(beside, position=beside.position + 1e-5, twist=beside.twist + 0.02 * twist)

    def most(one):
        motions = segments_with_stop(one).motion(np.arange(since, since + 0.2, 1e-4))
        return np.abs(motions.linear_acceleration).max(), np.abs(motions.angular_acceleration).max()

    assert np.all(np.array(most(plan.carried_on(beside))) < 1.1 * np.array(most(plan)))


@pytest.mark.long
@pytest.mark.parametrize(("rate", "twists"), [(100, False), (500, True)])
def test_a_stream_is_followed_less_than_two_periods_behind_and_settles_when_it_ends(base, rate, twists):
    run, home = Run(base), base.machine.home_position
    run.cycle()
    omega, period, worst, sent = 2.0 * np.pi, 1.0 / rate, 0.0, 0

    def wanted(time):
        amplitude = 0.05 * min(1.0, time) ** 3 * (10 - 15 * min(1.0, time) + 6 * min(1.0, time) ** 2)
        turn = np.array([0.0, 0.5 * amplitude * np.sin(omega * time), 0.0])
        return home + np.array([0.0, 0.0, amplitude * np.sin(omega * time)]), rotation_from_vector(turn)

    def twist(time, step=1e-5):
        (a, r), (b, s) = wanted(time - step), wanted(time + step)
        return np.concatenate([b - a, rotation_vector(s @ r.T)]) / (2.0 * step)

    while run.time < 2.2:
        while sent * period <= run.time:
            stamp = sent * period
            sample = PoseSample(stamp, *wanted(stamp), twist(max(stamp, 1e-3)) if twists else None)
            run.control.command_pose(sample)
            sent += 1
        run.cycle()
        if run.time > 1.2:
            motion = run.command.reference
            place, rotation = wanted(run.time - PERIOD - DELAY * period)
            worst = max(worst, np.abs(motion.position - place).max())
            worst = max(worst, np.abs(rotation_vector(motion.rotation @ rotation.T)).max())
    assert worst < 1e-4
    run.until(lambda: run.control.modes.mode is OperatingMode.SETTLING, 0.3)
    run.begin_stream(home)
    assert run.control.modes.mode is OperatingMode.OPERATIONAL


def test_what_comes_late_twice_or_from_the_past_does_no_harm():
    stream = PoseFilter(0.1)

    def add(stamp, place):
        return stream.add(PoseSample(stamp, np.full(3, place), np.eye(3), None), stamp, stamp, 0.01)

    assert stream.target(0.0) is None
    assert stream.ended(0.0)
    assert add(1.0, 0.0)
    assert not add(1.0, 1.0)
    assert not add(0.5, 1.0)
    assert stream.target(1.0) is None  # one pose is no stream
    for k in range(1, NEEDED + 2):
        assert add(1.0 + 0.01 * k, 0.001 * k)
    np.testing.assert_allclose(stream.target(1.07).position, 0.007 - 0.001 * DELAY, atol=1e-7)
    np.testing.assert_allclose(stream.target(1.09).position, 0.009 - 0.001 * DELAY, atol=1e-7)  # straight on
    assert stream.target(1.2) is None  # too late: stop
    assert not stream.ended(1.15)
    assert stream.ended(1.18)
    for stamp in (1.39, 2.6):
        with pytest.raises(TrajectoryError, match="that of the last joint state"):
            check_stamp(stamp, 1.5, 0.1)


@pytest.mark.parametrize("twists", [False, True])
@pytest.mark.parametrize("late", [0.0, 0.004])
def test_a_stream_is_read_by_its_stamps_however_it_arrives(base, twists, late):
    """Poses of a sine, a third of them missing, that come late and in bursts; read at any time."""
    random = np.random.default_rng(5)
    omega, worst = 2.0 * np.pi, 0.0
    intake, home = StreamIntake(base.machine, StewartParameters()), base.machine.home_position
    stamps = np.arange(0.0, 1.0, 0.002)
    stamps = stamps[(random.random(len(stamps)) > 0.33) | (stamps < 0.03)]
    arrivals = np.maximum.accumulate(stamps + random.uniform(0.0, late + 0.002, len(stamps)))
    waiting = list(zip(stamps, arrivals, strict=True))
    for time in np.arange(0.0, 1.0, 0.00137):
        while waiting and waiting[0][1] <= time:
            stamp, now = waiting.pop(0)
            place = home + np.array([0.05 * np.sin(omega * stamp), 0.0, 0.0])
            twist = np.array([0.05 * omega * np.cos(omega * stamp), *np.zeros(5)])
            intake.add(PoseSample(stamp, place, np.eye(3), twist if twists else None), now)
        if time > 0.1:
            behind = time - DELAY * intake.clock.period
            target = intake.filter.target(time)
            worst = max(worst, abs(target.position[0] - 0.05 * np.sin(omega * behind)))
    assert intake.clock.period == pytest.approx(0.002, rel=1e-6)
    assert worst < 5e-5


def test_a_hold_stops_within_the_pace_and_ends_a_stream_until_somebody_resumes_it(base):
    run, home = Run(base), base.machine.home_position
    run.cycle()
    run.control.follow([PoseWaypoint(1.0, home + np.array([0.0, 0.0, 0.15]), [0.0, 0.0, 0.0, 1.0])], None)
    while run.time < 0.5:
        run.cycle()
    speed = run.command.reference.linear_velocity[2]
    assert speed > 0.25
    run.control.hold()
    began, height = run.time, run.command.reference.position[2]
    run.until(lambda: run.command.phase is Phase.HOLDING, 1.0)
    assert run.time - began == pytest.approx(speed / 4.0, abs=3 * PERIOD)
    risen = run.command.reference.position[2] - height
    assert risen == pytest.approx(speed**2 / 8.0, abs=2 * PERIOD * speed)

    run.begin_stream(home)
    run.control.hold()
    with pytest.raises(TrajectoryError, match="a hold has ended this stream; call ~/resume_stream"):
        run.control.command_pose(PoseSample(run.time, home, np.eye(3), None))
    assert run.control.resume_stream() == ""
    run.begin_stream(home)


@pytest.mark.long
def test_it_settles_parks_and_rises_within_its_speeds(base):
    """From the edge of its workspace; at the stops no leg is faster than 0.05 m/s."""
    run, home = Run(base, plant=True, safe_fade_time=0.5), base.machine.home_position
    control = run.control
    run.plant.reset(lengths_at(base, (0.08, -0.05, 0.06), (0.05, 0.0, 0.1)))
    run.cycle()
    assert control.park() == ""
    assert "not ready" in control.park()
    with pytest.raises(TrajectoryError, match="settling"):
        control.follow([PoseWaypoint(1.0, home, [0.0, 0.0, 0.0, 1.0])], None)
    run.until(lambda: control.modes.mode is OperatingMode.PARKED, 9.0)
    engaged = run.time
    assert control.brake
    carried = np.abs(run.command.effort).max()
    run.until(lambda: run.time > engaged + 0.09, 1.0)
    assert np.abs(run.command.effort).max() > 0.9 * carried  # until the brakes hold
    run.until(lambda: not run.command.effort.any(), 1.0)
    assert run.time - engaged == pytest.approx(0.6, abs=3 * PERIOD)
    assert not control.safe_command(0.0).effort.any()
    run.until(lambda: run.time > engaged + 1.0, 1.0)
    control.hold()
    assert control.modes.mode is OperatingMode.PARKED
    assert control.unpark() == ""
    assert "neither parked nor stopped" in control.unpark()
    assert control.brake
    run.until(lambda: not control.brake, 0.6)
    assert np.abs(run.command.effort).max() > 0.9 * carried  # before the brakes let go
    run.until(lambda: control.modes.mode is OperatingMode.OPERATIONAL, 0.2)
    run.until(lambda: run.time > engaged + 2.5, 1.5)
    assert run.plant.platform_pose[0][2] > base.machine.home_position[2] - 0.285 + 0.02
    assert run.fastest < 0.06
    assert run.fastest_at_stop < 0.05


def test_an_emergency_stop_brakes_the_platform_where_it_stands(base):
    run, home = Run(base, plant=True, safe_fade_time=0.2), base.machine.home_position
    control = run.control
    run.cycle()
    control.follow([PoseWaypoint(1.2, home + np.array([0.1, 0.0, 0.08]), [0.0, 0.0, 0.0, 1.0])], None)
    run.until(lambda: run.time > 0.6, 1.0)
    moving = np.abs(run.plant.velocity).max()
    assert control.emergency_stop() == ""
    run.until(lambda: control.brake, 0.5)
    assert control.modes.mode is OperatingMode.STOPPED
    assert np.abs(run.plant.velocity).max() < 0.02 < 0.1 * moving + 0.02
    run.plant.set_brakes(True)
    place = run.plant.platform_pose[0]
    run.until(lambda: not run.command.effort.any(), 1.0)
    np.testing.assert_allclose(run.plant.platform_pose[0], place, atol=2e-3)
    assert control.unpark() == ""
    run.until(lambda: not control.brake, 1.0)
    run.plant.set_brakes(False)
    run.until(lambda: control.modes.mode is OperatingMode.OPERATIONAL, 0.3)
    assert control.phase is Phase.HOLDING
    np.testing.assert_allclose(run.plant.platform_pose[0], place, atol=3e-3)


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_loss_of_states_does_not_end_an_emergency_stop(base, asked_first):
    run, home = Run(base), base.machine.home_position
    run.cycle()
    run.control.follow([PoseWaypoint(1.2, home + np.array([0.1, 0.0, 0.08]), [0.0, 0.0, 0.0, 1.0])], None)
    run.until(lambda: run.time > 0.6, 1.0)
    if asked_first:
        assert run.control.emergency_stop() == ""
        run.cycle()
    run.control.lost_states(0.1)
    if not asked_first:
        assert run.control.emergency_stop() == ""
    run.until(lambda: run.control.modes.mode is OperatingMode.STOPPED, 0.5)
    assert run.control.brake
    assert run.control.unpark() == ""


def test_forces_carry_until_the_brakes_hold_though_states_are_lost_meanwhile(base):
    run = Run(base, safe_output="gravity_fade", brake_engage_time=0.2, safe_fade_time=1.0)
    run.cycle()
    assert run.control.emergency_stop() == ""
    run.until(lambda: run.control.modes.mode is OperatingMode.STOPPED, 0.1)
    weight = run.command.effort
    run.control.lost_states()
    np.testing.assert_allclose(run.control.safe_command(0.0).effort, weight, rtol=1e-9)
    np.testing.assert_allclose(run.control.safe_command(0.1).effort, 0.9 * weight, rtol=1e-9)
    np.testing.assert_allclose(run.control.safe_command(0.7).effort, 0.3 * 0.5 * weight, rtol=0.02)
    assert not run.control.safe_command(1.3).effort.any()


@pytest.mark.parametrize(
    ("safe_output", "moving", "bound"),
    [("settle", False, 0.05), ("settle", True, 0.25), ("gravity_fade", False, None)],
)
def test_without_states_it_comes_down_as_the_model_says(base, safe_output, moving, bound):
    """From rest at home, or from 0.2 m/s beside it; the loss is noticed a tenth of a second late."""
    run, home = Run(base, plant=True, safe_output=safe_output), base.machine.home_position
    run.cycle()
    if moving:
        there, level = home + np.array([0.03, 0.05, 0.02]), [0.0, 0.0, 0.0, 1.0]
        points = [
            PoseWaypoint(1.0, there, level, linear_velocity=[-0.16, 0.12, 0.0]),
            PoseWaypoint(2.0, home, level),
        ]
        run.control.follow(points, None)
    while run.time < 1.0:
        run.cycle()
    assert bool(np.abs(run.control.pose.twist[:3]).max() > 0.1) is moving
    for _ in range(25):
        run.plant.advance(PERIOD, run.command.effort)
        run.time += PERIOD
    run.control.lost_states(0.1)
    lost = run.time
    assert run.control.brake
    for _ in range(round(3.0 / PERIOD)):
        run.cycle(blind_since=lost)
    assert (run.plant.position < run.limits[:, 0] + 1e-3).all(), "it lies on its stops"
    if bound is None:
        assert run.fastest_at_stop > 0.5
    else:
        assert run.fastest < 0.6
        assert run.fastest_at_stop < bound


@pytest.mark.long
def test_the_way_down_without_states_is_whole_however_slow_the_legs_are(base):
    """And it has no more steps than a quick one: it is planned while the node waits."""
    slow = StewartPlatform(with_limits(base.machine, speed=0.02))
    control, parameters = StewartController(slow), StewartParameters(blind_speed=0.5)
    way = OperatingModes(slow.machine, control.model_forces, parameters).open_loop_descent()
    times = way.spline.times
    assert len(times) < 1000
    np.testing.assert_allclose(
        way.sample(times[-1]).position, control.modes.park_pose.position, rtol=0.0, atol=1e-5
    )
    for time in times[:-1]:
        motion = way.sample(time)
        twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
        assert np.abs(slow.legs_of(motion).jacobian @ twist).max() <= 0.02
    far = StewartParameters(blind_speed=1.0, park_pose=(0.0, 0.0, 100.0, 0.0, 0.0, 0.0))
    distant = OperatingModes(base.machine, control.model_forces, far).open_loop_descent()
    assert len(distant.spline.times) < 1000


@pytest.mark.long
def test_a_measured_state_beyond_the_limits_ends_what_is_followed(base):
    control = StewartController(base)
    out, still = np.full(6, 1.79), np.zeros(6)
    control.update(0.0, out, still)
    assert "measured length 1.79 m, beyond 1.77 m" in control.discontinuity
    assert control.modes.mode is OperatingMode.SETTLING
    fast = StewartController(base, StewartParameters(kp=(9.0,), kv=(3.0,)))
    fast.update(0.0, lengths_at(base), np.zeros(6))
    fast.update(PERIOD, lengths_at(base), np.full(6, 1.2))
    assert "measured speed 1.2 m/s" in fast.discontinuity
    turned = StewartController(base, StewartParameters(watch_margin=0.0))
    turned.update(0.0, lengths_at(base, turn=(0.0, 0.0, 0.9)), np.zeros(6))
    assert "beyond" in turned.discontinuity
    singular = StewartPlatform(replace(base.machine, condition_limit=1.6))
    run = Run(singular)
    run.control.update(0.0, lengths_at(base, turn=(0.0, 0.0, 0.2)), np.zeros(6))
    assert run.control.discontinuity == "measured condition number 1.639, beyond 1.6; settling"
    for _ in range(100):
        run.cycle()
    assert run.command.reference.linear_velocity[2] < -0.02  # it may come back from beyond
    calm = StewartController(base)
    calm.update(0.0, lengths_at(base, (0.01, 0.0, 0.0)), np.full(6, 0.5))
    assert calm.discontinuity == ""


def test_a_thread_may_meet_a_state_beyond_the_limits_at_any_time(base, monkeypatch):
    """The state comes while the front looks."""
    run = Run(base, kp=(9.0,), kv=(3.0,))
    run.cycle()
    for _ in range(30):
        there = base.machine.home_position + np.array([0.2 * run.time, 0.0, 0.0])
        run.control.command_pose(PoseSample(run.time, there, np.eye(3), None))
        run.cycle()
    run.control.hold()
    run.control.update = partial(CoreController.update, run.control)  # the thread's part alone
    while run.control.phase is not Phase.HOLDING:
        run.cycle()
    changes, lengths = OperatingModes.changes, run.control.lengths

    def interrupted(modes, time):
        run.control.update(run.time, lengths, np.full(6, 1.2))
        return changes(modes, time)

    monkeypatch.setattr(OperatingModes, "changes", interrupted)
    run.control.conduct()
    monkeypatch.undo()
    assert run.control.modes.mode is OperatingMode.OPERATIONAL, "it came after the front's look"
    run.control.conduct()
    assert run.control.modes.mode is OperatingMode.SETTLING


def test_a_platform_that_comes_back_beyond_its_limits_settles(base):
    """The states are lost right after the first one beyond them, before the front has looked."""
    control, lengths, quick = (
        StewartController(base, StewartParameters(kp=(9.0,), kv=(3.0,))),
        lengths_at(base),
        np.full(6, 1.2),
    )
    cycle, look = partial(CoreController.update, control), control.conduct
    cycle(0.0, lengths, np.zeros(6))
    cycle(PERIOD, lengths, quick)
    control.lost_states()
    look()
    cycle(2.0 * PERIOD, lengths, quick)
    look()
    assert control.modes.mode is OperatingMode.SETTLING


def test_a_platform_that_starts_at_the_end_of_its_strokes_finds_its_pose(base):
    random = np.random.default_rng(0)
    for lengths in (np.full(6, 1.35), np.full(6, 1.75), 1.35 + random.uniform(0.0, 0.05, 6)):
        control = StewartController(base)
        control.update(0.0, lengths, np.zeros(6))
        pose = control.pose
        vectors = pose.position + base.machine.platform_points @ pose.rotation.T
        np.testing.assert_allclose(
            np.linalg.norm(vectors - base.machine.base_points, axis=1), lengths, atol=1e-9
        )
        assert pose.position[2] > 0.5
        assert pose.rotation[2, 2] > 0.9


def test_a_parked_start_waits_for_unpark(base):
    control = StewartController(base, StewartParameters(start_parked=True, safe_fade_time=0.1))
    low = np.full(6, 1.3503)
    assert not control.update(0.0, low, np.zeros(6)).effort.any()
    assert control.brake
    assert control.unpark() == ""
    efforts = [control.update(PERIOD * k, low, np.zeros(6)).effort for k in range(1, 30)]
    assert np.abs(efforts[-1]).min() > 1000.0
    assert np.abs(np.diff(efforts, axis=0)).max() < 600.0  # in a ramp


@pytest.mark.parametrize("elapsed", [0.1, 0.4, 1.0])
def test_a_clock_that_is_set_back_leaves_the_brakes_where_they_are(base, elapsed):
    """While the forces rise, while the brakes let go, and in operation."""
    run = Run(base, safe_output="gravity_fade", safe_fade_time=0.3, brake_release_time=0.3)
    run.until(lambda: run.time > 3.0, 4.0)
    weight = run.command.effort
    assert run.control.emergency_stop() == ""
    run.until(lambda: run.control.modes.mode is OperatingMode.STOPPED and not run.command.effort.any(), 1.0)
    assert run.control.unpark() == ""
    began = run.time
    run.until(lambda: run.time > began + elapsed, elapsed + 0.1)
    run.time -= 2.5
    run.cycle()
    share = min(elapsed / 0.3, 1.0)
    np.testing.assert_allclose(run.command.effort, share * weight, atol=0.1 * np.abs(weight).max())
    assert run.control.brake == (share < 1.0)
    run.until(lambda: run.control.modes.mode is OperatingMode.OPERATIONAL, 0.7 - min(elapsed, 0.6))


def test_brakes_and_forces_take_turns():
    brakes = Brakes(BrakeTiming(engage=0.2, release=0.3, fade=1.0))
    assert brakes.share(0.0) == 1.0
    brakes.engage(1.0)
    brakes.engage(1.1)
    for time, share in ((1.0, 1.0), (1.2, 1.0), (1.7, 0.5), (2.3, 0.0)):
        assert brakes.share(time) == pytest.approx(share)
        assert brakes.engaged(time)
    brakes.release(3.0)
    for time, share, engaged, free in (
        (3.5, 0.5, True, False),
        (4.1, 1.0, False, False),
        (4.4, 1.0, False, True),
    ):
        assert brakes.share(time) == pytest.approx(share)
        assert (brakes.engaged(time), brakes.free(time)) == (engaged, free)


def test_a_park_pose_has_six_numbers():
    with pytest.raises(ParameterError, match="park_pose"):
        StewartParameters(park_pose=(0.0, 0.0, 0.3))


@pytest.mark.long
def test_a_leg_that_turns_within_a_step_keeps_its_stroke(base):
    """Only begin and end of the step were looked at: a leg came to 0.08 mm from its stop."""
    machine, draw = base.machine, np.random.default_rng(3)
    envelope = ReferenceEnvelope(machine, lambda *state: np.zeros((len(state[0]), 6)))
    pace = Pace(4.0, 3.3, np.full(6, 10.0), 1.0)
    longest = np.array([leg.limits.longest for leg in machine.legs])
    turning = 0
    for _ in range(300):
        turn = rotation_from_vector(draw.uniform(-0.2, 0.2, 3))
        places = machine.home_position + np.outer(0.001 * np.arange(500), [0.0, 0.0, 1.0])
        beyond = leg_geometry(machine, places, turn).lengths.max(axis=1) >= longest.max()
        place = places[np.flatnonzero(beyond)[0]]
        place[2] -= draw.uniform(0.001, 0.01)
        twist, step = draw.uniform(-0.1, 0.1, 6), draw.uniform(0.03, 0.25)
        accelerations = draw.uniform(-2.0, 2.0, (20, 6))
        safe, _ = envelope.safe_steps(place, turn, twist, accelerations, step, pace)
        for acceleration in accelerations[safe]:
            here = GovernedReference(0.0, place, turn, twist, acceleration)
            there = [here.at(time) for time in np.linspace(0.0, step, 60)]
            positions = np.array([one.position for one in there])
            rotations = np.array([one.rotation for one in there])
            lengths = leg_geometry(machine, positions, rotations).lengths
            turning += int((lengths.max(axis=0) > lengths[[0, -1]].max(axis=0) + 2e-5).any())
            assert (lengths < longest - 0.1 * STROKE_MARGIN).all()
    assert turning > 50
