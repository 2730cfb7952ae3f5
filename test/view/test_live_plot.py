"""Data given to a chart of the page, without a browser."""

import pytest
from ros_harness import free_port

pytest.importorskip("viser", reason="viser serves the page")
from robot_dynamics.view.browser.plots import Curves, History
from robot_dynamics.view.browser.server import open_server
from robot_dynamics.view.machine import Chart, Gauge, effort_chart


@pytest.fixture(scope="module")
def server():
    opened = open_server("127.0.0.1", free_port(), "test", [], lambda reason: None)
    yield opened
    opened.stop()


def curves(server, history, names):
    return Curves(server.gui, server.gui.add_panel().add_tab("Plots"), history, names)


def test_names_without_values_are_left_out_until_they_have_some(server):
    history = History(Chart("error", "mrad", "errors", {"a": 1e3, "b": 1.0}, 0.01), 1.0)
    plot = curves(server, history, ["a", "b"])

    def data():
        plot.draw()
        return [row.tolist() for row in plot._chart.data]

    history.add(5.0, {})
    history.add(5.0, {"a": 0.001, "stranger": 1.0})
    history.add(5.5, {"a": 0.002})
    assert data() == [[0.0, 0.5], [1.0, 2.0]]
    history.add(5.6, {"a": 0.003, "b": 4.0})
    history.add(5.7, {"a": 0.004, "b": 5.0})
    assert data() == [pytest.approx([0.0, 0.1]), [3.0, 4.0], [4.0, 5.0]]
    history.add(6.65, {"a": 0.0, "b": 0.0})
    assert data()[1] == [4.0, 0.0]


def test_efforts_have_units_lines_at_their_limits_and_one_chart_for_each_limb(server):
    gauges = [Gauge(name, "link", None, True, limit, 0.1, 0.01) for name, limit in (("l", 50.0), ("r", 8.0))]
    chart = effort_chart("effort", tuple(gauges))
    history = History(chart, 1.0)
    right = curves(server, history, ["r"])
    history.add(0.0, {"l": 25.0, "r": 4.0})
    history.add(0.5, {"l": 5.0, "r": -8.0})
    right.draw()
    assert [row.tolist() for row in right._chart.data[1:]] == [
        [50.0, -100.0],
        [100.0, 100.0],
        [-100.0, -100.0],
    ]
    labels = [series["label"] for series in right._chart.series]
    assert labels == ["t [s]", "r (8 N·m)", "+100 %", "-100 %"]
    assert chart.unit == "% of limit"


def test_a_robot_without_joints_has_an_empty_chart(server):
    """Of a description in which nothing moves; a chart of no curves would end the page's node."""
    history = History(Chart("error", "mrad", "errors", {}, 0.01), 1.0)
    still = curves(server, history, [])
    history.add(0.0, {"a": 1.0})
    still.draw()
