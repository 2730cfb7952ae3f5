"""Poses at rest: what they tell of weight, without the friction that holds a joint where it stands.

A joint at rest is held by its drive and by dry friction, which may be anything up to its greatest value. A
pose that is approached from both sides has nearly opposite friction, so the mean of the two efforts is the
weight's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import LogError
from robot_dynamics.identification.friction import DriveSignals, FrictionLaw
from robot_dynamics.identification.log_checks import LEAST_MOTION
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.regressor import EARTH, inertial_regressor
from robot_dynamics.identification.runs import Options, Run, drives_given
from robot_dynamics.identification.timing import Delay, Treatment
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

SHORTEST_REST = 0.5
"""Shortest rest that counts [s]; its first half is left to settle."""
STILL = 2e-3
"""Range of a joint's positions that counts as rest [rad or m]."""
SAME_POSE = 0.02
"""Distance between two rests of one pose [rad or m]."""
FEWEST_POSES = 3


@dataclass(frozen=True)
class _Rest:
    """Some time at one pose.

    Attributes:
        time: of its beginning [s].
        position, effort: (n,) means.
        approach: (n,) sign of each joint's last motion before; 0 without any.
    """

    time: float
    position: Array
    effort: Array
    approach: Array


def static_run(log: Log, chain: KinematicChain, options: Options) -> Run:
    """The poses of a log as equations; those of a joint that came from one side alone do not count.

    Raises:
        LogError: there are too few poses, or no joint came to them from both sides.
    """
    if options.compensates_gravity:
        raise LogError(f"{log.source}: poses at rest tell nothing where the robot takes the weight off")
    poses = _poses(_rests(log))
    if len(poses) < FEWEST_POSES:
        raise LogError(
            f"{log.source}: {len(poses)} poses at rest; {FEWEST_POSES} at least are needed, each held for"
            f" {SHORTEST_REST:g} s or longer"
        )
    rows = [_balanced(rests) for rests in poses]
    position = np.array([np.mean([rest.position for rest in rests], axis=0) for rests in poses])
    effort, usable = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    if not usable.any():
        raise LogError(
            f"{log.source}: no pose was approached from both sides, so static friction hides the weight;"
            " move each joint to each pose once from above and once from below"
        )
    zero = np.zeros_like(position)
    links = inertial_regressor(chain, position, zero, zero, EARTH)
    known = FrictionLaw.of(drives_given(chain, options))
    speeds, travels = known.stribeck_velocity[None], known.presliding_travel[None]
    return Run(
        log.source,
        np.array([rests[0].time for rests in poses]) - log.time[0],
        position,
        links,
        DriveSignals.of(zero, zero, speeds, travels=travels),
        effort,
        zero,
        np.ones(effort.shape, dtype=bool),  # what is left of friction is scatter
        usable,
        lambda bodies: np.zeros((len(poses), chain.dof)),
        lambda travels: np.zeros((len(travels), len(poses), chain.dof)),
        log.gain_deviation,
    )


def static_runs(logs: Sequence[Log], chain: KinematicChain, options: Options) -> tuple[list[Run], Treatment]:
    """The poses of each log, and what was done to them."""
    runs = [static_run(log, chain, options) for log in logs]
    notes = tuple(
        f"{run.source}: {len(run.time)} poses at rest, {int(run.usable.sum())} efforts from both sides"
        for run in runs
    )
    return runs, Treatment(0.0, True, Delay(0.0, 0.0), notes)


def _rests(log: Log) -> list[_Rest]:
    """The times at which no joint moves."""
    period = float(np.median(np.diff(log.time)))
    window = max(2, round(0.5 * SHORTEST_REST / period))
    ahead = np.lib.stride_tricks.sliding_window_view(log.q, window, axis=0)
    still = np.ptp(ahead, axis=2).max(axis=1) < STILL
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    rests = []
    for begin, last in zip(edges[::2], edges[1::2], strict=True):
        end = min(last + window - 1, len(log.time))
        if log.time[end - 1] - log.time[begin] < SHORTEST_REST:
            continue
        held = slice((begin + end) // 2, end)
        position = log.q[held].mean(axis=0)
        effort = log.effort[held].mean(axis=0)
        rests.append(_Rest(float(log.time[begin]), position, effort, _approach(log, begin, position)))
    return rests


def _approach(log: Log, begin: int, position: Array) -> Array:
    """(n,) sign of the last motion of each joint before sample ``begin``."""
    signs = np.zeros(log.q.shape[1])
    for j in range(log.q.shape[1]):
        away = position[j] - log.q[: begin + 1, j]
        moved = np.flatnonzero(np.abs(away) > max(STILL, LEAST_MOTION))
        if len(moved):
            signs[j] = np.sign(away[moved[-1]])
    return signs


def _poses(rests: Sequence[_Rest]) -> list[list[_Rest]]:
    """Rests of one pose together."""
    poses: list[list[_Rest]] = []
    for rest in rests:
        for pose in poses:
            if np.abs(pose[0].position - rest.position).max() < SAME_POSE:
                pose.append(rest)
                break
        else:
            poses.append([rest])
    return poses


def _balanced(rests: Sequence[_Rest]) -> tuple[Array, NDArray[np.bool_]]:
    """(n,) means of the efforts from both sides, and which joints came from both."""
    effort = np.array([rest.effort for rest in rests])
    approach = np.array([rest.approach for rest in rests])
    up, down = approach > 0.0, approach < 0.0
    usable: NDArray[np.bool_] = np.asarray(up.any(axis=0) & down.any(axis=0), dtype=bool)
    above = np.sum(effort * up, axis=0) / np.maximum(up.sum(axis=0), 1)
    below = np.sum(effort * down, axis=0) / np.maximum(down.sum(axis=0), 1)
    return np.where(usable, 0.5 * (above + below), effort.mean(axis=0)), usable
