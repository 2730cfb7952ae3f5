"""Plots that grow while the machine moves: the last seconds of some values."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

import numpy as np
import viser
from viser import uplot

from robot_dynamics.view.machine import Chart

COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")


class LivePlot:
    """A chart over time of one value per name.

    Args:
        server: the page; the chart goes where the page's panel is being built.
        chart: what it shows.
        window: seconds that are shown.
        height: in pixels.
    """

    def __init__(self, server: viser.ViserServer, chart: Chart, window: float, height: int) -> None:
        self._factors = dict(chart.factors)
        self._window = window
        self._origin: float | None = None
        self._rows: deque[tuple[float, ...]] = deque()
        # The chart chooses its range, but never a smaller one.
        low, high = ({"pad": 0.1, "soft": soft, "mode": 1} for soft in (-chart.least_span, chart.least_span))
        empty = np.zeros(1)
        series = [uplot.Series(label="t [s]")]
        for number, name in enumerate(self._factors):
            color = COLORS[number % len(COLORS)]
            series.append(uplot.Series(label=name, stroke=color, width=1.5))
        self._chart = server.gui.add_uplot(
            tuple(empty for _ in series),
            tuple(series),
            title=chart.title,
            height=height,
            legend=uplot.Legend(show=True, live=False),
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range={"min": low, "max": high})},
            axes=(uplot.Axis(size=34), uplot.Axis(size=56)),
        )
        self._changed = False

    def add(self, time: float, values: Mapping[str, float]) -> None:
        """Note the SI values at a time [s]; what has none is left out. Going back in time starts anew."""
        if not any(name in values for name in self._factors):
            return
        if self._rows and time <= self._rows[-1][0]:
            if time == self._rows[-1][0]:
                return
            self._rows.clear()
            self._origin = None
        if self._origin is None:
            self._origin = time
        self._rows.append(
            (time, *(factor * values.get(name, math.nan) for name, factor in self._factors.items()))
        )
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
