"""Node ``robot_model``: what the package makes of a robot description, for people and for programs.

It publishes the Denavit-Hartenberg table and the load of gravity, and says what is odd about the description.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.inverse_dynamics import gravity_load
from robot_dynamics.errors import RobotDynamicsError, StateError, escaped
from robot_dynamics.model.dh import dh_tables
from robot_dynamics.model.dh_table import CONVENTIONS, DHTable, tables_json, tables_text
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.ros.models.arm_model import ArmModel, ModelLoader
from robot_dynamics.ros.models.live_memory import LiveMemory
from robot_dynamics.ros.models.live_parameters import SHARED, LivePublisher
from robot_dynamics.ros.support import diagnostics, parameters, qos, spin
from robot_dynamics.ros.support.messages import JointOrder, to_array


@dataclass(frozen=True)
class TableParameters:
    """Settings of the table, and the rate at which the load is published."""

    dh_convention: str = parameter(
        "modified",
        "modified (Craig, Khalil-Kleinfinger) or standard (Denavit-Hartenberg, Paul)",
        choices=CONVENTIONS,
    )
    dh_tolerance: float = parameter(
        1e-9,
        "Largest difference from the description's kinematics; a coarse one, such as 1e-4, makes axes"
        " parallel that rounded numbers left nearly parallel",
        unit="m",
        minimum=1e-15,
        maximum=1.0,
    )
    load_period: float = parameter(
        0.05, "Least time between two messages on ~/gravity_load", unit="s", minimum=0.0, maximum=60.0
    )

    def __post_init__(self) -> None:
        validate(self)


class RobotModel(Node):
    """Publishes the model and checks it; it commands nothing."""

    def __init__(self) -> None:
        super().__init__("robot_model")
        self._settings = parameters.declare(self, TableParameters)
        parameters.watch(self, self._settings, self._on_parameters, check=self._check)
        self._model: ArmModel | None = None
        self._tables: tuple[DHTable, ...] = ()
        self._order = JointOrder(())
        self._load_at = -np.inf
        self._text = self.create_publisher(String, "~/dh_table", qos.DESCRIPTION)
        self._json = self.create_publisher(String, "~/dh_table_json", qos.DESCRIPTION)
        self._properties = self.create_publisher(String, "~/properties_json", qos.DESCRIPTION)
        self._load = self.create_publisher(JointState, "~/gravity_load", qos.STATE_PUBLISHER)
        self.create_subscription(JointState, "joint_states", self._on_state, qos.STATE_SUBSCRIPTION)
        self.create_service(Trigger, "~/print", self._on_print)
        self.create_service(Trigger, "~/publish", self._on_publish)
        self._diagnostics = diagnostics.DiagnosticsPublisher(self, self._status)
        self._drives = parameters.declare(self, ActuatorParameters)
        parameters.watch(self, self._drives, self._on_drives, check=self._check_drives)
        self._live = LivePublisher(self)
        self._loader = ModelLoader(self, self._on_model, self._on_change, follows=False, commands=False)
        self._memory = LiveMemory(self, SHARED)
        self._loader.on_declared = self._memory.add
        self._loader.start()

    # Model

    def _on_model(self, model: ArmModel) -> None:
        self._drives.of(model.chain)  # refused here, not at those who follow
        self._tables = self._make_tables(model, self._settings)
        self._order = JointOrder(model.chain.joint_names)
        self._on_change(model)
        for warning in model.bare.warnings:
            self.get_logger().warning(f"robot description: {escaped(warning)}")

    def _on_change(self, model: ArmModel) -> None:
        self._model = model
        self._load_at = -np.inf
        self._publish()

    def _make_tables(self, model: ArmModel, wanted: TableParameters) -> tuple[DHTable, ...]:
        return dh_tables(model.bare, wanted.dh_convention, wanted.dh_tolerance)

    def _check(self, candidate: TableParameters) -> None:
        if self._model is not None:
            self._make_tables(self._model, candidate)

    def _on_parameters(self, accepted: TableParameters) -> None:
        self._settings = accepted
        if self._model is not None:
            self._tables = self._make_tables(self._model, accepted)
            self._publish()

    def _publish(self) -> None:
        if self._model is not None and self._tables:
            self._text.publish(String(data=tables_text(self._tables)))
            self._json.publish(String(data=tables_json(self._tables)))
            self._properties.publish(String(data=properties(self._model)))
            self._publish_live()

    def _publish_live(self) -> None:
        """Parameters for the nodes that follow this one."""
        if self._model is not None:
            self._live.publish({"gravity": list(self._model.gravity)})

    def _on_drives(self, accepted: ActuatorParameters) -> None:
        self._drives = accepted
        self._publish_live()

    def _check_drives(self, candidate: ActuatorParameters) -> None:
        if self._model is not None:
            candidate.of(self._model.chain)

    # Callbacks

    def _on_state(self, message: JointState) -> None:
        now = time.monotonic()  # a clock that stands, or is set back, keeps no load back
        idle = not self._load.get_subscription_count()
        if self._model is None or idle or now - self._load_at < self._settings.load_period:
            return
        try:
            sample = self._order.read(message)
            effort = gravity_load(self._model.dynamics, sample.position)
        except (StateError, RobotDynamicsError) as error:
            self.get_logger().warning(f"joint state refused: {error}", throttle_duration_sec=2.0)
            return
        self._load_at = now
        load = self._order.message()
        load.header.stamp = message.header.stamp
        load.position, load.effort = to_array(sample.position), to_array(effort)
        self._load.publish(load)

    def _on_print(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = bool(self._tables)
        response.message = tables_text(self._tables) if self._tables else "there is no robot description yet"
        self.get_logger().info(response.message)
        return response

    def _on_publish(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = bool(self._tables)
        response.message = "published" if response.success else "there is no robot description yet"
        self._publish()
        return response

    def _status(self) -> diagnostics.Status:
        if self._model is None or not self._tables:
            return diagnostics.Status(diagnostics.WARN, self._loader.missing, {})
        chain = self._model.chain
        warnings = self._model.bare.warnings
        values = {
            "model": f"{chain.name}: {chain.ends}, {chain.dof} joints",
            "mass of the moving links [kg]": f"{sum(joint.body.mass for joint in chain.joints):.6g}",
            **self._model.in_force(),
            "gravity from imu": self._loader.gravity_from_imu,
            "table against description [m]": f"{max(table.residual for table in self._tables):.1e}",
            **{f"warning {k}": warning for k, warning in enumerate(warnings, 1)},
        }
        concerns = list(self._loader.warnings)
        if warnings:
            concerns.insert(0, f"the description can be used, but {len(warnings)} things about it are odd")
        if concerns:
            return diagnostics.Status(diagnostics.WARN, "; ".join(concerns), values)
        return diagnostics.Status(diagnostics.OK, "the description is sound", values)


def properties(model: ArmModel) -> str:
    """JSON of the moving links with their masses, payload included, and of gravity (SI, link frames)."""
    chain = model.chain
    document = {
        "robot": chain.name,
        "root": chain.root,
        "tip": chain.tip,
        **({"tips": [tip.link for tip in chain.tips]} if chain.other_tips else {}),
        "joint_names": list(chain.joint_names),
        "gravity": list(model.gravity),
        "links": [
            {
                "joint": joint.name,
                "link": joint.link,
                "mass": joint.body.mass,
                "center_of_mass": joint.body.center_of_mass.tolist(),
                "inertia": joint.body.inertia.tolist(),
            }
            for joint in chain.joints
        ],
        "warnings": list(model.bare.warnings),
    }
    return json.dumps(document, indent=2) + "\n"


def main(args: list[str] | None = None) -> int:
    """Entry point of the executable."""
    return spin.run(RobotModel, args)


if __name__ == "__main__":
    sys.exit(main())
