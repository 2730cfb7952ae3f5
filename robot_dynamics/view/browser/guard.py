"""Keeps other web sites' pages out of the server, and serves the document with what this page adds to it.

viser takes every WebSocket, and offers no way to look at the request first. The library below it does, as an
argument of ``websockets.asyncio.server.serve``; viser's call of that function is the one that is guarded.
Whether it worked is seen by a real request from elsewhere, see :func:`check_guard`.
"""

from __future__ import annotations

import contextlib
import http
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

import websockets.asyncio.server as library

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.view.browser.document import dressed
from robot_dynamics.view.origins import refusal

STRANGER = "http://elsewhere.invalid"
PATIENCE = 5.0
"""Seconds for the server's answer to the request from elsewhere."""
_LOCK = threading.Lock()


def names_of_this_machine() -> set[str]:
    """Names that lead to this machine, without addresses."""
    name = socket.gethostname().lower()
    short = name.partition(".")[0]
    return {"localhost", name, short, f"{short}.local"}


@contextlib.contextmanager
def guarded(
    names: Collection[str], allowed: Collection[str], on_refusal: Callable[[str], None]
) -> Iterator[None]:
    """While this holds, servers are opened that refuse the pages of other web sites.

    Args:
        names: of this machine.
        allowed: further origins.
        on_refusal: called with the reason, called in a thread of the server.
    """
    serve = library.serve

    def serve_own_pages(*args: Any, process_request: Any = None, **options: Any) -> Any:
        def look(connection: library.ServerConnection, request: Any) -> Any:
            origins = request.headers.get_all("Origin")
            origin = ", ".join(origins) if origins else None
            reason = refusal(origin, request.headers.get("Host", ""), names, allowed)
            if reason:
                if origin != STRANGER:
                    on_refusal(reason)
                return connection.respond(http.HTTPStatus.FORBIDDEN, f"{reason}\n")
            return None if process_request is None else dressed(process_request(connection, request))

        return serve(*args, process_request=look, **options)

    with _LOCK:
        library.serve = serve_own_pages  # type: ignore[assignment,misc]
        try:
            yield
        finally:
            library.serve = serve  # type: ignore[misc]


def check_guard(host: str, port: int) -> None:
    """Ask the server for a WebSocket as the page of another web site does.

    Raises:
        RobotDynamicsError: it is not refused.
    """
    request = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {STRANGER}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    try:
        with socket.create_connection((host, port), PATIENCE) as connection:
            connection.sendall(request.encode())
            answer = connection.makefile("rb").readline()
    except OSError as error:
        raise RobotDynamicsError(f"the server on port {port} does not answer: {error}") from error
    if b" 403 " not in answer:
        import viser

        raise RobotDynamicsError(
            "the page is not served, because other web sites could use it to move the robot: viser"
            f" {viser.__version__} answers their requests with {answer.decode(errors='replace').strip()!r}"
        )
