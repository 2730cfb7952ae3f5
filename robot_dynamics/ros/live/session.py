"""Processes of ``robot_dynamics view``: controller, simulator and page, in a ROS domain of their own."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from robot_dynamics.ros.running import pacemaker
from robot_dynamics.ros.running.observer import Observer
from robot_dynamics.ros.running.pages import (
    HOST,
    has_browser,
    nodes_end_with_this_process,
    open_browser,
    page_address,
    wait_for,
    wait_for_page,
)
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain
from robot_dynamics.ros.web_view import VISITOR
from robot_dynamics.view.tour_result import TourResult

VISITOR_TIME = 20.0
"""Seconds for which a tour waits for the browser that was opened."""
RATE = 500.0
"""Rate of the control loop in lockstep on a tour, whose errors are judged [Hz]."""
WATCHED = 100.0
"""Rate where sliders move the robot: a fifth of the cycles [Hz]."""

Say = Callable[[str], None]
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class SessionOptions:
    """Choices of a view.

    Attributes:
        port: of the page; None for the first free one.
        realtime: by the wall clock instead of lockstep.
        tour: make the tour.
        leave: end after it.
        browser: open one where there is one.
        parameters: further ROS parameter file of controller and simulator.
    """

    port: int | None = None
    realtime: bool = False
    tour: bool = False
    leave: bool = False
    browser: bool = True
    parameters: Path | None = None


class Exhibit(Protocol):
    """Subject of a view: its nodes, and its tour."""

    name: str

    def processes(self, lockstep: bool, watched: bool) -> Sequence[tuple[str, dict[str, Any]]]:
        """Module below ``robot_dynamics.ros`` and parameters of each node that moves the machine.

        The first one controls: where it takes part in a lockstep, its answers are paced.
        """

    @property
    def paced(self) -> bool:
        """Return whether there is a lockstep at all."""

    def page(self) -> dict[str, Any]:
        """Parameters of the page."""

    def tour(self, observer: Observer, progress: Progress) -> TourResult:
        """Make the tour and judge it."""


@contextmanager
def _told_together(nodes: Sequence[NodeProcess]) -> Iterator[None]:
    """At the end all nodes get their signal before the first of them is waited for."""
    try:
        yield
    finally:
        for node in nodes:
            node.send_signal(signal.SIGINT)


@nodes_end_with_this_process()
def show(exhibit: Exhibit, options: SessionOptions, say: Say, progress: Progress) -> TourResult | None:
    """Start everything, show it, make the tour, and end everything; Ctrl-C ends it at any time.

    Raises:
        RobotDynamicsError: viser is not installed, the port is taken, or a node ends.
    """
    port, url = page_address(options.port)
    lockstep = exhibit.paced and not options.realtime
    # Nobody watches a tour that ends by itself on a machine without a browser: it need not take its time.
    browser = options.browser and has_browser()
    paced = lockstep and not (options.leave and not browser)
    nodes: list[NodeProcess] = []
    with ExitStack() as stack, _told_together(nodes):
        domain = claim_domain()

        def start(module: str, parameters: dict[str, Any], arguments: Sequence[str] = ()) -> NodeProcess:
            node = NodeProcess(f"robot_dynamics.ros.{module}", domain, parameters, arguments)
            nodes.append(stack.enter_context(node))
            return node

        further = ("--params-file", str(options.parameters.resolve())) if options.parameters else ()
        for number, (module, parameters) in enumerate(exhibit.processes(lockstep, not options.tour)):
            start(module, parameters, (*further, *(pacemaker.ARGUMENTS if paced and number == 0 else ())))
        if paced:
            start("running.pacemaker", {})
        page = start("web_view", {"host": HOST, "port": port, **exhibit.page()})
        wait_for_page(nodes, page, url)
        say(f"{exhibit.name} is shown at {url}")
        if browser:
            open_browser(url)
        verdict = None
        if options.tour:
            if browser:
                wait_for(nodes, lambda: VISITOR in page.output, VISITOR_TIME)
            with Observer(domain, nodes) as observer:
                # The tour waits for simulated time, also where the machine rests.
                if paced:
                    observer.set_parameters("pacemaker", {pacemaker.SLOWER_AT_REST: False})
                verdict = exhibit.tour(observer, progress)
                if paced and not options.leave:
                    observer.set_parameters("pacemaker", {pacemaker.SLOWER_AT_REST: True})
        if not options.leave:
            if verdict is not None:
                largest = max(verdict.worst_tracking_error.values())
                say(f"tour: {verdict.failure or f'every joint moved, largest error {largest:.1e}'}")
            say("the sliders move it; Ctrl-C ends")
            wait_for(nodes, lambda: False, math.inf)
    return verdict
