"""Descent of a 1500 kg platform after its states are lost: speeds of legs at their stops, by MuJoCo.

    PYTHONPATH=test/harness python test/drills/loss_of_states.py --moving 0.2 --unknown 75

It loses its states at random places within 0.06 m and 0.08 rad of home, nearer while it moves, and the loss
is noticed a tenth of a second late. No brakes engage.
"""

from __future__ import annotations

import argparse

import numpy as np
from motion_base import lengths_at, motion_base

from robot_dynamics.control.stewart.controller import StewartController
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.platform_model import loaded
from robot_dynamics.control.stewart.trajectory import PoseWaypoint
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.simulation.parameters import PlantParameters
from robot_dynamics.simulation.stewart import StewartPlant
from robot_dynamics.stewart import StewartPlatform

PERIOD = 0.004
NOTICED = 0.1
"""After the last state [s]."""
LONGEST = 6.0
AT_A_STOP = 1e-3
"""Nearer to the end of its stroke than this, a leg is at its stop [m]."""


def lost(platform, truth, seed, arguments):
    """Greatest leg speed at a stop [m/s], and whether an upper stop was met."""
    random = np.random.default_rng(seed)
    shift, turn = random.uniform(-0.06, 0.06, 3), random.uniform(-0.08, 0.08, 3)
    velocity = random.normal(size=3)
    velocity *= arguments.moving / np.linalg.norm(velocity)
    if arguments.moving:
        shift, turn = 0.6 * shift, 0.6 * turn
    limits = np.array([[leg.limits.shortest, leg.limits.longest] for leg in platform.machine.legs])
    plant = StewartPlant(truth, PlantParameters(physics_timestep=0.001))
    plant.reset(lengths_at(platform, tuple(shift - 0.5 * velocity), tuple(turn)))
    control = StewartController(
        platform,
        StewartParameters(
            safe_output=arguments.safe_output,
            blind_speed=arguments.speed,
            ki=1000.0 if arguments.unknown else -1.0,
        ),
    )

    def cycle(since=None):
        if since is None:
            command = control.update(plant.time, plant.position, plant.velocity)
        else:
            command = control.safe_command(since)
        plant.advance(PERIOD, command.effort)
        return command

    command = cycle()
    if arguments.moving:
        level, there = list(control.pose.quaternion), platform.machine.home_position + shift
        control.follow(
            [
                PoseWaypoint(1.0, there, level, linear_velocity=list(velocity)),
                PoseWaypoint(2.0, there + 0.5 * velocity, level),
            ]
        )
    while plant.time < 1.0 + bool(arguments.unknown):
        command = cycle()
    plant.advance(NOTICED, command.effort)
    control.lost_states(NOTICED)
    began, fastest, above = plant.time, 0.0, False
    while plant.time < began + LONGEST:
        cycle(plant.time - began)
        near = np.abs(plant.position[:, None] - limits) < AT_A_STOP
        fastest = max(fastest, float((np.abs(plant.velocity) * near.any(axis=1)).max()))
        above = above or bool(near[:, 1].any())
        if near[:, 0].all() and np.abs(plant.velocity).max() < 1e-3:
            break
    return fastest, above


def main():
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--moving", type=float, default=0.0, help="speed when the states stop [m/s]")
    parser.add_argument("--unknown", type=float, default=0.0, help="load that the model does not know [kg]")
    parser.add_argument("--speed", type=float, default=StewartParameters().blind_speed, help="blind_speed")
    parser.add_argument("--safe-output", default="settle", choices=("settle", "gravity_fade", "zero"))
    arguments = parser.parse_args()
    platform = truth = motion_base()
    if arguments.unknown:
        load = RigidBody(arguments.unknown, np.array([0.05, 0.03, 0.3]), np.zeros((3, 3)))
        truth = StewartPlatform(loaded(platform.machine, load))
    found = [lost(platform, truth, seed, arguments) for seed in range(arguments.count)]
    speeds = [speed for speed, _ in found]
    print("at the stops [m/s]: " + " ".join(f"{speed:.2f}{' (above)' if up else ''}" for speed, up in found))
    print(f"greatest {max(speeds):.2f}, median {np.median(speeds):.2f}")


if __name__ == "__main__":
    main()
