"""The part of the core's header that is a platform's, in Python's words."""

from __future__ import annotations

MODES = ("computed_force", "feedforward")
"""Laws of a platform, in the order of their enumeration."""
BEYOND = 6
"""The discontinuity of a leg that is beyond a limit is this, six times the kind, and the leg."""
TOLD = {"pose": 7, "twist": 6, "rates": 6, "disturbance": 6, "condition": 1}
"""What a platform tells beside what a core does, and how many values each takes."""
