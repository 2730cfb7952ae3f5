"""Time-optimal retiming: the fastest motion along a path that keeps the limits of the joints.

The geometry of the path stays; its timing becomes the fastest within velocity, acceleration and effort limits
(Bobrow, Dubowsky, Gibson, IJRR 4 (1985) 3-17). The computation is in C, see ``retime.h``. Between the points
of its grid the path acceleration is constant. The motion between them, as it is delivered, is compared with
the limits at one to nine places of each interval. Where it exceeds one, margins grow, and intervals are
halved, until it does not.

With limits of the rate of efforts the problem is not convex: ``rate.c`` finds a motion of which no small
change is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.retiming.library import ffi, load_retiming
from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.shape import waypoint_spline
from robot_dynamics.control.spline import QuinticSpline
from robot_dynamics.control.waypoints import WaypointTable, check_count
from robot_dynamics.errors import ParameterError, TrajectoryError, quoted
from robot_dynamics.inputs.arrays import of_type, real_array, real_number, whole_number
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

INTERVALS = 1000
"""Intervals of a path, where nothing else is asked for."""
LEAST, ENOUGH = 6, 12_000
"""Intervals of a segment between two knots, at least; fewer where all have more than ENOUGH together."""
ROUNDS = 100
"""Most solutions on one grid, each with larger margins between its points."""
SOLUTIONS = 18
"""Most solutions on one grid where rates of efforts are limited."""
REFINEMENTS = 10
"""Most halvings of intervals in which the path changes too much between two points."""
MOST_POINTS = 2_000_000
HIGHEST_SPEED = 1e3
"""Largest path speed where no limit bounds it, relative to passing the whole path in a second."""
FASTER = 10.0
"""The same relative to a trajectory's own timing, and by how much it grows while it bounds too much."""
MOST_STEPS = 5
"""As often it grows or shrinks, or one between is tried."""
BOUND = 0.2
"""Share of the points whose speed it may bound."""
CLOSE = 1.2
"""Ratio of a path speed that fails to one that does not from which on none between them is tried."""
KINDS = ("effort", "velocity", "acceleration", "path speed", "effort rate")
"""Kinds of limits, by the numbers in `Retimed.kind`."""


@dataclass(frozen=True)
class Retimed:
    """A path with its fastest timing.

    Attributes:
        joint_names: order of the columns.
        s: (M,) points of the path, in its own parameter.
        x: (M,) squares of the path speed ds/dt there; linear in s between two points where no rate of efforts
            is limited.
        q, qp, qpp: (M, n) positions and their first and second derivatives by s.
        kind: (M,) limit that is nearest to being reached behind each point, see ``KINDS``.
        joint: (M,) index of its joint; -1 for the path speed.
        share: (M,) how much of that limit is used.
        rounds: number of solutions that it took to keep the limits between the points; where rates of efforts
            are limited, with the steps of the interior-point method.
    """

    joint_names: tuple[str, ...]
    s: Array
    x: Array
    q: Array
    qp: Array
    qpp: Array
    kind: NDArray[np.intc]
    joint: NDArray[np.intc]
    share: Array
    rounds: int
    _spline: QuinticSpline = field(repr=False)

    @property
    def spline(self) -> QuinticSpline:
        """Motion from time 0 on: quintics with continuous velocities; accelerations may jump at knots."""
        return self._spline

    @property
    def times(self) -> Array:
        """(M,) times at the points [s]."""
        return self._spline.times

    @property
    def duration(self) -> float:
        """[s]."""
        return float(self._spline.times[-1])

    @cached_property
    def path_acceleration(self) -> Array:
        """(M - 1,) second derivative of s by time, its mean between two points."""
        return np.asarray(0.5 * np.diff(self.x) / np.diff(self.s))

    def table(self) -> WaypointTable:
        """The motion as waypoints with velocities and accelerations, for controllers with quintics.

        They are the ends and the middles of all intervals: between two of them the accelerations change
        smoothly, where those of :attr:`spline` step. Efforts overshoot there; verify what is sent.
        """
        times = self.times
        at = np.concatenate((times[:1], 0.5 * (times[:-1] + times[1:]), times[-1:]))
        at = at[np.concatenate(([True], np.diff(at) > 0.0))]
        return WaypointTable(at, *self.spline.at(at))

    @cached_property
    def velocities(self) -> Array:
        """(M, n) at the points [rad/s or m/s]."""
        return np.asarray(self.qp * np.sqrt(self.x)[:, None])

    @cached_property
    def accelerations(self) -> Array:
        """(M, n) behind the points [rad/s² or m/s²]."""
        spline = self._spline
        bent = 2.0 * spline.coefficients[:, 2] / (np.diff(spline.times) ** 2)[:, None]
        return np.vstack((bent, spline.sample(float(spline.times[-1]))[2]))


def retime(
    model: Any,
    path: Any,
    limits: PathLimits | None = None,
    *,
    start_speed: float | None = None,
    end_speed: float | None = None,
    slower: bool = False,
    intervals: int = INTERVALS,
    load_friction: Any = 0.0,
) -> Retimed:
    """The fastest motion along a path within the limits of the joints.

    They are kept at the points of the grid and between them, up to 10⁻⁵ below each limit. Between the points
    this is sampled; ``robot_dynamics check`` proves it.

    Args:
        model: the arm: a `KinematicChain`, `CompiledDynamics`, or `ActuatedArm` with rotors and friction. Its
            payload counts.
        path: waypoints (K, n) [rad or m], which a smooth path connects, between them in each joint; or a
            trajectory, or its `QuinticSpline`, whose geometry stays.
        limits: of the joints; by default those of the description, velocities and efforts.
        start_speed: speed ds/dt along the path at its start. By default waypoints start at rest, and a
            trajectory as it does by its own timing.
        end_speed: the same at the end.
        slower: never faster than a trajectory's own timing: slow down what exceeds limits.
        intervals: of the grid, about.
        load_friction: (n,), or one number: share of the load that friction takes in the gears; an addition of
            ``load_friction`` |effort of the links| against the motion. The model's own share
            counts where it is larger.

    Raises:
        TrajectoryError: no such motion; names the joint, the place and the effort, or what is wrong with the
            path.
        ParameterError: a limit that is not positive, or another argument that is wrong.
        WrongTypeError: a model of another type.
    """
    driven = model if isinstance(model, DrivenModel) else DrivenModel.of(model)
    chain = driven.chain
    spline, timed = _path(path, chain.dof, chain.joint_names)
    if limits is None:
        limits = PathLimits.of(cast(KinematicChain, chain))
    arrays = _limits(limits).arrays(chain)
    of_type("slower", slower, bool | np.bool_)
    intervals = whole_number("intervals", intervals)
    if not 2 <= intervals <= MOST_POINTS // 10:
        raise ParameterError(f"intervals is {intervals}; it must be from 2 to {MOST_POINTS // 10}")
    if slower and not timed:
        raise ParameterError("slower needs a trajectory: waypoints have no timing of their own")
    ends = [
        _speed(name, given, spline, k, timed)
        for k, (name, given) in enumerate((("start_speed", start_speed), ("end_speed", end_speed)))
    ]
    whole = float(spline.times[-1] - spline.times[0])
    share = np.maximum(_load_friction(load_friction, chain.dof), driven.load_friction)
    friction = driven.friction_with(share)

    def solved(speed: float) -> Retimed:
        problem = _Problem(driven, spline, arrays, intervals)
        problem.friction = friction
        try:
            return problem.solve(ends, speed * speed)
        except TrajectoryError:
            given = start_speed, end_speed
            freed = [
                -1.0 if given[k] is None and timed and _creeps(spline, k, arrays["velocity"]) else ends[k]
                for k in range(2)
            ]
            if freed == ends:
                raise
            return problem.solve(freed, speed * speed)

    if not timed:
        return solved(HIGHEST_SPEED * whole)
    # Where a trajectory rests, no limit bounds the path speed.
    made, speed, failed = _first(solved, 1.0 if slower else FASTER)
    for _ in range(MOST_STEPS):
        bounded = np.count_nonzero(made.kind == KINDS.index("path speed"))
        if (speed >= 1.0 and slower) or bounded < BOUND * len(made.kind) or failed < CLOSE * speed:
            break
        # Rates of efforts may fail where the path speed is let go too far: the largest is between the two.
        higher = min(FASTER * speed, float(np.sqrt(speed * failed)))
        try:
            made, speed = solved(higher), higher
        except TrajectoryError:
            failed = higher
    return made


def _first(solved: Callable[[float], Retimed], speed: float) -> tuple[Retimed, float, float]:
    """The motion below the largest path speed that allows one, that speed, and the least that failed.

    Raises:
        TrajectoryError: there is none.
    """
    reason: TrajectoryError | None = None
    failed = np.inf
    for _ in range(MOST_STEPS):
        try:
            return solved(speed), speed, failed
        except TrajectoryError as error:
            reason = reason or error
        failed, speed = speed, speed / FASTER
    assert reason is not None
    raise reason


class _Problem:
    """The arrays of ``rd_retiming``.

    Attributes:
        variant: number of the start where rates are limited; 0: the usual one.
        least: intervals of each segment, at least.
    """

    variant = 0

    def __init__(
        self, driven: DrivenModel, spline: QuinticSpline, limits: dict[str, Array], intervals: int
    ) -> None:
        n, segments = driven.chain.dof, len(spline.times) - 1
        self.driven, self.joints = driven, n
        self.least = max(1, min(LEAST, ENOUGH // segments))
        wanted = intervals + (self.least + 1) * segments
        capacity = min(12 * wanted + 64, MOST_POINTS + 4 * segments)
        self.capacity = capacity
        # One allocation for all: each costs more than what is written into it.
        self.rows = np.empty((6, capacity + 3, n))
        self.columns = np.empty((5, capacity))
        self.codes = np.empty((2, capacity), dtype=np.intc)
        self.spline, self.limits, self.intervals = spline, limits, intervals
        self.friction = driven.friction

    def solve(self, ends: list[float], cap: float) -> Retimed:
        """The profile.

        Raises:
            TrajectoryError: there is none.
        """
        declared, library = ffi(), load_retiming()
        efforts, constants, failures = self.driven.kernel()
        kept = [
            np.ascontiguousarray(array, dtype=float)
            for array in (
                self.spline.times,
                self.spline.coefficients,
                self.driven.rotor_inertia,
                self.friction,
                *self.limits.values(),
            )
        ]
        at = [_at(array) for array in kept]
        bounds = dict(zip(self.limits, at[4:], strict=True))
        inputs = declared.new("double *[]", [_at(array) for array in constants] or 1)
        problem = declared.new("struct rd_retiming *")
        problem.joints, problem.segments = self.joints, len(self.spline.times) - 1
        problem.knots, problem.coefficients, problem.rotor, problem.friction = at[:4]
        problem.velocity, problem.acceleration = bounds["velocity"], bounds["acceleration"]
        problem.effort = bounds["effort"]
        if self.limits["effort_rate"].min() < np.inf:
            problem.rate, problem.variant = bounds["effort_rate"], self.variant
        problem.efforts, problem.constants, problem.constant = efforts, len(constants), inputs
        problem.start, problem.end, problem.cap = *ends, cap
        problem.intervals, problem.least, problem.rounds = self.intervals, self.least, ROUNDS
        problem.capacity, problem.refinements = self.capacity, REFINEMENTS
        problem.solutions = SOLUTIONS
        rows, columns, size = _at(self.rows), _at(self.columns), self.rows[0].size
        problem.q, problem.qp, problem.qpp = rows, rows + size, rows + 2 * size
        problem.a, problem.b, problem.c = rows + 3 * size, rows + 4 * size, rows + 5 * size
        size = self.capacity
        problem.s, problem.x, problem.share = columns, columns + size, columns + 2 * size
        problem.u, problem.h = columns + 3 * size, columns + 4 * size
        codes = declared.from_buffer(_types()[1], self.codes)
        problem.kind, problem.joint = codes, codes + size
        code = library.rd_retime(problem)
        if failures:
            raise failures[0]
        if code != library.RD_RETIMED:
            raise TrajectoryError(self._reason(problem, code, library))
        return self._result(problem, library)

    def _result(self, problem: Any, library: Any) -> Retimed:
        points = problem.points
        times = np.empty(points)
        room = np.empty((points - 1) * 6 * self.joints + 3)  # it writes in groups of four
        coefficients = room[:-3].reshape(points - 1, 6, self.joints)
        if not library.rd_retime_spline(problem, _at(times), _at(room)):
            raise TrajectoryError("the path has places at which nothing moves, not even its parameter")
        q, qp, qpp = (self.rows[k, :points] for k in range(3))
        s, x, share = (self.columns[k, :points] for k in range(3))
        kind, joint = (self.codes[k, :points] for k in range(2))
        spline = QuinticSpline(times, coefficients)
        names = self.driven.chain.joint_names
        return Retimed(
            names, s, x, q, qp, qpp, kind, joint, share, problem.rounds_taken + problem.steps, spline
        )

    def _reason(self, problem: Any, code: int, library: Any) -> str:
        """The reason for which there is no motion."""
        if code == library.RD_NO_MEMORY:
            return "the path has too many points for this computer's memory"
        if code == library.RD_NOT_FINITE:
            return "efforts along the path are not finite: its numbers are too large"
        where = f"s = {self._share(problem.failed_at):.4g}"
        rated = bool(problem.rate) and problem.failed_kind == library.RD_BY_RATE
        if code == library.RD_RATE or (code == library.RD_BEYOND and rated):
            reason = self._slowest(problem, where)
            if code == library.RD_BEYOND:
                reason += "; the path starts or ends too fast"
            return f"no motion was found that keeps the limits of the effort's rate: {reason}"
        if code == library.RD_BEYOND:
            return (
                f"no motion was found that keeps the limits at {where}: the path bends too sharply there for"
                f" {self.intervals} intervals; give more intervals, or a smoother path"
            )
        value, limit = problem.failed_value, problem.failed_limit
        if code == library.RD_START:
            side = "at most" if limit >= 0.0 else "at least"
            return (
                f"the path starts with the speed {value:.4g} along it; {side} {abs(limit):.4g} can be kept"
                " within the limits"
            )
        if code == library.RD_END:
            return f"the path ends with the speed {value:.4g} along it; the limits allow {limit:.4g}"
        j = problem.failed_joint
        if j < 0:
            return (
                f"no motion passes {where} of the path within the limits, although each joint could hold its"
                " weight there: the path is too curved, or an acceleration limit too small"
            )
        return (
            f"{self.driven.chain.joint_names[j]} cannot hold its weight and overcome its friction at {where}:"
            f" {abs(value):.4g} {self._unit(j)} of {limit:.4g}"
        )

    def _unit(self, joint: int) -> str:
        return "N" if self.driven.chain.driving_joint(joint).kind.value == "prismatic" else "N·m"

    def _slowest(self, problem: Any, where: str) -> str:
        """Reason for which not even a very slow motion keeps the limits."""
        j, value, limit = problem.failed_joint, problem.failed_value, problem.failed_limit
        if j < 0:
            return "the limits are too small"
        name, unit = self.driven.chain.joint_names[j], self._unit(j)
        if problem.failed_kind == KINDS.index("effort"):
            return f"{name} cannot pass {where} slowly: {value:.4g} {unit} of {limit:.4g}"
        return f"the effort of {name} changes by {value:.4g} {unit}/s at {where}, {limit:.4g} are allowed"

    def _share(self, s: float) -> float:
        times = self.spline.times
        return float((s - times[0]) / (times[-1] - times[0]))


def _at(array: Array) -> Any:
    """``double[]`` of an array, for a ``double *``."""
    return ffi().from_buffer(_types()[0], array)


@lru_cache(maxsize=1)
def _types() -> tuple[Any, Any]:
    """Types of arrays for cffi, which parses their names slowly."""
    return ffi().typeof("double[]"), ffi().typeof("int[]")


def _limits(limits: Any) -> PathLimits:
    of_type("limits", limits, PathLimits)
    made: PathLimits = limits
    return made


def _load_friction(given: Any, count: int) -> Array:
    """(n,), or one number."""
    if type(given) is float and 0.0 <= given < 1.0:
        return np.full(1, given)
    values = real_array("load_friction", given, ParameterError)
    if values.shape not in ((), (1,), (count,)) or not ((values >= 0.0) & (values < 1.0)).all():
        raise ParameterError(
            f"load_friction is {quoted(given)}; give one share from 0 to below 1, or {count}: one per joint"
        )
    return values


def _speed(name: str, given: float | None, spline: QuinticSpline, end: int, timed: bool) -> float:
    """Square of the path speed at an end; negative: it is free, as nothing moves there."""
    if given is not None:
        speed = real_number(name, given, ParameterError)
        if speed < 0.0:
            raise ParameterError(f"{name} is {quoted(given)}; it must be a finite number, at least 0")
        return speed * speed
    if not timed:
        return 0.0
    rate = np.abs(spline.sample(float(spline.times[-end]))[1]).max()
    return 1.0 if rate > AT_REST else -1.0


AT_REST = 1e-9
"""Joints that are slower than this stand [rad/s or m/s]."""
CREEPING = 0.005
"""Share of the velocity limits below which an end in motion may change its speed where no motion keeps it.

MoveIt's first point is a millisecond after its path's start, with the greatest acceleration there is.
"""


def _creeps(spline: QuinticSpline, end: int, limits: Array) -> bool:
    """True if every joint moves at an end at less than CREEPING of its limit."""
    rates = np.abs(spline.sample(float(spline.times[-end]))[1])
    return bool((rates <= CREEPING * np.where(np.isfinite(limits), limits, rates.max())).all())


def _path(path: Any, joints: int, names: tuple[str, ...]) -> tuple[QuinticSpline, bool]:
    """The path as quintics, and whether it has a timing of its own.

    Raises:
        TrajectoryError: what is wrong with it.
    """
    spline = getattr(path, "spline", path)
    if isinstance(spline, QuinticSpline):
        if spline.coefficients.shape[1:] != (6, joints) or len(spline.times) < 2:
            shape = spline.coefficients.shape
            raise TrajectoryError(f"the path's coefficients have shape {shape}; expected (K, 6, {joints})")
        check_count(len(spline.times))
        if not (np.isfinite(spline.coefficients).all() and np.isfinite(spline.times).all()):
            raise TrajectoryError("the path has coefficients or times that are not finite")
        if not (spline.times[1:] > spline.times[:-1]).all():
            raise TrajectoryError("the path's times must increase strictly")
        if not spline.coefficients[:, 1:].any():
            raise TrajectoryError("the path stands still: there is nothing to retime")
        return spline, True
    return through(path, names), False


def through(points: Any, names: tuple[str, ...]) -> QuinticSpline:
    """A smooth path through waypoints, parametrised by the length of the lines between them, from 0 to 1.

    Args:
        points: (K, n) positions [rad or m].
        names: of the joints (n,).

    Raises:
        TrajectoryError: fewer than two points, repeated ones, a wrong shape or a number that is not finite.
    """
    places = real_array("path", points, TrajectoryError)
    if places.ndim != 2 or places.shape[1] != len(names):
        raise TrajectoryError(
            f"path has shape {places.shape}; expected (K, {len(names)}): K points of n joints"
        )
    if len(places) < 2:
        raise TrajectoryError(f"the path has {len(places)} point; it needs at least two")
    check_count(len(places))
    for k, j in np.argwhere(~np.isfinite(places)).tolist():
        raise TrajectoryError(f"point {k} of the path: {names[j]!r} is {places[k, j]}, not finite")
    ways = np.diff(places, axis=0)
    largest = np.abs(ways).max()
    steps = np.linalg.norm(ways / largest if largest > 0.0 else ways, axis=1)
    for k in np.flatnonzero(steps <= 1e-9 * steps.max()).tolist():
        raise TrajectoryError(f"points {k} and {k + 1} of the path are the same: leave one out")
    lengths = np.concatenate(([0.0], np.cumsum(steps))) / steps.sum()
    # At its ends the path is straight.
    slopes, curvatures = np.full(places.shape, np.nan), np.full(places.shape, np.nan)
    slopes[0], slopes[-1] = (np.diff(places[k : k + 2], axis=0)[0] for k in (0, -2 + len(places)))
    slopes[0] /= lengths[1]
    slopes[-1] /= 1.0 - lengths[-2]
    curvatures[[0, -1]] = 0.0
    return waypoint_spline(lengths, places, slopes, curvatures)
