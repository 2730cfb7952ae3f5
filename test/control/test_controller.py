"""The arm controller on a pendulum: the error equation of the law, transitions, limits and faults."""

from dataclasses import replace

import numpy as np
import pytest
from arms import GRAVITY, LENGTH, MASS, Pendulum, pendulum_chain

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.dynamics.friction import STICTION_VELOCITY
from robot_dynamics.errors import ParameterError, TrajectoryError


def controller(chain=None, dynamics=None, max_stamp_step=10.0, **parameters):
    """A controller that is asked at moments far apart, of states that do not follow its reference."""
    return ArmController(
        chain or pendulum_chain(),
        dynamics or Pendulum(),
        ArmParameters(max_stamp_step=max_stamp_step, max_following_error=(-1.0,), **parameters),
    )


def simulate(control, q, qd, duration, period=1e-3, start=0.0, steps=10):
    """The pendulum under ``control``; returns the sampled times, positions and reference errors."""
    plant, rows = Pendulum(), []
    q, qd, h = np.array([q]), np.array([qd]), period / steps
    for k in range(round(duration / period)):
        time = start + k * period
        command = control.update(time, q.copy(), qd.copy())
        rows.append((time, q[0], (command.reference.position - q)[0]))
        for _ in range(steps):
            a = plant.acceleration(q, qd, command.effort)
            middle = plant.acceleration(q + 0.5 * h * qd, qd + 0.5 * h * a, command.effort)
            q, qd = q + h * qd + 0.5 * h * h * a, qd + h * middle
    return np.array(rows).T


def test_the_error_decays_as_the_law_says():
    """Kp = 100, Kv = 20 is critically damped: e(t) = e0 (1 + 10 t) exp(-10 t), up to the 1 ms sampling."""
    control = controller(ki=-1.0)
    control.update(0.0, np.array([0.5]), np.zeros(1))
    times, _, errors = simulate(control, 0.3, 0.0, 1.0, start=1.0)
    expected = 0.2 * (1.0 + 10.0 * (times - 1.0)) * np.exp(-10.0 * (times - 1.0))
    np.testing.assert_allclose(errors, expected, atol=5e-4)


def test_half_a_period_ahead_tracks_better_than_the_published_law():
    worst = {}
    for ahead in (False, True):
        control = controller(half_period_ahead=ahead)
        control.update(-0.01, np.array([0.2]), np.zeros(1))
        control.update(0.0, np.array([0.2]), np.zeros(1))
        control.follow(["swing"], [Waypoint(1.0, [1.5])], None)
        worst[ahead] = np.abs(simulate(control, 0.2, 0.0, 1.2, period=0.01, start=0.01)[2]).max()
    assert worst[True] < 0.1 * worst[False]


def test_without_a_trajectory_the_arm_stays_where_it_is():
    control = controller()
    _, positions, _ = simulate(control, 0.7, 0.0, 0.5)
    np.testing.assert_allclose(positions, 0.7, atol=1e-9)
    assert control.phase is Phase.HOLDING


def test_a_new_trajectory_joins_without_a_jump():
    control = controller()
    control.update(0.0, np.zeros(1), np.zeros(1))
    control.follow(["swing"], [Waypoint(2.0, [1.0])], None)
    for t in np.arange(0.0, 0.8, 0.01):
        control.update(t, np.zeros(1), np.zeros(1))
    before = control.reference(control.time)
    control.follow(["swing"], [Waypoint(1.0, [-1.0])], None)
    after = control.reference(control.time)
    for field in ("position", "velocity", "acceleration"):
        np.testing.assert_allclose(getattr(after, field), getattr(before, field), atol=1e-12)
    assert before.velocity[0] > 0.5


def test_a_trajectory_with_a_stamp_in_the_future_waits():
    control = controller()
    control.update(0.0, np.array([0.1]), np.zeros(1))
    control.follow(["swing"], [Waypoint(1.0, [0.6])], start=2.0)
    assert control.update(1.9, np.array([0.1]), np.zeros(1)).reference.position == pytest.approx(0.1)
    assert control.update(2.5, np.array([0.1]), np.zeros(1)).reference.position == pytest.approx(0.35)
    assert control.update(3.1, np.array([0.1]), np.zeros(1)).reference.position == pytest.approx(0.6)
    assert control.phase is Phase.HOLDING


def test_a_refused_trajectory_leaves_the_old_one_in_force():
    control = controller(pendulum_chain(upper=1.2))
    control.update(0.0, np.zeros(1), np.zeros(1))
    control.follow(["swing"], [Waypoint(1.0, [1.0])], None)
    for names, points, expected in [
        (["swing"], [Waypoint(1.0, [3.0])], "outside its limits"),
        (["swing"], [Waypoint(0.01, [1.0])], "velocity limit"),
        (["swung"], [Waypoint(1.0, [0.3])], "unknown joint names"),
        ([], [Waypoint(1.0, [])], "missing joint names"),
        (["swing", "swing"], [Waypoint(1.0, [0.3, 0.3])], "repeated joint names"),
        (["swing"], [Waypoint(1.0, [0.3, 0.4])], "2 positions for 1 joints"),
        (["swing"], [Waypoint(1.0, [np.nan])], "not finite"),
        (["swing"], [Waypoint(1.0, [0.3]), Waypoint(0.5, [0.4])], "not later"),
        (["swing"], [Waypoint(1.0, [0.3], [0.4])], "end at rest"),
        (["swing"], [Waypoint(-1.0, [0.3])], "must not be negative"),
    ]:
        with pytest.raises(TrajectoryError, match=expected):
            control.follow(names, points, None)
    assert control.reference(0.5).position == pytest.approx(0.5)
    with pytest.raises(TrajectoryError, match="in the past"):
        control.follow(["swing"], [Waypoint(1.0, [0.3])], start=-5.0)


def test_efforts_are_cut_at_the_limit_and_the_joint_is_named():
    limit = 0.5 * MASS * GRAVITY * LENGTH
    control = controller(pendulum_chain(effort=limit))
    command = control.update(0.0, np.array([0.5 * np.pi]), np.zeros(1))
    assert command.effort == pytest.approx(limit)
    assert command.saturated.tolist() == [True]


def test_lost_states_fade_the_weight_and_returning_states_are_held():
    control = controller(safe_fade_time=2.0)
    control.update(0.0, np.array([0.4]), np.zeros(1))
    control.follow(["swing"], [Waypoint(1.0, [1.0])], None)
    control.lost_states()
    weight = MASS * GRAVITY * LENGTH * np.sin(0.4)
    assert control.phase is Phase.STALE
    for since, share in ((0.0, 1.0), (1.0, 0.5), (2.0, 0.0), (9.0, 0.0)):
        assert control.safe_command(since).effort == pytest.approx(share * weight)
    command = control.update(5.0, np.array([0.9]), np.zeros(1))
    assert control.phase is Phase.HOLDING
    assert command.reference.position == pytest.approx(0.9)


@pytest.mark.parametrize("mode", ["computed_torque", "pd"])
def test_a_model_that_gives_no_number_never_reaches_the_actuator(mode):
    class Broken:
        def inverse_dynamics(self, q, qd, qdd, heading=None):
            return np.full(1, np.nan)

    control = controller(dynamics=Broken(), mode=mode)
    command = control.update(0.0, np.zeros(1), np.zeros(1))
    assert control.phase is Phase.FAULT
    assert command.effort.tolist() == [0.0]


def test_time_running_backwards_drops_the_trajectory():
    control = controller()
    control.update(10.0, np.zeros(1), np.zeros(1))
    control.follow(["swing"], [Waypoint(1.0, [1.0])], None)
    assert control.update(0.5, np.array([0.3]), np.zeros(1)).reference.position == pytest.approx(0.3)
    assert control.phase is Phase.HOLDING
    assert control.discontinuity == "time ran backwards by 9.500 s"


def test_an_arm_that_was_put_elsewhere_is_held_there():
    control = controller()
    control.update(0.0, np.zeros(1), np.zeros(1))
    control.follow(["swing"], [Waypoint(1.0, [1.0])], None)
    fast = control.update(0.002, np.array([0.01]), np.array([5.0]))
    assert control.phase is Phase.TRACKING
    assert fast.reference.position != pytest.approx(0.01)
    command = control.update(0.004, np.array([-0.6]), np.zeros(1))
    assert command.reference.position == pytest.approx(-0.6)
    assert control.phase is Phase.HOLDING
    assert control.discontinuity == "a joint jumped by 0.610 rad or m in 0.002 s"
    control.update(0.006, np.array([-0.6]), np.zeros(1))
    assert control.discontinuity == ""


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("gravity_compensation", MASS * GRAVITY * LENGTH * np.sin(0.3)),
        ("feedforward", MASS * GRAVITY * LENGTH * np.sin(0.5)),
        ("pd", (MASS * LENGTH**2) * 100.0 * (0.5 - 0.3)),
    ],
)
def test_the_other_modes(mode, expected):
    control = controller(mode=mode)
    control.update(0.0, np.array([0.5]), np.zeros(1))
    assert control.update(1.0, np.array([0.3]), np.zeros(1)).effort == pytest.approx(expected)


def test_a_hand_is_braked_in_proportion_above_a_quarter_of_the_velocity_limit():
    """Below there is slight damping alone; so small an excess stiffens nothing, though it grows."""
    control = controller(pendulum_chain(velocity=20.0), mode="gravity_compensation", kv=(30.0,))
    place, braking, speeds = np.zeros(1), [], np.arange(4.0, 5.9, 0.1)
    for cycle, speed in enumerate(speeds):
        effort = control.update(0.002 * cycle, place, np.array([speed])).effort
        weight = MASS * GRAVITY * LENGTH * np.sin(place)
        braking.append(((weight - effort) / Pendulum.inertia)[0])
        place = place + 0.002 * speed
    damping = braking[0] / speeds[0]
    assert 0.0 < damping < 1.0
    assert braking == pytest.approx(damping * speeds + 30.0 * np.maximum(speeds - 5.0, 0.0))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"kp": (1.0, -1.0)}, "kp"),
        ({"kv": (np.nan,)}, "kv"),
        ({"mode": "magic"}, "computed_torque"),
        ({"state_timeout": 0.0}, "state_timeout"),
    ],
)
def test_bad_parameters_are_refused_by_name(values, expected):
    with pytest.raises(ParameterError, match=expected):
        ArmParameters(**values)


def test_gains_must_fit_the_joints():
    with pytest.raises(ParameterError, match="swing"):
        controller(kp=(1.0, 2.0))


@pytest.mark.parametrize("measured", [-0.3, 0.0, 0.3])
@pytest.mark.parametrize("damping", [0.0, 0.7])
def test_friction_is_overcome_at_the_velocity_of_the_reference(measured, damping):
    """Neither the measured velocity nor the error decides it."""
    chain, friction = pendulum_chain(), 3.0
    drives = ActuatorParameters(friction=(friction,), damping=(damping,))
    control = controller(chain, ActuatedArm(Pendulum(), chain, drives), half_period_ahead=False)
    place, links = np.array([0.5]), Pendulum()
    control.update(0.0, place, np.zeros(1))
    control.follow(["swing"], [Waypoint(1.0, (1.0,))])
    for time in (0.002, 0.1, 0.4, 1.5):
        reference = control.reference(time)
        rate = reference.velocity[0]
        effort = control.update(time, reference.position + 1e-3, np.array([measured])).unlimited[0]
        feedback = -0.1 + 20.0 * (rate - measured)
        q = reference.position[0] + 1e-3
        rigid = links.inverse_dynamics(q, measured, reference.acceleration[0] + feedback)
        slow = np.clip(rate / STICTION_VELOCITY, -1.0, 1.0)
        expected = damping * rate + friction * 0.5 * slow * (3.0 - slow**2)
        assert effort - rigid == pytest.approx(expected, abs=1e-9)


def test_twenty_holds_do_not_sink_under_a_load_that_the_model_lacks():
    """The reference of a hold stays; a plan that was asked for before it is void all the same."""

    class Lighter(Pendulum):
        def inverse_dynamics(self, q, qd, qdd, heading=None):
            return 0.7 * super().inverse_dynamics(q, qd, qdd)

    control = controller(dynamics=Lighter())
    _, places, _ = simulate(control, 0.8, 0.0, 2.0)
    sagged, reference = places[-1], control.reference(np.inf).position[0]
    assert reference == pytest.approx(0.8) and abs(sagged - reference) > 0.01
    for k in range(20):
        planned = control.plan(["swing"], [Waypoint(1.0, [1.0])], control.plan_start(None, 0.05))
        control.hold()
        assert "a hold" in control.accept(planned)
        _, places, _ = simulate(control, places[-1], 0.0, 0.1, start=2.0 + 0.1 * k)
    assert control.reference(np.inf).position[0] == reference
    assert places[-1] == pytest.approx(sagged, abs=1e-3)


@pytest.mark.parametrize("mode", ["gravity_compensation", "feedforward"])
def test_feedback_that_comes_back_holds_the_arm_where_it_has_been_moved_to(mode):
    """The arm was led 1 rad away by hand: no jump of the effort, and no way back to the old reference."""
    control, rest = controller(), np.zeros(1)
    control.update(0.0, np.array([0.2]), rest)
    control.parameters = replace(control.parameters, mode=mode)
    places = np.linspace(0.2, 1.2, 51)
    for k, place in enumerate(places):
        led = control.update(0.02 * (k + 1), np.array([place]), np.array([1.0]))
    control.parameters = replace(control.parameters, mode="computed_torque")
    back = control.update(1.04, np.array([1.2]), rest)
    assert back.reference.position == pytest.approx(1.2) and control.phase is Phase.HOLDING
    assert back.effort == pytest.approx(led.effort, abs=0.1)


def test_gravity_compensation_ends_what_is_followed_and_refuses_trajectories():
    control = controller()
    control.update(0.0, np.array([0.2]), np.zeros(1))
    path = control.follow(["swing"], [Waypoint(1.0, [0.8])])
    control.update(0.1, np.array([0.21]), np.zeros(1))
    control.parameters = replace(control.parameters, mode="gravity_compensation")
    control.update(0.2, np.array([0.25]), np.zeros(1))
    assert control.phase is Phase.GUIDED and not control.follows(path)
    with pytest.raises(TrajectoryError, match="gravity_compensation follows no trajectory"):
        control.follow(["swing"], [Waypoint(1.0, [0.8])])
