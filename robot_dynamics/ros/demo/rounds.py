"""Alternating rounds of a measurement, and what they say together.

Other work on the same machine disturbs one round and not the next; medians of rounds that take turns are
disturbed alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Timing = Mapping[str, Any]
SHOWN = (
    "answer_us_p50",
    "answer_us_p99",
    "answer_us_p99.9",
    "answer_us_max",
    "late_us_p50",
    "late_us_p99",
)
"""What the simulator saw, from state to answer and of its own lateness [µs]."""


def medians(rounds: Sequence[Timing]) -> dict[str, float]:
    """The median of every number over the rounds, and the share of late cycles over all of them."""
    names = [name for name, value in rounds[0].items() if isinstance(value, int | float)]
    result = {name: float(np.median([timing[name] for timing in rounds])) for name in names}
    cycles = sum(timing["cycles"] for timing in rounds)
    result["late_share"] = sum(timing["late_by_a_period"] for timing in rounds) / max(1, cycles)
    return result


def ratios(controller: Timing, relay: Timing) -> dict[str, float]:
    """Percentiles of the answers, as shares of a relay's."""
    return {
        name: round(controller[name] / max(1e-9, relay[name]), 3)
        for name in ("answer_us_p50", "answer_us_p99")
    }


def table(columns: Mapping[str, Timing]) -> str:
    """The medians side by side."""
    width = max(map(len, SHOWN)) + 2
    lines = [" " * width + "".join(f"{title:>16}" for title in columns)]
    for name in SHOWN:
        values = (timing.get(name, float("nan")) for timing in columns.values())
        lines.append(f"{name:<{width}}" + "".join(f"{value:16.5g}" for value in values))
    shares = (100.0 * timing["late_share"] for timing in columns.values())
    lines.append(f"{'late cycles [%]':<{width}}" + "".join(f"{share:16.3f}" for share in shares))
    return "\n".join(lines)
