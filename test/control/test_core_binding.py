"""The binding of the control core: requests of another thread, warnings, trips, and what is kept."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from arms import WEIGHT, Pendulum, pendulum_chain, two_joint_chain

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.core import controller as binding
from robot_dynamics.control.core import library
from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.core.sources import api_of, core_source, declarations, enumerators
from robot_dynamics.control.protocol import LATCHED, MOVES, VOID, Phase
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.control.supervision import RULES, Trip
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import BackendError, StateError, TrajectoryError


def held(place=0.3, **parameters):
    """A pendulum that is held at a place since 0.02 s."""
    control = ArmController(pendulum_chain(), Pendulum(), ArmParameters(**parameters))
    for k in range(3):
        control.update(0.01 * k, np.array([place]), np.zeros(1))
    return control


def followed(goal=0.6, seconds=2.0, **parameters):
    """One that follows a trajectory without error, and is asked to go on by ``run``."""
    control = held(**parameters)
    trajectory = control.follow(["swing"], [Waypoint(seconds, np.array([goal]))])
    return control, trajectory


def run(control, until, offset=0.0, step=0.01):
    for time in np.arange(control.time + step, until + 1e-9, step):
        at = control.reference(float(time))
        control.update(float(time), at.position + offset, at.velocity)


def test_what_a_robot_has_to_add_is_asked_for_and_the_rest_has_defaults():
    bare = object.__new__(CoreController)
    for ask in (
        lambda: bare.parameters, bare.core_settings, lambda: bare.model_in_use, lambda: bare.joint_of(None),
        lambda: bare.reference_of(None, None, None), lambda: setattr(bare, "model_in_use", None),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError):
            ask()
    assert (bare.python_parts, bare.awaits, bare.measured_joints, bare.characteristics) == ("", "", (), "")
    assert bare.conduct() == math.inf and bare.command_offset is None
    assert bare.check_start() is None and bare.before_state(1.0) is None and bare.after_state() is None
    assert CoreController.telemetry == 0 and binding.LONGEST_LINE == 600


def test_a_core_is_freed_with_its_controller_and_none_where_it_was_never_made():
    bare, freed = object.__new__(CoreController), []
    bare.__del__()
    bare.handle, bare._core = 7, "core"
    bare._library = SimpleNamespace(rd_core_free=freed.append)
    bare.__del__()
    assert freed == ["core"]
    bare.handle = 0


def test_without_memory_for_a_core_there_is_no_controller(monkeypatch):
    usual = binding.load_core()

    class Full:
        rd_core_new = staticmethod(lambda joints, settings: usual.rd_core_new and None)

        def __getattr__(self, name):
            return getattr(usual, name)

    monkeypatch.setattr(binding, "load_core", Full)
    with pytest.raises(MemoryError, match=r"^no memory for a controller$"):
        held()


def test_phases_times_and_references_of_a_trajectory():
    control = ArmController(pendulum_chain(), Pendulum())
    assert control.phase is Phase.WAITING
    control.update(0.5, np.array([0.3]), np.zeros(1))
    assert control.phase is Phase.HOLDING and control.time == 0.5
    at = control.reference(9.0)
    np.testing.assert_array_equal([at.position, at.velocity, at.acceleration], [[0.3], [0.0], [0.0]])
    before = control.epoch
    trajectory = control.follow(["swing"], [Waypoint(2.0, np.array([0.6]))])
    assert control.phase is Phase.TRACKING and control.follows(trajectory)
    assert control.epoch == before + 1
    np.testing.assert_allclose(control.reference(1.5).position, 0.45, atol=1e-9)
    assert control.at_rest(np.array([0.7])).velocity.tolist() == [0.0]
    place = np.array([0.7])
    assert control.at_rest(place).position is not place


def test_a_plan_that_is_handed_over_is_followed_only_while_control_is_in_force():
    control, _ = followed()
    run(control, 0.5)
    control.lost_states(0.5)
    control.safe_command(0.0)
    assert control.phase is Phase.STALE
    with pytest.raises(TrajectoryError, match=r"not ready for a trajectory: "):
        control.plan_start(None)


def test_commands_have_efforts_limits_references_and_phases():
    control = ArmController(pendulum_chain(effort=2.0), Pendulum(), ArmParameters(max_effort_step=2.0))
    command = control.update(0.0, np.array([0.3]), np.zeros(1))
    np.testing.assert_allclose(command.unlimited, WEIGHT * np.sin(0.3), rtol=1e-12)
    np.testing.assert_allclose(command.effort, np.minimum(command.unlimited, 2.0))
    assert command.phase is Phase.HOLDING and command.reference.position.tolist() == [0.3]
    first = command.effort
    control.update(0.01, np.array([0.1]), np.zeros(1))
    assert command.effort is first and command.reference.position.tolist() == [0.3]
    fades = ArmController(pendulum_chain(), Pendulum(), ArmParameters(safe_fade_time=2.0))
    fades.update(0.0, np.array([0.3]), np.zeros(1))
    fades.lost_states()
    assert fades.safe_command(0.0).phase is Phase.STALE
    for since, share in ((0.0, 1.0), (0.5, 0.75), (2.0, 0.0)):
        np.testing.assert_allclose(fades.safe_command(since).effort, share * WEIGHT * np.sin(0.3), atol=1e-9)


def test_states_are_lost_now_where_nobody_says_since_when(monkeypatch):
    control, ages = held(), []
    monkeypatch.setattr(
        control, "_library", SimpleNamespace(rd_core_lost_states=lambda core, age: ages.append(age))
    )
    control.lost_states()
    control.lost_states(0.75)
    assert ages == [0.0, 0.75]
    monkeypatch.undo()


def test_an_observed_place_counts_for_the_safe_output_and_an_impossible_one_does_not():
    control = ArmController(pendulum_chain(), Pendulum())
    control.update(0.0, np.array([0.3]), np.zeros(1))
    control.lost_states()
    control.observe(np.array([0.34]))
    control.observe(np.array([np.nan]))
    control.observe(np.array([1.0, 2.0]))
    np.testing.assert_allclose(control.safe_command(0.0).effort, WEIGHT * np.sin(0.34), rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda control: control.update(np.nan, np.zeros(1), np.zeros(1)), "time"),
        (lambda control: control.update("now", np.zeros(1), np.zeros(1)), "time"),
        (lambda control: control.update(0.5, np.zeros(2), np.zeros(1)), "position"),
        (lambda control: control.update(0.5, np.zeros(1), np.zeros(2)), "velocity"),
        (lambda control: control.lost_states(np.nan), "age"),
        (lambda control: control.safe_command(np.inf), "since"),
    ],
)
def test_numbers_that_are_none_are_named(call, named):
    with pytest.raises(StateError, match=named):
        call(held())
    assert held().update(1, np.array([0.3]), np.zeros(1)).phase is Phase.HOLDING  # a whole number is a time


def test_velocities_that_are_zero_while_the_joint_moves_are_a_warning():
    control = held()
    assert control.zero_velocities == ""
    for k in range(3, 200):
        control.update(0.01 * k, np.array([0.3 + 0.002 * k]), np.zeros(1))
    assert control.zero_velocities == (
        "joint velocities are always zero while the joints move: they are estimated from the positions;"
        " give velocities, or none"
    )


def test_discontinuities_are_in_words():
    control = held()
    assert control.discontinuity == ""
    control.update(0.03, np.array([2.3]), np.zeros(1))
    assert "jumped" in control.discontinuity or "moved" in control.discontinuity
    control.update(0.01, np.array([2.3]), np.zeros(1))
    assert "back" in control.discontinuity


def test_a_trajectory_begins_within_the_longest_delay():
    control = held(max_start_delay=3.0)
    start = control.plan_start(3.0, 0.0)
    assert (start.start, start.now) == (3.0, 0.02)
    assert control.departure(1.0, 0.25).now == control.plan_start(1.0, 0.25).now == 0.27
    assert CoreController.plan_start(control, None).now == control.departure(None).now == 0.02
    assert control.plan_start(None).start == 0.02 and control.plan_start(3.0 + 0.02).start == 3.02
    with pytest.raises(TrajectoryError) as found:
        control.plan_start(4.02)
    assert str(found.value) == "the trajectory would begin 4.000 s from now; max_start_delay allows 3.000"


def test_plans_that_are_void_or_late_are_discarded_with_the_reason():
    control = held()
    void = control.plan(["swing"], [Waypoint(1.0, np.array([0.5]))], control.plan_start(None))
    control.hold()
    assert control.accept(void) == VOID
    with pytest.raises(TrajectoryError, match=VOID):
        control._follow(void)
    with pytest.raises(TypeError, match="planned"):
        control.accept("a plan")


def test_another_thread_is_asked_for_what_changes_the_core():
    control, asked = held(), []
    control.driven_by(asked.append)
    control.hold()
    control.stop_at_once()
    control.latch()
    planned = control.plan(["swing"], [Waypoint(1.0, np.array([0.5]))], control.plan_start(None, 0.5))
    assert control.accept(planned) == ""  # a thread that is starved has not looked at it yet
    assert asked == ["hold", "emergency_stop", "latch", "take_plan"]
    assert control.phase is Phase.TRACKING
    control.driven_by(None)
    control.stop_at_once()
    control.latch()
    assert control.latched
    control.driven_by(asked.append)
    assert control.reset_fault() == "" and asked[-1] == "reset_fault" and control.latched
    control.driven_by(None)
    assert control.reset_fault() == "" and not control.latched


def test_a_protective_stop_is_reset_at_rest_only():
    control, _ = followed()
    assert control.reset_fault() == "no protective stop is in force"
    run(control, 1.0)
    assert control.stop_state is StopState.RELEASED and control.trip is None
    assert control.update(1.0 + 1e-3, control.reference(1.001).position, np.zeros(1)).phase is Phase.TRACKING
    control.stop_in_motion()
    assert control.latched and control.stop_state is StopState.PROTECTED
    control.update(1.01, control.reference(1.01).position, np.array([2.0]))
    assert control.reset_fault() == MOVES
    with pytest.raises(TrajectoryError, match=LATCHED):
        control.plan_start(None)
    run(control, 3.0)
    assert control.reset_fault() == "" and control.reset_fault() == "no protective stop is in force"
    assert control.phase is Phase.HOLDING
    control.stop_in_motion()  # nothing is followed
    assert not control.latched


@pytest.mark.parametrize("rule", ["repeated_faults", "overspeed"])
def test_a_stop_that_an_earlier_controller_left_is_in_force_from_the_beginning(rule):
    control = ArmController(pendulum_chain(), Pendulum())
    if rule == "repeated_faults":
        control.begin_at_rest(StopState.PROTECTED)
    else:
        control.protect(rule)
    control.update(0.0, np.array([0.3]), np.zeros(1))
    assert control.latched and control.phase is Phase.PROTECTIVE_STOP and control.trip.rule == rule
    assert control.reset_fault() == ""


def test_a_trip_in_words_has_its_numbers():
    control = held()
    stops = Trip(1, "following_error", 0, 3.0, 0.2345, 0.1, True, True)
    line = control.words_of_trip(stops)
    assert line.startswith("swing is 0.2345 rad from its reference, allowed are 0.1 rad: protective stop")
    told = control.words_of_trip(Trip(1, "following_error", 0, 3.0, 0.2345, 0.1, False, False))
    back = control.words_of_trip(Trip(1, "following_error", 0, 3.0, 0.2345, 0.1, True, True, 4))
    speed = control.words_of_trip(Trip(1, "overspeed", 0, 3.0, 0.2345, 0.1, True, True))
    assert len({line, told, back, speed}) == 4 and "rad/s" in speed


def test_rules_have_the_largest_values_so_far():
    control, _ = followed(max_following_error=(0.5,))
    run(control, 0.5)
    run(control, 1.0, offset=0.03)
    rule = next(rule for rule in control.rules() if rule.name == "following_error")
    assert {rule.name for rule in control.rules()} <= set(RULES)
    np.testing.assert_allclose(np.max(rule.largest), 0.03 / 0.5, rtol=0.1)


def test_low_gains_name_the_joints_their_distance_and_their_unit(monkeypatch):
    chain = two_joint_chain()
    quiet = ArmController(chain, None, ArmParameters(kp=(900.0,), kv=(60.0,)))
    assert CoreController.low_gains(quiet) == []
    weak = ArmController(chain, None, ArmParameters(kp=(4.0,), kv=(4.0,), loop_delay=-1.0))
    following = library.array_at(weak._settings[weak._number].value.rules.following, 2)
    assert following[0] > 0.2
    following[1] = 0.0625
    assert [line for line in CoreController.low_gains(weak) if "may come" in line] == [
        f"{name} may come {value:.3g} {unit} from its reference before a protective stop: kp is low for its"
        " weight, friction and inertia"
        for name, value, unit in (("lift", following[0], "rad"), ("turn", 0.0625, "m"))
    ]
    following[:] = (0.2, np.inf)
    assert not [line for line in CoreController.low_gains(weak) if "may come" in line]
    following[:] = (0.201, 0.051)
    assert len([line for line in CoreController.low_gains(weak) if "may come" in line]) == 2
    monkeypatch.setattr(
        weak, "_library", SimpleNamespace(rd_longest_periods=lambda *given: None), raising=False
    )
    assert CoreController.low_gains(weak)[0] == (
        "kp, kv and loop_delay are stable with no period of the states: the rule slow_states will lower the"
        " gains or stop the robot; loop_delay -1 switches it off"
    )
    del weak._library
    weak._library = binding.load_core()


def test_a_controller_takes_over_from_one_of_the_same_joints():
    first, second = held(0.5), held(0.5)
    second.take_over_from(first)
    assert second._predecessor is first and first._predecessor is None
    first.take_over_from(second)
    assert first._predecessor is second and second._predecessor is None
    other = ArmController(two_joint_chain())
    with pytest.raises(StateError, match=r"^the other controller has 2 joints; this one has 1$"):
        first.take_over_from(other)
    with pytest.raises(TypeError, match="other"):
        first.take_over_from(None)


def test_a_drive_reference_is_beside_the_last_effort():
    control = ArmController(pendulum_chain(), Pendulum())
    position, velocity = control.drive_reference
    assert np.isnan(position).all() and velocity.tolist() == [0.0]
    control, _ = followed()
    run(control, 1.0)
    expected = control.reference(1.0)
    np.testing.assert_allclose(control.drive_reference, [expected.position, expected.velocity], atol=1e-6)


def test_models_and_settings_are_counted_and_kept_as_long_as_they_are_used():
    control = held()

    def numbers():
        value = control._settings[control._number].value
        return value.number, value.model, value.law

    assert numbers() == (1, 1, 1)
    for model, law, expected in (
        (False, True, (2, 1, 2)),
        (True, False, (3, 2, 2)),
        (False, False, (4, 2, 2)),
    ):
        control.offer_settings(model, law)
        assert numbers() == expected
    for k in range(3, 14):
        control.offer_settings(k % 2 == 0, False)
        control.update(0.01 * k, np.array([0.3]), np.zeros(1))
    assert len(control._settings) <= 4 and len(control._models) <= 3
    assert set(control._models) >= {one.value.model for one in control._settings.values()}
    assert control.went_back() is False


def test_a_model_that_the_core_takes_back_is_in_use_again_and_that_is_told_once():
    control = held()
    before = control.model_in_use
    picture = SimpleNamespace(refused=control._model, model=control._model, former=0, oldest_settings=0)
    kept = control._snapshot
    other = Pendulum()
    control.change_model(other)
    control._snapshot = SimpleNamespace(read=lambda: picture)
    number, count, law = control._number, control._model, control._law
    assert control.went_back() is False  # an older one was refused
    assert (control._number, control._model) == (number, count)
    picture.refused = control._model
    assert control.went_back() is True
    assert (control._number, control._model, control._law) == (number + 1, count + 1, law)
    assert control.model_in_use is before
    control._snapshot = kept
    assert control.went_back() is False


def test_enumerations_of_the_headers_have_names_and_descriptions():
    phases = enumerators("rd_phase")
    assert list(phases)[:3] == ["waiting", "holding", "tracking"]
    assert phases["waiting"] == "waiting for the first joint state"
    assert [phase.value for phase in Phase] == list(phases.values())
    assert library.COMMANDS == ("effort", "velocity", "position")
    assert library.SAFE_OUTPUTS == ("gravity_fade", "zero", "settle")
    assert "called" not in library.MODES and "computed_torque" in library.MODES
    assert list(enumerators("rd_brakes")) == ["all", "falling", "rising"]
    with pytest.raises(AssertionError, match="no enumeration rd_nothing in the core's headers"):
        enumerators("rd_nothing")
    assert "#" not in declarations() and "rd_core_new" in declarations()
    assert "rd_core_new" in api_of("robot_dynamics.control.core", "core.h")
    assert core_source().count("rd_core *rd_core_new(") >= 2


def test_a_library_that_cannot_be_opened_is_thrown_away_and_named(tmp_path, monkeypatch):
    broken = tmp_path / "core.so"
    broken.write_bytes(b"no library")
    thrown = []
    monkeypatch.setattr(library, "discard", thrown.append)
    with pytest.raises(BackendError) as found:
        library.opened(library.ffi(), broken)
    assert str(found.value).startswith(f"the compiled library {broken} cannot be loaded: ")
    assert thrown == [broken]


def test_functions_of_a_library_are_looked_up_when_it_is_opened_and_it_is_opened_once():
    looked = []

    class Library:
        def __dir__(self):
            return ["rd_one", "rd_missing", "rd_two"]

        def __getattr__(self, name):
            looked.append(name)
            if name == "rd_missing":
                raise AttributeError(name)
            return name

    made = Library()
    opened = library.opened(SimpleNamespace(dlopen=lambda path: made), Path("/some/core.so"))
    assert opened is made and looked == ["rd_missing", "rd_one", "rd_two"]
    assert library.load_core() is library.load_core() and library.ffi() is library.ffi()


def test_libraries_are_the_package_s_own_or_compiled_once(monkeypatch, tmp_path):
    monkeypatch.setattr(library.prebuilt, "find", lambda source, flags: tmp_path / f"{source}{len(flags)}")
    assert library.built("text", ("-a", "-b")) == tmp_path / "text2"
    monkeypatch.setattr(library.prebuilt, "find", lambda source, flags: None)
    asked = []

    def compiled(source, text, flags):
        asked.append((source, text(), flags))
        return tmp_path

    monkeypatch.setattr(library, "shared_library", compiled)
    monkeypatch.setattr(library, "BUILDS", SimpleNamespace(made=lambda key, build: build()))
    assert library.built("text", ["-a"]) == tmp_path and asked == [("text", "text", ("-a",))]


def test_numbers_of_the_core_share_their_memory():
    numbers = np.array([1.0, 2.0, 3.0])
    pointer = library.doubles(numbers)
    shared = library.array_at(pointer, 2)
    assert shared.tolist() == [1.0, 2.0]
    numbers[1] = 7.0
    assert shared[1] == 7.0 and pointer[1] == 7.0
