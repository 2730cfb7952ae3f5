"""The way from home down to the park pose, as it is gone where nothing is known of the platform."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.stewart.conductor import Conductor
from robot_dynamics.control.stewart.envelope import Forces
from robot_dynamics.control.stewart.governor import Reference
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.pieces import along
from robot_dynamics.control.stewart.trajectory import PoseTrajectory
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine

WAYS = (
    "park_pose",
    "blind_speed",
    "max_acceleration",
    "max_angular_acceleration",
    "governed_share",
    "safe_output",
)
"""Parameters that make another way."""
STEP = (0.005, 0.1)
"""Between two steps of the governor at least and at most: the shorter they are, the shorter is the end of the
way [s]."""
STEPS = 600
"""Into which the way is divided, unless they are shorter or longer than that."""
PATIENCE = (3.0, 2.0)
"""A way that takes longer than so often its shortest time, and a while [s], ends where it has come to."""


def descent(machine: Machine, forces: Forces, parameters: StewartParameters) -> PoseTrajectory:
    """From home, at time 0 and at rest, to the park pose with legs as fast as without states.

    Args:
        machine: the platform.
        forces: the model with all that the platform carries.
        parameters: of the controller.
    """
    home = Reference(0.0, machine.home_position, machine.home_rotation, np.zeros(6), np.zeros(6))
    conductor = Conductor(machine, forces, parameters)
    motion, park = conductor.blind(0.0, home), conductor.park_pose
    lengths = [leg_geometry(machine, place.position, place.rotation).lengths for place in (home, park)]
    strokes = np.array([leg.limits.longest - leg.limits.shortest for leg in machine.legs])
    ways = np.minimum(np.abs(lengths[1] - lengths[0]), strokes)  # a park pose may be out of reach
    shortest = float((ways / np.minimum(conductor.pace.leg_speed, parameters.blind_speed)).max())
    step = min(max(STEP[0], shortest / STEPS), STEP[1])
    references, time = [], 0.0
    while motion.end > time and time < PATIENCE[0] * shortest + PATIENCE[1]:
        references.append(motion.governor.reference)
        time += step
        motion.advance(time)
    last = motion.governor.reference
    return along([*references, Reference(time, last.position, last.rotation, np.zeros(6), np.zeros(6))])
