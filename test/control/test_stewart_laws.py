"""The platform's laws look half a control period ahead, and feel the wrench: against the exact model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics import stewart
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.resources import resource
from robot_dynamics.stewart.machine import JointFriction
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
)

PERIOD = 0.01
KP, KV = (90.0, 100.0, 110.0, 120.0, 130.0, 140.0), (11.0, 12.0, 13.0, 14.0, 15.0, 16.0)
FORCE, TORQUE = [12.0, -7.0, 40.0], [1.0, -2.0, 1.5]


@pytest.fixture(scope="module")
def platform():
    return stewart.load(resource("config/stewart_demo.yaml"))


def tracking(platform, wrench=False, **parameters):
    """A controller on its way for half a second, at states a little beside its path."""
    control = StewartController(platform, StewartParameters(kp=KP, kv=KV, wrench_fade_time=0.0, **parameters))
    home, level = platform.machine.home_position, [0.0, 0.0, 0.0, 1.0]
    turned = quaternion_from_rotation(rotation_from_vector(np.array([0.06, -0.04, 0.1]))).tolist()
    control.update(0.0, platform.legs(home, level).lengths, np.zeros(6))
    control.follow([PoseWaypoint(1.0, home + np.array([0.02, -0.015, 0.03]), turned)], None)
    for k in range(1, 51):
        if wrench:
            control.set_wrench(FORCE, TORQUE)
        motion = control.reference(k * PERIOD)
        place = motion.position + np.array([0.002, 0.001, -0.0015])
        rotation = rotation_from_vector(np.array([0.003, -0.002, 0.004])) @ motion.rotation
        legs = platform.legs(place, quaternion_from_rotation(rotation))
        twist = np.concatenate([motion.linear_velocity, motion.angular_velocity]) + 0.01
        command = control.update(k * PERIOD, legs.lengths, legs.jacobian @ twist)
    return control, command, (place, rotation, twist)


def expected_force(platform, place, rotation, twist, acceleration, wrench):
    load = {"force": FORCE, "torque": TORQUE} if wrench else {}
    return platform.inverse_dynamics(
        place,
        quaternion_from_rotation(rotation),
        twist[:3],
        twist[3:],
        acceleration[:3],
        acceleration[3:],
        **load,
    ).actuator_forces


@pytest.mark.parametrize("wrench", [False, True])
@pytest.mark.parametrize(
    ("parameters", "half"),
    [
        ({"half_period_ahead": False}, 0.0),
        ({}, 0.5 * PERIOD),
        ({"control_period": 0.03}, 0.015),
        ({"half_period_ahead": False, "control_period": 0.03}, 0.0),
    ],
)
def test_computed_force_is_that_of_the_middle_of_the_period(platform, parameters, half, wrench):
    control, command, (place, rotation, twist) = tracking(platform, wrench, ki=-1.0, **parameters)
    now, ahead = control.reference(0.5), control.reference(0.5 + half)
    # To first order in the small deviation, which is what tells one error of orientation from another.
    error = np.concatenate([now.position - place, -np.array([0.003, -0.002, 0.004])])
    rate = np.concatenate([now.linear_velocity, now.angular_velocity]) - twist
    wanted = np.concatenate([ahead.linear_acceleration, ahead.angular_acceleration])
    acceleration = wanted + np.array(KV) * rate + np.array(KP) * error
    step = half * twist + 0.5 * half**2 * acceleration
    middle = rotation_from_vector(step[3:]) @ rotation
    legs = [replace(leg, friction=JointFriction(0.0, 0.0, 0.0)) for leg in platform.machine.legs]
    smooth, rest = stewart.StewartPlatform(replace(platform.machine, legs=tuple(legs))), np.zeros(6)
    there = place + step[:3], middle
    expected = expected_force(smooth, *there, twist + half * acceleration, acceleration, wrench)
    # Friction is overcome at the velocity of the reference, not at the measured one.
    led = np.concatenate([ahead.linear_velocity, ahead.angular_velocity])
    with_friction, without = (expected_force(one, *there, led, rest, False) for one in (platform, smooth))
    np.testing.assert_allclose(command.effort, expected + with_friction - without, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("ahead", "half"), [(False, 0.0), (True, 0.5 * PERIOD)])
def test_feedforward_is_the_references_force_in_the_middle_of_the_period(platform, ahead, half):
    control, command, _ = tracking(platform, mode="feedforward", half_period_ahead=ahead)
    motion = control.reference(0.5 + half)
    twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
    acceleration = np.concatenate([motion.linear_acceleration, motion.angular_acceleration])
    expected = expected_force(platform, motion.position, motion.rotation, twist, acceleration, False)
    np.testing.assert_allclose(command.effort, expected, rtol=1e-9, atol=1e-9)
    assert np.abs(twist).max() > 0.05, "the reference moves"


def test_a_wrench_lasts_as_long_as_it_may_and_safe_outputs_carry_it(platform):
    home, level = platform.machine.home_position, [0.0, 0.0, 0.0, 1.0]
    lengths, rest = platform.legs(home, level).lengths, np.zeros(6)
    control = StewartController(platform, StewartParameters(wrench_timeout=0.125, wrench_fade_time=0.0))
    free = expected_force(platform, home, np.eye(3), rest, rest, False)
    loaded = expected_force(platform, home, np.eye(3), rest, rest, True)
    control.set_wrench(FORCE, TORQUE)  # before any state: it has no time, and does not count
    np.testing.assert_allclose(control.update(0.0, lengths, rest).effort, free, rtol=1e-6)
    control.set_wrench(FORCE, TORQUE)
    for time, force in ((0.0625, loaded), (0.125, loaded), (0.15625, free)):
        np.testing.assert_allclose(control.update(time, lengths, rest).effort, force, rtol=1e-6)
    control.set_wrench(FORCE, TORQUE)
    control.update(0.25, lengths, rest)
    control.lost_states()
    np.testing.assert_allclose(control.safe_command(0.0).effort, loaded, rtol=1e-6)


def test_forces_are_limited_so_that_the_wrench_keeps_its_direction(platform):
    control = StewartController(platform, StewartParameters(kp=(3500.0,), max_effort_step=2.0))
    home, level, rest = platform.machine.home_position, [0.0, 0.0, 0.0, 1.0], np.zeros(6)
    control.update(0.0, platform.legs(home, level).lengths, rest)
    aside = platform.legs(home + np.array([0.02, 0.0, 0.0]), level).lengths
    command = control.update(0.002, aside, rest)
    limits = [leg.limits.force for leg in platform.machine.legs]
    assert (np.abs(command.unlimited) > limits).any()
    assert np.abs(command.effort).max() == pytest.approx(limits[0])
    zero = np.zeros(3)
    standing = platform.inverse_dynamics(
        home + np.array([0.02, 0.0, 0.0]), level, zero, zero, zero, zero
    ).actuator_forces
    step, cut = command.unlimited - standing, command.effort - standing
    np.testing.assert_allclose(cut, step * (cut @ step) / (step @ step), rtol=1e-3, atol=0.5)


@pytest.mark.long
@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.integers(0, 10_000))
def test_zero_lengths_only_shift_what_the_joints_say(seed):
    platform = stewart.load(resource("config/stewart_demo.yaml"))
    random = np.random.default_rng(seed)
    zero, place = random.uniform(0.3, 0.6, 6), platform.machine.home_position + random.uniform(-0.02, 0.02, 3)
    rotation = rotation_from_vector(random.uniform(-0.05, 0.05, 3))
    legs = platform.legs(place, quaternion_from_rotation(rotation))
    shifted = StewartController(platform, StewartParameters(), zero)
    shifted.update(0.0, legs.lengths - zero, np.zeros(6))
    np.testing.assert_allclose(shifted.lengths, legs.lengths, atol=1e-12)
    np.testing.assert_allclose(shifted.pose.position, place, atol=1e-7)
    np.testing.assert_allclose(rotation_from_quaternion(shifted.pose.quaternion), rotation, atol=1e-7)
