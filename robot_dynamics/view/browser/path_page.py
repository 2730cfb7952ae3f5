"""Web view of a verified path: a slider along it, red where a limit is exceeded."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import viser
from viser import uplot

from robot_dynamics.spatial import Array
from robot_dynamics.view.browser.body import EffortGauge, RobotBody
from robot_dynamics.view.browser.notices import Notices
from robot_dynamics.view.browser.page import BRAND
from robot_dynamics.view.browser.plots import COLORS
from robot_dynamics.view.browser.shapes import rgb255
from robot_dynamics.view.browser.stage import Stage
from robot_dynamics.view.efforts import RGB, share_color
from robot_dynamics.view.machine import Gauge, Geometry
from robot_dynamics.view.path_samples import PathSamples

BEYOND_COLOR: RGB = (0.90, 0.05, 0.05)
BEYOND_OPACITY = 0.55
TRACE_WIDTH = 0.008
"""Width of the tip's way, as a share of the robot's size."""
TRACE_POINTS = 1000
"""Most points of it."""
MARKS = 12
"""Most marks below the slider: where limits begin to be exceeded."""
FRAME = 0.04
"""Seconds between two pictures while the path is played."""
PLOTS_WIDTH = 290
"""Width of the chart's panel [pixels]."""
CHART_HEIGHT = 260
"""Height of the chart [pixels]."""


class PathPage:
    """Page of an arm on a path. Nothing on it moves a robot.

    Args:
        server: that serves it.
        geometry: of the robot.
        tips: links whose ways are drawn.
        samples: of the path.
        limits: (n,) effort limits for the gauges [N·m or N].
        verdict: about the path, in a sentence.
        kept: whether it keeps all limits.

    Attributes:
        slider: time on the path [s].
        notices: messages at the head of the panel.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        geometry: Geometry,
        tips: Sequence[str],
        samples: PathSamples,
        limits: Array,
        verdict: str,
        kept: bool,
    ) -> None:
        self._server, self._geometry, self._samples = server, geometry, samples
        self._drawing = threading.Lock()
        gui = server.gui
        gui.main_panel.dock_right()
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND)
        stage = Stage(server, shadows=True)
        stage.put_ground(geometry.ground)
        gui.add_markdown(f"**{geometry.name}** · nothing moves but this picture")
        self.notices = Notices(server)
        self.notices.say("verdict", verdict, "info" if kept else "error")
        self._body = RobotBody(server, "/body", geometry)
        self._red = RobotBody(server, "/beyond", geometry, BEYOND_COLOR, BEYOND_OPACITY)
        known = dict(zip(samples.joints, limits.tolist(), strict=True))
        self._gauges = [
            EffortGauge(server, f"/efforts/{number}", _limited(gauge, known[gauge.name]))
            for number, gauge in enumerate(geometry.gauges)
            if gauge.name in known
        ]
        self._names = [gauge.name for gauge in geometry.gauges if gauge.name in known]
        duration = float(samples.times[-1])
        begins = [begin for begin, _ in samples.stretches]
        self.slider: Any = gui.add_slider(
            "time on the path [s]",
            min=0.0,
            max=duration,
            step=duration / 2000.0,
            initial_value=0.0,
            marks=tuple((round(begin, 6), f"{begin:.2f}") for begin in begins[:MARKS]) or None,
            hint="Marks: limits begin to be exceeded there",
        )
        self._plays = gui.add_checkbox("play", False)
        following = gui.add_button(
            "next place beyond a limit", color="red", disabled=not begins, visible=bool(begins)
        )
        self._chart(samples)
        bodies = [geometry.link_poses(samples.state(0).positions)]
        bodies.append(geometry.link_poses(samples.state(len(samples.times) - 1).positions))
        boxes = [geometry.bounds(poses) for poses in bodies]
        self._trace(tips)
        stage.look_at(np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0))
        self.slider.on_update(lambda _: self.show(float(self.slider.value)))
        following.on_click(lambda _: self.jump())
        self.show(0.0)

    def show(self, time: float) -> None:
        """Show the robot at a time on the path [s]."""
        samples = self._samples
        k = samples.index(time)
        state = samples.state(k)
        poses = self._geometry.link_poses(state.positions)
        wrong = samples.exceeded(k)
        with self._drawing, self._server.atomic():
            self._body.move(poses)
            self._red.visible = bool(wrong)
            if wrong:
                self._red.move(poses)
            for name, gauge in zip(self._names, self._gauges, strict=True):
                gauge.update(poses, state.efforts[name], True)
            self.notices.say("here", "; ".join(wrong), "error")

    def jump(self) -> None:
        """Go to the next stretch on which a limit is exceeded; behind the last one, to the first."""
        begins = [begin for begin, _ in self._samples.stretches]
        if begins:
            now = float(self.slider.value)
            later = [begin for begin in begins if begin > now + 1e-9]
            self.slider.value = (later or begins)[0]
            self.show(float(self.slider.value))

    def play(self, elapsed: float) -> None:
        """Go on by a time [s] while the page plays, from the end to the start."""
        if self._plays.value:
            there = float(self.slider.value) + elapsed
            self.slider.value = there if there <= self._samples.times[-1] else 0.0
            self.show(float(self.slider.value))

    def _trace(self, tips: Sequence[str]) -> None:
        """The ways of the tips: green to amber by the share of the limits, red beyond them."""
        samples = self._samples
        chosen = np.unique(np.linspace(0, len(samples.times) - 1, TRACE_POINTS).round().astype(int))
        poses = [self._geometry.link_poses(samples.state(k).positions) for k in chosen.tolist()]
        edges = [0, *(0.5 * (chosen[1:] + chosen[:-1])).astype(int).tolist(), len(samples.times)]
        colors = []
        for first, last in pairwise(edges):
            largest = float(samples.largest[first : last + 1].max())
            wrong = samples.beyond[first : last + 1].any()
            colors.append(rgb255(BEYOND_COLOR if wrong else share_color(0.7 * largest)))
        for number, tip in enumerate(tips):
            self._server.scene.add_point_cloud(
                f"/way{number}",
                np.array([place[tip][:3, 3] for place in poses], dtype=np.float32),
                np.array(colors, dtype=np.uint8),
                point_size=TRACE_WIDTH * self._geometry.size,
                point_shape="circle",
            )

    def _chart(self, samples: PathSamples) -> None:
        """Largest share of every kind of limit over time, with what is beyond in red."""
        panel = self._server.gui.add_panel()
        panel.dock_left()
        panel.set_width(PLOTS_WIDTH)
        used = 100.0 * samples.shares.max(axis=2)
        beyond = np.where(samples.beyond, 100.0 * samples.largest, 0.0)
        shown = [(name, row) for name, row in zip(samples.quantities, used, strict=True) if row.any()]
        series = [uplot.Series(label="t [s]")]
        for number, (name, _) in enumerate(shown):
            series.append(uplot.Series(label=name, stroke=COLORS[(0, 2, 3, 4)[number]], width=1.5))
        series.append(
            uplot.Series(label="beyond a limit", stroke="#e60d0d", fill="rgba(230, 13, 13, 0.25)", width=1.5)
        )
        with panel.add_tab("Limits"):
            self._server.gui.add_uplot(
                (samples.times, *(row for _, row in shown), beyond),
                tuple(series),
                title="share of the limits [%]",
                height=CHART_HEIGHT,
                padding=(12, 14, 0, 0),
                legend=uplot.Legend(show=True, live=False),
                scales={"x": uplot.Scale(time=False)},
                axes=(uplot.Axis(size=34), uplot.Axis(size=56)),
            )


def _limited(gauge: Gauge, limit: float) -> Gauge:
    return Gauge(gauge.name, gauge.link, gauge.frame, gauge.turns, limit, gauge.extent, gauge.thickness)
