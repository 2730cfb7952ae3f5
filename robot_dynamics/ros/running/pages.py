"""Processes with a page that a person watches: its address, its browser, waiting, and an end by signal."""

from __future__ import annotations

import contextlib
import signal
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import NoReturn

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.ros.support.processes import NodeProcess, claim

HOST, FIRST_PORT = "127.0.0.1", 8080
LOOK = 0.1
"""Seconds between two looks at the processes."""
PATIENCE = 300.0
"""Longest wait for a page [s]: imports alone took two minutes on a machine with twenty times too much
to do, and a node that ends is noticed at once."""


@contextlib.contextmanager
def nodes_end_with_this_process() -> Iterator[None]:
    """SIGTERM ends the nodes too, as Ctrl-C does.

    rclpy makes another error of a ``KeyboardInterrupt`` that comes while it calls Python: it is one again.
    """
    interrupted = False

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in previous.items():
        if number == signal.SIGTERM or handler is signal.default_int_handler:
            signal.signal(number, interrupt)
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def page_address(port: int | None = None) -> tuple[int, str]:
    """Port and address of a page on this machine; the first free port where none is given.

    A port so found is kept from other runs, which look for one while this page is about to be served.

    Raises:
        RobotDynamicsError: viser is not installed, or no port is free.
    """
    try:
        from robot_dynamics.view.browser.server import free_port, url_of
    except ImportError as error:
        raise RobotDynamicsError(lacking("the page needs", "viser", reason=str(error))) from error
    chosen = free_port(HOST, FIRST_PORT, lambda free: claim(f"port_{free}")) if port is None else port
    return chosen, url_of(HOST, chosen)


def has_browser() -> bool:
    """Return whether a page can be opened for somebody to see."""
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def open_browser(url: str) -> None:
    """Open a page, where there is a browser."""
    if has_browser():
        webbrowser.open(url)


def wait_for(nodes: Sequence[NodeProcess], condition: Callable[[], bool], patience: float) -> bool:
    """Wait until the condition holds or patience ends, and tell whether it does.

    Raises:
        RobotDynamicsError: a node has ended.
    """
    deadline = time.monotonic() + patience
    while not (met := condition()) and time.monotonic() < deadline:
        for node in nodes:
            if not node.running:
                raise RobotDynamicsError(f"{node.name} has ended; its output:\n{node.output}")
        time.sleep(LOOK)
    return met


def wait_for_page(nodes: Sequence[NodeProcess], page: NodeProcess, url: str) -> None:
    """Wait until a node serves its page.

    Raises:
        RobotDynamicsError: a node has ended, or the page does not come.
    """
    if not wait_for(nodes, lambda: url in page.output, PATIENCE):
        raise RobotDynamicsError(
            f"{page.name} does not serve {url} within {PATIENCE:g} s; its output:\n{page.output}"
        )


def stay(nodes: Sequence[NodeProcess]) -> None:
    """Wait for SIGINT or SIGTERM, or the end of a node, which gets the same Ctrl-C."""
    with contextlib.suppress(KeyboardInterrupt):
        while all(node.running for node in nodes):
            time.sleep(LOOK)
