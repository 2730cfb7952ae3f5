"""Sliders of the page, with viser's server and without a browser."""

from __future__ import annotations

import pytest

viser = pytest.importorskip("viser", reason="viser is not installed")

from robot_dynamics.view.browser.panel import CURRENT, HOME, MovePanel  # noqa: E402
from robot_dynamics.view.machine import Coordinate  # noqa: E402

NAMES = ("x", "y")


@pytest.fixture
def panel():
    server = viser.ViserServer(port=0, verbose=False)
    tab = server.gui.add_tab_group().add_tab("Move")
    coordinates = [Coordinate(name, "m", 1.0, -1.0, 1.0, 0.001) for name in NAMES]
    yield MovePanel(server, tab, coordinates, dict.fromkeys(NAMES, 0.0))
    server.stop()


def test_all_sliders_are_at_the_current_pose_before_the_user_moves_one_of_them(panel):
    pose = {"x": 0.2, "y": -0.3}
    panel.follow(pose)
    panel.choose(HOME)
    assert panel.goal == dict.fromkeys(NAMES, 0.0)
    panel.choose(CURRENT)
    assert panel.goal == pytest.approx(pose)
    assert not panel.touched
