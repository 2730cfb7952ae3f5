"""The robot as the generator sees it: numbers only, every link's mass distribution as one 4x4 matrix.

The pseudo-inertia of a link about the origin of its frame gathers all ten inertial parameters,

    P = integral of [r; 1] [r; 1]^T dm = [[J, s], [s^T, m]],      J = (tr I / 2) 1 - I,

with inertia tensor I, first moment s and mass m. A change of frame is P -> T P T^T, so what may be exchanged
between neighbouring links is read off its entries (see :mod:`.regrouping`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class Link:
    """A joint and its link: T_{i-1,i} = Rx(alpha) Trans(a, b, r) Rz(theta).

    Attributes:
        cos_alpha, sin_alpha: of the angle between the axes of joints i-1 and i.
        a, b, r: distances [m]; r is 0 for a prismatic joint.
        theta: constant angle about z_i of a prismatic joint [rad]; 0 for a revolute joint.
        revolute: whether the joint turns.
        coordinate, multiplier, offset: joint variable = multiplier * q[coordinate] + offset.
        pseudo: (4, 4) pseudo-inertia about the origin of frame i.
        noise: (4, 4) magnitude of what was summed into ``pseudo``, times the rounding unit.
        spin: further inertia that only resists the angular acceleration about z_i [kg·m²].
    """

    cos_alpha: float
    sin_alpha: float
    a: float
    b: float
    r: float
    theta: float
    revolute: bool
    coordinate: int
    multiplier: float
    offset: float
    pseudo: Array
    noise: Array
    spin: float = 0.0

    @property
    def parallel(self) -> bool:
        """Whether the joint's axis is parallel to the axis before, and points the same way."""
        return self.cos_alpha == 1.0 and self.sin_alpha == 0.0

    @property
    def quarter_turn(self) -> bool:
        """Whether alpha is a multiple of pi/2 (a minute angle has cosine 1 but a sine)."""
        return self.cos_alpha * self.sin_alpha == 0.0

    def transform(self) -> Array:
        """(4, 4) pose of frame i in frame i-1 with the moving angle or distance at zero.

        The constant angle of a prismatic joint is included.
        """
        c, s = exact_cosine(self.theta), exact_cosine(self.theta - np.pi / 2.0)
        ca, sa = self.cos_alpha, self.sin_alpha
        return np.array(
            [
                [c, -s, 0.0, self.a],
                [ca * s, ca * c, -sa, ca * self.b - sa * self.r],
                [sa * s, sa * c, ca, sa * self.b + ca * self.r],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )

    def with_pseudo(self, pseudo: Array, noise: Array) -> Link:
        """The link with another mass distribution; entries within its rounding noise become zero."""
        return replace(self, pseudo=np.where(np.abs(pseudo) <= noise, 0.0, pseudo), noise=noise)


def exact_cosine(angle: float) -> float:
    """Cosine, exactly 0 or ±1 within rounding of multiples of pi/2."""
    value = float(np.cos(angle))
    nearest = round(value)
    return float(nearest) if abs(value - nearest) < 1e-15 else value


def pseudo_inertia(mass: float, first_moment: Array, inertia: Array) -> Array:
    """(4, 4) pseudo-inertia from mass, first moment (3,) and inertia (3, 3) about the same origin."""
    pseudo = np.zeros((4, 4))
    pseudo[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    pseudo[:3, 3] = pseudo[3, :3] = first_moment
    pseudo[3, 3] = mass
    return pseudo


def links_of(model: SerialModel) -> tuple[Link, ...]:
    """The links of a model whose first frame has alpha = a = b = 0."""
    unit = 4.0 * float(np.finfo(float).eps)
    links = []
    for frame in model.links:
        pseudo = pseudo_inertia(frame.mass, frame.first_moment, frame.inertia)
        noise = np.full((4, 4), unit * float(np.max(np.abs(pseudo[:3, :3]), initial=0.0)))
        noise[:3, 3] = noise[3, :3] = unit * float(np.max(np.abs(frame.first_moment)))
        noise[3, 3] = 0.0
        links.append(
            Link(
                cos_alpha=frame.cos_alpha,
                sin_alpha=frame.sin_alpha,
                a=frame.a,
                b=frame.b,
                r=frame.r,
                theta=frame.theta,
                revolute=frame.revolute,
                coordinate=frame.coordinate,
                multiplier=frame.multiplier,
                offset=frame.offset,
                pseudo=np.zeros((4, 4)),
                noise=noise,
            ).with_pseudo(pseudo, noise)
        )
    return tuple(links)


def parallel_runs(links: tuple[Link, ...]) -> list[list[int]]:
    """Indices of the links, in maximal runs of joints whose z axes are parallel."""
    runs: list[list[int]] = []
    for index, link in enumerate(links):
        if index and link.parallel:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs
