"""The largest box of poses around home that is within a machine's limits, verified on all of it.

The box spans offsets from home in x, y, z, roll, pitch and yaw. It is split into parts. On a part with the
middle c every quantity is its value at c and a bound of its change. Let ρ and θ be the largest distance and
angle of the platform from its pose at c. Then a platform point q moves by d ≤ ρ + |q| θ, and a leg of
length L turns by φ ≤ asin(d / L). Lengths are bounded to second order, everything else to first.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.report.sizing.axes import displaced
from robot_dynamics.report.sizing.workspace import CAUSES, Excursion, holding_forces, slacks
from robot_dynamics.spatial import Array, cross
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.machine import Machine

FORCE = "holding force"
MOST_PARTS = 150_000
"""Maximum number of parts of one box."""
AT_ONCE = 4096
TRIES = (0.999, 0.99, 0.97, 0.94, 0.9, 0.8, 0.65, 0.5)
"""Shares of the sampled scale for which the proof is tried, one after the other."""
HALVINGS = 20


@dataclass(frozen=True)
class WorkspaceBox:
    """A box of poses around home.

    Attributes:
        proportions: (6,) half sizes at scale 1 [m, rad].
        scale: every pose of the box of this scale is verified to be within the limits of stroke, joint
            angles, condition number and holding force, so that no singularity is in it; 0 where none was
            verified.
        sampled: at this scale the first pose of a grid leaves a limit.
        cause: that limit.
    """

    proportions: Array
    scale: float
    sampled: float
    cause: str

    @property
    def half(self) -> Array:
        """(6,) half sizes of the verified box [m, rad]."""
        return self.scale * self.proportions


def largest_box(machine: Machine, reached: list[Excursion], proportions: Array | None = None) -> WorkspaceBox:
    """The largest verified box with given proportions.

    Args:
        machine: the platform.
        reached: its excursions; the default proportions are the smaller one of each direction.
        proportions: (6,) half sizes at scale 1, not negative [m, rad].
    """
    if proportions is None:
        proportions = np.array([min(-e.least, e.greatest) for e in reached])
    sampled, cause = _sampled(machine, proportions)
    for share in TRIES:
        if _verified(machine, share * sampled * proportions):
            return WorkspaceBox(proportions, share * sampled, sampled, cause)
    return WorkspaceBox(proportions, 0.0, sampled, cause)


def _sampled(machine: Machine, proportions: Array) -> tuple[float, str]:
    """The scale at which the first pose of a grid (three values per direction) leaves a limit; the limit."""
    steps = [(-1.0, 0.0, 1.0) if size > 0.0 else (0.0,) for size in proportions]
    grid = np.array(list(itertools.product(*steps))) * proportions
    limit = np.array([leg.limits.force for leg in machine.legs])

    def cause_at(scale: float) -> str:
        poses = displaced(machine, scale * grid)
        room = slacks(machine, poses)[0]
        worst = np.unravel_index(room.argmin(), room.shape)
        if room[worst] < 0.0:
            return CAUSES[1 + int(worst[-1])]
        return FORCE if (np.abs(holding_forces(machine, poses)) > limit).any() else ""

    high = 1.0
    while not (cause := cause_at(high)) and high < 64.0:
        high *= 2.0
    low = 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if found := cause_at(middle):
            high, cause = middle, found
        else:
            low = middle
    return low, cause


def _verified(machine: Machine, half: Array) -> bool:
    """True where every pose of a box is within the limits; False where one is not, or nobody can tell."""
    waiting = [(np.zeros((1, 6)), np.asarray(half)[None])]
    looked_at = 0
    reach = float(np.linalg.norm(machine.platform_points, axis=1).max())
    weights = np.array([1.0] * 3 + [reach] * 3)
    while waiting:
        centers, halves = waiting.pop()
        if len(centers) > AT_ONCE:
            waiting.append((centers[AT_ONCE:], halves[AT_ONCE:]))
            centers, halves = centers[:AT_ONCE], halves[:AT_ONCE]
        looked_at += len(centers)
        if looked_at > MOST_PARTS:
            return False
        open_, broken = _judge(machine, centers, halves)
        if broken.any():
            return False
        centers, halves = centers[open_], halves[open_]
        if not len(centers):
            continue
        axis = (weights * halves).argmax(axis=1)
        rows = np.arange(len(axis))
        smaller = halves.copy()
        smaller[rows, axis] *= 0.5
        shift = np.zeros_like(centers)
        shift[rows, axis] = smaller[rows, axis]
        waiting.append((np.vstack([centers - shift, centers + shift]), np.vstack([smaller, smaller])))
    return True


def _judge(machine: Machine, centers: Array, halves: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(N,) on which parts a limit may not be kept, and in whose middle one is not."""
    poses = displaced(machine, centers)
    room, _ = slacks(machine, poses)
    limits = [leg.limits for leg in machine.legs]
    strongest = np.array([limit.force for limit in limits])
    usable = room.min(axis=-1) >= 0.0
    if not usable.all():
        return ~usable, ~usable
    legs = leg_geometry(machine, poses.position, poses.rotation)
    held = holding_forces(machine, poses)
    broken = (np.abs(held) > strongest).any(axis=1)

    moved = np.linalg.norm(halves[:, :3], axis=1)[:, None]
    turn = halves[:, 3:].sum(axis=1)[:, None]
    arm = np.linalg.norm(machine.platform_points, axis=1)
    shift = moved + arm * turn
    near = legs.lengths - shift
    open_ = ~(near > 0.0).all(axis=1)
    least = np.maximum(near, 1e-12)
    swing = np.arcsin(np.minimum(shift / legs.lengths, 1.0))

    linear = (np.abs(_gradients(machine, centers, legs.arms, legs.directions)) * halves[:, None]).sum(axis=-1)
    bend = 0.5 * arm * turn**2
    shortest, longest = (np.array([getattr(x, name) for x in limits]) for name in ("shortest", "longest"))
    open_ |= ~(legs.lengths - linear - bend >= shortest).all(axis=1)
    open_ |= ~(legs.lengths + linear + bend + 0.5 * shift**2 / least <= longest).all(axis=1)

    home = machine.home_directions
    base = _angle(legs.directions, home)
    local = _angle(legs.directions @ poses.rotation, home @ machine.home_rotation)
    open_ |= ~(base + swing <= np.array([x.base_angle for x in limits])).all(axis=1)
    open_ |= ~(local + swing + turn <= np.array([x.platform_angle for x in limits])).all(axis=1)

    size = machine.characteristic_length
    scaled = legs.jacobian * np.array([1.0] * 3 + [1.0 / size] * 3)
    change = np.sqrt((swing**2 + (arm * (swing + turn) / size) ** 2).sum(axis=1))
    singular = np.linalg.svd(scaled, compute_uv=False)
    greatest, smallest = singular[:, 0] + change, singular[:, -1] - change
    open_ |= ~(greatest <= machine.condition_limit * smallest)

    axis_sine = np.linalg.norm(cross(machine.universal_axes, legs.directions), axis=-1) - swing
    wrench = _wrench_change(machine, shift, swing, turn, least, legs.lengths, np.maximum(axis_sine, 1e-12))
    stiff = np.array([leg.spring.stiffness for leg in machine.legs])
    push = np.array([leg.spring.force_at_zero for leg in machine.legs]) - stiff * legs.lengths
    carried = np.linalg.norm(held + push, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (wrench + change * carried) / np.where(smallest > 0.0, smallest, np.nan)
    # A machine without limits of force needs no bound of it.
    kept = np.abs(held) + spread[:, None] + stiff * shift <= strongest
    open_ |= ~(kept | np.isinf(strongest)).all(axis=1)
    free = np.array([leg.universal_axis is None for leg in machine.legs])
    open_ |= ~((axis_sine > 0.0) | free).all(axis=1)
    return np.asarray(open_ | broken), np.asarray(broken)


def _gradients(machine: Machine, centers: Array, arms: Array, directions: Array) -> Array:
    """(N, 6, 6) rates of the lengths by the six offsets."""
    a, b = centers[:, 4], centers[:, 5]
    zero, one = np.zeros_like(a), np.ones_like(a)
    # R = Rz(yaw) Ry(pitch) Rx(roll): axes of roll, pitch and yaw in the base frame.
    roll = np.stack([np.cos(b) * np.cos(a), np.sin(b) * np.cos(a), -np.sin(a)], axis=-1)
    pitch, yaw = np.stack([-np.sin(b), np.cos(b), zero], axis=-1), np.stack([zero, zero, one], axis=-1)
    turns = [(directions * cross(axis[:, None], arms)).sum(axis=-1) for axis in (roll, pitch, yaw)]
    return np.concatenate([directions, np.stack(turns, axis=-1)], axis=-1)


def _angle(a: Array, b: Array) -> Array:
    across = np.linalg.norm(cross(a, np.broadcast_to(b, a.shape)), axis=-1)
    return np.asarray(np.arctan2(across, (a * b).sum(axis=-1)))


def _wrench_change(
    machine: Machine, shift: Array, swing: Array, turn: Array, least: Array, lengths: Array, sine: Array
) -> Array:
    """(N,) bound of the change of the weights' wrench, moments over the characteristic length.

    By virtual work a leg's weight acts at its platform point as m_u g and, for the first moment h along its
    axis, h (g - (g·s) s) / L. Centres of mass off the axis are bounded by twice their whole effect.
    """
    gravity, size = float(np.linalg.norm(machine.gravity)), machine.characteristic_length
    bodies = [(leg.lower, leg.upper) for leg in machine.legs]
    lever = np.array([abs(sum(b.mass * b.center_of_mass[0] for b in pair)) for pair in bodies])
    aside = np.array([sum(b.mass * np.linalg.norm(b.center_of_mass[1:]) for b in pair) for pair in bodies])
    upper = np.array([leg.upper.mass for leg in machine.legs])
    off = 2.0 * gravity * aside / (least * sine)
    change = gravity * lever * (2.0 * swing / least + shift / (lengths * least)) + 2.0 * off
    whole = gravity * (upper + lever / least) + off
    arm = np.linalg.norm(machine.platform_points, axis=1)
    center = float(np.linalg.norm(machine.platform.center_of_mass))
    moment = machine.platform.mass * gravity * center * turn[:, 0] + (arm * (change + turn * whole)).sum(
        axis=1
    )
    return np.asarray(np.hypot(change.sum(axis=1), moment / size))
