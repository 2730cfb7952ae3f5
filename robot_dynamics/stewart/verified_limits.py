"""Limits of a machine along a path: verified in continuous time for polynomials, sampled for any other path.

Interval bounds of lengths, speeds, forces, angles and condition number decide most of a polynomial path at
once; where they do not, it is split until they do. A limit counts as kept up to ``SLACK``, so that this ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import LimitError, ParameterError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import Violation, pose_violations
from robot_dynamics.stewart.inverse_dynamics import inverse_dynamics
from robot_dynamics.stewart.kinematics import LegGeometry, condition_number, leg_geometry
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.path_bounds import Boxes, LegBounds, PathBounds, Pieces
from robot_dynamics.stewart.paths import PlatformPath, PolynomialPath

SLACK = 1e-6
"""Excess over a limit that counts as keeping it, relative to the limit; for angles, of their cosine."""
MOST_BOXES = 400_000
"""Maximum number of intervals per path."""
MOST_SAMPLES = 1_000_000
"""Maximum number of samples of a path that has no polynomials."""
HALVINGS = 40
SAMPLES = 33
"""Samples of a box that leaves the limits, from which its worst values are reported."""
REPORTED = 64
"""Boxes that are sampled so, at most; where there are more, neighbours are taken together."""

Sampler = Callable[[Array], Motion]
"""Gives the motion (without load) at times (N,) [s]."""


@dataclass(frozen=True)
class PathViolation:
    """A limit that a path does not keep.

    Attributes:
        time: of the worst moment that was found [s].
        violation: which limit, by how much.
    """

    time: float
    violation: Violation

    @property
    def message(self) -> str:
        """In words."""
        return f"at t = {self.time:.3f} s: {self.violation.message}"


@dataclass(frozen=True)
class MachineLimits:
    """Limits of the legs, (6,) each, and of the condition number."""

    shortest: Array
    longest: Array
    speed: Array
    force: Array
    base_cosine: Array
    platform_cosine: Array
    condition: float

    @staticmethod
    def of(machine: Machine, margin: float = 0.0) -> MachineLimits:
        """Limits of a machine, its strokes, speeds and angles widened by a ``margin``, a share of each."""
        limits = [leg.limits for leg in machine.legs]
        shortest = np.array([limit.shortest for limit in limits])
        longest = np.array([limit.longest for limit in limits])
        slack = margin * np.where(np.isfinite(longest), longest - shortest, 0.0)
        wide = 1.0 + margin
        return MachineLimits(
            shortest - slack,
            longest + slack,
            wide * np.array([limit.speed for limit in limits]),
            np.array([limit.force for limit in limits]),
            np.cos(np.minimum(wide * np.array([limit.base_angle for limit in limits]), np.pi)),
            np.cos(np.minimum(wide * np.array([limit.platform_angle for limit in limits]), np.pi)),
            machine.condition_limit,
        )

    def widened(self, machine: Machine, position: Array, rotation: Array) -> MachineLimits:
        """Strokes and angles such that a pose keeps them: from outside, one may return."""
        legs = leg_geometry(machine, position, rotation)
        home = machine.home_directions
        base = (legs.directions * home).sum(axis=-1)
        platform = (legs.directions * (home @ machine.home_rotation @ rotation.T)).sum(axis=-1)
        return replace(
            self,
            shortest=np.minimum(self.shortest, legs.lengths),
            longest=np.maximum(self.longest, legs.lengths),
            base_cosine=np.minimum(self.base_cosine, base),
            platform_cosine=np.minimum(self.platform_cosine, platform),
        )


def path_violations(
    machine: Machine,
    pieces: Pieces,
    sample: Sampler,
    wrench: Array,
    from_outside: bool = False,
) -> tuple[PathViolation, ...]:
    """Limits that a polynomial path does not keep anywhere on it; empty when it keeps every limit.

    Args:
        machine: the platform, with everything that it carries.
        pieces: the path.
        sample: the same path.
        wrench: (6,) external force [N] and moment about the platform's origin [N·m], platform frame.
        from_outside: a stroke or an angle that is not kept where the path starts may be left from there, as
            long as it gets no worse.

    Raises:
        LimitError: it cannot be decided within reason, as the path stays too near to its limits for too long.
    """
    limits = _limits(machine, sample, pieces.times[:1], from_outside)
    bounds = PathBounds(machine, wrench)
    boxes, looked_at = Boxes.over(len(pieces.coefficients)), 0
    while len(boxes.piece):
        looked_at += len(boxes.piece)
        if looked_at > MOST_BOXES:
            time = boxes.spans(pieces)[1][0]
            raise LimitError(f"the path is too near to a limit for too long, e.g. at t = {time:.3f} s")
        open_, broken = _judge(limits, bounds.of(pieces, boxes))
        if broken.any():
            return _report(machine, limits, pieces, boxes.subset(broken), sample, wrench)
        boxes = boxes.split(open_, len(pieces.coefficients))
    return ()


def _limits(machine: Machine, sample: Sampler, start: Array, from_outside: bool) -> MachineLimits:
    """MachineLimits that count on a path whose first time is ``start`` (1,) [s]."""
    limits = MachineLimits.of(machine)
    if from_outside:
        motion = sample(start)
        limits = limits.widened(machine, motion.position[0], motion.rotation[0])
    return limits


def _judge(limits: MachineLimits, bounds: LegBounds) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(N,) on which boxes a limit may not be kept, and on which one is not."""
    open_ = np.zeros(bounds.lengths.shape[1], dtype=bool)
    broken = open_.copy()
    for (value, deviation), limit in (
        (bounds.lengths, limits.longest),
        ((-bounds.lengths[0], bounds.lengths[1]), -limits.shortest),
        ((np.abs(bounds.speeds[0]), bounds.speeds[1]), limits.speed),
        ((np.abs(bounds.forces[0]), bounds.forces[1]), limits.force),
        ((-bounds.base_cosines[0], bounds.base_cosines[1]), -limits.base_cosine),
        ((-bounds.platform_cosines[0], bounds.platform_cosines[1]), -limits.platform_cosine),
    ):
        greatest = limit + SLACK * np.abs(limit)
        # A value that is not a number (NaN) keeps no limit.
        open_ |= ~(value + deviation <= greatest).all(axis=1)
        broken |= ~(value <= greatest).all(axis=1)
    singular, near = _condition(bounds.jacobian, bounds.jacobian_deviation, limits.condition * (1.0 + SLACK))
    return open_ | singular, broken | near


def _condition(
    jacobian: Array, deviation: Array, limit: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(N,) where the condition number may exceed the limit, and where it does in the middle.

    Singular values move by no more than the norm of a deviation. Frobenius norms, which are cheaper, bound
    them first.
    """
    size = np.sqrt((jacobian**2).sum(axis=(1, 2)))
    with np.errstate(invalid="ignore", divide="ignore"):
        least = 1.0 / np.sqrt((_inverse(jacobian) ** 2).sum(axis=(1, 2)))
        open_ = ~(size + deviation <= limit * (least - deviation))
    broken = np.zeros_like(open_)
    unsure = np.flatnonzero(open_)
    singular = np.linalg.svd(np.nan_to_num(jacobian[unsure]), compute_uv=False)
    greatest, least = singular[:, 0], singular[:, -1]
    open_[unsure] = ~(greatest + deviation[unsure] <= limit * (least - deviation[unsure]))
    broken[unsure] = ~(greatest <= limit * least)
    return open_, broken


def _inverse(matrices: Array) -> Array:
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        return np.full_like(matrices, np.inf)


def _report(
    machine: Machine, limits: MachineLimits, pieces: Pieces, boxes: Boxes, sample: Sampler, wrench: Array
) -> tuple[PathViolation, ...]:
    """The worst of each limit that is not kept, from samples of the boxes and once more around the worst."""
    start, _, end = boxes.spans(pieces)
    order = np.argsort(start, kind="stable")
    firsts = np.linspace(0, len(order), min(len(order), REPORTED), endpoint=False).astype(int)
    start, end = start[order][firsts], np.maximum.reduceat(end[order], firsts)
    times = np.linspace(start, end, SAMPLES).T.ravel()
    found: dict[tuple[str, int | None], PathViolation] = {}
    step = float((end - start).max()) / SAMPLES
    for violation in _at(machine, limits, sample, times, wrench):
        near = np.clip(violation.time + np.linspace(-step, step, SAMPLES), pieces.times[0], pieces.times[-1])
        key = (violation.violation.quantity, violation.violation.leg)
        found[key] = violation
        for finer in _at(machine, limits, sample, near, wrench):
            worse = abs(finer.violation.value - finer.violation.limit) > abs(
                violation.violation.value - violation.violation.limit
            )
            if (finer.violation.quantity, finer.violation.leg) == key and worse:
                found[key] = finer
    return tuple(sorted(found.values(), key=lambda one: one.time))


def _at(
    machine: Machine, limits: MachineLimits, sample: Sampler, times: Array, wrench: Array
) -> list[PathViolation]:
    """Limits that the motion does not keep at these times."""
    motion = sample(times)
    loaded = motion._replace(
        force=np.broadcast_to(wrench[:3], motion.position.shape),
        torque=np.broadcast_to(wrench[3:], motion.position.shape),
    )
    eased = _with_limits(machine, limits)
    legs = leg_geometry(machine, motion.position, motion.rotation)
    poses = pose_violations(eased, legs, motion.rotation)
    found = poses if _singular(poses) else inverse_dynamics(eased, loaded, "exact", "report").violations
    return [PathViolation(float(times[violation.state or 0]), _named(violation)) for violation in found]


def _singular(violations: tuple[Violation, ...]) -> bool:
    return any(violation.quantity == "condition_number" for violation in violations)


def _named(violation: Violation) -> Violation:
    """Without the number of the sample."""
    return replace(
        violation, message=violation.message.replace(f" of state {violation.state}", "", 1), state=None
    )


def _with_limits(machine: Machine, limits: MachineLimits) -> Machine:
    """The machine with strokes and angles as they count here."""
    legs = tuple(
        replace(
            leg,
            limits=replace(
                leg.limits,
                shortest=float(limits.shortest[k]),
                longest=float(limits.longest[k]),
                base_angle=max(leg.limits.base_angle, float(np.arccos(limits.base_cosine[k]))),
                platform_angle=max(leg.limits.platform_angle, float(np.arccos(limits.platform_cosine[k]))),
            ),
        )
        for k, leg in enumerate(machine.legs)
    )
    return replace(machine, legs=legs)


class HasKinematics(Protocol):
    """A platform whose path is checked."""

    @property
    def machine(self) -> Machine:
        """Geometry and limits."""

    def legs_of(self, motion: Motion) -> LegGeometry:
        """Legs at the poses of a motion."""


def violations_along(
    platform: HasKinematics, path: PlatformPath, step: float, from_outside: bool
) -> tuple[Violation, ...]:
    """Limits that a path does not keep, with times in the messages; see ``StewartPlatform.check_path``."""
    crossing = singular_time(platform, path, step)
    machine, wrench = platform.machine, np.zeros(6)
    if crossing is not None:
        condition = float(condition_number(platform.legs_of(path.at(crossing)).jacobian))
        message = (
            f"the path meets a singular pose at t = {crossing:.3f} s; its condition number there is"
            f" {condition:.3g}"
        )
        return (Violation("condition_number", None, None, condition, machine.condition_limit, message),)
    if isinstance(path, PolynomialPath):
        pieces = path.pieces
        pieces = replace(pieces, times=pieces.times - pieces.times[0])
        found = path_violations(machine, pieces, path.at, wrench, from_outside)
    else:
        times = samples(path, step)
        limits = _limits(machine, path.at, times[:1], from_outside)
        found = tuple(_at(machine, limits, path.at, times, wrench))
    return tuple(replace(one.violation, message=one.message) for one in found)


def singular_time(platform: HasKinematics, path: PlatformPath, step: float) -> float | None:
    """Time at which a path first crosses a singularity [s]; None when the determinant never changes sign."""
    times = samples(path, step)
    determinants = np.linalg.det(platform.legs_of(path.at(times)).jacobian)
    changes = np.flatnonzero(determinants[:-1] * determinants[1:] <= 0.0)
    if not len(changes):
        return None
    low, high = times[changes[0]], times[changes[0] + 1]
    sign = np.sign(determinants[changes[0]])
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if np.sign(np.linalg.det(platform.legs_of(path.at(middle)).jacobian)) == sign:
            low = middle
        else:
            high = middle
    return float(0.5 * (low + high))


def samples(path: PlatformPath, step: float) -> Array:
    """Equally spaced times at most ``step`` apart, ends included [s]."""
    if not (np.isfinite(step) and step > 0.0):
        raise ParameterError(f"step is {step} s; it must be positive")
    count = path.duration / step
    if not count <= MOST_SAMPLES:
        raise ParameterError(
            f"step is {step:g} s: {count:.3g} samples in {path.duration:g} s; {MOST_SAMPLES} are possible"
        )
    return np.linspace(0.0, path.duration, max(2, int(np.ceil(count)) + 1))
