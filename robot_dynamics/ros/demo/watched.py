"""Arm and platform with the web view beside them, for people to watch.

Both move in lockstep, no faster than the clock on the wall (see ``pacemaker``): a browser that takes the
processors makes the motion slower, and never less exact.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.ros.demo import stewart, yielding
from robot_dynamics.ros.demo.arm import NOMINAL, ArmRun, Progress
from robot_dynamics.ros.demo.measured import summary
from robot_dynamics.ros.demo.outcome import DemoOutcome, Limits, judge
from robot_dynamics.ros.running import pacemaker
from robot_dynamics.ros.running.observer import Observer
from robot_dynamics.ros.running.pages import (
    HOST,
    nodes_end_with_this_process,
    open_browser,
    page_address,
    wait_for,
    wait_for_page,
)
from robot_dynamics.ros.running.pages import stay as keep_up
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain
from robot_dynamics.ros.web_view import VISITOR

ARM_RATE, PLATFORM_RATE = 100.0, 200.0
"""Of the control loops [Hz]: Lee's, and one that leaves time for a browser beside it."""
SLOW = 0.9
"""Share of real time below which the outcome tells why."""
VISITOR_TIME = 60.0
"""Seconds for which the arm waits for somebody to watch it, and the platform for them to come back."""
WITHOUT_SLOWER_REST = {pacemaker.SLOWER_AT_REST: False}
"""The scenes wait in simulated time, for a robot that rests too."""
NICENESS = 5
"""Of the page: the loops that it shows come first."""


@nodes_end_with_this_process()
def run(
    description: Path,
    chain: KinematicChain,
    folder: Path,
    limits: Limits,
    progress: Progress,
    say: Callable[[str], None],
    stay: bool,
) -> DemoOutcome:
    """Show the arm's move in a browser, its joints as springs, then the platform's motion on the same page.

    Args:
        description: path of the URDF.
        chain: of that URDF.
        folder: for the plots.
        limits: of the errors.
        progress: called with the share of a motion.
        say: prints a line.
        stay: keep the platform's page up until SIGINT or SIGTERM.

    Raises:
        RobotDynamicsError: viser is not installed, or a node ends.
    """
    port, url = page_address()
    address = {"host": HOST, "port": port}
    urdf = {"robot_description": description.read_text(encoding="utf-8")}
    with (
        _node("pacemaker", WITHOUT_SLOWER_REST) as pace,
        ArmRun(description, chain, ARM_RATE, lockstep=True, arguments=pacemaker.ARGUMENTS) as arm,
        _node("web_view", {**address, **urdf}) as page,
    ):
        nodes = (arm.controller, arm.simulator, pace, page)
        wait_for_page(nodes, page, url)
        say(f"the arm is shown at {url}")
        open_browser(url)
        seen = {"arm": wait_for(nodes, lambda: VISITOR in page.output, VISITOR_TIME)}
        recording = arm.run(NOMINAL, progress)
        say(f"Lee's move: largest joint error {recording.largest_error:.2e} rad")
        yields = yielding.run(arm, progress, say)
    speeds = {"arm": _speed(pace)}
    # The same address: the browser finds the platform where it has lost the arm.
    with (
        _node("pacemaker", WITHOUT_SLOWER_REST) as pace,
        _node("web_view", {**address, "machine": stewart.MACHINE}) as page,
    ):

        def before(nodes: stewart.Nodes) -> None:
            wait_for_page((*nodes, pace, page), page, url)
            say(f"the platform is shown at {url}")
            patience = VISITOR_TIME if seen["arm"] else 0.0
            seen["platform"] = wait_for((*nodes, pace, page), lambda: VISITOR in page.output, patience)

        def after(nodes: stewart.Nodes, observer: Observer) -> None:
            if stay:
                observer.set_parameters("pacemaker", {pacemaker.SLOWER_AT_REST: True})
                say("the sliders move the platform; Ctrl-C ends")
                keep_up((*nodes, pace, page))

        shown = stewart.run(progress, PLATFORM_RATE, pacemaker.ARGUMENTS, before, after)
    speeds["platform"] = _speed(pace)
    outcome = judge({NOMINAL.key: recording}, shown, folder, limits)
    results = {**outcome.results, "watched": all(seen.values()), "drawn": seen, "real_time_share": speeds}
    results["yields"] = {name: getattr(yields, name).tolist() for name in ("way", "stiffer", "left")}
    findings = "\n".join((yields.line, *_unseen(seen), _pace(speeds)))
    return dataclasses.replace(outcome, table=f"{outcome.table}\n\n{findings}", results=results)


@contextlib.contextmanager
def _node(name: str, parameters: Mapping[str, Any] | None = None) -> Iterator[NodeProcess]:
    """A node beside the loop that it shows or paces; the page gives way to it."""
    module = "web_view" if name == "web_view" else f"running.{name}"
    with NodeProcess(f"robot_dynamics.ros.{module}", claim_domain(), parameters) as node:
        if name == "web_view":
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, node.pid, NICENESS)
        yield node


def _speed(pace: NodeProcess) -> float:
    """Simulated time over time on the wall."""
    return float(summary(pace)["real_time_share"])


def _unseen(seen: Mapping[str, bool]) -> list[str]:
    """Names of what moved before a browser had drawn it."""
    return [f"no browser had drawn the {what} when it moved" for what, drawn in seen.items() if not drawn]


def _pace(speeds: Mapping[str, float]) -> str:
    """Speed at which it was shown, and the reason when that was slow."""
    shares = ", ".join(f"{name} {100 * min(1.0, share):.0f} %" for name, share in speeds.items())
    text = f"shown at a speed, of real time: {shares}"
    if min(speeds.values()) < SLOW:
        text += (
            "\nThis machine was too busy for more, as it is when a browser draws without a graphics card;"
            "\nin simulated time the errors do not depend on that."
        )
    return text
