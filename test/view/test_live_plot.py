"""What a chart of the page is given, without a browser."""

import pytest
from ros_harness import free_port

pytest.importorskip("viser", reason="viser serves the page")
from robot_dynamics.view.browser.plots import LivePlot
from robot_dynamics.view.browser.server import open_server
from robot_dynamics.view.machine import Chart


@pytest.fixture(scope="module")
def plot():
    server = open_server("127.0.0.1", free_port(), "test", [], lambda reason: None)
    tab = server.gui.add_panel().add_tab("Plots")
    yield LivePlot(server, tab, 0.0, Chart("error", "errors", {"a": 1e3, "b": 1.0}, 0.01), 1.0, 100)
    server.stop()


def test_names_without_values_are_left_out_until_they_have_some(plot):
    def data():
        plot.draw()
        return [row.tolist() for row in plot._chart.data]

    plot.add(5.0, {})
    plot.add(5.0, {"a": 0.001, "stranger": 1.0})
    plot.add(5.5, {"a": 0.002})
    assert data() == [[0.0, 0.5], [1.0, 2.0]]
    plot.add(5.6, {"a": 0.003, "b": 4.0})
    plot.add(5.7, {"a": 0.004, "b": 5.0})
    assert data() == [pytest.approx([0.0, 0.1]), [3.0, 4.0], [4.0, 5.0]]
    plot.add(6.65, {"a": 0.0, "b": 0.0})
    assert data()[1] == [4.0, 0.0]


def test_a_robot_without_joints_has_an_empty_chart(plot):
    """Of a description in which nothing moves; a chart of no curves would end the page's node."""
    tab = plot._server.gui.add_panel().add_tab("Still")
    still = LivePlot(plot._server, tab, 0.0, Chart("error", "errors", {}, 0.01), 1.0, 100)
    still.add(0.0, {"a": 1.0})
    still.draw()
