"""Coulomb friction, counterbalance springs and turning drives: energy, MuJoCo, and every way alike."""

import copy

import numpy as np
import pytest
import yaml
from stewart_oracles import FIRST, driven_oracle, random_motion, random_oracle, state

from robot_dynamics import stewart
from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.resources import resource
from robot_dynamics.stewart.actuators import passive_forces
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_of


def stored(oracle, motion, time):
    """Energy of the point masses, the springs and the turning parts [J]."""
    lengths = oracle.positions(motion(time + 0j))[2].real
    rates = oracle.rates(motion, time)[2]
    total = oracle.energy(motion, time)
    for leg, length, rate in zip(oracle.mapping["legs"], lengths, rates, strict=True):
        if drive := leg.get("drive"):
            spin = rate / drive["lead"] * 2.0 * np.pi
            total += 0.5 * drive["screw_inertia"] * spin**2
            total += 0.5 * drive["rotor_inertia"] * (drive["gear_ratio"] * spin) ** 2
        if spring := leg.get("spring"):
            stretch = length - spring["length"]
            total += 0.5 * spring["stiffness"] * stretch**2 - spring["force"] * stretch
    return total


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_actuators_power_is_what_is_stored_and_what_is_lost(seed):
    oracle, motion, time, h = driven_oracle(seed), random_motion(seed), 0.7, 0.01
    result = stewart.load(oracle.mapping).inverse_dynamics(*state(motion, time), on_violation="report")
    rates = oracle.rates(motion, time)[2]
    assert np.abs(rates).min() > 0.005
    dry = [leg["friction"].get("coulomb", 0.0) for leg in oracle.mapping["legs"]]
    growth = sum(
        weight * (stored(oracle, motion, time + i * h) - stored(oracle, motion, time - i * h)) / h
        for i, weight in enumerate(FIRST, start=1)
    )
    power = result.actuator_forces @ result.leg_velocities
    wanted = growth + oracle.losses(motion, time) + dry @ np.abs(rates)
    assert power == pytest.approx(wanted, abs=1e-7 * np.abs(result.actuator_forces * rates).max())


@pytest.mark.long
def test_the_generated_program_has_the_same_forces():
    platform = stewart.load(driven_oracle(0).mapping)
    motion = random_motion(0)
    times = np.linspace(0.0, 5.0, 50)
    moved = [np.array(part) for part in zip(*(state(motion, t) for t in times), strict=True)]
    # Legs at rest and legs so slow that dry friction is on its way through zero are among them.
    moved[2][:10] *= 0.01
    moved[3][:10] *= 0.01
    moved[2][0], moved[3][0] = 0.0, 0.0
    quaternions = quaternion_from_rotation(rotation_of(moved[1]))
    expected = platform.inverse_dynamics(*moved, on_violation="report").actuator_forces
    packed = stewart.pack(moved[0], quaternions, *moved[2:])
    got = platform.compile().actuator_forces(packed)
    np.testing.assert_allclose(got, expected, atol=2e-12 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(2))
def test_an_acceleration_that_the_forces_give_is_the_one_they_were_asked_for(seed):
    platform = stewart.load(driven_oracle(seed).mapping)
    moved = state(random_motion(seed), 0.3)
    result = platform.inverse_dynamics(*moved, on_violation="report")
    linear, angular = platform.forward_dynamics(*moved[:4], result.actuator_forces)
    np.testing.assert_allclose([linear, angular], moved[4:], atol=1e-9)


def test_a_leg_at_rest_is_held_by_its_spring_as_far_as_it_pushes():
    """Closed form: springs alone change the holding forces by what they push, and the static ones alike."""
    oracle = random_oracle(5)
    plain = stewart.load(oracle.mapping)
    mapping = copy.deepcopy(oracle.mapping)
    for leg in mapping["legs"]:
        leg["spring"] = {"length": 0.5, "force": 70.0, "stiffness": 200.0}
        leg["friction"]["coulomb"] = 30.0
        leg["drive"] = {"lead": 0.01, "screw_inertia": 1e-4}
    sprung = stewart.load(mapping)
    pose, rest = ([0.02, -0.03, 0.6], [0.05, -0.1, 0.1]), [np.zeros(3)] * 4
    without = plain.inverse_dynamics(*pose, *rest, on_violation="report")
    held = sprung.inverse_dynamics(*pose, *rest, on_violation="report")
    push = 70.0 - 200.0 * (without.leg_lengths - 0.5)
    np.testing.assert_allclose(held.actuator_forces, without.actuator_forces - push, atol=1e-9)
    np.testing.assert_allclose(held.static_forces, without.static_forces - push, atol=1e-9)
    for name in ("spherical_force", "prismatic_force", "universal_force", "universal_moment"):
        np.testing.assert_allclose(
            getattr(held.reactions, name), getattr(without.reactions, name), atol=1e-9, err_msg=name
        )


def test_the_simulated_machine_moves_as_the_library_says():
    """MuJoCo's armature, springs and dry friction against the integrated equations of motion."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    from robot_dynamics.simulation.stewart import StewartPlant

    mapping = yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))
    mapping["leg_defaults"]["drive"] = {"lead": 0.01, "screw_inertia": 3e-5}
    for leg, stiffness in zip(mapping["legs"], (0.0, 100.0, 300.0, 500.0, 700.0, 900.0), strict=True):
        leg["spring"] = {"length": 0.6, "force": 40.0, "stiffness": stiffness}
    mapping["leg_defaults"]["friction"]["coulomb"] = 25.0
    platform = stewart.load(mapping)
    home = platform.machine.home_position
    pushed = platform.inverse_dynamics(
        home, [0.0, 0.0, 0.0], [0.02, 0.01, 0.05], [0.0] * 3, [0.5, 0.3, 1.5], [0.5, -0.4, 0.3]
    ).actuator_forces
    _, states = platform.simulate(lambda time, state: pushed, 0.2)
    plant = StewartPlant(platform)
    plant.advance(0.2, pushed)
    position, _ = plant.platform_pose
    moved = np.linalg.norm(states[-1].position - home)
    # Dry friction is smooth in the library and a constraint in MuJoCo: they part in the first millisecond.
    assert np.linalg.norm(position - states[-1].position) < 2e-2 * moved
    assert moved > 0.01


@pytest.mark.long
@pytest.mark.parametrize("turning", [0.0, 5.0])
def test_the_law_overcomes_friction_at_the_twist_of_the_reference(turning):
    """Whatever is measured: the model without friction, and the friction of the reference's own motion."""
    efforts, frictions = {}, {"universal": turning, "prismatic": 90.0, "spherical": turning, "coulomb": 40.0}
    place = np.array([0.0, 0.0, 0.02])
    for rubs in (True, False):
        mapping = yaml.safe_load(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))
        none = dict.fromkeys(frictions, 0.0)
        mapping["leg_defaults"]["friction"] = frictions if rubs else none
        platform = stewart.load(mapping)
        control = StewartController(platform, StewartParameters(half_period_ahead=False))
        home, level = platform.machine.home_position, quaternion_from_rotation(platform.machine.home_rotation)
        control.update(0.0, platform.legs(home, level).lengths, np.zeros(6))
        control.follow([PoseWaypoint(1.0, home + place, level.tolist())])
        reference = control.reference(0.5)
        legs = platform.legs(reference.position, quaternion_from_rotation(reference.rotation))
        for rate in (0.0, 0.05):
            command = control.update(0.5, legs.lengths, legs.jacobian @ np.array([rate, 0, 0, 0, 0, 0]))
            efforts[rubs, rate] = command.unlimited
        if rubs:
            twist = np.concatenate([reference.linear_velocity, reference.angular_velocity])
            friction, _ = passive_forces(platform.machine, legs.lengths, legs.jacobian @ twist, np.zeros(6))
    for rate in (0.0, 0.05):
        added = efforts[True, rate] - efforts[False, rate]
        if turning == 0.0:
            np.testing.assert_allclose(added, friction, atol=1e-9)
        else:  # what the joints at the legs' ends add does not depend on the measured motion either
            np.testing.assert_allclose(
                added, efforts[True, 0.0] - efforts[False, 0.0], atol=1e-9 * np.abs(added).max()
            )
            assert np.abs(added - friction).max() > 0.1
