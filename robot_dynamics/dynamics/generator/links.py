"""The robot as the generator sees it: numbers only, every link's mass distribution as one 4x4 matrix.

The pseudo-inertia of a link about the origin of its frame gathers all ten inertial parameters,

    P = integral of [r; 1] [r; 1]^T dm = [[J, s], [s^T, m]],      J = (tr I / 2) 1 - I,

with inertia tensor I, first moment s and mass m. A change of frame is P -> T P T^T, so what may be exchanged
between neighbouring links is read off its entries (see :mod:`.regrouping`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.model.link_frame import JointFrame, LinkFrame
from robot_dynamics.spatial import Array, second_moments, wrapped_angle

# Axes with a smaller sine between them count as pointing one way or opposite ways.
_NEARLY_PARALLEL = 1e-3


@dataclass(frozen=True)
class GeneratorLink(JointFrame):
    """A joint's frame and its link.

    Attributes:
        pseudo: (4, 4) pseudo-inertia about the origin of the frame.
        noise: (4, 4) magnitude of what was summed into ``pseudo``, times the rounding unit.
        spin: further inertia that only resists the angular acceleration about z_i [kg·m²].
    """

    pseudo: Array
    noise: Array
    spin: float = 0.0

    @property
    def parallel(self) -> bool:
        """True where the joint's axis is parallel to the axis before, and points the same way."""
        return self.cos_alpha == 1.0 and self.sin_alpha == 0.0 and self.gamma == 0.0

    @property
    def quarter_turn(self) -> bool:
        """True where alpha and gamma are multiples of pi/2 (a minute angle has cosine 1 but a sine)."""
        return self.cos_alpha * self.sin_alpha == 0.0 and self.cos_gamma * self.sin_gamma == 0.0

    def with_pseudo(self, pseudo: Array, noise: Array) -> GeneratorLink:
        """The link with another mass distribution; entries within its rounding noise become zero."""
        return replace(self, pseudo=np.where(np.abs(pseudo) <= noise, 0.0, pseudo), noise=noise)


def pseudo_inertia(mass: float, first_moment: Array, inertia: Array) -> Array:
    """(4, 4) pseudo-inertia from mass, first moment (3,) and inertia (3, 3) about the same origin."""
    pseudo = np.zeros((4, 4))
    pseudo[:3, :3] = second_moments(inertia)
    pseudo[:3, 3] = pseudo[3, :3] = first_moment
    pseudo[3, 3] = mass
    return pseudo


def links_of(model: SerialModel) -> tuple[GeneratorLink, ...]:
    """The links of a model whose first frame has alpha = a = y_shift = 0."""
    unit = 4.0 * float(np.finfo(float).eps)
    links = []
    for frame in model.links:
        pseudo = pseudo_inertia(frame.mass, frame.first_moment, frame.inertia)
        noise = np.full((4, 4), unit * float(np.max(np.abs(pseudo[:3, :3]), initial=0.0)))
        noise[:3, 3] = noise[3, :3] = unit * float(np.max(np.abs(frame.first_moment)))
        noise[3, 3] = 0.0
        links.append(
            GeneratorLink(**frame.joint_fields(), pseudo=pseudo, noise=noise).with_pseudo(pseudo, noise)
        )
    return tuple(links)


def axes_made_parallel(model: SerialModel) -> SerialModel:
    """The same arm with every axis turned round that points against the one before.

    Joints about parallel axes that point the same way form a run, which costs less than its joints one by
    one. The frame of a turned axis is turned by pi about x: y and z change sign, and with them the joint's
    own motion, the shift across and the constants along and about the axis.
    """
    links: list[LinkFrame] = []
    turned: list[bool] = []
    for link in model.links:
        before = link.parent >= 0 and turned[link.parent]
        opposite = link.cos_alpha < 0.0 and abs(link.sin_alpha) < _NEARLY_PARALLEL
        turned.append(before != opposite)
        sign = -1.0 if turned[-1] else 1.0
        turn = np.diag([1.0, sign, sign])
        links.append(
            replace(
                link,
                gamma=-link.gamma if before else link.gamma,
                alpha=wrapped_angle(link.alpha + np.pi) if opposite else link.alpha,
                y_shift=sign * link.y_shift,
                r=sign * link.r,
                theta=sign * link.theta,
                multiplier=sign * link.multiplier,
                offset=sign * link.offset,
                first_moment=turn @ link.first_moment,
                inertia=turn @ link.inertia @ turn,
            )
        )
    about_x = np.diag([1.0, -1.0, -1.0, 1.0])
    tips = [about_x @ pose if turned[link] else pose for link, pose in model.tips]
    poses = tuple(
        about_x @ pose if turn else pose for pose, turn in zip(model.link_poses, turned, strict=False)
    )
    return replace(model, links=tuple(links), tip=tips[0], other_tips=tuple(tips[1:]), link_poses=poses)


def parallel_runs(links: Sequence[GeneratorLink], joined: Sequence[bool] = ()) -> list[list[int]]:
    """Indices of the links, in maximal runs of joints whose z axes are parallel.

    Only the last link of a run carries links of other runs.

    Args:
        links: of the robot.
        joined: whether each may continue a run; all by default.
    """
    children = [0] * len(links)
    for link in links:
        if link.parent >= 0:
            children[link.parent] += 1
    runs: list[list[int]] = []
    for index, link in enumerate(links):
        goes_on = bool(runs) and runs[-1][-1] == link.parent and children[link.parent] == 1
        if goes_on and link.parallel and (not joined or joined[index]):
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def leaves(links: Sequence[GeneratorLink]) -> tuple[int, ...]:
    """Indices of the links that carry no other."""
    carrying = {link.parent for link in links}
    return tuple(index for index in range(len(links)) if index not in carrying)
