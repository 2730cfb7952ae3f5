"""Friction that is declared and not there: measured faults of UR5, Panda and platforms against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from closed_loop import READY, ArmLoop, PlatformLoop
from motion_base import platform_mappings

from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.stewart.new_machine import Measures, machine_text

PANDA = (0.0, -0.6, 0.0, -2.0, 0.0, 1.6, 0.5)


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
