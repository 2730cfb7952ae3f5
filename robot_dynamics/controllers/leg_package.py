"""All files of the generated ros2_control package of a Stewart platform's leg drives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from xml.sax.saxutils import escape

import numpy as np

from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.controllers.model_header import cpp_text
from robot_dynamics.controllers.package import MAINTAINER, check_package_name
from robot_dynamics.controllers.robot import comment, filled
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.sdf import actuator_description, home_lengths

TEMPLATES = (
    "CMakeLists.txt", "README.md", "package.xml", "controller_plugin.xml", "config/controllers.yaml",
    "config/stewart_platform.yaml",
    "launch/legs.launch.py", "include/PACKAGE/leg_setpoints.hpp",
    "include/PACKAGE/leg_setpoint_controller.hpp", "src/leg_setpoint_controller.cpp",
    "src/leg_parameters.yaml",
)  # fmt: skip
"""Paths in the package of the files in ``leg_templates``, without their suffix ``.in``."""
_FAR = 1e6
"""In place of a limit that a leg has not [m/s or N]."""


@dataclass(frozen=True)
class LegPackage:
    """Content of the package.

    Attributes:
        name: of the package and its namespace.
        machine: the platform.
        source: where it comes from, with a digest of it.
        maintainer: name and address of the package's maintainer.
    """

    name: str
    machine: Machine
    source: str
    maintainer: tuple[str, str] = MAINTAINER

    def __post_init__(self) -> None:
        check_package_name(self.name)

    def files(self) -> Mapping[str, str]:
        """The texts of all files by their paths in the package."""
        packages = files("robot_dynamics.controllers")
        root = packages.joinpath("leg_templates")
        texts = {path: root.joinpath(f"{path}.in").read_text(encoding="utf-8") for path in TEMPLATES}
        values = self._values()
        return {
            **{path.replace("PACKAGE", self.name): filled(text, values) for path, text in texts.items()},
            "LICENSE": packages.joinpath("templates/LICENSE.in").read_text(encoding="utf-8"),
            "urdf/legs.urdf": actuator_description(
                self.machine, "mock_components/GenericSystem", ("position", "velocity", "effort")
            ),
        }

    def _values(self) -> dict[str, str]:
        """Values of the placeholders in the templates."""
        legs, home = [leg.limits for leg in self.machine.legs], home_lengths(self.machine)
        parameters = StewartParameters()
        return {
            "PACKAGE": self.name,
            "GUARD": self.name.upper(),
            "ROBOT": comment(self.machine.name),
            "SOURCE": comment(self.source),
            "MAINTAINER": escape(self.maintainer[0]),
            "EMAIL": escape(self.maintainer[1], {'"': "&quot;"}),
            "LEGS": ", ".join(map(cpp_text, self.machine.leg_names)),
            "JOINTS": json.dumps(list(self.machine.leg_names), ensure_ascii=False)[1:-1],
            "HOME": _numbers(home),
            "SHORTEST": _numbers([leg.shortest for leg in legs] - home),
            "LONGEST": _numbers([leg.longest for leg in legs] - home),
            "SPEEDS": _numbers(np.array([leg.speed for leg in legs])),
            "FORCES": _numbers(np.array([leg.force for leg in legs])),
            "CATCH_UP": repr(parameters.settle_speed),
            "DECELERATION": repr(parameters.stop_deceleration or 2.0 * parameters.max_acceleration),
        }


def _numbers(values: np.ndarray) -> str:
    return ", ".join(repr(float(value)) for value in np.clip(values, -_FAR, _FAR))
