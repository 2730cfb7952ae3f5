"""One joint and its link in standard Denavit-Hartenberg frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.model.link_frame import LinkFrame
from robot_dynamics.spatial import Array, shift_inertia


@dataclass(frozen=True)
class StandardLink:
    """One joint and its link, the link's frame at the far end.

    T_{i-1}^i = Rz(theta) Trans(0, 0, d) Rx(alpha) Trans(a, y_shift, 0), theta or d moving; z_i is the axis of
    joint i+1.

    Attributes:
        joint: the joint, with its own theta and r (here called d).
        alpha, a, y_shift: twist [rad], length [m] and shift [m] towards the next axis; 0 for the last link.
        cos_alpha, sin_alpha: of alpha, exactly 0 or ±1 at multiples of pi/2.
        center_of_mass: (3,) rbar_i, in frame i [m]; zero for a massless link.
        inertia: (3, 3) I_i, about the center of mass, in the axes of frame i [kg·m²].
    """

    joint: LinkFrame
    alpha: float
    a: float
    y_shift: float
    cos_alpha: float
    sin_alpha: float
    center_of_mass: Array
    inertia: Array

    @classmethod
    def between(cls, link: LinkFrame, following: LinkFrame | None) -> StandardLink:
        """``link`` with its frame on the axis of ``following``; in its own frame when it is the last."""
        alpha, a, y, ca, sa = 0.0, 0.0, 0.0, 1.0, 0.0
        if following is not None:
            alpha, a, y = following.alpha, following.a, following.y_shift
            ca, sa = following.cos_alpha, following.sin_alpha
        rotation = np.array([[1.0, 0.0, 0.0], [0.0, ca, -sa], [0.0, sa, ca]])
        center = link.first_moment / link.mass if link.mass else np.zeros(3)
        central = rotation.T @ (link.inertia - shift_inertia(link.mass, center)) @ rotation
        rounding = 8.0 * np.finfo(float).eps * np.max(np.abs(link.inertia))
        return cls(
            joint=link,
            alpha=alpha,
            a=a,
            y_shift=y,
            cos_alpha=ca,
            sin_alpha=sa,
            center_of_mass=rotation.T @ center - np.array([a, y, 0.0]),
            inertia=np.where(np.abs(central) <= rounding, 0.0, central),
        )

    @property
    def mass(self) -> float:
        """[kg]."""
        return self.joint.mass

    @property
    def revolute(self) -> bool:
        """True for a revolute joint."""
        return self.joint.revolute
