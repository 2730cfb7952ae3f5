"""Brakes of arms and platforms: their command, and the efforts beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array

ALL, FALLING, RISING = range(len(enumerators("rd_brakes")))
"""Changes of the efforts' share beside brakes, in the order of the core's enumeration."""
SLIPPING = "its brakes slip: the efforts carry it until ~/unpark"
"""State of a robot that has moved on engaged brakes."""
RETURN = 0.05
"""Time in which the efforts come back where the robot moves on engaged brakes [s]."""
GIVING_WAY = 2.5
"""Distance for which brakes may give way while they take over the load, times that of later."""
ROUNDING = 1e-9
"""A smaller share of the efforts is none."""


@dataclass(frozen=True)
class BrakeParameters:
    """Delays of brakes."""

    brake_engage_time: float = parameter(
        0.1,
        "Brake engagement delay; the efforts carry the robot until then",
        unit="s",
        minimum=0.0,
        maximum=10.0,
    )
    brake_release_time: float = parameter(0.1, "Brake release delay", unit="s", minimum=0.0, maximum=10.0)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class BrakeTiming:
    """Delays of brakes, and of the efforts beside them.

    Attributes:
        engage: from the command until they hold; the efforts carry so long [s].
        release: from the command until they have let go [s].
        fade: how long efforts fade and rise [s].
    """

    engage: float
    release: float
    fade: float


class Brakes:
    """The command to the brakes, and the share of the efforts that goes with it.

    One of both carries the weight at any time. Engaged at t: the efforts stay until t + engage and are gone
    at t + engage + fade. Released at t: the efforts have risen at t + fade, then the command goes out, and at
    t + fade + release the robot may move. Where a machine has no brakes, the stops on which it rests carry
    it.

    A driver that reports the state of its brakes is believed: efforts carry as long as engaged brakes are
    released, and a robot may move when released brakes are. Both times count from the report.

    Attributes:
        timing: delays; replaceable.
        engaging: whether they are to hold.
        since: time from which the efforts' share counts [s]; minus infinity: always.
        reported: state of which the driver knows: engaged; None where nobody reports it.

    Args:
        timing: delays.
        parked: whether the robot rests on them to begin with.
        reported: see the attribute.
    """

    def __init__(self, timing: BrakeTiming, parked: bool = False, reported: bool | None = None) -> None:
        self.timing = timing
        self.engaging = parked
        self.reported = reported
        self.since = -math.inf
        self._now = -math.inf
        self._place: Array | None = None
        self._fading = False
        self._slipped = math.nan

    def advance(self, time: float) -> None:
        """Note the present ``time`` [s]; after a step back, what has begun goes on from where it was."""
        if time < self._now:
            self.since += time - self._now
            self._slipped += time - self._now
        self._now = time

    def engage(self, time: float) -> None:
        """Brake at ``time`` [s]; efforts that have not risen yet go down from where they are."""
        if not self.engaging:
            missing = 1.0 - self.share(time)
            # Where anything is missing the brakes have held all the time.
            held = self.timing.engage + missing * self.timing.fade if missing > ROUNDING else 0.0
            self.engaging, self.since = True, time - held

    def engage_again(self, time: float) -> None:
        """Brake at ``time`` [s] although the brakes were to hold already: with all efforts, at once."""
        if self.engaging:
            self.since, self._slipped = time, math.nan

    def watch(self, time: float, position: Array, most: float) -> None:
        """Bring the efforts back, until a release, where the robot moves on brakes that should hold it.

        Args:
            time: [s].
            position: (n,) measured [rad or m].
            most: distance that brakes may give way without the efforts [rad or m].
        """
        share = self.share(time)
        if not self.engaging or self.slips or share >= 1.0:
            self._place = None
        elif self._place is not None and np.abs(position - self._place).max() > most * (
            GIVING_WAY if self._fading else 1.0
        ):
            self._slipped = time - share * RETURN
        elif self._place is None or (self._fading and share <= 0.0):
            self._place, self._fading = position.copy(), share > 0.0

    @property
    def slips(self) -> bool:
        """True while the efforts carry the robot because it has moved on engaged brakes."""
        return not math.isnan(self._slipped)

    def release(self, time: float) -> None:
        """Let go at ``time`` [s]; efforts that have not faded yet go up from where they are."""
        if self.engaging:
            self.since = time - self.share(time) * self.timing.fade
            self.engaging, self._slipped = False, math.nan

    def report(self, engaged: bool | None, time: float) -> None:
        """The driver reports at ``time`` [s] whether its brakes are engaged; None: it reports no more."""
        carried = self.carried
        self.reported = engaged
        if carried and self.engaging:
            # They hold only now; or they are to hold after the usual time, as far as anybody knows.
            self.since = time - self.timing.engage if engaged else time

    @property
    def carried(self) -> bool:
        """True while the brakes shall hold, but their driver reports that they do not."""
        return self.engaging and self.reported is False

    def forget(self) -> None:
        """End the release: the efforts are all there at any time."""
        self.since, self._slipped = -math.inf, math.nan

    def engaged(self, time: float) -> bool:
        """The command at ``time`` [s]."""
        return self.engaging or time < self.since + self.timing.fade

    def share(self, time: float) -> float:
        """Share of the efforts at ``time`` [s], 0 to 1."""
        since, timing = time - self.since, self.timing
        if self.carried:
            return 1.0
        if self.slips:
            return 1.0 - _falling(time - self._slipped, RETURN)
        if self.engaging:
            return _falling(since - timing.engage, timing.fade)
        return 1.0 - _falling(since, timing.fade)

    def fields(self) -> tuple[int, float, float]:
        """Change of the efforts' share, its beginning and its duration, as the core's settings have them."""
        if self.carried:
            return ALL, self.since, self.timing.fade
        if self.slips:
            return RISING, self._slipped, RETURN
        kind = FALLING if self.engaging else RISING if math.isfinite(self.since) else ALL
        return kind, self.since + self.timing.engage if self.engaging else self.since, self.timing.fade

    def free(self, time: float) -> bool:
        """Check whether the robot may move at ``time`` [s]."""
        if self.engaging or self.reported:
            return False
        return self.reported is False or time >= self.since + self.timing.fade + self.timing.release


def _falling(since: float, duration: float) -> float:
    """1 until the beginning, 0 from ``duration`` on."""
    if duration <= 0.0:
        return 1.0 if since < 0.0 else 0.0
    return min(1.0, max(0.0, 1.0 - since / duration))
