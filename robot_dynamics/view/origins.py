"""Check of a request's origin: the server accepts its own pages and no other web site's.

A browser lets every page open a WebSocket to every address, this machine's included, and tells in the header
``Origin`` whose page it is. Programs that are no browsers send none, and could send any.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


def is_origin(text: str) -> bool:
    """Return whether a text is an origin as browsers send it: scheme, host and optional port."""
    split = _split(text)
    return split is not None and split.path == split.query == split.fragment == ""


def refusal(origin: str | None, host: str, names: Collection[str], allowed: Collection[str]) -> str:
    """Reason for refusing a page's request; empty when it is accepted.

    A page that the server itself has served has the origin to which the request goes. That alone does not
    prove it: a web site can let its own name point to this machine's address. So the name must also be one
    of this machine's, or an address, which nobody can let point elsewhere.

    Args:
        origin: header ``Origin``; None when there is none.
        host: header ``Host``.
        names: under which this machine is known.
        allowed: further origins.
    """
    if origin is None or origin.lower() in {one.lower().rstrip("/") for one in allowed}:
        return ""
    page, server = _split(origin), _split(f"http://{host}")
    if page is None or page.hostname is None:
        return f"the page {origin!r} has no address"
    if server is None or (page.hostname, _port(page)) != (server.hostname, _port(server)):
        return f"the page is of {origin}, not of http://{host}"
    if page.hostname not in {name.lower() for name in names} and not _is_address(page.hostname):
        return f"{page.hostname} is no name of this machine"
    return ""


def _split(text: str) -> SplitResult | None:
    try:
        split = urlsplit(text)
        usable = split.scheme in DEFAULT_PORTS and bool(split.hostname) and split.port != 0
    except ValueError:
        return None
    return split if usable and split.username is None else None


def _port(split: SplitResult) -> int | None:
    return split.port or DEFAULT_PORTS[split.scheme]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
