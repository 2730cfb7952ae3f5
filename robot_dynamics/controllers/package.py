"""All files of the generated ros2_control package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import yaml

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.parameters import ArmParameters
from robot_dynamics.control.arm.payload import PayloadParameters, TipPayloadParameters
from robot_dynamics.controllers.description import with_simulated_hardware
from robot_dynamics.controllers.model_header import model_values
from robot_dynamics.controllers.moveit import joint_limits, moveit_controllers
from robot_dynamics.controllers.parameters import descriptions, parameter_file, payload_names
from robot_dynamics.controllers.sources import core_sources, kernel_sources
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.model.driver_profile import DriverProfile
from robot_dynamics.parameters import Description, describe
from robot_dynamics.spatial import Array

MAINTAINER = "robot_dynamics maintainers", "maintainers@robot-dynamics.example"
"""Name and address where no other is given."""
WHOLE = "joint_trajectory_controller"
"""Trajectory controller of all joints; the others have the name of their tip before it."""
TEMPLATES = (
    "CMakeLists.txt", "LICENSE", "README.md", "package.xml", "controller_plugin.xml", "solver_plugin.xml",
    "hardware_plugin.xml", "src/simulated_arm.cpp",
    "cmake/ros.cmake", "cmake/solver.cmake", "config/controllers.yaml", "launch/computed_torque.launch.py",
    "tools/replay.cpp",
    "include/PACKAGE/computed_torque_controller.hpp", "include/PACKAGE/solver_interface.hpp",
    "include/PACKAGE/model.hpp", "include/PACKAGE/settings.hpp", "include/PACKAGE/impedance.hpp",
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
        parameters: values of the controller's parameters for ``controllers.yaml``, such as identified
            friction.
        maintainer: name and address of the package's maintainer.
        frame: link or frame of the mode cartesian_impedance; None: the tip.
    """

    name: str
    chain: KinematicChain
    gravity: Array
    urdf: bytes
    source: str
    driver: DriverProfile | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    maintainer: tuple[str, str] = MAINTAINER
    frame: str | None = None

    def __post_init__(self) -> None:
        self._check_parameters()
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
        check_package_name(self.name)

    def files(self) -> Mapping[str, str]:
        """The texts of all files by their paths in the package."""
        tips = ", ".join(self._tips)
        notice = [f"Robot: {self.chain.name}, from link {self.chain.root} to {tips}.",
                  f"Source: {self.source}."]  # fmt: skip
        frame = (self.frame or self._tips[0]) if len(self._tips) == 1 else None
        kernels = kernel_sources(self.chain, self.name, [comment(line) for line in notice], frame)
        return {
            **self._filled(),
            **{f"src/core/{name}": text for name, text in core_sources().items()},
            **{f"src/model/{name}": text for name, text in kernels.items()},
            "config/joint_limits.yaml": joint_limits(self.chain, self.gravity, self._drives),
            "config/moveit_controllers.yaml": moveit_controllers(self._groups, WHOLE),
            "src/parameters.yaml": parameter_file(self._descriptions, self.name),
            "urdf/robot.urdf": with_simulated_hardware(
                self.urdf, self._start, f"{self.name}/SimulatedArm", self._interfaces
            ),
        }

    def _check_parameters(self) -> None:
        """ParameterError for a value that the controller would refuse, or a parameter that it lacks."""
        known = {about.name for about in self._descriptions}
        unknown = sorted(set(self.parameters) - known)
        if unknown:
            raise ParameterError(f"the controller has no parameter {', '.join(map(quoted, unknown))}")
        for cls, prefix in (
            (ArmParameters, ""),
            (PayloadParameters, ""),
            *((TipPayloadParameters, f"payload.{name}.") for name in payload_names(self._tips)),
        ):
            names = {f"{prefix}{about.name}": about.name for about in describe(cls)}
            cls(**{names[key]: value for key, value in self.parameters.items() if key in names})
        self._drives.of(self.chain)

    @property
    def _tips(self) -> list[str]:
        return [tip.link for tip in self.chain.tips]

    @property
    def _groups(self) -> dict[str, list[str]]:
        return joint_groups(self.chain)

    @property
    def _descriptions(self) -> list[Description]:
        return descriptions(self.gravity, self.driver, self._tips)

    @property
    def _drives(self) -> ActuatorParameters:
        names = {about.name for about in describe(ActuatorParameters)}
        return ActuatorParameters(**{k: v for k, v in self.parameters.items() if k in names})

    @property
    def _interfaces(self) -> tuple[str, ...]:
        """Command interfaces of every joint."""
        return self.driver.command.interfaces if self.driver else ("effort",)

    @property
    def _start(self) -> dict[str, float]:
        """Start of each joint of the simulated arm: zero, or the limit next to it [rad or m]."""
        limits = [self.chain.driving_joint(j).limits for j in range(self.chain.dof)]
        start = (float(np.clip(0.0, limit.lower, limit.upper)) for limit in limits)
        return dict(zip(self.chain.joint_names, start, strict=True))

    def _filled(self) -> dict[str, str]:
        mode = "feedforward" if self.driver and self.driver.command.drive_loop else "computed_torque"
        values = {
            "PACKAGE": self.name,
            "GUARD": self.name.upper(),
            "ROBOT": comment(self.chain.name),
            "SOURCE": comment(self.source),
            "PARAMETERS": "".join(_parameter_lines({"kp": (100.0,), "kv": (20.0,), **self.parameters})),
            "MAINTAINER": escape(self.maintainer[0]),
            "EMAIL": escape(self.maintainer[1], {'"': "&quot;"}),
            "CONTROLLERS": "".join(
                f"    {name}:\n      type: joint_trajectory_controller/JointTrajectoryController\n"
                for name in self._groups
            ),
            "TRAJECTORY_CONTROLLERS": "\n".join(
                _trajectory_controller(self.chain, name, joints) for name, joints in self._groups.items()
            ),
            "GROUP_CHOICES": repr(["false", "true"] if len(self._groups) > 1 else ["false"]),
            "GROUP_CONTROLLERS": repr([name for name in self._groups if name != WHOLE]),
            "RATE": f"{self.driver.rate:.0f}" if self.driver and self.driver.rate else "1000",
            "MODE": self.parameters.get("mode", mode),
            "MODEL_PARAMETERS": json.dumps(model_parameters())[1:-1],
            "DRIVER": f" on {comment(self.driver.title)}" if self.driver else "",
            **model_values(self.chain, self.gravity, self.urdf, self.driver),
        }
        values = {key: value.replace("@PACKAGE@", self.name) for key, value in values.items()}
        root = files("robot_dynamics.controllers").joinpath("templates")
        texts = {path: root.joinpath(f"{path}.in").read_text(encoding="utf-8") for path in TEMPLATES}
        return {path.replace("PACKAGE", self.name): filled(text, values) for path, text in texts.items()}


def model_parameters() -> list[str]:
    """Names of the parameters that make another model."""
    shared = (about.name for cls in (PayloadParameters, ActuatorParameters) for about in describe(cls))
    return ["gravity", *shared]


def _parameter_lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a parameter file without the mode; whole numbers in lists get a point, as ROS wants it."""
    for name, value in values.items():
        plain = [_decimal(one) for one in value] if isinstance(value, tuple) else value
        if name != "mode":
            yield "    " + yaml.safe_dump({name: plain}, default_flow_style=None, width=10_000)


def _decimal(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def joint_groups(chain: KinematicChain) -> dict[str, list[str]]:
    """Joints by trajectory controller: one for all; of a tree one for each tip, and for what tips share."""
    groups = {WHOLE: list(chain.joint_names)}
    if not chain.other_tips:
        return groups
    names = payload_names([tip.link for tip in chain.tips])
    carrying: list[set[str]] = [set() for _ in chain.coordinate_names]
    for name, tip in zip(names, chain.tips, strict=True):
        at = tip.joint
        while at >= 0:
            carrying[chain.joints[at].coordinate].add(name)
            at = chain.carriers[at]
    for joint, own in zip(chain.joint_names, carrying, strict=True):
        group = next(iter(own)) if len(own) == 1 else "shared"
        groups.setdefault(f"{group}_{WHOLE}", []).append(joint)
    return groups


def _trajectory_controller(chain: KinematicChain, name: str, joints: Sequence[str]) -> str:
    """Parameters of a trajectory controller in front."""
    references = [f"computed_torque_controller/{joint}" for joint in joints]
    return (
        f"{name}:\n  ros__parameters:\n"
        f"    joints: {json.dumps(joints)}\n    command_joints: {json.dumps(references)}\n"
        "    command_interfaces: [position, velocity, acceleration]\n"
        "    state_interfaces: [position, velocity]\n"
        "    # While the arm holds, the references go on: these tolerances then end the goal [rad or m, s].\n"
        "    constraints:\n      stopped_velocity_tolerance: 0.02\n      goal_time: 1.0\n"
        + "".join(_constraints(chain, chain.joint_names.index(joint)) for joint in joints)
    )


def _constraints(chain: KinematicChain, joint: int) -> str:
    """Tolerances of a trajectory controller in front, for one joint."""
    moved = chain.driving_joint(joint)
    trajectory, goal = (0.02, 0.005) if moved.kind is JointKind.PRISMATIC else (0.1, 0.02)
    return f"      {json.dumps(moved.name)}: {{trajectory: {trajectory}, goal: {goal}}}\n"


def check_package_name(name: str) -> None:
    """ParameterError where a package cannot have the name."""
    if not re.fullmatch(r"[a-z](?!.*__)[a-z0-9_]+", name):
        raise ParameterError(
            f"{quoted(name)} cannot be the name of a ROS package, which is made of lower-case"
            " letters, digits and single underscores, and begins with a letter; --name gives another one"
        )


def filled(text: str, values: Mapping[str, str]) -> str:
    """A template with the values of its placeholders."""
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], text)


def comment(text: str) -> str:
    """``text`` as one line that ends no comment and is no markup."""
    return re.sub(r"[^\w .,:;()+=-]", "_", text)
