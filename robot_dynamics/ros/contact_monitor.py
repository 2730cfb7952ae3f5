"""Node ``contact_monitor``: external efforts of an arm under any controller, from its joint states.

It commands nothing, and is no safety function.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics.control.arm.actuators import ActuatedArm, ActuatorParameters
from robot_dynamics.control.arm.contact import (
    ContactParameters,
    External,
    MomentumObserver,
    ObserverParameters,
)
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import RobotDynamicsError, StateError
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.control.external_efforts import ExternalEfforts
from robot_dynamics.ros.models.arm_model import NEEDED, ArmModel, ModelLoader
from robot_dynamics.ros.support import diagnostics, parameters, qos, spin
from robot_dynamics.ros.support.messages import JointOrder

STATES, RELEASE = 3, 0.8
"""States in a row that make a contact, and share of the threshold below which it has ended."""


@dataclass(frozen=True)
class MonitorParameters:
    """Meaning of the efforts in the joint states."""

    effort_side: str = parameter(
        "driver",
        "Side of the gear where the efforts of the joint states are measured: motor (friction and rotors in"
        " them), link (neither), or as the driver's profile says; motor where it does not",
        choices=("driver", "motor", "link"),
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


class ContactMonitor(Node):
    """Observes external efforts and reports contacts."""

    def __init__(self) -> None:
        super().__init__("contact_monitor")
        self._side = parameters.declare(self, MonitorParameters).effort_side
        self._observing = parameters.declare(self, ObserverParameters)
        self._drives = parameters.declare(self, ActuatorParameters)
        parameters.watch(self, self._observing, self._on_parameters, check=self._check)
        parameters.watch(self, self._drives, self._on_drives, check=self._check_drives)
        self._model: ArmModel | None = None
        self._observer: MomentumObserver | None = None
        self._order = JointOrder(())
        self._last: tuple[float, np.ndarray] | None = None
        self._external: External | None = None
        self._beyond = np.zeros(0, dtype=int)
        self._contacts, self._touched = 0, np.zeros(0, dtype=bool)
        self._output = ExternalEfforts(self)
        self._diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._loader = ModelLoader(
            self, self._on_model, self._on_change, commands=False, quantities=(*NEEDED, "momentum")
        )
        if self._loader.driver is not None:
            self._loader.driver.check_state(converted=False)
        self.create_subscription(JointState, "joint_states", self._on_state, qos.STATE_SUBSCRIPTION)
        self._loader.start()

    # Model and parameters

    def _on_model(self, model: ArmModel) -> None:
        n = model.chain.dof
        self._order = JointOrder(model.chain.joint_names)
        self._beyond, self._touched = np.zeros(n, dtype=int), np.zeros(n, dtype=bool)
        self._observer, self._last = None, None
        self._on_change(model)

    def _on_change(self, model: ArmModel) -> None:
        self._model = model
        self._renew(self._observing)
        self._output.begin(model.chain, self._dynamics(model))

    def _dynamics(self, model: ArmModel) -> CompiledDynamics:
        """The links under the gravity that the efforts contain."""
        driver = self._loader.driver
        if driver is None or driver.state.gravity == "unknown":
            return model.dynamics
        gravity = (0.0, 0.0, 0.0) if driver.state.gravity == "removed" else model.gravity
        return model.dynamics.with_gravity(gravity)

    def _renew(self, observing: ObserverParameters) -> None:
        model = self._model
        if model is None:
            return
        links, driver = self._dynamics(model), self._loader.driver
        side = driver.state.side if driver is not None and self._side == "driver" else self._side
        arm = links if side == "link" else ActuatedArm(links, model.chain, self._drives)
        if self._observer is None or self._observer.parameters != ContactParameters(**asdict(observing)):
            self._observer = MomentumObserver(model.chain, arm, ContactParameters(**asdict(observing)))
        else:
            self._observer.change_model(arm)

    def _check(self, candidate: ObserverParameters) -> None:
        if self._model is not None:
            candidate.floors(self._model.chain)

    def _on_parameters(self, accepted: ObserverParameters) -> None:
        self._observing = accepted
        self._renew(accepted)

    def _check_drives(self, candidate: ActuatorParameters) -> None:
        if self._model is not None:
            candidate.of(self._model.chain)

    def _on_drives(self, accepted: ActuatorParameters) -> None:
        self._drives = accepted
        self._renew(self._observing)

    # States

    def _on_state(self, message: JointState) -> None:
        if self._observer is None or self._order.has_none(message.name):
            return
        try:
            sample = self._order.read(message)
            if sample.effort is None:
                raise StateError("it has no effort of every joint, so no external effort can be observed")
            time = 1e-9 * sample.nanoseconds
            velocity, last = sample.velocity, self._last
            if velocity is None:
                if last is None or not 0.0 < time - last[0] < 0.1:
                    self._last = time, sample.position
                    return
                velocity = (sample.position - last[1]) / (time - last[0])
            self._last = time, sample.position
            external = self._observer.update(time, sample.position, velocity, sample.effort)
        except RobotDynamicsError as error:
            self.get_logger().warning(f"joint state refused: {error}", throttle_duration_sec=2.0)
            return
        self._external = external
        self._report(external)
        stamps = np.array([sample.nanoseconds])
        self._output.publish(stamps, sample.position[None], velocity[None], external.effort[None])

    def _report(self, external: External) -> None:
        share = np.abs(external.effort) / external.threshold
        self._beyond = np.where(share > 1.0, self._beyond + 1, 0)
        for j in np.flatnonzero((self._beyond >= STATES) & ~self._touched):
            self._contacts += 1
            self.get_logger().warning(
                f"contact: {self._order.joint_names[j]} feels an external effort of"
                f" {external.effort[j]:.4g} N·m or N, threshold {external.threshold[j]:.4g}"
            )
        ended = self._touched & (share < RELEASE)
        for j in np.flatnonzero(ended):
            self.get_logger().info(f"contact of {self._order.joint_names[j]} has ended")
        self._touched = (self._touched | (self._beyond >= STATES)) & ~ended

    def _status(self) -> diagnostics.Status:
        if self._model is None:
            return diagnostics.Status(diagnostics.WARN, self._loader.missing, {})
        values: dict[str, object] = {"contacts": self._contacts, **self._model.in_force()}
        if self._external is None:
            return diagnostics.Status(diagnostics.WARN, "no joint state with efforts yet", values)
        values |= self._output.describe(self._external)
        touched = [
            name
            for name, is_touched in zip(self._order.joint_names, self._touched, strict=True)
            if is_touched
        ]
        if touched:
            return diagnostics.Status(diagnostics.WARN, f"contact: {', '.join(touched)}", values)
        return diagnostics.Status(diagnostics.OK, "no contact", values)


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(ContactMonitor, args)


if __name__ == "__main__":
    sys.exit(main())
