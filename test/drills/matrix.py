"""The whole table of drills: which fault is done to which machine, and why not where it is not.

PYTHONPATH=test/harness python test/drills/matrix.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

import drilling
from faults import FAULTS, Fault
from scenes import BY_THE_WALL, COLUMNS, IN_SIMULATED_TIME

DONE = "x"
REQUESTS, STATES, BRAKES = "faults_of_requests", "faults_of_states", "faults_of_safe_states"
CONTACTS = "faults_of_contacts"
"""Modules, which stand for all of their faults."""


@dataclass(frozen=True)
class Reason:
    """Reason for which faults are not applied to robots.

    Attributes:
        text: the reason in words.
        faults: patterns of their names, or of the modules that they are in.
        columns: patterns of the machines' names.
    """

    text: str
    faults: Sequence[str]
    columns: Sequence[str]

    def holds(self, fault: Fault, column: str) -> bool:
        """True if it is why the fault is not done to the machine."""
        names = fault.name, fault.do.__module__
        return any(fnmatch(name, pattern) for name in names for pattern in self.faults) and any(
            fnmatch(column, pattern) for pattern in self.columns
        )


REASONS = (
    Reason("it takes no efforts", ["faults_of_commands"], ["*"]),
    Reason("it has no brakes", [BRAKES], ["arm*", "feeder*", "model*", "simulator"]),
    Reason("it has no reaction to contacts", [CONTACTS], ["platform*", "feeder*", "model*", "simulator"]),
    Reason("its time is the wall's", ["clock_*", "states_without_clock"], BY_THE_WALL),
    Reason("its time is a simulation's", ["wall_clock_*"], IN_SIMULATED_TIME),
    Reason("it sends states and hears none", [STATES, "plant_*", "two_nodes"], ["simulator"]),
    Reason("it follows nothing", ["*trajectories*", "flood_of_holds"], ["model*", "simulator"]),
    Reason("it has no such parameter", ["parameters_in_turn"], ["feeder*", "model*", "simulator"]),
    Reason("its machine is given at its start", ["descriptions_*"], ["platform*"]),
    Reason(
        "as by the wall: requests, senders, and what a state holds, have nothing to do with the clock",
        [REQUESTS, STATES, BRAKES, "two_nodes", "contact_without_states", "springs_without_states"],
        IN_SIMULATED_TIME,
    ),
    Reason("as feeder, which reads states in the same way", [STATES], ["feeder_of_points"]),
    Reason("the test is its plant: states_lost, clock_standing", ["plant_stopped"], ["feeder*", "model*"]),
)


def cell(fault: Fault, column: str) -> str:
    """``x`` where the fault is done to the machine, the letter of a reason where it is not; else empty."""
    if column in fault.columns:
        return DONE
    return next(
        (chr(ord("a") + k) for k, reason in enumerate(REASONS) if reason.holds(fault, column)),
        "",
    )


def main() -> None:
    """Print the table."""
    assert drilling.MODULES  # they have filled it
    for number, column in enumerate(COLUMNS, 1):
        print(f"{number:3} {column}")
    for k, reason in enumerate(REASONS):
        print(f"  {chr(ord('a') + k)} {reason.text}")
    print(" " * 32 + " ".join(f"{number:2}" for number, _ in enumerate(COLUMNS, 1)))
    for fault in FAULTS:
        print(f"{fault.name:32}" + " ".join(f"{cell(fault, column) or '?':>2}" for column in COLUMNS))


if __name__ == "__main__":
    main()
