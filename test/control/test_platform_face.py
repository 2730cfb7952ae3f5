"""Face of a platform's controller: settings that it offers, payloads, wrenches, telemetry, words, plans."""

from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from motion_base import lengths_at, motion_base
from scipy.spatial.transform import Rotation

from robot_dynamics.control.core.controller import CoreController
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.stewart import controller as module
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.operating_modes import OperatingMode, OperatingModes
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.platform_model import BEYOND, loaded
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.errors import ParameterError, SingularityError, StateError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import MASSLESS
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.orientation import quaternion_from_rotation

CALM = {"safe_output": "gravity_fade"}
ZERO = np.array([0.3, 0.5, 0.2, 0.6, 0.4, 0.7])
SHIFT, TURN = np.array([0.02, -0.03, 0.04]), np.array([0.03, -0.05, 0.06])
LOAD = RigidBody(200.0, np.array([0.1, -0.2, 0.3]), np.diag([10.0, 12.0, 9.0]))
PATH = QuinticSpline(np.array([0.0, 1.0]), np.zeros((1, 6, 6)))
"""A path that rests at the origin of its coordinates."""


@pytest.fixture(scope="module")
def base():
    return motion_base()


def controller(base, zero=None, **parameters):
    return StewartController(base, StewartParameters(**{**CALM, **parameters}), zero)


def placed(base, zero=None, time=1.0, **parameters):
    """A controller whose platform stands beside home, and is turned."""
    made = controller(base, zero, **parameters)
    made.update(time, lengths_at(base, SHIFT, TURN) - (0.0 if zero is None else zero), np.zeros(6))
    return made


def pose_of(base):
    """Position and quaternion beside home."""
    rotation = Rotation.from_rotvec(TURN).as_matrix() @ base.machine.home_rotation
    return base.machine.home_position + SHIFT, quaternion_from_rotation(rotation)


def resting(platform, base, wrench=(0.0,) * 6):
    """Forces at rest beside home by the library's inverse dynamics."""
    zero = [np.zeros(3)] * 4
    return platform.inverse_dynamics(
        *pose_of(base), *zero, force=wrench[:3], torque=wrench[3:], on_violation="report"
    ).actuator_forces


@pytest.fixture
def offers(monkeypatch):
    """Offers of settings: another model, another law."""
    found, offer = [], StewartController.offer_settings

    def recorded(self, model, law):
        found.append((model, law))
        offer(self, model, law)

    monkeypatch.setattr(StewartController, "offer_settings", recorded)
    return found


def test_what_is_no_platform_or_no_parameters_is_refused(base):
    with pytest.raises(TypeError, match="platform"):
        StewartController(base.machine)
    with pytest.raises(TypeError, match="parameters"):
        StewartController(base, {})
    for wrong in (np.ones(5), np.ones(7), [np.nan] * 6):
        with pytest.raises(StateError, match="zero_lengths"):
            StewartController(base, StewartParameters(**CALM), wrong)


def test_lengths_are_positions_and_the_lengths_at_which_these_are_zero(base):
    made = controller(base, ZERO)
    np.testing.assert_array_equal(made.command_offset, ZERO)
    np.testing.assert_allclose(made.lengths, lengths_at(base))
    measured = lengths_at(base, SHIFT, TURN)
    made.update(1.0, measured - ZERO, np.zeros(6))
    np.testing.assert_allclose(made.lengths, measured, rtol=1e-15)
    np.testing.assert_allclose(made.pose.position, pose_of(base)[0], atol=1e-9)
    np.testing.assert_array_equal(controller(base).command_offset, np.zeros(6))
    np.testing.assert_allclose(made.effort_limits, 15e3)
    assert made.parameters.safe_output == "gravity_fade"


def test_parameters_are_the_defaults_where_none_are_given(base, monkeypatch):
    monkeypatch.setattr(OperatingModes, "kept_descent", lambda *given: SimpleNamespace(spline=PATH))
    assert StewartController(base).parameters == StewartParameters()


def test_references_are_motions_of_the_coordinates(base):
    random = np.random.default_rng(4)
    place, rate, second = random.uniform(-0.4, 0.4, (3, 6))
    found = controller(base).reference_of(place, rate, second)
    turn = Rotation.from_euler("xyz", place[3:])
    np.testing.assert_allclose(found.position, place[:3])
    np.testing.assert_allclose(found.rotation, turn.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(found.linear_velocity, rate[:3])
    np.testing.assert_allclose(found.linear_acceleration, second[:3])
    h = 1e-5
    ahead, behind = (
        Rotation.from_euler("xyz", place[3:] + s * rate[3:] + s * s * second[3:] / 2) for s in (h, -h)
    )
    np.testing.assert_allclose(
        found.angular_velocity, (ahead * behind.inv()).as_rotvec() / (2 * h), atol=1e-9
    )
    bend = ((ahead * turn.inv()).as_rotvec() + (behind * turn.inv()).as_rotvec()) / h**2
    np.testing.assert_allclose(found.angular_acceleration, bend, atol=1e-4)
    for part in (found.force, found.torque):
        np.testing.assert_array_equal(part, np.zeros(3))


# Settings


def test_only_other_gains_and_another_law_are_another_law(base, offers):
    made = controller(base)
    assert offers == [(False, False)]
    for name, value in (
        ("kp", (300.0,)), ("kv", (50.0,)), ("ki", 5.0), ("disturbance_limit", 2.0), ("mode", "feedforward"),
        ("kp", (900.0,)), ("kv", (20.0,)), ("ki", -1.0), ("disturbance_limit", 4.0),
        ("mode", "computed_force"),
        ("watch_margin", 0.1), ("stream_jerk", 3.0),
    ):  # fmt: skip
        del offers[:]
        made.parameters = replace(made.parameters, **{name: value})
        assert offers == [(False, name not in ("watch_margin", "stream_jerk"))]
        assert getattr(made.parameters, name) == value
        assert made.intake.parameters is made.modes._parameters is made.parameters
    with pytest.raises(TypeError, match="parameters"):
        made.parameters = None


def test_a_descent_is_planned_where_the_safe_output_needs_it_and_its_parameters_change(base, monkeypatch):
    found = []

    def kept(self, platform, settings):
        found.append((platform, settings))
        raise RuntimeError("planned")

    monkeypatch.setattr(OperatingModes, "kept_descent", kept)
    for output, command in (("gravity_fade", "effort"), ("zero", "effort"), ("settle", "position"),
                            ("settle", "velocity"), ("zero", "velocity")):  # fmt: skip
        made = controller(base, safe_output=output, command=command)
        made.parameters = replace(made.parameters, blind_speed=0.3)
        assert found == [] and made._descent is None
    parameters = StewartParameters(safe_output="settle")
    with pytest.raises(RuntimeError, match="planned"):
        StewartController(base, parameters, ZERO)
    assert found == [(base, (parameters, ZERO.tobytes()))]
    made = controller(base)
    made._parameters = parameters
    for change, planned in (
        ({"park_pose": (0.0, 0.0, 1.1, 0.0, 0.0, 0.0)}, True), ({"blind_speed": 0.3}, True),
        ({"blind_speed": 0.9}, True), ({"max_acceleration": 3.0}, True),
        ({"max_angular_acceleration": 3.0}, True), ({"governed_share": 0.5}, True),
        ({"settle_speed": 0.1}, False), ({"kp": (9.0,)}, False),
    ):  # fmt: skip
        del found[:]
        made._parameters = parameters
        if planned:
            with pytest.raises(RuntimeError, match="planned"):
                made.parameters = replace(parameters, **change)
            assert found == [(base, None)]
        else:
            made.parameters = replace(parameters, **change)
            assert found == []


def test_a_descent_is_part_of_the_settings(base):
    made = controller(base)
    assert not made.core_settings().value.platform.descent
    made.modes.kept_descent = lambda *given: SimpleNamespace(spline=PATH)
    made._parameters = replace(made.parameters, safe_output="settle", blind_speed=0.37)
    made._find_descent()
    plan = made._descent[0]
    assert (plan.number, plan.epoch, plan.continues) == (1, 0, 0)
    model = made.core_settings().value.platform
    assert model.descent == plan and model.blind_speed == 0.37 and list(model.pace) == [4.0, 4.0 / 1.2]


def test_watch_and_brakes_are_part_of_the_settings(base, offers):
    made = placed(base, brake_engage_time=0.3)
    value = made.core_settings().value
    assert value.platform.watches and value.brake_delay == 0.3
    del offers[:]
    made.offer_brakes()
    assert offers == [], "nothing has changed"
    made.modes.brakes.engage(1.0)
    made.modes.mode = OperatingMode.STOPPED
    made.offer_brakes()
    assert offers == [(False, False)]
    value = made.core_settings().value
    assert not value.platform.watches
    assert (value.brakes, value.brake_from, value.brake_fade) == made.modes.brakes.fields()
    made.offer_brakes()
    assert offers == [(False, False)]


# Payloads and other models


def test_a_payload_is_carried_until_there_is_none(base, offers):
    made = placed(base)
    del offers[:]
    made.change_payload(LOAD)
    assert made.payload is LOAD and offers == [(True, False)]
    assert made.model_in_use == (made._compiled, LOAD)
    whole = resting(StewartPlatform(loaded(base.machine, LOAD)), base)
    np.testing.assert_allclose(made._resting_forces(np.zeros(6)), whole, rtol=1e-7)
    made.change_payload(MASSLESS)
    assert made.payload is None and offers == [(True, False)] * 2
    made.change_payload(replace(LOAD, mass=0.5))
    assert made.payload.mass == 0.5
    with pytest.raises(TypeError, match="payload"):
        made.change_payload(3.0)


def test_a_model_that_the_core_has_taken_back_is_in_use_again(base, offers, monkeypatch):
    made = placed(base)
    before = made.model_in_use
    made.change_payload(LOAD)
    del offers[:]
    assert made.payload is LOAD and offers == []

    def taken_back(self):
        self.model_in_use = before
        return True

    monkeypatch.setattr(CoreController, "_take_back", taken_back)
    assert made.payload is None and offers == [(True, False)]
    assert made.model_in_use == before


def test_another_model_of_the_machine_is_another_model(base, offers, monkeypatch):
    made, given = placed(base), []
    found = copy(made._compiled)
    compiled = SimpleNamespace(compile=lambda: found)
    monkeypatch.setattr(module, "compensated", lambda platform: given.append(platform) or compiled)
    del offers[:]
    heavier = replace(base.machine.platform, mass=1.1 * base.machine.platform.mass)
    other = StewartPlatform(replace(base.machine, platform=heavier))
    made.change_model(other)
    assert offers == [(True, False)] and given == [other] and made._compiled is found
    with pytest.raises(TypeError, match="platform"):
        made.change_model(base.machine)


@pytest.mark.parametrize(
    ("phase", "engaging", "checked"),
    [(Phase.HOLDING, False, True), (Phase.HOLDING, True, False), (Phase.STALE, False, False),
     (Phase.STALE, True, False)],
)  # fmt: skip
def test_a_payload_that_is_too_heavy_is_refused_where_the_forces_carry(
    base, monkeypatch, phase, engaging, checked
):
    made = placed(base)
    stops = []
    monkeypatch.setattr(StewartController, "phase", phase)
    monkeypatch.setattr(StewartController, "stop_in_motion", lambda self: stops.append(True))
    made.modes.brakes.engaging = engaging
    heavy = replace(LOAD, mass=1e4)
    if not checked:
        made.check_payload(heavy)
        assert stops == []
        return
    with pytest.raises(
        ParameterError, match=r"^leg_\d would need \d+\.\d{4} N at rest, its limit is 15000\.0000:"
    ):
        made.check_payload(heavy)
    assert stops == [True] and made.payload is None
    made.check_payload(LOAD)
    assert stops == [True] and made.payload is None


def test_gains_are_checked_with_the_payload(base):
    made = placed(base)
    checks = []
    made._check_gains = lambda parameters, payload: checks.append((parameters, payload))
    made.check_payload(MASSLESS)
    made.check_parameters(made.parameters)
    assert checks == []
    made.check_payload(replace(LOAD, mass=0.5))
    assert len(checks) == 1 and checks[0][0] is made.parameters and checks[0][1].mass == 0.5
    made._payload = LOAD
    other = replace(made.parameters, kp=(900.0,))
    made.check_parameters(other)
    assert checks[1] == (other, LOAD)


@pytest.mark.parametrize("command", ["position", "velocity"])
@pytest.mark.parametrize("own", ["effort", "velocity", "position"])
def test_another_command_needs_another_controller(base, own, command):
    made = controller(base, command=own)
    if own == command:
        made.check_parameters(made.parameters)
        return
    said = (
        rf"^parameter 'command' is {command}; this controller has begun with {own}: make another controller$"
    )
    with pytest.raises(ParameterError, match=said):
        made.check_parameters(replace(made.parameters, command=command))


# Wrench


def test_a_wrench_is_in_force_until_it_has_faded(base):
    made = placed(base, wrench_timeout=0.2, wrench_fade_time=0.5)
    np.testing.assert_array_equal(made.wrench, np.zeros(6))
    wrench = np.array([30.0, -20.0, 50.0, 4.0, -5.0, 6.0])
    assert made.set_wrench(wrench[:3], wrench[3:]) == ""
    measured, still = lengths_at(base, SHIFT, TURN), np.zeros(6)
    assert made._wrench_until == 1.2
    for time, there in ((1.0, True), (1.5, True), (1.7, True), (1.7001, False)):
        made.update(time, measured, still)
        np.testing.assert_array_equal(made.wrench, wrench if there else np.zeros(6))


def test_more_than_the_legs_carry_at_the_measured_pose_is_cut(base):
    made = placed(base, governed_share=0.8)
    wrench = np.array([2e4, 1e4, -3e5, 1e3, 2e3, 3e3])
    free, whole = (resting(base, base, one) for one in (np.zeros(6), wrench))
    np.testing.assert_allclose(made._resting_forces(np.zeros(6)), free, rtol=1e-7)
    np.testing.assert_allclose(made._resting_forces(wrench), whole, rtol=1e-7)
    more = whole - free
    share = ((0.8 * 15e3 - np.sign(more) * free) / np.abs(more)).min()
    assert 0.01 < share < 0.9
    said = made.set_wrench(wrench[:3], wrench[3:])
    assert said == f"the legs carry {100.0 * share:.3g} % of the external wrench at this pose: cut to that"
    np.testing.assert_allclose(made.wrench, share * wrench, rtol=1e-7)
    waiting = controller(base)
    assert waiting.set_wrench(wrench[:3], wrench[3:]) == ""
    np.testing.assert_array_equal(waiting._wrench, wrench)


def test_forces_of_references_count_with_the_wrench_and_the_disturbance(base):
    made, count = placed(base, wrench_timeout=9.0), 4
    random = np.random.default_rng(3)
    wrench = np.array([300.0, -200.0, 500.0, 40.0, -50.0, 60.0])
    made.set_wrench(wrench[:3], wrench[3:])
    disturbance = np.array([0.3, -0.2, 0.1, 0.4, 0.2, -0.3])
    reported = made.pose
    reported.disturbance = disturbance
    places = base.machine.home_position + random.uniform(-0.05, 0.05, (count, 3))
    turns = Rotation.from_rotvec(random.uniform(-0.1, 0.1, (count, 3)))
    twists, accelerations = random.uniform(-0.5, 0.5, (2, count, 6))
    kind = type(made)
    made.__class__ = type("Disturbed", (kind,), {"pose": reported})
    found = made.model_forces(places, turns.as_quat(), turns.as_matrix(), twists, accelerations)
    made.__class__ = kind
    bend = accelerations + disturbance
    exact = base.inverse_dynamics(
        places, turns.as_quat(), twists[:, :3], twists[:, 3:], bend[:, :3], bend[:, 3:],
        force=wrench[:3], torque=wrench[3:], on_violation="report",
    )  # fmt: skip
    np.testing.assert_allclose(found, exact.actuator_forces, rtol=1e-8)


# Words


@pytest.mark.parametrize(
    ("rule", "joint", "name", "unit"),
    [
        ("pose_error", 0, "motion_base, its pose,", "m"),
        ("pose_error", 1, "motion_base, its pose,", "rad"),
        ("following_error", 0, "leg_1", "m"),
        ("following_error", 4, "leg_5", "m"),
        ("repeated_faults", -1, "motion_base", "m"),
        ("zero", 2, "leg_3", "m"),
    ],
)
def test_a_trip_names_the_leg_or_the_platform_with_its_unit(base, rule, joint, name, unit):
    assert controller(base).joint_of(SimpleNamespace(rule=rule, joint=joint)) == (name, unit)


def results(number):
    return SimpleNamespace(discontinuity=number, discontinuity_size=1.5, discontinuity_more=2.5)


def test_states_beyond_limits_end_in_settling_and_refusals_do_not(base, monkeypatch):
    made = controller(base)
    monkeypatch.setattr(CoreController, "words_of", lambda self, given: "of the core")
    assert made.words_of(results(BEYOND - 1)) == made.words_of(results(0)) == "of the core"
    assert made.words_of(results(BEYOND)) == "leg_1: measured length 1.5 m, beyond 2.5 m; settling"
    assert made.words_of(results(BEYOND + 30)) == "measured condition number 1.5, beyond 2.5; settling"
    assert made.words_of(results(BEYOND + 42)) == "the platform is in a singular pose"


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (BEYOND + 36, StateError, "no pose near the last one"),
        (BEYOND + 41, StateError, "no pose near the last one"),
        (BEYOND + 42, SingularityError, "singular pose"),
        (BEYOND + 48, SingularityError, "more than twice"),
        (BEYOND + 35, StateError, "no finite effort"),
        (0, StateError, "no finite effort"),
    ],
)
def test_a_state_without_an_effort_has_an_error_of_its_kind(base, number, kind, words):
    made = controller(base)
    given = results(number)
    made._library = SimpleNamespace(
        rd_core_results=lambda core, out: vars(out).update(vars(given)), rd_core_free=lambda core: None
    )
    made._results = SimpleNamespace()
    error = made.failure()
    assert type(error) is kind and words in str(error)


# Planning


def test_plans_count_with_payload_wrench_and_pace(base, monkeypatch):
    made, given = placed(base, max_acceleration=3.0, wrench_timeout=9.0), []
    start = made.plan_start(2.5)
    monkeypatch.setattr(module, "plan_pose", lambda *rest: given.append(rest) or "path")
    wrench = np.array([30.0, -20.0, 50.0, 4.0, -5.0, 6.0])
    points = [PoseWaypoint(2.0, base.machine.home_position, [0.0, 0.0, 0.0, 1.0])]
    for payload, mass in ((None, 1500.0), (LOAD, 1700.0)):
        made._payload = payload
        planned = made.plan(points, start)
        assert (planned.trajectory, planned.epoch) == ("path", start.epoch)
        platform, *rest = given.pop()
        assert platform.machine.platform.mass == mass
        assert (platform is base) is (payload is None)
        assert rest[0] is points and rest[2] is start.origin
        assert (rest[1], rest[3], rest[5]) == (2.5, start.now, (3.0, 3.0 / 1.2))
        np.testing.assert_array_equal(rest[4], np.zeros(6) if payload is None else wrench)
        made.set_wrench(wrench[:3], wrench[3:])


def test_what_is_followed_is_the_trajectory_that_was_planned(base):
    made = placed(base)
    path = made.follow([PoseWaypoint(2.0, pose_of(base)[0] + 0.01, pose_of(base)[1])])
    assert (path.start, path.end) == (1.0, 3.0) and made.follows(path)
    later = made.follow([PoseWaypoint(1.0, pose_of(base)[0], pose_of(base)[1])], start=1.5)
    assert (later.start, later.end) == (1.5, 2.5)


def test_a_thread_that_runs_the_cycle_is_known_to_the_lead(base):
    made = controller(base)
    assert made._governing.elsewhere is False
    for perform in (print, None):
        made.driven_by(perform)
        assert made._governing.elsewhere is (perform is not None)
        assert made._run_elsewhere is perform
    assert made.machine_description is base.machine


def test_the_core_reports_as_many_values_as_are_read(base):
    assert StewartController.telemetry == len(controller(base)._snapshot.telemetry) == 26


def test_the_present_reference_is_that_of_the_next_switch(base):
    made = placed(base)
    made._governing.elsewhere = True
    found = made.present
    assert found.time == pytest.approx(1.003)
    np.testing.assert_allclose(found.position, pose_of(base)[0], atol=1e-8)
    assert made.overload() == ""
