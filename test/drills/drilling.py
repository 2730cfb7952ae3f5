"""Runs faults of the table on a machine and tells what came of them."""

from __future__ import annotations

import time

import faults_of_clocks
import faults_of_processes
import faults_of_requests
import faults_of_states
from faults import FAULTS, Fault
from invariants import Verdict
from scenes import Scene

MODULES = (faults_of_processes, faults_of_states, faults_of_requests, faults_of_clocks)
"""Which have filled the table."""


def faults_for(column: str, quick: bool) -> list[Fault]:
    """Rows of the table that a machine is drilled with."""
    return [fault for fault in FAULTS if column in (fault.quick if quick else fault.columns)]


def drill(scene: Scene, fault: Fault) -> Verdict:
    """Do one fault to a machine that moves, see it at work again, and judge what was seen since."""
    began = time.monotonic()
    scene.move()
    fault.do(scene)
    scene.recover()
    return scene.judge(began, fault.step)
