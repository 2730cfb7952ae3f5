"""The controller of a platform whose cycle runs in C: law, model and loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.control.core.controller import CoreController, Settings
from robot_dynamics.control.core.library import doubles
from robot_dynamics.control.core.platform.library import BEYOND, TOLD
from robot_dynamics.control.core.platform.settings import platform_model, platform_settings
from robot_dynamics.control.protocol import Departure, Planned
from robot_dynamics.control.stewart.basis import GAINS, carrying, checked_wrench, make_law, platform_bounds
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.state import NO_WRENCH
from robot_dynamics.control.stewart.trajectory import PoseTrajectory, PoseWaypoint, motion_along, plan_pose
from robot_dynamics.control.stewart.watch import words
from robot_dynamics.inputs.arrays import of_type, real_vector
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array, quaternion_rows
from robot_dynamics.stewart import Machine, Motion, StewartPlatform
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry
from robot_dynamics.stewart.orientation import Quaternion


class ToldPose:
    """Where a platform was in one cycle; its attributes are those of ``PoseTracker``.

    Attributes:
        position: (3,) of the platform's origin, base frame [m].
        quaternion: orientation x, y, z, w.
        rotation: (3, 3) from the platform frame to the base frame.
        rates: (6,) of the leg lengths [m/s].
        twist: (6,) linear velocity of the origin and angular velocity, base frame [m/s, rad/s].
        disturbance: (6,) acceleration that the model does not know of, as estimated [m/s², rad/s²].
        condition_bound: the condition number is no greater.

    Args:
        machine: the platform.
        told: what its core tells.
    """

    def __init__(self, machine: Machine, told: Array) -> None:
        pose, self.twist, self.rates, self.disturbance, bound = np.split(
            told, np.cumsum([*TOLD.values()])[:-1]
        )
        self._machine = machine
        self.position: Array = pose[:3]
        self.quaternion: Quaternion = tuple(pose[3:].tolist())
        self.rotation: Array = np.array(quaternion_rows(self.quaternion))
        self.condition_bound = float(bound[0])

    @property
    def jacobian(self) -> Array:
        """(6, 6) from the twist to the rates of the leg lengths."""
        return leg_geometry(self._machine, self.position, self.rotation).jacobian

    @property
    def condition_number(self) -> float:
        """Of the Jacobian, with the machine's characteristic length; infinite before the first pose."""
        if not np.isfinite(self.condition_bound):
            return np.inf
        return float(condition_number(self.jacobian, self._machine.characteristic_length))


class NativePlatform(CoreController[Motion]):
    """Law, model, loads and planning of one platform: the twin of ``PlatformCore``, in C.

    Args:
        platform: the machine.
        parameters: gains, mode and safe output; replaceable at any time through ``parameters``.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m]; zero when None.

    Raises:
        BackendError: there is no compiler.
    """

    machine = "rd_machine_platform"
    told = sum(TOLD.values())

    def __init__(
        self,
        platform: StewartPlatform,
        parameters: StewartParameters | None = None,
        zero_lengths: Array | None = None,
    ) -> None:
        of_type("platform", platform, StewartPlatform)
        self.platform = platform
        self._parameters = StewartParameters() if parameters is None else parameters
        self._compiled = platform.compile()
        self._stewart_law = make_law(platform.machine, self._parameters, self._compiled.actuator_forces)
        self._zero = np.zeros(6) if zero_lengths is None else real_vector("zero_lengths", zero_lengths, 6)
        self._wrench, self._wrench_until = NO_WRENCH, -np.inf
        super().__init__(6)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({self.platform.machine.name}: {self._parameters.mode}, {self.phase.value})"

    def core_settings(self) -> Settings:
        """See :class:`CoreController`."""
        return platform_settings(self._compiled, self.platform_model(), self._parameters)

    def platform_model(self) -> Any:
        """What only a platform has, as a value of its own that may be changed."""
        return platform_model(self.platform.machine, self._stewart_law, self._parameters, self._zero)

    def reference_of(self, position: Array, velocity: Array, acceleration: Array) -> Motion:
        """A platform's coordinates are x, y, z, roll, pitch, yaw."""
        return motion_along(position, velocity, acceleration)

    @property
    def command_offset(self) -> Array:
        """(6,) leg lengths at which the joint positions are zero [m]: commands tell lengths and rates."""
        return self._zero

    # What is known

    @property
    def pose(self) -> ToldPose:
        """Pose, twist and condition number of the platform as its legs tell."""
        self._snapshot.read()
        return ToldPose(self.platform.machine, self._snapshot.told.copy())

    @property
    def lengths(self) -> Array:
        """(6,) measured leg lengths [m]; at home before the first state."""
        if not np.isfinite(self._snapshot.read().time):
            machine = self.platform.machine
            return leg_geometry(machine, machine.home_position, machine.home_rotation).lengths
        return np.asarray(self._snapshot.position + self._zero)

    @property
    def wrench(self) -> Array:
        """(6,) external wrench in force, platform frame [N, N·m]."""
        return self._wrench if self.time <= self._wrench_until else NO_WRENCH

    def words_of(self, results: Any) -> str:
        """What ``results`` of a cycle, or a record of it, tell of a discontinuity."""
        kind = results.discontinuity - BEYOND
        if kind < 0:
            return super().words_of(results)
        leg = self.platform.machine.leg_names[kind % 6]
        return words(kind // 6, leg, results.discontinuity_size, results.discontinuity_more)

    @property
    def effort_limits(self) -> Array:
        """(6,) [N], infinite where there is none."""
        return platform_bounds(self.platform.machine, self._parameters).effort

    @property
    def parameters(self) -> StewartParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: StewartParameters) -> None:
        """Use other parameters; the forces go over to another law or other gains."""
        of_type("parameters", value, StewartParameters)
        self.use_parameters(value)

    def use_parameters(self, value: StewartParameters) -> None:
        """Use other parameters from the next cycle on."""
        before, self._parameters = self._parameters, value
        another = any(getattr(before, name) != getattr(value, name) for name in GAINS)
        if another:
            law = make_law(self.platform.machine, value, self._stewart_law.forces)
            self._stewart_law = law.with_payload(self._stewart_law.payload)
        self.offer_settings(model=False, law=another)

    # What is handed over

    def change_model(self, platform: StewartPlatform) -> None:
        """Use another model of the same machine; the forces go over to it in a ramp.

        Args:
            platform: with the same geometry and limits.
        """
        of_type("platform", platform, StewartPlatform)
        self._compiled = platform.compile()
        self._stewart_law = self._stewart_law.with_model(self._compiled.actuator_forces)
        self.offer_settings(model=True, law=False)

    def change_payload(self, payload: RigidBody) -> None:
        """Carry another body beside the platform's own; the forces go over to it in a ramp.

        Args:
            payload: in the platform's frame; without mass: nothing.
        """
        of_type("payload", payload, RigidBody)
        self._stewart_law = self._stewart_law.with_payload(payload if payload.mass > 0.0 else None)
        self.offer_settings(model=True, law=False)

    def set_wrench(self, force: Sequence[float], torque: Sequence[float]) -> None:
        """External force [N] and moment about the platform's origin [N·m] on the platform, platform frame.

        Raises:
            StateError: not six finite numbers.
        """
        wrench, until = checked_wrench(force, torque), self.time + self._parameters.wrench_timeout
        self._wrench, self._wrench_until = wrench, until
        self._library.rd_platform_offer_wrench(self._core, doubles(np.ascontiguousarray(wrench)), until)

    def plan(self, waypoints: Sequence[PoseWaypoint], departure: Departure[Motion]) -> Planned[Motion]:
        """A trajectory for :meth:`accept`; see ``PlatformCore.plan``."""
        platform = carrying(self.platform, self._stewart_law.payload)
        trajectory = plan_pose(
            platform, waypoints, departure.start, departure.origin, departure.now, self.wrench
        )
        return Planned(trajectory, departure.epoch)

    def follow(self, waypoints: Sequence[PoseWaypoint], start: float | None = None) -> PoseTrajectory:
        """Plan and follow at once, where nobody else runs the cycle; see ``PlatformCore.follow``."""
        trajectory = self._follow(self.plan(waypoints, self.departure(start)))
        assert isinstance(trajectory, PoseTrajectory)
        return trajectory

    def model_forces(
        self, positions: Array, quaternions: Array, rotations: Array, twists: Array, accelerations: Array
    ) -> Array:
        """See ``envelope.Forces``; with the external wrench and the disturbance of now."""
        law = self._stewart_law
        law.observer.estimate = self.pose.disturbance
        return law.forces_of_many(positions, quaternions, rotations, twists, accelerations, self.wrench)
