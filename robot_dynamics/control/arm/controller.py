"""The controller of an arm: joint states in, joint efforts out."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.inverse_dynamics import DrivenDynamics
from robot_dynamics.control.arm.laws import LAWS
from robot_dynamics.control.arm.laws.base import ArmLaw
from robot_dynamics.control.arm.parameters import ArmParameters, arm_bounds
from robot_dynamics.control.arm.path_rules import PathRules
from robot_dynamics.control.arm.state import JointSpaceObserver, JointSpaceState
from robot_dynamics.control.arm.trajectory import ANY_PATH, Reference, plan
from robot_dynamics.control.protocol import Departure, Planned, Trajectory
from robot_dynamics.control.reference_core import ControlCore
from robot_dynamics.control.waypoints import Waypoint, WaypointTable
from robot_dynamics.dynamics.compiled import compile_dynamics
from robot_dynamics.inputs.arrays import of_type
from robot_dynamics.model.chain import KinematicChain


class ArmController(ControlCore[JointSpaceState, Reference]):
    """Control of one arm by the law that its parameters choose.

    It needs no ROS: hand every joint state to :meth:`update` and send the efforts that it returns.

    Args:
        chain: the arm.
        dynamics: its model; None generates and compiles it, with the friction of the description.
        parameters: gains, mode and safe output, the defaults when None; replaceable at any time through
            ``parameters``.

    Raises:
        ParameterError: a list of parameters does not fit the joints.
    """

    def __init__(
        self,
        chain: KinematicChain,
        dynamics: DrivenDynamics | None = None,
        parameters: ArmParameters | None = None,
    ) -> None:
        of_type("chain", chain, KinematicChain)
        if dynamics is None:
            dynamics = ActuatedArm(compile_dynamics(chain, friction=False), chain, ActuatorParameters())
        if parameters is None:
            parameters = ArmParameters()
        of_type("parameters", parameters, ArmParameters)
        self.chain = chain
        self._parameters = parameters
        self._arm_law = self._make_law(dynamics)
        super().__init__(
            JointSpaceObserver(chain.dof), self._arm_law, arm_bounds(chain, parameters), parameters
        )

    def __repr__(self) -> str:
        return (
            f"ArmController({self.chain.name}: {self.chain.dof} joints, {self._parameters.mode},"
            f" {self.phase.value})"
        )

    @property
    def dynamics(self) -> DrivenDynamics:
        """The model in use."""
        return self._arm_law.dynamics

    @property
    def parameters(self) -> ArmParameters:
        """The parameters in force."""
        return self._parameters

    @parameters.setter
    def parameters(self, value: ArmParameters) -> None:
        """Use other parameters; the efforts go over to another law or other gains as to another model."""
        of_type("parameters", value, ArmParameters)
        value.gains(self.chain.joint_names)
        bounds = arm_bounds(self.chain, value)
        before, self._parameters = self._parameters, value
        self.use_settings(value, bounds)
        if (before.mode, before.kp, before.kv) != (value.mode, value.kp, value.kv):
            self._arm_law = self._make_law(self.dynamics)
            self.use_law(self._arm_law)

    def change_model(self, dynamics: DrivenDynamics) -> None:
        """Use ``dynamics``, another model of the same arm; efforts go over to it in ``model_change_time``."""
        self._arm_law = self._arm_law.with_model(dynamics)
        self.remodel(self._arm_law)

    def plan(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        departure: Departure[Reference],
        rules: PathRules = ANY_PATH,
    ) -> Planned[Reference]:
        """A trajectory for :meth:`accept`; changes nothing, so it may take its time in any thread.

        Args:
            joint_names: order of the waypoints' values.
            waypoints: see ``trajectory.plan``.
            departure: where and when it begins.
            rules: see ``trajectory.plan``.

        Raises:
            TrajectoryError: the trajectory cannot be followed.
        """
        trajectory = plan(
            self.chain, joint_names, waypoints, departure.start, departure.origin, departure.now, rules
        )
        return Planned(trajectory, departure.epoch)

    def follow(
        self,
        joint_names: Sequence[str],
        waypoints: Sequence[Waypoint] | WaypointTable,
        start: float | None = None,
    ) -> Trajectory[Reference]:
        """Plan and follow at once; the old trajectory stays in force when the new one is refused.

        Args:
            joint_names: order of the waypoints' values.
            waypoints: see ``trajectory.plan``.
            start: when the trajectory's time 0 is [s]; the present when None.

        Raises:
            TrajectoryError: the trajectory cannot be followed, or no joint state has come yet.
        """
        return self._follow(self.plan(joint_names, waypoints, self.departure(start)))

    def _make_law(self, dynamics: DrivenDynamics) -> ArmLaw:
        kp, kv = self._parameters.gains(self.chain.joint_names)
        return LAWS[self._parameters.mode](dynamics, kp, kv)
