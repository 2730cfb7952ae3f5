"""Reads a URDF with ROS's own parser and turns what it returns into a validated tree."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.model.chain import JointLimits, RigidBody
from robot_dynamics.model.urdf.gate import kinematics_only, read_source
from robot_dynamics.model.urdf.tree import DescriptionFinding, Joint, JointType, Link, Mimic, RobotTree
from robot_dynamics.model.urdf.validation import (
    LARGEST,
    check_body,
    check_limits,
    check_mimics,
    check_tree,
    without_zeros,
)
from robot_dynamics.spatial import Array, pose, rotate_inertia, rotation_from_rpy

MAX_NAME = 1000
"""Characters of the longest name; names go into tables, columns, messages of ROS and generated files."""


def parse_urdf(source: str | bytes | os.PathLike[str]) -> RobotTree:
    """Read and validate a robot description.

    Args:
        source: path of a URDF file, or its XML text as str or bytes.

    Returns:
        The description's links and joints, nothing lumped. Geometry, transmissions, sensors and simulator
        extensions are not read.

    Raises:
        ModelError: the description cannot be used; the message names the link or joint.
    """
    description = read_source(source)
    label = description.label
    robot = _run_parser(kinematics_only(description), label)
    findings: list[DescriptionFinding] = []
    try:
        _check_name("robot", robot.name)
        fixed = {entry.child for entry in robot.joints if entry.type == JointType.FIXED.value}
        links = _by_name("link", (_link(entry, entry.name in fixed, findings) for entry in robot.links))
        joints = _by_name("joint", (_joint(entry, findings) for entry in robot.joints))
        check_tree(links, joints)
        check_mimics(joints)
    except ModelError as error:
        raise ModelError(f"{label}: {error}") from error
    return RobotTree(name=robot.name, links=links, joints=joints, findings=tuple(findings))


def _run_parser(data: bytes, label: str) -> Any:
    from urdf_parser_py.urdf import URDF
    from urdf_parser_py.xml_reflection.core import ParseError

    try:
        return URDF.from_xml_string(data)
    except ParseError as error:
        raise ModelError(f"{label}: {error.path}: {_reason(error.e)}") from error
    except Exception as error:  # the parser raises whatever a value's constructor raises
        raise ModelError(f"{label}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, TypeError):
        return "an attribute is missing"
    return " ".join(str(error).split()) or type(error).__name__


def _check_name(what: str, name: str) -> None:
    if len(name) > MAX_NAME:
        raise ModelError(f"the name of the {what} {quoted(name)} is longer than {MAX_NAME} characters")


def _by_name(what: str, entries: Iterable[Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for entry in entries:
        if not entry.name.strip():
            raise ModelError(f"a {what} has an empty name")
        _check_name(what, entry.name)
        if entry.name in named:
            raise ModelError(f"two {what}s are named {entry.name!r}")
        named[entry.name] = entry
    return named


def _link(entry: Any, fixed: bool, findings: list[DescriptionFinding]) -> Link:
    if entry.inertial is None:
        return Link(entry.name, None)
    where = f"link {entry.name!r}"
    inertial = entry.inertial
    if inertial.inertia is None:
        raise ModelError(f"{where}: <inertial> has no <inertia>")
    origin = _origin(inertial.origin, f"{where}, <inertial>")
    rows = inertial.inertia.to_matrix()
    inertia = np.array([[_number(number, f"{where}, inertia") for number in row] for row in rows])
    body = RigidBody(
        mass=_number(inertial.mass, f"{where}, mass"),
        center_of_mass=origin[:3, 3],
        inertia=rotate_inertia(origin[:3, :3], inertia),
    )
    odd = check_body(where, body, fixed)
    findings.extend(DescriptionFinding("link", entry.name, message) for message in odd)
    return Link(entry.name, body)


def _joint(entry: Any, findings: list[DescriptionFinding]) -> Joint:
    where = f"joint {entry.name!r}"
    try:
        kind = JointType(entry.type)
    except ValueError:
        legal = ", ".join(kind.value for kind in JointType)
        raise ModelError(f"{where}: unknown type {entry.type!r}; URDF has {legal}") from None
    for role, link in (("parent", entry.parent), ("child", entry.child)):
        if not link:
            raise ModelError(f"{where}: <{role}> names no link")
    damping, friction = 0.0, 0.0
    if entry.dynamics is not None:
        damping = _number(entry.dynamics.damping, f"{where}, damping")
        friction = _number(entry.dynamics.friction, f"{where}, friction")
    for name, value in (("damping", damping), ("friction", friction)):
        if value < 0.0:
            raise ModelError(f"{where}: {name} is {value:g}; it cannot be negative")
    limits, zero_limits, messages = _limits(entry.limit, kind, where)
    findings.extend(DescriptionFinding("joint", entry.name, message) for message in messages)
    mimic = None
    if entry.mimic is not None and kind.moves_on_axis:
        mimic = Mimic(
            entry.mimic.joint,
            _number(entry.mimic.multiplier, f"{where}, mimic multiplier", 1.0),
            _number(entry.mimic.offset, f"{where}, mimic offset"),
        )
    return Joint(
        name=entry.name,
        kind=kind,
        parent=entry.parent,
        child=entry.child,
        origin=_origin(entry.origin, where),
        axis=_axis(entry.axis, kind, where),
        limits=limits,
        damping=damping,
        friction=friction,
        mimic=mimic,
        zero_limits=zero_limits,
    )


def _number(value: float | None, where: str, default: float = 0.0) -> float:
    if value is None:
        return default
    if not abs(value) <= LARGEST:
        raise ModelError(f"{where}: {value} is not a number between -{LARGEST:g} and {LARGEST:g}")
    return float(value)


def _vector(values: Any, where: str) -> Array:
    return np.array([_number(value, where) for value in values])


def _origin(origin: Any, where: str) -> Array:
    if origin is None:
        return np.eye(4)
    xyz, rpy = _vector(origin.xyz, f"{where}, origin xyz"), _vector(origin.rpy, f"{where}, origin rpy")
    return pose(rotation_from_rpy(rpy), xyz)


def _axis(axis: Any, kind: JointType, where: str) -> Array:
    default = np.array([1.0, 0.0, 0.0])
    if axis is None:
        return default
    vector = _vector(axis, f"{where}, axis")
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        if kind.moves_on_axis or kind is JointType.PLANAR:
            raise ModelError(f"{where}: the axis of a {kind.value} joint cannot be zero")
        return default
    return np.asarray(vector / length)


def _limits(limit: Any, kind: JointType, where: str) -> tuple[JointLimits, tuple[str, ...], list[str]]:
    """The limits in force, which of them were written as 0, and what else is odd about them."""
    if limit is None:
        needed = kind in (JointType.REVOLUTE, JointType.PRISMATIC)
        odd = [f"a {kind.value} joint needs <limit>; taken as unlimited"] if needed else []
        return JointLimits(), (), odd
    if not kind.moves_on_axis:
        return JointLimits(), (), []
    lower, upper = float(limit.lower or 0.0), float(limit.upper or 0.0)
    named = {"lower": lower, "upper": upper, "velocity": limit.velocity, "effort": limit.effort}
    for name, value in named.items():
        if math.isnan(value):
            raise ModelError(f"{where}: the {name} limit is not a number")
    if kind is JointType.CONTINUOUS:
        lower, upper = -math.inf, math.inf
    written = JointLimits(lower, upper, velocity=limit.velocity, effort=limit.effort)
    odd = check_limits(where, written)
    return *without_zeros(written), odd
