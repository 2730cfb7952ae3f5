"""Several robots under one controller manager, as a YAML file names them."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.controllers.package import Member
from robot_dynamics.controllers.parameters import as_parameters, given_parameters
from robot_dynamics.controllers.robot import GeneratedRobot
from robot_dynamics.errors import ModelError, ModelWarning, ParameterError, quoted, shown
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.files import read_bytes
from robot_dynamics.inputs.records import number, numbers
from robot_dynamics.model.driver_profile import load_driver
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.urdf import parse_urdf
from robot_dynamics.spatial import Array, pose, rotation_from_rpy

FALL = np.array([0.0, 0.0, -9.81])
"""Acceleration of free fall in the world [m/s²]."""
MOST_ROBOTS = 8
KEYS = (
    "description", "root", "tip", "tips", "lock", "measured_joints", "prefix", "position", "orientation",
    "gravity", "driver", "parameters", "frame",
)  # fmt: skip
"""Of each robot in the file."""
_MODEL_KEYS = ("root", "tip", "tips", "lock", "measured_joints", "driver", "frame")


def is_cell(document: Mapping[str, Any]) -> bool:
    """Return whether a YAML document names robots."""
    return "robots" in document


def read_cell(path: str, package: str, named: Callable[[str], str] = str) -> tuple[Member, ...]:
    """The robots of a file.

    Args:
        path: of the YAML file. Paths in it are relative to its folder.
        package: name of the package that they become.
        named: path of a description from its name, such as that of a shipped robot.

    Raises:
        ModelError: a faulty file or description; the message names the robot and the key.
        ParameterError: a value that the controller would refuse.
    """
    document = read_yaml(path, "cell file")
    robots, unknown = document.get("robots"), sorted(set(document) - {"robots"})
    if unknown:
        raise ModelError(f"{shown(path)}: key {quoted(unknown[0])} is unknown; a cell file has robots")
    if not isinstance(robots, Mapping) or not 0 < len(robots) <= MOST_ROBOTS:
        raise ModelError(f"{shown(path)}: robots must be a mapping of 1 to {MOST_ROBOTS} names to robots")
    models: dict[Any, GeneratedRobot] = {}
    members = []
    for name, entry in robots.items():
        where = f"{shown(path)}: robot {quoted(str(name))}"
        if not re.fullmatch(r"[a-z](?!.*__)([a-z0-9_]*[a-z0-9])?", str(name)):
            raise ModelError(f"{where}: a name has lower-case letters, digits and single underscores")
        try:
            members.append(_member(str(name), entry, Path(path).parent, package, models, named))
        except (ModelError, ParameterError) as error:
            raise type(error)(f"{where}: {error}") from None
    _check_prefixes(members, path)
    return tuple(members)


def _member(
    name: str,
    entry: Any,
    folder: Path,
    package: str,
    models: dict[Any, GeneratedRobot],
    named: Callable[[str], str],
) -> Member:
    if not isinstance(entry, Mapping):
        raise ModelError(f"it is {quoted(entry)}; it must be a mapping with the key description")
    for key in entry:
        if key not in KEYS:
            raise ModelError(f"key {quoted(key)} is unknown; it must be one of {', '.join(KEYS)}")
    texts = {key: _text(entry, key) for key in ("description", "root", "tip", "driver", "frame")}
    if texts["description"] is None:
        raise ModelError("key description is missing: the path of a URDF")
    beside = folder / texts["description"]
    file = str(beside) if beside.is_file() else named(texts["description"])
    urdf = read_bytes(file, "URDF file")
    key = (urdf, *(repr(entry.get(one)) for one in _MODEL_KEYS))
    if key not in models:
        models[key] = _model(f"{package}_{name}", urdf, file, entry, texts, folder)
    robot = models[key]
    base = pose(rotation_from_rpy(_three(entry, "orientation", 4.0 * np.pi)), _three(entry, "position", 1e4))
    gravity = _three(entry, "gravity", 100.0) if "gravity" in entry else None
    if gravity is None:
        fallen = (base @ _root_pose(urdf, robot.chain.root, fixed=True))[:3, :3].T @ FALL
        gravity = np.where(np.abs(fallen) < 1e-12, 0.0, fallen)
    if robot.driver is not None and robot.driver.carries_weight:
        if "gravity" in entry:
            raise ParameterError(f"gravity: driver {quoted(robot.driver.name)} carries the robot's weight")
        gravity = robot.gravity
    prefix = entry.get("prefix", f"{name}_")
    if not isinstance(prefix, str) or not re.fullmatch(r"\w*", prefix, re.ASCII):
        raise ModelError(f"prefix is {quoted(prefix)}; it must have letters, digits and underscores only")
    return Member(
        robot,
        name=name,
        prefix=prefix,
        parameters=_parameters(entry.get("parameters"), folder),
        gravity=None if np.array_equal(gravity, robot.gravity) else gravity,
        base=base,
        root=base @ _root_pose(urdf, robot.chain.root),
    )


def _model(
    name: str, urdf: bytes, file: str, entry: Mapping[str, Any], texts: Mapping[str, str | None], folder: Path
) -> GeneratedRobot:
    tips, measured = (
        _names(entry, key, of) for key, of in (("tips", "links"), ("measured_joints", "joints"))
    )
    locked = entry.get("lock", {})
    if not isinstance(locked, Mapping):
        raise ModelError(f"lock is {quoted(locked)}; it must be a mapping of joints to positions")
    if texts["tip"] is not None and tips is not None:
        raise ModelError("tip and tips exclude each other")
    positions = {str(joint): number(f"lock of {joint}", value, ModelError) for joint, value in locked.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        chain = load_urdf(urdf, texts["root"], texts["tip"], positions, tips, measured)
    driver = texts["driver"]
    if driver is not None and driver.endswith(".yaml"):
        driver = str(folder / driver)
    return GeneratedRobot(
        name=name,
        chain=chain,
        gravity=FALL,
        urdf=urdf,
        source=f"{Path(file).name}, SHA-256 {hashlib.sha256(urdf).hexdigest()}",
        driver=load_driver(driver) if driver else None,
        frame=texts["frame"],
    )


def _names(entry: Mapping[str, Any], key: str, of: str) -> list[str] | None:
    names = entry.get(key)
    if names is not None and (
        not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names)
    ):
        raise ModelError(f"{key} is {quoted(names)}; it must be a list of {of}")
    return names


def _root_pose(urdf: bytes, root: str, fixed: bool = False) -> Array:
    """(4, 4) pose of a link in the description's root, with all joints between them at zero.

    Raises:
        ModelError: a joint between them moves, and ``fixed`` forbids it.
    """
    joints = {joint.child: joint for joint in parse_urdf(urdf).joints.values()}
    found, link = np.eye(4), root
    while link in joints:
        joint = joints[link]
        moves = joint.kind.moves_on_axis or joint.kind.value in ("floating", "planar")
        if fixed and moves:
            raise ModelError(
                f"joint {quoted(joint.name)} moves the root {quoted(root)}: give gravity in its frame"
            )
        found, link = joint.origin @ found, joint.parent
    return found


def _check_prefixes(members: list[Member], path: str) -> None:
    """Robots with the same prefix must be in one description, and each joint must be moved by one of them."""
    for k, one in enumerate(members):
        for other in members[:k]:
            if one.prefix != other.prefix:
                continue
            both = f"{shown(path)}: robots {quoted(other.name)} and {quoted(one.name)}"
            if one.robot.urdf != other.robot.urdf:
                raise ModelError(f"{both} have the prefix {quoted(one.prefix)}, and different descriptions")
            if not np.array_equal(one.base, other.base):
                raise ModelError(f"{both} are in one description, which has one position and orientation")
            shared = set(one.robot.chain.joint_names) & set(other.robot.chain.joint_names)
            if shared:
                raise ModelError(
                    f"{both} both move joint {quoted(sorted(shared)[0])}: give root and tip, or tips"
                )


def _parameters(given: Any, folder: Path) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, str):
        return given_parameters(str(folder / given))
    if not isinstance(given, Mapping):
        raise ParameterError("parameters must be a mapping, or the path of a parameter file")
    return as_parameters(given)


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise ModelError(f"{key} is {quoted(value)}; it must be a text")
    return value


def _three(entry: Mapping[str, Any], key: str, most: float) -> Array:
    """Three numbers of the entry, zeros where it has none."""
    values: Array = numbers(3)(key, entry.get(key, (0.0, 0.0, 0.0)), ModelError)
    if not (np.abs(values) <= most).all():
        raise ModelError(f"{key} is {quoted(entry[key])}; each number must be between -{most:g} and {most:g}")
    return values
