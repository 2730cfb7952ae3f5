"""Commands of a platform in each of its modes and phases; its core is made of wishes."""

from types import SimpleNamespace

import numpy as np
import pytest
from motion_base import HOME, MACHINE
from scipy.spatial.transform import Rotation

from robot_dynamics.control.brakes import SLIPPING
from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import LATCHED, Phase
from robot_dynamics.control.smoothing import NEEDED
from robot_dynamics.control.stewart.commands import PlatformCommands
from robot_dynamics.control.stewart.governed_motion import StreamGoal
from robot_dynamics.control.stewart.operating_modes import OperatingMode, OperatingModes
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.reference_governor import GovernedReference
from robot_dynamics.control.stewart.stream import PoseSample
from robot_dynamics.control.stewart.stream_intake import StreamIntake
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.errors import TrajectoryError

M = OperatingMode
AWAY = (Phase.WAITING, Phase.STALE, Phase.FAULT)


class Commands(PlatformCommands):
    """Commands whose core says what a test wishes, and that records what is asked of it."""

    phase, time = Phase.HOLDING, 10.0

    def __init__(self, **parameters):
        given = StewartParameters(**parameters)
        self.modes = OperatingModes(MACHINE, lambda positions, *_: np.zeros((len(positions), 6)), given)
        self.intake = StreamIntake(MACHINE, given)
        self._barred, self.load = "", ""
        self.calls, self.brakes_offered, self.dropped, self.taken = [], 0, 0, []

    present = property(
        lambda self: GovernedReference(self.time + 0.003, HOME, np.eye(3), np.zeros(6), np.zeros(6))
    )
    machine_description = MACHINE

    def take_up(self, motion):
        self.taken.append(motion)

    def overload(self):
        return self.load

    def offer_brakes(self):
        self.brakes_offered += 1

    def drop_motion(self):
        self.dropped += 1


@pytest.fixture
def made(monkeypatch):
    """Commands in operation."""
    made = Commands()
    made.answers = {}
    for name in ("hold", "protect", "stop_at_once"):
        monkeypatch.setattr(CoreController, name, lambda self, name=name: self.calls.append(name))
    for name, answer in (("plan_start", "start"), ("accept", ""), ("reset_fault", "")):

        def called(self, *given, name=name, answer=answer):
            self.calls.append((name, *given))
            return self.answers.get(name, answer)

        monkeypatch.setattr(CoreController, name, called)
    return made


def follow(made):
    """Follow a stream."""
    goal = StreamGoal(made.intake.filter, 0.1, np.eye(6))
    made.modes.motion = SimpleNamespace(goal=goal, end=np.inf)
    assert made.following_stream


def send(made, way=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    rotation = Rotation.from_rotvec(turn).as_matrix()
    made.command_pose(PoseSample(made.time, HOME + np.array(way), rotation, None))
    made.time += 0.01


def barred(made):
    """Words of a command that has ended a stream; empty: none has."""
    return made._barred


# State


@pytest.mark.parametrize("mode", list(M))
@pytest.mark.parametrize("phase", [Phase.TRACKING, Phase.STALE])
def test_the_state_is_that_of_the_mode_or_of_the_phase_in_operation(made, mode, phase):
    made.modes.mode, made.phase = mode, phase
    assert made.state == (phase.value if mode is M.OPERATIONAL else mode.value)
    made.modes.brakes.engage(1.0)
    made.modes.brakes._slipped = 2.0
    assert made.state == SLIPPING
    assert made.conductor is made.modes


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("engaged", [False, True])
def test_brakes_are_engaged_while_no_states_come_too(made, phase, engaged):
    made.phase = phase
    if engaged:
        made.modes.brakes.engage(9.0)
    assert made.brake is (engaged or phase in AWAY)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (M.OPERATIONAL, ""),
        (M.PROTECTING, LATCHED),
        (M.PROTECTED, LATCHED),
        (M.PARKED, "parked; call ~/unpark"),
        (M.STRANDED, "stopped where no way leads to the park pose within the limits; call ~/unpark"),
        (M.STOPPED, "stopped: on its brakes until ~/unpark; call ~/unpark"),
        (M.STOPPING, "emergency stop: stopping; call ~/unpark"),
        (M.RISING, "leaving the brakes"),
        (M.SETTLING, "settling down to the park pose; call ~/unpark when it is parked"),
    ],
)
def test_a_platform_that_is_not_in_operation_takes_no_trajectory_and_says_what_to_do(made, mode, words):
    made.modes.mode = mode
    expected = words if words in ("", LATCHED) else f"the platform is not ready for a trajectory: {words}"
    assert made.unready == expected
    if expected:
        with pytest.raises(TrajectoryError) as error:
            made.plan_start(None, 0.5)
        assert str(error.value) == expected
        assert made.accept("plan") == expected
        assert made.calls == []
    else:
        assert made.plan_start(3.0, 0.5) == "start"
        assert made.plan_start(None) == "start"
        assert made.accept("plan") == ""
        assert made.calls == [("plan_start", 3.0, 0.5), ("plan_start", None, 0.0), ("accept", "plan")]


# Streams


def test_a_stream_begins_with_the_pose_that_makes_it_one(made):
    for _ in range(NEEDED):
        assert made.taken == [] and not made.following_stream
        send(made, (0.0, 0.0, 0.01))
    (motion,) = made.taken
    assert isinstance(motion.goal, StreamGoal) and motion.goal.stream is made.intake.filter
    assert motion.governor.reference.time == pytest.approx(10.0 + 0.01 * (NEEDED - 1) + 0.003)
    assert made.following_stream
    send(made, (0.0, 0.0, 0.01))
    assert len(made.taken) == 1
    made.modes.motion = SimpleNamespace(goal=None)
    assert not made.following_stream


@pytest.mark.parametrize("phase", AWAY)
def test_a_stream_does_not_begin_without_states(made, phase):
    made.phase = phase
    said = f"the controller is not ready for a trajectory: {phase.value}"
    with pytest.raises(TrajectoryError) as error:
        send(made)
    assert str(error.value) == said and made.intake.count == 0


@pytest.mark.parametrize("mode", list(M))
def test_a_stream_begins_in_operation_or_joins_what_settles_after_it(made, mode):
    made.modes.mode, made.modes._rejoins = mode, True
    if mode in (M.OPERATIONAL, M.SETTLING):
        send(made)
        assert made.intake.count == 1
        return
    with pytest.raises(TrajectoryError) as error:
        send(made)
    assert str(error.value) == made.unready and made.intake.count == 0


def test_a_first_pose_out_of_reach_is_refused_and_a_later_one_is_not(made):
    said = (
        r"^the stream's first pose is out of reach at \(0\.500, -0\.250, 1\.284\) m; poses are absolute, not"
        r" from home, which is \(0\.000, 0\.000, 1\.159\) m$"
    )
    with pytest.raises(TrajectoryError, match=said):
        send(made, (0.5, -0.25, 0.125))
    assert made.intake.count == 0
    for k in range(NEEDED - 1):
        send(made, (0.0, 0.0, 0.0 if k == 0 else 0.1 + 0.01 * k))
    with pytest.raises(TrajectoryError, match="out of reach"):
        send(made, (0.0, 0.0, 0.3))
    assert made.taken == [] and made.intake.count == 0


@pytest.mark.parametrize(("angle", "misread"), [(1.99, False), (2.01, True), (-2.01, True)])
def test_a_pose_that_is_turned_far_may_be_a_quaternion_in_another_order(made, angle, misread):
    """Angles count from home."""
    said = (
        r"^the stream's first pose is turned upside down: orientation is x, y, z, w; is it given as w, x, y,"
        r" z\?$"
        if misread
        else "out of reach at"
    )
    with pytest.raises(TrajectoryError, match=said):
        send(made, turn=(0.0, angle, 0.0))


def test_poses_of_two_senders_end_the_stream_in_a_hold(made):
    follow(made)
    with pytest.raises(
        TrajectoryError,
        match=r"^poses jump back and forth by 0\.200 m or rad: two senders\?; poses of two senders have ended"
        r" this stream; call ~/resume_stream$",
    ):
        for k in range(9):
            send(made, (0.0, 0.0, 0.2 * (k % 2)))
    assert made.calls == ["hold"] and made.dropped == 1 and made.modes.motion is None
    # Before a stream is followed nothing is to be held.
    other = Commands()
    other.calls = made.calls = []
    with pytest.raises(TrajectoryError, match="two senders"):
        for k in range(9):
            send(other, (0.0, 0.0, 0.2 * (k % 2)))
    assert other.calls == []


def test_a_pose_that_is_not_newer_begins_nothing(made):
    for _ in range(NEEDED - 1):
        send(made)
    made.time -= 0.01
    made.command_pose(PoseSample(made.time, HOME, np.eye(3), None))
    assert made.taken == []
    made.time += 0.01
    send(made)
    assert len(made.taken) == 1
    with pytest.raises(TypeError, match="sample"):
        made.command_pose("pose")


@pytest.mark.parametrize("comes", ["followed", "coming", "none"])
@pytest.mark.parametrize(
    ("command", "what"),
    [("accept", "a trajectory has"), ("hold", "a hold has"), ("park", "~/park has"),
     ("emergency_stop", "an emergency stop has")],
)  # fmt: skip
def test_a_command_ends_a_stream_until_it_is_resumed(made, comes, command, what):
    if comes == "followed":
        follow(made)
    elif comes == "coming":
        send(made)
    assert (made.accept("plan") if command == "accept" else getattr(made, command)()) in ("", None)
    ends = comes == "followed" or (comes == "coming" and command != "accept")
    said = f"{what} ended this stream; call ~/resume_stream" if ends else ""
    assert barred(made) == said
    if ends:
        made.modes.mode, made.modes.motion = M.OPERATIONAL, None
        with pytest.raises(TrajectoryError) as error:
            send(made)
        assert str(error.value) == said
        assert made.resume_stream() == ""
        send(made)
    made.modes.mode = M.PARKED
    assert made.resume_stream() == made.unready != ""


def test_a_trajectory_that_is_refused_ends_no_stream(made):
    follow(made)
    made.answers["accept"] = "late"
    assert made.accept("plan") == "late"
    assert barred(made) == ""


# Holds, parking, stops


@pytest.mark.parametrize("mode", list(M))
@pytest.mark.parametrize("phase", [Phase.HOLDING, Phase.STALE])
def test_a_hold_moves_nothing_that_rests_or_stops(made, mode, phase):
    made.modes.mode, made.phase = mode, phase
    holds = phase.controls and mode in (M.OPERATIONAL, M.SETTLING, M.RISING)
    made.modes.motion = motion = SimpleNamespace(goal=None, end=np.inf)
    made.hold()
    assert made.calls == (["hold"] if holds else [])
    assert made.dropped == holds
    assert (made.modes.motion is None) is holds and motion is not None
    if holds:
        assert made.modes.mode is (M.RISING if mode is M.RISING else M.OPERATIONAL)


@pytest.mark.parametrize("mode", list(M))
@pytest.mark.parametrize("phase", [Phase.HOLDING, Phase.FAULT])
@pytest.mark.parametrize("rejoins", [False, True])
def test_parking_begins_in_operation_or_where_a_stream_has_ended(made, mode, phase, rejoins):
    made.modes.mode, made.phase, made.modes._rejoins = mode, phase, rejoins
    parks = phase.controls and (mode is M.OPERATIONAL or (mode is M.SETTLING and rejoins))
    found = made.park()
    if not parks:
        assert found == f"the platform is not ready for it: {made.state}"
        assert made.taken == [] and made.modes.mode is mode
        return
    assert found == "" and made.modes.mode is M.SETTLING and not made.modes.rejoins
    (motion,) = made.taken
    assert motion is made.modes.motion
    assert motion.governor.reference.time == made.present.time


@pytest.mark.parametrize("mode", list(M))
@pytest.mark.parametrize("phase", [Phase.HOLDING, Phase.WAITING, Phase.PROTECTIVE_STOP])
@pytest.mark.parametrize("load", ["", "too heavy"])
def test_the_brakes_are_left_from_rest_where_the_legs_can_carry_the_platform(made, mode, phase, load):
    made.modes.mode, made.phase, made.load, made._barred = mode, phase, load, "a hold has"
    if made.modes.resting:
        made.modes.brakes.engage(1.0)
    found = made.unpark()
    if phase is Phase.PROTECTIVE_STOP or mode is M.PROTECTED:
        expected = LATCHED
    elif mode not in (M.PARKED, M.STRANDED, M.STOPPED):
        expected = f"the platform is neither parked nor stopped: {made.state}"
    elif phase is Phase.WAITING:
        expected = f"the controller is not ready to carry the platform: {phase.value}"
    else:
        expected = load
    assert found == expected
    if expected:
        assert made.modes.mode is mode and made.calls == [] and barred(made) == "a hold has"
        assert made.brakes_offered == 0
        return
    assert made.modes.mode is M.RISING and made.calls == ["hold"] and made.dropped == 1
    assert made.modes._home_next is (mode is M.PARKED)
    assert not made.modes.brakes.engaging and made.brakes_offered == 1 and barred(made) == ""


@pytest.mark.parametrize("mode", list(M))
@pytest.mark.parametrize("phase", [Phase.TRACKING, Phase.WAITING, Phase.STALE])
def test_an_emergency_stop_needs_no_states_and_no_mode(made, mode, phase):
    made.modes.mode, made.phase = mode, phase
    made.modes.motion = SimpleNamespace(goal=None, end=np.inf)
    assert made.emergency_stop() == ""
    if mode in (M.PARKED, M.STRANDED, M.STOPPED, M.PROTECTED, M.PROTECTING):
        assert made.modes.mode is mode and made.brakes_offered == 0 and made.calls == []
        return
    assert made.brakes_offered == 1
    assert made.modes.mode is (M.STOPPED if phase is Phase.WAITING else M.STOPPING)
    assert made.modes.brakes.engaging is (phase is Phase.WAITING)
    assert made.calls == (["stop_at_once"] if phase is Phase.TRACKING else [])
    assert made.dropped == (phase is Phase.TRACKING)


@pytest.mark.parametrize("reason", ["", "it moves"])
def test_a_reset_leaves_the_platform_on_its_brakes(made, reason):
    made.modes.mode, made.answers["reset_fault"] = M.PROTECTING, reason
    assert made.reset_fault() == reason
    assert made.modes.mode is (M.PROTECTING if reason else M.STOPPED)
    assert made.brakes_offered == (not reason)
    if not reason:
        assert made.modes.brakes.since == 10.0


@pytest.mark.parametrize("phase", [Phase.HOLDING, Phase.STALE])
def test_forces_carry_again_where_somebody_has_released_engaged_brakes(made, phase):
    made.modes.brakes.engage(1.0)
    made.phase = phase
    made.support()
    assert made.modes.brakes.since == (10.0 if phase.controls else 1.0)
    assert made.brakes_offered == phase.controls


def test_a_report_of_the_brakes_counts_when_it_changes(made):
    for k, engaged in enumerate((True, False, None), start=1):
        for _ in range(2):
            made.report_brakes(engaged)
            assert made.modes.brakes.reported is engaged and made.brakes_offered == k
    made.modes.brakes.engage(9.0)
    made.report_brakes(False)
    made.time = 11.0
    made.report_brakes(True)
    assert made.modes.brakes.since == 11.0 - made.modes.brakes.timing.engage


@pytest.mark.parametrize(
    ("state", "mode"),
    [(StopState.PARKED, M.PARKED), (StopState.STRANDED, M.STRANDED), (StopState.STOPPED, M.STOPPED),
     (StopState.PROTECTED, M.PROTECTED)],
)  # fmt: skip
def test_a_controller_begins_as_an_earlier_one_was_left(made, state, mode):
    made.begin_at_rest(state)
    assert made.modes.mode is mode and made.modes.brakes.engaging
    assert made.calls == (["protect"] if state is StopState.PROTECTED else [])
    assert made.brakes_offered == 1 and made.stop_state is state


def test_an_interface_is_not_implemented_by_itself():
    bare = object.__new__(PlatformCommands)
    with pytest.raises(NotImplementedError):
        _ = bare.present
    with pytest.raises(NotImplementedError):
        _ = bare.machine_description
    for call in (bare.overload, bare.offer_brakes, bare.drop_motion, lambda: bare.take_up(None)):
        with pytest.raises(NotImplementedError):
            call()
