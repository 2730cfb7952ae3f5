"""Pose in which an arm is shown first: nothing in the floor, no links that touch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.clearance import Clearance
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

APART = 0.005
"""Least distance of links from each other and from the floor [m]."""
CLEAR = 0.05
"""Distance of a pose that is searched for because the first one touches [m]."""
TRIES = 200
"""Poses that are tried, each farther from the first on average."""


def free_pose(
    text: str,
    chain: KinematicChain,
    first: Array,
    floor: float | None,
    folder: Path | None = None,
    locked: Mapping[str, float] | None = None,
    touching: frozenset[frozenset[str]] = frozenset(),
) -> tuple[Array, str]:
    """Return a pose near ``first`` in which nothing touches, (n,) [rad or m], and a note about it.

    Args:
        text: of the description.
        chain: loaded from it.
        first: (n,) pose that is taken if it is free.
        floor: height of the floor in the root frame [m]; None without one.
        folder: of relative mesh names.
        locked: where other joints are [rad or m].
        touching: pairs of links whose distance does not count.
    """
    bounds = Bounds.of(chain, {}, clearance=CLEAR)
    try:
        clearance = Clearance(text, chain, bounds, floor, folder, locked, touching)
    except RobotDynamicsError:  # a moving link in the floor at every pose, as of a robot on wheels
        if floor is None:
            return first, ""
        return free_pose(text, chain, first, None, folder, locked, touching)
    best, names = clearance.least(first[None, :], CLEAR)
    if not clearance.shaped or best >= APART:
        return first, ""
    lower, upper = (np.where(np.isfinite(b), b, first) for b in (bounds.lower, bounds.upper))
    generator = np.random.default_rng(0)
    found = first
    for share in np.linspace(0.1, 1.0, TRIES):
        pose = first + share * (generator.uniform(lower, upper) - first)
        distance = clearance.least(pose[None, :], CLEAR)[0]
        if distance > best:
            best, found = distance, pose
        if best >= CLEAR:
            break
    if best < APART:
        return first, f"{names} touch there"
    return found, f"{names} would touch there, so it begins near it"
