"""How old the latest joint state is, for who acts on where the arm is without a control cycle of its own."""

from __future__ import annotations

import math

from robot_dynamics.control.sim_time import time_of_state

OTHER_CLOCK = 10_000_000_000
"""A state whose stamp is further behind was stamped by another clock [ns]."""


class StateAge:
    """Judges joint states by their stamps: one that comes late tells where the arm was.

    States without a stamp, and those of another clock, count from when they come.

    Args:
        simulated: whether the clock is a simulator's: it may be late, and catch up in a pause.
    """

    def __init__(self, simulated: bool) -> None:
        self._simulated = simulated
        self._at: int | None = None
        self._delay = 0

    def note(self, now: int, stamp: int) -> None:
        """A state has come ``now``, with this ``stamp`` [ns]; 0: it has none."""
        if self._simulated:
            self._at = time_of_state(now, stamp)
        else:
            self._at = stamp if now - OTHER_CLOCK < stamp < now else now
        self._delay = max(now - self._at, 0)

    def forget(self) -> None:
        """Where the arm is must be told anew."""
        self._at, self._delay = None, 0

    def seconds(self, now: int) -> float:
        """Since the latest state [s], infinite before the first."""
        # By the node's clock: a simulation that pauses pauses the states with it.
        return math.inf if self._at is None else 1e-9 * (now - self._at)

    def objection(self, now: int, timeout: float) -> str:
        """Why nobody knows where the arm is; empty where the latest state is fresh enough.

        Args:
            now: the present [ns].
            timeout: from which age on it is not [s].
        """
        if self._at is None:
            return "there is no joint state yet"
        if self._simulated and not now:
            return "there is no /clock, which use_sim_time asks for"
        if 1e-9 * self._delay > timeout:
            return f"joint states come {1e-9 * self._delay:.3g} s after their stamps"
        return f"no joint state for {timeout:g} s" if self.seconds(now) > timeout else ""
