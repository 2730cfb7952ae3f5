"""Runs faults of the table on a machine and tells what came of them."""

from __future__ import annotations

import time

import faults_of_clocks
import faults_of_commands
import faults_of_contacts
import faults_of_processes
import faults_of_requests
import faults_of_safe_states
import faults_of_states
from faults import FAULTS, Fault
from invariants import Verdict
from machines import MAX_EFFORT_STEP
from scene import Scene

MODULES = (
    faults_of_states,
    faults_of_requests,
    faults_of_commands,
    faults_of_contacts,
    faults_of_safe_states,
    faults_of_clocks,
    faults_of_processes,
)
"""Modules that fill the table; the faults that kill processes come last."""

ORDER = [module.__name__ for module in MODULES]


def faults_for(column: str, quick: bool) -> list[Fault]:
    """Rows of the table that a machine is drilled with."""
    mine = [fault for fault in FAULTS if column in (fault.quick if quick else fault.columns)]
    return sorted(mine, key=lambda fault: ORDER.index(fault.do.__module__))


def drill(scene: Scene, fault: Fault) -> Verdict:
    """Do one fault to a machine that moves, see it at work again, and judge what was seen since."""
    began = time.monotonic()
    scene.move()
    fault.do(scene)
    scene.recover()
    return scene.judge(began, MAX_EFFORT_STEP)
