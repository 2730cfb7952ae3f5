"""Payload that an arm has picked up, from the external efforts that its observer finds in motion.

A body at the tip that the model lacks is an external effort, linear in its mass and first moment. Its
regressor is the momentum, with its rates, of unit bodies at the tip, through the observer's own filter. No
accelerations are needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.control.arm.payload import PayloadParameters
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import StateError, short
from robot_dynamics.spatial import Array

SETTLED = 5.0
"""Time constants of the observer after which its filter has forgotten where it began."""
ROUNDS = 5
"""Solutions in a row: the inertia is that of a point mass, and joints that are noisy count less."""
LEAST_MASS = 0.02
"""Smallest mass that is distinguished from none [kg]."""
UNCERTAIN = 0.2
"""Largest standard deviation of the mass, as its share, with which an estimate is given."""
LEAST_WAY = 0.1
"""Way of a joint that counts as moved [rad or m]."""
UNEXPLAINED = 0.5
"""Share of the external efforts, beyond which they are no payload."""
_UNIT = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
_STEPS = np.array([1.0, 0.1, 0.1, 0.1, *[0.01] * 6])


@dataclass(frozen=True)
class PayloadEstimate:
    """A body at the tip, beside the payload that is declared.

    Attributes:
        mass: [kg].
        center: (3,) centre of mass in the tip frame [m].
        mass_deviation: standard deviation of the mass [kg].
        center_deviation: (3,) standard deviations of the centre [m].
        unexplained: share of the external efforts that no payload explains.
    """

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
) -> PayloadEstimate:
    """The body that explains external efforts in motion.

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
    weights, inertia = np.ones(seen.shape[1]), np.zeros(6)
    for _ in range(ROUNDS):
        target = -seen - columns[:, :, 4:] @ inertia
        rows = (columns[:, :, :4] * weights[:, None]).reshape(-1, 4)
        normal = rows.T @ rows
        found = np.linalg.lstsq(rows, (target * weights).ravel(), rcond=1e-9)[0]
        left = target - columns[:, :, :4] @ found
        weights = 1.0 / np.maximum(np.sqrt(np.mean(left**2, axis=0)), 1e-3 * np.abs(seen).max() + 1e-12)
        center = found[1:] / found[0] if found[0] > LEAST_MASS else np.zeros(3)
        inertia = _point_mass(max(float(found[0]), 0.0), center)
    share = float(np.sqrt(np.sum((left * weights) ** 2) / np.sum((seen * weights) ** 2)))
    # Neighbouring residuals are one: the filter keeps them for its time constant.
    covariance = np.linalg.pinv(normal) * max(1.0, 2.0 / (gain * period))
    deviations = np.sqrt(np.diag(covariance))
    _check(float(found[0]), float(deviations[0]), share)
    mass = float(found[0])
    spread = np.sqrt(deviations[1:] ** 2 + (center * deviations[0]) ** 2) / mass
    return PayloadEstimate(mass, center, float(deviations[0]), spread, share)


def _check(mass: float, deviation: float, unexplained: float) -> None:
    if mass <= -LEAST_MASS:
        raise StateError(
            f"what acts has the mass {short(mass)} kg: the declared payload or a mass of the model is too"
            " large"
        )
    if mass < LEAST_MASS:
        raise StateError(f"nothing beyond {LEAST_MASS:g} kg is carried beside the declared payload")
    if unexplained > UNEXPLAINED:
        raise StateError(
            f"no payload explains {100.0 * unexplained:.0f} % of the external efforts: something touches the"
            " arm, or its model or friction differs from it"
        )
    if deviation > UNCERTAIN * mass:
        raise StateError(
            f"the mass is {short(mass)} kg with a standard deviation of {short(deviation)} kg: move at least"
            " two joints that feel the payload, farther or longer"
        )


def _filtered(
    links: CompiledDynamics, gain: float, times: Array, positions: Array, velocities: Array
) -> Array:
    """(N, n, 10) external efforts of unit parameters, with the other sign, as the observer finds them."""
    elapsed = np.diff(times)[:, None]
    seen = []
    base = [np.array(part) for part in links.with_payload(_UNIT).momentum(positions, velocities)]
    for k, step in enumerate(_STEPS):
        changed = links.with_payload(_UNIT + step * np.eye(10)[k]).momentum(positions, velocities)
        momentum, slope, weight = ((new - old) / step for new, old in zip(changed, base, strict=True))
        drive = slope - weight
        seen.append(np.diff(momentum, axis=0) / elapsed - 0.5 * (drive[1:] + drive[:-1]))
    steps, shares = np.stack(seen, axis=2), -np.expm1(-gain * elapsed)
    found = np.zeros((len(times), *steps.shape[1:]))
    for i, (share, step) in enumerate(zip(shares[:, 0], steps, strict=True)):
        found[i + 1] = found[i] + share * (step - found[i])
    return found


def _point_mass(mass: float, c: Array) -> Array:
    """(6,) inertia xx, xy, yy, xz, yz, zz of a point mass about the tip frame's origin."""
    matrix = mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return np.array([matrix[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))])
