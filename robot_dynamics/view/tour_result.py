"""What came of a tour: which joints moved, how exactly, and what of the machine was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LARGEST_ERROR = 1e-3
"""Of any joint or leg that is still good tracking [rad or m]."""
SHARE_MOVED = 0.5
"""Of the way that the tour plans for a joint, from which on it counts as moved."""


@dataclass(frozen=True)
class TourResult:
    """Of one tour.

    Attributes:
        robot: name.
        root, tip: links of the chain; base and platform of a Stewart platform.
        joints: names of the joints or legs, in order.
        worst_tracking_error: of each, reference minus position at the same stamp [rad or m].
        unmoved: those that did not move as planned.
        links_drawn: names.
        links_not_drawn: reasons, by name.
    """

    robot: str
    root: str
    tip: str
    joints: tuple[str, ...]
    worst_tracking_error: Mapping[str, float]
    unmoved: tuple[str, ...]
    links_drawn: tuple[str, ...]
    links_not_drawn: Mapping[str, str]

    @property
    def failure(self) -> str:
        """What was not as it should be; empty when all was."""
        off = [name for name, error in self.worst_tracking_error.items() if not error <= LARGEST_ERROR]
        parts = []
        if self.unmoved:
            parts.append(f"did not move: {', '.join(self.unmoved)}")
        if off:
            named = ", ".join(f"{name} {self.worst_tracking_error[name]:.1e}" for name in off)
            parts.append(f"errors above {LARGEST_ERROR:g}: {named}")
        return "; ".join(parts)

    def report(self) -> dict[str, Any]:
        """For a JSON file."""
        return {
            "robot": self.robot,
            "root": self.root,
            "tip": self.tip,
            "joints": list(self.joints),
            "worst_tracking_error": dict(self.worst_tracking_error),
            "links_drawn": list(self.links_drawn),
            "links_not_drawn": dict(self.links_not_drawn),
            "verdict": "failed" if self.failure else "ok",
        }
