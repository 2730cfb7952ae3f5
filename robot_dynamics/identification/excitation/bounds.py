"""Bounds of an exciting motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

EFFORT_SHARE = 0.6
"""Of the effort limits: the rest is for what the description does not know, such as a payload."""
SPEED_SHARE = 0.8
"""Of the velocity limits."""
MARGIN = 0.05
"""Distance of a joint from each position limit [rad or m], at most a tenth of its range."""
BRISKEST = {JointKind.REVOLUTE: 4.0, JointKind.PRISMATIC: 1.0}
"""Greatest acceleration of any joint [rad/s² or m/s²]."""
FASTEST = {JointKind.REVOLUTE: 3.0, JointKind.PRISMATIC: 0.5}
"""Greatest speed of any joint [rad/s or m/s]."""
FARTHEST = {JointKind.REVOLUTE: np.pi / 2.0, JointKind.PRISMATIC: 0.5}
"""Largest distance from zero of a joint without limits [rad or m]."""


@dataclass(frozen=True)
class Bounds:
    """Bounds of all joints, (n,) each.

    Attributes:
        lower, upper: of the positions [rad or m].
        velocity: [rad/s or m/s].
        acceleration: [rad/s² or m/s²].
        effort: [N·m or N], infinite where the description has none.
        clearance: least distance of shapes from each other and from the floor [m].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    clearance: float = field(default=0.03)

    @classmethod
    def of(
        cls,
        chain: KinematicChain,
        ranges: Mapping[str, tuple[float, float]],
        effort_share: float = EFFORT_SHARE,
        clearance: float = 0.03,
    ) -> Bounds:
        """Those of a description, narrowed by ``ranges`` of some joints [rad or m].

        Raises:
            ParameterError: a range of a joint that is not there, or outside its limits or empty; a share
                above EFFORT_SHARE.
        """
        if not 0.0 < effort_share <= EFFORT_SHARE:
            raise ParameterError(f"{effort_share:g} of the effort limits; at most {EFFORT_SHARE:g} are used")
        unknown = sorted(set(ranges) - set(chain.joint_names))
        if unknown:
            known = ", ".join(chain.joint_names)
            raise ParameterError(f"--range {unknown[0]}: no such joint; there are {known}")
        joints = [chain.driving_joint(j) for j in range(chain.dof)]
        places = np.array(
            [
                _range(joint.name, joint.kind, (joint.limits.lower, joint.limits.upper), ranges)
                for joint in joints
            ]
        )
        speed = [SPEED_SHARE * joint.limits.velocity for joint in joints]
        return cls(
            lower=places[:, 0],
            upper=places[:, 1],
            velocity=np.minimum(speed, [FASTEST[joint.kind] for joint in joints]),
            acceleration=np.array([BRISKEST[joint.kind] for joint in joints]),
            effort=effort_share * np.array([joint.limits.effort for joint in joints]),
            clearance=clearance,
        )


def _range(
    name: str, kind: JointKind, limits: tuple[float, float], ranges: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    low, high = limits
    if name in ranges:
        begin, end = ranges[name]
        if not low - 1e-9 <= begin < end <= high + 1e-9:
            raise ParameterError(
                f"--range {name}={begin:g}:{end:g}: must be inside the limits {low:g} to {high:g}"
            )
        return begin, end
    if not np.isfinite(low) or not np.isfinite(high) or high - low > 4.0 * FARTHEST[kind]:
        middle = 0.0 if not np.isfinite(low + high) else 0.5 * (low + high)
        far = FARTHEST[kind]
        return max(low + MARGIN, middle - far), min(high - MARGIN, middle + far)
    margin = min(MARGIN, 0.1 * (high - low))
    return low + margin, high - margin
