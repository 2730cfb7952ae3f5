"""The serial chain in frames whose z axis is the joint axis, with its inertial parameters in those frames.

Every formulation, the generator of customised models and their tests start from this model. The frames follow
Khalil & Kleinfinger, "A new geometric notation for open and closed-loop robots", ICRA 1986 (modified
Denavit-Hartenberg, also Craig's and Renaud's):

    T_{i-1,i} = Rx(alpha_i) Trans(a_i, b_i, r_i) Rz(theta_i)

where theta_i (revolute) or r_i (prismatic) moves. ``b`` is zero except where two axes are so nearly parallel
(1.5708 instead of pi/2 in a description) that their common normal lies absurdly far away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics.frame_placement import place_frames, snap_angle
from robot_dynamics.dynamics.link_frame import LinkFrame, StandardLink
from robot_dynamics.errors import ConversionError, ParameterError, StateError
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

__all__ = ["LinkFrame", "SerialModel", "StandardLink"]


# Residual of the forward kinematics [relative to the arm's size] above which a placement is refused.
_RESIDUAL = 1e-9


@dataclass(frozen=True)
class SerialModel:
    """A serial arm as link frames.

    Attributes:
        links: one per moving joint, from the base to the tip.
        coordinate_names: names of the entries of ``q``.
        base: (4, 4) pose of frame 0 in the root frame; frame 0 is frame 1 at joint variable zero.
        tip: (4, 4) pose of the tip frame in frame n.
        gravity: (3,) acceleration of free fall, in frame 0 [m/s²].
    """

    links: tuple[LinkFrame, ...]
    coordinate_names: tuple[str, ...]
    base: Array
    tip: Array
    gravity: Array

    @property
    def dof(self) -> int:
        """Number of coordinates (independent joints)."""
        return len(self.coordinate_names)

    @classmethod
    def from_chain(
        cls,
        chain: KinematicChain,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        angle_tolerance: float = 1e-11,
    ) -> SerialModel:
        """Place the frames on a chain's joint axes and express the inertial parameters in them.

        Args:
            chain: the chain; every moving joint between root and tip.
            gravity: (3,) acceleration of free fall in the root frame [m/s²].
            angle_tolerance: angles closer than this to a multiple of pi/2 become that multiple, so that
                a description's 1.57079632679 means pi/2 [rad].

        Raises:
            ConversionError: the frames do not reproduce the chain's forward kinematics.
        """
        if not chain.joints:
            raise ParameterError(f"the chain {chain.root} -> {chain.tip} has no moving joint")
        placement = place_frames(chain, angle_tolerance)
        links = []
        for joint, placed in zip(chain.joints, placement.joints, strict=True):
            offset = placed.sign * joint.offset + placed.zero
            revolute = joint.kind is JointKind.REVOLUTE
            links.append(
                LinkFrame(
                    name=joint.name,
                    kind=joint.kind,
                    alpha=placed.alpha,
                    a=placed.a,
                    b=placed.b,
                    r=placed.r,
                    theta=placed.theta,
                    coordinate=joint.coordinate,
                    multiplier=placed.sign * joint.multiplier,
                    offset=snap_angle(offset, angle_tolerance) if revolute else offset,
                    mass=placed.mass,
                    first_moment=placed.first_moment,
                    inertia=placed.inertia,
                )
            )
        model = cls(
            links=tuple(links),
            coordinate_names=chain.coordinate_names,
            base=placement.base,
            tip=placement.tip,
            gravity=_clean(placement.base[:3, :3].T @ _vector(gravity, "gravity"), angle_tolerance),
        )
        _verify(model, chain, placement.scale, max(_RESIDUAL, 4.0 * len(links) * angle_tolerance))
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
            prismatic: (n,) True where the joint slides; all revolute by default.
            gravity: (3,) in frame 0 [m/s²].
            base: (4, 4) pose of frame 0 in the root frame; identity by default.
            tip: (4, 4) pose of the tip in frame n; identity by default.
            names: joint names; ``joint_1`` ... by default.

        Raises:
            ParameterError: lists of different lengths, or values that are not finite.
        """
        n = len(alpha)
        prismatic = [False] * n if prismatic is None else list(prismatic)
        theta = [0.0] * n if theta is None else theta
        names = [f"joint_{i + 1}" for i in range(n)] if names is None else names
        lengths = {
            "a": len(a), "r": len(r), "theta": len(theta), "mass": len(mass), "inertia": len(inertia),
            "first_moment": len(first_moment), "prismatic": len(prismatic), "names": len(names),
        }  # fmt: skip
        wrong = {key: value for key, value in lengths.items() if value != n}
        if wrong or n == 0:
            raise ParameterError(f"alpha has {n} entries, but {wrong}; every joint needs exactly one entry")
        links = []
        for i in range(n):
            links.append(
                LinkFrame(
                    name=names[i],
                    kind=JointKind.PRISMATIC if prismatic[i] else JointKind.REVOLUTE,
                    alpha=float(alpha[i]),
                    a=float(a[i]),
                    b=0.0,
                    r=0.0 if prismatic[i] else float(r[i]),
                    theta=float(theta[i]) if prismatic[i] else 0.0,
                    coordinate=i,
                    multiplier=1.0,
                    offset=float(r[i]) if prismatic[i] else float(theta[i]),
                    mass=float(mass[i]),
                    first_moment=_vector(first_moment[i], f"first moment of link {i + 1}"),
                    inertia=_symmetric(inertia[i], f"inertia of link {i + 1}"),
                )
            )
        return cls(
            links=tuple(links),
            coordinate_names=tuple(names),
            base=np.eye(4) if base is None else np.asarray(base, dtype=float),
            tip=np.eye(4) if tip is None else np.asarray(tip, dtype=float),
            gravity=_vector(gravity, "gravity"),
        )

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """(4, 4) pose of the tip in the root frame at coordinates ``q`` (n,) [rad or m]."""
        q = np.asarray(q, dtype=float)
        if q.shape != (self.dof,):
            raise StateError(
                f"q has shape {q.shape}; expected ({self.dof},): {', '.join(self.coordinate_names)}"
            )
        pose = self.base
        for link in self.links:
            pose = pose @ link.transform(q)
        return np.asarray(pose @ self.tip)

    def coordinate_forces(self, joint_forces: ArrayLike) -> Array:
        """(n,) generalised forces from one force per moving joint: sum of multiplier times joint force."""
        tau = np.zeros(self.dof)
        for link, force in zip(self.links, np.asarray(joint_forces, dtype=float), strict=True):
            tau[link.coordinate] += link.multiplier * force
        return tau

    def standard_links(self) -> tuple[StandardLink, ...]:
        """The same arm in standard Denavit-Hartenberg frames, frame 0 unchanged.

        Requires joint 1 to have alpha = a = b = 0, as every model made by `from_chain` has; an arm given by
        DH parameters is rebased first. The last standard frame is frame n.
        """
        links = self.rebased().links
        standard = []
        for link, following in zip(links, (*links[1:], None), strict=True):
            alpha, a, b = (following.alpha, following.a, following.b) if following else (0.0, 0.0, 0.0)
            ca, sa = (following.cos_alpha, following.sin_alpha) if following else (1.0, 0.0)
            rotation = np.array([[1.0, 0.0, 0.0], [0.0, ca, -sa], [0.0, sa, ca]])
            center = link.first_moment / link.mass if link.mass else np.zeros(3)
            central = rotation.T @ (link.inertia - _point_inertia(link.mass, center)) @ rotation
            rounding = 8.0 * np.finfo(float).eps * np.max(np.abs(link.inertia))
            standard.append(
                StandardLink(
                    name=link.name,
                    kind=link.kind,
                    theta=link.theta,
                    d=link.r,
                    alpha=alpha,
                    a=a,
                    b=b,
                    coordinate=link.coordinate,
                    multiplier=link.multiplier,
                    offset=link.offset,
                    mass=link.mass,
                    center_of_mass=rotation.T @ center - np.array([a, b, 0.0]),
                    inertia=np.where(np.abs(central) <= rounding, 0.0, central),
                )
            )
        return tuple(standard)

    def rebased(self) -> SerialModel:
        """The same arm with joint 1's alpha, a and b moved into ``base`` (itself when already so)."""
        first = self.links[0]
        if first.alpha == 0.0 and first.a == 0.0 and first.b == 0.0:
            return self
        ca, sa = first.cos_alpha, first.sin_alpha
        shift = np.array(
            [
                [1.0, 0.0, 0.0, first.a],
                [0.0, ca, -sa, ca * first.b],
                [0.0, sa, ca, sa * first.b],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        link = LinkFrame(**{**first.__dict__, "alpha": 0.0, "a": 0.0, "b": 0.0})
        return SerialModel(
            links=(link, *self.links[1:]),
            coordinate_names=self.coordinate_names,
            base=np.asarray(self.base @ shift),
            tip=self.tip,
            gravity=np.asarray(shift[:3, :3].T @ self.gravity),
        )


def _point_inertia(mass: float, point: Array) -> Array:
    """(3, 3) inertia about the origin of a point mass at ``point``."""
    return np.asarray(mass * (point @ point * np.eye(3) - np.outer(point, point)))


def _vector(value: ArrayLike, what: str) -> Array:
    vector = np.asarray(value, dtype=float)
    if vector.shape != (3,) or not np.all(np.isfinite(vector)):
        raise ParameterError(f"{what} must be three finite numbers, not {value!r}")
    return vector


def _symmetric(value: ArrayLike, what: str) -> Array:
    matrix = np.asarray(value, dtype=float)
    if matrix.shape == (6,):
        xx, xy, xz, yy, yz, zz = matrix
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if matrix.shape != (3, 3) or not np.all(np.isfinite(matrix)) or not np.allclose(matrix, matrix.T):
        raise ParameterError(
            f"{what} must be a symmetric (3, 3) matrix or XX, XY, XZ, YY, YZ, ZZ, not {value!r}"
        )
    return matrix


def _clean(vector: Array, tolerance: float) -> Array:
    """``vector`` with the entries that are rounding beside its largest set to zero."""
    return np.where(np.abs(vector) <= tolerance * np.max(np.abs(vector), initial=0.0), 0.0, vector)


def _verify(model: SerialModel, chain: KinematicChain, scale: float, limit: float) -> None:
    scale += float(np.linalg.norm(model.base[:3, 3]) + np.linalg.norm(model.tip[:3, 3]))
    random = np.random.default_rng(0)
    for _ in range(3):
        q = random.uniform(-2.0, 2.0, model.dof)
        difference = model.forward_kinematics(q) - chain.forward_kinematics(q)
        difference[:3, 3] /= scale or 1.0
        residual = float(np.max(np.abs(difference)))
        if not residual <= limit:
            raise ConversionError(
                f"link frames of the chain {chain.root} -> {chain.tip} miss its forward kinematics by"
                f" {residual:.1e} (limit {limit:.0e}, lengths relative to the arm's {scale:.3g} m)"
            )
