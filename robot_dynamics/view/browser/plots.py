"""Plots that grow while the robot moves: the last seconds of some values, in a strip below the scene."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
import viser
from viser import uplot

from robot_dynamics.spatial import Array
from robot_dynamics.view.browser.fineness import Fineness
from robot_dynamics.view.browser.stage import PHONE
from robot_dynamics.view.machine import Chart

COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")
LIMIT_COLOR = "#868e96"
HEIGHT = 206
"""Height of the strip without its legends [pixels]."""
CHART_HEIGHT = 138
"""Height of a chart in it [pixels]."""
LEGEND_ROW, LEGEND_MARK, LETTER = 24, 34, 6.0
"""Height of a legend's row, and widths of a mark with its gap and of a letter [pixels]."""
LARGEST = 0.4
"""Share of a picture's height that the strip takes at most; legends beyond it are scrolled."""
GAP = 8
"""Between the panels of the strip and about them [pixels]."""
NARROW, LOW = 700, 520
"""Width and height of a picture below which the strip is folded [pixels]."""
FOLDED = 40
"""Height of the folded strip [pixels]."""
SLIM = 200
"""Least width of the folded strip [pixels]."""


class History:
    """The last seconds of the values of a chart, for as many of its names as have one.

    Args:
        chart: what it shows.
        window: seconds that are kept.

    Attributes:
        chart: what it shows.
        names: those that have values.
        version: another one after each change.
    """

    def __init__(self, chart: Chart, window: float) -> None:
        self.chart = chart
        self.names = tuple(chart.factors)
        self.version = 0
        self._window = window
        self._origin: float | None = None
        self._rows: deque[tuple[float, ...]] = deque()

    def add(self, time: float, values: Mapping[str, float]) -> None:
        """Note the SI values at a time [s]. Going back in time, or other names with values, start anew."""
        factors = self.chart.factors
        names = tuple(name for name in factors if name in values)
        if not names:
            return
        if names != self.names:
            self.names = names
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
        self.version += 1

    def table(self, names: Sequence[str]) -> Array | None:
        """Times and values of ``names``, (1 + n, K), as they are shown; None where there is no curve yet."""
        if self._origin is None or len(self._rows) < 2:
            return None
        table = np.array(self._rows).T
        table[0] -= self._origin  # stamps of the wall clock are too long for an axis
        return np.asarray(table[[0, *(1 + self.names.index(name) for name in names)]])


class Curves:
    """One chart on one page.

    Args:
        gui: of the page.
        container: where on the page the chart goes.
        history: of the values.
        chosen: names that it may show.
        height: in pixels.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        container: viser.GuiTabHandle,
        history: History,
        chosen: Sequence[str],
        height: int = CHART_HEIGHT,
    ) -> None:
        self._gui, self._container, self._history = gui, container, history
        self._chosen, self._height = frozenset(chosen), height
        self._names: tuple[str, ...] = ()
        self._version = -1
        self._chart = self._made()

    def _made(self) -> viser.GuiUplotHandle:
        """The empty chart of the present names."""
        chart = self._history.chart
        self._names = tuple(name for name in self._history.names if name in self._chosen)
        # The chart chooses its range, but never a smaller one.
        span = chart.least_span
        low, high = ({"pad": 0.1, "soft": soft, "mode": 1} for soft in (-span, span))
        empty = np.zeros(1)
        series = [uplot.Series(label="t [s]")]
        self._labels = [chart.legend.get(name, name) for name in self._names]
        for number, label in enumerate(self._labels or ("",)):  # uPlot draws no chart without a curve
            series.append(uplot.Series(label=label, stroke=COLORS[number % len(COLORS)], width=1.5))
        if chart.limit is not None:
            for sign in "+-":
                label = f"{sign}{chart.limit:g} %"
                self._labels.append(label)
                series.append(uplot.Series(label=label, stroke=LIMIT_COLOR, width=1, dash=(6, 4)))
        with self._container:
            return self._gui.add_uplot(
                tuple(empty for _ in series),
                tuple(series),
                height=self._height,
                padding=(8, 14, 0, 0),  # the numbers of the topmost and the last tick need room
                legend=uplot.Legend(show=True, live=False),
                scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range={"min": low, "max": high})},
                axes=(
                    uplot.Axis(size=32, label="time [s]", labelSize=22, labelGap=0),
                    uplot.Axis(size=46, label=f"[{chart.unit}]", labelSize=14),
                ),
            )

    def legend_height(self, width: float) -> float:
        """Return about how much room the legend needs below a chart of a width [pixels]."""
        rows, free = 0, 0.0
        for label in self._labels:
            needed = LEGEND_MARK + LETTER * len(label)
            if needed > free:
                rows, free = rows + 1, width
            free -= needed
        return LEGEND_ROW * max(1, rows)

    def draw(self) -> None:
        """Send what is new to the browser."""
        history = self._history
        names = tuple(name for name in history.names if name in self._chosen)
        if names != self._names:
            self._chart.remove()
            self._chart = self._made()
        if history.version == self._version:
            return
        table = history.table(names)
        if table is None:
            return
        self._version = history.version
        rows = [np.ascontiguousarray(row) for row in table]
        if history.chart.limit is not None:
            limit = np.full(table.shape[1], history.chart.limit)
            rows += [limit, -limit]
        self._chart.data = tuple(rows)


class Strip:
    """Panels with plots below the scene of one browser: one for each chart, with a tab for each limb.

    Args:
        client: the browser.
        histories: of the charts.
        groups: names that belong together, by the label of their tab.
    """

    def __init__(
        self, client: viser.ClientHandle, histories: Sequence[History], groups: Mapping[str, Sequence[str]]
    ) -> None:
        self._client, self._histories, self._groups = client, histories, groups
        self._curves: list[Curves] = []
        self._panels: list[viser.PanelHandle] = []
        self._fineness = Fineness(client)
        self._size = (0, 0)
        self._tall = 0.0
        self._open = False
        self._make()

    def _make(self) -> None:
        """Make the panels, folded."""
        gui = self._client.gui
        for number, history in enumerate(self._histories):
            panel = gui.add_panel()
            self._panels.append(panel)
            title = history.chart.title
            shown = {
                label: [name for name in names if name in history.chart.factors]
                for label, names in self._groups.items()
            }
            shown = {label: names for label, names in shown.items() if names}
            if len(shown) < 2:
                shown = {"": list(history.chart.factors)}
            for place, (label, names) in enumerate(shown.items()):
                # The first tab has the title, all have their limb: in each, titles would take a second row.
                words = [word for word in (title if place == 0 else "", label) if word]
                tab = panel.add_tab(" · ".join(words))
                self._curves.append(Curves(gui, tab, history, names))
            panel.float(x=GAP, y=-GAP - (len(self._histories) - 1 - number) * FOLDED, width=SLIM)
            panel.minimize()

    @property
    def fineness(self) -> float:
        """Pixels of the picture per pixel of the page."""
        return self._fineness.value

    @property
    def covered(self) -> float:
        """Height of the picture that the panels cover, in its own pixels."""
        return self._tall * self._fineness.value

    def fit(self) -> None:
        """Put the panels side by side at the foot of the picture; fold them where it is small."""
        camera, fineness = self._client.camera, self._fineness
        if camera.image_width < 1:
            return
        fineness.look(camera.image_width, camera.image_height)
        width, height = (round(size / fineness.value) for size in (camera.image_width, camera.image_height))
        width -= fineness.spare
        change = max(abs(width - self._size[0]), abs(height - self._size[1]))
        if change * fineness.value <= fineness.room or not fineness.still:
            return
        self._size = width, height
        before, self._open = self._open, width >= NARROW and height >= LOW and width >= PHONE * height
        if before and not self._open:
            self.remove()  # a browser places a folded panel as if it were as high as before
            self._make()
        each = (width - GAP) / len(self._panels) - GAP
        legend = max(curves.legend_height(each - 4 * GAP) for curves in self._curves)
        tall = min(HEIGHT + legend, LARGEST * height)
        for number, panel in enumerate(self._panels):
            if self._open:
                panel.float(x=GAP + number * (each + GAP), y=-GAP, width=each, height=tall)
                panel.expand()
            else:
                panel.set_width(max(SLIM, width - 2 * GAP))
        self._tall = tall + 2 * GAP if self._open else FOLDED * len(self._panels) + GAP

    def draw(self) -> None:
        """Send what is new to the browser."""
        for curves in self._curves:
            curves.draw()

    def remove(self) -> None:
        """Take the panels off the page."""
        for panel in self._panels:
            panel.remove()
        self._panels, self._curves = [], []


class Plots:
    """Plots of all browsers.

    Args:
        server: the page.
        window: seconds that are shown.
    """

    def __init__(self, server: viser.ViserServer, window: float) -> None:
        self._window = window
        self._lock = threading.Lock()
        self._histories: list[History] = []
        self._groups: Mapping[str, Sequence[str]] = {}
        self._strips: dict[int, tuple[viser.ClientHandle, Strip | None]] = {}
        server.on_client_connect(self._welcome)
        server.on_client_disconnect(self._forget)

    def show(self, charts: Sequence[Chart], groups: Mapping[str, Sequence[str]]) -> None:
        """Show the charts of another robot or platform."""
        with self._lock:
            self._histories = [History(chart, self._window) for chart in charts]
            self._groups = groups
            for number, (client, strip) in self._strips.items():
                if strip is not None:
                    strip.remove()
                self._strips[number] = client, Strip(client, self._histories, groups)

    def add(self, time: float, values: Mapping[str, Mapping[str, float]]) -> None:
        """Note values at a time [s], by quantity and name."""
        for history in self._histories:
            history.add(time, values[history.chart.quantity])

    def draw(self) -> None:
        """Send what is new to the browsers."""
        with self._lock:
            for _, strip in self._strips.values():
                if strip is not None:
                    strip.fit()
                    strip.draw()

    def covered(self, client: viser.ClientHandle) -> float:
        """Height that the plots cover at the foot of a browser's picture, in its own pixels."""
        strip = self._strips.get(client.client_id, (client, None))[1]
        return 0.0 if strip is None else strip.covered

    def fineness(self, client: viser.ClientHandle) -> float:
        """Pixels of a browser's picture per pixel of the page."""
        strip = self._strips.get(client.client_id, (client, None))[1]
        return 1.0 if strip is None else strip.fineness

    def _welcome(self, client: viser.ClientHandle) -> None:
        with self._lock:
            strip = Strip(client, self._histories, self._groups) if self._histories else None
            self._strips[client.client_id] = client, strip

    def _forget(self, client: viser.ClientHandle) -> None:
        with self._lock:
            self._strips.pop(client.client_id, None)
