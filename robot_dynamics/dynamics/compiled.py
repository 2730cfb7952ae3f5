"""The dynamics of one chain, ready to be called from a control loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import BackendError, StateError
from robot_dynamics.model.chain import JointKind, KinematicChain

Array = NDArray[np.float64]
BACKENDS = ("auto", "c", "python")


class CompiledDynamics:
    """Inverse dynamics of one chain under one gravity vector."""

    def __init__(self, chain: KinematicChain, gravity: Array) -> None:
        self.chain = chain
        self.gravity_vector = gravity

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, wrench: ArrayLike | None = None
    ) -> Array:
        """Joint efforts that give the accelerations ``qdd``.

        Args:
            q: (n,) or (N, n) joint positions, in the order of ``chain.joint_names`` [rad or m].
            qd: joint velocities, shaped like ``q`` [rad/s or m/s].
            qdd: joint accelerations, shaped like ``q`` [rad/s² or m/s²].
            wrench: (6,) or (N, 6) [force, torque] that the arm exerts on its environment at the tip, in the
                tip frame [N, N·m]; nothing when omitted.

        Returns:
            Joint efforts, shaped like ``q`` [N·m or N].

        Raises:
            StateError: a wrong shape or a value that is not finite.
        """
        position, velocity, acceleration = (
            self._states(name, value) for name, value in (("q", q), ("qd", qd), ("qdd", qdd))
        )
        if not position.shape == velocity.shape == acceleration.shape:
            raise StateError(
                f"q, qd and qdd have shapes {position.shape}, {velocity.shape} and {acceleration.shape};"
                " they must be equal"
            )
        shape = position.shape
        load = np.zeros(6) if wrench is None else np.asarray(wrench, dtype=float)
        if load.shape not in ((6,), (*shape[:-1], 6)):
            raise StateError(f"wrench has shape {load.shape}; expected {(*shape[:-1], 6)}: [force, torque]")
        rows = position.reshape(-1, shape[-1])
        effort = self._recursion(
            rows,
            velocity.reshape(rows.shape),
            acceleration.reshape(rows.shape),
            np.broadcast_to(load, (len(rows), 6)),
        )
        if not np.isfinite(effort).all():
            raise StateError("q, qd, qdd or wrench holds a value that is not finite")
        return effort.reshape(shape)

    def _states(self, name: str, value: ArrayLike) -> Array:
        states = np.asarray(value, dtype=float)
        n = self.chain.dof
        if states.ndim not in (1, 2) or states.shape[-1] != n:
            raise StateError(
                f"{name} has shape {states.shape}; expected ({n},) or (N, {n}) for the joints"
                f" {', '.join(self.chain.joint_names)}"
            )
        return states

    def _recursion(self, q: Array, qd: Array, qdd: Array, wrench: Array) -> Array:
        """Newton-Euler recursion in link frames: q, qd, qdd (N, n), wrench (N, 6)."""
        count = len(q)
        omega, alpha = np.zeros((count, 3)), np.zeros((count, 3))
        accel = np.broadcast_to(-self.gravity_vector, (count, 3))
        rotations, offsets, forces, moments = [], [], [], []
        for joint in self.chain.joints:
            value = joint.multiplier * q[:, joint.coordinate] + joint.offset
            rate = (joint.multiplier * qd[:, joint.coordinate])[:, None] * joint.axis
            rate_change = (joint.multiplier * qdd[:, joint.coordinate])[:, None] * joint.axis
            displacement = np.array([joint.displacement(float(v)) for v in value])
            rotation = joint.origin[:3, :3] @ displacement[:, :3, :3]
            offset = displacement[:, :3, 3] @ joint.origin[:3, :3].T + joint.origin[:3, 3]
            accel = accel + np.cross(alpha, offset) + np.cross(omega, np.cross(omega, offset))
            omega, alpha, accel = (np.einsum("kji,kj->ki", rotation, v) for v in (omega, alpha, accel))
            if joint.kind is JointKind.REVOLUTE:
                alpha = alpha + rate_change + np.cross(omega, rate)
                omega = omega + rate
            else:
                accel = accel + rate_change + 2.0 * np.cross(omega, rate)
            body = joint.body
            center = body.center_of_mass
            force = body.mass * (accel + np.cross(alpha, center) + np.cross(omega, np.cross(omega, center)))
            moment = alpha @ body.inertia.T + np.cross(omega, omega @ body.inertia.T)
            rotations.append(rotation)
            offsets.append(offset)
            forces.append(force)
            moments.append(moment + np.cross(center, force))
        rotation, offset = self.chain.tip_transform[:3, :3], self.chain.tip_transform[:3, 3]
        force = wrench[:, :3] @ rotation.T
        moment = wrench[:, 3:] @ rotation.T + np.cross(offset, force)
        effort = np.zeros_like(q)
        for index in reversed(range(len(self.chain.joints))):
            joint = self.chain.joints[index]
            force, moment = force + forces[index], moment + moments[index]
            along = moment if joint.kind is JointKind.REVOLUTE else force
            effort[:, joint.coordinate] += joint.multiplier * (along @ joint.axis)
            force = np.einsum("kij,kj->ki", rotations[index], force)
            moment = np.einsum("kij,kj->ki", rotations[index], moment) + np.cross(offsets[index], force)
        return effort


def compile_dynamics(
    chain: KinematicChain,
    gravity: Sequence[float] | Array = (0.0, 0.0, -9.81),
    backend: str = "auto",
) -> CompiledDynamics:
    """Make the dynamics of ``chain`` callable.

    Args:
        chain: the arm.
        gravity: (3,) gravity in the root frame [m/s²].
        backend: "auto", "c" or "python".

    Raises:
        BackendError: no such backend.
        StateError: ``gravity`` is not three finite numbers.
    """
    if backend not in BACKENDS:
        raise BackendError(f"backend {backend!r} does not exist; choose one of {', '.join(BACKENDS)}")
    vector = np.array(gravity, dtype=float)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise StateError(f"gravity is {gravity!r}; expected three finite numbers [m/s²] in the root frame")
    return CompiledDynamics(chain, vector)
