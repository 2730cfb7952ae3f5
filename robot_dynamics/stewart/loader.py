"""Reading a Stewart platform from YAML, with every value checked."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from robot_dynamics.errors import ModelError, StewartModelWarning, WrongTypeError, of_wrong_type, quoted
from robot_dynamics.inputs.arrays import listed, plain_text
from robot_dynamics.inputs.documents import parse_yaml, read_yaml
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.spatial import Array, rotation_from_rpy
from robot_dynamics.stewart.fields import LARGEST, Fields
from robot_dynamics.stewart.machine import (
    GUESSED,
    LEG_COUNT,
    NO_DRIVE,
    NO_SPRING,
    Drive,
    JointFriction,
    Leg,
    LegLimits,
    Machine,
    Spring,
)
from robot_dynamics.stewart.orientation import rotation_from_quaternion
from robot_dynamics.stewart.physical import check_body, check_geometry, check_spinning_leg, check_units

UNLIMITED = "unlimited"
LIMITS = ("speed", "force", "base_angle", "platform_angle")
MOST_POINTS = 1000
"""Maximum number of points of a speed-force curve."""
INHERITED = ("limits", "friction")
"""Fields of a leg that take what they leave open from ``leg_defaults``."""
LEG_FIELDS = (
    "base_joint",
    "base_point",
    "universal_axis",
    "platform_point",
    "lower",
    "upper",
    "friction",
    "limits",
    "drive",
    "spring",
)


def load_machine(source: str | Path | Mapping[str, Any]) -> Machine:
    """The machine described by a YAML file, by YAML text (more than one line), or by a mapping.

    Raises:
        ModelError: the description cannot be read, or a parameter is missing, unknown, not finite, of a
            wrong shape or not physical; the message names the field.
        WrongTypeError: ``source`` is neither a path nor a description.
    """
    source = plain_text(source) or source
    try:
        return _machine(Fields(_document(source), ""))
    except ModelError as error:
        if not _is_path(source) or str(error).startswith("the platform cannot be read"):
            raise
        name = os.fsdecode(source)
        if name in str(error):
            raise
        raise ModelError(f"{name}: {error}") from error


def _machine(fields: Fields) -> Machine:
    # None: refuse inertias that no rigid body has; a list: accept them and collect what is wrong.
    objections: list[str] | None = [] if fields.flag("allow_unphysical_inertia", default=False) else None
    home = fields.section("home")
    defaults = fields.optional_section("leg_defaults")
    machine = Machine(
        name=fields.text("name"),
        gravity=fields.array("gravity", (3,)),
        platform=_body(fields.section("platform"), objections, needs_mass=True),
        legs=_legs(fields, defaults, objections),
        home_position=home.array("position", (3,)),
        home_rotation=_rotation(home),
        characteristic_length=fields.number("characteristic_length", above=1e-6),
        condition_limit=fields.number("condition_limit", above=1.0),
        guessed=_guessed(fields),
    )
    home.finish()
    fields.finish(ignore=("source",))
    check_geometry(machine)
    if doubt := check_units(machine):
        warnings.warn(f"{machine.name}: {doubt}", StewartModelWarning, stacklevel=4)
    if objections:
        warnings.warn(
            f"{machine.name} is used with inertias that no rigid body has, as allow_unphysical_inertia asks:"
            f" {objections[0]} ({len(objections)} such bodies)",
            StewartModelWarning,
            stacklevel=4,
        )
    return machine


def _guessed(fields: Fields) -> tuple[str, ...]:
    """Parts of the machine that are guesses."""
    if not fields.has("guessed"):
        return ()
    given = listed("guessed", fields.value("guessed"), ModelError, len(GUESSED))
    parts = tuple(plain_text(part) or "" for part in given)
    if not set(parts) <= set(GUESSED):
        raise ModelError(f"guessed is {quoted(given)}; it is a list of {', '.join(GUESSED)}")
    return parts


def _is_path(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """True where the text names a file; a text of several lines is YAML."""
    return isinstance(source, os.PathLike) or (isinstance(source, str) and "\n" not in source)


def _document(source: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and "\n" in source:
        return parse_yaml(source, "the YAML text")
    if _is_path(source):
        return read_yaml(
            source, "platform file", lambda reason: ModelError(f"the platform cannot be read: {reason}")
        )
    raise WrongTypeError(
        f"a machine must be a path, YAML of more than one line, or a mapping, not {type(source).__name__}"
    )


def _legs(fields: Fields, defaults: Mapping[str, Any], objections: list[str] | None) -> tuple[Leg, ...]:
    entries = fields.value("legs")
    raised = ModelError
    try:
        entries = listed("legs", entries, ModelError, LEG_COUNT)
    except ModelError as error:
        entries, raised = [], type(error)
    if len(entries) != LEG_COUNT:
        raise raised(f"legs must be a list of {LEG_COUNT} legs")
    unknown = set(defaults) - set(LEG_FIELDS)
    if unknown:
        raise ModelError(
            f"leg_defaults.{min(map(str, unknown))} is unknown; known are {', '.join(LEG_FIELDS)}"
        )
    legs = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, Mapping):
            raise of_wrong_type(ModelError)(f"legs[{number}] must be a mapping")
        fields_of_leg = Fields(_completed(entry, defaults), f"legs[{number}]")
        legs.append(_leg(fields_of_leg, objections, _is_unlimited(defaults.get("limits"))))
    names = [leg.name for leg in legs]
    if len(set(names)) != len(names):
        raise ModelError(f"legs: the names {', '.join(names)} are not all different")
    return tuple(legs)


def _completed(entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A leg with what the defaults add: whole fields, and what its own limits and friction leave open."""
    leg = {**defaults, **entry}
    for name in INHERITED:
        given, default = entry.get(name), defaults.get(name)
        if isinstance(given, Mapping) and isinstance(default, Mapping):
            leg[name] = {**default, **given}
    return leg


def _leg(fields: Fields, objections: list[str] | None, unlimited: bool) -> Leg:
    name = fields.text("name")
    base_joint = fields.text("base_joint")
    if base_joint not in ("universal", "spherical"):
        where = fields.path("base_joint")
        raise ModelError(f"{where} is {quoted(base_joint)}; it must be universal or spherical")
    axis = fields.direction("universal_axis") if base_joint == "universal" else None
    leg = Leg(
        name=name,
        base_point=fields.array("base_point", (3,)),
        platform_point=fields.array("platform_point", (3,)),
        universal_axis=axis,
        lower=_body(fields.section("lower"), objections),
        upper=_body(fields.section("upper"), objections),
        friction=_friction(fields.section("friction")),
        limits=_limits(fields, unlimited),
        drive=_drive(fields),
        spring=_spring(fields),
    )
    fields.finish(ignore=("universal_axis",) if axis is None else ())
    if axis is None:
        check_spinning_leg(leg, fields.where)
    return leg


def _body(fields: Fields, objections: list[str] | None, needs_mass: bool = False) -> RigidBody:
    mass = fields.number("mass", above=0.0) if needs_mass else fields.number("mass", least=0.0)
    body = RigidBody(mass, fields.array("center_of_mass", (3,)), fields.array("inertia", (3, 3)))
    fields.finish()
    try:
        check_body(body, fields.where)
    except ModelError as error:
        if objections is None or not np.allclose(body.inertia, body.inertia.T, rtol=0.0, atol=1e-12):
            raise
        objections.append(str(error))
    return body


def _friction(fields: Fields) -> JointFriction:
    friction = JointFriction(
        universal=fields.number("universal", least=0.0),
        prismatic=fields.number("prismatic", least=0.0),
        spherical=fields.number("spherical", least=0.0),
        coulomb=fields.optional_number("coulomb", 0.0, least=0.0),
    )
    fields.finish()
    return friction


def _is_unlimited(given: object) -> bool:
    return plain_text(given) == UNLIMITED


def _drive(leg: Fields) -> Drive:
    if not leg.has("drive"):
        return NO_DRIVE
    fields = leg.section("drive")
    drive = Drive(
        lead=fields.number("lead", above=0.0),
        screw_inertia=fields.optional_number("screw_inertia", 0.0, least=0.0),
        rotor_inertia=fields.optional_number("rotor_inertia", 0.0, least=0.0),
        gear_ratio=fields.optional_number("gear_ratio", 1.0, above=0.0),
    )
    fields.finish()
    if drive.reflected_mass > LARGEST:
        raise ModelError(
            f"{fields.where}: its turning parts are as heavy as {drive.reflected_mass:.3g} kg; the lead is in"
            " metres per turn, inertias in kg·m²"
        )
    return drive


def _spring(leg: Fields) -> Spring:
    if not leg.has("spring"):
        return NO_SPRING
    fields = leg.section("spring")
    spring = Spring(
        length=fields.number("length", above=0.0),
        force=fields.number("force"),
        stiffness=fields.number("stiffness", least=0.0),
    )
    fields.finish()
    return spring


def _limits(leg: Fields, unlimited: bool) -> LegLimits:
    """Limits of a leg; with ``unlimited``, limits that are not given are infinite."""
    given = leg.value("limits")
    if _is_unlimited(given):
        return LegLimits()
    fields = leg.section("limits")
    shortest, longest = 0.0, math.inf
    if "length" in fields.values or not unlimited:
        shortest, longest = fields.array("length", (2,)).tolist()
    if not 0.0 <= shortest < longest:
        raise ModelError(f"{fields.path('length')} is [{shortest:g}, {longest:g}]; it must grow from 0 on")
    speed, force, base_angle, platform_angle = (
        fields.number(name, above=0.0) if name in fields.values or not unlimited else math.inf
        for name in LIMITS
    )
    curve = _curve(fields)
    continuous = fields.optional_number("continuous_force", math.inf, above=0.0)
    try:
        plain = LegLimits(shortest, longest, speed, force, base_angle, platform_angle)
        limits = replace(plain, continuous_force=continuous, speed_force=curve)
    except ModelError as error:
        raise ModelError(f"{fields.where}: {error}") from None
    fields.finish()
    return limits


def _curve(fields: Fields) -> tuple[tuple[float, float], ...]:
    """Points of the actuator's force over its speed; none where they are not given."""
    if not fields.has("speed_force"):
        return ()
    points = listed(fields.path("speed_force"), fields.value("speed_force"), ModelError, MOST_POINTS)
    values = fields.array("speed_force", (len(points), 2))
    return tuple((float(speed), float(force)) for speed, force in values)


def _rotation(fields: Fields) -> Array:
    if "roll_pitch_yaw" in fields.values:
        return rotation_from_rpy(fields.array("roll_pitch_yaw", (3,)))
    if "orientation" not in fields.values:
        raise ModelError(
            f"{fields.where} needs 'orientation' (quaternion x, y, z, w) or 'roll_pitch_yaw' [rad]"
        )
    quaternion = fields.array("orientation", (4,))
    if abs(np.linalg.norm(quaternion) - 1.0) > 1e-3:
        raise ModelError(
            f"{fields.path('orientation')} has norm {np.linalg.norm(quaternion):g}; it must be 1"
        )
    return rotation_from_quaternion(quaternion)
