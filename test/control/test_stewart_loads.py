"""Saturation that keeps the wrench's direction, loads that are told, and loads that nobody told."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_base import desktop, lengths_at, motion_base

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.disturbance import DisturbanceObserver
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.payload import loaded
from robot_dynamics.control.stewart.saturation import saturated
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.stewart import StewartPlatform
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_vector

LOAD = RigidBody(
    300.0, np.array([0.3, -0.2, 0.8]), np.array([[40.0, 2.0, 1.0], [2.0, 50.0, -3.0], [1.0, -3.0, 30.0]])
)


@pytest.fixture(scope="module")
def base():
    return motion_base()


def test_a_brake_that_is_too_hard_stays_a_brake(base):
    """By the model's forward dynamics, which the law does not use."""
    random = np.random.default_rng(5)
    machine, limit = base.machine, base.machine.legs[0].limits.force
    cut = 0
    for _ in range(40):
        rotation = rotation_from_vector(random.uniform(-0.04, 0.04, 3))
        place = machine.home_position + random.uniform(-0.05, 0.05, 3)
        quaternion = quaternion_from_rotation(rotation)
        twist, wanted = random.uniform(-0.2, 0.2, 6), random.normal(size=6) * [15, 15, 15, 12, 12, 12]
        zero = np.zeros(3)
        asked = base.inverse_dynamics(
            place, quaternion, twist[:3], twist[3:], wanted[:3], wanted[3:], on_violation="report"
        ).actuator_forces
        bearing = base.inverse_dynamics(place, quaternion, twist[:3], twist[3:], zero, zero).actuator_forces
        given_ = saturated(asked, bearing, np.full(6, limit))
        assert np.abs(given_).max() <= limit
        reached = np.concatenate(base.forward_dynamics(place, quaternion, twist[:3], twist[3:], given_))
        share = float(reached @ wanted / (wanted @ wanted))
        np.testing.assert_allclose(reached, share * wanted, atol=1e-8)
        assert 0.0 < share <= 1.0 + 1e-12
        if share < 1.0 - 1e-9:
            cut += 1
            assert np.abs(given_).max() == pytest.approx(limit)  # no more could be given
    assert cut > 10


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(0, 10**6))
def test_saturation_never_passes_a_limit(seed):
    random = np.random.default_rng(seed)
    limits = random.uniform(0.1, 10.0, 6)
    limits[random.random(6) < 0.2] = np.inf
    forces, bearing = random.normal(size=(2, 6)) * 10.0 ** random.uniform(-3, 3, (2, 6))
    if seed % 7 == 0:
        bearing[seed % 6] = np.nan
    found = saturated(forces, bearing, limits)
    assert (np.abs(found) <= limits).all()
    if (np.abs(forces) <= limits).all():
        np.testing.assert_array_equal(found, forces)


def test_the_controller_brakes_as_it_can(base):
    control = StewartController(
        base, StewartParameters(kp=(1500.0,), half_period_ahead=False, max_effort_step=2.0)
    )
    control.update(0.0, lengths_at(base), np.zeros(6))
    aside = lengths_at(base, (0.02, 0.0, -0.004))
    command = control.update(0.002, aside, np.zeros(6))
    assert command.saturated.any()
    pose = control.pose
    reached = np.concatenate(
        base.forward_dynamics(pose.position, pose.quaternion, *np.zeros((2, 3)), command.effort)
    )
    assert reached[0] < -5.0
    assert reached[2] == pytest.approx(reached[0] * -0.2, rel=1e-3)
    np.testing.assert_allclose(reached[[1, 3, 4, 5]], 0.0, atol=1e-4)


def test_a_payload_acts_as_if_the_file_counted_it_in(base):
    random = np.random.default_rng(1)
    heavier = StewartPlatform(loaded(base.machine, LOAD))
    carrying, exact = (
        StewartController(one, StewartParameters(model_change_time=0.0, ki=500.0)) for one in (base, heavier)
    )
    carrying.change_payload(LOAD)
    for k in range(30):
        lengths = lengths_at(base, random.uniform(-0.002, 0.002, 3), random.uniform(-0.002, 0.002, 3))
        rates = random.uniform(-0.1, 0.1, 6)
        forces = [one.update(0.004 * k, lengths, rates).effort for one in (carrying, exact)]
        np.testing.assert_allclose(*forces, rtol=1e-9, atol=1e-7)
    for one in (carrying, exact):
        one.lost_states()
    np.testing.assert_allclose(carrying.safe_command(0.0).effort, exact.safe_command(0.0).effort, rtol=1e-9)


@pytest.mark.parametrize(("make", "load"), [(motion_base, 1.0), (desktop, 0.002)])
def test_an_unknown_load_is_carried_within_two_seconds(make, load):
    """300 kg on 1500 kg sag by 4.6 mm without the observer; simulated by MuJoCo."""
    pytest.importorskip("mujoco", reason="MuJoCo simulates the platform")
    from robot_dynamics.simulation.parameters import PlantParameters
    from robot_dynamics.simulation.stewart import StewartPlant

    platform = make()
    arm = LOAD.center_of_mass * platform.machine.characteristic_length / 1.2
    body = RigidBody(
        load * 300.0, arm, LOAD.inertia * load * (platform.machine.characteristic_length / 1.2) ** 2
    )
    truth = StewartPlatform(loaded(platform.machine, body))
    sag = {}
    for ki in (0.0, 1000.0):
        plant = StewartPlant(truth, PlantParameters(physics_timestep=0.001))
        control = StewartController(platform, StewartParameters(ki=ki))
        for _ in range(500):
            command = control.update(plant.time, plant.position, plant.velocity)
            plant.advance(0.004, command.effort)
        sag[ki] = float(np.linalg.norm(plant.platform_pose[0] - platform.machine.home_position))
    assert 3e-3 < sag[0.0] < 8e-3
    assert sag[1000.0] < 1e-4


def test_the_observer_keeps_to_its_bound_and_rests_while_forces_are_cut():
    observer = DisturbanceObserver(1000.0, (2.0, 4.0))
    error = np.array([0.3, 0.4, 0.0, 0.0, 0.0, -1.0])
    for k in range(200):
        estimate = observer.update(0.01 * k, error)
    np.testing.assert_allclose(estimate, [1.2, 1.6, 0.0, 0.0, 0.0, -4.0])
    observer.frozen = True
    np.testing.assert_array_equal(observer.update(2.0, -error), estimate)
    assert np.abs(observer.update(2.01, -error) - estimate).max() > 0.1
    before = observer.estimate
    np.testing.assert_array_equal(observer.update(2.01, error), before)  # the same state again
    np.testing.assert_array_equal(observer.update(9.0, error), before)  # after a gap
    off = DisturbanceObserver(0.0, (2.0, 4.0))
    off.like(observer)
    assert not off.estimate.any()


def test_the_estimate_outlives_a_change_of_gains(base):
    control = StewartController(
        base, StewartParameters(ki=1000.0, half_period_ahead=False, model_change_time=0.0)
    )
    low = lengths_at(base, (0.0, 0.0, -0.002))
    control.update(0.0, lengths_at(base), np.zeros(6))
    for k in range(1, 50):
        effort = control.update(0.004 * k, low, np.zeros(6)).effort
    control.parameters = replace(control.parameters, ki=900.0)
    after = control.update(0.2, low, np.zeros(6)).effort
    np.testing.assert_allclose(after, effort, rtol=0.01)
    assert np.abs(after - StewartController(base).update(0.0, low, np.zeros(6)).effort).max() > 50.0
