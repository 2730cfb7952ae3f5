"""The controller of an arm whose cycle runs in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robot_dynamics.control.arm.actuators import ActuatedArm
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.trajectory import ANY_PATH, Reference, Trajectory, plan
from robot_dynamics.control.core.controller import NativeController
from robot_dynamics.control.core.library import Settings
from robot_dynamics.control.core.settings import arm_settings, check_mode
from robot_dynamics.control.protocol import Departure, Planned
from robot_dynamics.control.waypoints import Waypoint, WaypointTable
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.spatial import Array


class NativeArmController(NativeController[Reference]):
    """Control of one arm, as :class:`~robot_dynamics.control.arm.controller.ArmController`, its twin, in C.

    Args:
        chain: the arm.
        dynamics: its model, compiled.
        parameters: gains, mode and safe output; replaceable at any time through ``parameters``.

    Raises:
        BackendError: there is no compiler, or the model or its law are not there in C.
    """

    machine = "rd_arm"

    def __init__(self, chain: KinematicChain, dynamics: ActuatedArm, parameters: ArmParameters) -> None:
        of_type("chain", chain, KinematicChain)
        of_type("parameters", parameters, ArmParameters)
        self.chain = chain
        self._parameters = parameters
        self._dynamics = dynamics
        super().__init__(chain.dof)

    def __repr__(self) -> str:
        return (
            f"NativeArmController({self.chain.name}: {self.chain.dof} joints, {self._parameters.mode},"
            f" {self.phase.value})"
        )

    def core_settings(self) -> tuple[Settings, Any]:
        """See :class:`NativeController`."""
        return arm_settings(self.chain, self._dynamics, self._parameters)

    def reference_of(self, position: Array, velocity: Array, acceleration: Array) -> Reference:
        """Joint positions are an arm's coordinates."""
        return Reference(position, velocity, acceleration)

    @property
    def effort_limits(self) -> Array:
        """(n,) [N·m or N], infinite where there is none."""
        return self._parameters.limits_of(self.chain)

    @property
    def dynamics(self) -> ActuatedArm:
        """The model in use."""
        return self._dynamics

    @property
    def parameters(self) -> ArmParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: ArmParameters) -> None:
        """Use other parameters; the efforts go over to another law or other gains as to another model."""
        of_type("parameters", value, ArmParameters)
        check_mode(value)
        value.gains(self.chain.joint_names)
        value.limits_of(self.chain)
        before, self._parameters = self._parameters, value
        another = (before.mode, before.kp, before.kv) != (value.mode, value.kp, value.kv)
        self.offer_settings(False, another)

    def change_model(self, dynamics: ActuatedArm) -> None:
        """Use another model of the same arm; the efforts go over to it in ``model_change_time``.

        Raises:
            ModelError: it is of an arm with another number of joints; the model stays as it was.
        """
        of_type("dynamics", dynamics, ActuatedArm)
        before, self._dynamics = self._dynamics, dynamics
        try:
            self.offer_settings(True, False)
        except RobotDynamicsError:
            self._dynamics = before
            raise

    def plan(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        departure: Departure[Reference],
        rules: PathRules = ANY_PATH,
    ) -> Planned[Reference]:
        """A trajectory for :meth:`accept`; see ``ArmController.plan``."""
        trajectory = plan(
            self.chain, joint_names, waypoints, departure.start, departure.origin, departure.now, rules
        )
        return Planned(trajectory, departure.epoch)

    def follow(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        start: float | None = None,
    ) -> Trajectory:
        """Plan and follow at once, where nobody else runs the cycle; see ``ArmController.follow``."""
        trajectory = self._follow(self.plan(joint_names, waypoints, self.departure(start)))
        assert isinstance(trajectory, Trajectory)
        return trajectory
