"""Verdict about a path: position, velocity, acceleration and effort of every joint against their limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.arm.path_rules import PathRules, unit_of
from robot_dynamics.control.arm.verified_torque import largest_efforts
from robot_dynamics.control.path_bounds import Extremes, extremes
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.errors import short
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

QUANTITIES = ("position", "velocity", "acceleration", "effort")
ROUNDING = 1e-9
"""Share of a limit by which rounding may exceed it."""


@dataclass(frozen=True)
class Finding:
    """The worst value of one quantity of one joint.

    Attributes:
        joint: its name.
        quantity: one of ``QUANTITIES``.
        value: the worst, with sign.
        time: when, since the path's start [s].
        limit: what it is compared with; infinite where there is none.
        share: of the limit; of a position, of half the range between its limits, from their middle.
        unit: of value and limit.
    """

    joint: str
    quantity: str
    value: float
    time: float
    limit: float
    share: float
    unit: str

    @property
    def exceeded(self) -> bool:
        """True if the limit is exceeded."""
        return self.share > 1.0 + ROUNDING

    @property
    def message(self) -> str:
        """In words."""
        return (
            f"{self.joint}: {self.quantity} {short(self.value, 4)} {self.unit} at t = {short(self.time)} s,"
            f" limit {short(self.limit, 4)} {self.unit}"
        )


@dataclass(frozen=True)
class PathVerdict:
    """All findings about a path, ordered by joint and quantity."""

    findings: tuple[Finding, ...]
    duration: float

    @property
    def exceeded(self) -> tuple[Finding, ...]:
        """The limits that are not kept, the worst share first."""
        return tuple(sorted((one for one in self.findings if one.exceeded), key=lambda one: -one.share))

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        wrong = self.exceeded
        if not wrong:
            known = all(one.quantity != "acceleration" or np.isfinite(one.limit) for one in self.findings)
            kinds = "" if known else " of position, velocity and effort"
            return f"keeps every limit{kinds} in {short(self.duration)} s"
        return f"exceeds {len(wrong)} limit{'s' if len(wrong) > 1 else ''}: {wrong[0].message}"


def check_path(
    chain: KinematicChain, model: EffortModel, spline: QuinticSpline, limits: Array, rules: PathRules
) -> PathVerdict:
    """Verify a path in continuous time.

    Args:
        chain: the arm, with limits of position and velocity.
        model: its inverse dynamics with its actuators.
        spline: the path.
        limits: (n,) effort limits [N·m or N], infinite where there is none.
        rules: limits of velocity and acceleration beside the chain's.

    Raises:
        TrajectoryError: an effort is too near its limit for too long to be compared.
    """
    start = float(spline.times[0])
    place, rate, bend = (extremes(spline.times, spline.coefficients, order) for order in range(3))
    effort = largest_efforts(chain, model, spline, limits)
    findings = []
    for j, name in enumerate(chain.joint_names):
        own = chain.driving_joint(j).limits
        findings.append(_position(chain, j, place, start))
        fastest = min(own.velocity, rules.velocity.get(name, np.inf))
        hardest = rules.acceleration.get(name, np.inf)
        for quantity, found, limit in (("velocity", rate, fastest), ("acceleration", bend, hardest)):
            up = found.highest[j] >= -found.lowest[j]
            value = float(found.highest[j] if up else found.lowest[j])
            findings.append(
                Finding(
                    *(name, quantity, value, float(found.largest_time[j]) - start, float(limit)),
                    *(abs(value) / limit if np.isfinite(limit) else 0.0, unit_of(chain, j, quantity)),
                )
            )
        # What is proven counts where it exceeds the limit that all samples keep.
        value, bound = float(effort.value[j]), float(effort.bound[j])
        worst = bound if bound > limits[j] >= abs(value) else abs(value)
        share = worst / limits[j] if np.isfinite(limits[j]) else 0.0
        findings.append(
            Finding(
                *(name, "effort", float(np.copysign(worst, value)), float(effort.time[j]) - start),
                *(float(limits[j]), float(share), unit_of(chain, j, "effort")),
            )
        )
    return PathVerdict(tuple(findings), float(spline.times[-1]) - start)


def shares_along(
    chain: KinematicChain,
    model: EffortModel,
    spline: QuinticSpline,
    limits: Array,
    rules: PathRules,
    times: Array,
) -> tuple[Array, Array, Array]:
    """Samples of a path, for pictures; what is between them is verified by :func:`check_path` only.

    Args:
        chain: the arm.
        model: its inverse dynamics with its actuators.
        spline: the path.
        limits: (n,) effort limits [N·m or N], infinite where there is none.
        rules: limits of velocity and acceleration beside the chain's.
        times: (N,) [s].

    Returns:
        (N, n) positions [rad or m], (N, n) efforts [N·m or N], and (4, N, n) shares of the limits in the
        order of ``QUANTITIES``, as in `Finding`.
    """
    q, qd, qdd = map(np.ascontiguousarray, spline.at(times))
    efforts = model.inverse_dynamics(q, qd, qdd)
    own = [chain.driving_joint(j).limits for j in range(chain.dof)]
    lower, upper = np.array([one.lower for one in own]), np.array([one.upper for one in own])
    half = 0.5 * (upper - lower)
    ranged = np.isfinite(half) & (half > 0.0)
    middle = np.where(ranged, lower, 0.0) + np.where(ranged, half, 0.0)
    place = np.where(ranged, np.abs(q - middle) / np.where(ranged, half, 1.0), 0.0)
    place = np.where(~ranged & ((q < lower) | (q > upper)), 2.0, place)
    names = chain.joint_names
    fastest = [
        min(one.velocity, rules.velocity.get(name, np.inf)) for name, one in zip(names, own, strict=True)
    ]
    hardest = [rules.acceleration.get(name, np.inf) for name in names]
    shares = [place, np.abs(qd) / fastest, np.abs(qdd) / hardest, np.abs(efforts) / limits]
    return q, np.asarray(efforts), np.stack(shares)


def _position(chain: KinematicChain, j: int, place: Extremes, start: float) -> Finding:
    """The position of joint ``j`` that is nearest a limit, or farthest beyond one."""
    lowest, highest = float(place.lowest[j]), float(place.highest[j])
    own = chain.driving_joint(j).limits
    name, unit = chain.joint_names[j], unit_of(chain, j, "position")
    below, above = own.lower - lowest, highest - own.upper
    at_lower = below > above
    value, limit, times = (
        (lowest, own.lower, place.lowest_time) if at_lower else (highest, own.upper, place.highest_time)
    )
    half = 0.5 * (own.upper - own.lower)
    share = 0.0
    if np.isfinite(half) and half > 0.0:
        share = abs(value - 0.5 * (own.upper + own.lower)) / half
    elif np.isfinite(limit):
        share = 2.0 if max(below, above) > 0.0 else 0.0
    return Finding(
        *(name, "position", float(value), float(times[j]) - start, float(limit), float(share), unit)
    )
