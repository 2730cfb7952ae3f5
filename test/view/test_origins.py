"""Pages that may talk to the server, and a server that refuses the others."""

from __future__ import annotations

import base64
import http.client

import pytest
from patience import PATIENCE
from ros_harness import free_port

from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.view.origins import is_origin, refusal
from robot_dynamics.view.parameters import WebViewParameters

NAMES = {"localhost", "robot", "robot.local"}


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, "127.0.0.1:8080"),  # no browser
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://localhost:8080", "localhost:8080"),
        ("http://LOCALHOST:8080", "localhost:8080"),
        ("http://localhost:9000", "localhost:9000"),  # through a tunnel
        ("http://[::1]:8080", "[::1]:8080"),
        ("http://192.168.1.7:8080", "192.168.1.7:8080"),
        ("http://robot.local:8080", "robot.local:8080"),
        ("http://robot", "robot:80"),
        ("https://view.example", "127.0.0.1:8080"),  # allowed by the parameter
        ("https://127.0.0.1", "127.0.0.1:443"),
    ],
)
def test_its_own_pages_and_programs_may(origin, host):
    assert refusal(origin, host, NAMES, ["https://view.example/"]) == ""


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example", "127.0.0.1:8080"),
        ("https://evil.example", "localhost:8080"),
        ("http://evil.example:8080", "evil.example:8080"),  # a name that leads here is not enough
        ("http://localhost:8081", "localhost:8080"),  # another server of this machine
        ("http://127.0.0.1:8080", "localhost:8080"),
        ("http://6.6.6.6:8080", "127.0.0.1:8080"),
        ("https://view.example.evil.example", "127.0.0.1:8080"),
        ("http://localhost:8080@evil.example", "localhost:8080"),
        ("http://localhost.evil.example:8080", "localhost:8080"),
        ("http://localhost:8080, http://evil.example", "localhost:8080"),
        ("http://localhost:99999", "localhost:8080"),
        ("null", "127.0.0.1:8080"),
        ("", "127.0.0.1:8080"),
        ("file://", "127.0.0.1:8080"),
        ("http://localhost:8080", ""),
    ],
)
def test_pages_of_other_web_sites_may_not(origin, host):
    assert refusal(origin, host, NAMES, ["https://view.example"])


def test_only_origins_can_be_allowed():
    assert is_origin("https://view.example") and is_origin("http://robot:9000")
    for text in ("view.example", "https://view.example/page", "ftp://view.example", "http://", "*"):
        assert not is_origin(text)
        with pytest.raises(ParameterError, match="allowed_origins"):
            WebViewParameters(allowed_origins=(text,))


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("viser", reason="viser is not installed")
    from robot_dynamics.view.browser.server import open_server

    port = free_port()
    reasons = []
    opened = open_server("127.0.0.1", port, "test", ["https://view.example"], reasons.append)
    yield port, reasons
    opened.stop()


def answer(port, origin, host=None, upgrade="websocket"):
    """Status of the answer to a request for a WebSocket."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.putrequest("GET", "/", skip_host=True)
    headers = {
        "Host": host or f"127.0.0.1:{port}",
        "Upgrade": upgrade,
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
        "Sec-WebSocket-Protocol": "viser-v0",
    }
    for name, value in headers.items():
        connection.putheader(name, value)
    for value in [origin] if isinstance(origin, str) else origin or []:
        connection.putheader("Origin", value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_server_takes_web_sockets_of_its_own_pages_alone(server):
    port, reasons = server
    assert answer(port, f"http://127.0.0.1:{port}") == 101
    assert answer(port, f"http://localhost:{port}", host=f"localhost:{port}") == 101
    assert answer(port, "https://view.example") == 101
    assert answer(port, None) == 101
    assert reasons == []
    for origin in ("http://evil.example", f"http://127.0.0.1:{port + 1}", "null"):
        assert answer(port, origin) == 403
        assert origin in reasons[-1]
    assert answer(port, f"http://evil.example:{port}", host=f"evil.example:{port}") == 403
    assert "evil.example is no name of this machine" in reasons[-1]
    assert answer(port, [f"http://127.0.0.1:{port}", "http://evil.example"]) == 403
    assert answer(port, "http://evil.example", upgrade="WebSocket") == 403


def test_a_server_that_cannot_be_guarded_is_not_opened(monkeypatch):
    """As with a viser that serves by other means."""
    pytest.importorskip("viser", reason="viser is not installed")
    from robot_dynamics.view.browser import guard, server

    port = free_port()
    monkeypatch.setattr(guard, "refusal", lambda *_: "")
    with pytest.raises(RobotDynamicsError, match="other web sites could use it"):
        server.open_server("127.0.0.1", port, "test")
