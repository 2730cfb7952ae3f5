"""Web server of the view."""

from __future__ import annotations

import contextlib
import errno
import math
import socket
import time
from collections.abc import Callable, Collection

import viser

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.view.browser.guard import check_guard, guarded, names_of_this_machine

ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""Host name for a browser on this computer when the server listens on all addresses."""
GLANCE = 16
"""Edge of the picture that proves that a browser draws [pixels]."""
DRAWING_TIME = 30.0
"""Longest wait for that picture [s]."""
PICTURE = (480, 640)
"""Height and width of the pictures that show how fast a browser draws [pixels]."""
LOOKS = 3
"""Number of these pictures, of which the fastest counts: a browser that loads is busy otherwise."""
FAST = 0.12
"""Time in which a browser with a graphics card draws and sends one, beyond a network's delay [s]."""


def open_server(
    host: str,
    port: int,
    title: str,
    allowed_origins: Collection[str] = (),
    on_refusal: Callable[[str], None] = lambda _: None,
) -> viser.ViserServer:
    """A server on exactly this address, which other web sites' pages cannot use.

    Args:
        host: address.
        port: port.
        title: of the page.
        allowed_origins: whose pages may use it beside its own.
        on_refusal: called with the reason when a page is refused, in a thread of the server.

    Raises:
        ParameterError: the address cannot be used; the message names the parameter ``host`` or ``port``.
        RobotDynamicsError: this viser cannot be kept from serving other web sites' pages.
    """
    _check_address(host, port)
    with guarded({*names_of_this_machine(), host}, allowed_origins, on_refusal):
        server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
    if server.get_port() != port:  # viser goes on to the next port when somebody was faster
        server.stop()
        raise _in_use(host, port)
    try:
        check_guard(ANY.get(host, host), port)
    except RobotDynamicsError:
        server.stop()
        raise
    return server


def wait_until_drawn(client: viser.ClientHandle) -> None:
    """Wait until a browser has drawn the scene once, which without a graphics card takes it a while."""
    # A browser that goes away, or whose tab is hidden, is not waited for.
    with contextlib.suppress(RuntimeError, TimeoutError):
        client.get_render(GLANCE, GLANCE, timeout=DRAWING_TIME)


def draws_fast(client: viser.ClientHandle) -> bool:
    """Return whether a browser draws the scene as fast as one with a graphics card."""
    best = math.inf
    for _ in range(LOOKS):
        began = time.monotonic()
        try:
            client.get_render(*PICTURE, timeout=DRAWING_TIME)
        except (RuntimeError, TimeoutError):
            return False
        best = min(best, time.monotonic() - began)
    return best < FAST


def url_of(host: str, port: int) -> str:
    """URL of a server for a browser on this computer."""
    shown = ANY.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


def free_port(host: str, first: int, claim: Callable[[int], bool] = lambda _: True, count: int = 100) -> int:
    """The first free port from ``first`` on of which ``claim`` says that nobody else is about to take it.

    Raises:
        ParameterError: none of ``count`` ports is free.
    """
    for port in range(first, first + count):
        try:
            _check_address(host, port)
        except ParameterError:
            continue
        if claim(port):
            return port
    raise ParameterError(f"no port from {first} to {first + count - 1} on {host} is free")


def _check_address(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ParameterError(f"parameter 'host': {host!r} is no address of this machine") from error
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen(1)
        except PermissionError as error:
            raise ParameterError(
                f"parameter 'port': {port} is for the system's services; choose one from 1024 to 65535"
            ) from error
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise ParameterError(f"parameter 'host': {host!r} is no address of this machine") from error
            raise _in_use(host, port) from error


def _in_use(host: str, port: int) -> ParameterError:
    return ParameterError(f"parameter 'port': {port} on {host} is in use; choose another port")
