"""Commands of an arm at the edges: brakes, wrenches, guiding, holds of some joints, and single poses."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from arms import WEIGHT, Masses, Pendulum, pendulum_chain, two_joint_chain

import robot_dynamics as rd
from robot_dynamics.control.arm.target_pose import TargetPose
from robot_dynamics.control.arm.trajectory import ANY_PATH
from robot_dynamics.control.brakes import SLIPPING
from robot_dynamics.control.protocol import LATCHED, Phase
from robot_dynamics.control.stop_memory import StopState
from robot_dynamics.control.waypoints import Waypoint, WaypointTable
from robot_dynamics.errors import ModelError, ParameterError, StateError, TrajectoryError, WrongTypeError
from robot_dynamics.model.chain import JointKind, JointLimits
from robot_dynamics.resources import resource

QUIET = {"supervision": "observe", "start_motion": -1.0}


def masses():
    return Masses((2.0, 0.5), (0.0, 0.25))


def swinging(limit=np.inf, **parameters):
    return rd.ArmController(
        pendulum_chain(effort=limit), Pendulum(), rd.ArmParameters(**{**QUIET, **parameters})
    )


def crane(limits=None, **parameters):
    chain = two_joint_chain()
    if limits is not None:
        joints = tuple(replace(joint, limits=one) for joint, one in zip(chain.joints, limits, strict=True))
        chain = replace(chain, joints=joints)
    return rd.ArmController(chain, masses(), rd.ArmParameters(**{**QUIET, **parameters}))


def rests(control, begin, end, place=0.4):
    """Cycles of an arm at rest, every 10 ms."""
    for k in range(round(100 * begin), round(100 * end)):
        command = control.update(0.01 * k, np.array([place]), np.zeros(1))
    return command


BRAKES = {"brakes": True, "brake_engage_time": 0.05, "brake_release_time": 0.1, "safe_fade_time": 0.2}


def test_an_arm_without_brakes_never_brakes():
    control = swinging()
    assert not control.brake and control.conduct() == math.inf and control.state == Phase.WAITING.value
    assert control.core_settings().value.brake_delay == 0.0
    rests(control, 0.0, 0.1)
    assert (control.brake, control.state) == (False, Phase.HOLDING.value)
    assert control.stop_state is StopState.RELEASED
    assert control.unpark() == "the arm is not on its brakes: released"
    control.support()
    assert control.emergency_stop() == "" and control.stop_state is StopState.PROTECTED
    assert control.unpark() == LATCHED
    assert not control.brake


def test_an_arm_with_brakes_brakes_until_states_come_and_after_a_park():
    """Unparked, the efforts rise for 0.2 s, and the brakes let go 0.1 s later."""
    control = swinging(**BRAKES)
    assert control.brake and control.conduct() == 0.01
    assert control.core_settings().value.brake_delay == 0.05
    assert control.stop_state is StopState.RELEASED
    command = rests(control, 0.0, 0.5)
    assert not control.brake and control.state == Phase.HOLDING.value
    assert command.effort[0] == pytest.approx(WEIGHT * np.sin(0.4))
    assert control.park() == ""
    rests(control, 0.5, 0.6)
    assert control.brake and control.state == "on its brakes until ~/unpark"
    assert control.stop_state is StopState.PROTECTED
    assert not rests(control, 0.6, 1.0).effort.any()
    assert control.unpark() == LATCHED
    assert control.reset_fault() == "" and control.stop_state is StopState.STOPPED
    with pytest.raises(TrajectoryError) as told:
        control.plan_start(None)
    assert str(told.value) == "the arm is not ready for a trajectory: on its brakes until ~/unpark"
    assert control.unpark() == ""
    assert control.state == "leaving the brakes" and control.stop_state is None
    assert control.unpark() == "the arm is not on its brakes: leaving the brakes"
    half = rests(control, 1.0, 1.11)
    assert 0.2 < half.effort[0] / (WEIGHT * np.sin(0.4)) < 0.8 and control.brake
    rests(control, 1.11, 1.18)
    assert control.brake
    full = rests(control, 1.18, 1.25)
    assert not control.brake and full.effort[0] == pytest.approx(WEIGHT * np.sin(0.4))
    assert control.state == "leaving the brakes"
    rests(control, 1.25, 1.4)
    assert control.state == Phase.HOLDING.value and control.stop_state is StopState.RELEASED


def test_a_remembered_stop_is_on_the_brakes_and_waits_for_states():
    control = swinging(**BRAKES)
    control.begin_at_rest(StopState.STOPPED)
    assert control.unpark() == f"the controller is not ready to carry the arm: {Phase.WAITING.value}"
    assert not rests(control, 0.0, 0.2).effort.any() and control.phase is Phase.HOLDING
    assert control.brake and control.unpark() == ""
    protected = swinging(**BRAKES)
    protected.begin_at_rest(StopState.PROTECTED)
    rests(protected, 0.0, 0.2)
    assert protected.latched and protected.brake
    without = swinging()
    without.begin_at_rest(StopState.STOPPED)
    rests(without, 0.0, 0.2)
    assert without.latched and not without.brake


def test_an_arm_that_its_limits_do_not_carry_stays_on_its_brakes():
    control = swinging(limit=0.5 * WEIGHT, **BRAKES)
    control.begin_at_rest(StopState.STOPPED)
    rests(control, 0.0, 0.2, 1.2)
    reason = control.unpark()
    assert "swing" in reason
    assert reason.endswith("check max_effort, payload and masses")
    assert control.state == "on its brakes until ~/unpark"
    with pytest.raises(ParameterError) as told:
        control.check_start()
    assert str(told.value) == reason


def test_brakes_that_slip_by_two_hundredths_bring_the_efforts_back():
    for way, slips in ((0.019, False), (0.021, True)):
        control = swinging(**BRAKES)
        control.begin_at_rest(StopState.STOPPED)
        rests(control, 0.0, 0.2)
        command = rests(control, 0.2, 0.4, 0.4 + way)
        assert (control.state == SLIPPING) == slips
        assert command.effort.any() == slips and control.brake


def test_brakes_that_somebody_released_leave_the_arm_to_the_efforts_until_they_hold():
    control = swinging(**BRAKES)
    control.support()
    control.begin_at_rest(StopState.STOPPED)
    assert not rests(control, 0.0, 0.2).effort.any()
    control.support()
    assert rests(control, 0.2, 0.23).effort[0] == pytest.approx(WEIGHT * np.sin(0.4), rel=1e-6)
    assert not rests(control, 0.23, 0.6).effort.any()


def test_brakes_that_the_driver_reports_as_released_are_believed():
    control = swinging(**BRAKES)
    control.begin_at_rest(StopState.STOPPED)
    rests(control, 0.0, 0.2)
    control.report_brakes(False)
    assert control.rest.brakes.reported is False
    assert rests(control, 0.2, 0.4).effort[0] == pytest.approx(WEIGHT * np.sin(0.4), rel=1e-6)
    control.report_brakes(True)
    assert not rests(control, 0.4, 0.8).effort.any()
    control.report_brakes(None)
    assert control.rest.brakes.reported is None


@pytest.mark.parametrize(
    "wrench", [np.ones(5), np.ones(7), np.ones((1, 6)), [1.0, 2.0, np.inf, 0.0, 0.0, 0.0]]
)
def test_a_wrench_is_six_finite_numbers(wrench):
    assert swinging().push(wrench) == "the wrench is not six finite numbers"


def test_wrenches_and_guiding_need_their_modes():
    control = swinging()
    assert control.push(np.ones(6)) == "the mode is computed_torque: set mode to cartesian_impedance"
    assert control.guide(False) == ""
    assert control.guide(True) == "the mode is computed_torque: set mode to hand_guiding"
    guided = swinging(mode="hand_guiding")
    assert guided.guide(True) == "no joint state has come yet"
    rests(guided, 0.0, 0.1)
    assert guided.guide(True) == "" and guided.guide(False) == ""


def test_a_button_counts_as_pressed_for_its_timeout():
    control = swinging(mode="hand_guiding", guide_timeout=0.1)
    rests(control, 0.0, 0.2)
    assert control.phase is Phase.HOLDING
    assert control.guide(True) == ""
    rests(control, 0.2, 0.28)
    assert control.phase is Phase.GUIDED
    rests(control, 0.28, 0.45)
    assert control.phase is not Phase.GUIDED
    assert control.guide(True) == ""
    rests(control, 0.45, 0.5)
    assert control.guide(False) == ""
    rests(control, 0.5, 0.52)
    assert control.phase is not Phase.GUIDED


def followed(control, goal=(1.0, -0.4), time=2.0, until=1.0):
    """A crane that follows a quintic exactly for so long."""
    control.update(0.0, np.zeros(2), np.zeros(2))
    path = control.follow(control.chain.joint_names, [Waypoint(time, goal)])
    for k in range(1, round(until / 0.01) + 1):
        at = path.sample(0.01 * k)
        control.update(0.01 * k, at.position, at.velocity)
    return path


def test_some_joints_are_stopped_by_a_quintic_while_the_others_go_on():
    """From v to rest over v T / 2, in T = 3 v / a or 0.1 s, after 0.02 s."""
    control = crane(max_acceleration=(2.0, 1.0))
    path = followed(control)
    control.hold_joints([1])
    start = path.sample(1.02)
    duration = 3.0 * abs(start.velocity[1]) / 1.0
    assert duration > 0.5
    held = control.plan_start(None).queue[0]
    assert held.joints == (1,) and held.arrival == pytest.approx(1.02 + duration)
    place = start.position[1] + 0.5 * duration * start.velocity[1]
    assert held.sample(held.arrival).position[1] == pytest.approx(place, abs=1e-9)
    for time in (1.2, 1.6, 1.9):
        assert held.sample(time).position[0] == pytest.approx(path.sample(time).position[0], abs=1e-9)
    assert held.sample(3.0).position[0] == pytest.approx(1.0)
    resting = crane()
    resting.update(0.0, np.zeros(2), np.zeros(2))
    resting.hold_joints((0,))
    assert resting.plan_start(None).queue[0].arrival == pytest.approx(0.02 + 0.1)


def test_joints_are_stopped_in_their_order_whatever_the_order_of_the_command():
    control = crane(max_acceleration=(2.0, 1.0))
    path = followed(control)
    control.hold_joints([1, 0])
    start = path.sample(1.02)
    duration = 3.0 * max(abs(start.velocity[0]) / 2.0, abs(start.velocity[1]) / 1.0)
    held = control.plan_start(None).queue[0]
    assert held.end == pytest.approx(1.02 + duration)
    np.testing.assert_allclose(
        held.sample(held.end).position, start.position + 0.5 * duration * start.velocity, atol=1e-9
    )


def test_all_joints_are_held_where_some_cannot_be_stopped_in_time():
    """The slide would leave its limits: 0.4 m of 0.5 m, and more than a second to stop."""
    limits = (JointLimits(-1.0, 2.0, 3.0, 40.0), JointLimits(-0.41, 0.5, 2.0, 15.0))
    control = crane(limits)
    with_limits = followed(control, until=1.2)
    control.parameters = rd.ArmParameters(**QUIET, max_acceleration=(2.0, 0.25))
    control.hold_joints([1])
    at = with_limits.sample(1.2)
    control.update(1.21, at.position, at.velocity)
    assert control.phase in (Phase.STOPPING, Phase.HOLDING)


def pose_at(*positions):
    target = TargetPose(np.eye(4))
    place = np.array([positions])
    target.found = WaypointTable(
        np.zeros(1), place, np.full(place.shape, np.nan), np.full(place.shape, np.nan)
    )
    return target


def test_a_single_pose_is_approached_with_a_quarter_of_the_velocity_limits():
    """0.2 s, and the quintic's peak of 15/8 of its mean speed; a joint without a limit has one of 1."""
    unlimited = (JointLimits(-9.0, 9.0, np.inf, 400.0), JointLimits(-9.0, 9.0, 2.0, 15.0))
    for limits, goal, needed in (
        (None, (0.75, 0.1), 1.875 * 0.75 / (0.25 * 3.0)),
        (None, (0.1, -0.4), 1.875 * 0.4 / (0.25 * 2.0)),
        (unlimited, (-0.75, 0.1), 1.875 * 0.75 / 0.25),
    ):
        control = crane(limits)
        control.update(5.0, np.zeros(2), np.zeros(2))
        planned = control.plan_pose(pose_at(*goal), control.plan_start(None))
        path = planned.trajectory
        assert path.start == 5.0 and path.end - path.start == pytest.approx(0.2 + needed)
        np.testing.assert_allclose(path.sample(path.end).position, goal)
        assert not path.streamed and planned.epoch == control.epoch
        late = control.plan_pose(pose_at(*goal), control.plan_start(6.5)).trajectory
        assert (late.start, late.end - late.start) == pytest.approx((6.5, 0.2 + needed))


def test_a_pose_in_motion_gets_the_time_to_slow_down_beside():
    control = crane(max_acceleration=(2.0, 1.0))
    path = followed(control)
    origin = path.sample(1.0)
    planned = control.plan_pose(pose_at(0.9, -0.45), control.plan_start(None)).trajectory
    way = np.abs(np.array([0.9, -0.45]) - origin.position)
    needed = 1.875 * way / (0.25 * np.array([3.0, 2.0])) + 3.0 * np.abs(origin.velocity) / [2.0, 1.0]
    assert planned.end - 1.0 == pytest.approx(0.2 + needed.max())


def test_single_points_become_a_stream_unless_it_is_not_wanted():
    for streamed in (True, False):
        control = crane()
        control.update(0.0, np.zeros(2), np.zeros(2))
        for k in range(1, 9):
            points = [Waypoint(0.1, (0.01 * k, 0.0))]
            start = control.plan_start(None)
            given = () if streamed else (ANY_PATH, False)
            planned = control.plan(control.chain.joint_names, points, start, *given)
            assert control.accept(planned) == ""
            control.update(0.05 * k, control.reference(0.05 * k).position, np.zeros(2))
        assert planned.trajectory.streamed == streamed


def test_a_mode_that_follows_nothing_takes_no_trajectory():
    control = swinging(mode="gravity_compensation")
    rests(control, 0.0, 0.1)
    with pytest.raises(TrajectoryError) as told:
        control.follow(["swing"], [Waypoint(1.0, [0.5])])
    assert str(told.value) == ("the mode gravity_compensation follows no trajectory: set another mode first")


class Failing(Pendulum):
    """A model that fails beyond 0.5 rad."""

    def __init__(self, error):
        self.error = error

    def inverse_dynamics(self, q, qd, qdd, heading=None):
        if q[0] > 0.5:
            raise self.error
        return super().inverse_dynamics(q, qd, qdd)


@pytest.mark.parametrize(
    ("error", "text"),
    [(KeyError("gear"), "KeyError: 'gear'"), (StateError("the encoder is off"), "the encoder is off")],
)
def test_an_error_of_a_model_in_python_is_the_error_of_the_cycle(error, text):
    control = rd.ArmController(pendulum_chain(), Failing(error), rd.ArmParameters(**QUIET))
    control.update(0.0, np.array([0.4]), np.zeros(1))
    with pytest.raises(StateError) as told:
        control.update(0.01, np.array([0.6]), np.zeros(1))
    assert str(told.value) == text
    assert told.value is error or told.value.__cause__ is error
    assert control.update(0.02, np.array([0.4]), np.zeros(1)).effort.shape == (1,)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (1, 1)])
def test_efforts_of_another_shape_are_refused_by_whose_they_are(shape):
    class Wide(Pendulum):
        def inverse_dynamics(self, q, qd, qdd, heading=None):
            return np.zeros(shape) if q[0] > 0.5 else np.zeros(1)

    control = rd.ArmController(pendulum_chain(), Wide(), rd.ArmParameters(**QUIET))
    assert control.python_parts == "the model, which is not compiled"
    control.update(0.0, np.array([0.4]), np.zeros(1))
    with pytest.raises(StateError) as told:
        control.update(0.01, np.array([0.6]), np.zeros(1))
    assert str(told.value) == f"the model gives efforts of shape {shape}; expected (1,)"


def test_a_controller_says_its_arm_its_law_and_its_phase():
    control = crane()
    name = control.chain.name
    assert repr(control) == f"ArmController({name}: 2 joints, computed_torque, {Phase.WAITING.value})"
    control.update(0.0, np.zeros(2), np.zeros(2))
    assert repr(control) == f"ArmController({name}: 2 joints, computed_torque, {Phase.HOLDING.value})"
    assert control.energy_added == 0.0 and control.unobserved == ""
    assert control.external.effort.shape == control.external.threshold.shape == (2,)
    assert control.effort_limits.tolist() == [40.0, 15.0]


def test_stiffness_in_space_is_the_gain_times_the_inertia():
    """2 kg·m² and 0.5 kg with gains of 100 and 36 1/s²: 200 N·m/rad at 1.6 Hz and 18 N/m at 0.95 Hz."""
    control = crane(kp=(100.0, 36.0), kv=(20.0, 12.0))
    lift, turn = control.stiffnesses()
    assert (lift.name, turn.name) == ("lift", "turn")
    assert (lift.stiffness, lift.inertia, lift.friction) == pytest.approx((200.0, 2.0, 0.0))
    assert (turn.stiffness, turn.inertia) == pytest.approx((18.0, 0.5))
    assert (lift.frequency, turn.frequency) == pytest.approx((10.0 / (2.0 * np.pi), 6.0 / (2.0 * np.pi)))
    assert control.characteristics == "lift 200 N·m/rad, 0 rad, 1.6 Hz; turn 18 N/m, 0 m, 0.95 Hz"


def test_models_and_chains_of_another_kind_are_refused():
    control = crane()
    with pytest.raises(WrongTypeError, match=r"dynamics is .*; it must be a model with inverse_dynamics\(\)"):
        control.change_model(object())
    assert isinstance(control.dynamics, Masses)
    with pytest.raises(WrongTypeError, match="parameters"):
        control.check_parameters({"kp": 3.0})
    three = rd.load_urdf(resource("urdf/arm7.urdf"))
    links = rd.compile_dynamics(three, friction=False)
    with pytest.raises(ModelError) as told:
        control.change_model(links)
    assert str(told.value) == (
        f"the model is of an arm with 7 joints, its drives of one with 2; arm '{control.chain.name}' has 2"
    )
    assert isinstance(control.dynamics, Masses)
    drives = rd.ActuatorParameters()
    with pytest.raises(ModelError, match="with 2 joints, its drives of one with 7; arm"):
        control.change_model(rd.ActuatedArm(masses(), three, drives))


def test_units_of_trips_are_those_of_their_joints():
    control = crane()
    units = {joint: control.joint_of(SimpleNamespace(joint=joint)) for joint in (-1, 0, 1)}
    assert units == {-1: (control.chain.name, ""), 0: ("lift", "rad"), 1: ("turn", "m")}
    assert control.chain.driving_joint(1).kind is JointKind.PRISMATIC


def test_the_model_in_use_can_be_put_back():
    control, other = crane(), masses()
    assert control.model_in_use is control.dynamics is not other
    control.model_in_use = other
    assert control.model_in_use is control.dynamics is other
