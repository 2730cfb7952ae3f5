"""Result of a tour: joints that moved, tracking errors, and links that were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LARGEST_ERROR = 1e-3
"""Largest accepted tracking error of a joint or leg [rad or m]."""
SHARE_MOVED = 0.5
"""Share of the planned range from which on a joint counts as moved."""


@dataclass(frozen=True)
class TourResult:
    """Result of one tour.

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
        """Reason of the failure; empty when the tour succeeded."""
        off = [name for name, error in self.worst_tracking_error.items() if not error <= LARGEST_ERROR]
        parts = []
        if self.unmoved:
            parts.append(f"did not move: {', '.join(self.unmoved)}")
        if off:
            named = ", ".join(f"{name} {self.worst_tracking_error[name]:.1e}" for name in off)
            parts.append(f"errors above {LARGEST_ERROR:g}: {named}")
        return "; ".join(parts)

    def report(self) -> dict[str, Any]:
        """Mapping for a JSON file."""
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
