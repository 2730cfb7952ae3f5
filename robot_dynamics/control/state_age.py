"""Age of the latest joint state, for those who act on the arm's place without a control cycle."""

from __future__ import annotations

import math
from collections.abc import Callable

from robot_dynamics.control.core.library import ffi, load_core

OTHER_CLOCK = 10_000_000_000
"""A state whose stamp is further behind was stamped by another clock [ns]."""


class SimulatedTime:
    """The core's judgement of states by a simulated clock, see ``sim_time.c``.

    Raises:
        BackendError: there is no compiler.
    """

    def __init__(self) -> None:
        self._core, self._time = load_core(), ffi().new("rd_sim_time *")
        self._core.rd_time_init(self._time)

    def tell(self, now: int | None, steady: int) -> None:
        """The clock says ``now`` [ns] at a steady time [ns]; None where it has said nothing yet."""
        if now is not None:
            self._core.rd_time_tell(self._time, now, steady)

    def runs_away(self, stamp: int, steady: int, timeout: int) -> bool:
        """Check whether states go on while the clock stands: this one has a stamp [ns]; 0: none."""
        return bool(self._core.rd_time_runs_away(self._time, stamp, steady, timeout))

    def note_state(self, stamp: int) -> None:
        """A state with this stamp has come [ns]; 0: it has none."""
        self._core.rd_time_note_state(self._time, stamp)

    def lost(self, last_state: int, steady: int, timeout: int, alone: bool = False) -> float:
        """For how long states have been missing that should have come [s]; 0 where none is missing.

        Args:
            last_state: steady time of the last one [ns].
            steady: now [ns].
            timeout: after which they count as lost, by this clock and by the steady one [ns].
            alone: whether nobody publishes states any more.
        """
        self._time.alone = alone
        return float(self._core.rd_time_lost(self._time, last_state, steady, timeout))


class StateAge:
    """Judges joint states by when they come and by their stamps: one that comes late tells where the arm was.

    States without a stamp, and those of another clock, count from when they come. Since then the machine's
    steady clock counts, which no step of the wall's moves. In simulated time it is as in the control loops: a
    pause loses nothing, a clock that goes on without states does, and so does the end of all who publish
    them; states that go on while the clock stands, or was never given, do not count.

    All times are in ns but for timeouts; ``now`` is the node's clock, ``steady`` the machine's.

    Args:
        simulated: whether the node's clock is a simulator's.
        alone: whether nobody publishes states any more; asked when they are missing.
    """

    def __init__(self, simulated: bool, alone: Callable[[], bool] = lambda: False) -> None:
        self._time = SimulatedTime() if simulated else None
        self._alone = alone
        self._last: int | None = None
        self._delay = 0
        self._astray_since: int | None = None

    def look(self, now: int, steady: int) -> None:
        """Notice what the clock says: a step back has to be seen when it is made."""
        if self._time is not None:
            self._time.tell(now or None, steady)

    def note(self, now: int, steady: int, stamp: int, timeout: float) -> None:
        """A state has come, with this ``stamp`` [ns]; 0: it has none. After ``timeout`` [s] it is too old."""
        self.look(now, steady)
        if self._time is not None:
            if self._time.runs_away(stamp, steady, round(1e9 * timeout)):
                self._astray_since = steady if self._astray_since is None else self._astray_since
                return
            self._time.note_state(stamp)
        elif now - OTHER_CLOCK < stamp:
            self._delay = max(now - stamp, 0)
        else:
            self._delay = 0
        self._last, self._astray_since = steady, None

    def forget(self) -> None:
        """Forget the arm's place; it must be given anew."""
        self._last, self._delay, self._astray_since = None, 0, None

    def seconds(self, now: int, steady: int, timeout: float) -> float:
        """Since the latest state [s], beyond ``timeout`` only where one is missing; infinite before any."""
        self.look(now, steady)
        if self._last is None:
            return math.inf
        if self._time is None:
            return 1e-9 * (steady - self._last + self._delay)
        if self._astray_since is not None:
            return timeout + 1e-9 * (steady - self._astray_since)
        limit = round(1e9 * timeout)
        alone = steady - self._last >= limit and self._alone()
        missing = self._time.lost(self._last, steady, limit, alone)
        return missing or min(self._time.lost(self._last, steady, 0, alone), timeout)

    def objection(self, now: int, steady: int, timeout: float) -> str:
        """Reason for which the arm's place is unknown; empty where the latest state is fresh enough.

        Args:
            now: the present.
            steady: the same.
            timeout: from which age on it is not [s].
        """
        if self._time is not None and not now and (self._last is not None or self._astray_since is not None):
            return "there is no /clock, which use_sim_time asks for"
        if self._last is None:
            return "there is no joint state yet"
        if self._astray_since is not None:
            return "joint states go on while /clock has stood still"
        if 1e-9 * self._delay > timeout >= 1e-9 * (steady - self._last):
            return f"joint states come {1e-9 * self._delay:.3g} s after their stamps"
        return f"no joint state for {timeout:g} s" if self.seconds(now, steady, timeout) > timeout else ""
