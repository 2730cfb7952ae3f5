"""Encoders of continuous joints that begin anew after a turn, against MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics import load_urdf
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.protocol import Phase
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.simulation.arm import ArmPlant
from robot_dynamics.simulation.parameters import PlantParameters

pytest.importorskip("mujoco", reason="MuJoCo simulates the arm")

TURNING = """<robot name="turning"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.3"/><mass value="3"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.05"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.2 0 0.1"/><mass value="2"/>
    <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.02"/></inertial></link>
  <joint name="lift" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit effort="150" velocity="3"/></joint>
  <joint name="spin" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0 0 0.6"/>
    <axis xyz="1 0 0"/><limit effort="80" velocity="4"/></joint></robot>"""
PERIOD = 0.002


def wrapped(q):
    """Angles as an encoder has them that begins anew at ±π."""
    return (q + np.pi) % (2.0 * np.pi) - np.pi


def test_a_wrapping_encoder_is_no_jump_in_motion_nor_at_rest():
    """It counted as a jump at every turn, for ever: what was followed was dropped."""
    chain = load_urdf(TURNING)
    plant = ArmPlant(chain, parameters=PlantParameters(physics_timestep=0.001))
    control = ArmController(chain, parameters=ArmParameters())
    plant.reset([3.0, -3.0])
    draw, time, errors = np.random.default_rng(2), 0.0, []

    def run(duration, noise=0.0):
        nonlocal time
        for _ in range(round(duration / PERIOD)):
            seen = wrapped(plant.position + noise * draw.normal(size=2))
            command = control.update(time, seen, plant.velocity)
            assert control.discontinuity == "" and command.phase.controls
            errors.append(wrapped(command.reference.position - plant.position))
            plant.advance(PERIOD, command.effort)
            time += PERIOD

    run(0.1)
    # Both joints pass ±π, one of them three times.
    control.follow(chain.joint_names, [Waypoint(1.0, (3.4, -3.4)), Waypoint(8.0, (3.6, -18.0))])
    run(8.2)
    assert control.trip is None and control.phase is Phase.HOLDING
    np.testing.assert_allclose(wrapped(plant.position - np.array([3.6, -18.0])), 0.0, atol=1e-3)
    # At rest on the seam, with noise that goes from one side to the other.
    control.follow(chain.joint_names, [Waypoint(1.5, (np.pi, -5.0 * np.pi))])
    run(2.0)
    run(0.5, noise=1e-4)
    assert control.trip is None and control.phase is Phase.HOLDING
    assert np.abs(errors).max() < 5e-3
    # Only a jump that is no turn is one.
    control.update(time, wrapped(plant.position + 2.0), plant.velocity)
    assert control.discontinuity.startswith("a joint jumped by 2.0")
