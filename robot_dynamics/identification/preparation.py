"""From logs to runs of equations: gaps, saturation, cut-off and delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.friction import direction
from robot_dynamics.errors import LogError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.base_parameters import RegroupedBase, structure
from robot_dynamics.identification.friction import (
    SPEEDS,
    TRAVELS,
    DriveSignals,
    FrictionLaw,
    built_along,
    motor_values,
    slid_along,
)
from robot_dynamics.identification.friction_choice import FOLDS, best_travels, chosen_law
from robot_dynamics.identification.holding_out import held_out
from robot_dynamics.identification.least_squares import robust_equations, robust_fit, solve_base
from robot_dynamics.identification.log_checks import (
    check_against_model,
    check_log,
    gaps,
    saturated_efforts,
    segments,
)
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.regressor import inertial_regressor
from robot_dynamics.identification.result import earth_or_none
from robot_dynamics.identification.runs import Options, Run, drives_given
from robot_dynamics.identification.signals import EDGE, MeasuredMotion, filtered
from robot_dynamics.identification.timing import (
    LONGEST_DELAY,
    MOST_CUTOFF,
    RATE_SHARE,
    SIGNIFICANT,
    Delay,
    Treatment,
    coherent_cutoff,
    effort_delay,
)
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array

LEAST_BETTER = 0.05
"""Share by which residuals must be smaller with a delay that knows friction that builds up, and with a lower
cut-off than the greatest."""
MOST_STEPS = 4
"""Most Gauss-Newton steps of the delay."""
_EDGES = 0.3
"""Greatest share of a run that the filter may cost."""


@dataclass(frozen=True)
class _Segment:
    """A part of a log without gaps, filtered.

    Attributes:
        log: the part.
        motion: filtered.
        links: (N, n, 10 k) columns of the links, filtered.
        drives: signals of the drives, filtered.
        carried: (N, n, 10 k) columns of the links with their weight, not filtered.
    """

    log: Log
    motion: MeasuredMotion
    links: Array
    drives: DriveSignals
    carried: Array

    def load(self, bodies: Array) -> Array:
        """(N, n) filtered signal of the gears' load, for links with the parameters (10 k,)."""
        load, velocity, coupling = self.carried @ bodies, self.motion.qd, self.log.coupling
        if coupling is not None:
            load, velocity = load @ coupling, motor_values(velocity, coupling)
        rubbed = np.abs(load) * direction(velocity)
        return self.motion.filter(rubbed)[self.motion.inner()]

    def building_over(self, travels: Array) -> Array:
        """(T, N, n) filtered signals of friction that builds up over travels (T, n)."""
        position, velocity, coupling = self.motion.q, self.motion.qd, self.log.coupling
        if coupling is not None:
            position, velocity = (motor_values(part, coupling) for part in (position, velocity))
        built = built_along(position, velocity, travels)
        return np.array([self.motion.filter(part)[self.motion.inner()] for part in built])

    def times(self, step: int | None = None) -> Array:
        return self.motion.time[self.motion.inner(step)]

    def counted(self) -> NDArray[np.bool_]:
        """(N, n) which equations count, at the thinned times."""
        return np.asarray((self.moving() & self.motion.usable)[self.motion.inner()])

    def moving(self) -> NDArray[np.bool_]:
        """(N, n) whether each joint moves, and all motors that move it."""
        moving, coupling = self.motion.moving(), self.log.coupling
        if coupling is None:
            return moving
        motors = replace(self.motion, qd=motor_values(self.motion.qd, coupling)).moving()
        moved = np.abs(np.linalg.inv(coupling).T) > 1e-12
        return np.asarray(moving & ~(~motors @ moved.T))

    def building(self) -> Array:
        """(N, n, b) columns of friction that builds up over each of TRAVELS, at the thinned times."""
        drives = self.drives.part(self.motion.inner())
        parts = [drives.placed(part) for part in drives.building[: len(TRAVELS)]]
        return np.concatenate(parts, axis=2)

    def late_effort(self, delay: float) -> Array:
        """(N, n) efforts that a delay [s] brings to the thinned times."""
        return self.motion.effort_at(self.times() + delay)


def prepared_runs(
    logs: Sequence[Log],
    chain: KinematicChain,
    prior: Array,
    options: Options,
    others: Sequence[Log] = (),
) -> tuple[list[Run], Treatment]:
    """The equations of each log and of the others, after all have been checked, and what was done to them.

    Args:
        logs: to learn from; cut-off and delay are theirs.
        chain: of the description.
        prior: parameters of the description.
        options: how.
        others: that are only predicted.

    Raises:
        LogError: a log is not this robot's motion.
    """
    whole = [*logs, *others]
    for log in whole:
        check_log(log, chain)
    for log in whole:
        if not np.array_equal(_coupling(log), _coupling(logs[0])):
            raise LogError(f"{log.source}: its motors are coupled otherwise than those of {logs[0].source}")
    greatest = options.cutoff or _greatest_cutoff(whole)
    gravity = earth_or_none(options.compensates_gravity)
    base = structure(chain, gravity, FrictionLaw.plain(chain.dof, logs[0].coupling))[0]
    parts = _filtered(logs, chain, greatest, options)
    coherent = greatest if options.cutoff else _coherent_cutoff(parts, base, greatest)
    least = parts if coherent == greatest else _filtered(logs, chain, coherent, options)
    distant = _filtered(others, chain, coherent, options)
    for segment in (segment for run in (*least, *distant) for segment in run):
        _check_signs(segment, chain, prior, options)
    cutoff = coherent
    runs, delay = _timed(logs, least, base, chain, options)
    if coherent < greatest:
        # Where the motion has little power, efforts are not coherent either, and a lower cut-off only costs
        # data: it must predict unseen parts better below it.
        more, other = _timed(logs, parts, base, chain, options)
        learned = _learned(runs, others, options)
        errors = [
            unseen_misfit(_learned(tried, others, options), learned, base, chain, gravity)
            for tried in (runs, more)
        ]
        if errors[1] < errors[0] + LEAST_BETTER:
            cutoff, runs, delay = greatest, more, other
    if options.delay is None and delay.seconds:
        runs, delay = _timed_by_law(logs, (runs, delay), others, cutoff, base, chain, options)
    runs = [*runs, *map(_run, _filtered(others, chain, cutoff, options, delay.seconds))]
    return runs, Treatment(cutoff, options.cutoff is not None, delay, tuple(_notes(whole, chain)))


def _columns(segment: _Segment, base: RegroupedBase, step: int | None = None) -> Array:
    """(N, n, b) of the base parameters with friction of the plain law."""
    inner = segment.motion.inner(step)
    plain = FrictionLaw.plain(segment.motion.q.shape[1], segment.log.coupling)
    drives = segment.drives.part(inner).columns(plain)
    return np.concatenate([segment.links[inner], drives], axis=2)[:, :, list(base.columns)]


def _coherent_cutoff(parts: Sequence[Sequence[_Segment]], base: RegroupedBase, greatest: float) -> float:
    """Cut-off up to which efforts by the plain law of friction and measured ones are coherent [Hz]."""
    every = [segment for segments in parts for segment in segments]
    longest = max(len(s.motion.time) * s.motion.filter.period for s in every)
    fit = robust_fit(
        np.concatenate([_columns(segment, base) for segment in every]),
        np.concatenate([s.motion.effort[s.motion.inner()] for s in every]),
        np.concatenate([segment.counted() for segment in every]),
    )
    pairs = [
        (_columns(s, base, 1) @ fit.values, s.motion.effort[s.motion.inner(1)], s.motion.filter.period)
        for s in every
    ]
    return coherent_cutoff(pairs, greatest, max(2.0 * EDGE / (_EDGES * longest), 0.5))


def _timed(
    logs: Sequence[Log],
    parts: Sequence[Sequence[_Segment]],
    base: RegroupedBase,
    chain: KinematicChain,
    options: Options,
) -> tuple[list[Run], Delay]:
    """The runs without the delay of their efforts, and the delay."""
    every = [segment for segments in parts for segment in segments]
    cutoff = every[0].motion.filter.cutoff

    def delayed(building: bool) -> Delay:
        return effort_delay(
            [
                np.concatenate([_columns(s, base), *([s.building()] if building else [])], axis=2)
                for s in every
            ],
            [segment.late_effort for segment in every],
            [segment.counted() for segment in every],
            [(s.motion.steady() & s.motion.usable)[s.motion.inner()] for s in every],
            max(float(np.median(np.diff(log.time))) for log in logs),
        )

    def late(delay: Delay) -> list[Run]:
        return [_run(parts) for parts in _filtered(logs, chain, cutoff, options, delay.seconds)]

    delay = delayed(building=False) if options.delay is None else Delay(options.delay, 0.0)
    runs = late(delay)
    if options.delay is None:
        # Friction that builds up after a reversal comes late, too: the law that is chosen tells which it is.
        other = delayed(building=True)
        known, vague = sorted((delay, other), key=lambda one: one.deviation)
        if SIGNIFICANT * known.deviation < vague.deviation:
            # Parts of the motion contradict each other about the vague one.
            runs, delay = (runs, delay) if delay is known else (late(other), other)
        elif abs(other.seconds - delay.seconds) > SIGNIFICANT * vague.deviation:
            again = late(other)
            gravity = earth_or_none(options.compensates_gravity)
            if _misfit(again, base, chain, gravity) < _misfit(runs, base, chain, gravity) - LEAST_BETTER:
                runs, delay = again, other
    return runs, delay


def _timed_by_law(
    logs: Sequence[Log],
    found: tuple[list[Run], Delay],
    others: Sequence[Log],
    cutoff: float,
    base: RegroupedBase,
    chain: KinematicChain,
    options: Options,
) -> tuple[list[Run], Delay]:
    """The runs and the delay that fit the chosen law of friction, where part of it builds up after reversals.

    Gauss-Newton steps of the delay, together with all parameters and travels, begin at the one that was
    ``found`` without them. They count where one after the first is within its deviation, and that is the
    smaller one.
    Where no delay was found they are not made: friction by another law than the robot's would look like one.
    """
    runs, delay = found
    gravity = earth_or_none(options.compensates_gravity)
    steps: list[Delay] = []
    seconds, tried = delay.seconds, runs
    for _ in range(MOST_STEPS):
        step = _remaining_delay(_learned(tried, others, options), base, chain, gravity)
        if step is None or abs(seconds + step.seconds) > LONGEST_DELAY:
            return found
        steps.append(step)
        seconds += step.seconds
        tried = [_run(parts) for parts in _filtered(logs, chain, cutoff, options, seconds)]
        if len(steps) > 1 and abs(step.seconds) <= step.deviation:
            break
    deviation = steps[-1].deviation
    if abs(steps[-1].seconds) > deviation or deviation > delay.deviation:
        return found
    if abs(seconds) > SIGNIFICANT * deviation:
        return tried, Delay(seconds, deviation)
    return [_run(parts) for parts in _filtered(logs, chain, cutoff, options, 0.0)], Delay(0.0, deviation)


def _remaining_delay(
    runs: Sequence[Run], plain: RegroupedBase, chain: KinematicChain, gravity: tuple[float, float, float]
) -> Delay | None:
    """Delay that is left in runs by the law of friction that they ask for; None where nothing builds up."""
    law = chosen_law(runs, plain)
    if not law.presliding_travel.any():
        return None
    base = structure(chain, gravity, law)[0]
    slid, law = best_travels(runs, law, base)
    blocks = [
        np.concatenate([run.rate[:, :, None], run.regressor(law)[:, :, list(base.columns)]], axis=2)
        for run in slid
    ]
    size = blocks[0].shape[2]
    itself = RegroupedBase(tuple(range(size)), np.eye(size))
    equations = robust_equations(
        blocks,
        [run.effort for run in slid],
        itself,
        [run.counted for run in slid],
        [run.drives.travel_columns(law) for run in slid],
    )
    values, covariance = solve_base(equations, itself)
    # Efforts of a later moment have the rate with a minus.
    return Delay(-float(values[0]), float(np.sqrt(covariance[0, 0])))


def _learned(runs: list[Run], others: Sequence[Log], options: Options) -> list[Run]:
    """The runs, or the part of them that will be learned from."""
    split = not others and not options.payload and options.learn_share < 1.0
    return held_out(runs, options.learn_share)[0] if split else runs


def unseen_misfit(
    runs: Sequence[Run],
    test: Sequence[Run],
    plain: RegroupedBase,
    chain: KinematicChain,
    gravity: tuple[float, float, float],
) -> float:
    """Mean logarithm of the joints' errors where ``runs`` predict parts of ``test``, each without that part.

    Args:
        runs: to learn from, filtered as they may be.
        test: the same motion, with the filter by which errors are judged.
        plain: base parameters with friction of the plain law.
        chain: of the description.
        gravity: (3,) that the efforts carry [m/s²].
    """
    law = chosen_law(runs, plain)
    columns = list(structure(chain, gravity, law)[0].columns)
    folds = [np.linspace(run.time[0], run.time[-1], FOLDS + 1)[1:-1] for run in test]

    def stacked(some: Sequence[Run]) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.intp]]:
        return (
            np.concatenate([run.regressor(law)[:, :, columns] for run in some]),
            np.concatenate([run.effort for run in some]),
            np.concatenate([run.counted for run in some]),
            np.concatenate([np.digitize(run.time, ends) for run, ends in zip(some, folds, strict=True)]),
        )

    regressor, effort, counted, fold = stacked(runs)
    tested, right, counts, place = stacked(test)
    squares = np.full(effort.shape[1], 1e-300)
    for k in range(FOLDS):
        known = fold != k
        fit = robust_fit(regressor[known], effort[known], counted[known])
        missed = np.where(counts, tested @ fit.values - right, 0.0)[place == k]
        squares += np.sum(missed**2, axis=0)
    return float(np.mean(np.log(squares / np.maximum(counts.sum(axis=0), 1)))) / 2.0


def _misfit(
    runs: Sequence[Run], plain: RegroupedBase, chain: KinematicChain, gravity: tuple[float, float, float]
) -> float:
    """Mean logarithm of the joints' residuals by the law of friction that the runs ask for."""
    law = chosen_law(runs, plain)
    columns = list(structure(chain, gravity, law)[0].columns)
    fit = robust_fit(
        np.concatenate([run.regressor(law)[:, :, columns] for run in runs]),
        np.concatenate([run.effort for run in runs]),
        np.concatenate([run.counted for run in runs]),
    )
    return float(np.mean(np.log(np.maximum(np.mean(fit.residual**2, axis=0), 1e-300)))) / 2.0


def _coupling(log: Log) -> Array:
    return np.eye(len(log.joint_names)) if log.coupling is None else log.coupling


def _greatest_cutoff(logs: Sequence[Log]) -> float:
    rates = [1.0 / float(np.median(np.diff(log.time))) for log in logs]
    return min(MOST_CUTOFF, RATE_SHARE * min(rates))


def _filtered(
    logs: Sequence[Log], chain: KinematicChain, cutoff: float, options: Options, delay: float | None = None
) -> list[list[_Segment]]:
    """The segments of each log; on a finer grid where the delay is not known yet."""
    result = []
    for log in logs:
        saturated = saturated_efforts(log, _effort_limits(chain))
        found = [
            _segment(_part(log, part), saturated[part], chain, cutoff, options, delay)
            for part in segments(log)
        ]
        found = [segment for segment in found if len(segment.times()) >= 2]
        if not found:
            raise LogError(
                f"{log.source}: nothing is left without {EDGE / cutoff:.3g} s at the ends of each part, which"
                f" a cut-off of {cutoff:g} Hz costs; record longer, or raise --cutoff"
            )
        result.append(found)
    return result


def _part(log: Log, part: slice) -> Log:
    return replace(log, time=log.time[part], q=log.q[part], qd=log.qd[part], effort=log.effort[part])


def _segment(
    log: Log,
    saturated: NDArray[np.bool_],
    chain: KinematicChain,
    cutoff: float,
    options: Options,
    delay: float | None,
) -> _Segment:
    motion = filtered(log, cutoff, saturated, delay or 0.0, interpolated=delay is None)
    links = inertial_regressor(
        chain, motion.q, motion.qd, motion.qdd, earth_or_none(options.compensates_gravity)
    )
    carried = links
    if options.compensates_gravity:
        carried = inertial_regressor(chain, motion.q, motion.qd, motion.qdd)
    # The efforts of sharp friction steps are filtered in the log, so they are here.
    columns = np.zeros_like(links)
    depends = links.any(axis=0)
    columns[:, depends] = motion.filter(links[:, depends])
    speeds = np.repeat(np.array(SPEEDS)[:, None], chain.dof, axis=1)
    known = FrictionLaw.of(drives_given(chain, options))
    speeds = np.vstack([speeds, known.stribeck_velocity])
    travels = np.repeat(np.array(TRAVELS)[:, None], chain.dof, axis=1)
    travels = np.vstack([travels, known.presliding_travel])
    moved = motion.q if log.coupling is None else motor_values(motion.q, log.coupling)
    slid = slid_along(moved, travels)
    signals = DriveSignals.of(
        motion.qd, motion.qdd, speeds, coupling=log.coupling, travels=travels, slid=slid
    )
    return _Segment(log, motion, columns, signals.changed(motion.filter), carried)


def _run(parts: Sequence[_Segment]) -> Run:
    origin = parts[0].log.time[0]
    runs = []
    for segment in parts:
        motion, inner = segment.motion, segment.motion.inner()
        step = 0.1 * motion.filter.period
        runs.append(
            Run(
                segment.log.source,
                segment.times() - origin,
                motion.q[inner],
                segment.links[inner],
                segment.drives.part(inner),
                motion.effort[inner],
                (segment.late_effort(step) - segment.late_effort(-step)) / (2.0 * step),
                segment.moving()[inner],
                motion.usable[inner],
                segment.load,
                segment.building_over,
                segment.log.gain_deviation,
            )
        )
    return Run.joined(runs)


def _check_signs(segment: _Segment, chain: KinematicChain, prior: Array, options: Options) -> None:
    bodies = prior[: inertial.COUNT * len(chain.joints)]
    motion, inner = segment.motion, segment.motion.inner()
    zero = np.zeros_like(motion.q[inner])
    weight = inertial_regressor(chain, motion.q[inner], zero, zero) @ bodies
    moving = segment.links[inner] @ bodies
    if not options.compensates_gravity:
        moving = moving - weight
    check_against_model(
        segment.log.source,
        chain.joint_names,
        motion.effort[inner],
        moving,
        weight,
        (motion.qdd[inner], motion.qd[inner], direction(motion.qd[inner])),
        options.compensates_gravity,
    )


def _effort_limits(chain: KinematicChain) -> Array:
    return np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])


def _notes(logs: Sequence[Log], chain: KinematicChain) -> list[str]:
    lines = []
    for log in logs:
        for index in gaps(log):
            length, after = log.time[index + 1] - log.time[index], log.time[index] - log.time[0]
            lines.append(f"{log.source}: a gap of {length:.3f} s after {after:.3f} s splits the run")
        counts = saturated_efforts(log, _effort_limits(chain)).sum(axis=0)
        for name, count in zip(log.joint_names, counts, strict=True):
            if count:
                lines.append(f"{log.source}: {count} saturated efforts of {name} are left out")
    return lines
