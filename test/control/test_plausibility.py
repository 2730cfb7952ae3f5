"""Motion that cannot be real is refused before it is followed: stamps, positions, velocities, efforts."""

import numpy as np
import pytest
from arms import WEIGHT, Pendulum, pendulum_chain

from robot_dynamics import stewart
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.errors import ParameterError, TrajectoryError
from robot_dynamics.resources import resource

PERIOD = 0.002
LIMIT = 4.0 * WEIGHT
REST = np.zeros(1)


def moving(duration=2.0, **parameters):
    """A pendulum that tracks perfectly, at the middle of a move of 1 rad; its controller and the time."""
    control = ArmController(pendulum_chain(effort=LIMIT), Pendulum(), ArmParameters(**parameters))
    control.update(0.0, REST, REST)
    control.follow(["swing"], [Waypoint(duration, [1.0])], None)
    time = 0.0
    while time < 0.5 * duration:
        time += PERIOD
        track(control, time)
    assert control.phase is Phase.TRACKING
    return control, time


def track(control, time):
    reference = control.reference(time)
    return control.update(time, reference.position, reference.velocity)


def assert_held(control, command, position, reason):
    assert control.discontinuity.startswith(reason), control.discontinuity
    assert command.phase in (Phase.HOLDING, Phase.STOPPING)
    assert command.reference.position == pytest.approx(position)
    assert not control.reference(control.time + 1.0).velocity.any()


def test_a_stamp_that_jumps_ahead_does_not_take_the_reference_to_its_goal():
    control, time = moving(half_period_ahead=False)
    here, speed = control.reference(time).position, control.reference(time).velocity
    command = control.update(time + 100.0, here, speed)
    assert_held(control, command, here, "the stamps jumped ahead by 100.000 s")
    # The pendulum is where it was, so what it gets is its weight and what brakes it.
    slowing = command.reference.acceleration
    assert slowing < 0.0
    assert command.unlimited == pytest.approx(Pendulum().inverse_dynamics(here, speed, slowing), rel=1e-9)
    assert track(control, time + 100.0 + PERIOD).phase is Phase.STOPPING
    assert control.discontinuity == ""


@pytest.mark.parametrize(("step", "held"), [(0.4999, False), (0.5001, True)])
def test_the_limit_of_a_stamp_step_is_the_parameters(step, held):
    control, time = moving(10.0)
    assert track(control, time + step).phase is (Phase.STOPPING if held else Phase.TRACKING)
    control, time = moving(10.0, max_stamp_step=step + 0.001)
    assert track(control, time + step).phase is Phase.TRACKING


def test_after_a_loss_of_states_a_late_stamp_is_no_fault_of_its_own():
    control, time = moving()
    control.lost_states()
    control.update(time + 100.0, REST, REST)
    assert control.discontinuity == ""
    assert control.phase is Phase.HOLDING


def test_a_position_jump_behind_a_repeated_stamp_is_seen():
    control, time = moving()
    here = control.reference(time)
    assert track(control, time).phase is Phase.TRACKING
    command = control.update(time, here.position + 0.06, here.velocity)
    assert_held(control, command, here.position + 0.06, "a joint jumped by 0.060 rad or m in 0.000 s")


def test_a_position_jump_is_not_explained_by_a_velocity_that_is_told_once():
    chain = pendulum_chain(effort=LIMIT, velocity=np.inf)
    control = ArmController(chain, Pendulum(), ArmParameters(max_effort_step=2.0))
    for k in range(3):
        control.update(PERIOD * k, REST, REST)
    control.follow(["swing"], [Waypoint(2.0, [1.0])], None)
    command = control.update(3 * PERIOD, np.array([0.6]), np.array([100.0]))
    assert_held(control, command, 0.6, "a joint jumped by 0.600")
    # Nor by one that came with the state before.
    control.update(4 * PERIOD, np.array([0.6]), REST)
    control.update(5 * PERIOD, np.array([0.6]), np.array([50.0]))
    command = control.update(6 * PERIOD, np.array([0.9]), REST)
    assert_held(control, command, 0.9, "a joint jumped by 0.300")


@pytest.mark.parametrize(("speed", "believed"), [(59.9, True), (60.1, False), (-60.1, False)])
def test_no_effort_is_computed_from_a_velocity_that_no_joint_has(speed, believed):
    control, time = moving(max_effort_step=2.0)
    here = control.reference(time + PERIOD).position
    command = control.update(time + PERIOD, here, np.array([speed]))
    if believed:
        assert control.phase is Phase.TRACKING
        return
    assert control.discontinuity == "a joint seems to move at 60.100 rad/s or m/s, which is beyond 60.000"
    assert command.phase is control.phase is Phase.FAULT
    assert command.effort == pytest.approx(WEIGHT * np.sin(here))
    command = control.update(time + 2 * PERIOD, here, REST)
    assert command.phase is Phase.HOLDING
    assert command.reference.position == pytest.approx(here)


def test_the_safe_output_fades_while_no_state_is_usable_and_anew_after_one_that_was():
    control, time = moving(max_effort_step=2.0, safe_fade_time=1.0)
    here = control.reference(time).position
    weight, fast = WEIGHT * np.sin(here), np.array([99.0])
    efforts = [control.update(time + since, here, fast).effort for since in (0.1, 0.35, 0.6, 1.1, 2.0)]
    np.testing.assert_allclose(efforts, np.outer([1.0, 0.75, 0.5, 0.0, 0.0], weight), atol=1e-9)
    assert control.update(time + 2.1, here, REST).phase is Phase.HOLDING
    assert control.update(time + 2.2, here, fast).effort == pytest.approx(weight)


def test_the_factor_is_the_parameters():
    control, time = moving(max_velocity_factor=1.5)
    control.update(time + PERIOD, control.reference(time + PERIOD).position, np.array([30.1]))
    assert control.phase is Phase.FAULT


def test_an_effort_that_would_step_too_far_becomes_a_hold():
    """The reference of a move is pulled away; what brakes the arm where it is steps less."""
    control, time = moving(kp=(4000.0,), kv=(40.0,), max_effort_step=0.5)
    here = control.reference(time)
    aside = here.position + 0.04  # less than what counts as a jump
    # The law would ask for the inertia times Kp times the error, far beyond half the limit.
    assert Pendulum.inertia * 4000.0 * 0.04 > LIMIT
    command = control.update(time + PERIOD, aside, here.velocity)
    assert_held(control, command, aside, "an effort would step by ")
    assert command.effort * here.velocity < 0.0, "it brakes"


def test_where_a_stop_steps_as_far_it_takes_as_many_cycles_as_it_needs():
    control, time = moving(kv=(400.0,), max_effort_step=0.5, max_velocity_factor=1e6)
    here = control.reference(time)
    before = track(control, time)
    command = control.update(time + PERIOD, here.position, np.array([3.0]))
    assert command.phase is control.phase is Phase.STOPPING
    assert control.discontinuity.startswith("an effort would step by ")
    assert abs(command.effort - before.effort) <= 0.5 * LIMIT
    for k in range(2, 12):
        after = control.update(time + k * PERIOD, here.position, REST)
    assert after.phase is Phase.HOLDING
    assert abs(after.effort) < LIMIT
    assert control.discontinuity == ""


def test_steps_that_were_asked_for_are_none():
    """Holds, other limits, and changes that shall count at once may step."""
    for change in (
        lambda control: control.hold(),
        lambda control: setattr(control, "parameters", stiff(max_effort=(0.15 * LIMIT,))),
        lambda control: setattr(control, "parameters", stiff(mode="gravity_compensation")),
        lambda control: control.change_model(Pendulum()),
    ):
        control, time = moving(1.0, **vars(stiff()))
        change(control)
        command = control.update(time + PERIOD, control.reference(time + PERIOD).position, REST)
        assert control.discontinuity == ""
        assert command.phase.controls


def stiff(**parameters):
    given = {"kp": (1e4,), "kv": (0.0,), "loop_delay": -1.0, "max_effort_step": 0.01}
    return ArmParameters(**given, model_change_time=0.0, **parameters)


@pytest.mark.parametrize(
    ("limit", "share", "told"),
    [(3.0, 2.0, ""), (3.0, 1.0, "an effort would step by 2.00 of its limit in one cycle"), (np.inf, 1.0, "")],
)
def test_two_allows_every_step_and_joints_without_a_limit_have_none(limit, share, told):
    parameters = ArmParameters(kp=(1e4,), kv=(0.0,), max_effort_step=share)
    control = ArmController(pendulum_chain(effort=limit), Pendulum(), parameters)
    for k, place in enumerate((0.0, 0.02, -0.02)):
        control.update(0.01 * k, np.array([place]), REST)
    assert control.discontinuity == told


def test_real_motions_are_believed():
    """Up to 500 rad/s² from rest, free fall of a light joint, and states that come late."""
    for period in (0.001, 0.01, 0.1):
        for acceleration in (-500.0, 3.0, 500.0):
            control = ArmController(pendulum_chain(), Pendulum(), ArmParameters(mode="gravity_compensation"))
            time = 0.0
            while time < 100.0 * period and abs(acceleration * time) <= 60.0:
                control.update(
                    time, np.array([0.5 * acceleration * time**2]), np.array([acceleration * time])
                )
                assert control.discontinuity == ""
                time += period


def test_a_waypoint_at_the_end_of_the_numbers_is_refused_and_what_is_followed_goes_on():
    control, time = moving()
    expected = control.reference(1.5).position
    for value, told in ((1e308, "finite"), (-1e308, "finite"), (1e100, "outside its limits")):
        with pytest.raises(TrajectoryError, match=told):
            control.follow(["swing"], [Waypoint(1.0, [value])], None)
    assert control.reference(1.5).position == pytest.approx(expected)
    assert track(control, time + PERIOD).phase is Phase.TRACKING


def test_a_platform_is_held_too():
    platform = stewart.load(resource("config/stewart_demo.yaml"))
    home, level = platform.machine.home_position, [0.0, 0.0, 0.0, 1.0]
    lengths, rest = platform.legs(home, level).lengths, np.zeros(6)
    control = StewartController(platform)
    control.update(0.0, lengths, rest)
    control.update(0.6, lengths, rest)
    assert control.discontinuity == "the stamps jumped ahead by 0.600 s"
    fast = 3.01 * np.array([leg.limits.speed for leg in platform.machine.legs])
    control.update(0.602, lengths, fast)
    assert control.discontinuity.startswith("a joint seems to move at ")
    higher = platform.legs([*home[:2], home[2] + 0.1], level).lengths
    assert control.phase is Phase.FAULT
    control.update(0.604, higher, rest)
    assert control.discontinuity.startswith("a joint jumped by 0.0")
    np.testing.assert_allclose(control.reference(1.0).position, control.pose.position)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_stamp_step", 0.0),
        ("max_state_jump", -0.1),
        ("max_velocity_factor", 0.9),
        ("max_effort_step", 0.0),
        ("max_effort_step", 2.1),
        ("max_state_jump", float("nan")),
    ],
)
def test_limits_that_are_none_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        ArmParameters(**{name: value})
