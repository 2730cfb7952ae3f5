"""Poses at rest that tell most of a payload, each approached from both sides.

Static friction hides up to its own size of what a joint carries. A pose that a joint comes to once from below
and once from above has nearly opposite friction, so the mean of both efforts is the weight's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import TrajectoryError
from robot_dynamics.identification import inertial
from robot_dynamics.identification.excitation.approach import approach
from robot_dynamics.identification.excitation.bounds import Bounds
from robot_dynamics.identification.excitation.clearance import Clearance
from robot_dynamics.identification.excitation.plan import Progress
from robot_dynamics.identification.excitation.points import Points
from robot_dynamics.identification.regressor import inertial_regressor
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.spatial import Array

SIDE = {JointKind.REVOLUTE: 0.1, JointKind.PRISMATIC: 0.02}
"""Distance beside a pose at which a joint begins its way to it [rad or m]."""
REST = 1.5
"""Time at each pose and on each side [s]."""
SCATTER = 0.01
"""Scatter of the efforts at rest, as a share of their limits, for what is printed."""
_CANDIDATES = 2000
_WEIGHT = 4
"""Columns of the weight: mass and first moment."""


@dataclass(frozen=True)
class Poses:
    """Poses and the motion through them.

    Attributes:
        positions: (K, n) [rad or m].
        motion: through them, each with a rest from below and one from above.
        deviation: standard deviation of a payload's mass for efforts with the scatter SCATTER [kg].
    """

    positions: Array
    motion: Points
    deviation: float

    def text(self, chain: KinematicChain) -> str:
        """Summary for a person, before anything moves."""
        lines = [
            f"{chain.name}: {len(self.positions)} poses at rest, each from below and from above,"
            f" {self.motion.time[-1]:.0f} s at full speed",
            f"{'joint':<24}" + "".join(f"{f'pose {k + 1}':>10}" for k in range(len(self.positions))),
        ]
        for j, name in enumerate(chain.joint_names):
            lines.append(f"{name:<24}" + "".join(f"{value:>10.3f}" for value in self.positions[:, j]))
        lines.append(
            f"a payload's mass will be determined to ± {self.deviation:.2g} kg where efforts at rest scatter"
            f" by {100.0 * SCATTER:g} % of their limits"
        )
        return "\n".join(lines)


def plan_poses(
    chain: KinematicChain,
    bounds: Bounds,
    clearance: Clearance | None,
    count: int,
    gravity: tuple[float, float, float],
    carrying: KinematicChain,
    progress: Progress = lambda stage, share: None,
) -> Poses:
    """``count`` poses inside ``bounds`` that tell most of a payload's mass and centre, one by one.

    Args:
        chain: the arm.
        bounds: to stay inside.
        clearance: of the shapes; None where they are not looked at.
        count: number of poses.
        gravity: (3,) in the root frame [m/s²].
        carrying: the arm with the heaviest payload that it has to hold.
        progress: called with what is being done and how much of it is.

    Raises:
        TrajectoryError: too few poses inside the bounds, or no clear way between them.
    """
    side = np.array([SIDE[chain.driving_joint(j).kind] for j in range(chain.dof)])
    side = np.minimum(side, 0.2 * (bounds.upper - bounds.lower))
    draw = np.random.default_rng(0)
    places = draw.uniform(bounds.lower + side, bounds.upper - side, (_CANDIDATES, chain.dof))
    zero = np.zeros_like(places)
    columns = inertial_regressor(chain, places, zero, zero, gravity)
    weight = np.abs(columns @ inertial.chain_parameters(carrying))
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    friction, limits = (
        np.array(values) for values in zip(*((j.friction, j.limits.effort) for j in joints), strict=True)
    )
    last = slice(inertial.COUNT * (len(chain.joints) - 1), inertial.COUNT * len(chain.joints))
    tip = (columns[:, :, last] @ inertial.moved_parameters(chain.tip_transform))[:, :, :_WEIGHT]
    typical = float(np.median(limits[np.isfinite(limits)])) if np.isfinite(limits).any() else 1.0
    rows = tip / np.where(np.isfinite(limits), limits, typical)[:, None]
    possible = np.flatnonzero((weight + friction < bounds.effort).all(axis=1))
    chosen: list[int] = []
    known = 1e-6 * np.eye(_WEIGHT) * max(float(np.max(np.abs(rows))), 1e-12) ** 2
    while len(chosen) < count and len(possible):
        progress("searching the poses that tell most", len(chosen) / count)
        each = known + np.einsum("kja,kjb->kab", rows[possible], rows[possible])
        best = int(np.argmax(np.linalg.slogdet(each)[1]))
        pose = int(possible[best])
        possible = np.delete(possible, best)
        around = places[pose] + np.array([[0.0], [-1.0], [1.0]]) * side
        if clearance is None or clearance.least(around, bounds.clearance)[0] >= bounds.clearance:
            chosen.append(pose)
            known = known + rows[pose].T @ rows[pose]
    if len(chosen) < count:
        raise TrajectoryError(
            f"only {len(chosen)} of {_CANDIDATES} random poses keep {bounds.clearance:g} m between the shapes"
            " and leave the joints the effort to carry the arm; give other ranges with --range"
        )
    positions = _in_short_order(places[chosen])
    deviation = SCATTER * float(np.sqrt(np.linalg.inv(known)[0, 0])) / np.sqrt(2.0)
    motion = _motion(chain, positions, side, bounds, clearance)
    return Poses(positions, motion, deviation)


def _in_short_order(places: Array) -> Array:
    """The poses one after the other, each time the nearest of those that are left."""
    order, left = [0], list(range(1, len(places)))
    while left:
        nearest = min(left, key=lambda k: float(np.abs(places[k] - places[order[-1]]).max()))
        order.append(nearest)
        left.remove(nearest)
    return np.asarray(places[order])


def _motion(
    chain: KinematicChain, positions: Array, side: Array, bounds: Bounds, clearance: Clearance | None
) -> Points:
    """To each pose from below, then from above, with a rest each time."""
    motion: Points | None = None
    here = positions[0] - side
    for place in positions:
        for beside in (place - side, place + side):
            for there in (beside, place):
                if not np.array_equal(here, there):
                    way = approach(chain.joint_names, here, there, bounds, clearance)
                    way = _rested(way) if there is place else way
                    motion = way if motion is None else way.after(motion)
                here = there
    assert motion is not None
    return motion


def _rested(way: Points) -> Points:
    """The way with a rest at its end."""
    zero = np.zeros_like(way.velocities[-1:])
    return replace(
        way,
        time=np.append(way.time, way.time[-1] + REST),
        positions=np.concatenate([way.positions, way.positions[-1:]]),
        velocities=np.concatenate([way.velocities, zero]),
        accelerations=np.concatenate([way.accelerations, zero]),
    )
