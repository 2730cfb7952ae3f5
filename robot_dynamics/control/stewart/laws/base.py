"""What every control law of a Stewart platform has: the model, the gains, and what carries the platform."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from robot_dynamics.control.stewart.disturbance import DisturbanceObserver
from robot_dynamics.control.stewart.payload import carried_wrench
from robot_dynamics.control.stewart.state import TaskSpaceState
from robot_dynamics.errors import SingularityError, StateError
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Motion
from robot_dynamics.stewart.orientation import Quaternion, quaternion_from_rotation
from robot_dynamics.stewart.program import MOTION_SIZE

ActuatorForces = Callable[[Array], Any]
"""The exact inverse dynamics: forces (6,) from a motion as ``stewart.program`` lays it out."""


class StewartLaw:
    """Base of the laws; a law gives :meth:`effort`.

    Args:
        forces: the model.
        kp: (6,) gains of the pose error: linear, then angular, base frame [1/s²].
        kv: (6,) gains of the twist error [1/s].
        observer: estimates what the model does not know; shared by all that follow from this law.
        gravity: (3,) base frame [m/s²].
        coulomb: (6,) dry friction of the legs' actuators [N].
    """

    summary: ClassVar[str]
    """What the law does, as the end of a sentence that begins with its name."""
    looks_ahead: bool = True

    def __init__(
        self,
        forces: ActuatorForces,
        kp: Array,
        kv: Array,
        observer: DisturbanceObserver,
        gravity: Array,
        coulomb: Array,
    ) -> None:
        self.forces = forces
        self.kp = kp
        self.kv = kv
        self.observer = observer
        self.gravity = gravity
        self.coulomb = coulomb if coulomb.any() else None
        self.payload: RigidBody | None = None
        self._motion = np.zeros(MOTION_SIZE)

    def with_model(self, forces: ActuatorForces) -> StewartLaw:
        """The same law with another model."""
        law = copy.copy(self)
        law.forces = forces
        return law

    def with_payload(self, payload: RigidBody | None) -> StewartLaw:
        """The same law with another body fixed to the platform."""
        law = copy.copy(self)
        law.payload = payload
        return law

    def effort(self, state: TaskSpaceState, reference: Motion, ahead: Motion, half_period: float) -> Array:
        """(6,) actuator forces [N]; see :class:`robot_dynamics.control.protocol.Law`."""
        raise NotImplementedError

    def load(self, state: TaskSpaceState) -> Array:
        """(6,) forces that hold the platform at rest where it is; not finite where none can [N]."""
        pose, rest = state.pose, np.zeros(6)
        try:
            # What the model does not know is carried on.
            lift = self.observer.estimate
            return self._evaluate(pose.position, pose.quaternion, pose.rotation, rest, lift, state.wrench)
        except (StateError, SingularityError):
            return np.full(6, np.nan)

    def forces_of(self, motion: Motion, wrench: Array) -> Array:
        """(6,) forces of a reference alone [N]; not finite where none are."""
        twist = np.concatenate([motion.linear_velocity, motion.angular_velocity])
        acceleration = self.observer.estimate + np.concatenate(
            [motion.linear_acceleration, motion.angular_acceleration]
        )
        quaternion = quaternion_from_rotation(motion.rotation).tolist()
        try:
            return self._evaluate(motion.position, quaternion, motion.rotation, twist, acceleration, wrench)
        except (StateError, SingularityError):
            return np.full(6, np.nan)

    def forces_of_many(
        self,
        positions: Array,
        quaternions: Array,
        rotations: Array,
        twists: Array,
        accelerations: Array,
        wrench: Array,
    ) -> Array:
        """Forces (N, 6) of N motions under one external wrench (6,); see :meth:`forces_of`."""
        motions = np.empty((len(positions), MOTION_SIZE))
        lifts = accelerations + self.observer.estimate
        motions[:, 0:3], motions[:, 3:7] = positions, quaternions
        motions[:, 7:13], motions[:, 13:19], motions[:, 19:25] = twists, lifts, wrench
        if self.payload is not None:
            for row, rotation, twist, lift in zip(motions, rotations, twists, lifts, strict=True):
                row[19:25] += carried_wrench(self.payload, rotation, twist, lift, self.gravity)
        return np.asarray(self.forces(motions))

    def bearing(self, state: TaskSpaceState) -> Array:
        """(6,) forces of the present pose and twist without acceleration; not finite where none are [N]."""
        self.observer.frozen = True
        pose = state.pose
        try:
            lift = self.observer.estimate
            return self._evaluate(
                pose.position, pose.quaternion, pose.rotation, pose.twist, lift, state.wrench
            )
        except (StateError, SingularityError):
            return np.full(6, np.nan)

    def settle(self) -> None:
        """The platform is held from now on where it is."""

    def _evaluate(
        self,
        position: Array,
        quaternion: Quaternion,
        rotation: Array,
        twist: Array,
        acceleration: Array,
        wrench: Array,
    ) -> Array:
        motion = self._motion
        if self.payload is not None:
            wrench = wrench + carried_wrench(self.payload, rotation, twist, acceleration, self.gravity)
        motion[0:3], motion[3:7], motion[7:13] = position, quaternion, twist
        motion[13:19], motion[19:25] = acceleration, wrench
        return np.asarray(self.forces(motion))
