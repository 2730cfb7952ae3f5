"""The picture of a control core that other threads read."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.core.library import doubles, ffi
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.protocol import Phase

PHASES = tuple(Phase)
"""In the order of the core's enumeration."""
VERDICTS = tuple(enumerators("rd_verdict"))
"""Fates of a plan, in the order of the core's enumeration."""


class Snapshot:
    """A consistent picture of a core; its arrays are those of the last :meth:`read`.

    Attributes:
        hold: (n,) place where the robot is held without a plan [rad or m].
        position: (n,) measured last [rad or m].
        velocity: (n,) measured last [rad/s or m/s].
        motion: (3, n) position, velocity and acceleration of the last cycle's reference, in its coordinates.
        telemetry: telemetry of the robot, see ``rd_machine`` in internal.h.

    Args:
        library: of the core.
        core: ``rd_core *``.
        joints: n.
    """

    def __init__(self, library: Any, core: Any, joints: int) -> None:
        self._library, self._core = library, core
        self._size = size = ffi().sizeof("rd_snapshot")
        self._picture = np.zeros(library.rd_core_snapshot_size(core) // 8)
        self._head = ffi().cast("rd_snapshot *", doubles(self._picture))
        arrays = self._picture[size // 8 :]
        self.hold, self.position, self.velocity = arrays[: 3 * joints].reshape(3, joints)
        self.motion = arrays[3 * joints : 6 * joints].reshape(3, joints)
        self.telemetry = arrays[6 * joints :]

    def read(self) -> Any:
        """Take the picture; its head (``rd_snapshot *``) stays as it is, whatever is read later."""
        self._library.rd_core_snapshot(self._core, self._head)
        head = ffi().new("rd_snapshot *")
        ffi().memmove(head, self._head, self._size)
        return head
