"""A frame on a joint's axis, and the link that it belongs to.

From a frame to the next:

    T_{i-1,i} = Rz(gamma_i) Rx(alpha_i) Trans(a_i, y_i, r_i) Rz(theta_i)

where theta_i (revolute) or r_i (prismatic) moves. With y = 0 these are the modified Denavit-Hartenberg
parameters of Craig and of Khalil & Kleinfinger, "A new geometric notation for open and closed-loop robots",
ICRA 1986. gamma is theirs, too: it leads to the further joints of a link that carries several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.inputs.records import a, check_fields, index, number, numbers, text
from robot_dynamics.model.chain import JointKind
from robot_dynamics.spatial import Array

# What is further from an integer than this is no rounded sine or cosine of a multiple of pi/2.
_ROUNDED = 1e-15


def exact_cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin of ``angle`` [rad], exactly 0 or ±1 at multiples of pi/2."""
    return _exact(math.cos(angle)), _exact(math.sin(angle))


def _exact(value: float) -> float:
    nearest = float(round(value))
    return nearest if abs(value - nearest) < _ROUNDED else value


@dataclass(frozen=True)
class JointFrame:
    """One moving joint and the frame on its axis.

    Attributes:
        name: of the joint.
        kind: revolute or prismatic.
        parent: index of the link that the joint moves against; -1 for the fixed frame 0.
        alpha: angle from z_{i-1} to z_i about x_{i-1} [rad].
        a: distance from z_{i-1} to z_i along x_{i-1} [m].
        y_shift: distance from origin i-1 along the y axis of frame i-1 turned by alpha [m]; zero in plain
            modified Denavit-Hartenberg parameters.
        r: constant distance along z_i [m]; 0 for a prismatic joint.
        theta: constant angle about z_i [rad]; 0 for a revolute joint.
        coordinate: index of the coordinate in ``q`` that moves this joint.
        multiplier: the moving theta or r is ``multiplier * q[coordinate] + offset``.
        offset: see ``multiplier`` [rad or m].
        gamma: angle about z_{i-1} from the axes of frame i-1 to those that alpha and a refer to [rad]; zero
            in a serial chain.
    """

    name: str
    kind: JointKind
    parent: int
    alpha: float
    a: float
    y_shift: float
    r: float
    theta: float
    coordinate: int
    multiplier: float
    offset: float
    gamma: float = field(default=0.0, kw_only=True)

    @property
    def revolute(self) -> bool:
        """True for a revolute joint."""
        return self.kind is JointKind.REVOLUTE

    @cached_property
    def cos_alpha(self) -> float:
        """cos(alpha), exactly 0 or ±1 at multiples of pi/2."""
        return exact_cos_sin(self.alpha)[0]

    @cached_property
    def sin_alpha(self) -> float:
        """sin(alpha), exactly 0 or ±1 at multiples of pi/2."""
        return exact_cos_sin(self.alpha)[1]

    @cached_property
    def cos_gamma(self) -> float:
        """cos(gamma), exactly 0 or ±1 at multiples of pi/2."""
        return exact_cos_sin(self.gamma)[0]

    @cached_property
    def sin_gamma(self) -> float:
        """sin(gamma), exactly 0 or ±1 at multiples of pi/2."""
        return exact_cos_sin(self.gamma)[1]

    def joint_variable(self, q: ArrayLike) -> float:
        """The moving theta [rad] or r [m] at coordinates ``q`` (n,)."""
        return float(self.multiplier * np.asarray(q)[self.coordinate] + self.offset)

    def transform(self, q: ArrayLike) -> Array:
        """(4, 4) pose of the frame in its parent's frame at coordinates ``q`` (n,)."""
        return self.pose_at(self.joint_variable(q))

    def pose_at(self, variable: float) -> Array:
        """(4, 4) pose of the frame in its parent's frame with the moving theta or r at ``variable``."""
        theta, r = (variable, self.r) if self.revolute else (self.theta, variable)
        return self._pose(exact_cos_sin(theta), r)

    def before_joint(self) -> Array:
        """(4, 4) Rz(gamma) Rx(alpha) Trans(a, y_shift, 0): what comes before the joint's own theta and r."""
        return self._pose((1.0, 0.0), 0.0)

    def _pose(self, cos_sin_theta: tuple[float, float], r: float) -> Array:
        c, s = cos_sin_theta
        ca, sa = self.cos_alpha, self.sin_alpha
        pose = np.array(
            [
                [c, -s, 0.0, self.a],
                [ca * s, ca * c, -sa, ca * self.y_shift - sa * r],
                [sa * s, sa * c, ca, sa * self.y_shift + ca * r],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        if self.gamma:
            cg, sg = self.cos_gamma, self.sin_gamma
            pose[:2] = cg * pose[0] - sg * pose[1], sg * pose[0] + cg * pose[1]
        return pose

    def joint_fields(self) -> dict[str, Any]:
        """The attributes of the joint and its frame alone: what another kind of link is made from."""
        return {field.name: getattr(self, field.name) for field in fields(JointFrame)}


_LINK = {
    "name": text,
    "kind": a(JointKind),
    "parent": index,
    "gamma": number,
    "alpha": number,
    "a": number,
    "y_shift": number,
    "r": number,
    "theta": number,
    "coordinate": index,
    "multiplier": number,
    "offset": number,
    "mass": number,
    "first_moment": numbers(3),
    "inertia": numbers(3, 3),
}


@dataclass(frozen=True)
class LinkFrame(JointFrame):
    """A joint's frame with the inertial parameters of the link that the joint moves.

    Attributes:
        mass: [kg].
        first_moment: (3,) mass times center of mass [kg·m], in the frame.
        inertia: (3, 3) about the frame's origin, in its axes [kg·m²].
    """

    mass: float
    first_moment: Array
    inertia: Array

    def __post_init__(self) -> None:
        check_fields(self, _LINK)
