"""Time that is told by a simulator's clock: what a pause is, and what is a fault.

While the clock stands still nothing is lost, however long that takes. States are lost when the clock has gone
on without them, or when nobody is left who publishes them. States that go on while the clock stands still, or
was never told, are a fault: whatever sends them is no simulator in a pause, and nothing would notice its end.

The clock comes by another way than the states, and on a busy machine later than they do. A clock that merely
catches up with the states has not gone on without them.
"""

from __future__ import annotations

import math

LEAD = 1_000_000_000
"""A state whose stamp is further ahead of the clock belongs to another time [ns]."""


class SimulatedTime:
    """Notes what the clock says, and judges states by it; steady times are those of the machine.

    Attributes:
        now: what the clock says [ns]; None until it has said anything.
        alone: whether nobody publishes states any more.
    """

    def __init__(self) -> None:
        self.now: int | None = None
        self.alone = False
        self._moved = 0
        self._at_state: int | None = None
        self._ahead_since: int | None = None

    def tell(self, now: int | None, steady: int) -> None:
        """The clock says ``now``; None where it has said nothing yet."""
        if now is not None and self.now is not None and now < self.now and self._at_state is not None:
            # What has passed since the last state stays: a clock that was set back counts on from there.
            self._at_state += now - self.now
        if now != self.now:
            self.now, self._moved = now, steady

    def stood(self, steady: int) -> float:
        """For how long the clock has not moved [s]; infinite where it was never told."""
        return math.inf if self.now is None else 1e-9 * (steady - self._moved)

    def runs_away(self, stamp: int, steady: int, timeout: int) -> bool:
        """Whether a state cannot be: the clock stands still while states go on.

        That is so when the clock was never told; or when it has stood still, and the stamps of the states
        been ahead of it by more than ``timeout``, for at least so long. States without a stamp are ahead as
        soon as the clock stands; those whose stamp does not advance are repeated by a simulator in a pause,
        and never are.

        Args:
            stamp: of the state [ns]; 0: none.
            steady: time of its arrival [ns].
            timeout: after which states count as lost [ns].
        """
        absent = self.now is None
        stands = absent or steady - self._moved >= timeout
        if not stands or (self.now is not None and stamp != 0 and stamp - self.now <= timeout):
            self._ahead_since = None
            return False
        if self._ahead_since is None:
            self._ahead_since = steady
        return absent or steady - self._ahead_since >= timeout

    def lasts(self, steady: int, timeout: int) -> bool:
        """Whether states have run away for ``timeout`` [ns]: it is no mere matter of who starts first."""
        return self._ahead_since is not None and steady - self._ahead_since >= timeout

    def note_state(self, stamp: int) -> None:
        """A state with this stamp has come [ns]; 0: it has none."""
        self._at_state = None if self.now is None else time_of_state(self.now, stamp)

    def lost(self, last_state: int, steady: int, timeout: int) -> float:
        """For how long states have been missing that should have come [s]; 0 where none is missing.

        Args:
            last_state: steady time of the last one [ns].
            steady: now [ns].
            timeout: after which they count as lost, by this clock and by the steady one [ns].
        """
        passed = 0 if self.now is None or self._at_state is None else self.now - self._at_state
        if steady - last_state < timeout or (not self.alone and passed < timeout):
            return 0.0
        return 1e-9 * (steady - last_state if self.alone else passed)


def time_of_state(now: int, stamp: int) -> int:
    """The simulation's time at which a state came, where the clock says ``now`` and may be late [ns]."""
    return stamp if now < stamp <= now + LEAD else now
