"""The arm's payload: a rigid body fixed to the tip, part of the last moving link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ParameterError, quoted, short
from robot_dynamics.model.chain import JointKind, KinematicChain, RigidBody
from robot_dynamics.model.lumping import MASSLESS, lumped_body, moved_body
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array, principal_moments

_ROUNDING = 1e-6  # relative to the largest principal moment


@dataclass(frozen=True)
class PayloadParameters:
    """The load at the tip; all can be changed while the arm moves."""

    payload_mass: float = parameter(
        0.0, "Mass of the payload at the tip; 0: none", unit="kg", minimum=0.0, maximum=1e5
    )
    payload_center: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Centre of mass of the payload in the tip frame: x, y, z",
        unit="m",
        minimum=-100.0,
        maximum=100.0,
    )
    payload_inertia: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "Inertia of the payload about its centre of mass, in the axes of the tip frame: ixx, ixy, ixz, iyy,"
        " iyz, izz; zeros: a point mass",
        unit="kg·m²",
        minimum=-1e6,
        maximum=1e6,
    )

    def __post_init__(self) -> None:
        validate(self)
        if len(self.payload_center) != 3:
            raise ParameterError(
                f"parameter 'payload_center' has {len(self.payload_center)} values; it must have 3: x, y, z"
            )
        if len(self.payload_inertia) != 6:
            raise ParameterError(
                f"parameter 'payload_inertia' has {len(self.payload_inertia)} values; it must have 6: ixx,"
                " ixy, ixz, iyy, iyz, izz"
            )
        _check_inertia(self.inertia)

    @property
    def inertia(self) -> Array:
        """(3, 3) about the centre of mass, in the axes of the tip frame [kg·m²]."""
        return inertia_matrix(self.payload_inertia)

    @property
    def payload(self) -> RigidBody:
        """The load as a body, in the tip frame; without a mass it is nothing, whatever its inertia."""
        if self.payload_mass == 0.0:
            return MASSLESS
        return RigidBody(self.payload_mass, np.array(self.payload_center), self.inertia)

    def at_tips(
        self, chain: KinematicChain, loads: Mapping[str, PayloadParameters]
    ) -> RigidBody | dict[str, RigidBody]:
        """The load of the tip, or the loads of several by their names, as a model of ``chain`` takes them."""
        return {tip: load.payload for tip, load in loads.items()} if chain.other_tips else self.payload

    def on(
        self, chain: KinematicChain, loads: Mapping[str, PayloadParameters] | None = None
    ) -> KinematicChain:
        """``chain`` with this payload at its tip, or with ``loads`` at the tips of a tree.

        Raises:
            ParameterError: the centre of mass is farther from the tip than the arm is long, or there are
                several tips for the one payload.
        """
        if self.payload_mass > 0.0 and chain.other_tips:
            raise ParameterError(several_tips(chain.name, [tip.link for tip in chain.tips]))
        if chain.other_tips:
            for tip, load in (loads or {}).items():
                load.on(chain.branch(tip, True))  # checks the distance
                chain = with_payload(chain, load.payload_mass, load.payload_center, load.inertia, tip)
            return chain
        away, reach = float(np.linalg.norm(self.payload_center)), _length(chain)
        if self.payload_mass > 0.0 and 0.0 < reach < away:
            raise ParameterError(
                f"parameter 'payload_center' is {short(away)} m from the tip, but the arm is {short(reach)} m"
                " long: give it in metres"
            )
        return with_payload(chain, self.payload_mass, self.payload_center, self.inertia)


def several_tips(robot: str, tips: Sequence[str]) -> str:
    """Reason why ``payload_mass`` is refused where there are several tips."""
    remedy = f"set 'payload.{tips[0]}.mass'"
    return f"parameter 'payload_mass' is for one tip, {robot} has {', '.join(tips)}: {remedy}"


@dataclass(frozen=True)
class TipPayloadParameters:
    """The load at one of several tips, as ``payload.<tip>.mass``, ``.center`` and ``.inertia``."""

    mass: float = parameter(
        0.0, "Mass of the payload at the tip; 0: none", unit="kg", minimum=0.0, maximum=1e5
    )
    center: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        "Centre of mass of the tip's payload in the tip frame: x, y, z",
        unit="m",
        minimum=-100.0,
        maximum=100.0,
    )
    inertia: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "Inertia of the tip's payload about its centre of mass, in the axes of the tip frame: ixx, ixy, ixz,"
        " iyy, iyz, izz; zeros: a point mass",
        unit="kg·m²",
        minimum=-1e6,
        maximum=1e6,
    )

    def __post_init__(self) -> None:
        validate(self)
        PayloadParameters(self.mass, self.center, self.inertia)  # checks lengths and inertia

    @property
    def load(self) -> PayloadParameters:
        """The same load at an only tip."""
        return PayloadParameters(self.mass, self.center, self.inertia)


def _length(chain: KinematicChain) -> float:
    """Length of the arm when all its joints are stretched [m]; infinite where a slide has no end."""
    length = float(np.linalg.norm(chain.tip_transform[:3, 3]))
    for joint in chain.joints:
        length += float(np.linalg.norm(joint.origin[:3, 3]))
        if joint.kind is JointKind.PRISMATIC:
            length += max(abs(joint.limits.lower), abs(joint.limits.upper))
    return length


def inertia_matrix(values: Sequence[float]) -> Array:
    """(3, 3) symmetric matrix of ixx, ixy, ixz, iyy, iyz, izz, the order of URDF."""
    xx, xy, xz, yy, yz, zz = values
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def with_payload(
    chain: KinematicChain,
    mass: float,
    center: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
    tip: str | None = None,
) -> KinematicChain:
    """The chain with a body fixed to its tip, lumped into the moving link that carries the tip.

    Args:
        chain: the arm; it stays as it is.
        mass: of the payload [kg]; 0 gives back the chain itself.
        center: (3,) centre of mass in the tip frame [m].
        inertia: (3, 3) about the centre of mass, in the axes of the tip frame [kg·m²]; a point mass if None.
        tip: name of the tip, which a tree with several needs.

    Raises:
        ParameterError: a mass that is negative or not finite, a wrong shape, an inertia that no rigid body
            has, or no such tip.
    """
    if not (np.isfinite(mass) and mass >= 0.0):
        raise ParameterError(f"payload mass {mass!r}; it must be a finite number, at least 0 kg")
    if mass == 0.0:
        return chain
    place = np.asarray(center, dtype=float)
    about_center = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ParameterError(
            f"payload centre {place.tolist()}; it must be three finite numbers in the tip frame [m]"
        )
    _check_inertia(about_center)
    tips = {known.link: known for known in chain.tips}
    chosen = tips.get(chain.tip if tip is None and len(tips) == 1 else tip or "")
    if chosen is None:
        raise ParameterError(f"payload at tip {quoted(tip)}; the tips are {', '.join(tips)}")
    carried = moved_body(RigidBody(float(mass), place, about_center), chosen.transform)
    joints = list(chain.joints)
    carrier = joints[chosen.joint]
    joints[chosen.joint] = replace(carrier, body=lumped_body((carrier.body, carried)))
    whole = chain.whole
    if whole is not None:
        whole = with_payload(whole, mass, center, inertia, chosen.link)
    return replace(chain, joints=tuple(joints), whole=whole)


def _check_inertia(inertia: Array) -> None:
    if inertia.shape != (3, 3) or not np.isfinite(inertia).all() or not np.array_equal(inertia, inertia.T):
        raise ParameterError("the payload inertia must be a symmetric 3 x 3 matrix of finite numbers [kg·m²]")
    small, middle, large = principal_moments(inertia)
    slack = _ROUNDING * abs(large)
    if small < -slack or small + middle < large - slack:
        raise ParameterError(
            f"no rigid body has the payload inertia with principal moments {small:.6g}, {middle:.6g},"
            f" {large:.6g} kg·m²: none may be negative, nor larger than the sum of the other two"
        )
