"""Page with a slider along a verified path, for ``robot_dynamics check --view``."""

from __future__ import annotations

import io
import time
import webbrowser
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.cli import streams
from robot_dynamics.control.arm.path_check import QUANTITIES, PathVerdict, shares_along

if TYPE_CHECKING:
    from robot_dynamics.control.arm.actuators import ActuatedArm
    from robot_dynamics.control.arm.path_rules import PathRules
    from robot_dynamics.control.spline import QuinticSpline
    from robot_dynamics.model.chain import KinematicChain
    from robot_dynamics.spatial import Array
    from robot_dynamics.view.path_samples import PathSamples

HOST, FIRST_PORT = "127.0.0.1", 8080
SAMPLES = 2000
"""Evenly distributed samples of a path; those of the worst values come beside them."""


def samples_of(
    chain: KinematicChain,
    model: ActuatedArm,
    spline: QuinticSpline,
    efforts: Array,
    rules: PathRules,
    verdict: PathVerdict,
) -> PathSamples:
    """Samples of a path, at its worst moments too."""
    from robot_dynamics.view.path_samples import PathSamples

    worst = [one.time for one in verdict.findings]
    since = np.unique(np.concatenate((np.linspace(0.0, verdict.duration, SAMPLES), worst)))
    positions, needed, shares = shares_along(chain, model, spline, efforts, rules, spline.times[0] + since)
    for one in verdict.findings:  # what is proven counts, as in the table
        k, j = int(np.searchsorted(since, one.time)), chain.joint_names.index(one.joint)
        kind = QUANTITIES.index(one.quantity)
        shares[kind, k, j] = max(shares[kind, k, j], one.share)
    return PathSamples(chain.joint_names, QUANTITIES, since, positions, needed, shares)


def show_path(
    chain: KinematicChain,
    source: str | bytes,
    samples: PathSamples,
    efforts: Array,
    verdict: PathVerdict,
    port: int | None,
    browser: bool,
) -> None:
    """Serve the page until Ctrl-C.

    Args:
        chain: the arm.
        source: path or XML text of its description.
        samples: of the path.
        efforts: (n,) effort limits [N·m or N].
        verdict: about the path.
        port: of the page; None: the first free one.
        browser: whether to open one.
    """
    from robot_dynamics.view.browser.path_page import FRAME, PathPage
    from robot_dynamics.view.browser.server import free_port, open_server, url_of
    from robot_dynamics.view.mesh_files import unreadable
    from robot_dynamics.view.robot_geometry import read_robot

    folder = None if isinstance(source, bytes) else Path(source).resolve().parent
    geometry = read_robot(source, folder, unreadable)
    with redirect_stdout(io.StringIO()):  # viser prints its address, too
        server = open_server(
            HOST, free_port(HOST, FIRST_PORT) if port is None else port, f"path of {chain.name}"
        )
    try:
        tips = [tip.link for tip in chain.tips]
        kept = not verdict.exceeded
        page = PathPage(server, geometry, tips, samples, efforts, verdict.sentence, kept)
        url = url_of(HOST, server.get_port())
        streams.note(f"robot_dynamics: the path is at {url}; Ctrl-C ends")
        if browser:
            with suppress(webbrowser.Error):
                webbrowser.get().open(url)
        before = time.monotonic()
        while True:
            time.sleep(FRAME)
            now = time.monotonic()
            page.play(now - before)
            before = now
    except KeyboardInterrupt:
        pass
    finally:
        with redirect_stdout(io.StringIO()):
            server.stop()
