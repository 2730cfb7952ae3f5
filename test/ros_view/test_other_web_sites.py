"""A web site that is open in the same browser cannot use the page's server; the page itself can."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading

import pytest
from live_page import Page, web_view
from ros_harness import peer_with

viser = pytest.importorskip("viser", reason="viser is not installed")
pytestmark = pytest.mark.ros

OPEN = """
const done = arguments[arguments.length - 1];
const socket = new WebSocket(arguments[0], "viser-v" + arguments[1]);
socket.onopen = () => { done("open"); socket.close(); };
socket.onerror = () => done("refused");
"""


@contextlib.contextmanager
def other_web_site(folder):
    """The address of a page of another server on this machine."""
    (folder / "index.html").write_text("<title>elsewhere</title>", encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    ) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_another_web_site_in_the_browser_is_refused_and_the_log_says_so(browser, tmp_path):
    view, address = web_view("/five", machine="stewart_demo")
    socket = address.replace("http", "ws")
    with other_web_site(tmp_path) as elsewhere, peer_with(view) as peer:
        Page(peer, browser, address)  # its own page has come up, over a socket of its own
        assert browser.execute_async_script(OPEN, socket, viser.__version__) == "open"
        browser.get(elsewhere)
        assert browser.execute_async_script(OPEN, socket, viser.__version__) == "refused"
        view.wait_for_output(rf"request is refused: the page is of {elsewhere}, not of {address.rstrip('/')}")
        assert view.running


def test_a_web_site_that_is_allowed_may(browser, tmp_path):
    with other_web_site(tmp_path) as elsewhere:
        view, address = web_view("/six", machine="stewart_demo", allowed_origins=[elsewhere])
        with peer_with(view):
            view.wait_for_output("is shown at")
            browser.get(elsewhere)
            socket = address.replace("http", "ws")
            assert browser.execute_async_script(OPEN, socket, viser.__version__) == "open"
