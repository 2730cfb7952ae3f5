"""Brakes and forces one after the other, so that one of them always carries the weight."""

from __future__ import annotations

import math
from dataclasses import dataclass

ROUNDING = 1e-9
"""A smaller share of the forces is none."""


@dataclass(frozen=True)
class BrakeTiming:
    """How long brakes take.

    Attributes:
        engage: from the command until they hold; the forces carry so long [s].
        release: from the command until they hold no more [s].
        fade: how long forces fade and rise [s].
    """

    engage: float
    release: float
    fade: float


class Brakes:
    """The command to the brakes, and the share of the forces that goes with it.

    Engaged at t: the forces stay until t + engage and are gone at t + engage + fade. Released at t: the
    forces have risen at t + fade, then the command goes out, and at t + fade + release the platform may move.
    Where a machine has no brakes, the stops on which it rests carry it.

    Attributes:
        timing: see there; replaceable.
        engaging: whether they are to hold.
        since: from when on the forces' share counts [s]; minus infinity: always.

    Args:
        timing: see there.
        parked: whether the platform rests on them to begin with.
    """

    def __init__(self, timing: BrakeTiming, parked: bool = False) -> None:
        self.timing = timing
        self.engaging = parked
        self.since = -math.inf
        self._now = -math.inf

    def tell(self, time: float) -> None:
        """It is ``time`` [s] now; where that was set back, what is under way counts on from where it was."""
        if time < self._now:
            self.since += time - self._now
        self._now = time

    def engage(self, time: float) -> None:
        """Brake at ``time`` [s]; forces that have not risen yet go down from where they are."""
        if not self.engaging:
            missing = 1.0 - self.share(time)
            # Where anything is missing the brakes have held all the time.
            held = self.timing.engage + missing * self.timing.fade if missing > ROUNDING else 0.0
            self.engaging, self.since = True, time - held

    def release(self, time: float) -> None:
        """Let go at ``time`` [s]; forces that have not faded yet go up from where they are."""
        if self.engaging:
            self.since = time - self.share(time) * self.timing.fade
            self.engaging = False

    def forget(self) -> None:
        """Long since let go: the forces are all there at any time."""
        self.since = -math.inf

    def engaged(self, time: float) -> bool:
        """The command at ``time`` [s]."""
        return self.engaging or time < self.since + self.timing.fade

    def share(self, time: float) -> float:
        """Of the forces, at ``time`` [s]."""
        since, timing = time - self.since, self.timing
        if self.engaging:
            return _falling(since - timing.engage, timing.fade)
        return 1.0 - _falling(since, timing.fade)

    def free(self, time: float) -> bool:
        """Whether the platform may move at ``time`` [s]."""
        return not self.engaging and time >= self.since + self.timing.fade + self.timing.release


def _falling(since: float, duration: float) -> float:
    """1 until the beginning, 0 from ``duration`` on."""
    if duration <= 0.0:
        return 1.0 if since < 0.0 else 0.0
    return min(1.0, max(0.0, 1.0 - since / duration))
