"""What a controller notices about the joint states: their pace, and steps that no motion explains."""

from __future__ import annotations

import numpy as np

from robot_dynamics.spatial import Array


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


class JumpDetector:
    """Notices states that no motion can have reached: a simulation was reset, an encoder was zeroed."""

    STEP = 0.05
    """A smaller step is left to the feedback [rad or m]."""
    ACCELERATION = 500.0
    """More than any machine reaches [rad/s² or m/s²]."""
    SPEED_MARGIN = 3.0

    def __init__(self) -> None:
        self._time = -np.inf
        self._position: Array | None = None
        self._speed: Array | None = None

    def add(self, time: float, position: Array, velocity: Array) -> str:
        """Note a state at ``time`` [s]; why the machine cannot have come here from the last one, if so."""
        reason = ""
        if time < self._time:
            reason = f"time ran backwards by {self._time - time:.3f} s"
        if self._position is not None and self._speed is not None and time > self._time:
            elapsed = time - self._time
            reach = elapsed * (self.SPEED_MARGIN * self._speed + 0.5 * self.ACCELERATION * elapsed)
            step = np.abs(position - self._position)
            if (step > self.STEP + reach).any():
                reason = f"a joint jumped by {step.max():.3f} rad or m in {elapsed:.3f} s"
        self._time, self._position, self._speed = time, position, np.abs(velocity)
        return reason
