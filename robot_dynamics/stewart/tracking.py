"""Forward kinematics in a control loop: one pose after the other, each found from the one before.

The same Newton iteration as in ``kinematics``, for single poses and without what only an arbitrary start
needs: leg lengths change little from one cycle to the next, so one or two full steps do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.spatial import Array, quaternion_rows
from robot_dynamics.stewart.kinematics import forward_kinematics
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import Quaternion, quaternion_from_rotation, turned


class _Found(NamedTuple):
    """End of a search."""

    position: Array
    quaternion: Quaternion
    rotation: Array
    jacobian: Array
    residual: float


TOLERANCE = 1e-10
"""How well the leg lengths are met [m]."""
MAX_STEPS = 8
# Beyond this condition number a Newton step says nothing any more.
SINGULAR = 1e8


class PoseTracker:
    """Follows the pose of one machine by its leg lengths.

    Args:
        machine: the platform; tracking starts at its home pose.

    Attributes:
        position: (3,) of the platform's origin, base frame [m].
        quaternion: orientation x, y, z, w.
        rotation: (3, 3) from the platform frame to the base frame.
        rates: (6,) of the leg lengths [m/s].
        twist: (6,) linear velocity of the origin and angular velocity, base frame [m/s, rad/s].
        jacobian: (6, 6) from the twist to the rates of the leg lengths.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._scale = np.array([1.0] * 3 + [1.0 / machine.characteristic_length] * 3)
        self.position: Array = machine.home_position.copy()
        self.quaternion: Quaternion = tuple(quaternion_from_rotation(machine.home_rotation).tolist())
        self.rotation: Array = machine.home_rotation.copy()
        self.twist: Array = np.zeros(6)
        self.rates: Array = np.zeros(6)
        self.jacobian: Array = np.zeros((6, 6))
        self._known = False
        self._condition: float | None = math.inf
        self._condition_bound = math.inf

    def update(self, lengths: Array, rates: Array) -> None:
        """Find the pose with these leg lengths near the last one; a failure leaves the last one in place.

        Args:
            lengths: (6,) [m].
            rates: (6,) of the leg lengths [m/s].

        Raises:
            StateError: no pose near the last one has these lengths.
            SingularityError: the search ran into a singular pose.
        """
        found = self._search(self.position, self.quaternion, lengths)
        if not self._met(found) and not self._known:
            # The first pose may be anywhere, e.g. at the ends of the strokes.
            found = self._search_afar(lengths, found)
        if not self._met(found):
            raise StateError(
                f"no pose near the last one has the leg lengths {np.round(lengths, 6).tolist()} m;"
                f" the search ended {found.residual:.2e} m away"
            )
        self._accept(found.position, found.quaternion, found.rotation, found.jacobian, rates)
        self._known = True

    @property
    def condition_number(self) -> float:
        """Of the Jacobian, with the machine's characteristic length; infinite before the first pose."""
        if self._condition is None:
            self._condition = _condition_number(self.jacobian * self._scale)
        return self._condition

    def conditioned(self, limit: float) -> bool:
        """True where the condition number is within a limit; a cheaper bound decides most poses."""
        return self._condition_bound <= limit or self.condition_number <= limit

    @staticmethod
    def _met(found: _Found) -> bool:
        return found.residual <= TOLERANCE

    def _search(self, position: Array, quaternion: Quaternion, lengths: Array) -> _Found:
        """Full Newton steps from a pose."""
        for step_number in range(MAX_STEPS + 1):
            rotation = np.array(quaternion_rows(quaternion))
            present, jacobian = self._legs(position, rotation)
            error = lengths - present
            residual = max(map(abs, error.tolist()))
            found = _Found(position, quaternion, rotation, jacobian, residual)
            if not residual < 1.0 or residual <= TOLERANCE or step_number == MAX_STEPS:
                break
            try:
                step: Array = np.asarray(np.linalg.solve(jacobian, error))
            except np.linalg.LinAlgError:
                raise SingularityError("forward kinematics ran into a singular pose") from None
            position = position + step[:3]
            quaternion = turned(quaternion, step[3:])
        return found

    def _search_afar(self, lengths: Array, last: _Found) -> _Found:
        """Damped steps from home, then along the ways up and down from it: a pose on the side of home."""
        machine = self._machine
        shortest = [leg.limits.shortest for leg in machine.legs]
        longest = [leg.limits.longest for leg in machine.legs]
        stroke = float(np.max(np.where(np.isfinite(longest), np.array(longest) - shortest, 0.0)))
        gravity = machine.gravity
        up = -gravity / max(float(np.linalg.norm(gravity)), 1e-12)
        for rise in (0.0, -0.5, 0.5, -1.0, 1.0, -1.5, 1.5):
            start = machine.home_position + rise * stroke * up
            try:
                pose = forward_kinematics(machine, lengths, start, machine.home_rotation, TOLERANCE)
            except (SingularityError, StateError):
                continue
            quaternion = tuple(quaternion_from_rotation(pose.rotation).tolist())
            # Mirrored below the base or turned upside down is no pose of this machine.
            upright = float(pose.rotation[:, 2] @ machine.home_rotation[:, 2]) > 0.0
            if pose.converged and upright and self._same_side(pose.position, pose.rotation):
                return self._search(pose.position, quaternion, lengths)
        return last

    def _same_side(self, position: Array, rotation: Array) -> bool:
        """True where the determinant has the same sign as at home."""
        machine = self._machine
        home = self._legs(machine.home_position, machine.home_rotation)[1]
        return bool(np.linalg.det(home) * np.linalg.det(self._legs(position, rotation)[1]) > 0.0)

    def _accept(
        self, position: Array, quaternion: Quaternion, rotation: Array, jacobian: Array, rates: Array
    ) -> None:
        scaled = jacobian * self._scale
        try:
            inverse = np.linalg.inv(scaled)
        except np.linalg.LinAlgError:
            raise SingularityError("the platform is in a singular pose") from None
        # Frobenius' norms bound the spectral ones from above.
        sizes = float(np.vdot(scaled, scaled)) * float(np.vdot(inverse, inverse))
        bound, condition = math.sqrt(sizes), None
        if not bound <= SINGULAR:
            bound = condition = _condition_number(scaled)
            if condition > SINGULAR:
                raise SingularityError("the platform is in a singular pose")
        self.rates, self.jacobian = rates, jacobian
        self.twist = np.asarray(self._scale * (inverse @ rates))
        self.position, self.quaternion, self.rotation = position, quaternion, rotation
        self._condition, self._condition_bound = condition, bound

    def _legs(self, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Leg lengths (6,) and Jacobian (6, 6)."""
        arms = self._machine.platform_points @ rotation.T
        vectors = arms + (position - self._machine.base_points)
        lengths = np.sqrt((vectors * vectors).sum(axis=1))
        jacobian = np.empty((6, 6))
        jacobian[:, :3] = s = vectors / lengths[:, None]
        jacobian[:, 3] = arms[:, 1] * s[:, 2] - arms[:, 2] * s[:, 1]
        jacobian[:, 4] = arms[:, 2] * s[:, 0] - arms[:, 0] * s[:, 2]
        jacobian[:, 5] = arms[:, 0] * s[:, 1] - arms[:, 1] * s[:, 0]
        return lengths, jacobian


def _condition_number(matrix: Array) -> float:
    singular = np.linalg.svd(matrix, compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0.0 else math.inf
