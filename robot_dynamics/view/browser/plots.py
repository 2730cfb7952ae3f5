"""Plots that grow while the machine moves: the last seconds of some values."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
import viser
from viser import uplot

from robot_dynamics.view.machine import Chart

COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")


class LivePlot:
    """A chart over time of one value per name, for as many of its names as have one.

    Args:
        server: the page.
        container: where on the page the chart goes.
        order: its place there.
        chart: what it shows.
        window: seconds that are shown.
        height: in pixels.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        container: viser.GuiTabHandle,
        order: float,
        chart: Chart,
        window: float,
        height: int,
    ) -> None:
        self._server, self._container, self._order = server, container, order
        self._description = chart
        self._window, self._height = window, height
        self._names = tuple(chart.factors)
        self._origin: float | None = None
        self._rows: deque[tuple[float, ...]] = deque()
        self._changed = False
        self._chart = self._made()

    def _made(self) -> viser.GuiUplotHandle:
        """The empty chart of the present names."""
        # The chart chooses its range, but never a smaller one.
        span = self._description.least_span
        low, high = ({"pad": 0.1, "soft": soft, "mode": 1} for soft in (-span, span))
        empty = np.zeros(1)
        series = [uplot.Series(label="t [s]")]
        for number, name in enumerate(self._names or ("",)):  # uPlot draws no chart without a curve
            color = COLORS[number % len(COLORS)]
            series.append(uplot.Series(label=name, stroke=color, width=1.5))
        with self._container:
            return self._server.gui.add_uplot(
                tuple(empty for _ in series),
                tuple(series),
                title=self._description.title,
                height=self._height,
                padding=(12, 14, 0, 0),  # the numbers of the topmost and the last tick need room
                legend=uplot.Legend(show=True, live=False),
                scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range={"min": low, "max": high})},
                axes=(uplot.Axis(size=34), uplot.Axis(size=56)),
                order=self._order,
            )

    def add(self, time: float, values: Mapping[str, float]) -> None:
        """Note the SI values at a time [s]. Going back in time, or other names with values, start anew."""
        factors = self._description.factors
        names = tuple(name for name in factors if name in values)
        if not names:
            return
        if names != self._names:
            self._names = names
            self._chart.remove()
            self._chart = self._made()
            self._rows.clear()
        if self._rows and time <= self._rows[-1][0]:
            if time == self._rows[-1][0]:
                return
            self._rows.clear()
        if not self._rows:
            self._origin = time
        self._rows.append((time, *(factors[name] * values[name] for name in names)))
        while time - self._rows[0][0] > self._window:
            self._rows.popleft()
        self._changed = True

    def draw(self) -> None:
        """Send what is new to the browser."""
        if not self._changed or self._origin is None or len(self._rows) < 2:
            return
        self._changed = False
        table = np.array(self._rows).T
        table[0] -= self._origin  # stamps of the wall clock are too long for an axis
        self._chart.data = tuple(np.ascontiguousarray(row) for row in table)
