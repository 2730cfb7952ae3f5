"""Retiming of a platform's motion: its poses stay, its timing keeps the legs' speed and force limits.

The path has twelve coordinates: x, y, z, roll, pitch, yaw, which have no limits, and the six leg lengths,
whose rates and forces have. Along the path the actuator forces are linear in the path acceleration and in the
square of the path speed, as an arm's efforts are, so that both share one computation. Friction of the joints
at the legs' ends counts in the verification only, as it belongs to no single coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robot_dynamics.control.retiming.limits import PathLimits
from robot_dynamics.control.retiming.model import DrivenModel
from robot_dynamics.control.retiming.retime import INTERVALS, Retimed, retime
from robot_dynamics.control.spline import QuinticSpline, hermite_coefficients
from robot_dynamics.control.stewart.trajectory import (
    PoseTrajectory,
    PoseWaypoint,
    at_rest,
    motion_along,
    smooth_pose,
    trajectory_violations,
)
from robot_dynamics.dynamics.friction import DriveFriction
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.chain import ChainJoint, JointKind, RigidBody
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.compiled import compile_stewart
from robot_dynamics.stewart.machine import LEG_COUNT, JointFriction, Machine
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.motion_table import MotionTable
from robot_dynamics.stewart.newton_euler import balance
from robot_dynamics.stewart.orientation import rotation_from_quaternion
from robot_dynamics.stewart.platform import StewartPlatform
from robot_dynamics.stewart.verified_limits import PathViolation

MOST_ATTEMPTS = 15
"""As often the limits that the result exceeds are lowered."""
LONGEST_STEP = 0.02
"""Largest time between two poses of the result [s]."""
_SPARE = 0.003
_KNOTS = 200
"""Knots of the path at least; leg lengths are quintics between them."""
_POSE = ("x", "y", "z", "roll", "pitch", "yaw")
TIMED = ("speed", "force")
"""Quantities that depend on the timing."""


@dataclass(frozen=True)
class RetimedMotion:
    """A platform's motion with another timing.

    Attributes:
        table: its poses over time, whose curve from rest to rest was verified.
        violations: limits that this curve does not keep.
        profile: path speed and what limits it; None where the motion stayed as it is.
    """

    table: MotionTable
    violations: tuple[PathViolation, ...]
    profile: Retimed | None


def followed(table: MotionTable) -> PoseTrajectory:
    """The curve from rest to rest that the node follows through the poses of a table; it begins at time 0.

    Raises:
        TrajectoryError: a single pose, or no usable path.
    """
    if len(table.time) < 2:
        raise TrajectoryError("a motion needs at least two poses")
    origin = at_rest(table.position[0], rotation_from_quaternion(table.orientation[0]))
    rows = zip(
        (table.time - table.time[0]).tolist(),
        table.position.tolist(),
        table.orientation.tolist(),
        strict=True,
    )
    return smooth_pose([PoseWaypoint(*row) for row in rows][1:], 0.0, origin, 0.0)


def retime_motion(
    platform: StewartPlatform,
    table: MotionTable,
    wrench: Array,
    fastest: bool = False,
    margin: float = 0.0,
    intervals: int = INTERVALS,
) -> RetimedMotion:
    """Slow a motion down to what the legs' speeds and forces permit, or make it as fast as they permit.

    The curve through the resulting poses is verified in continuous time. Where it exceeds a limit, the motion
    is retimed within a smaller one for that leg. A motion that keeps its limits and may only become slower
    stays as it is.

    Args:
        platform: with all that it carries.
        table: poses over time.
        wrench: (6,) external force [N] and moment about the platform's origin [N·m], platform frame.
        fastest: as fast as the limits permit; else never faster than the motion's own timing.
        margin: share of each speed and force limit that stays free, 0 to below 1.
        intervals: of the grid, about.

    Raises:
        TrajectoryError: no timing keeps the limits; names the leg, the place and the force.
        LimitError: a curve too near to its limits for too long.
        SingularityError: a pose at which forces are not defined.
    """
    own = followed(table)
    reduced = _reduced(platform, margin)
    found = trajectory_violations(reduced, own, wrench)
    if not fastest and not any(one.violation.quantity in TIMED for one in found):
        return RetimedMotion(table, found, None)
    machine = platform.machine
    model = _PlatformModel(machine, wrench)
    spline = _with_lengths(own.spline, model)
    limits = {
        "velocity": np.array([leg.limits.speed for leg in machine.legs]) * (1.0 - margin),
        "effort": np.array([leg.limits.force for leg in machine.legs]) * (1.0 - margin),
    }
    step = min(LONGEST_STEP, float(np.median(np.diff(table.time))))
    made: RetimedMotion | None = None
    for _ in range(MOST_ATTEMPTS):
        bounds = {name: np.concatenate([np.full(6, np.inf), kept]) for name, kept in limits.items()}
        try:
            profile = retime(
                model.driven, spline, PathLimits(**bounds), slower=not fastest, intervals=intervals
            )
        except TrajectoryError:
            if made is None:
                raise
            break
        sampled = _table(profile, step, float(table.time[0]))
        found = trajectory_violations(reduced, followed(sampled), wrench)
        made = RetimedMotion(sampled, found, profile)
        beyond = [one.violation for one in found if one.violation.quantity in TIMED]
        if not beyond:
            break
        for one in beyond:
            kept = limits["effort" if one.quantity == "force" else "velocity"]
            kept[one.leg] *= (1.0 - _SPARE) * one.limit / one.value
    assert made is not None
    return made


def _reduced(platform: StewartPlatform, margin: float) -> StewartPlatform:
    """The platform with smaller limits of speed and force."""
    if margin == 0.0:
        return platform
    legs = tuple(
        replace(
            leg,
            limits=replace(
                leg.limits,
                speed=(1.0 - margin) * leg.limits.speed,
                force=(1.0 - margin) * leg.limits.force,
            ),
        )
        for leg in platform.machine.legs
    )
    return StewartPlatform(replace(platform.machine, legs=legs))


class _PlatformModel:
    """Leg forces for motions along the twelve coordinates, and what :func:`retime` needs of them.

    Args:
        machine: the platform.
        wrench: (6,) on the platform, platform frame [N, N·m].
    """

    dof = 2 * LEG_COUNT

    def __init__(self, machine: Machine, wrench: Array) -> None:
        none = JointFriction(0.0, 0.0, 0.0)
        self._rigid = replace(machine, legs=tuple(replace(leg, friction=none) for leg in machine.legs))
        self._forces = compile_stewart(self._rigid).actuator_forces
        self._wrench = wrench
        self.joint_names: tuple[str, ...] = (*_POSE, *machine.leg_names)
        viscous, dry = np.array([[x.friction.prismatic, x.friction.coulomb] for x in machine.legs]).T
        zero, one = np.zeros(self.dof), np.ones(self.dof)
        damping, coulomb = (np.concatenate([zero[:6], x]) for x in (viscous, dry))
        self._friction: Array = DriveFriction(damping, coulomb, coulomb, one, zero, zero).matrix

    @cached_property
    def driven(self) -> DrivenModel:
        """The model as :func:`retime` takes it."""
        return DrivenModel(self, self, np.zeros(self.dof), self._friction)

    def driving_joint(self, coordinate: int) -> ChainJoint:
        """A slide for every coordinate: forces are in N."""
        name, nothing = self.joint_names[coordinate], RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))
        return ChainJoint(name, name, JointKind.PRISMATIC, np.eye(4), np.array([1.0, 0.0, 0.0]), nothing)

    def legs(self, place: Array, rate: Array, second: Array) -> tuple[Array, Array, Array]:
        """(N, 6) leg lengths, rates and accelerations along motions (N, 6) of the pose."""
        found = balance(self._rigid, self._motion(place, rate, second))
        return found.legs.lengths, found.motion.sliding_velocity, found.motion.sliding_acceleration

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, 12) zeros for the pose, and the legs' forces without friction [N]."""
        motion = self._motion(q[:, :6], qd[:, :6], qdd[:, :6])
        forces = self._forces(np.hstack([motion.position, _quaternion(q[:, 3:6]), *motion[2:]]))
        return np.hstack([np.zeros_like(forces), forces])

    def _motion(self, place: Array, rate: Array, second: Array) -> Motion:
        load = (np.broadcast_to(part, (len(place), 3)) for part in np.split(self._wrench, 2))
        return motion_along(place, rate, second)._replace(**dict(zip(("force", "torque"), load, strict=True)))


def _quaternion(angles: Array) -> Array:
    """(N, 4) x, y, z, w of roll, pitch, yaw (N, 3): R = Rz Ry Rx."""
    (ca, cb, cc), (sa, sb, sc) = np.cos(0.5 * angles.T), np.sin(0.5 * angles.T)
    x, y, z = sa * cb * cc - ca * sb * sc, ca * sb * cc + sa * cb * sc, ca * cb * sc - sa * sb * cc
    return np.stack([x, y, z, ca * cb * cc + sa * sb * sc], axis=-1)


def _with_lengths(spline: QuinticSpline, model: _PlatformModel) -> QuinticSpline:
    """The path of the pose with that of the leg lengths beside it, on finer knots."""
    parts = max(1, int(np.ceil(_KNOTS / (len(spline.times) - 1))))
    widths = np.repeat(np.diff(spline.times) / parts, parts)
    begins = np.repeat(spline.times[:-1], parts)
    times = np.append(begins + widths * np.tile(np.arange(parts), len(spline.times) - 1), spline.times[-1])
    poses = spline.at(times)
    rows = [np.hstack(pair) for pair in zip(poses, model.legs(*poses), strict=True)]
    return QuinticSpline(times, hermite_coefficients(np.diff(times), *rows))


def _table(profile: Retimed, step: float, start: float) -> MotionTable:
    """Poses of a retimed path at even times, at most ``step`` apart [s]."""
    count = max(2, int(np.ceil(profile.duration / step)))
    times = np.linspace(0.0, profile.duration, count + 1)
    places = profile.spline.at(times)[0][:, :6]
    return MotionTable(start + times, places[:, :3], _quaternion(places[:, 3:]))
