"""Payloads that an arm has picked up, from the external efforts that its observer finds.

A body at a tip that the model lacks is an external effort, linear in its mass and first moment. In motion its
regressor is the momentum, with its rates, of unit bodies at the tips, through the observer's own filter. No
accelerations are needed. At rest it is their weight, and static friction that the approach has left is
estimated beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import StateError, short
from robot_dynamics.spatial import INERTIA_ENTRIES, Array

SETTLED = 5.0
"""Time constants of the observer after which its filter has forgotten where it began."""
ROUNDS = 20
"""Solutions in a row: the inertia is that of a point mass, which bends the equations, and joints that are
noisy count less."""
LEAST_MASS = 0.02
"""Smallest mass that is distinguished from none [kg]."""
UNCERTAIN = 0.2
"""Largest standard deviation of the mass, as its share, with which an estimate is given."""
LEAST_WAY = 0.1
"""Way of a joint that counts as moved [rad or m]."""
STILL, APPROACH = 0.005, 0.02
"""Speed of a joint at rest, and least speed that counts as an approach [rad/s or m/s]."""
REST = 0.3
"""Shortest rest [s]."""
UNEXPLAINED = 0.5
"""Share of the external efforts, beyond which they are no payload."""
_UNIT = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
_STEPS = np.array([1.0, 0.1, 0.1, 0.1, *[0.01] * 6])


@dataclass(frozen=True)
class PayloadEstimate:
    """A body at a tip, beside the payload that is declared.

    Attributes:
        tip: link that carries it.
        mass: [kg]; below 0.02, where nothing is carried, the centre is zero.
        center: (3,) centre of mass in the tip frame [m].
        mass_deviation: standard deviation of the mass [kg].
        center_deviation: (3,) standard deviations of the centre [m].
        unexplained: share of the external efforts that no payload explains.
    """

    tip: str
    mass: float
    center: Array
    mass_deviation: float
    center_deviation: Array
    unexplained: float

    def added_to(self, declared: PayloadParameters) -> PayloadParameters:
        """The declared payload and this one, as one body with the declared inertia about its centre."""
        mass = declared.payload_mass + self.mass
        moment = declared.payload_mass * np.array(declared.payload_center) + self.mass * self.center
        return replace(declared, payload_mass=float(mass), payload_center=tuple((moment / mass).tolist()))


def estimate_payload(
    links: CompiledDynamics, gain: float, times: Array, positions: Array, velocities: Array, external: Array
) -> tuple[PayloadEstimate, ...]:
    """The bodies at the tips that explain external efforts in motion.

    Args:
        links: the model that the observer used.
        gain: of the observer [1/s].
        times: (N,) of the states [s].
        positions, velocities: (N, n) measured.
        external: (N, n) external efforts after each state [N·m or N].

    Raises:
        StateError: the motion tells too little, or what acts is no payload.
    """
    columns = _filtered(links, gain, times, positions, velocities)
    late = times - times[0] > SETTLED / gain
    if late.sum() < 10 * len(positions[0]):
        raise StateError(f"{int(late.sum())} states are too few: let the arm move longer")
    farthest = np.ptp(positions, axis=0)
    if (farthest > LEAST_WAY).sum() < 2:
        raise StateError(
            f"the arm moved by at most {short(float(farthest.max()))} rad or m: move at least two joints that"
            f" feel the payload, by {LEAST_WAY:g} or more"
        )
    columns, seen = columns[late], external[late]
    period = float(np.median(np.diff(times)))
    tips = len(links.chain.tips)
    first = _places(tips, range(4))
    linear, quadratic = columns[:, :, first], columns[:, :, _places(tips, range(4, 10))]
    weights, found, left = np.ones(seen.shape[1]), np.zeros(4 * tips), -seen
    for _ in range(ROUNDS):
        rows = (linear * weights[:, None]).reshape(-1, 4 * tips)
        moves = rows + (quadratic @ _inertia_slopes(found) * weights[:, None]).reshape(-1, 4 * tips)
        found = found + np.linalg.lstsq(moves, (left * weights).ravel(), rcond=1e-9)[0]
        left = -seen - linear @ found - quadratic @ _inertia(found)
        weights = 1.0 / np.maximum(np.sqrt(np.mean(left**2, axis=0)), 1e-3 * np.abs(seen).max() + 1e-12)
    share = float(np.sqrt(np.sum((left * weights) ** 2) / np.sum((seen * weights) ** 2)))
    # Neighbouring residuals are one: the filter keeps them for its time constant.
    covariance = np.linalg.pinv(rows.T @ rows) * max(1.0, 2.0 / (gain * period))
    return _estimates(links, found, covariance, share)


def rests(times: Array, positions: Array, velocities: Array) -> list[tuple[int, Array]]:
    """Rests in a motion: the last state of each, and from where each joint came (n,), -1, 0 or 1.

    Arguments are those of :func:`estimate_payload`.
    """
    found, came = [], np.zeros(positions.shape[1])
    since: float | None = None
    moved = False
    for k, velocity in enumerate(velocities):
        if (np.abs(velocity) > STILL).any():
            if since is not None and moved and times[k] - since > REST:
                found.append((k - 1, came.copy()))
                moved = False
            since = None
            fast = np.abs(velocity) > APPROACH
            came = np.where(fast, np.sign(velocity), came)
            moved |= bool(fast.any())
        elif since is None:
            since = float(times[k])
    if since is not None and moved and times[-1] - since > REST:
        found.append((len(times) - 1, came.copy()))
    return found


def estimate_at_rest(
    links: CompiledDynamics, positions: Array, came: Array, external: Array
) -> tuple[PayloadEstimate, ...]:
    """The bodies at the tips that explain external efforts at rest.

    Args:
        links: the model that the observer used.
        positions: (k, n) of the poses.
        came: (k, n) sign of the velocity with which each joint came there; 0: it did not move.
        external: (k, n) external efforts at rest [N·m or N].

    Raises:
        StateError: joints that feel a payload came from one side only, the poses tell too little, or what
            acts is no payload.
    """
    tips, n = len(links.chain.tips), positions.shape[1]
    columns = _weights(links, positions)
    feels = np.abs(columns).max(axis=(0, 2)) > 1e-6
    one_sided = feels & ((came > 0.0).any(axis=0) ^ (came < 0.0).any(axis=0))
    if one_sided.any():
        names = ", ".join(
            name for name, lacks in zip(links.chain.joint_names, one_sided, strict=True) if lacks
        )
        raise StateError(
            f"{names} came to rest from one side only, so that static friction is not told from the payload:"
            " approach poses from both sides"
        )
    unknown = 4 * tips + int(feels.sum())
    if columns.shape[0] * int(feels.sum()) < 2 * unknown:
        raise StateError(f"{len(positions)} rests are too few: approach more poses from both sides")
    friction = np.zeros((*positions.shape, n))
    friction[:, np.arange(n), np.arange(n)] = -came
    rows = np.concatenate([columns, friction[:, :, feels]], axis=2).reshape(-1, unknown)
    used = np.tile(feels, len(positions))
    weights = np.ones(n)
    for _ in range(ROUNDS):
        scale = np.tile(weights, len(positions))[used]
        found = np.linalg.lstsq(rows[used] * scale[:, None], -external.ravel()[used] * scale, rcond=1e-9)[0]
        left = (-external.ravel() - rows @ found).reshape(positions.shape)
        weights = 1.0 / np.maximum(np.sqrt(np.mean(left**2, axis=0)), 1e-3 * np.abs(external).max() + 1e-12)
    scaled = rows[used] * scale[:, None]
    covariance = np.linalg.pinv(scaled.T @ scaled)
    share = float(
        np.sqrt(np.sum((left * weights)[:, feels] ** 2) / np.sum((external * weights)[:, feels] ** 2))
    )
    return _estimates(links, found[: 4 * tips], covariance, share)


def _places(tips: int, of: range) -> list[int]:
    """Columns of these parameters of every tip."""
    return [10 * tip + k for tip in range(tips) for k in of]


def _estimates(
    links: CompiledDynamics, found: Array, covariance: Array, share: float
) -> tuple[PayloadEstimate, ...]:
    """The estimate of each tip from mass and first moment (4 t,) and their covariance."""
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))  # rounded, a variance of zero is below it
    result = []
    for k, tip in enumerate(links.chain.tips):
        mass, spread = float(found[4 * k]), deviations[4 * k : 4 * k + 4]
        center, around = np.zeros(3), np.zeros(3)
        if mass >= LEAST_MASS:
            center = found[4 * k + 1 : 4 * k + 4] / mass
            around = np.sqrt(spread[1:] ** 2 + (center * spread[0]) ** 2) / mass
        result.append(PayloadEstimate(tip.link, mass, center, float(spread[0]), around, share))
    _check(result)
    return tuple(result)


def _check(found: Sequence[PayloadEstimate]) -> None:
    several = len(found) > 1
    for one in found:
        where = f" at {one.tip}" if several else ""
        if one.mass <= -max(LEAST_MASS, 3.0 * one.mass_deviation * several):
            raise StateError(
                f"what acts{where} has the mass {short(one.mass)} kg: the declared payload or a mass of the"
                " model is too large"
            )
        if one.mass >= LEAST_MASS and one.mass_deviation > UNCERTAIN * one.mass and not several:
            raise StateError(
                f"the mass is {short(one.mass)} kg with a standard deviation of {short(one.mass_deviation)}"
                " kg: move at least two joints that feel the payload, farther or longer"
            )
    if all(one.mass < LEAST_MASS for one in found):
        raise StateError(f"nothing beyond {LEAST_MASS:g} kg is carried beside the declared payload")
    if found[0].unexplained > UNEXPLAINED:
        raise StateError(
            f"no payload explains {100.0 * found[0].unexplained:.0f} % of the external efforts: something"
            " touches the arm, or its model or friction differs from it"
        )


def _weights(links: CompiledDynamics, positions: Array) -> Array:
    """(k, n, 4 t) weight of unit masses and first moments at the tips on the joints."""
    tips, still = len(links.chain.tips), np.zeros_like(positions)
    unit = np.tile(_UNIT, tips)
    base = links.with_payload(unit).momentum(positions, still)[2]
    columns = []
    for k in _places(tips, range(4)):
        step = float(_STEPS[k % 10])
        changed = links.with_payload(unit + step * np.eye(10 * tips)[k]).momentum(positions, still)[2]
        columns.append((np.array(changed) - np.array(base)) / step)
    return np.stack(columns, axis=2)


def _filtered(
    links: CompiledDynamics, gain: float, times: Array, positions: Array, velocities: Array
) -> Array:
    """(N, n, 10 t) external efforts of unit parameters, with the other sign, as the observer finds them."""
    elapsed, tips = np.diff(times)[:, None], len(links.chain.tips)
    seen, unit = [], np.tile(_UNIT, tips)
    base = [np.array(part) for part in links.with_payload(unit).momentum(positions, velocities)]
    for k, step in enumerate(np.tile(_STEPS, tips)):
        changed = links.with_payload(unit + step * np.eye(10 * tips)[k]).momentum(positions, velocities)
        momentum, slope, weight = ((new - old) / step for new, old in zip(changed, base, strict=True))
        drive = slope - weight
        seen.append(np.diff(momentum, axis=0) / elapsed - 0.5 * (drive[1:] + drive[:-1]))
    steps, shares = np.stack(seen, axis=2), -np.expm1(-gain * elapsed)
    found = np.zeros((len(times), *steps.shape[1:]))
    for i, (share, step) in enumerate(zip(shares[:, 0], steps, strict=True)):
        found[i + 1] = found[i] + share * (step - found[i])
    return found


def _inertia(bodies: Array) -> Array:
    """(6 t,) inertias xx, xy, yy, xz, yz, zz of point masses about tip frames' origins.

    Args:
        bodies: (4 t,) masses and first moments.
    """
    return np.concatenate([_spread(h, h) * inverse for inverse, h in _point_masses(bodies)])


def _inertia_slopes(bodies: Array) -> Array:
    """(6 t, 4 t) derivatives of :func:`_inertia` with respect to masses and first moments."""
    tips = len(bodies) // 4
    slopes = np.zeros((tips, 6, tips, 4))
    for k, (inverse, h) in enumerate(_point_masses(bodies)):
        slopes[k, :, k, 0] = -_spread(h, h) * inverse**2
        slopes[k, :, k, 1:] = np.stack([2.0 * _spread(h, axis) * inverse for axis in np.eye(3)], axis=1)
    return slopes.reshape(6 * tips, 4 * tips)


def _point_masses(bodies: Array) -> list[tuple[float, Array]]:
    """One over each mass, beside its first moment; 0 for a mass below which no centre is known."""
    return [(1.0 / one[0] if one[0] > LEAST_MASS else 0.0, one[1:]) for one in bodies.reshape(-1, 4)]


def _spread(g: Array, h: Array) -> Array:
    """(6,) inertia of a point mass by its first moment, times the mass: bilinear and symmetric in it."""
    outer = np.outer(g, h)
    matrix = float(g @ h) * np.eye(3) - 0.5 * (outer + outer.T)
    return np.array([matrix[entry] for entry in INERTIA_ENTRIES])
