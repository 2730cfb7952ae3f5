"""The way from wherever an arm is to where a motion begins."""

from __future__ import annotations

import itertools

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.clearance import Clearance
from robot_dynamics.identification.excitation.points import Points
from robot_dynamics.spatial import Array

_PEAK_SPEED, _PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / np.sqrt(3.0)  # of a quintic over unit way and time
_DETOURS = 200
_STEP = 0.05
"""Between two places that are looked at [rad or m]."""
_SHORTEST = 0.5


def approach(
    joint_names: tuple[str, ...], here: Array, there: Array, bounds: Bounds, clearance: Clearance | None
) -> Points:
    """Rest to rest by quintics, straight or over one place between.

    Args:
        joint_names: of the columns.
        here, there: (n,) [rad or m].
        bounds: of velocity and acceleration.
        clearance: of the shapes; None where they are not looked at.

    Raises:
        TrajectoryError: no way is clear of the floor and of the arm itself.
    """
    draw = np.random.default_rng(0)
    between = draw.uniform(bounds.lower, bounds.upper, (_DETOURS, len(here)))
    ways = [[here, there], *([here, place, there] for place in between)]
    for way in ways:
        if clearance is None or _clear(way, bounds, clearance):
            return _points(joint_names, np.array(way), bounds)
    raise TrajectoryError(
        "no clear way to where the motion begins was found; move the arm nearer to it:"
        f" {', '.join(f'{name} {value:.3f}' for name, value in zip(joint_names, there, strict=True))}"
    )


def _clear(way: list[Array], bounds: Bounds, clearance: Clearance) -> bool:
    for begin, end in itertools.pairwise(way):
        count = 2 + int(np.abs(end - begin).max() / _STEP)
        places = begin + np.linspace(0.0, 1.0, count)[:, None] * (end - begin)
        # Where the arm is now it may be nearer to something.
        start = clearance.least(places[:1], bounds.clearance)[0]
        if clearance.least(places, bounds.clearance)[0] < min(bounds.clearance, 0.9 * start):
            return False
    return True


def _points(joint_names: tuple[str, ...], way: Array, bounds: Bounds) -> Points:
    times = [0.0]
    for step in np.abs(np.diff(way, axis=0)):
        slowest = np.max(_PEAK_SPEED * step / bounds.velocity)
        briskest = np.sqrt(np.max(_PEAK_ACCELERATION * step / bounds.acceleration))
        times.append(times[-1] + max(_SHORTEST, float(slowest), float(briskest)))
    rest = np.zeros_like(way)
    return Points(joint_names, np.array(times), way, rest, rest.copy())
