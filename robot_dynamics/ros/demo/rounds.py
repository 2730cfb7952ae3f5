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
    "node_cpu_us",
    "robot_cpu_us",
)
"""Delays from state to answer and of the simulator itself; processor time in a cycle, of who
answers and of the simulator, in all their threads [µs]."""


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
    lines = [" " * width + "".join(f"{title:>18}" for title in columns)]
    for name in SHOWN:
        values = (timing.get(name, float("nan")) for timing in columns.values())
        lines.append(f"{name:<{width}}" + "".join(f"{value:18.5g}" for value in values))
    shares = (100.0 * timing["late_share"] for timing in columns.values())
    lines.append(f"{'late cycles [%]':<{width}}" + "".join(f"{share:18.3f}" for share in shares))
    return "\n".join(lines)


AIMS = {
    ("relay, objects", "answer_us_p50"): 0.7,
    ("relay, objects", "answer_us_p99"): 0.85,
    ("relay, bytes", "answer_us_p50"): 0.9,
}
"""Largest shares of a relay's percentiles that the controller is made for."""
JUDGED = ("controller", "priority", "loaded", "loaded, priority")
"""Columns that the aims are for."""


def aims(columns: Mapping[str, Timing]) -> list[str]:
    """Aims that are met, line by line; it is reported and not judged, for other work disturbs it."""
    lines = []
    for who in [name for name in JUDGED if name in columns]:
        controller = columns[who]
        for (relay, name), most in AIMS.items():
            share = controller[name] / max(1e-9, columns[relay][name])
            met = "met" if share <= most else "missed"
            lines.append(f"{who}, {name}: {share:.2f} of the {relay}, aim {most:g}: {met}")
        late, most_late = controller["late_share"], columns["relay, objects"]["late_share"]
        met = "met" if late <= most_late else "missed"
        lines.append(f"{who}, late cycles: {100 * late:.3f} %, the relay's {100 * most_late:.3f} %: {met}")
    return lines


HELD_UP = 5e-3
"""Lateness of one cycle from which on it is reported beside an error that is too large [s]."""


def tracking_failure(
    error: float, limit: float, controllers: Sequence[Timing], plants: Sequence[Timing]
) -> str:
    """Reason why the tracking is not as it should be; empty when it is.

    Args:
        error: largest of all joints [rad].
        limit: that it must keep [rad].
        controllers: summaries of the controllers.
        plants: summaries of the simulators.
    """
    late = 1e-6 * max(timing["late_us_max"] for timing in plants)
    held_up = f"the computer held the simulator up for as long as {late:.3f} s"
    losses, jumps = (sum(summary[name] for summary in controllers) for name in ("states_lost", "jumps"))
    if losses or jumps:
        return (
            f"states were lost {losses} times and jumped {jumps} times, after which the arm held and the move"
            f" was dropped; {held_up}: this run says nothing about tracking, repeat it with less beside it"
        )
    if error < limit:
        return ""
    failure = f"largest joint error {error:.3g} rad, limit {limit:.3g} rad"
    return failure if late < HELD_UP else f"{failure}; {held_up}, for which an effort stays as it was"
