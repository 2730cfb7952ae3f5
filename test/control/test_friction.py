"""Dry friction of the drives, on MuJoCo's arms, whose friction is a constraint and not a formula of ours."""

from functools import partial

import numpy as np
import pytest

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.waypoints import Waypoint
from robot_dynamics.resources import resource

pytest.importorskip("mujoco", reason="MuJoCo simulates the arms")
from robot_dynamics.simulation.arm import ArmPlant

PERIOD, DURATION, SETTLING = 0.002, 2.0, 1.0
MOVES = {"scara": [0.5, -0.6, 0.05, 0.8], "arm7": [0.4, 0.5, -0.3, 0.6, 0.4, -0.5, 0.7]}


def errors_of_a_move(name, noise=0.0, **drives):
    """Errors and efforts (N, n) of each cycle of a move from rest to rest, and of a second after it."""
    path = resource(f"urdf/{name}.urdf")
    chain = load_urdf(path)
    dynamics = compile_dynamics(chain, gravity=(0.0, 0.0, -9.81))
    arm = ActuatedArm(dynamics, chain, ActuatorParameters(**drives))
    control, plant = ArmController(chain, arm, ArmParameters()), ArmPlant(path)
    start = plant.rest_position()
    plant.reset(start)
    disturbed = partial(np.random.default_rng(0).normal, 0.0, noise, chain.dof)
    rows = []
    for cycle in range(round((DURATION + SETTLING) / PERIOD)):
        command = control.update(cycle * PERIOD, plant.position + disturbed(), plant.velocity)
        if cycle == 0:
            goal = [Waypoint(DURATION, (start + MOVES[name]).tolist())]
            control.follow(chain.joint_names, goal, None)
        rows.append((command.reference.position - plant.position, command.effort))
        plant.advance(PERIOD, command.effort)
    errors, efforts = (np.array(column) for column in zip(*rows, strict=True))
    return errors, efforts


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(MOVES))
def test_joints_that_friction_holds_break_away_at_once(name):
    errors, _ = errors_of_a_move(name)
    assert np.abs(errors).max() < 2e-3
    unknown, _ = errors_of_a_move(name, friction=(0.0,))
    assert np.abs(unknown).max() > 2e-2


def test_noise_at_rest_does_not_make_the_efforts_chatter():
    _, efforts = errors_of_a_move("scara", noise=1e-5)
    friction = [0.5, 0.3, 2.0, 0.02]
    still = efforts[-round(0.5 * SETTLING / PERIOD) :]
    assert (np.abs(np.diff(still, axis=0)).max(axis=0) < 0.3 * np.array(friction)).all()
