"""Thresholds of external efforts from the residual of an identification, and what else its observer needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.control.arm.contact import FLOOR_SHARE, ObserverParameters
from robot_dynamics.identification.result import Comparison, Identification
from robot_dynamics.spatial import Array

CONTACT_DEVIATIONS = 4.0
"""Threshold over the deviation of the residual at a speed."""
LARGE_SHARE, FEWER_DEVIATIONS, LARGEST_MARGIN = 0.1, 3.0, 1.1
"""Share of the effort limit beyond which fewer deviations do, and this margin over the largest residual."""
CONTACT_SPEEDS = 0.0, 0.05, 0.2
"""Speeds of the thresholds, as shares of the velocity limits: dry friction is uncertain after a reversal."""
FEWEST = 20.0
"""Samples that tell a deviation."""


def observer_parameters(found: Identification) -> dict[str, Any]:
    """Parameters `ObserverParameters` that an identification tells.

    The threshold at a speed is `CONTACT_DEVIATIONS` times the deviation of what the observer would have felt
    there, in motion that was held out or in all of it, whichever is larger. Where that is a large share of
    the effort limit, the joint sticks, and friction is bounded: `FEWER_DEVIATIONS` do there.
    """
    chain, drift = found.chain, ObserverParameters()
    known: dict[str, Any] = {"friction_drift": drift.friction_drift}
    offset = found.drives["torque_offset"]
    if found.coupling is not None or not offset.any():
        offset = np.zeros(chain.dof)
    else:
        known["effort_offset"] = [float(f"{value:.4g}") for value in offset]
    if found.treatment is not None and found.treatment.delay.seconds:
        known["effort_delay"] = float(f"{found.treatment.delay.seconds:.4g}")
    limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
    parts = [part for part in (found.validate, (*found.learn, *found.validate)) if part]
    needed = np.max(
        [thresholds_by_speed(part, offset, limits, drift.observer_gain) for part in parts], axis=0
    )
    if np.isfinite(needed).all():
        floors = np.array([FLOOR_SHARE * limit.effort for limit in limits])
        rows = np.where(needed > 0.0, needed, floors)
        if np.isfinite(rows).all():
            known["contact_threshold"] = [float(f"{value:.4g}") for value in rows.ravel()]
            known["contact_speeds"] = list(CONTACT_SPEEDS)
    return known


def thresholds_by_speed(
    runs: Sequence[Comparison], offset: Array, limits: Sequence[Any], gain: float
) -> Array:
    """(k, n) thresholds of external efforts at `CONTACT_SPEEDS`; zero where a joint never moved."""
    from scipy.signal import lfilter

    squares, weights, largest = np.zeros((3, len(CONTACT_SPEEDS), len(limits)))
    for run in runs:
        share = -np.expm1(-gain * float(np.median(np.diff(run.time))))
        counts = run.moving & run.usable
        seen = np.where(counts, run.measured - run.predicted - offset, 0.0)
        felt_by = lfilter([share], [1.0, share - 1.0], seen, axis=0)
        for j, limit in enumerate(limits):
            speed = np.abs(run.velocity[counts[:, j], j]) / limit.velocity
            for k, unit in enumerate(np.eye(len(CONTACT_SPEEDS))):
                weight = np.interp(speed, CONTACT_SPEEDS, unit)
                felt = felt_by[counts[:, j], j]
                weights[k, j] += weight.sum()
                squares[k, j] += weight @ felt**2
                largest[k, j] = max(largest[k, j], np.max(np.abs(felt[weight >= 0.5]), initial=0.0))
    deviations = np.sqrt(squares / np.maximum(weights, 1e-9))
    large = LARGE_SHARE * np.array([limit.effort for limit in limits])
    fewer = np.maximum(FEWER_DEVIATIONS * deviations, LARGEST_MARGIN * largest)
    found = np.minimum(CONTACT_DEVIATIONS * deviations, np.maximum(fewer, large))
    for j in range(len(limits)):
        known = np.flatnonzero(weights[:, j] >= FEWEST)
        if not len(known):
            known = np.array([int(np.argmax(weights[:, j]))])
        for k in range(len(CONTACT_SPEEDS)):  # a speed that was not seen is like the nearest one
            found[k, j] = found[known[np.argmin(np.abs(known - k))], j]
    return found
