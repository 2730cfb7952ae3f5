"""Checks of a log, its parts without gaps, and its saturated efforts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import LogError, short
from robot_dynamics.identification.logs import Log
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

SHORTEST = 2.0
"""Shortest run [s]."""
LONGEST_GAP = 5.0
"""Longest gap, in typical periods."""
SATURATED = 5
"""Fewest states in a row that count as saturated."""
NEAR_LIMIT = 1e-3
"""Share of a limit by which saturated efforts may differ from it."""
BRAKING = 0.05
"""Share of a joint's effort that friction must brake with before it shows the sign of the effort."""
PROPORTIONAL = 0.7
"""Correlation of an effort with the expected one above which only its unit is in doubt."""
LEAST_MOTION = 1e-3
"""A joint that moves by less counts as constant [rad or m]."""
_DEGREES = 180.0 / np.pi


def check_log(log: Log, chain: KinematicChain) -> None:
    """Refuse a log that cannot be one of this robot's motion.

    Raises:
        LogError: values that are not finite, time that does not advance, gaps, jumps, constant or missing
            efforts, constant joints, or degrees.
    """
    _check_values(log)
    _check_time(log)
    still = _named(log, np.ptp(log.q, axis=0) < LEAST_MOTION)
    if still:
        raise LogError(
            f"{log.source}: {still} not moving; hold what does not move with --lock JOINT=POSITION"
        )
    silent = _named(log, np.ptp(log.effort, axis=0) == 0.0)
    if silent:
        raise LogError(f"{log.source}: the effort of {silent} is constant, so it is not measured")
    _check_degrees(log, chain)
    _check_jumps(log, chain)


def _check_values(log: Log) -> None:
    if len(log.time) < 2:
        raise LogError(f"{log.source}: {len(log.time)} states; a run of {SHORTEST:g} s at least is needed")
    for what, values in (("position", log.q), ("effort", log.effort), ("time", log.time[:, None])):
        bad = ~np.isfinite(values)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            whose = "" if what == "time" else f" of {log.joint_names[column]}"
            raise LogError(f"{log.source}: the {what}{whose} in state {row + 1} is no finite number")


def _check_time(log: Log) -> None:
    steps = np.diff(log.time)
    if steps.min() <= 0.0:
        at = int(np.argmin(steps))
        raise LogError(
            f"{log.source}: time does not advance after {short(log.time[at] - log.time[0])} s; do two robots"
            " publish on one topic?"
        )
    length, period = log.time[-1] - log.time[0], float(np.median(steps))
    if length < SHORTEST:
        raise LogError(f"{log.source}: {length:.3g} s long; a run of {SHORTEST:g} s at least is needed")
    if not segments(log):
        at = int(np.argmax(steps))
        raise LogError(
            f"{log.source}: a gap of {short(steps[at])} s after {short(log.time[at] - log.time[0])} s, where"
            f" states come every {short(period, 4)} s; between such gaps, {SHORTEST:g} s at least are needed"
        )


def gaps(log: Log) -> NDArray[np.intp]:
    """Indices of the states after which the next one is missing for longer than LONGEST_GAP periods."""
    steps = np.diff(log.time)
    return np.flatnonzero(steps > LONGEST_GAP * float(np.median(steps)))


def segments(log: Log) -> list[slice]:
    """The parts of a log between its gaps that last for SHORTEST at least."""
    bounds = [0, *(int(index) + 1 for index in gaps(log)), len(log.time)]
    parts = [slice(begin, end) for begin, end in itertools.pairwise(bounds)]
    return [part for part in parts if log.time[part][-1] - log.time[part][0] >= SHORTEST]


def saturated_efforts(log: Log, limits: Array) -> NDArray[np.bool_]:
    """(N, n) efforts that stay at the limit, or keep exactly the greatest value, for SATURATED states.

    Args:
        log: the measured efforts.
        limits: (n,) of the description; infinite where there is none. A limit that the log exceeds is not
            the one at which efforts are cut.
    """
    from scipy.ndimage import binary_opening

    size = np.abs(log.effort)
    greatest = size.max(axis=0)
    limits = np.where(greatest > (1.0 + NEAR_LIMIT) * limits, np.inf, limits)
    high = (size >= (1.0 - NEAR_LIMIT) * limits) | ((size >= greatest) & (greatest > 0.0))
    return np.asarray(binary_opening(high, np.ones((SATURATED, 1), dtype=bool)))


def _check_degrees(log: Log, chain: KinematicChain) -> None:
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    turning = [joint.kind is JointKind.REVOLUTE for joint in joints]
    reach = [max(abs(j.limits.lower), abs(j.limits.upper)) for j in joints]
    far = np.array([4.0 * max(np.pi, limit) if np.isfinite(limit) else 40.0 * np.pi for limit in reach])
    outside = np.abs(log.q).max(axis=0) > far
    # A position in degrees beside a velocity in radians.
    speed = np.abs(np.diff(log.q, axis=0) / np.diff(log.time)[:, None]).mean(axis=0)
    measured = np.abs(log.qd).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mixed = np.abs(np.log(speed / measured / _DEGREES)) < 0.2
    names = _named(log, (outside | mixed) & np.array(turning))
    if names:
        raise LogError(f"{log.source}: positions of {names} cannot be radians; are they degrees?")


def _check_jumps(log: Log, chain: KinematicChain) -> None:
    limits = np.array([chain.driving_joint(j).limits.velocity for j in range(chain.dof)])
    allowed = np.where(np.isfinite(limits), 5.0 * limits, 50.0)
    speed = np.abs(np.diff(log.q, axis=0)) / np.diff(log.time)[:, None]
    jumps = (speed > allowed) & (np.abs(np.diff(log.q, axis=0)) > 0.05)
    if jumps.any():
        row, column = np.argwhere(jumps)[0]
        size = abs(log.q[row + 1, column] - log.q[row, column])
        raise LogError(
            f"{log.source}: {log.joint_names[column]} jumps by {size:.3g}"
            f" after {short(log.time[row] - log.time[0])} s; do two robots publish on one topic?"
        )


def check_against_model(
    source: str,
    names: Sequence[str],
    effort: Array,
    moving: Array,
    weight: Array,
    drives: tuple[Array, Array, Array],
    compensated: bool,
) -> None:
    """Refuse efforts with the wrong sign, or without the weight that they should have.

    What looks like a drive's own effort is taken off first: what remains goes against the description where
    a sign is wrong, and so does a friction that would drive the joint. The share of the weight in the
    efforts is about 1 for the right robot and near 0 where the robot takes it off.

    Args:
        source: of the log.
        names: the joints.
        effort: (N, n) measured.
        moving: (N, n) efforts of the description's masses without gravity.
        weight: (N, n) efforts of their weight alone.
        drives: (N, n) each, what rotor inertia, damping and dry friction are multiplied by.
        compensated: whether the efforts are said to come without the weight.

    Raises:
        LogError: they are not what they are said to be.
    """
    expected = moving if compensated else moving + weight
    flipped = [
        name
        for j, name in enumerate(names)
        if _against(effort[:, j], expected[:, j], np.stack([part[:, j] for part in drives], axis=1))
    ]
    if flipped:
        raise LogError(
            f"{source}: efforts of {', '.join(flipped)} have the wrong sign, against the description"
        )
    effort, moving, weight = (values - values.mean(axis=0) for values in (effort, moving, weight))
    if compensated or not np.linalg.norm(weight) > 0.5 * np.linalg.norm(moving):
        return
    columns = np.stack([weight.ravel(), moving.ravel()], axis=1)
    share = float(np.linalg.lstsq(columns, effort.ravel(), rcond=None)[0][0])
    if share < 0.25:
        _refuse_currents(source, names, effort, moving + weight)
        raise LogError(
            f"{source}: {100.0 * max(0.0, share):.0f} % of the description's weight is in the efforts;"
            " does the robot compensate gravity? Then say --compensates-gravity"
        )


def _refuse_currents(source: str, names: Sequence[str], effort: Array, expected: Array) -> None:
    """Refuse efforts that go with the expected ones and are far smaller: they are in another unit."""
    sizes = np.linalg.norm(effort, axis=0), np.linalg.norm(expected, axis=0)
    alike = np.sum(effort * expected, axis=0) / np.maximum(sizes[0] * sizes[1], 1e-300)
    loaded = sizes[1] > 0.2 * sizes[1].max()
    ratio = sizes[0] / np.maximum(sizes[1], 1e-300)
    found = [
        f"{name} {100.0 * ratio[j]:.3g} %"
        for j, name in enumerate(names)
        if loaded[j] and alike[j] > PROPORTIONAL and ratio[j] < 0.4
    ]
    if len(found) >= 0.5 * np.sum(loaded):
        raise LogError(
            f"{source}: efforts are proportional to the description's, but far smaller ({', '.join(found)}):"
            " these are motor currents [A] or per mille, not N·m or N; multiply them by the torque per unit"
        )


def _against(effort: Array, expected: Array, drives: Array) -> bool:
    """True if an effort (N,) goes against the expected one (N,), or its friction against the motion."""
    others = np.column_stack([drives, np.ones(len(effort))])
    both = np.column_stack([effort, expected])
    rest = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
    sizes = np.linalg.norm(rest, axis=0)
    whole = float(np.linalg.norm(effort - effort.mean()))
    shares = np.linalg.lstsq(np.column_stack([others, expected]), effort, rcond=None)[0]
    rubbing, speed = drives[:, 1:] @ shares[1:3], drives[:, 1]
    braking = float(rubbing @ speed) / max(whole * float(np.linalg.norm(speed)), 1e-300)
    opposed = min(sizes) > 0.2 * whole and rest[:, 0] @ rest[:, 1] < -0.6 * sizes[0] * sizes[1]
    # Friction that brakes shows the sign even where the description's centre of mass is on the wrong side.
    return braking < -0.4 or bool(opposed and braking < BRAKING)


def _named(log: Log, chosen: Iterable[bool]) -> str:
    return ", ".join(name for name, picked in zip(log.joint_names, chosen, strict=True) if picked)
