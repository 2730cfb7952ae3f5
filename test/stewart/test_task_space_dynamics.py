"""Dynamics in task space and its simulation: closed forms, other ways, and errors that name their values."""

from dataclasses import replace

import numpy as np
import pytest
from stewart_oracles import axial, random_motion, random_oracle, rotation, state

from robot_dynamics import stewart
from robot_dynamics.errors import ParameterError, SingularityError, StateError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.stewart import dynamics
from robot_dynamics.stewart.dynamics import State, TaskSpaceDynamics, simulate, state_at_rest
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_quaternion

NONE = np.zeros(3)
FORCES = np.array([30.0, 45.0, 20.0, 60.0, 10.0, 35.0])
TURNED = np.array([0.1, -0.05, 0.15, 0.0])
TURNED[3] = np.sqrt(1.0 - TURNED @ TURNED)


@pytest.fixture(scope="module")
def platform():
    return stewart.load(random_oracle(1).mapping)


@pytest.fixture(scope="module")
def start(platform):
    home = platform.machine.home_position
    return State(home + 0.01, TURNED, np.array([0.1, -0.2, 0.15]), np.array([0.5, 0.3, -0.4]))


def moved(machine, given, seconds=0.02, step=0.01, **options):
    return simulate(machine, given, lambda time, now: FORCES, seconds, step, **options)


def assert_alike(found, expected, **tolerance):
    for name in ("position", "orientation", "linear_velocity", "angular_velocity"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), err_msg=name, **tolerance)


def test_mass_matrix_bias_and_jacobian_give_the_forces_of_any_acceleration(platform):
    """Accelerations that the motion carries are not looked at."""
    given = state(random_motion(1), 0.6)
    load = np.array([3.0, -5.0, 7.0]), np.array([0.5, 0.25, -0.75])
    motion = platform.motion(*given, *load)
    result = platform.inverse_dynamics_of(motion)
    found = dynamics.task_space_dynamics(platform.machine, motion)
    acceleration = np.concatenate(given[4:])
    wrench = found.mass_matrix @ acceleration + found.bias
    np.testing.assert_allclose(found.jacobian.T @ result.actuator_forces, wrench, rtol=1e-10, atol=1e-9)
    np.testing.assert_array_equal(found.mass_matrix, found.mass_matrix.T)
    np.testing.assert_allclose(found.acceleration(result.actuator_forces), acceleration, atol=1e-9)
    still = dynamics.task_space_dynamics(platform.machine, platform.motion(*given[:4], None, None, *load))
    np.testing.assert_array_equal(still.bias, found.bias)
    printed = dynamics.task_space_dynamics(platform.machine, motion, "published")
    other = platform.inverse_dynamics_of(motion, "published")
    wrench = printed.mass_matrix @ acceleration + printed.bias
    difference = np.abs(printed.jacobian.T @ other.actuator_forces - wrench).max()
    assert difference < 0.05 * np.abs(wrench).max() and np.abs(printed.bias - found.bias).max() > 1e-3


def test_a_batch_is_refused_with_its_axes(platform):
    for shape in ((4,), (2, 5)):
        batch = platform.motion(np.zeros((*shape, 3)) + platform.machine.home_position, [0.0, 0.0, 0.0])
        with pytest.raises(StateError) as caught:
            dynamics.task_space_dynamics(platform.machine, batch)
        words = f"position, velocities and load hold a batch {shape}; give one state"
        assert str(caught.value) == words


def test_accelerations_that_forces_do_not_determine_are_refused():
    matrix = np.diag([2.0, 3.0, 4.0, 5.0, 6.0, 0.0])
    with pytest.raises(SingularityError) as caught:
        TaskSpaceDynamics(matrix, np.ones(6), np.eye(6)).acceleration(np.ones(6))
    assert str(caught.value) == "the mass matrix is singular: the platform can move without mass"
    light = TaskSpaceDynamics(1e-5 * np.eye(6), np.ones(6), 1e10 * np.eye(6))
    with pytest.raises(StateError) as caught:
        light.acceleration(np.full(6, 1e300))
    assert str(caught.value) == "the accelerations are not finite: forces or velocities are too large"
    one_sided = TaskSpaceDynamics(np.eye(6) * 2.0, np.arange(6.0), np.arange(36.0).reshape(6, 6))
    forces = np.array([1.0, -2.0, 3.0, 5.0, -7.0, 11.0])
    expected = (np.arange(36.0).reshape(6, 6).T @ forces - np.arange(6.0)) / 2.0
    np.testing.assert_allclose(one_sided.acceleration(forces), expected, rtol=1e-14)
    with pytest.raises(StateError, match="actuator_forces"):
        light.acceleration(np.ones(5))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"mass_matrix": np.eye(5)}, "mass_matrix of a TaskSpaceDynamics"),
        ({"bias": np.ones(5)}, "bias of a TaskSpaceDynamics"),
        ({"jacobian": np.full((6, 6), np.nan)}, "jacobian of a TaskSpaceDynamics"),
    ],
)
def test_dynamics_of_a_wrong_shape_are_refused(change, field):
    plain = TaskSpaceDynamics(np.eye(6), np.ones(6), np.eye(6))
    with pytest.raises(StateError, match=f"^{field} is .*finite numbers"):
        replace(plain, **change)


@pytest.mark.parametrize("name", ["position", "orientation", "linear_velocity", "angular_velocity"])
def test_states_hold_vectors_of_their_size(name):
    plain = State(NONE, TURNED, NONE, NONE)
    size = 4 if name == "orientation" else 3
    for wrong in (np.ones(size - 1), np.ones(size + 1), np.full(size, np.nan)):
        with pytest.raises(StateError, match=f"^{name} of a State is .*it must be {size} finite numbers"):
            replace(plain, **{name: wrong})


def test_the_motion_begins_as_forward_dynamics_say(platform, start):
    """Taylor's series to the second order, within the third."""
    wrench = np.array([11.0, -7.0, 5.0]), np.array([1.0, 2.0, -1.5])
    h = 1e-4
    _, states = moved(
        platform.machine, start, h, h, external_force=wrench[0].tolist(), external_torque=wrench[1].tolist()
    )
    linear, angular = platform.forward_dynamics(
        start.position, start.orientation, start.linear_velocity, start.angular_velocity, FORCES, *wrench
    )
    end = states[-1]
    np.testing.assert_allclose(
        (end.linear_velocity - start.linear_velocity) / h, linear, rtol=1e-2, atol=2e-2
    )
    np.testing.assert_allclose(
        (end.angular_velocity - start.angular_velocity) / h, angular, rtol=1e-2, atol=0.1
    )
    expected = start.linear_velocity * h + 0.5 * linear * h**2
    np.testing.assert_allclose(end.position - start.position, expected, atol=1e-9)
    turn = rotation_from_quaternion(end.orientation) @ rotation_from_quaternion(start.orientation).T
    spin = start.angular_velocity * h + 0.5 * angular * h**2
    np.testing.assert_allclose(axial(turn), spin, atol=1e-8)


@pytest.mark.parametrize("loaded", [False, True])
def test_compiled_forces_and_a_payload_give_the_motion_of_one_machine_with_it(
    platform, start, loaded, monkeypatch
):
    machine = platform.machine
    options = {"external_force": np.array([20.0, -30.0, 10.0]), "external_torque": np.array([2.0, 3.0, -1.0])}
    carrying = machine
    given = {}
    if loaded:
        body = RigidBody(
            0.75,
            np.array([0.05, -0.08, 0.1]),
            np.array([[0.1, 0.01, 0.0], [0.01, 0.2, 0.02], [0.0, 0.02, 0.15]]),
        )
        carrying = replace(machine, platform=lumped_body((machine.platform, body)))
        given = {"payload": body}
    expected = moved(carrying, start, **options)[1][-1]
    assert_alike(moved(machine, start, **options, **given)[1][-1], expected, atol=1e-12)
    nothing = RigidBody(0.0, np.ones(3), np.zeros((3, 3)))
    alone = moved(machine, start, payload=nothing)[1][-1]
    assert_alike(alone, moved(machine, start)[1][-1], atol=0.0)
    compiled = Interpreted(platform)
    monkeypatch.setattr(dynamics, "_rate", None)  # the compiled forces are enough
    assert_alike(moved(machine, start, compiled=compiled, **options, **given)[1][-1], expected, atol=1e-10)
    assert compiled.calls == 8


def test_a_payload_may_have_an_inertia_without_a_mass_or_take_mass_away(platform, start):
    """Compiled forces, to which its wrench is added, and the model of one machine move alike."""
    compiled, inertia = Interpreted(platform), np.diag([1.0, 2.0, 1.5])
    own = platform.machine.platform.mass
    alone = moved(platform.machine, start)[1][-1].angular_velocity
    for body in (RigidBody(0.0, NONE, inertia), RigidBody(-0.25 * own, np.array([0.1, 0.0, -0.1]), inertia)):
        found = moved(platform.machine, start, payload=body)[1][-1]
        assert_alike(found, moved(platform.machine, start, compiled=compiled, payload=body)[1][-1], atol=1e-9)
        assert np.abs(found.angular_velocity - alone).max() > 0.1


class Interpreted:
    """Takes the place of compiled forces: the Newton-Euler forces of packed motions.

    Attributes:
        calls: number of calls.
    """

    def __init__(self, platform, spoil=lambda rows: rows):
        self.machine, self.calls = platform.machine, 0
        self._platform, self._spoil = platform, spoil

    def actuator_forces(self, motions):
        self.calls += 1
        np.testing.assert_allclose(np.linalg.norm(motions[:, 3:7], axis=1), 1.0, rtol=1e-14)
        parts = np.split(motions, [3, 7, 10, 13, 16, 19, 22], axis=1)
        return self._spoil(self._platform.inverse_dynamics(*parts, on_violation="report").actuator_forces)


def fail(rows):
    raise SingularityError("no forces")


@pytest.mark.parametrize(
    "spoil",
    [fail, lambda rows: 0.0 * rows, lambda rows: np.nan * rows],
    ids=["error", "singular", "not a number"],
)
def test_where_compiled_forces_do_not_tell_the_accelerations_the_model_does(platform, start, spoil):
    compiled = Interpreted(platform, spoil)
    found = moved(platform.machine, start, compiled=compiled)[1][-1]
    assert_alike(found, moved(platform.machine, start)[1][-1], atol=0.0)
    assert compiled.calls == 8


@pytest.mark.parametrize(
    ("duration", "step", "times"),
    [
        (0.03, 0.01, [0.0, 0.01, 0.02, 0.03]),
        (0.025, 0.01, [0.0, 0.01, 0.02, 0.025]),
        (0.005, 0.01, [0.0, 0.005]),
        (0.0, 0.01, [0.0]),
    ],
)
def test_the_last_step_is_shortened_to_end_at_the_duration(platform, start, duration, step, times):
    found, states = moved(platform.machine, start, duration, step)
    np.testing.assert_allclose(found, times, rtol=1e-14, atol=1e-17)
    assert len(states) == len(times)
    assert_alike(states[0], start, rtol=1e-15)


def test_forces_are_asked_for_with_the_time_and_the_state_of_each_stage(platform, start):
    asked = []

    def forces(time, now):
        asked.append((time, now))
        return np.full(6, 30.0)

    _, states = platform.simulate(forces, 0.02, 0.01, start)
    np.testing.assert_allclose([time for time, _ in asked], [0, 0.005, 0.005, 0.01, 0.01, 0.015, 0.015, 0.02])
    assert all(abs(np.linalg.norm(now.orientation) - 1.0) < 1e-15 for _, now in asked)
    assert_alike(asked[0][1], start, rtol=1e-15)
    assert_alike(asked[4][1], states[1], rtol=1e-14)


@pytest.mark.parametrize(
    ("duration", "step", "words"),
    [
        (-0.5, 0.01, "duration -0.5 s and step 0.01 s must be positive"),
        (0.5, 0.0, "duration 0.5 s and step 0.0 s must be positive"),
        (0.5, -0.25, "duration 0.5 s and step -0.25 s must be positive"),
        (3.0, 1e-7, "step is 1e-07 s: 3e+07 steps in 3 s; 10000000 are possible"),
    ],
)
def test_durations_and_steps_that_cannot_be_are_refused(platform, start, duration, step, words):
    with pytest.raises(ParameterError) as caught:
        moved(platform.machine, start, duration, step)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    "given", [[1.0] * 5, [1.0] * 7, np.ones((1, 6)), [1.0, 2.0, 3.0, np.nan, 5.0, 6.0]], ids=str
)
def test_forces_that_are_not_six_finite_numbers_are_refused_with_their_time(platform, start, given):
    with pytest.raises(
        StateError, match=r"^the actuator forces at t = 0\.015 s are .*; six finite numbers are due$"
    ):
        simulate(platform.machine, start, lambda t, now: np.ones(6) if t < 0.012 else given, 0.05, 0.01)


@pytest.mark.parametrize(
    ("place", "turn", "speed"),
    [
        ((0.0, 0.0, 1e5), (0.6, 0.0, 0.0, 0.8), (0.0, 0.0, 0.0)),
        ((0.0, 0.0, 1.0), (0.0, 0.6, 0.0, 0.8), (1e5, 0.0, 0.0)),
        ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    ],
)
def test_the_orientation_alone_is_normalised_after_each_step(platform, place, turn, speed, monkeypatch):
    """A body without accelerations: its quaternion stays, whatever its place and velocity."""
    given = State(*(np.array(part) for part in (place, turn, speed)), NONE)

    def rate(machine, x, *load):
        np.testing.assert_allclose(x[3:7], turn, rtol=1e-14)
        return np.concatenate([x[7:10], np.zeros(10)])

    monkeypatch.setattr(dynamics, "_rate", rate)
    assert_alike(
        moved(platform.machine, given)[1][-1],
        replace(given, position=given.position + 0.02 * given.linear_velocity),
    )


@pytest.mark.parametrize(("length", "accepted"), [(2e-9, True), (0.5e-9, False), (0.5e9, True), (2e9, False)])
def test_the_orientation_of_a_start_is_normalised_where_it_has_a_length(platform, start, length, accepted):
    given = replace(start, orientation=length * TURNED)
    if accepted:
        assert_alike(moved(platform.machine, given)[1][-1], moved(platform.machine, start)[1][-1], atol=1e-12)
    else:
        with pytest.raises(
            StateError, match=r"^start\.orientation is .*; it must be a quaternion x, y, z, w$"
        ):
            moved(platform.machine, given)


def test_the_length_of_a_quaternion_may_be_up_to_its_bounds(platform, start):
    for w, accepted in ((1e9 - 0.5, True), (1e9, False), (1e9 + 0.5, False), (1e-9, False)):
        given = replace(start, orientation=np.array([0.0, 0.0, 0.0, w]))
        if accepted:
            assert moved(platform.machine, given, 0.0)[1][0].orientation.tolist() == [0.0, 0.0, 0.0, 1.0]
        else:
            with pytest.raises(StateError, match=r"^start\.orientation"):
                moved(platform.machine, given, 0.0)


def test_a_platform_at_rest_has_a_pose_of_its_own():
    position, turn = np.array([0.1, 0.2, 0.3]), rotation(np.array([0.4, -0.5, 0.6]))
    found = state_at_rest(position, turn)
    position[0] = 9.0
    assert found.position.tolist() == [0.1, 0.2, 0.3]
    np.testing.assert_allclose(found.orientation, quaternion_from_rotation(turn), rtol=1e-15)
    assert not found.linear_velocity.any() and not found.angular_velocity.any()


def test_as_many_steps_as_possible_are_done_and_no_more(platform, start, monkeypatch):
    monkeypatch.setattr(dynamics, "MOST_STEPS", 3)
    assert len(moved(platform.machine, start, 0.0234375, 0.0078125)[0]) == 4
    with pytest.raises(ParameterError) as caught:
        moved(platform.machine, start, 0.03125, 0.0078125)
    assert str(caught.value) == "step is 0.0078125 s: 4 steps in 0.03125 s; 3 are possible"


def test_a_fast_turn_in_long_steps_is_that_of_the_classical_runge_kutta_method(platform, start):
    """The method written again, with quaternion rates by a product, and accelerations by forward dynamics."""
    fast = replace(start, angular_velocity=np.array([3.0, -4.0, 5.0]))
    h = 0.04

    def rate(place, turn, v, w):
        unit = turn / np.linalg.norm(turn)
        linear, angular = platform.forward_dynamics(place, unit, v, w, FORCES)
        x, y, z, s = turn
        spins = np.array([[s, z, -y], [-z, s, x], [y, -x, s], [-x, -y, -z]])
        return [v, 0.5 * spins @ w, linear, angular]

    state_now = [fast.position, TURNED, fast.linear_velocity, fast.angular_velocity]
    for _ in range(3):
        slopes = [rate(*state_now)]
        for share in (0.5, 0.5, 1.0):
            slopes.append(rate(*(a + share * h * b for a, b in zip(state_now, slopes[-1], strict=True))))
        state_now = [
            a + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            for a, k1, k2, k3, k4 in zip(state_now, *slopes, strict=True)
        ]
        state_now[1] = state_now[1] / np.linalg.norm(state_now[1])
    _, states = moved(platform.machine, fast, 3.0 * h, h)
    assert_alike(states[-1], State(*state_now), atol=1e-11)
    _, states = moved(platform.machine, fast, 3.0 * h, h, compiled=Interpreted(platform))
    assert_alike(states[-1], State(*state_now), atol=1e-9)
