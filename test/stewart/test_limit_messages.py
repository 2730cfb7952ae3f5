"""Limits at their bounds: states, legs and numbers in the messages, and the policies that follow."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from motion_base import desktop, motion_base
from platform_legs import replace_legs
from stewart_oracles import rotation

from robot_dynamics import stewart
from robot_dynamics.errors import LimitError, LimitWarning, ParameterError, SingularityError, StateError
from robot_dynamics.stewart import checks
from robot_dynamics.stewart.checks import (
    Violation,
    act_on,
    load_violations,
    pose_quantities,
    pose_violations,
    require_finite,
)
from robot_dynamics.stewart.inverse_dynamics import inverse_dynamics
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry


@pytest.fixture(scope="module")
def machine():
    return motion_base().machine


def limited(machine, **limits):
    """The machine with limits of leg 3 alone; the others have none."""
    free = stewart.LegLimits()
    own = [free, free, replace(free, **limits), free, free, free]
    return replace(replace_legs(machine, limits=own), condition_limit=1e6)


def place(machine, shift=(0.01, 0.02, 0.03), turn=(0.05, -0.02, 0.04)):
    return machine.home_position + np.array(shift), rotation(np.array(turn)) @ machine.home_rotation


def angle(a, b):
    return np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)


POSE_LIMITS = ["longest", "shortest", "base_angle", "platform_angle"]


@pytest.mark.parametrize("name", POSE_LIMITS)
def test_a_limit_of_one_leg_is_exceeded_just_beyond_its_value(machine, name):
    position, turn = place(machine)
    legs = leg_geometry(machine, position, turn)
    value = {
        "longest": legs.lengths[2],
        "shortest": legs.lengths[2],
        "base_angle": angle(legs.directions[2], machine.home_directions[2]),
        "platform_angle": angle(
            turn.T @ legs.directions[2], machine.home_rotation.T @ machine.home_directions[2]
        ),
    }[name]
    beyond = 1.0001 if name == "shortest" else 0.9999
    words = {
        "longest": ("length", "length {} m, above its greatest {} m"),
        "shortest": ("length", "length {} m, below its least {} m"),
        "base_angle": ("base_angle", "angle at the base {} rad, above its greatest {} rad"),
        "platform_angle": ("platform_angle", "angle at the platform {} rad, above its greatest {} rad"),
    }[name]
    for factor, kept in ((beyond, False), (2.0 - beyond, True)):
        limits = limited(machine, **{name: factor * value})
        found = pose_violations(limits, legs, turn)
        assert found.kept.shape == () and bool(found.kept) is kept
        assert len(found) == (not kept)
        if not kept:
            (one,) = found
            assert (one.quantity, one.leg, one.state) == (words[0], 2, None)
            assert one.value == pytest.approx(value, rel=1e-12)
            assert one.limit == pytest.approx(factor * value, rel=1e-15)
            assert one.message == "leg_3: " + words[1].format(f"{value:.5g}", f"{factor * value:.5g}")


def test_a_length_at_its_bound_is_kept(machine):
    position, turn = place(machine)
    legs = leg_geometry(machine, position, turn)
    length = float(legs.lengths[2])
    for limits in ({"longest": length}, {"shortest": length}):
        found = pose_violations(limited(machine, **limits), legs, turn)
        assert found == () and found.kept
    still = leg_geometry(machine, machine.home_position, machine.home_rotation)
    unmoved = limited(machine, base_angle=0.0, platform_angle=0.0)
    assert pose_violations(unmoved, still, machine.home_rotation) == ()


def test_a_batch_names_the_worst_state_and_keeps_count_of_all(machine):
    shifts = np.array([[0.0, 0.0, z] for z in (0.0, 0.02, 0.06, 0.04)])
    positions = machine.home_position + shifts
    turns = np.broadcast_to(machine.home_rotation, (4, 3, 3))
    legs = leg_geometry(machine, positions, turns)
    longest = 0.5 * (legs.lengths[0, 2] + legs.lengths[1, 2])
    found = pose_violations(limited(machine, longest=longest), legs, turns)
    assert found.kept.tolist() == [True, False, False, False]
    (one,) = found
    assert (one.leg, one.state) == (2, 2)
    assert one.value == pytest.approx(legs.lengths[2, 2])
    assert one.message.startswith("leg_3 of state 2: length ")
    shortest = 0.5 * (legs.lengths[1, 2] + legs.lengths[3, 2])
    (low,) = pose_violations(limited(machine, shortest=shortest), legs, turns)
    assert (low.state, low.value) == (0, pytest.approx(legs.lengths[0, 2]))
    none = leg_geometry(machine, positions[:0], turns[:0])
    empty = pose_violations(limited(machine, longest=0.1), none, turns[:0])
    assert empty == () and empty.kept.shape == (0,)
    strict = replace(limited(machine), condition_limit=0.5)
    assert pose_violations(strict, none, turns[:0]) == ()


def test_every_quantity_of_a_pose_has_its_name_words_and_unit(machine):
    position, turn = place(machine)
    found = list(pose_quantities(machine, leg_geometry(machine, position, turn), turn))
    assert [(key, words, unit) for key, words, _, _, unit in found] == [
        ("length", "length", "m"),
        ("length", "length", "m"),
        ("base_angle", "angle at the base", "rad"),
        ("platform_angle", "angle at the platform", "rad"),
    ]
    limits = machine.legs[0].limits
    bounds = [limits.longest, -limits.shortest, limits.base_angle, limits.platform_angle]
    assert [values for *_, values, _ in found] == [[bound] * 6 for bound in bounds]


def test_the_condition_number_has_a_limit_of_its_own(machine):
    position, turn = place(machine)
    batch = np.array([machine.home_position, position]), np.array([machine.home_rotation, turn])
    legs = leg_geometry(machine, *batch)
    numbers = condition_number(legs.jacobian, machine.characteristic_length)
    worst = int(numbers.argmax())
    free = limited(machine)
    low = replace(free, condition_limit=float(0.5 * (numbers.min() + numbers.max())))
    found = pose_violations(low, legs, batch[1])
    (one,) = found
    assert (one.quantity, one.leg, one.state) == ("condition_number", None, worst)
    assert (one.value, one.limit) == (numbers[worst], low.condition_limit)
    assert one.message == (
        f"the pose of state {worst} is near a singularity: condition number {numbers[worst]:.4g}, limit"
        f" {low.condition_limit:g}"
    )
    assert found.kept.tolist() == [k != worst for k in range(2)]
    alone = leg_geometry(machine, batch[0][worst], batch[1][worst])
    (single,) = pose_violations(low, alone, batch[1][worst])
    assert single.state is None and single.message.startswith("the pose is near a singularity")
    number = float(condition_number(alone.jacobian, machine.characteristic_length))
    exact = pose_violations(replace(free, condition_limit=number), alone, batch[1][worst])
    assert exact == () and exact.kept


def test_speeds_and_forces_are_bounded_by_magnitude(machine):
    limits = limited(machine, speed=0.5, force=200.0)
    speeds, forces = np.zeros(6), np.zeros(6)
    speeds[2], forces[2] = -0.5, 200.0
    assert load_violations(limits, speeds, forces) == ()
    speeds[2], forces[2] = -0.75, -201.0
    found = load_violations(limits, speeds, forces)
    assert [(one.quantity, one.leg, one.state, one.value, one.limit) for one in found] == [
        ("speed", 2, None, 0.75, 0.5),
        ("force", 2, None, 201.0, 200.0),
    ]
    assert [one.message for one in found] == [
        "leg_3: speed 0.75 m/s, above its greatest 0.5 m/s",
        "leg_3: force 201 N, above its greatest 200 N",
    ]
    batch = np.array([[0.1] * 6, [-2.5] * 6, [1.0] * 6])
    (fast,) = load_violations(limits, batch, 10.0 * batch)
    assert (fast.leg, fast.state, fast.value) == (2, 1, 2.5)


def one_violation(quantity, message):
    return Violation(quantity, 1, None, 2.0, 1.0, message)


def test_policies_raise_warn_or_leave_it_to_the_caller():
    length, near = one_violation("length", "too long"), one_violation("condition_number", "too near")
    with pytest.raises(LimitError, match=r"^too long; too long$"):
        act_on((length, length), "raise")
    with pytest.raises(SingularityError, match=r"^too long; too near$"):
        act_on((length, near), "raise")
    with pytest.raises(LimitError, match=r"^too far$"):
        act_on((one_violation("base_angle", "too far"),), "raise")
    with pytest.warns(LimitWarning, match=r"^too near; too long$"):
        act_on((near, length), "warn")
    with warnings.catch_warnings(action="error"):
        act_on((near,), "report")
        for policy in ("raise", "warn", "report"):
            act_on((), policy)
    for given in ((), (near,)):
        with pytest.raises(ParameterError, match=r"on_violation is 'shout'.*'raise', 'warn' or 'report'"):
            act_on(given, "shout")


def test_a_warning_points_at_the_line_that_asked(machine):
    platform = stewart.StewartPlatform(limited(machine, longest=0.1))
    with pytest.warns(LimitWarning, match="leg_3") as caught:
        platform.check_pose(machine.home_position, [0.0, 0.0, 0.0], on_violation="warn")
    assert caught[0].filename == __file__


def test_a_short_leg_is_below_its_least_length_and_a_moving_one_above_a_greatest_speed_of_zero():
    small = desktop().machine
    legs = leg_geometry(small, small.home_position, small.home_rotation)
    (short,) = pose_violations(limited(small, shortest=0.5), legs, small.home_rotation)
    assert short.message == f"leg_3: length {legs.lengths[2]:.5g} m, below its least 0.5 m"
    (fast,) = load_violations(limited(small, speed=0.0), np.full(6, -0.25), np.zeros(6))
    assert fast.message == "leg_3: speed 0.25 m/s, above its greatest 0 m/s"


def test_angles_are_exact_where_they_are_small_and_where_they_are_great():
    home = np.array([[0.0, 0.6, 0.8]] * 6)
    turns = np.array([0.0, 1e-9, 0.25, 1.5, np.pi - 1e-6, np.pi])
    directions = np.array([rotation(np.array([t, 0.0, 0.0])) @ home[0] for t in turns])
    np.testing.assert_allclose(checks._angles(directions, home), turns, rtol=1e-7, atol=2e-16)
    assert checks._angles(home * 1.0000001, -home)[0] == np.pi


def test_forces_that_are_not_finite_are_refused_by_sample_and_greatest_entry(machine):
    platform = stewart.StewartPlatform(machine)
    parts = {name: np.full((2, 3, 3), 0.5 + k) for k, name in enumerate(stewart.Motion._fields[2:])}
    parts["force"][1, 0, 2] = -2.5e7
    motion = platform.motion(machine.home_position, [0.0, 0.0, 0.0], **parts)
    result = np.zeros((2, 3, 6))
    require_finite(result, motion)
    result[1, 0, 4] = np.nan
    result[1, 2] = np.inf
    with pytest.raises(StateError) as caught:
        require_finite(result, motion)
    assert str(caught.value) == (
        "the actuator forces of sample 1, 0 are not finite: force reaches 2.5e+07; give values that a"
        " machine can have"
    )
    single = platform.motion(machine.home_position, [0.0, 0.0, 0.0], [3.0, -40.0, 5.0])
    require_finite(np.zeros(6), single)
    with pytest.raises(StateError) as caught:
        require_finite(np.array([0.0, 0.0, 0.0, 0.0, 0.0, -np.inf]), single)
    assert str(caught.value) == (
        "the actuator forces are not finite: linear_velocity reaches 40; give values that a machine can have"
    )


def test_inverse_dynamics_hold_all_of_a_motion(machine):
    platform = stewart.StewartPlatform(limited(machine, longest=0.1, speed=1e-3, force=1.0))
    position, turn = place(machine)
    rates = np.array([[0.1, -0.2, 0.3], [0.2, 0.1, -0.3], [0.5, 0.7, -0.2], [0.3, -0.4, 0.6]])
    motion = platform.motion(position, [0.0, 0.0, 0.0], *rates)._replace(rotation=turn)
    found = inverse_dynamics(platform.machine, motion, on_violation="report")
    legs = leg_geometry(machine, position, turn)
    assert [one.quantity for one in found.violations] == ["length", "speed", "force"]
    np.testing.assert_array_equal(found.jacobian, legs.jacobian)
    np.testing.assert_allclose(found.leg_velocities, legs.jacobian @ rates[:2].ravel(), rtol=1e-9, atol=1e-12)
    assert found.condition_number == condition_number(legs.jacobian)
    length = machine.characteristic_length
    assert found.scaled_condition_number == condition_number(legs.jacobian, length) != found.condition_number
    dynamic = found.actuator_forces - found.static_forces
    np.testing.assert_array_equal(found.dynamic_forces, dynamic)
    np.testing.assert_array_equal(found.dynamic_fraction, dynamic / found.actuator_forces)
    with warnings.catch_warnings(action="error"):
        none = replace(found, actuator_forces=np.zeros(6), static_forces=np.arange(6.0))
        assert np.isnan(none.dynamic_fraction[0]) and np.isneginf(none.dynamic_fraction[1:]).all()
    with pytest.raises(LimitError, match="length"):
        inverse_dynamics(platform.machine, motion)
    wrong = {
        **dict.fromkeys(("actuator_forces", "static_forces", "leg_lengths", "leg_velocities"), [1.0] * 6),
        **dict.fromkeys(
            ("leg_accelerations", "jacobian", "condition_number", "scaled_condition_number"), 3.0
        ),
        "violations": [],
        "reactions": None,
    }
    for name, value in wrong.items():
        with pytest.raises(TypeError, match=f"^{name} of an? InverseDynamics"):
            replace(found, **{name: value})
