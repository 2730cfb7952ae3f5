"""Target poses of a frame of an arm: the joint positions that reach them, found from where the arm is."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.arm.inverse_dynamics import EffortModel
from robot_dynamics.control.waypoints import WaypointTable
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import TrajectoryError, short
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.orientation import rotation_vector

LEVER = 0.2
"""Length at which turning and moving count alike [m]."""
MOST_STEPS = 60
REACHED = 1e-9
"""Distance to the target at which the search ends [m, and rad times LEVER]."""
STALLS = 1e-10
"""Step of the joints below which the search ends [rad or m]."""
DAMPING = 1e-8
POSTURE = 0.1
"""Share of the way to the posture that a target takes, as far as it does not move the frame."""
BEYOND = 0.1, 0.5
"""Distance beyond reach up to which the nearest pose is taken instead [m], [rad]."""


class TargetPose:
    """A target pose.

    Attributes:
        pose: (4, 4) of the frame in the root frame.
        found: the joint positions, once they have been looked for; a plan that is made again uses them.
    """

    def __init__(self, pose: Array) -> None:
        self.pose = pose
        self.found: WaypointTable | None = None


class FrameSolver:
    """Joint positions at which a frame has a pose.

    The damped least squares of Sugihara (2011), within the position limits. Of an arm with more joints than
    the pose needs, the others go towards a posture.

    Args:
        chain: the arm, with one tip.
        links: its model.
        frame: name of a link or of a frame fixed to one; empty: the tip.
        lower, upper: (n,) position limits, infinite where there are none [rad or m].

    Raises:
        TrajectoryError: the robot has several tips, or its model is not compiled.
    """

    def __init__(
        self, chain: KinematicChain, links: EffortModel, frame: str, lower: Array, upper: Array
    ) -> None:
        if len(chain.tips) > 1:
            tips = ", ".join(tip.link for tip in chain.tips)
            raise TrajectoryError(f"the robot has the tips {tips}; a target pose is for a robot with one tip")
        if not isinstance(links, CompiledDynamics):
            raise TrajectoryError("target poses need a compiled model")
        chosen = {"frame": frame} if frame else {}
        self._pose = links.function("forward_kinematics", **chosen)
        self._jacobian = links.function("jacobian", axes="root", **chosen)
        self._lower, self._upper = lower, upper

    def solve(self, pose: Array, seed: Array, posture: Array) -> Array:
        """(n,) joint positions that come nearest to a pose.

        Args:
            pose: (4, 4) in the root frame.
            seed: (n,) where the search begins.
            posture: (n,) see above.

        Raises:
            TrajectoryError: the nearest pose is farther away than ``BEYOND``.
        """
        lower, upper = np.minimum(self._lower, seed), np.maximum(self._upper, seed)
        weight = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
        q, rest = np.array(seed, dtype=float), POSTURE
        for _ in range(MOST_STEPS):
            error = weight * self._error(q, pose)
            square = float(error @ error)
            if square < REACHED**2 and rest == 0.0:
                break
            jacobian = weight[:, None] * self._jacobian(q)
            step = self._step(jacobian, error, square, q, lower, upper)
            if rest > 0.0:
                step += rest * self._free(jacobian, posture - q)
                rest = 0.0
            elif np.abs(step).max() < STALLS:
                break
            q = np.clip(q + step, lower, upper)
        self._check(self._error(q, pose))
        return q

    def _error(self, q: Array, pose: Array) -> Array:
        """(6,) way and rotation vector to a pose, in root axes."""
        here = self._pose(q)
        turn = rotation_vector(pose[:3, :3] @ here[:3, :3].T)
        return np.concatenate([pose[:3, 3] - here[:3, 3], turn])

    @staticmethod
    def _step(jacobian: Array, error: Array, square: float, q: Array, lower: Array, upper: Array) -> Array:
        """A damped step in which no joint leaves its limits: those that would are left where they are."""
        step, moved = np.zeros(len(q)), np.ones(len(q), dtype=bool)
        for _ in range(len(q)):
            own = jacobian[:, moved]
            damped = own.T @ own + (0.5 * square + DAMPING) * np.eye(own.shape[1])
            step[:] = 0.0
            step[moved] = np.linalg.solve(damped, own.T @ error)
            stuck = moved & (((q >= upper) & (step > 0.0)) | ((q <= lower) & (step < 0.0)))
            if not stuck.any():
                break
            moved &= ~stuck
        return step

    @staticmethod
    def _free(jacobian: Array, way: Array) -> Array:
        """The part of a way of the joints that does not move the frame."""
        rows = np.linalg.svd(jacobian, full_matrices=True)[2][jacobian.shape[0] :]
        return np.asarray(rows.T @ (rows @ way))

    @staticmethod
    def _check(error: Array) -> None:
        for values, most, unit in ((error[:3], BEYOND[0], "m"), (error[3:], BEYOND[1], "rad")):
            size = float(np.linalg.norm(values))
            if size > most:
                raise TrajectoryError(
                    f"the target pose is out of reach: the nearest pose of the arm is {short(size)} {unit}"
                    f" away, and at most {most:g} {unit} are let pass"
                )
