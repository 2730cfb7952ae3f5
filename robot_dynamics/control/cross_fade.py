"""Going over from one law, model or load to another without a step of the effort."""

from __future__ import annotations

from robot_dynamics.spatial import Array


class CrossFade:
    """What efforts still have of a law that has been replaced: a ramp down to nothing."""

    def __init__(self) -> None:
        self._began = 0.0
        self._duration = 0.0
        self._difference: Array | None = None

    def begin(self, time: float, difference: Array, duration: float) -> None:
        """At ``time`` [s] efforts would step by ``-difference``: spread that over ``duration`` [s]."""
        self._difference = difference + self.rest(time)
        self._began, self._duration = time, duration

    def rest(self, time: float) -> Array | float:
        """What to add to the new law's effort at ``time`` [s]."""
        if self._difference is None:
            return 0.0
        share = ramp_down(time - self._began, self._duration)
        if share == 0.0:
            self.end()
            return 0.0
        return share * self._difference

    def end(self) -> None:
        """Go over to the new law at once."""
        self._difference = None


def ramp_down(since: float, duration: float) -> float:
    """Share of a load that is still carried ``since`` seconds after it began to go; 1 to 0 in a line."""
    return max(0.0, 1.0 - since / duration) if duration > 0.0 else 0.0
