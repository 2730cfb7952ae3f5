"""The model and the law of a platform's controller: what it plans with, and what it makes forces of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.plausibility import Bounds
from robot_dynamics.control.protocol import Departure, Law, Planned, Trajectory
from robot_dynamics.control.reference_core import ControlCore
from robot_dynamics.control.stewart.disturbance import DisturbanceObserver
from robot_dynamics.control.stewart.laws import LAWS
from robot_dynamics.control.stewart.laws.base import ActuatorForces, StewartLaw
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.payload import loaded
from robot_dynamics.control.stewart.saturation import saturated
from robot_dynamics.control.stewart.state import TaskSpaceObserver, TaskSpaceState
from robot_dynamics.control.stewart.trajectory import PoseWaypoint, plan_pose
from robot_dynamics.errors import StateError
from robot_dynamics.inputs.arrays import of_type, real_array, real_vector
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Machine, Motion, StewartPlatform
from robot_dynamics.stewart.actuators import coulomb_friction
from robot_dynamics.stewart.tracking import PoseTracker

GAINS = ("mode", "kp", "kv", "ki", "disturbance_limit")
"""Parameters of the law; with others it is another law."""


def make_law(machine: Machine, parameters: StewartParameters, forces: ActuatorForces) -> StewartLaw:
    """The law that the parameters choose, for one model of a machine."""
    linear = parameters.disturbance_limit
    observer = DisturbanceObserver(parameters.ki, (linear, linear / machine.characteristic_length))
    coulomb = coulomb_friction(machine)
    return LAWS[parameters.mode](forces, *parameters.gains(), observer, machine.gravity, coulomb)


def platform_bounds(machine: Machine, parameters: StewartParameters) -> Bounds:
    """What can be real for the legs of a machine."""
    limits = [leg.limits for leg in machine.legs]
    forces, speeds = ([each.force for each in limits], [each.speed for each in limits])
    return Bounds.of(parameters, np.array(forces), np.array(speeds))


def checked_wrench(force: Sequence[float], torque: Sequence[float]) -> Array:
    """(6,) of a force [N] and a moment [N·m].

    Raises:
        StateError: not six finite numbers.
    """
    parts = real_array("force of the external wrench", force), real_array("torque", torque)
    wrench = np.concatenate([np.ravel(part) for part in parts])
    if wrench.shape != (6,) or not np.isfinite(wrench).all():
        raise StateError(f"the external wrench is {wrench.tolist()}; it must be six finite numbers")
    return wrench


def carrying(platform: StewartPlatform, payload: RigidBody | None) -> StewartPlatform:
    """A platform with its payload."""
    return platform if payload is None else StewartPlatform(loaded(platform.machine, payload))


class PlatformCore(ControlCore[TaskSpaceState, Motion]):
    """Law, model, loads and planning of one Stewart platform.

    Args:
        platform: the machine.
        parameters: gains, mode and safe output, the defaults when None; replaceable at any time through
            ``parameters``.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m]; zero when None, so that a
            joint's position is the leg's length.
    """

    def __init__(
        self,
        platform: StewartPlatform,
        parameters: StewartParameters | None = None,
        zero_lengths: Array | None = None,
    ) -> None:
        if parameters is None:
            parameters = StewartParameters()
        of_type("platform", platform, StewartPlatform)
        of_type("parameters", parameters, StewartParameters)
        zeros = np.zeros(6) if zero_lengths is None else real_vector("zero_lengths", zero_lengths, 6)
        machine, self.platform = platform.machine, platform
        self._parameters = parameters
        self._stewart_law = make_law(machine, parameters, platform.compile().actuator_forces)
        self._legs = TaskSpaceObserver(machine, zeros)
        super().__init__(self._legs, self._stewart_law, platform_bounds(machine, parameters), parameters)

    @property
    def pose(self) -> PoseTracker:
        """Pose, twist and condition number of the platform as its legs tell."""
        return self._legs.state.pose

    @property
    def lengths(self) -> Array:
        """(6,) measured leg lengths [m]."""
        return self._legs.state.lengths

    @property
    def parameters(self) -> StewartParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: StewartParameters) -> None:
        """Use other parameters; the forces go over to another law or other gains."""
        of_type("parameters", value, StewartParameters)
        before, self._parameters = self._parameters, value
        self.use_settings(value, platform_bounds(self.platform.machine, value))
        if any(getattr(before, name) != getattr(value, name) for name in GAINS):
            law = make_law(self.platform.machine, value, self._stewart_law.forces)
            law = law.with_payload(self._stewart_law.payload)
            law.observer.like(self._stewart_law.observer)
            self._stewart_law = law
            self.use_law(law)

    def change_model(self, platform: StewartPlatform) -> None:
        """Use another model of the same machine, e.g. with a payload; the forces go over to it in a ramp.

        Args:
            platform: with the same geometry and limits.
        """
        of_type("platform", platform, StewartPlatform)
        self._stewart_law = self._stewart_law.with_model(platform.compile().actuator_forces)
        self.remodel(self._stewart_law)

    def remodel(self, law: Law[TaskSpaceState, Motion]) -> None:
        """See :class:`ControlCore`."""
        if isinstance(law, StewartLaw):
            self._stewart_law = law
        super().remodel(law)

    def change_payload(self, payload: RigidBody) -> None:
        """Carry another body beside the platform's own; the forces go over to it in a ramp.

        Args:
            payload: in the platform's frame; without mass: nothing.
        """
        of_type("payload", payload, RigidBody)
        self._stewart_law = self._stewart_law.with_payload(payload if payload.mass > 0.0 else None)
        self.remodel(self._stewart_law)

    def set_wrench(self, force: Sequence[float], torque: Sequence[float]) -> None:
        """External force [N] and moment about the platform's origin [N·m] on the platform, platform frame.

        Raises:
            StateError: not six finite numbers.
        """
        self._legs.set_wrench(checked_wrench(force, torque), self.time + self._parameters.wrench_timeout)

    def plan(self, waypoints: Sequence[PoseWaypoint], departure: Departure[Motion]) -> Planned[Motion]:
        """A trajectory for :meth:`accept`; changes nothing, so it may take its time.

        Args:
            waypoints: see ``trajectory.plan_pose``.
            departure: where and when it begins.

        Raises:
            TrajectoryError: the trajectory cannot be followed.
            SingularityError: the path meets a singularity.
        """
        platform, wrench = carrying(self.platform, self._stewart_law.payload), self._legs.state.wrench
        trajectory = plan_pose(platform, waypoints, departure.start, departure.origin, departure.now, wrench)
        return Planned(trajectory, departure.epoch)

    def follow(self, waypoints: Sequence[PoseWaypoint], start: float | None = None) -> Trajectory[Motion]:
        """Plan and follow at once; the old trajectory stays in force when the new one is refused.

        Args:
            waypoints: see ``trajectory.plan_pose``.
            start: when the trajectory's time 0 is [s]; the present when None.

        Raises:
            TrajectoryError: the trajectory cannot be followed, or no joint state has come yet.
            SingularityError: the path meets a singularity.
        """
        return self._follow(self.plan(waypoints, self.departure(start)))

    def _within_limits(self, effort: Array) -> Array:
        limits = self.bounds.effort
        if (np.abs(effort) <= limits).all():
            return effort
        return saturated(effort, self._stewart_law.bearing(self._legs.state), limits)
