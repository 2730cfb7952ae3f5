"""Friction that is declared and not there: measured faults of UR5, Panda and platforms against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from closed_loop import READY, ArmLoop, PlatformLoop
from motion_base import platform_mappings

from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.stewart.new_machine import Measures, machine_text

BUILDS_UP = {
    "friction": (12.0, 12.0, 8.0, 2.0, 2.0, 2.0), "damping": (5.0, 5.0, 3.0, 0.5, 0.5, 0.5),
    "rotor_inertia": (0.3,),
    "presliding_friction": (6.0, 6.0, 4.0, 1.0, 1.0, 1.0), "presliding_travel": (0.02,),
}  # fmt: skip
PANDA = (0.0, -0.6, 0.0, -2.0, 0.0, 1.6, 0.5)
PUMA = (0.0, -0.7, 0.5, 0.3, 0.4, 0.2)


@pytest.mark.parametrize(("robot", "start", "damping"), [("ur5", READY, 0.5), ("panda", PANDA, 0.2)])
def test_damping_that_is_not_there_drives_nothing(robot, start, damping):
    """A 0.3 rad move ran away at 3.1 and 3.2 times the velocity limit."""
    loop = ArmLoop(robot, start, declared={"damping": (damping,)})
    loop.step()
    loop.go(np.add(start, 0.3), 2.0)
    loop.run(4.0)
    assert loop.share < 0.3
    assert np.abs(loop.velocities[-1]).max() < 1e-3


@pytest.mark.parametrize("period", [0.002, 0.008])
def test_a_stop_takes_no_friction_that_is_not_there_for_a_load(period):
    """A PUMA's last joint, without a rotor, was thrown at 2.7 and 41 times its limit by its first stop."""
    loop = ArmLoop("puma", PUMA, declared={"damping": (0.3,)}, period=period)
    loop.step()
    loop.go(np.subtract(PUMA, 0.3), 1.5)
    loop.run(2.0)
    assert loop.trip.rule == "following_error" and loop.share < 0.5
    assert np.abs(loop.velocities[-1]).max() < 0.01


@pytest.mark.parametrize("period", [0.002, 0.008])
def test_friction_that_is_declared_three_times_drives_no_joint_beyond_its_limit(period):
    """A move at the velocity limit reached 1.13 of it."""
    real = np.array((10.0, 10.0, 6.0, 2.0, 2.0, 2.0))
    given = [{"friction": k * real, "damping": 0.5 * k * real, "rotor_inertia": (0.3,)} for k in (3.0, 1.0)]
    loop = ArmLoop("ur5", READY, declared=given[0], real=given[1], period=period)
    loop.step()
    loop.go(np.add(READY, (1.5, 0.0, 0.0, 0.0, 0.0, -1.5)), 0.9)
    loop.run(1.5)
    assert 0.95 < loop.share < 1.05
    assert loop.trip is None


def test_friction_that_is_declared_three_times_drives_no_leg_beyond_its_limit():
    """A find of the sweep ``operators``: legs of a small platform reached 1.05 of their limit in a stream."""
    real = platform_mappings()["platform_2_kg"]
    friction = real["leg_defaults"]["friction"]
    declared = {**real["leg_defaults"], "friction": {name: 3.0 * one for name, one in friction.items()}}
    loop = PlatformLoop({**real, "leg_defaults": declared}, real=real)
    home = loop.platform.machine.home_position
    loop.run(0.1)
    loop.control.follow([PoseWaypoint(0.262, home + np.array([0.0, 0.0, 0.03]), [0.0, 0.0, 0.0, 1.0])])
    loop.run(0.5)
    assert 0.9 < loop.share < 1.04


def test_friction_that_a_light_joint_has_shown_is_overcome_at_once_after_each_reversal():
    """A wrist without rotor inertia at 125 Hz stood still for most of each move."""
    probe = ArmLoop("puma", None)
    effort = 0.01 * np.array([limit.effort for limit in probe.plant.limits])
    drives = {"friction": tuple(effort), "damping": tuple(effort / probe.limits)}
    loop = ArmLoop("puma", None, declared=drives, real=drives, period=0.008)
    loop.step()
    home = loop.plant.position.copy()
    for k in range(8):
        loop.go(home + (-1) ** k * 0.4 * np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]), 1.0)
        loop.run(1.12)
    position, _, _, reference = np.moveaxis(np.array(loop.history[-140:]), 1, 0)
    assert np.abs(position - reference)[:, 5].max() < 0.1
    assert loop.trip is None


def test_a_light_joint_creeps_along_a_slow_trajectory_in_spite_of_its_friction():
    """Slower than a stream's noise nothing was compensated: the last joint stood still."""
    drives = {"friction": (6.0, 8.0, 4.0, 0.6, 0.6, 0.4)}
    loop = ArmLoop("puma", PUMA, declared=drives, real=drives)
    loop.run(0.1)
    loop.go(np.add(PUMA, (0.0, 0.0, 0.0, 0.0, 0.0, 0.06)), 12.0)
    loop.run(12.0)
    lag = np.abs(np.subtract(loop.references, loop.positions))[:, 5].max()
    assert lag < 0.01
    assert loop.trip is None


def test_coulomb_friction_that_is_not_there_does_not_hunt_at_rest():
    """A UR5 at rest swung at 0.23 of its velocity limit."""
    loop = ArmLoop("ur5", READY, declared={"friction": (3.0,)})
    loop.plant.reset(READY, 1e-3 * np.ones(6))
    loop.run(1.5)
    assert np.abs(loop.velocities[400:]).max() < 2e-3


@pytest.mark.parametrize("real", [0.5, 0.2])
def test_a_new_machine_whose_friction_is_less_than_its_guess_is_moved(real):
    """A hexapod of `stewart new` ran at 13.7 and 20 times its legs' speed limit."""
    text = machine_text(Measures("hexapod", 0.15, 0.1, 0.05))
    mapping = yaml.safe_load(text)
    assert mapping["guessed"] == ["friction", "masses"]
    friction = mapping["leg_defaults"]["friction"]
    friction |= {name: real * friction[name] for name in ("prismatic", "coulomb")}
    loop = PlatformLoop(text, real=mapping)
    home = loop.platform.machine.home_position
    loop.step()
    loop.control.follow([PoseWaypoint(2.0, home + np.array([0.0, 0.0, 0.01]), [0.0, 0.0, 0.0, 1.0])])
    loop.run(3.0)
    assert loop.share < 0.3
    assert np.abs(loop.velocities[-1]).max() < 1e-3
    # Guessed masses are compensated: with the guess right, the feedback carries next to nothing.
    assert np.abs(loop.positions[0] - loop.positions[3]).max() < 1e-5


@pytest.mark.long
@pytest.mark.parametrize(("real", "fastest"), [(0.0, 0.75), (0.5, 0.55), (1.0, 0.5), (2.0, 0.55)])
def test_a_new_machine_that_loses_its_states_is_not_lifted_whatever_its_friction_is(real, fastest):
    """A platform of `stewart new` rose by 0.25 m to its upper stops, and fell from there with 1.1 m/s."""
    text = machine_text(Measures("motion_base", 1.6, 1.2, 0.4, payload=1500.0, force=15e3, speed=1.0))
    mapping = yaml.safe_load(text)
    friction = mapping["leg_defaults"]["friction"]
    friction |= {name: real * friction[name] for name in ("prismatic", "coulomb")}
    loop = PlatformLoop(text, real=mapping, supervision="observe")
    loop.run(0.5)
    height, plant = loop.plant.platform_pose[0][2], loop.plant
    plant.advance(0.1, loop.history[-1][2])
    loop.control.lost_states(0.1)
    lost, speeds, heights = plant.time, [], []
    while plant.time < lost + 2.5:
        plant.advance(loop.period, loop.control.safe_command(plant.time - lost).effort)
        heights.append(plant.platform_pose[0][2])
        speeds.append(np.abs(plant.velocity).max())
    assert max(heights) < height + 1e-3
    assert heights[-1] < height - 0.2 and speeds[-1] < 1e-3
    assert max(speeds) < fastest


def there_and_back(declared, **parameters):
    """A UR5 whose friction builds up after reversals, there and back twice, and at rest."""
    loop = ArmLoop("ur5", READY, declared=declared, real=BUILDS_UP, **parameters)
    loop.run(0.05)
    for target in (0.2, 0.0, 0.2, 0.0):
        loop.go(np.add(READY, target), 0.6)
        loop.run(0.6)
    loop.run(1.0)
    return loop


@pytest.mark.long
def test_friction_that_builds_up_after_a_reversal_is_followed():
    """The model with it leaves a small part of the error; efforts do not step, and the arm rests."""
    plain = {name: row for name, row in BUILDS_UP.items() if not name.startswith("presliding")}
    errors, steps = [], []
    for declared in (BUILDS_UP, plain):
        loop = there_and_back(declared, kp=(100.0,), kv=(20.0,), ki=-1.0)
        assert loop.trip is None
        errors.append(np.sqrt(np.mean((loop.references - loop.positions)[300:-500] ** 2, axis=0)))
        steps.append(np.abs(np.diff(loop.efforts[300:], axis=0)).max(axis=0))
        assert np.abs(loop.velocities[-1]).max() < 1e-3
    assert (errors[0] < 0.15 * errors[1]).all()
    assert (steps[0] < 1.2 * steps[1]).all()


def test_the_state_of_presliding_follows_the_reference_alone():
    """Efforts of the reference are those of the model and of Dahl's law, which begins anew after a gap."""
    control = ArmLoop("ur5", READY, declared=BUILDS_UP, mode="feedforward").control
    control.update(0.0, np.array(READY), np.zeros(6))
    friction, travel = np.array(BUILDS_UP["presliding_friction"]), BUILDS_UP["presliding_travel"][0]
    position, velocity, last = np.array(READY), np.zeros(6), np.array(READY)
    slid, time, seen = np.zeros(6), 0.0, 0.0  # efforts beside those of Coulomb friction
    for target in (0.2, 0.0, None, 0.2):
        if target is None:
            control.lost_states()
            time += 0.3
        else:
            control.follow(control.chain.joint_names, [Waypoint(0.5, tuple(np.add(READY, target)))])
        for cycle in range(300):
            time += 0.002
            command = control.update(time, position, velocity)
            if target is None and cycle == 0:
                slid = np.zeros(6)
            q, qd, qdd = (
                getattr(command.reference, name) for name in ("position", "velocity", "acceleration")
            )
            heading = qd  # of a trajectory, in which no velocity is noise
            end = np.sign(q - last)
            moved = end + (slid - end) * np.exp(-np.abs(q - last) / travel)
            slid, last = np.where(heading != 0.0, moved, slid), q
            along = np.clip(heading / 0.005, -1.0, 1.0)
            along = 0.5 * along * (3.0 - along**2)
            rigid = control.dynamics.inverse_dynamics(q, qd, qdd, heading)
            wanted = rigid + friction * (np.abs(along) * slid - along)
            np.testing.assert_allclose(command.unlimited, wanted, atol=1e-9)
            seen = max(seen, np.abs(friction * (np.abs(along) * slid - along)).max())
            position, velocity = q, qd
    assert seen > 10.0
