"""The page's document: viser's own with what is added to it, and nothing else is touched."""

from __future__ import annotations

import gzip

import pytest

pytest.importorskip("viser", reason="viser is not installed")

from websockets.datastructures import Headers
from websockets.http11 import Response

from robot_dynamics.view.browser.document import ADDED, dressed

PAGE = b"<!doctype html><html><head><title>a page</title></head><body></body></html>"


def response(body, kind, coding):
    """As viser answers."""
    headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Encoding": coding}
    return Response(200, "OK", Headers(**headers), body)


@pytest.mark.parametrize(
    ("pack", "unpack", "coding"), [(bytes, bytes, "identity"), (gzip.compress, gzip.decompress, "gzip")]
)
def test_the_document_gets_its_addition_at_the_head_and_its_length(pack, unpack, coding):
    for _ in range(2):
        given = dressed(response(pack(PAGE), "text/html; charset=utf-8", coding))
        assert unpack(given.body) == PAGE.replace(b"<head>", ADDED)
        assert given.headers.get_all("Content-Length") == [str(len(given.body))]
        assert given.headers["Content-Encoding"] == coding


def test_everything_else_stays_as_it_is():
    picture = response(b"<head>", "image/png", "identity")
    assert dressed(picture).body == b"<head>"
    assert dressed(None) is None
