"""Lee's move by the wall clock with the web view beside it, for people to watch and to play with."""

from __future__ import annotations

import signal
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.ros.demo.arm import NOMINAL, ArmRun, Progress
from robot_dynamics.ros.processes import NodeProcess, claim_domain
from robot_dynamics.ros.web_view import VISITOR

RATE = 200.0
HOST, FIRST_PORT = "127.0.0.1", 8080
VISITOR_TIME = 60.0
"""Seconds for which the move waits for somebody to watch it."""
PATIENCE = 60.0
LOOK = 0.1
"""Seconds between two looks at the processes."""


def run(description: Path, chain: KinematicChain, progress: Progress, say: Callable[[str], None]) -> None:
    """Show the arm in a browser, make the move, and keep the page up until SIGINT or SIGTERM.

    Args:
        description: path of the URDF.
        chain: of that URDF.
        progress: told how far the move is.
        say: prints a line.

    Raises:
        RobotDynamicsError: viser is not installed, or a node ends.
    """
    try:
        from robot_dynamics.view.browser.server import free_port, url_of
    except ImportError as error:
        raise RobotDynamicsError(
            f"the web view needs viser ({error}); from PyPI: pip install 'robot_dynamics[view]'"
        ) from error
    port = free_port(HOST, FIRST_PORT)
    parameters = {
        "robot_description": description.read_text(encoding="utf-8"),
        "host": HOST,
        "port": port,
    }
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with (
            ArmRun(description, chain, RATE, lockstep=False) as arm,
            NodeProcess("robot_dynamics.ros.web_view", claim_domain(), parameters) as page,
        ):
            nodes = (arm.controller, arm.simulator, page)
            _wait(nodes, lambda: url_of(HOST, port) in page.output, PATIENCE)
            say(f"the arm is shown at {url_of(HOST, port)}")
            _open_browser(url_of(HOST, port))
            _wait(nodes, lambda: VISITOR in page.output, VISITOR_TIME)
            recording = arm.run(NOMINAL, progress)
            say(f"Lee's move: largest joint error {recording.largest_error:.2e} rad")
            say("the sliders move the arm; Ctrl-C ends")
            _wait(nodes, lambda: False, None)
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, previous)


def _wait(nodes: tuple[NodeProcess, ...], condition: Callable[[], bool], patience: float | None) -> None:
    """Wait until the condition holds or patience ends; a node that has ended is an error."""
    deadline = None if patience is None else time.monotonic() + patience
    while not condition() and (deadline is None or time.monotonic() < deadline):
        for node in nodes:
            if not node.running:
                raise RobotDynamicsError(f"{node.name} has ended; its output:\n{node.output}")
        time.sleep(LOOK)


def _open_browser(url: str) -> None:
    try:
        webbrowser.get()
    except webbrowser.Error:
        return
    webbrowser.open(url)
