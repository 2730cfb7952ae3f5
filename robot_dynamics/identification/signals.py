"""Zero-phase filtering: what a log says about position, velocity, acceleration and effort below a cut-off."""

from __future__ import annotations

from dataclasses import dataclass

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
"""What is left out at both ends of a run, where the filter has seen only half [periods of the cut-off]."""


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

    @property
    def step(self) -> int:
        """Every how many samples the filtered signals say something new, with a quarter to spare."""
        return max(1, int(1.0 / (2.5 * self.cutoff * self.period)))


@dataclass(frozen=True)
class Motion:
    """A filtered run on an even grid of times.

    Attributes:
        source: of the log.
        time: (N,) [s].
        q, qd, qdd: (N, n) filtered positions and their derivatives.
        effort: (N, n) filtered alike.
        filter: with which this was done.
    """

    source: str
    time: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    filter: LowPass

    def moving(self) -> NDArray[np.bool_]:
        """(N, n) whether each joint moves within half a period of the cut-off before or after."""
        from scipy.ndimage import maximum_filter1d

        width = 2 * max(1, round(0.5 / (self.filter.cutoff * self.filter.period))) + 1
        return np.asarray(maximum_filter1d(np.abs(self.qd), width, axis=0) > AT_REST)

    def inner(self) -> slice:
        """The samples that count: without the ends, thinned to what is independent."""
        edge = round(EDGE / (self.filter.cutoff * self.filter.period))
        return slice(edge, len(self.time) - edge, self.filter.step)


def filtered(log: Log, cutoff: float) -> Motion:
    """The motion of a log below ``cutoff`` [Hz].

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
    low_pass = LowPass(cutoff, period)
    count = round((log.time[-1] - log.time[0]) / period)
    time = log.time[0] + (log.time[-1] - log.time[0]) * np.linspace(0.0, 1.0, count + 1)
    position = make_interp_spline(log.time, log.q, k=3)(time)
    effort = np.stack([np.interp(time, log.time, column) for column in log.effort.T], axis=1)
    q = low_pass(position)
    spline = make_interp_spline(time, q, k=5)
    return Motion(
        log.source,
        time - log.time[0],
        q,
        spline.derivative()(time),
        spline.derivative(2)(time),
        low_pass(effort),
        low_pass,
    )
