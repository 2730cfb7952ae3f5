"""Random legal sequences of what operators do to one robot in MuJoCo; hypothesis finds and shortens them.

    make sweep NAME=operators                                     two minutes
    make sweep NAME=operators SWEEP="--minutes 60 --seed 7"

The robots are a UR5, a Panda, a PUMA 560 and platforms of 2 kg, 25 kg and 2 t, at 500 Hz, with the default
parameters until the sequence changes some; declarations may be wrong. ``arm_operator.py`` and
``platform_operator.py`` say what happens to them, and what must hold.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
import warnings
from pathlib import Path

from hypothesis import HealthCheck, seed, settings
from hypothesis import Phase as SearchPhase
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("control", "harness", "model", "sweeps"))

from arm_operator import ArmOperator
from motion_base import platform_mappings
from platform_operator import PlatformOperator
from stop_rigs import PANDA, UR5

ARMS = {"ur5": UR5, "panda": PANDA, "puma": "puma560"}


def machines() -> dict[str, type[RuleBasedStateMachine]]:
    """All operators by the names of their robots."""
    arms = {name: type(f"Operator_{name}", (ArmOperator,), {"robot": file}) for name, file in ARMS.items()}
    platforms = {
        name: type(f"Operator_{name}", (PlatformOperator,), {"mapping": mapping})
        for name, mapping in platform_mappings().items()
    }
    return {**arms, **platforms}


def search(kind: type[RuleBasedStateMachine], examples: int, steps: int, number: int, shorten: bool) -> None:
    """So many sequences of so many events; AssertionError with the one that ends in what must not be."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
        phases=[SearchPhase.generate, *([SearchPhase.shrink] if shorten else [])],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_state_machine_as_test(seed(number)(kind), settings=chosen)  # type: ignore[no-untyped-call]


def play(robot: str, events: str) -> None:
    """Do events to a robot in turn, calls of its operator; AssertionError with the first that must not be."""
    operator = machines()[robot]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for event in ast.parse(events).body:
            exec(f"operator.{ast.unparse(event)}", {"operator": operator})


def main() -> int:
    """Search for so many minutes; 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--robot", choices=sorted(machines()), default=None)
    parser.add_argument("--shorten", action="store_true", help="look for the shortest sequence, in minutes")
    arguments = parser.parse_args()
    end, number, finds, kinds = time.monotonic() + 60.0 * arguments.minutes, arguments.seed, 0, machines()
    while time.monotonic() < end:
        for name, kind in kinds.items():
            if arguments.robot not in (None, name):
                continue
            try:
                search(kind, 15, 15, number, arguments.shorten)
            except AssertionError as error:
                finds += 1
                print(
                    f"seed {number}, {name}: {error}", *getattr(error, "__notes__", []), sep="\n", flush=True
                )
        number += 1
    print(f"{finds} finds in the seeds {arguments.seed} to {number - 1}")
    return int(finds > 0)


if __name__ == "__main__":
    sys.exit(main())
