"""All files of the generated ros2_control package, of one robot or of several."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import yaml

from robot_dynamics.controllers.description import (
    Placed,
    combined,
    names_hardware,
    with_simulated_hardware,
)
from robot_dynamics.controllers.mjcf import Simulated, mjcf, weights
from robot_dynamics.controllers.moveit import joint_limits, largest_accelerations, moveit_controllers
from robot_dynamics.controllers.parameters import payload_names
from robot_dynamics.controllers.robot import WHOLE, GeneratedRobot, comment, drives_of, templates
from robot_dynamics.controllers.sources import core_sources
from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.model.chain import JointKind, KinematicChain
from robot_dynamics.resources import resource
from robot_dynamics.spatial import Array

MAINTAINER = "robot_dynamics maintainers", "maintainers@robot-dynamics.example"
"""Name and address where no other is given."""
TEMPLATES = (
    "CMakeLists.txt", "LICENSE", "README.md", "package.xml", "cmake/ros.cmake", "cmake/solver.cmake",
    "config/controllers.yaml", "launch/computed_torque.launch.py",
)  # fmt: skip
"""Paths in the package of the files in ``templates``, without their suffix ``.in``."""


@dataclass(frozen=True)
class Member:
    """A robot under the package's controller manager.

    Attributes:
        robot: code of the robot; several robots of a kind have the same.
        name: in front of the names of its controllers and hardware; empty: the only robot.
        prefix: of its joints and links in the description of all robots.
        parameters: values of the controller's parameters for ``controllers.yaml``, such as identified
            friction.
        gravity: (3,) in the root frame, where it is not the default of the model [m/s²].
        base: (4, 4) pose of the description's root link in the world [m].
        root: (4, 4) pose of the model's root link in the world [m].
    """

    robot: GeneratedRobot
    name: str = ""
    prefix: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    gravity: Array | None = None
    base: Array = field(default_factory=lambda: np.eye(4))
    root: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        self.robot.check_parameters(self.parameters)

    @property
    def key(self) -> str:
        """Start of the names of its controllers."""
        return f"{self.name}_" if self.name else ""

    @property
    def controller(self) -> str:
        """Name of its controller."""
        return f"{self.key}computed_torque_controller"

    @property
    def groups(self) -> dict[str, list[str]]:
        """Joints by trajectory controller."""
        found = joint_groups(self.robot.chain)
        return {f"{self.key}{name}": [self.prefix + one for one in own] for name, own in found.items()}

    @property
    def weight(self) -> Array:
        """(3,) gravity vector in force [m/s²]."""
        return self.robot.gravity if self.gravity is None else self.gravity

    @property
    def simulated(self) -> Simulated:
        """As a model for MuJoCo."""
        drives = drives_of(self.parameters).of(self.robot.chain)
        return Simulated(self.robot.chain, self.prefix, self.root, self.weight, drives)

    @property
    def rate(self) -> float:
        """Rate of its controller [Hz]."""
        return self.robot.driver.rate if self.robot.driver and self.robot.driver.rate else 1000.0

    def section(self, rate: float) -> str:
        """Its part of ``controllers.yaml`` under a manager of this rate [Hz]."""
        driver = self.robot.driver
        mode = "feedforward" if driver and driver.command.drive_loop else "computed_torque"
        own: dict[str, Any] = {"mode": self.parameters.get("mode", mode)}
        if self.prefix:
            own["joints"] = tuple(f"{self.prefix}{joint}" for joint in self.robot.chain.joint_names)
        if self.gravity is not None:
            own["gravity"] = tuple(float(value) for value in self.gravity)
        if self.rate < rate:
            own["update_rate"] = int(self.rate)
        given = {"kp": (100.0,), "kv": (20.0,), **self.parameters}
        lines = _parameter_lines({**own, **{key: value for key, value in given.items() if key != "mode"}})
        parts = [f"{self.controller}:\n  ros__parameters:\n{''.join(lines)}"]
        for name, joints in self.groups.items():
            parts.append(_trajectory_controller(self, name, joints))
        return "\n".join(parts)


@dataclass(frozen=True)
class ControllerPackage:
    """Content of the package.

    Attributes:
        name: of the package.
        members: its robots.
        maintainer: name and address of the package's maintainer.
    """

    name: str
    members: Sequence[Member]
    maintainer: tuple[str, str] = MAINTAINER

    def __post_init__(self) -> None:
        check_package_name(self.name)

    def files(self) -> Mapping[str, str]:
        """The texts of all files by their paths in the package."""
        made: dict[str, str] = {}
        for robot, folder in zip(self._robots, self._folders, strict=True):
            inside = "" if folder == "." else f"{folder}/"
            texts = robot.files(self.name, self._suffix(robot))
            made |= {f"{inside}{path}": text for path, text in texts.items()}
        accelerations = [
            (one.prefix, one.robot.chain,
             largest_accelerations(one.robot.chain, one.weight, drives_of(one.parameters)))
            for one in self.members
        ]  # fmt: skip
        groups = {name: joints for one in self.members for name, joints in one.groups.items()}
        return {
            **templates(TEMPLATES, self._values()),
            **made,
            **{f"src/core/{name}": text for name, text in core_sources().items()},
            "config/joint_limits.yaml": joint_limits(accelerations),
            "config/moveit_controllers.yaml": moveit_controllers(
                groups, [f"{one.key}{WHOLE}" for one in self.members]
            ),
            "urdf/robot.urdf": self._description(),
            **(self._gazebo if "gazebo" in self._plants else {}),
            **({"mujoco/robot.xml": self._mujoco} if self._mujoco else {}),
        }

    @property
    def own_hardware(self) -> list[str]:
        """Names of the robots with hardware of their own, which the launch file then starts."""
        return [one.name for one in self.members if names_hardware(one.robot.urdf)]

    @cached_property
    def _mujoco(self) -> str | None:
        """Whole robots as a model for MuJoCo; None for drives with a loop of their own."""
        parts = any(robot.chain.measured_joints for robot in self._robots)
        if parts or any(robot.interfaces != ("effort",) for robot in self._robots):
            return None
        return mjcf(self.name, [one.simulated for one in self.members], self._rate)

    @property
    def _gazebo(self) -> dict[str, str]:
        """World, with the gravity of the first robot that does not carry its own weight, and its time.

        Its floor has no contacts: a base may stand at its height, and the arm reach below.
        """
        world, time = (
            resource(path).read_text(encoding="utf-8")
            for path in ("urdf/world.sdf", "config/gazebo_time.yaml")
        )
        pulls = [one.root[:3, :3] @ one.weight for one in self.members]
        gravity = next((pull for pull in pulls if pull.any()), None)
        if gravity is not None:
            row = " ".join(f"{value + 0.0:.12g}" for value in np.round(gravity, 12))
            world = re.sub("<gravity>.*</gravity>", f"<gravity>{row}</gravity>", world)
        world = re.sub(r"\s*<collision .*?</collision>", "", world, flags=re.DOTALL)
        world = world.replace("a floor,", "a floor without contacts,")
        licence = "SPDX-License-Identifier: Apache-2.0"
        world = world.replace("?>\n", f"?>\n<!-- {licence} -->\n", 1)
        return {"gazebo/world.sdf": world, "gazebo/time.yaml": f"# {licence}\n{time}"}

    @property
    def _rate(self) -> float:
        return max(one.rate for one in self.members)

    @property
    def _plants(self) -> list[str]:
        """Simulators for the launch file."""
        if any(robot.interfaces != ("effort",) for robot in self._robots):
            return []
        return ["gazebo", "mujoco"] if self._mujoco else ["gazebo"]

    @property
    def _weights(self) -> dict[str, float]:
        """Efforts that carry the robots where they begin, by joint; none for hardware of their own."""
        found: dict[str, float] = {}
        for one in self._simulated if self._mujoco else ():
            found |= weights(one.simulated, list(one.robot.start.values()))
        return found

    @cached_property
    def _simulated(self) -> list[Member]:
        """Robots without hardware of their own."""
        return [one for one in self.members if not names_hardware(one.robot.urdf)]

    @property
    def _robots(self) -> list[GeneratedRobot]:
        """Those whose code differs."""
        return list({id(one.robot): one.robot for one in self.members}.values())

    def _suffix(self, robot: GeneratedRobot) -> str:
        return robot.name.removeprefix(self.name)

    @property
    def _folders(self) -> list[str]:
        suffixes = [self._suffix(robot) for robot in self._robots]
        return [f"robots/{suffix.removeprefix('_')}" if suffix else "." for suffix in suffixes]

    def _description(self) -> str:
        systems = [one.robot.hardware(one.key, one.prefix, one.gravity) for one in self._simulated]
        moved = {joint for system in systems for joint in system.joints}
        for one in self._simulated:
            still = one.robot.beside(one.key, one.prefix, moved)
            systems += still
            moved |= {joint for system in still for joint in system.joints}
        if not self.members[0].name:
            return with_simulated_hardware(self.members[0].robot.urdf, systems)
        placed = {one.prefix: Placed(one.robot.urdf, one.prefix, one.base) for one in self.members}
        return with_simulated_hardware(combined(self.name, list(placed.values())).encode(), systems)

    def _values(self) -> dict[str, str]:
        robots, members = self._robots, self.members
        several = len(members) > 1
        rate = self._rate
        names = " and ".join(comment(robot.chain.name) for robot in robots)
        sources = ", ".join(dict.fromkeys(comment(robot.source) for robot in robots))
        parts = [name for one in members for name in one.groups if name != f"{one.key}{WHOLE}"]
        grouped = [name for one in members for name in _started_as_groups(one)]
        folders = zip(robots, self._folders, strict=True)
        return {
            "PROJECT": self.name,
            "ROBOTS": f"set(ROBOTS {' '.join(robot.name for robot in robots)})\n"
            + "\n".join(
                f'set({robot.name}_FOLDER {folder})\nset({robot.name}_SUFFIX "{self._suffix(robot)}")'
                for robot, folder in folders
            ),
            "SUMMARY": f"Computed torque controller and inverse dynamics solver of {_the(several)} {names},"
            f" generated by robot_dynamics from {sources}.",
            "ROBOT_NAMES": f"{_the(several).capitalize()} {names}",
            "SOURCES": f" from {sources}.\n\n" + (_table(members) if several else f"Robot: {names}."),
            "CLASSES": "".join(_classes(robot) for robot in robots),
            "MODEL_FOLDERS": "; each robot's below `robots`" if several else "",
            "SUFFIX": self._suffix(robots[0]),
            "MAINTAINER": escape(self.maintainer[0]),
            "EMAIL": escape(self.maintainer[1], {'"': "&quot;"}),
            "CONTROLLERS": "".join(
                f"    {one.controller}:\n      type: {one.robot.name}/ComputedTorqueController\n"
                + "".join(
                    f"    {name}:\n      type: joint_trajectory_controller/JointTrajectoryController\n"
                    for name in one.groups
                )
                for one in members
            ),
            "CONTROLLER_PARAMETERS": "\n".join(one.section(rate) for one in members),
            "CONTROLLER_NAMES": json.dumps(["joint_state_broadcaster", *(one.controller for one in members)]),
            "TRAJECTORY_CONTROLLER_NAMES": json.dumps([f"{one.key}{WHOLE}" for one in members]),
            "GROUP_CHOICES": repr(["false", "true"] if parts else ["false"]),
            "GROUP_CONTROLLERS": json.dumps(grouped),
            "RATE": f"{rate:.0f}",
            "PLANTS": repr(["description", *self._plants]),
            "WEIGHTS": json.dumps(self._weights),
            "WEIGHTLESS": json.dumps([one.prefix for one in members if not one.weight.any()]),
            "FOLDERS": " ".join(["config launch urdf", *self._plants]),
            "DRIVER": "".join(
                f" on {comment(title)}"
                for title in dict.fromkeys(robot.driver.title for robot in robots if robot.driver)
            ),
        }


def _the(several: bool) -> str:
    return "the robots" if several else "the robot"


def _table(members: Sequence[Member]) -> str:
    """Controllers and prefix of each robot."""
    rows = "".join(
        f"| {one.name} | `{one.robot.name}` | {f'`{one.prefix}`' if one.prefix else 'none'} |"
        f" `{one.controller}`, `{one.key}{WHOLE}` |\n"
        for one in members
    )
    return f"| robot | code | prefix of joints and links | controllers |\n|---|---|---|---|\n{rows.rstrip()}"


def _classes(robot: GeneratedRobot) -> str:
    """Rows about the plugins of a robot."""
    return (
        f"| `{robot.name}/ComputedTorqueController` | chainable controller: references position, velocity and"
        " acceleration of every joint, or the topic `~/reference`"
        " (`trajectory_msgs/JointTrajectoryPoint`) |\n"
        f"| `{robot.name}/InverseDynamicsSolver` | plugin of the package `inverse_dynamics_solver`; built"
        " where that package is installed |\n"
        f"| `{robot.name}/SimulatedArm` | the model as hardware, to try controllers on |\n"
    )


def _started_as_groups(member: Member) -> list[str]:
    """Trajectory controllers of a robot that is started by groups."""
    whole = f"{member.key}{WHOLE}"
    return [name for name in member.groups if name != whole] or [whole]


def _parameter_lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a parameter file; whole numbers in lists get a point, as ROS wants it."""
    for name, value in values.items():
        plain = [_decimal(one) for one in value] if isinstance(value, tuple) else value
        written = yaml.safe_dump([plain], default_flow_style=True, width=10_000).strip()
        yield f"    {name}: {written[1:-1]}\n"


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


def _trajectory_controller(member: Member, name: str, joints: Sequence[str]) -> str:
    """Parameters of a trajectory controller in front."""
    references = [f"{member.controller}/{joint}" for joint in joints]
    chain = member.robot.chain
    places = [chain.joint_names.index(joint.removeprefix(member.prefix)) for joint in joints]
    return (
        f"{name}:\n  ros__parameters:\n"
        f"    joints: {json.dumps(joints)}\n    command_joints: {json.dumps(references)}\n"
        "    command_interfaces: [position, velocity, acceleration]\n"
        "    state_interfaces: [position, velocity]\n"
        "    # While the arm holds, the references go on: these tolerances then end the goal [rad or m, s].\n"
        "    constraints:\n      stopped_velocity_tolerance: 0.02\n      goal_time: 1.0\n"
        + "".join(_constraints(chain, place, joint) for place, joint in zip(places, joints, strict=True))
    )


def _constraints(chain: KinematicChain, place: int, name: str) -> str:
    """Tolerances of a trajectory controller in front, for one joint."""
    prismatic = chain.driving_joint(place).kind is JointKind.PRISMATIC
    # Wider than the errors that the estimate of a load leaves: it comes to rest at their edge.
    trajectory, goal = (0.02, 0.005) if prismatic else (0.1, 0.03)
    return f"      {json.dumps(name)}: {{trajectory: {trajectory}, goal: {goal}}}\n"


def check_package_name(name: str) -> None:
    """ParameterError where a package cannot have the name."""
    if not re.fullmatch(r"[a-z](?!.*__)[a-z0-9_]+", name):
        raise ParameterError(
            f"{quoted(name)} cannot be the name of a ROS package, which is made of lower-case"
            " letters, digits and single underscores, and begins with a letter; --name gives another one"
        )
