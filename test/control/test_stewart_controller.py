"""The platform controller: forward kinematics in the loop, the error equation, refusals and safe outputs."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint, at_rest, plan_pose
from robot_dynamics.errors import (
    ParameterError,
    RobotDynamicsError,
    SingularityError,
    StateError,
    TrajectoryError,
)
from robot_dynamics.resources import resource
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    rotation_vector,
)


@pytest.fixture(scope="module")
def platform():
    return stewart.load(resource("config/stewart_demo.yaml"))


def controller(platform, **parameters):
    return StewartController(platform, StewartParameters(**parameters))


def home(platform):
    return platform.machine.home_position, quaternion_from_rotation(platform.machine.home_rotation)


def lengths_at(platform, shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    rotation = rotation_from_vector(np.array(turn)) @ platform.machine.home_rotation
    return platform.legs(home(platform)[0] + shift, quaternion_from_rotation(rotation)).lengths


def waypoint(platform, time, shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0), **more):
    rotation = rotation_from_vector(np.array(turn)) @ platform.machine.home_rotation
    place = home(platform)[0] + shift
    return PoseWaypoint(time, place, quaternion_from_rotation(rotation).tolist(), **more)


def test_pose_and_twist_of_the_leg_lengths_are_found(platform):
    control = controller(platform, max_velocity_factor=1e6)
    random = np.random.default_rng(3)
    for k in range(20):
        turn, shift = random.uniform(-0.15, 0.15, 3), random.uniform(-0.04, 0.04, 3)
        rotation = rotation_from_vector(turn) @ platform.machine.home_rotation
        place, orientation = home(platform)[0] + shift, quaternion_from_rotation(rotation)
        legs = platform.legs(place, orientation)
        twist = random.normal(size=6)
        control.update(0.01 * k, legs.lengths, legs.jacobian @ twist)
        pose = control.pose
        np.testing.assert_allclose(pose.position, place, atol=1e-8)
        np.testing.assert_allclose(pose.rotation, rotation, atol=1e-8)
        np.testing.assert_allclose(rotation_from_quaternion(pose.quaternion), rotation, atol=1e-8)
        np.testing.assert_allclose(pose.twist, twist, atol=1e-6)
        expected = platform.inverse_dynamics(
            place, orientation, *[np.zeros(3)] * 4, on_violation="report"
        ).scaled_condition_number
        assert pose.condition_number == pytest.approx(expected)


def test_the_acceleration_is_the_laws(platform):
    """At a pose error, the forces are those of the exact model at Kp times that error."""
    control = controller(platform, half_period_ahead=False, kp=(100.0,), kv=(20.0,), ki=-1.0)
    control.update(0.0, lengths_at(platform), np.zeros(6))
    shift, turn = np.array([0.003, -0.002, 0.001]), np.array([0.004, 0.002, -0.003])
    rotation = rotation_from_vector(turn) @ platform.machine.home_rotation
    place, orientation = home(platform)[0] + shift, quaternion_from_rotation(rotation)
    zero = np.zeros(3)
    expected = platform.inverse_dynamics(
        place, orientation, zero, zero, -100.0 * shift, -100.0 * turn
    ).actuator_forces
    command = control.update(0.002, lengths_at(platform, shift, turn), np.zeros(6))
    np.testing.assert_allclose(command.effort, expected, rtol=1e-6)


def test_a_pose_trajectory_meets_what_its_waypoints_give(platform):
    origin = at_rest(platform.machine.home_position, platform.machine.home_rotation)
    middle = waypoint(
        platform, 1.0, (0.01, 0.0, 0.02), (0.05, -0.03, 0.08),
        linear_velocity=[0.01, 0.02, -0.01], angular_velocity=[0.1, 0.05, -0.2],
        linear_acceleration=[0.1, 0.0, 0.2], angular_acceleration=[0.3, -0.1, 0.2],
    )  # fmt: skip
    path = plan_pose(platform, [middle, waypoint(platform, 2.0)], 0.0, origin, 0.0)
    at = path.sample(1.0)
    np.testing.assert_allclose(at.position, middle.position, atol=1e-12)
    np.testing.assert_allclose(at.rotation, rotation_from_quaternion(middle.orientation), atol=1e-9)
    for field in ("linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration"):
        np.testing.assert_allclose(getattr(at, field), getattr(middle, field), atol=1e-8)
    h = 1e-5
    before, after = path.sample(0.7 - h), path.sample(0.7 + h)
    omega = rotation_vector(after.rotation @ before.rotation.T) / (2.0 * h)
    np.testing.assert_allclose(omega, path.sample(0.7).angular_velocity, rtol=1e-4, atol=1e-7)


def test_refused_before_it_starts_with_the_reason(platform):
    control = controller(platform)
    control.update(0.0, lengths_at(platform), np.zeros(6))
    for points, expected in [
        ([waypoint(platform, 1.0, (0.0, 0.0, 0.4))], "leg_"),
        ([waypoint(platform, 0.05, (0.0, 0.0, 0.08))], "leg_"),
        ([waypoint(platform, 1.0, turn=(1.5, 0.0, 0.0))], "leg_|condition|singular"),
        ([PoseWaypoint(1.0, [0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0])], "waypoint 0"),
        ([PoseWaypoint(1.0, [np.nan, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0])], "waypoint 0: position"),
        ([], "0 waypoints"),
        ([waypoint(platform, 1.0), waypoint(platform, 0.5)], "not later"),
    ]:
        with pytest.raises(RobotDynamicsError, match=expected):
            control.follow(points, None)
        assert control.phase is Phase.HOLDING


def test_external_wrench_is_carried_while_it_is_fresh(platform):
    control = controller(platform, wrench_timeout=0.1, wrench_fade_time=0.0, half_period_ahead=False)
    control.update(0.0, lengths_at(platform), np.zeros(6))
    control.set_wrench([0.0, 0.0, -50.0], [1.0, 2.0, 3.0])
    zero = np.zeros(3)
    expected = platform.inverse_dynamics(
        *home(platform), zero, zero, zero, zero, force=[0.0, 0.0, -50.0], torque=[1.0, 2.0, 3.0]
    ).actuator_forces
    loaded = control.update(0.05, lengths_at(platform), np.zeros(6))
    np.testing.assert_allclose(loaded.effort, expected, rtol=1e-6)
    free = control.update(0.2, lengths_at(platform), np.zeros(6))
    assert np.abs(free.effort - expected).max() > 5.0
    with pytest.raises(StateError, match="six finite"):
        control.set_wrench([0.0, np.inf, 0.0], [0.0, 0.0, 0.0])


def test_safe_output_carries_the_weight_and_fades(platform):
    control = controller(platform, safe_output="gravity_fade", safe_fade_time=1.0)
    weight = control.update(0.0, lengths_at(platform), np.zeros(6)).effort
    control.lost_states()
    for since, share in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)):
        np.testing.assert_allclose(control.safe_command(since).effort, share * weight, atol=1e-9)
    assert control.phase is Phase.STALE
    control.update(3.0, lengths_at(platform, (0.0, 0.0, 0.01)), np.zeros(6))
    assert control.phase is Phase.HOLDING
    with pytest.raises(TrajectoryError, match="in the past"):
        control.follow([waypoint(platform, 1.0)], start=-9.0)


def test_gains_are_one_or_six():
    with pytest.raises(ParameterError, match="kp"):
        StewartParameters(kp=(1.0, 2.0))


def test_a_platform_that_rests_on_its_stops_can_be_moved_away_but_not_further(platform):
    shortest = max(leg.limits.shortest for leg in platform.machine.legs)
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if lengths_at(platform, (0, 0, -middle)).min() > shortest else (low, middle)
        )
    down = high + 2e-4
    place, orientation = home(platform)
    origin = at_rest(place - [0.0, 0.0, down], rotation_from_quaternion(orientation))
    assert lengths_at(platform, (0, 0, -down)).min() < shortest - 1e-4
    path = plan_pose(platform, [waypoint(platform, 2.0)], 0.0, origin, 0.0)
    with pytest.raises(stewart.LimitError, match="at t = 0"):
        platform.check_path(path, 0.01)
    for worse in (down + 1e-4, down + 5e-3):
        with pytest.raises(stewart.LimitError, match="below its least"):
            plan_pose(platform, [waypoint(platform, 2.0, (0, 0, -worse))], 0.0, origin, 0.0)
    with pytest.raises(stewart.LimitError, match="above its greatest"):
        plan_pose(platform, [waypoint(platform, 2.0, (0, 0, 0.3))], 0.0, origin, 0.0)


@pytest.mark.long
def test_the_forces_go_over_to_other_gains_another_law_and_another_model_without_a_step(platform):
    """At a standing pose error every force of a cross-fade is known: it lies on a straight line."""
    period, cycles = 0.002, 50
    control = controller(platform, half_period_ahead=False, model_change_time=cycles * period, ki=-1.0)
    control.update(0.0, lengths_at(platform), np.zeros(6))
    away = lengths_at(platform, (0.002, -0.001, 0.001))
    time = 0.0

    def forces(count):
        nonlocal time
        found = []
        for _ in range(count):
            time += period
            found.append(control.update(time, away, np.zeros(6)).effort)
        return np.array(found)

    last = forces(3)[-1]
    changes = [
        lambda: setattr(control, "parameters", replace(control.parameters, kp=(900.0,), kv=(60.0,))),
        lambda: setattr(control, "parameters", replace(control.parameters, mode="feedforward")),
        lambda: setattr(control, "parameters", replace(control.parameters, mode="computed_force")),
        lambda: control.change_model(heavier(platform, 1.5)),
    ]
    for change in changes:
        change()
        found = forces(cycles + 5)
        line = last + np.linspace(0.0, 1.0, cycles + 1)[:, None] * (found[-1] - last)
        np.testing.assert_allclose(found[: cycles + 1], line, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[cycles:], found[-1:].repeat(5, axis=0), rtol=1e-12)
        assert np.abs(found[-1] - last).max() > 0.1
        last = found[-1]
    zero, shift = np.zeros(3), np.array([0.002, -0.001, 0.001])
    place, orientation = home(platform)
    # Without feedback it has been elsewhere: it is held where it is found, and not pulled back.
    exact = heavier(platform, 1.5).inverse_dynamics(place + shift, orientation, zero, zero, zero, zero)
    np.testing.assert_allclose(last, exact.actuator_forces, rtol=1e-6)


def heavier(platform, factor):
    """The same machine with a plate of ``factor`` times the mass and inertia."""
    plate = platform.machine.platform
    loaded = replace(plate, mass=factor * plate.mass, inertia=factor * plate.inertia)
    return stewart.StewartPlatform(replace(platform.machine, platform=loaded))


def test_a_plan_is_void_after_a_hold_a_jump_a_loss_or_another_plan(platform):
    control = controller(platform)
    control.update(0.0, lengths_at(platform), np.zeros(6))

    def planned():
        return control.plan([waypoint(platform, 1.0, (0.0, 0.0, 0.01))], control.plan_start(None))

    first, second = planned(), planned()
    assert control.accept(first) == ""
    assert "came first" in control.accept(second)
    assert control.follows(first.trajectory)
    assert not control.follows(second.trajectory)
    waiting = planned()
    control.hold()
    assert "came first" in control.accept(waiting)
    assert control.phase is Phase.HOLDING
    waiting = planned()
    control.lost_states()
    assert "came first" in control.accept(waiting)
    control.update(1.0, lengths_at(platform), np.zeros(6))
    assert "came first" in control.accept(waiting)
    waiting = planned()
    control.update(1.002, lengths_at(platform), np.zeros(6))
    assert "longer than it was allowed" in control.accept(waiting)
    ready = control.plan([waypoint(platform, 1.0, (0.0, 0.0, 0.01))], control.plan_start(None, allowance=0.1))
    control.update(1.004, lengths_at(platform), np.zeros(6))
    assert control.accept(ready) == ""
    assert ready.trajectory.start == pytest.approx(1.102)
    assert control.reference(1.1).position[2] == control.reference(1.004).position[2]
    assert control.reference(1.6).position[2] > control.reference(1.004).position[2] + 1e-3


def test_a_pose_too_near_to_a_singular_one_is_refused_and_so_is_an_impossible_one(platform):
    limited = stewart.StewartPlatform(replace(platform.machine, condition_limit=1.01))
    with pytest.raises(SingularityError, match=r"condition number is .*, beyond the limit of 1\.01"):
        controller(limited).update(0.0, lengths_at(platform), np.zeros(6))
    control = controller(platform)
    weight = control.update(0.0, lengths_at(platform), np.zeros(6)).effort
    place = control.pose.position.copy()
    impossible = np.array([0.1, 5.0, 0.1, 5.0, 0.1, 5.0])
    with pytest.raises(StateError, match="no pose near the last one"):
        control.update(0.002, impossible, np.zeros(6))
    control.lost_states()
    control.observe(impossible)
    np.testing.assert_array_equal(control.pose.position, place)
    np.testing.assert_allclose(control.safe_command(0.0).effort, weight, rtol=1e-9)


@pytest.mark.parametrize("safe_output", ["gravity_fade", "settle"])
def test_where_no_finite_forces_hold_the_platform_the_safe_output_is_zero(platform, safe_output):
    control = controller(platform, safe_output=safe_output, wrench_fade_time=0.0)
    control.update(0.0, lengths_at(platform), np.zeros(6))
    assert control.safe_command(0.0).effort.any()
    control._share_of = lambda wrench: 1.0
    control.set_wrench([1e308] * 3, [1e308] * 3)
    with pytest.raises(StateError, match="no finite effort"):
        control.update(0.01, lengths_at(platform), np.zeros(6))
    control.lost_states()
    assert not control.safe_command(0.0).effort.any()


def test_a_controller_tells_in_a_line_what_it_is(platform):
    control = controller(platform, mode="feedforward")
    assert repr(control) == "StewartController(stewart_demo: feedforward, waiting for the first joint state)"
    control.update(0.0, lengths_at(platform), np.zeros(6))
    assert repr(control).endswith("holding position)")


@pytest.fixture
def lift(platform):
    """Lifts a platform by 40 mm within a duration [s] from a start on [s]."""
    control = controller(platform)
    control.update(0.0, lengths_at(platform), np.zeros(6))

    def lift(duration, start=None):
        return control.follow([waypoint(platform, duration, (0.0, 0.0, 0.04))], start)

    return lift


def test_trajectories_keep_the_acceleration_limit_of_every_reference(lift):
    """A lift from rest to rest takes 5.7735 times its distance over the squared duration (closed form)."""
    with pytest.raises(TrajectoryError, match=r"acceleration 14\.4\d* m/s² .* max_acceleration allows 4"):
        lift(0.1265)
    assert lift(np.sqrt(5.7735 * 0.04 / 4.0)).duration == pytest.approx(0.2403, abs=1e-4)


def test_a_late_stamp_leaves_no_time_for_a_lift(lift):
    with pytest.raises(TrajectoryError, match=r"acceleration 12\.\d* m/s²"):
        lift(0.5, start=-0.5 + np.sqrt(5.7735 * 0.04 / 12.3))


def test_a_new_controller_begins_with_the_descent_of_its_own_settings(platform):
    """A platform keeps some of its earlier controllers'."""
    fresh = stewart.load(resource("config/stewart_demo.yaml"))

    def times(platform, speed):
        return list(controller(platform, blind_speed=speed)._descent[1][0])

    assert times(platform, 0.4) == times(platform, 0.4) != times(platform, 0.3)
    assert times(platform, 0.3) == times(fresh, 0.3)
