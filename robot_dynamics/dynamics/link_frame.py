"""One joint with its link, in modified and in standard Denavit-Hartenberg frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.model.chain import JointKind
from robot_dynamics.spatial import Array


def _exact(value: float) -> float:
    """A sine or cosine with the rounding of multiples of pi/2 removed."""
    nearest = float(np.round(value))
    return nearest if abs(value - nearest) < 1e-15 else value


@dataclass(frozen=True)
class LinkFrame:
    """One moving joint, the frame on its axis, and the inertial parameters of the link that it moves.

    Attributes:
        name: of the joint.
        kind: revolute or prismatic.
        alpha: angle from z_{i-1} to z_i about x_{i-1} [rad].
        a: distance from z_{i-1} to z_i along x_{i-1} [m].
        b: shift along the y axis of frame i-1 turned by alpha [m]; zero in plain modified DH.
        r: constant distance along z_i [m]; 0 for a prismatic joint.
        theta: constant angle about z_i [rad]; 0 for a revolute joint.
        coordinate: index of the coordinate in ``q`` that moves this joint.
        multiplier: the moving theta or r is ``multiplier * q[coordinate] + offset``.
        offset: see ``multiplier`` [rad or m].
        mass: [kg].
        first_moment: (3,) mass times center of mass [kg·m], in frame i.
        inertia: (3, 3) about the origin of frame i, in its axes [kg·m²].
    """

    name: str
    kind: JointKind
    alpha: float
    a: float
    b: float
    r: float
    theta: float
    coordinate: int
    multiplier: float
    offset: float
    mass: float
    first_moment: Array
    inertia: Array

    @property
    def revolute(self) -> bool:
        """True for a revolute joint."""
        return self.kind is JointKind.REVOLUTE

    @property
    def cos_alpha(self) -> float:
        """cos(alpha), exactly 0 or ±1 at multiples of pi/2."""
        return _exact(float(np.cos(self.alpha)))

    @property
    def sin_alpha(self) -> float:
        """sin(alpha), exactly 0 or ±1 at multiples of pi/2."""
        return _exact(float(np.sin(self.alpha)))

    def joint_variable(self, q: ArrayLike) -> float:
        """The moving theta [rad] or r [m] at coordinates ``q`` (n,)."""
        return float(self.multiplier * np.asarray(q)[self.coordinate] + self.offset)

    def transform(self, q: ArrayLike) -> Array:
        """(4, 4) pose of frame i in frame i-1 at coordinates ``q`` (n,)."""
        variable = self.joint_variable(q)
        theta, r = (variable, self.r) if self.revolute else (self.theta, variable)
        c, s = _exact(float(np.cos(theta))), _exact(float(np.sin(theta)))
        ca, sa = self.cos_alpha, self.sin_alpha
        return np.array(
            [
                [c, -s, 0.0, self.a],
                [ca * s, ca * c, -sa, ca * self.b - sa * r],
                [sa * s, sa * c, ca, sa * self.b + ca * r],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )


@dataclass(frozen=True)
class StandardLink:
    """One joint and its link in standard Denavit-Hartenberg frames (frame at the link's far end).

    T_{i-1}^i = Rz(theta) Trans(0, 0, d) Rx(alpha) Trans(a, b, 0), theta or d moving as in `LinkFrame`; z_i is
    the axis of joint i+1.

    Attributes:
        name, kind, coordinate, multiplier, offset: as in `LinkFrame`.
        theta: constant angle about z_{i-1} [rad]; 0 for a revolute joint.
        d: constant distance along z_{i-1} [m]; 0 for a prismatic joint.
        alpha, a, b: twist [rad], length [m] and shift [m] towards the next axis; 0 for the last link.
        mass: [kg].
        center_of_mass: (3,) rbar_i, in frame i [m]; zero for a massless link.
        inertia: (3, 3) I_i, about the center of mass, in the axes of frame i [kg·m²].
    """

    name: str
    kind: JointKind
    theta: float
    d: float
    alpha: float
    a: float
    b: float
    coordinate: int
    multiplier: float
    offset: float
    mass: float
    center_of_mass: Array
    inertia: Array

    @property
    def revolute(self) -> bool:
        """True for a revolute joint."""
        return self.kind is JointKind.REVOLUTE

    @property
    def cos_alpha(self) -> float:
        """cos(alpha), exactly 0 or ±1 at multiples of pi/2."""
        return _exact(float(np.cos(self.alpha)))

    @property
    def sin_alpha(self) -> float:
        """sin(alpha), exactly 0 or ±1 at multiples of pi/2."""
        return _exact(float(np.sin(self.alpha)))
