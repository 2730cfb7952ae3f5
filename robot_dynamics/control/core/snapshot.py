"""What a control core in C lets other threads know."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from robot_dynamics.control.core.library import Snapshot as Head
from robot_dynamics.control.core.library import address
from robot_dynamics.control.protocol import Phase
from robot_dynamics.errors import short

PHASES = (Phase.WAITING, Phase.HOLDING, Phase.TRACKING, Phase.STALE, Phase.FAULT)
"""In the order of the core's enumeration."""
VERDICTS = ("pending", "accepted", "superseded", "late")
"""What became of a plan, in the order of the core's enumeration."""


class Snapshot:
    """A consistent picture of a core; its arrays are those of the last :meth:`read`.

    Attributes:
        hold: (n,) where the machine is held without a plan [rad or m].
        position: (n,) measured last [rad or m].
        velocity: (n,) measured last [rad/s or m/s].
        told: what the machine tells beside, see ``rd_machine`` in core.h.

    Args:
        library: of the core.
        handle: address of the core.
        joints: n.
    """

    def __init__(self, library: ctypes.CDLL, handle: int, joints: int) -> None:
        self._library, self._handle = library, handle
        size = ctypes.sizeof(Head)
        picture = np.zeros(library.rd_core_snapshot_size(handle) // 8)
        self._picture, self._address = picture, address(picture)
        arrays = picture[size // 8 :]
        self.hold, self.position, self.velocity = arrays[: 3 * joints].reshape(3, joints)
        self.told = arrays[3 * joints :]

    def read(self) -> Head:
        """Take the picture; its head stays as it is, whatever is read later."""
        self._library.rd_core_snapshot(self._handle, self._address)
        return Head.from_buffer_copy(self._picture.data)


def discontinuity(results: Any) -> str:
    """Why a state cannot follow from the one before, in the words of the twin; empty when it can.

    ``results`` has what ``rd_results`` of core.h tells about it.
    """
    size, more = map(short, (results.discontinuity_size, results.discontinuity_more))
    told = (
        "",
        f"time ran backwards by {size} s",
        f"a joint jumped by {size} rad or m in {more} s",
        f"the stamps jumped ahead by {size} s",
        f"a joint seems to move at {size} rad/s or m/s, which is beyond {more}",
        f"an effort would step by {results.discontinuity_size:.2f} of its limit in one cycle",
    )
    return told[results.discontinuity]
