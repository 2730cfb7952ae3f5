"""One robot of a generated ros2_control package: its model, controller, simulated hardware and tests."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.payload import PayloadParameters, TipPayloadParameters
from robot_dynamics.controllers.description import System, names_hardware, with_simulated_hardware
from robot_dynamics.controllers.model_header import model_values
from robot_dynamics.controllers.parameters import descriptions, parameter_file, payload_names
from robot_dynamics.controllers.sources import kernel_sources
from robot_dynamics.dynamics.constant_inputs import measured_vector
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.driver_profile import DriverProfile
from robot_dynamics.parameters import Description, describe
from robot_dynamics.spatial import Array

WHOLE = "joint_trajectory_controller"
"""Trajectory controller of all joints; the others have the name of their tip before it."""
TEMPLATES = (
    "controller_plugin.xml", "solver_plugin.xml", "hardware_plugin.xml", "src/simulated_arm.cpp",
    "tools/replay.cpp",
    "include/PACKAGE/computed_torque_controller.hpp", "include/PACKAGE/solver_interface.hpp",
    "include/PACKAGE/model.hpp", "include/PACKAGE/settings.hpp", "include/PACKAGE/impedance.hpp",
    "include/PACKAGE/contact.hpp", "include/PACKAGE/guiding.hpp", "include/PACKAGE/measured_joints.hpp",
    "include/PACKAGE/supervision.hpp",
    "src/computed_torque_controller.cpp", "src/reporting.cpp", "src/inverse_dynamics_solver.cpp",
    "test/controller_fixture.hpp", "test/test_controller.cpp", "test/test_load.cpp", "test/test_solver.cpp",
    "test/time_update.cpp",
)  # fmt: skip
"""Paths in the robot's folder of the files in ``templates``, without their suffix ``.in``."""


@dataclass(frozen=True)
class GeneratedRobot:
    """Code of one robot.

    Attributes:
        name: namespace of the code, and start of the names of its plugins and functions.
        chain: the arm.
        gravity: (3,) default of the parameter, in the root frame [m/s²].
        urdf: the description from which the arm was read.
        source: where it comes from, with a digest of it.
        driver: profile of the driver that gets the efforts. Where the robot carries its own weight, the
            default of the parameter ``gravity`` is zero.
        frame: link or frame of the mode cartesian_impedance; None: the tip.
    """

    name: str
    chain: KinematicChain
    gravity: Array
    urdf: bytes
    source: str
    driver: DriverProfile | None = None
    frame: str | None = None
    _world: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_world", np.array(self.gravity, dtype=float))
        if self.driver:
            self.driver.check_command()
            for state in ("position", "velocity"):
                if state not in self.driver.state.interfaces:
                    raise ParameterError(
                        f"driver {quoted(self.driver.name)} has no state interface {state}, which the"
                        " controller needs"
                    )
            self.driver.friction_left(self.chain.joint_names)
            if self.driver.carries_weight:
                object.__setattr__(self, "gravity", np.zeros(3))

    def files(self, project: str, suffix: str) -> Mapping[str, str]:
        """The texts of all files by their paths in the robot's folder.

        Args:
            project: name of the package.
            suffix: end of the names of plugin files, which are installed side by side.
        """
        notice = [f"Robot: {self.chain.name}, from link {self.chain.root} to {', '.join(self.tips)}.",
                  f"Source: {self.source}."]  # fmt: skip
        frame = (self.frame or self.tips[0]) if len(self.tips) == 1 else None
        kernels = kernel_sources(self.chain, self.name, [comment(line) for line in notice], frame)
        return {
            **templates(TEMPLATES, self._values(project), suffix),
            **{f"src/model/{name}": text for name, text in kernels.items()},
            "src/parameters.yaml": parameter_file(self.descriptions, self.name),
            "urdf/robot.urdf": with_simulated_hardware(
                self.urdf, [] if names_hardware(self.urdf) else [self.hardware(), *self.beside()]
            ),
        }

    def hardware(self, name: str = "", prefix: str = "", gravity: Array | None = None) -> System:
        """Simulated hardware.

        Args:
            name: of the robot, in front of the hardware's.
            prefix: of the joints' names.
            gravity: (3,) in the root frame, where it is not that of the model [m/s²].
        """
        start = {f"{prefix}{joint}": value for joint, value in self.start.items()}
        return System(f"{name}simulated_arm", f"{self.name}/SimulatedArm", start, self.interfaces, gravity)

    def beside(self, name: str = "", prefix: str = "", moved: Collection[str] = ()) -> list[System]:
        """Simulated measured joints, at rest; none where simulated hardware moves all of them.

        Args:
            name: of the robot, in front of the hardware's.
            prefix: of the joints' names.
            moved: names of the joints that simulated hardware moves.
        """
        rest = zip(self.chain.measured_joints, measured_vector(self.chain).tolist(), strict=False)
        still = {prefix + joint: value for joint, value in rest if prefix + joint not in moved}
        return [System(f"{name}measured_joints", "mock_components/GenericSystem", still, ())] if still else []

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """ParameterError for a value that the controller would refuse, or a parameter that it lacks."""
        unknown = sorted(set(parameters) - {about.name for about in self.descriptions})
        if unknown:
            raise ParameterError(f"the controller has no parameter {', '.join(map(quoted, unknown))}")
        for cls, prefix in (
            (ArmParameters, ""),
            (PayloadParameters, ""),
            *((TipPayloadParameters, f"payload.{name}.") for name in payload_names(self.tips)),
        ):
            names = {f"{prefix}{about.name}": about.name for about in describe(cls)}
            cls(**{names[key]: value for key, value in parameters.items() if key in names})
        drives_of(parameters).of(self.chain)

    @property
    def tips(self) -> list[str]:
        """Links at the ends of the arm."""
        return [tip.link for tip in self.chain.tips]

    @cached_property
    def descriptions(self) -> list[Description]:
        """Parameters of the controller."""
        return descriptions(self.gravity, self.driver, self.tips, self.chain.measured_joints)

    @property
    def interfaces(self) -> tuple[str, ...]:
        """Command interfaces of every joint."""
        return self.driver.command.interfaces if self.driver else ("effort",)

    @property
    def start(self) -> dict[str, float]:
        """Start of each joint of the simulated arm: zero, or the limit next to it [rad or m]."""
        limits = [self.chain.driving_joint(j).limits for j in range(self.chain.dof)]
        start = (float(np.clip(0.0, limit.lower, limit.upper)) for limit in limits)
        return dict(zip(self.chain.joint_names, start, strict=True))

    def _values(self, project: str) -> dict[str, str]:
        values = {
            "PROJECT": project,
            "GUARD": self.name.upper(),
            "ROBOT": comment(self.chain.name),
            "SOURCE": comment(self.source),
            "MODEL_PARAMETERS": json.dumps(model_parameters())[1:-1],
            **model_values(self.chain, self.gravity, self.urdf, self.driver, self._world),
        }
        return {"PACKAGE": self.name} | {
            key: value.replace("@PACKAGE@", self.name) for key, value in values.items()
        }


def templates(paths: Sequence[str], values: Mapping[str, str], suffix: str = "") -> dict[str, str]:
    """Filled templates by their paths, in which PACKAGE is the namespace; plugin files get the suffix."""
    root = files("robot_dynamics.controllers").joinpath("templates")
    texts = {path: root.joinpath(f"{path}.in").read_text(encoding="utf-8") for path in paths}
    named = {path: path.replace("_plugin.xml", f"_plugin{suffix}.xml") for path in paths}
    return {
        named[path].replace("PACKAGE", values.get("PACKAGE", "")): filled(text, values)
        for path, text in texts.items()
    }


def drives_of(parameters: Mapping[str, Any]) -> ActuatorParameters:
    """Friction and rotor inertia that parameters of the controller have."""
    names = {about.name for about in describe(ActuatorParameters)}
    return ActuatorParameters(**{key: value for key, value in parameters.items() if key in names})


def model_parameters() -> list[str]:
    """Names of the parameters that make another model."""
    shared = (about.name for cls in (PayloadParameters, ActuatorParameters) for about in describe(cls))
    return ["gravity", *shared]


def filled(text: str, values: Mapping[str, str]) -> str:
    """A template with the values of its placeholders."""
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], text)


def comment(text: str) -> str:
    """``text`` as one line that ends no comment and is no markup."""
    return re.sub(r"[^\w .,:;()+=-]", "_", text)
