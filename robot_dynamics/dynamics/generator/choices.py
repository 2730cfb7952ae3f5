"""Choices per link that change the number of operations, but not the result."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace

from robot_dynamics.dynamics.generator.links import GeneratorLink, leaves, parallel_runs


class Frame(enum.Enum):
    """Frame in which the moment of a link is evaluated."""

    OWN = "the link's own frame: constant inertia, turned accelerations"
    ENTRY = "the frame at the entry of the run of parallel axes: turned inertia, accelerations as they are"


class PointMass(enum.Enum):
    """Mass on the axis of joint i that is kept with link i to make link i-1 simpler."""

    NONE = "none: the mass of link i goes to link i-1"
    CLEARS_X = "so much that the first moment of link i-1 along x vanishes"
    CLEARS_Y = "so much that the first moment of link i-1 along y vanishes"


class Isotropic(enum.Enum):
    """Part k of the in-plane inertia k (xx + yy) that becomes plain axle inertia (second run of axes)."""

    NONE = "nothing"
    XX = "k = J_xx"
    YY = "k = J_yy"
    MEAN = "k = (J_xx + J_yy) / 2"


class Turn(enum.Enum):
    """Rotation of the last link's frame about its axis."""

    NONE = "as given"
    FIRST_MOMENT = "first moment along x"
    PRODUCTS = "no product of inertia yz"
    PRINCIPAL = "no product of inertia xy"


@dataclass(frozen=True)
class LinkChoice:
    """Choices for one link.

    Attributes:
        frame: where its moment is evaluated.
        point_mass: mass kept on its axis.
        isotropic: in-plane inertia moved to the axles.
        column: take b's third column from the previous link (else b from angular accelerations).
        square_x: squares of omega_x and omega_z, else of omega_y and omega_z.
        difference_of_squares: b_yy - b_xx from squares, else from b_yy and b_xx.
        joined: continue the run of parallel axes, else start again from the previous link.
        turn: of the frame about its axis (last link).
    """

    frame: Frame = Frame.OWN
    point_mass: PointMass = PointMass.NONE
    isotropic: Isotropic = Isotropic.NONE
    column: bool = True
    square_x: bool = True
    difference_of_squares: bool = False
    joined: bool = True
    turn: Turn = Turn.NONE


@dataclass(frozen=True)
class Choices:
    """Choices for a robot.

    Attributes:
        links: one entry per link.
        forward_length: unit of length of the accelerations [m].
        backward_length: unit of length of the forces [m].
        composed_angles: sines and cosines of sums of angles by products, not by further sines and cosines.
    """

    links: tuple[LinkChoice, ...]
    forward_length: float = 1.0
    backward_length: float = 1.0
    composed_angles: bool = False

    def as_given(self, tied: Iterable[int]) -> Choices:
        """These choices with the frames of ``tied`` links left as they are, as something is given in them."""
        made = self
        for index in tied:
            made = made.with_link(index, replace(made.links[index], turn=Turn.NONE))
        return made

    def of(self, links: Iterable[int]) -> Choices:
        """The choices of some links alone."""
        return replace(self, links=tuple(self.links[index] for index in links))

    def with_link(self, index: int, choice: LinkChoice) -> Choices:
        """These choices with another one for link ``index``."""
        return replace(self, links=(*self.links[:index], choice, *self.links[index + 1 :]))

    def with_links(self, indices: Iterable[int], name: str, value: object) -> Choices:
        """These choices with another ``value`` of a field for each of several links."""
        made = self
        for index in indices:
            made = made.with_link(index, replace(made.links[index], **{name: value}))  # type: ignore[arg-type]
        return made


def default_choices(links: tuple[GeneratorLink, ...]) -> Choices:
    """Choices that are good without any search.

    A link from whose frame no later run starts is best left in the entry frame; summed angles pay while the
    angular velocity at the entry has few components, that is in the first two runs.
    """
    runs = parallel_runs(links)
    chosen = [LinkChoice()] * len(links)
    ends = set(leaves(links))
    # Of every link: the runs with a revolute joint on the way to it, its own included.
    turnings = {-1: 0}
    for run in runs:
        turning = turnings[links[run[0]].parent]
        for index in run:
            leaf = index != run[-1] or index in ends
            sparse = turning <= 1
            quarter = links[run[0]].quarter_turn
            chosen[index] = LinkChoice(
                frame=Frame.ENTRY if leaf and quarter and links[index].revolute else Frame.OWN,
                column=quarter,
                isotropic=Isotropic.YY if turning == 1 else Isotropic.NONE,
                joined=sparse or not links[index].revolute,
            )
        turnings[run[-1]] = turning + any(links[index].revolute for index in run)
    return Choices(tuple(chosen))
