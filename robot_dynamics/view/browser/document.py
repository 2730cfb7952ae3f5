"""Additions to viser's HTML document.

It comes back by itself, draws coarser pictures without a graphics card, its messages cover nothing, and on a
phone the controls take half of the page.
"""

from __future__ import annotations

import gzip
from functools import lru_cache

from websockets.http11 import Response

BACK_BY_ITSELF = """
document.hasFocus = () => !document.hidden;
document.addEventListener("visibilitychange", () => window.dispatchEvent(new Event("focus")));
"""
"""viser looks for a server that went away only while its window has the keyboard; who has started another in
a terminal beside it has the keyboard there. So here a page that can be seen counts."""
COARSE = """
const context = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, options) {
  if (/^webgl/.test(kind) && drawnInSoftware()) options = { ...options, antialias: false };
  return context.call(this, kind, options);
};
let software;
function drawnInSoftware() {
  if (software === undefined) {
    const gl = context.call(document.createElement("canvas"), "webgl");
    const names = gl?.getExtension("WEBGL_debug_renderer_info");
    const renderer = gl?.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
    software = /swiftshader|llvmpipe|softpipe|basic render/i.test(renderer);
    gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }
  return software;
}
const asked = new URLSearchParams(location.search);
if (drawnInSoftware() && !asked.has("fixedDpr")) {
  asked.set("fixedDpr", 0.75 * window.devicePixelRatio);
  history.replaceState(null, "", "?" + asked);
}
"""
"""Smooth edges take half of the time of a picture that the processor draws. viser's own choice of the dots
changes with its load, and with each change the plots would be placed anew; it ends at this value anyway."""
SHEET = """
@media (max-width: 36em) {
  .mantine-Paper-root[style*='bottom: 0'] { width: 100% !important; max-height: 50% !important; }
  .mantine-Paper-root[style*='bottom: 0'] div[style*='width: 20em'] { width: 100% !important; }
}
"""
STRIP = """
:has(> .mantine-Notifications-root) { flex-direction: column; }
.mantine-Notifications-root + :not(.mantine-Notifications-root) { min-height: 0; }
.mantine-Notifications-root { position: static !important; width: auto !important; }
.mantine-Notifications-root { max-width: none !important; }
.mantine-Notification-root { box-shadow: none !important; }
.mantine-Notification-root:not(:hover) .mantine-Notification-description { display: none; }
"""
"""Messages of viser itself stand in a line above the picture; the pointer unfolds them."""
HEAD = b"<head>"
SCRIPT = f"(() => {{{BACK_BY_ITSELF}{COARSE}}})();"
"""Its names are its own: one that the page or a browser's extension has too would end the whole script."""
ADDED = f"{HEAD.decode()}<script>{SCRIPT}</script><style>{STRIP}{SHEET}</style>".encode()


def dressed(response: Response | None) -> Response | None:
    """viser's answer to a request: its document with what is added here, everything else as it is."""
    if response is None or "text/html" not in response.headers.get("Content-Type", ""):
        return response
    body = _with_added(bytes(response.body), "gzip" in response.headers.get("Content-Encoding", ""))
    del response.headers["Content-Length"]
    response.headers["Content-Length"] = str(len(body))
    response.body = body
    return response


@lru_cache(maxsize=2)
def _with_added(body: bytes, zipped: bool) -> bytes:
    text = gzip.decompress(body) if zipped else body
    text = text.replace(HEAD, ADDED, 1)
    return gzip.compress(text) if zipped else text
