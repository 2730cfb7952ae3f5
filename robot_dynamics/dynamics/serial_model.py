"""A chain or tree in frames whose z axis is the joint axis, with its inertial parameters in those frames.

Every formulation, the generator of customised models and their tests start from this model. Its frames are
those of `robot_dynamics.model.frames`, so a Denavit-Hartenberg table of the same chain shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ConversionError, ParameterError, of_wrong_type, quoted
from robot_dynamics.inputs.arrays import (
    joint_vector,
    listed,
    pose_matrix,
    real_array,
    real_number,
    real_vector,
)
from robot_dynamics.inputs.records import MOST_ENTRIES, a, check_fields, index, numbers, several, text
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.model.frames import TOLERANCE, place_frames, residual
from robot_dynamics.model.link_frame import LinkFrame
from robot_dynamics.spatial import Array, shift_inertia

__all__ = ["LinkFrame", "SerialModel", "StandardLink"]

# What is this close to 0 in the pose of a link's own frame, or in the direction of gravity, is rounding of
# frames, as a share of their tolerance. The cosine of an angle that is too large for it is much closer to 1.
_NEARLY_ZERO, _NEARLY_ROUND = 1e-2, 1e-13
_NUMBERS = ("a", "r", "theta", "y_shift", "mass")
_MODEL = {
    "links": several(a(LinkFrame), least=1),
    "coordinate_names": several(text, least=1),
    "base": numbers(4, 4),
    "tip": numbers(4, 4),
    "gravity": numbers(3),
    "link_poses": several(numbers(4, 4)),
    "tip_links": several(index),
    "other_tips": several(numbers(4, 4)),
}


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


@dataclass(frozen=True)
class SerialModel:
    """A serial arm, or a tree of links, as link frames.

    Attributes:
        links: one per moving joint, each behind the one that carries it.
        coordinate_names: names of the entries of ``q``.
        base: (4, 4) pose of frame 0 in the root frame.
        tip: (4, 4) pose of the tip frame in the frame of the link that carries it; the first of several.
        gravity: (3,) acceleration of free fall, in frame 0 [m/s²].
        link_poses: (4, 4) pose of every link's own frame, the joint frame of URDF, in its frame here; where
            empty the two are one.
        tip_links: index of the link that carries each tip; where empty the last link carries the only one.
        other_tips: (4, 4) pose of every further tip's frame in the frame of its link.
    """

    links: tuple[LinkFrame, ...]
    coordinate_names: tuple[str, ...]
    base: Array
    tip: Array
    gravity: Array
    link_poses: tuple[Array, ...] = ()
    tip_links: tuple[int, ...] = ()
    other_tips: tuple[Array, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, _MODEL, ParameterError)
        if len(self.link_poses) not in (0, len(self.links)):
            raise ParameterError(f"link_poses has {len(self.link_poses)} poses for {len(self.links)} links")
        for position, link in enumerate(self.links):
            if not -1 <= link.parent < position or not 0 <= link.coordinate < self.dof:
                raise ParameterError(
                    f"link {position + 1} has parent {quoted(link.parent)} and coordinate"
                    f" {quoted(link.coordinate)}; the parent is a link before it, or -1, and coordinate_names"
                    f" has {self.dof}"
                )

        if len(self.tips) != 1 + len(self.other_tips):
            raise ParameterError(
                f"tip_links has {len(self.tip_links)} entries for {1 + len(self.other_tips)} tips"
            )
        for carrier in self.tip_links:
            if not 0 <= carrier < len(self.links):
                raise ParameterError(f"tip_links has {quoted(carrier)}; there are {len(self.links)} links")

    def __repr__(self) -> str:
        return f"<SerialModel of {self.dof} joints: {', '.join(self.coordinate_names)}>"

    @property
    def dof(self) -> int:
        """Number of coordinates (independent joints)."""
        return len(self.coordinate_names)

    @property
    def tips(self) -> tuple[tuple[int, Array], ...]:
        """The link that carries each tip, and the pose (4, 4) of the tip's frame in that link's."""
        links = self.tip_links or (len(self.links) - 1,)
        return tuple(zip(links, (self.tip, *self.other_tips), strict=False))

    @property
    def serial(self) -> bool:
        """True where every link carries the next, and the last one the only tip."""
        last = len(self.links) - 1
        parents = [link.parent for link in self.links]
        return parents == list(range(-1, last)) and [link for link, _ in self.tips] == [last]

    @classmethod
    def from_chain(
        cls,
        chain: KinematicChain,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        tolerance: float = TOLERANCE,
    ) -> SerialModel:
        """The model of a chain in the frames that are placed on its joint axes.

        Args:
            chain: the chain; every moving joint between root and tip.
            gravity: (3,) acceleration of free fall in the root frame [m/s²].
            tolerance: how far the tip may move by making angles and lengths round [m or 1], so that a
                description's 1.57079632679 means pi/2; lengths in units of the arm's where it exceeds 1 m.

        Raises:
            ParameterError: no moving joint, or a tolerance that is not positive.
            ConversionError: the frames do not reproduce the chain's forward kinematics.
        """
        tolerance = real_number("tolerance", tolerance, ParameterError)
        placed = place_frames(chain, tolerance)
        fall = placed.base[:3, :3].T @ _vector(gravity, "gravity")
        model = cls(
            links=placed.links,
            coordinate_names=chain.coordinate_names,
            base=placed.base,
            tip=placed.tips[0],
            tip_links=() if chain.serial else tuple(tip.joint for tip in chain.tips),
            other_tips=placed.tips[1:],
            gravity=np.where(np.abs(fall) <= _NEARLY_ZERO * tolerance * np.max(np.abs(fall)), 0.0, fall),
        )
        model = replace(model, link_poses=_link_poses(chain, model, tolerance))
        missed, limit = residual(chain, model.tip_poses), tolerance * max(1.0, placed.reach)
        if not missed <= limit:
            raise ConversionError(
                f"link frames of the chain {chain.ends} miss its forward kinematics by"
                f" {missed:.1e} (limit {limit:.0e} for an arm of {placed.reach:.3g} m)"
            )
        return model

    @classmethod
    def from_dh(
        cls,
        alpha: Sequence[float],
        a: Sequence[float],
        r: Sequence[float],
        mass: Sequence[float],
        first_moment: Sequence[ArrayLike],
        inertia: Sequence[ArrayLike],
        *,
        theta: Sequence[float] | None = None,
        y_shift: Sequence[float] | None = None,
        prismatic: Sequence[bool] | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        base: ArrayLike | None = None,
        tip: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> SerialModel:
        """A textbook arm from its modified DH parameters.

        Args:
            alpha, a, r, theta: (n,) modified DH parameters alpha_{i-1}, a_{i-1}, r_i, theta_i [rad, m]; that
                of the moving one (theta of a revolute, r of a prismatic joint) is the offset added to q.
            mass: (n,) [kg].
            first_moment: (n, 3) mass times center of mass, in frame i [kg·m].
            inertia: (n, 3, 3), or (n, 6) as XX, XY, XZ, YY, YZ, ZZ, about the origin of frame i [kg·m²].
            y_shift: (n,) see `JointFrame` [m]; zero by default.
            prismatic: (n,) True where the joint slides; all revolute by default.
            gravity: (3,) in frame 0 [m/s²].
            base: (4, 4) pose of frame 0 in the root frame; identity by default.
            tip: (4, 4) pose of the tip in frame n; identity by default.
            names: joint names; ``joint_1`` ... by default.

        Raises:
            ParameterError: lists of different lengths, or values that are not finite.
        """
        n = len(_entries("alpha", alpha))
        given: dict[str, Any] = {
            "a": a,
            "r": r,
            "theta": [0.0] * n if theta is None else theta,
            "y_shift": [0.0] * n if y_shift is None else y_shift,
            "mass": mass,
            "first_moment": first_moment,
            "inertia": inertia,
            "prismatic": [False] * n if prismatic is None else prismatic,
            "names": [f"joint_{i + 1}" for i in range(n)] if names is None else names,
        }
        columns: dict[str, Any] = {key: _entries(key, column) for key, column in given.items()}
        lengths = {key: len(column) for key, column in columns.items()}
        wrong = {key: length for key, length in lengths.items() if length != n}
        if wrong or n == 0:
            raise ParameterError(f"alpha has {n} entries, but {wrong}; every joint needs exactly one entry")
        columns |= {key: real_vector(key, given[key], n, ParameterError) for key in _NUMBERS}
        angles = real_vector("alpha", alpha, n, ParameterError)
        links = tuple(
            _textbook_link(i, float(angles[i]), {key: column[i] for key, column in columns.items()})
            for i in range(n)
        )
        return cls(
            links=links,
            coordinate_names=tuple(link.name for link in links),
            base=np.eye(4) if base is None else pose_matrix("base", base, ParameterError),
            tip=np.eye(4) if tip is None else pose_matrix("tip", tip, ParameterError),
            gravity=_vector(gravity, "gravity"),
        )

    def frames(self, q: ArrayLike) -> tuple[Array, ...]:
        """(4, 4) pose of every link's frame in frame 0 at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` is not (n,) finite numbers.
        """
        q = joint_vector("q", q, self.coordinate_names)
        frames: list[Array] = []
        for link in self.links:
            step = link.transform(q)
            frames.append(frames[link.parent] @ step if link.parent >= 0 else step)
        return tuple(frames)

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """(4, 4) pose of the (first) tip in the root frame at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` is not (n,) finite numbers.
        """
        return self.tip_poses(q)[0]

    def tip_poses(self, q: ArrayLike) -> tuple[Array, ...]:
        """(4, 4) pose of every tip in the root frame at coordinates ``q`` (n,) [rad or m].

        Raises:
            StateError: ``q`` is not (n,) finite numbers.
        """
        frames = self.frames(q)
        return tuple(np.asarray(self.base @ frames[link] @ pose) for link, pose in self.tips)

    def standard_links(self) -> tuple[StandardLink, ...]:
        """The same arm in standard Denavit-Hartenberg frames, the first in frame 0 of `rebased`."""
        if not self.serial:
            raise ParameterError("a tree has no standard Denavit-Hartenberg frames; its branches have")
        links = self.rebased().links
        return tuple(map(StandardLink.between, links, (*links[1:], None)))

    def rebased(self) -> SerialModel:
        """The same arm with joint 1's alpha, a and y_shift moved into ``base`` (itself when already so)."""
        first = self.links[0]
        if first.alpha == 0.0 and first.a == 0.0 and first.y_shift == 0.0 and first.gamma == 0.0:
            return self
        if [link.parent for link in self.links].count(-1) > 1:
            raise ParameterError(
                "of a tree whose root carries several joints the first must begin at frame 0"
            )
        to_axis = first.before_joint()
        return replace(
            self,
            links=(replace(first, alpha=0.0, a=0.0, y_shift=0.0, gamma=0.0), *self.links[1:]),
            base=np.asarray(self.base @ to_axis),
            gravity=np.asarray(to_axis[:3, :3].T @ self.gravity),
        )


def _link_poses(chain: KinematicChain, model: SerialModel, tolerance: float) -> tuple[Array, ...]:
    """(4, 4) pose of every link's own frame in its frame of ``model``: the same at all coordinates."""
    rest = np.zeros(chain.dof)
    poses = []
    for link, frame in zip(chain.link_poses(rest), model.frames(rest), strict=True):
        pose = np.linalg.solve(model.base @ frame, link)
        nearest = np.round(pose)
        # A cosine of 1 - 6.7e-12, of an angle written as 1.57079, stays: as 1 it would cost as much accuracy.
        bound = np.where(nearest == 0.0, _NEARLY_ZERO * tolerance, _NEARLY_ROUND)
        poses.append(np.where(np.abs(pose - nearest) < bound, nearest, pose))
    return tuple(poses)


def _textbook_link(index: int, alpha: float, row: dict[str, Any]) -> LinkFrame:
    """Link ``index`` of a textbook arm; ``row`` is one entry of every argument of `SerialModel.from_dh`."""
    number, prismatic = index + 1, row["prismatic"]
    if not isinstance(prismatic, bool | np.bool_):
        raise of_wrong_type(ParameterError)(
            f"prismatic of link {number} is {quoted(prismatic)}; it must be True or False"
        )
    if not isinstance(row["names"], str):
        raise of_wrong_type(ParameterError)(
            f"names has {quoted(row['names'])} for link {number}; it must be a text"
        )
    a, y_shift, r, theta, mass = (float(row[key]) for key in ("a", "y_shift", "r", "theta", "mass"))
    return LinkFrame(
        name=str(row["names"]),
        kind=JointKind.PRISMATIC if prismatic else JointKind.REVOLUTE,
        parent=index - 1,
        alpha=alpha,
        a=a,
        y_shift=y_shift,
        r=0.0 if prismatic else r,
        theta=theta if prismatic else 0.0,
        coordinate=index,
        multiplier=1.0,
        offset=r if prismatic else theta,
        mass=mass,
        first_moment=_vector(row["first_moment"], f"first moment of link {number}"),
        inertia=_symmetric(row["inertia"], f"inertia of link {number}"),
    )


def _entries(name: str, value: Any) -> list[Any]:
    """The entries of a sequence with one for every joint."""
    return listed(name, value, ParameterError, MOST_ENTRIES)


def _vector(value: ArrayLike, what: str) -> Array:
    try:
        return real_vector(what, value, 3, ParameterError)
    except ParameterError as error:
        raise type(error)(f"{what} must be three finite numbers, not {quoted(value)}") from None


def _symmetric(value: ArrayLike, what: str) -> Array:
    matrix = real_array(what, value, ParameterError)
    if matrix.shape == (6,):
        xx, xy, xz, yy, yz, zz = matrix
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if matrix.shape != (3, 3) or not np.all(np.isfinite(matrix)) or not np.allclose(matrix, matrix.T):
        raise ParameterError(
            f"{what} must be a symmetric (3, 3) matrix or XX, XY, XZ, YY, YZ, ZZ, not {quoted(value)}"
        )
    return matrix
