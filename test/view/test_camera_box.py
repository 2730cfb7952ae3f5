"""Box of space that the cameras of the web view see."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")
from robot_dynamics.view.browser.stage import AT_REST, CameraBox

LOW, HIGH = np.array([-0.1, -0.1, 0.0]), np.array([0.1, 0.1, 0.5])


def holds(box, low, high):
    return (box[0] <= low + 0.005).all() and (box[1] >= high - 0.005).all()


def test_a_box_widens_where_the_robot_leaves_it_and_narrows_when_it_rests_folded():
    """After a tour a small arm stayed small in the picture."""
    camera_box = CameraBox(LOW, HIGH)
    now = 0.0
    for reach in np.linspace(0.1, 1.0, 20):
        now += 0.2
        stretched = HIGH + np.array([reach, 0.0, 0.0])
        assert holds(camera_box.include(LOW, stretched, now), LOW, stretched)
    wide = camera_box.box
    # Folded again: while it moves, nothing changes.
    for reach in np.linspace(1.0, 0.0, 20):
        now += 0.2
        assert camera_box.include(LOW, HIGH + np.array([reach, 0.0, 0.0]), now) is wide
    assert camera_box.include(LOW, HIGH, now + 0.9 * AT_REST) is wide
    narrow = camera_box.include(LOW, HIGH, now + 1.1 * AT_REST)
    assert holds(narrow, LOW, HIGH)
    assert np.linalg.norm(narrow[1] - narrow[0]) < 0.75 * np.linalg.norm(wide[1] - wide[0])
    # And this is not repeated.
    for later in np.arange(2.0, 30.0):
        assert camera_box.include(LOW, HIGH, now + later * AT_REST) is narrow


def test_a_robot_that_fills_its_box_changes_nothing():
    camera_box = CameraBox(LOW, HIGH)
    first = camera_box.box
    for now in np.arange(0.0, 20.0, 0.2):
        sway = 0.001 * np.sin(now)
        assert camera_box.include(LOW + 0.01, HIGH - 0.01 + sway, now) is first
