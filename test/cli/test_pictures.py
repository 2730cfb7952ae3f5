"""Layout of pictures."""

import numpy as np
import pytest

from robot_dynamics.report.plots import legend_below, panels

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_a_legend_stands_below_all_panels():
    figure, grid = panels(5, "Title", "N·m")
    for axes in grid:
        axes.plot([0.0, 1.0], [0.0, 1000.0], label="measured")
        axes.set_title("joint")
    legend_below(figure, grid[0])
    figure.draw_without_rendering()
    width, height = figure.bbox.width, figure.bbox.height
    panes = np.array([axes.get_tightbbox().extents for axes in grid])
    legend = figure.legends[0].get_window_extent()
    assert legend.y0 >= 0.0 and legend.y1 <= panes[:, 1].min()
    assert (panes >= 0.0).all() and (panes[:, 2] <= width).all() and (panes[:, 3] <= height).all()
    apart = panes[1:3, 0] - panes[0:2, 2]
    assert (apart >= 0.0).all()
