"""Energy of an arm's springs, of which a change of stiffness adds some."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.arm import impedance, task_impedance
from robot_dynamics.control.core.library import array_at, doubles, ffi
from robot_dynamics.spatial import Array

TOLD = 0.05
"""Energy from which a change of stiffness is reported [J]."""


def spring_energy(settings: Any, mode: str, reference: Array, position: Array) -> float:
    """Energy of the springs between a reference and the arm [J].

    Beyond the error clip a spring pulls no harder, so its energy grows in proportion. It is zero in modes
    without springs, and where springs act on accelerations (``operational_space``).

    Args:
        settings: ``rd_settings *``.
        mode: of the controller.
        reference, position: (n,) of the joints [rad or m].
    """
    n = len(position)
    if mode == impedance.MODE:
        stiffness, clip = array_at(settings.stiffness, n), array_at(settings.error_clip, n)
        return _stored(stiffness, clip, reference - position)
    task = settings.task
    if mode != task_impedance.MODE or not task or task.decoupled:
        return 0.0
    here, there = (_pose(task, place) for place in (position, reference))
    turn = there[:3, :3] @ here[:3, :3].T
    angle = float(np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0)))
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    size = float(np.linalg.norm(axis))
    way = np.concatenate([there[:3, 3] - here[:3, 3], angle / size * axis if size > 0.0 else np.zeros(3)])
    if task.axes:  # springs turn with the frame
        way = np.concatenate([here[:3, :3].T @ way[:3], here[:3, :3].T @ way[3:]])
    frame = _stored(np.array(list(task.stiffness)), np.array(list(task.error_clip)), way)
    posture = array_at(task.posture_stiffness, n)
    return frame + _stored(posture, np.full(n, np.inf), reference - position)


def _stored(stiffness: Array, clip: Array, way: Array) -> float:
    clipped = np.minimum(np.abs(way), clip)
    return float(np.sum(stiffness * clipped * (np.abs(way) - 0.5 * clipped)))


def _pose(task: Any, position: Array) -> Array:
    given, out = np.array(position, dtype=float), np.zeros(16)
    inputs = ffi().new("double *[]", [doubles(given), ffi().NULL])
    task.pose(ffi().cast("const double *const *", inputs), doubles(out))
    return out.reshape(4, 4)
