"""Zero-phase filtering: what a log says about position, velocity, acceleration and effort below a cut-off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import LogError, RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.identification.logs import Log
from robot_dynamics.spatial import Array

ORDER = 4
"""Of the Butterworth filter, which runs forwards and backwards and so counts twice."""
AT_REST = 0.01
"""A joint that stays slower is at rest [rad/s or m/s]."""
EDGE = 4.0
"""Part left out at both ends of a run, where the filter has seen only half [periods of the cut-off]."""
DENSITY = 25.0
"""Samples per period of the cut-off to which logs are thinned, or interpolated."""
LEAST_STEADY = 0.25
"""Share of a joint's samples that remain far from steps of dry friction."""


@dataclass(frozen=True)
class LowPass:
    """A zero-phase low-pass filter.

    Attributes:
        cutoff: of each of the two passes; both together leave half of the amplitude there [Hz].
        period: between samples [s].
    """

    cutoff: float
    period: float

    def __call__(self, values: Array) -> Array:
        """Filtered along the first axis."""
        try:
            from scipy.signal import butter, sosfiltfilt
        except ImportError as error:
            raise RobotDynamicsError(lacking("identification needs", "scipy")) from error
        sections = butter(ORDER, self.cutoff, fs=1.0 / self.period, output="sos")
        return np.asarray(sosfiltfilt(sections, values, axis=0))

    def widened(self, values: Array, periods: float) -> Array:
        """Maximum along the first axis within ``periods`` of the cut-off before and after each sample."""
        from scipy.ndimage import maximum_filter1d

        width = 2 * max(1, round(periods / (self.cutoff * self.period))) + 1
        return np.asarray(maximum_filter1d(values, width, axis=0))

    @property
    def step(self) -> int:
        """Every how many samples the filtered signals say something new, with a quarter to spare."""
        return max(1, int(1.0 / (2.5 * self.cutoff * self.period)))


@dataclass(frozen=True)
class MeasuredMotion:
    """A filtered run on an even grid of times.

    Attributes:
        source: of the log.
        time: (N,) [s].
        q, qd, qdd: (N, n) filtered positions and their derivatives.
        effort: (N, n) filtered alike.
        usable: (N, n) whether no filtered value near the sample comes from a saturated effort.
        filter: the low-pass filter of all signals.
    """

    source: str
    time: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    usable: NDArray[np.bool_]
    filter: LowPass

    def moving(self) -> NDArray[np.bool_]:
        """(N, n) whether each joint moves within half a period of the cut-off before or after."""
        return self.filter.widened(np.abs(self.qd), 0.5) > AT_REST

    def steady(self) -> NDArray[np.bool_]:
        """(N, n) whether each joint keeps moving one way for a while, far from steps of dry friction.

        The while has as many periods of the cut-off, 3 at most, as leave LEAST_STEADY of a joint's samples.
        """
        result: NDArray[np.bool_] = np.abs(self.qd) > AT_REST
        for periods in (0.5, 1.0, 2.0, 3.0):
            steady = -self.filter.widened(-np.abs(self.qd), periods) > AT_REST
            result = np.where(steady.mean(axis=0) >= LEAST_STEADY, steady, result)
        return result

    def inner(self, step: int | None = None) -> slice:
        """The samples that count: without the ends, thinned to what is independent or by ``step``."""
        edge = round(EDGE / (self.filter.cutoff * self.filter.period))
        return slice(edge, max(edge, len(self.time) - edge), step or self.filter.step)

    def effort_at(self, time: Array) -> Array:
        """(N, n) filtered efforts at other times [s]."""
        return np.asarray(self._effort(time))

    @cached_property
    def _effort(self) -> Any:
        """The efforts as a spline of time."""
        from scipy.interpolate import make_interp_spline

        return make_interp_spline(self.time, self.effort, k=3)


def filtered(
    log: Log,
    cutoff: float,
    saturated: NDArray[np.bool_] | None = None,
    delay: float = 0.0,
    interpolated: bool = False,
) -> MeasuredMotion:
    """The motion of a log below ``cutoff`` [Hz].

    Args:
        log: without gaps.
        cutoff: of the filter [Hz].
        saturated: (N, n) which efforts were at their limit; none when None.
        delay: of the efforts, by which the positions are taken earlier [s].
        interpolated: put the signals of a slow log on a finer grid. There, friction changes its sign between
            samples as it does in the robot; on the log's own grid it does so as in the measured efforts.

    Raises:
        LogError: the log is too slow for the cut-off.
    """
    from scipy.interpolate import make_interp_spline

    period = float(np.median(np.diff(log.time)))
    if not 0.0 < cutoff < 0.4 / period:
        raise LogError(
            f"{log.source}: {1.0 / period:.1f} states per second are too few for a cut-off of {cutoff:g} Hz;"
            f" it must be below {0.4 / period:.3g} Hz"
        )
    slower = max(1, int(np.ceil(DENSITY * cutoff * period))) if interpolated else 1
    period = period / slower
    count = round((log.time[-1] - log.time[0]) / period)
    time = log.time[0] + (log.time[-1] - log.time[0]) * np.linspace(0.0, 1.0, count + 1)
    position = make_interp_spline(log.time, log.q, k=3)(time - delay)
    effort = make_interp_spline(log.time, log.effort, k=3)(time)
    limited = np.zeros_like(effort)
    if saturated is not None:
        limited = np.stack(
            [np.interp(time, log.time, column) for column in saturated.T.astype(float)], axis=1
        )
    faster = int(1.0 / (DENSITY * cutoff * period))
    if faster > 1:
        coarse = LowPass(0.4 / (faster * period), period)  # far above the cut-off
        position, effort = (coarse(part)[::faster] for part in (position, effort))
        limited = coarse.widened(limited, 1.0)[::faster]
        time, period = time[::faster], faster * period
    low_pass = LowPass(cutoff, period)
    q = low_pass(position)
    spline = make_interp_spline(time, q, k=5)
    return MeasuredMotion(
        log.source,
        time,
        q,
        spline.derivative()(time),
        spline.derivative(2)(time),
        low_pass(effort),
        low_pass.widened(limited, 1.0) <= 0.0,
        low_pass,
    )
