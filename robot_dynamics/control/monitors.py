"""What a controller notices about the pace of the joint states."""

from __future__ import annotations


class PeriodMeter:
    """Follows the time between two states, which is the control period."""

    LONGEST = 0.2
    """A longer time between two states is a gap, not a control period [s]."""
    SMOOTHING = 0.05

    def __init__(self) -> None:
        self.period = 0.0

    def add(self, elapsed: float) -> None:
        """Note the time since the last state [s]; a gap or a repeated state says nothing."""
        if not self.LONGEST > elapsed > 0.0:
            return
        if not 0.5 < self.period / elapsed < 2.0:
            self.period = elapsed
        self.period += self.SMOOTHING * (elapsed - self.period)
