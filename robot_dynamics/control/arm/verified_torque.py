"""Largest efforts of an arm along a path, in continuous time.

Between two samples h apart a function leaves its chord by at most h²/8 times its largest second derivative.
For the efforts of links, rotors and viscous friction that derivative is bounded by
``dynamics.effort_curvature``; other friction is bounded by the ranges of velocities and loads. Intervals
where these bounds leave room for more than what is reached elsewhere are halved until they do not. So no
moment is left out: what is proven holds for the whole path, up to the rounding of floating-point numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters, Drives
from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.path_bounds import bernstein
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.dynamics.effort_curvature import EffortCurvature
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

SHARP = 1e-7
"""Precision of the comparison with a limit, as a share of it."""
COARSE = 1e-3
"""Precision of the largest effort where it decides nothing, as a share of the limit."""
MOST_BOXES = 3_000_000
"""Maximum number of intervals per path."""
_CHUNK = 20_000
_HALVINGS = 50


@dataclass(frozen=True)
class LargestEfforts:
    """Largest efforts of n joints on a path.

    Attributes:
        value: (n,) with sign [N·m or N].
        time: (n,) when [s].
        bound: (n,) of the magnitude, proven for the whole path.
    """

    value: Array
    time: Array
    bound: Array

    def share(self, limits: Array) -> Array:
        """(n,) of the limits (n,) that is proven to be enough."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.isfinite(limits), self.bound / limits, 0.0)


def largest_efforts(
    chain: KinematicChain,
    model: EffortModel,
    spline: QuinticSpline,
    limits: Array,
    verdict_only: bool = False,
) -> LargestEfforts:
    """Find the largest efforts on a path and prove that there are no larger ones.

    The proof holds for models that are compiled from a description. Of any other model the efforts are
    evaluated, and the masses of ``chain`` bound what is between.

    Args:
        chain: the arm.
        model: its inverse dynamics, with or without actuators.
        spline: the path.
        limits: (n,) [N·m or N], infinite where there is none; where an effort is near its limit, the
            comparison is decided to ``SHARP``.
        verdict_only: look no closer where all efforts are proven to be within the limits.

    Raises:
        TrajectoryError: it cannot be decided with ``MOST_BOXES`` intervals.
    """
    return _Search(chain, model, spline, limits, verdict_only).run()


@dataclass(frozen=True)
class _Boxes:
    """Intervals of a path with the efforts of the links at both ends.

    Attributes:
        piece: (N,) of the path.
        begin: (N,) place in it, 0 to 1.
        width: (N,) in the same measure.
        first: (N, n) efforts where they begin.
        last: (N, n) where they end.
    """

    piece: NDArray[np.intp]
    begin: Array
    width: Array
    first: Array
    last: Array


class _Search:
    """See :func:`largest_efforts`."""

    def __init__(
        self,
        chain: KinematicChain,
        model: EffortModel,
        spline: QuinticSpline,
        limits: Array,
        verdict_only: bool,
    ) -> None:
        self._verdict_only = verdict_only
        links, drives = _parts(chain, model)
        self._links, self._friction, self._rotors = links, drives.friction, drives.rotor_inertia
        self._compiled = isinstance(links, CompiledDynamics)
        if isinstance(links, CompiledDynamics):
            self._curvature = EffortCurvature(links.chain, links.gravity_vector, links.payload)
        else:
            self._curvature = EffortCurvature(chain, np.array([0.0, 0.0, -9.81]))
        self._doubled = _friction_of_links(chain, links)
        self._spline = spline
        self._steps = np.diff(spline.times)
        self._limits = limits
        n = chain.dof
        self._value, self._time, self._bound = np.zeros(n), np.full(n, spline.times[0]), np.zeros(n)

    def run(self) -> LargestEfforts:
        """See :func:`largest_efforts`."""
        count, judged = len(self._steps), 0
        for first in range(0, count, _CHUNK):
            piece = np.arange(first, min(first + _CHUNK, count))
            zero, one = np.zeros(len(piece)), np.ones(len(piece))
            boxes = _Boxes(piece, zero, one, self._efforts(piece, zero), self._efforts(piece, one))
            for _ in range(_HALVINGS):
                judged += len(boxes.piece)
                if judged > MOST_BOXES:
                    when = self._spline.times[boxes.piece[0]] - self._spline.times[0]
                    raise TrajectoryError(
                        f"the efforts stay too near to their limits for too long to be compared, e.g."
                        f" {when:.3f} s after the start"
                    )
                open_, bound = self._open(boxes)
                # What is left is as near as it matters: its bound counts.
                settled = bound[~open_]
                if len(settled):
                    self._bound = np.maximum(self._bound, settled.max(axis=0))
                if not open_.any():
                    break
                boxes = self._halved(boxes, open_)
            else:
                self._bound = np.maximum(self._bound, bound.max(axis=0))
        return LargestEfforts(self._value, self._time, np.maximum(self._bound, np.abs(self._value)))

    def _open(self, boxes: _Boxes) -> tuple[NDArray[np.bool_], Array]:
        """(N,) boxes to be halved, and bounds (N, n) of the magnitudes in each; notes what is reached."""
        positions, velocities, rates = self._motion(boxes)
        bent = self._curvature.of(rates, positions)
        eighth = (boxes.width * self._steps[boxes.piece])[:, None] ** 2 / 8.0
        bow, drives = bent * eighth, (self._rotors * rates[3] + self._friction.damping * rates[2]) * eighth
        ends = self._ends(boxes)
        least, most = np.minimum(boxes.first, boxes.last) - bow, np.maximum(boxes.first, boxes.last) + bow
        heaviest = np.maximum(most, -least)
        lightest = np.maximum(np.maximum(least, -most), 0.0)
        dry = self._friction.dry_range(*velocities, lightest, heaviest)
        curved = [self._friction.curved_viscous(velocity) for velocity in velocities]
        high = np.maximum(*ends) + bow + drives + dry[1] + curved[1]
        low = np.minimum(*ends) - bow - drives + dry[0] + curved[0]
        bound = np.maximum(high, -low)
        reached = np.abs(self._value)
        scale = np.where(np.isfinite(self._limits), self._limits, np.maximum(reached, 1e-9))
        # Beyond the limit a value decides, below it the bound.
        decided = (bound <= self._limits) | (reached > self._limits)
        enough = bound <= np.maximum(reached + COARSE * scale, self._bound)
        if self._verdict_only:
            enough |= bound <= self._limits
        sharp = high - low <= SHARP * scale
        return np.asarray(~((decided & enough) | sharp).all(axis=1)), bound

    def _motion(self, boxes: _Boxes) -> tuple[Array, tuple[Array, Array], list[Array]]:
        """Bounds (N, n) on each box: of positions, range of velocities, and of four rates."""
        shifted = np.ascontiguousarray(self._spline.coefficients[boxes.piece].transpose(1, 0, 2))
        begin, width = boxes.begin[:, None], boxes.width[:, None]
        if boxes.begin.any() or (boxes.width != 1.0).any():
            for row in range(5):  # Horner's scheme gives the coefficients of the powers of s - begin
                for power in range(4, row - 1, -1):
                    shifted[power] += begin * shifted[power + 1]
            factor = width.copy()
            for power in range(1, 6):
                shifted[power] *= factor
                factor *= width
        seconds = width * self._steps[boxes.piece][:, None]
        velocity = bernstein(shifted, 1) / seconds
        slowest, fastest = velocity.min(axis=0), velocity.max(axis=0)
        rates = [np.maximum(fastest, -slowest)]
        rates += [np.abs(bernstein(shifted, order)).max(axis=0) / seconds**order for order in (2, 3, 4)]
        return np.abs(bernstein(shifted)).max(axis=0), (slowest, fastest), rates

    def _state(self, piece: NDArray[np.intp], place: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (N, n)."""
        c, s = self._spline.coefficients[piece], place[:, None]
        h = self._steps[piece][:, None]
        q = c[:, 0] + s * (c[:, 1] + s * (c[:, 2] + s * (c[:, 3] + s * (c[:, 4] + s * c[:, 5]))))
        v = c[:, 1] + s * (2.0 * c[:, 2] + s * (3.0 * c[:, 3] + s * (4.0 * c[:, 4] + s * 5.0 * c[:, 5])))
        a = 2.0 * c[:, 2] + s * (6.0 * c[:, 3] + s * (12.0 * c[:, 4] + s * 20.0 * c[:, 5]))
        return q, v / h, a / (h * h)

    def _efforts(self, piece: NDArray[np.intp], place: Array) -> Array:
        """Efforts (N, n) of the links."""
        q, v, a = self._state(piece, place)
        if self._compiled:
            found = np.asarray(self._links.inverse_dynamics(q, v, a))
        else:
            found = np.array([self._links.inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
        return found if self._doubled is None else found - self._doubled.effort(v)

    def _ends(self, boxes: _Boxes) -> tuple[Array, Array]:
        """Efforts (N, n) at both ends with linear friction alone; keeps the largest with all of it."""
        smooth = []
        for links, place in ((boxes.first, boxes.begin), (boxes.last, boxes.begin + boxes.width)):
            _, v, a = self._state(boxes.piece, place)
            driven = links + self._rotors * a
            smooth.append(driven + self._friction.damping * v)
            effort = driven + self._friction.effort(v, None, links)
            k = np.argmax(np.abs(effort), axis=0)
            found = effort[k, np.arange(effort.shape[1])]
            better = np.abs(found) > np.abs(self._value)
            times = self._spline.times[boxes.piece[k]] + place[k] * self._steps[boxes.piece[k]]
            self._value = np.where(better, found, self._value)
            self._time = np.where(better, times, self._time)
        return smooth[0], smooth[1]

    def _halved(self, boxes: _Boxes, chosen: NDArray[np.bool_]) -> _Boxes:
        piece, begin, width = boxes.piece[chosen], boxes.begin[chosen], 0.5 * boxes.width[chosen]
        middle = self._efforts(piece, begin + width)
        return _Boxes(
            np.concatenate([piece, piece]),
            np.concatenate([begin, begin + width]),
            np.concatenate([width, width]),
            np.concatenate([boxes.first[chosen], middle]),
            np.concatenate([middle, boxes.last[chosen]]),
        )


def _parts(chain: KinematicChain, model: EffortModel) -> tuple[EffortModel, Drives]:
    """The links and the drives of a model."""
    if isinstance(model, ActuatedArm):
        return model.links, model.drives
    plain = isinstance(model, CompiledDynamics) and model.friction
    nothing = {"damping": (0.0,), "friction": (0.0,), "static_friction": (0.0,)}
    return model, ActuatorParameters(**({} if plain else nothing)).of(chain)


def _friction_of_links(chain: KinematicChain, links: EffortModel) -> DriveFriction | None:
    """Friction that compiled links have already."""
    if isinstance(links, CompiledDynamics) and links.friction:
        return ActuatorParameters().of(chain).friction
    return None
