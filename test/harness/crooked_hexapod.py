"""A hexapod with every point off, away from its home, and an envelope of references around it."""

from dataclasses import replace

import numpy as np
from motion_base import machine
from moving_reference import PACE
from platform_legs import legs_of_machine, replace_legs
from scipy.spatial.transform import Rotation

from robot_dynamics import stewart
from robot_dynamics.control.stewart.envelope import ReferenceEnvelope
from robot_dynamics.stewart.machine import LegLimits


def crooked_mapping():
    """File of a hexapod with every point off, whose home is turned."""
    draw = np.random.default_rng(2)
    mapping = machine(1.6, 1.2, [1.2, 2.0], 1.3, 1500.0, 15e3, 1.0, 60.0)
    for leg in mapping["legs"]:
        for point in ("base_point", "platform_point"):
            leg[point] = (np.array(leg[point]) + draw.uniform(-0.05, 0.05, 3)).tolist()
    mapping["home"]["orientation"] = Rotation.from_rotvec([0.1, -0.15, 0.2]).as_quat().tolist()
    mapping["home"]["position"] = [0.05, -0.03, 1.3]
    return mapping


CROOKED = stewart.load(crooked_mapping()).machine


def limited(condition=1e9, **limits):
    """The machine with these limits of all legs and no others; a mapping gives those of single legs."""
    each = {
        name: value if isinstance(value, dict) else dict.fromkeys(range(6), value)
        for name, value in limits.items()
    }
    own = [LegLimits(**{name: value[k] for name, value in each.items() if k in value}) for k in range(6)]
    return replace(replace_legs(CROOKED, limits=own), condition_limit=condition)


def legs_at(position, rotation):
    """Lengths (6,), directions (6, 3) and Jacobian (6, 6), by numpy."""
    lengths, jacobian = legs_of_machine(CROOKED, position, rotation)
    return lengths, jacobian[:, :3], jacobian


class Forces:
    """A model that gives these forces, or raises this error, and records its states."""

    def __init__(self, found=0.0):
        self.found, self.states = found, []

    def __call__(self, positions, quaternions, rotations, twists, accelerations):
        self.states.append((positions, quaternions, rotations, twists, accelerations))
        if isinstance(self.found, Exception):
            raise self.found
        return np.broadcast_to(self.found, (len(positions), 6))


def pace(**changes):
    return replace(PACE, **changes)


def envelope(forces=0.0, **limits):
    return ReferenceEnvelope(limited(**limits), forces if isinstance(forces, Forces) else Forces(forces))


PLACE = CROOKED.home_position + np.array([0.06, -0.04, 0.08])
ROTATION = (
    Rotation.from_rotvec([0.05, 0.1, -0.07]) * Rotation.from_matrix(CROOKED.home_rotation)
).as_matrix()
LENGTHS, ALONG, JACOBIAN = legs_at(PLACE, ROTATION)
"""Pose beside home, and the legs there."""
