"""Friction of a joint: one law, for scalars of any kind, and its parameters.

The effort that overcomes friction at the velocity v is

    D v + s(h) (F + (F_s − F) exp(−|v| / v_S) + μ |L|) + O s(h)².

The first term is viscous. L is the load, the effort of the links' inverse dynamics that the gear passes on:
friction of gears grows with it (Hamon, Gautier, Garrec, "New dry friction model with load- and
velocity-dependence and dynamic identification of multi-dof robots", ICRA 2011).

Coulomb friction goes from F_s at the onset of motion to F (Tustin, "The effects of
backlash and of speed-dependent friction on the stability of closed-cycle control systems", J. IEE 94 (1947)
143-151). It is larger in one direction than in the other. In many gears F_s is the smaller one: friction
grows less than in proportion to speed. As D, F, F_s, μ ≥ 0 and |O| ≤ min(F, F_s), friction
never drives a joint.

s is the sign of the heading h, which is v except where a control law overcomes friction in advance:
s = c (3 − c²) / 2 with c = h / v_s between −1 and 1 and constant beyond, so its slope is continuous.

A part B of dry friction builds up again after each reversal (Dahl, "A solid friction model", Aerospace Corp.
TOR-158(3107-18), 1968): B s(h) becomes B |s(h)| z with the state z, which follows the sign of the motion over
a travel s_B:

    z ← e + (z − e) exp(−|Δq| / s_B),    e = sign(Δq).

z is 1 or −1 once a joint has travelled far in one direction; then the law is that above. At standstill what
holds a joint is not known, and nothing of it is overcome. B ≤ min(F, F_s) − |O|.

Arrays compute with the law, expressions generate programs from it, `friction_header` writes it in C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from robot_dynamics.codegen.expression import sqrt
from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import ChainJoint
from robot_dynamics.parameters import describe, parameter, per_joint, validate
from robot_dynamics.spatial import Array

Scalar: TypeAlias = Any

STICTION_VELOCITY = 0.005
"""v_s, below which Coulomb friction goes through zero [rad/s or m/s]."""


@dataclass(frozen=True)
class FrictionParameters:
    """Parameters of the law, one per joint or one for all."""

    damping: tuple[float, ...] = parameter(
        (),
        "Viscous friction, one per joint or one for all; empty: as in the description",
        unit="N·m·s/rad or N·s/m",
        minimum=0.0,
        maximum=1e6,
    )
    friction: tuple[float, ...] = parameter(
        (),
        "Coulomb friction, one per joint or one for all; empty: as in the description",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    static_friction: tuple[float, ...] = parameter(
        (),
        "Dry friction at the onset of motion, from which it goes to the Coulomb friction, one per joint or"
        " one for all; empty: the Coulomb friction",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    stribeck_velocity: tuple[float, ...] = parameter(
        (0.1,),
        "Velocity at which friction has come within 1/e of the way from static to Coulomb friction, one per"
        " joint or one for all",
        unit="rad/s or m/s",
        minimum=0.01,
        maximum=1e3,
    )
    friction_offset: tuple[float, ...] = parameter(
        (0.0,),
        "Friction asymmetry: added for positive velocity, subtracted for negative, one per joint or one for"
        " all; at most the smaller of static and Coulomb friction",
        unit="N·m or N",
        minimum=-1e6,
        maximum=1e6,
    )
    load_friction: tuple[float, ...] = parameter(
        (0.0,),
        "Dry friction per effort that the gear passes on to the links, one per joint or one for all",
        minimum=0.0,
        maximum=0.9,
    )
    presliding_friction: tuple[float, ...] = parameter(
        (0.0,),
        "Part of the dry friction that builds up again after a reversal, one per joint or one for all; with"
        " the asymmetry at most the smaller of static and Coulomb friction",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    presliding_travel: tuple[float, ...] = parameter(
        (0.005,),
        "Travel after a reversal over which that part has come within 1/e of its way, one per joint or one"
        " for all",
        unit="rad or m",
        minimum=1e-4,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        validate(self)

    def friction_of(self, joints: Sequence[ChainJoint]) -> DriveFriction:
        """The law of ``joints`` with arrays (n,).

        Raises:
            ParameterError: a list whose length is neither 1 nor the number of joints, or an asymmetry with
                which friction would drive a joint.
        """
        names = [joint.name for joint in joints]
        values: dict[str, Array] = {}
        for about in describe(FrictionParameters):
            given = getattr(self, about.name) or about.default
            if given:
                values[about.name] = per_joint(given, names, about.name)
            elif about.name in SAME_AS:
                values[about.name] = values[SAME_AS[about.name]]
            else:
                values[about.name] = np.array([getattr(joint, about.name) for joint in joints], dtype=float)
        law = DriveFriction(**values)
        for j in np.flatnonzero(~(law.margin >= 0.0)):
            blamed = "presliding_friction" if values["presliding_friction"][j] else BOUNDED
            raise ParameterError(
                f"parameter '{blamed}' is {values[blamed][j]:g} for {names[j]}; that is"
                f" {-law.margin[j]:g} more than its friction, which would drive the joint: give a smaller one"
            )
        return law


SAME_AS: Mapping[str, str] = {"static_friction": "friction"}
"""Parameters that are another one where they are empty; those of the description otherwise."""
BOUNDED = "friction_offset"
"""The parameter to blame where `DriveFriction.margin` is negative."""
VISCOUS = ("damping",)
"""Parameters of `DriveFriction.viscous`; all others are of dry friction."""
SCALES = ("stribeck_velocity", "presliding_travel")
"""Parameters that change nothing where all others are zero."""
LINEAR = ("damping", "friction", "static_friction", "friction_offset", "presliding_friction", *SCALES)
"""Parameters with which `DriveFriction.effort` is linear in speed, where static friction is Coulomb's."""


@dataclass(frozen=True)
class DriveFriction:
    """The law with its parameters, which are scalars of one kind: arrays (n,), expressions, C text."""

    damping: Scalar
    friction: Scalar
    static_friction: Scalar
    stribeck_velocity: Scalar
    friction_offset: Scalar
    load_friction: Scalar
    presliding_friction: Scalar = 0.0
    presliding_travel: Scalar = 1.0

    @classmethod
    def plain(cls, damping: Scalar, friction: Scalar) -> DriveFriction:
        """Friction as URDF has it: viscous, and the same at all velocities in both directions."""
        return cls(damping, friction, friction, 1.0, 0.0, 0.0)

    def left(self, viscous: Scalar, dry: Scalar) -> DriveFriction:
        """The shares of viscous and of dry friction that a drive with compensation of its own leaves."""
        shares = {**dict.fromkeys(VISCOUS, viscous), **dict.fromkeys(SCALES, 1.0)}
        return DriveFriction(**{name: shares.get(name, dry) * getattr(self, name) for name in PARAMETERS})

    @property
    def margin(self) -> Scalar:
        """Not negative where friction drives no joint [N·m or N]."""
        dry = _smaller(self.friction, self.static_friction) - _magnitude(self.friction_offset)
        return dry - self.presliding_friction

    def effort(self, velocity: Scalar, heading: Scalar | None = None, load: Scalar | None = None) -> Scalar:
        """Effort that overcomes friction at ``velocity``.

        Args:
            velocity: of the joint.
            heading: velocity along which dry friction is overcome; the joint's when None.
            load: effort that the gear passes on to the links [N·m or N]; none when None.
        """
        along = direction(velocity if heading is None else heading)
        return self.viscous(velocity) + along * self.dry_size(velocity, along, load)

    def viscous(self, velocity: Scalar) -> Scalar:
        """The part of `effort` that is smooth through standstill; it grows with the velocity."""
        return self.damping * velocity

    def curved_viscous(self, velocity: Scalar) -> Scalar:
        """The part of `viscous` friction that is not linear; it grows with the velocity."""
        return self.viscous(velocity) - self.damping * velocity

    def presliding(self, heading: Scalar, slid: Scalar) -> Scalar:
        """Effort beside `effort`, as long as a joint has not travelled far since its last reversal.

        Args:
            heading: as of `effort`.
            slid: state z, from −1 to 1.
        """
        along = direction(heading)
        return self.presliding_friction * (_magnitude(along) * slid - along)

    def slid_after(self, slid: Scalar, travel: Scalar) -> Scalar:
        """The state z of `presliding` after a travel in one direction."""
        return _followed(slid, travel, self.presliding_travel)

    def dry_size(self, velocity: Scalar, along: Scalar, load: Scalar | None = None) -> Scalar:
        """Magnitude of all friction that is not viscous, in the `direction` ``along``, under a load."""
        fading = _faded(self.static_friction - self.friction, velocity, self.stribeck_velocity)
        size = self.friction + fading + self.friction_offset * along
        return size if load is None else size + self.load_friction * _magnitude(load)

    def least_dry(self, along: Scalar) -> Scalar:
        """Bound below `dry_size` at all speeds, in the `direction` ``along``, without a load."""
        return _smaller(self.friction, self.static_friction) + self.friction_offset * along

    def greatest_dry(self, along: Scalar) -> Scalar:
        """Bound above `dry_size` at all speeds, in the `direction` ``along``, without a load."""
        return _larger(self.friction, self.static_friction) + self.friction_offset * along

    def dry_range(
        self, slowest: Array, fastest: Array, lightest: Array, heaviest: Array
    ) -> tuple[Array, Array]:
        """Least and greatest effort that overcomes dry friction at velocities and loads in ranges.

        Args:
            slowest: (..., n) [rad/s or m/s].
            fastest: (..., n), not less.
            lightest: (..., n) smallest magnitude of the load [N·m or N].
            heaviest: (..., n), not less.
        """
        along = direction(slowest), direction(fastest)
        sizes = np.maximum(np.abs(slowest), np.abs(fastest)), np.minimum(np.abs(slowest), np.abs(fastest))
        least = np.where((slowest < 0.0) & (fastest > 0.0), 0.0, sizes[1])
        fading = [
            _faded(self.static_friction - self.friction, v, self.stribeck_velocity) for v in (sizes[0], least)
        ]
        uneven = [self.friction_offset * part for part in along]
        low = self.friction + np.minimum(*fading) + np.minimum(*uneven) + self.load_friction * lightest
        high = self.friction + np.maximum(*fading) + np.maximum(*uneven) + self.load_friction * heaviest
        corners = np.stack([part * size for part in along for size in (low, high)])
        return corners.min(axis=0), corners.max(axis=0)

    def plain_slope(self, velocity: Scalar) -> Scalar:
        """Derivative of `effort` by the velocity, of `plain` friction."""
        return self.damping + self.friction * direction_slope(velocity)

    @property
    def is_plain(self) -> bool:
        """True where arrays are those of `plain` friction."""
        curved = bool(np.any(self.static_friction != self.friction))
        return not (curved or self._any_but("damping", "friction", "static_friction", *SCALES))

    @property
    def is_zero(self) -> bool:
        """True where arrays give no friction at any velocity."""
        return not self._any_but(*SCALES)

    def _any_but(self, *names: str) -> bool:
        """True if arrays other than these have an element that is not zero."""
        return any(bool(np.any(getattr(self, name))) for name in PARAMETERS if name not in names)

    @property
    def matrix(self) -> Array:
        """(n, parameters), in the order of the fields: what the law in C reads."""
        values = np.broadcast_arrays(*(getattr(self, name) for name in PARAMETERS))
        return np.stack(values, axis=-1)


PARAMETERS = tuple(field.name for field in fields(DriveFriction))
"""Names of the law's parameters, in the order of the fields."""


def direction(velocity: Scalar) -> Scalar:
    """Sign of the velocity, smooth through standstill."""
    # Not a hyperbolic tangent: its tail would leave light joints stuck far from their goal.
    c = _within_one(velocity / STICTION_VELOCITY)
    return 0.5 * c * (3.0 - c * c)


def direction_slope(velocity: Scalar) -> Scalar:
    """Derivative of `direction`."""
    c = _within_one(velocity / STICTION_VELOCITY)
    return 1.5 / STICTION_VELOCITY * (1.0 - c * c)


def _within_one(x: Scalar) -> Scalar:
    """The number between −1 and 1 next to ``x``."""
    if isinstance(x, np.ndarray | np.floating):
        return np.clip(x, -1.0, 1.0)
    if isinstance(x, float):
        return min(max(x, -1.0), 1.0)
    if hasattr(x, "within_one"):
        return x.within_one()
    # Expressions know no branches; the square root of a square is the exact magnitude.
    above, below = x + 1.0, x - 1.0
    return 0.5 * (sqrt(above * above) - sqrt(below * below))


def _faded(drop: Scalar, velocity: Scalar, scale: Scalar) -> Scalar:
    """``drop`` · exp(−|velocity| / ``scale``)."""
    if hasattr(drop, "is_zero"):
        assert drop.is_zero, "programs have plain friction alone"
        return 0.0
    if hasattr(drop, "faded"):
        return drop.faded(velocity, scale)
    return drop * np.exp(-np.abs(velocity) / scale)


def _followed(slid: Scalar, travel: Scalar, scale: Scalar) -> Scalar:
    """``slid`` on its way to the sign of ``travel``."""
    if hasattr(slid, "followed"):
        return slid.followed(travel, scale)
    end = np.sign(travel)
    return end + (slid - end) * np.exp(-np.abs(travel) / scale)


def _smaller(a: Scalar, b: Scalar) -> Scalar:
    return a.smaller(b) if hasattr(a, "smaller") else np.minimum(a, b)


def _larger(a: Scalar, b: Scalar) -> Scalar:
    return a.larger(b) if hasattr(a, "larger") else np.maximum(a, b)


def _magnitude(x: Scalar) -> Scalar:
    if hasattr(x, "is_zero"):
        return sqrt(x * x)
    return x.magnitude() if hasattr(x, "magnitude") else np.abs(x)
