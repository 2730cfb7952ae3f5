"""Parameters and bounds of every control loop, and values between a controller and its users."""

import dataclasses
import io
import math
import runpy
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.core import build
from robot_dynamics.control.core.library import array_at, ffi
from robot_dynamics.control.core.settings import Settings, loop_settings, supervised
from robot_dynamics.control.core.snapshot import PHASES, VERDICTS, Snapshot
from robot_dynamics.control.parameters import LoopParameters, SafeOutput, estimate_gains
from robot_dynamics.control.plausibility import PlausibilityBounds, PlausibilityParameters, StopLimits
from robot_dynamics.control.protocol import LATCHED, Command, Phase, Planned, PlanStart, late, plan_start_of
from robot_dynamics.errors import BackendError, ParameterError, StoppingError, TrajectoryError
from robot_dynamics.parameters import describe

DEFAULTS = {
    "max_stamp_step": (0.5, 1e-3, "s"),
    "max_state_jump": (0.05, 1e-6, "rad or m"),
    "max_velocity_factor": (3.0, 1.0, ""),
    "max_effort_step": (1.0, 1e-3, ""),
    "half_period_ahead": (True, None, ""),
    "control_period": (0.0, 0.0, "s"),
    "state_timeout": (0.1, 1e-3, "s"),
    "safe_output": ("gravity_fade", None, ""),
    "safe_fade_time": (2.0, 0.0, "s"),
    "model_change_time": (0.2, 0.0, "s"),
    "max_start_delay": (60.0, 0.0, "s"),
    "front_timeout": (5.0, 0.0, "s"),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_parameters_have_their_defaults_and_least_values(name):
    default, least, unit = DEFAULTS[name]
    found = next(one for one in describe(LoopParameters) if one.name == name)
    assert (found.default, found.minimum, found.unit) == (default, least, unit)
    assert getattr(LoopParameters(), name) == default and not found.read_only
    if least is not None:
        assert getattr(LoopParameters(**{name: least}), name) == least
        with pytest.raises(ParameterError, match=name):
            LoopParameters(**{name: least - 1e-9})
    if name.startswith("max_") and name != "max_start_delay":
        with pytest.raises(ParameterError, match=name):
            PlausibilityParameters(**{name: 0.0})


def test_safe_outputs_are_chosen_by_their_names():
    assert [output.value for output in SafeOutput] == ["gravity_fade", "zero"]
    found = next(one for one in describe(LoopParameters) if one.name == "safe_output")
    assert list(found.choices) == ["gravity_fade", "zero"]
    for name in ("gravity_fade", "zero"):
        assert LoopParameters(safe_output=name).fail_safe == name
    with pytest.raises(ParameterError, match="safe_output"):
        LoopParameters(safe_output="settle")


def test_gains_of_an_estimate_are_given_derived_or_none():
    kp, kv = np.array([100.0, 64.0]), np.array([20.0, 8.0])
    np.testing.assert_allclose(estimate_gains(7.0, kp, kv), [7.0, 7.0])
    np.testing.assert_allclose(estimate_gains(0.0, kp, kv), [125.0, 32.0])
    np.testing.assert_array_equal(estimate_gains(-1.0, kp, kv), [0.0, 0.0])
    np.testing.assert_allclose(estimate_gains(0.25, kp, kv), [0.25, 0.25])


def test_bounds_are_shares_and_multiples_of_the_limits():
    parameters = PlausibilityParameters(
        max_stamp_step=0.7, max_state_jump=0.02, max_velocity_factor=2.5, max_effort_step=0.3
    )
    bounds = PlausibilityBounds.of(parameters, np.array([10.0, np.inf]), np.array([2.0, 4.0]))
    np.testing.assert_allclose(bounds.effort, [10.0, np.inf])
    np.testing.assert_allclose(bounds.effort_step, [3.0, np.inf])
    np.testing.assert_allclose(bounds.velocity, [5.0, 10.0])
    np.testing.assert_allclose(bounds.velocity_limit, [2.0, 4.0])
    assert (bounds.state_jump, bounds.stamp_step) == (0.02, 0.7)
    assert bounds.of(parameters, np.ones(1), np.ones(1)).effort_step.tolist() == [0.3]


def test_settings_of_a_core_have_the_parameters_and_the_arrays_by_their_names():
    parameters = LoopParameters(
        half_period_ahead=False, control_period=0.25, state_timeout=0.5, safe_fade_time=0.75,
        model_change_time=1.25, front_timeout=1.5, safe_output="zero",
    )  # fmt: skip
    one = np.array([1.0, 2.0])
    bounds = PlausibilityBounds(one, 2 * one, 3 * one, 4 * one, 0.125, 0.375)
    stops = StopLimits(5 * one, 6 * one, 7 * one)
    made = loop_settings(0, parameters, bounds, stops, {"kp": [8, 9]}, brake_delay=0.625)
    value = made.value
    assert (value.looks_ahead, value.control_period, value.state_timeout) == (0, 0.25, 0.5)
    assert (value.safe_fade_time, value.model_change_time, value.front_timeout) == (0.75, 1.25, 1.5)
    assert (value.state_jump, value.stamp_step, value.safe_output, value.brake_delay) == (
        0.125,
        0.375,
        1,
        0.625,
    )
    for name, factor in (
        ("limits", 1), ("effort_steps", 2), ("velocity_bounds", 3), ("velocity_limits", 4),
        ("hold_deceleration", 5), ("stop_deceleration", 6),
    ):  # fmt: skip
        np.testing.assert_array_equal(array_at(getattr(value, name), 2), factor * one, err_msg=name)
    np.testing.assert_array_equal(array_at(value.kp, 2), [8.0, 9.0])
    one[:] = 0.0  # arrays are copied
    np.testing.assert_array_equal(array_at(value.limits, 2), [1.0, 2.0])
    usual = loop_settings(0, LoopParameters(), bounds, stops, {}).value
    assert (usual.looks_ahead, usual.safe_output) == (1, 0)


def test_settings_with_rules_keep_what_they_had_and_copy_arrays():
    settings, given = Settings(ffi().new("rd_settings *"), "kept"), np.array([3.0, 4.0])
    made = supervised(settings, {"following": given, "delay": 0.25})
    given[:] = 0.0
    rules = made.value.rules
    assert made.value is settings.value and rules.delay == 0.25 and made.kept[0] == "kept"
    np.testing.assert_array_equal(array_at(rules.following, 2), [3.0, 4.0])


def test_phases_in_which_feedback_is_in_force():
    assert {phase for phase in Phase if not phase.controls} == {Phase.WAITING, Phase.STALE, Phase.FAULT}
    assert PHASES[3] is Phase.STALE and VERDICTS[:2] == ("pending", "accepted")


def test_a_command_names_the_joints_whose_efforts_were_cut():
    assert dataclasses.is_dataclass(Command)
    command = Command(np.array([1.0, 2.0, -3.0]), np.array([1.0, 2.5, -4.0]), "there", Phase.TRACKING)
    assert command.saturated.tolist() == [False, True, True]
    assert (command.reference, command.phase) == ("there", Phase.TRACKING)
    assert command.effort.tolist() == [1.0, 2.0, -3.0] and command.unlimited.tolist() == [1.0, 2.5, -4.0]


def controller(phase=Phase.HOLDING):
    return SimpleNamespace(phase=phase, time=2.0, epoch=6, reference=lambda time: ("at", time))


@pytest.mark.parametrize(
    ("start", "allowance", "expected"),
    [
        (None, 0.5, (2.5, 2.5, 2.5)),
        (4.0, 0.5, (4.0, 2.5, 4.0)),
        (1.0, 0.5, (1.0, 2.5, 2.5)),
        (2, 0, (2.0, 2.0, 2.0)),
    ],
)
def test_a_plan_begins_where_the_reference_will_be(start, allowance, expected):
    found = plan_start_of(controller(), start, allowance)
    assert found == PlanStart(expected[0], expected[1], ("at", expected[2]), 6, queue=())
    assert found.queue == ()
    with pytest.raises(TypeError):
        PlanStart(1.0, 2.0, "there", 4, ())  # a queue is named


def test_no_plan_begins_while_the_controller_does_not_control():
    with pytest.raises(TrajectoryError) as found:
        plan_start_of(controller(Phase.PROTECTIVE_STOP), None, 0.0)
    assert str(found.value) == LATCHED
    with pytest.raises(StoppingError):
        plan_start_of(controller(Phase.STOPPING), None, 0.0)
    for phase in (Phase.WAITING, Phase.STALE, Phase.FAULT):
        with pytest.raises(TrajectoryError) as found:
            plan_start_of(controller(phase), None, 0.0)
        assert str(found.value) == f"the controller is not ready for a trajectory: {phase.value}"
    for wrong in ({"allowance": math.nan}, {"start": math.inf}):
        with pytest.raises(TrajectoryError, match=next(iter(wrong))):
            plan_start_of(controller(), **{"start": 1.0, "allowance": 0.0, **wrong})
    assert late(1.25) == "planning took 1.250 s longer than it was allowed to"
    assert Planned("a path", 3).epoch == 3


@pytest.mark.parametrize("wide", [False, True])
def test_an_installation_builds_the_core_and_the_retiming_for_its_processor(monkeypatch, tmp_path, wide):
    built = []
    monkeypatch.setattr(
        build.prebuilt, "build", lambda source, flags, folder: built.append((source, flags, folder))
    )
    monkeypatch.setattr(build, "core_source", lambda: "core")
    monkeypatch.setattr(build.retiming, "retiming_source", lambda: "retiming")
    monkeypatch.setattr(build.retiming, "wide", lambda: wide)
    assert build.main(str(tmp_path)) == 0
    expected = [("core", build.FLAGS), ("retiming", build.retiming.FLAGS), ("retiming", build.retiming.WIDE)]
    assert built == [(*each, tmp_path) for each in expected[: 3 if wide else 2]]


def test_an_installation_without_a_compiler_says_so_in_a_line(monkeypatch, tmp_path):
    def fails(*given):
        raise BackendError("there is no compiler")

    monkeypatch.setattr(build.prebuilt, "build", fails)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert build.main(str(tmp_path)) == 0
    assert sys.stderr.getvalue() == "robot_dynamics: the control core is not built: there is no compiler\n"


def test_an_installation_runs_it_with_the_folder_as_its_argument(monkeypatch, tmp_path):
    folders = []
    monkeypatch.setattr(build.prebuilt, "build", lambda source, flags, folder: folders.append(folder))
    monkeypatch.setattr(sys, "argv", ["build", str(tmp_path)])
    runpy.run_path(build.__file__, run_name="imported")
    assert not folders
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(build.__file__, run_name="__main__")
    assert ended.value.code == 0 and set(folders) == {tmp_path}


def test_the_picture_of_a_core_has_its_head_and_its_arrays_in_their_order():
    head, joints, telemetry = ffi().sizeof("rd_snapshot"), 2, 3
    places = head // 8 + 6 * joints + telemetry

    def taken(core, picture):
        assert core == "core"
        numbers = array_at(ffi().cast("double *", picture), places)
        numbers[head // 8 :] = np.arange(6.0 * joints + telemetry)
        picture.epoch += 1

    library = SimpleNamespace(rd_core_snapshot_size=lambda core: 8 * places, rd_core_snapshot=taken)
    snapshot = Snapshot(library, "core", joints)
    first, second = snapshot.read(), snapshot.read()
    assert (first.epoch, second.epoch) == (1, 2)  # a head stays as it was
    assert snapshot.hold.tolist() == [0.0, 1.0] and snapshot.position.tolist() == [2.0, 3.0]
    assert snapshot.velocity.tolist() == [4.0, 5.0]
    assert snapshot.motion.tolist() == [[6.0, 7.0], [8.0, 9.0], [10.0, 11.0]]
    assert snapshot.telemetry.tolist() == [12.0, 13.0, 14.0]
