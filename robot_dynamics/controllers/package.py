"""All files of the generated ros2_control package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from robot_dynamics.controllers.description import with_simulated_hardware
from robot_dynamics.controllers.model_header import model_values
from robot_dynamics.controllers.parameters import parameter_file
from robot_dynamics.controllers.sources import core_sources, kernel_sources
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.model.driver_profile import DriverProfile
from robot_dynamics.spatial import Array

TEMPLATES = (
    "CMakeLists.txt", "LICENSE", "README.md", "package.xml", "controller_plugin.xml", "solver_plugin.xml",
    "hardware_plugin.xml", "src/simulated_arm.cpp",
    "cmake/ros.cmake", "cmake/solver.cmake", "config/controllers.yaml", "launch/computed_torque.launch.py",
    "tools/replay.cpp",
    "include/PACKAGE/computed_torque_controller.hpp", "include/PACKAGE/solver_interface.hpp",
    "include/PACKAGE/model.hpp", "include/PACKAGE/settings.hpp",
    "src/computed_torque_controller.cpp", "src/reporting.cpp", "src/inverse_dynamics_solver.cpp",
    "test/test_controller.cpp", "test/test_load.cpp", "test/test_solver.cpp", "test/time_update.cpp",
)  # fmt: skip
"""Paths in the package of the files in ``templates``, without their suffix ``.in``."""


@dataclass(frozen=True)
class ControllerPackage:
    """Content of the package.

    Attributes:
        name: of the package, its namespace and its functions.
        chain: the arm.
        gravity: (3,) default of the parameter, in the root frame [m/s²].
        urdf: the description from which the arm was read.
        source: where it comes from, with a digest of it.
        driver: profile of the driver that gets the efforts. Where the robot carries its own weight, the
            default of the parameter ``gravity`` is zero.
    """

    name: str
    chain: KinematicChain
    gravity: Array
    urdf: bytes
    source: str
    driver: DriverProfile | None = None

    def __post_init__(self) -> None:
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
        if not re.fullmatch(r"[a-z](?!.*__)[a-z0-9_]+", self.name):
            raise ParameterError(
                f"{quoted(self.name)} cannot be the name of a ROS package, which is made of lower-case"
                " letters, digits and single underscores, and begins with a letter; --name gives another one"
            )

    def files(self) -> Mapping[str, str]:
        """The texts of all files by their paths in the package."""
        self.chain.only_serial("a generated ros2_control package")
        notice = [f"Robot: {self.chain.name}, from link {self.chain.root} to link {self.chain.tip}.",
                  f"Source: {self.source}."]  # fmt: skip
        kernels = kernel_sources(self.chain, self.name, [_comment(line) for line in notice])
        return {
            **self._filled(),
            **{f"src/core/{name}": text for name, text in core_sources().items()},
            **{f"src/model/{name}": text for name, text in kernels.items()},
            "src/parameters.yaml": parameter_file(self.name, self.gravity, self.driver),
            "urdf/robot.urdf": with_simulated_hardware(
                self.urdf, self.chain.joint_names, f"{self.name}/SimulatedArm", self._interfaces
            ),
        }

    @property
    def _interfaces(self) -> tuple[str, ...]:
        """Command interfaces of every joint."""
        return self.driver.command.interfaces if self.driver else ("effort",)

    def _filled(self) -> dict[str, str]:
        values = {
            "PACKAGE": self.name,
            "GUARD": self.name.upper(),
            "ROBOT": _comment(self.chain.name),
            "SOURCE": _comment(self.source),
            "JOINT_LIST": json.dumps(self.chain.joint_names),
            "REFERENCE_LIST": json.dumps([f"computed_torque_controller/{j}" for j in self.chain.joint_names]),
            "CONSTRAINTS": "".join(_constraints(self.chain, j) for j in range(self.chain.dof)),
            "RATE": f"{self.driver.rate:.0f}" if self.driver and self.driver.rate else "1000",
            "MODE": "feedforward" if self.driver and self.driver.command.drive_loop else "computed_torque",
            "DRIVER": f" on {_comment(self.driver.title)}" if self.driver else "",
            **model_values(self.chain, self.gravity, self.urdf, self.driver),
        }
        root = files("robot_dynamics.controllers").joinpath("templates")
        texts = {path: root.joinpath(f"{path}.in").read_text(encoding="utf-8") for path in TEMPLATES}
        return {path.replace("PACKAGE", self.name): _fill(text, values) for path, text in texts.items()}


def _constraints(chain: KinematicChain, joint: int) -> str:
    """Tolerances of a trajectory controller in front, for one joint."""
    moved = chain.driving_joint(joint)
    trajectory, goal = (0.02, 0.005) if moved.kind is JointKind.PRISMATIC else (0.1, 0.02)
    return f"      {json.dumps(moved.name)}: {{trajectory: {trajectory}, goal: {goal}}}\n"


def _fill(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], text)


def _comment(text: str) -> str:
    """``text`` as one line that ends no comment and is no markup."""
    return re.sub(r"[^\w .,:;()+=-]", "_", text)
