"""The commented file of a new machine: a symmetric hexapod from a few measures.

Three pairs of joints lie on a circle on the base, three on one on the platform, turned by 60 degrees.
What the measures leave open is guessed by size, so that the file works at once, and marked as a guess.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.motion import motion_of
from robot_dynamics.stewart.newton_euler import balance

GRAVITY = 9.81
LEAN = 1.5
"""Length of a leg in its middle over its horizontal part: it stands at acos(1/1.5) = 48 degrees."""
DEAD_LENGTH = 1.5
"""Least ratio of a leg's shortest length to its stroke: what does not slide needs room too."""
SHAKE = 5.0
"""Acceleration that the guessed force limit is made for [m/s²]."""
MARGIN = 2.0
# Guesses by size: masses grow with the cube of a length.
PAYLOAD, PLATE, LOWER, UPPER = 800.0, 400.0, 15.0, 4.0
LARGEST = 1e3


@dataclass(frozen=True)
class Measures:
    """Data from which a machine is made; data that are None are guessed from its size.

    Attributes:
        name: of the machine.
        base_radius: of the circle of base joints [m].
        platform_radius: of the circle of platform joints [m].
        stroke: of a leg [m].
        shortest_leg: its shortest length [m].
        payload: on the platform [kg].
        force: greatest force of an actuator [N].
        speed: greatest speed of an actuator [m/s].
        pair_angle: between the two joints of a pair, seen from the circle's centre [rad].
    """

    name: str
    base_radius: float
    platform_radius: float
    stroke: float
    shortest_leg: float | None = None
    payload: float | None = None
    force: float | None = None
    speed: float | None = None
    pair_angle: float = math.radians(20.0)

    def __post_init__(self) -> None:
        for name in ("base_radius", "platform_radius", "stroke", "shortest_leg", "payload", "force", "speed"):
            value = getattr(self, name)
            top = LARGEST if name not in ("payload", "force") else 1e9
            if value is not None and not 1e-4 <= value <= top:
                raise ParameterError(f"{name} is {value:g}; it must be between 0.0001 and {top:g} (SI units)")
        if not 0.0 < self.pair_angle < math.radians(60.0):
            raise ParameterError(
                f"pair_angle is {math.degrees(self.pair_angle):g} degrees; it must be above 0 and below 60,"
                " where the platform would not resist being turned"
            )
        if not self.name.isprintable() or not self.name.strip():
            raise ParameterError(f"name is {quoted(self.name)}; it must be a word that can be printed")


def machine_text(measures: Measures) -> str:
    """The YAML of the machine, with comments.

    Raises:
        ModelError: the measures make no usable machine, e.g. legs too short to reach.
        ParameterError: the legs cannot reach from circle to circle.
    """
    if measures.force is None:
        text = _text(replace(measures, force=1.0))
        measures = replace(measures, force=_rounded_up(MARGIN * _greatest_force(text)))
    text = _text(measures)
    load_machine(text)
    return text


def _greatest_force(text: str) -> float:
    """Of any leg at home under accelerations of ``SHAKE`` along and against each axis [N]."""
    machine = load_machine(text)
    shaken = SHAKE * np.vstack([np.eye(3), -np.eye(3)])
    rest = np.zeros((6, 3))
    motion = motion_of(machine.home_position, [0.0, 0.0, 0.0], linear_acceleration=shaken, force=rest)
    return float(np.abs(balance(machine, motion).solve()[0]).max())


def _text(m: Measures) -> str:
    base, platform = _circles(m)
    across = float(np.linalg.norm((platform - base)[0]))
    shortest = m.shortest_leg
    if shortest is None:
        shortest = _rounded(max(LEAN * across - 0.5 * m.stroke, DEAD_LENGTH * m.stroke))
    middle = shortest + 0.5 * m.stroke
    if not middle > 1.05 * across:
        raise ParameterError(
            f"legs of {shortest:g} to {shortest + m.stroke:g} m do not lift the platform: {across:.4g} m is"
            " what they span sideways; make shortest_leg longer or the radii more alike"
        )
    speed, force = 2.0 * m.stroke if m.speed is None else m.speed, m.force or 0.0
    numbers = {
        "base_radius": m.base_radius,
        "platform_radius": m.platform_radius,
        "pair_angle": math.degrees(m.pair_angle),
        "stroke": m.stroke,
        "height": _rounded(math.sqrt(middle**2 - across**2)),
        "shortest": shortest,
        "longest": shortest + m.stroke,
        "speed": speed,
        "force": force,
        # A tenth of the force rubs at full speed, a fiftieth of it at any.
        "prismatic": _rounded(0.1 * force / speed),
        "coulomb": _rounded(0.02 * force),
        "home_length": middle,
        "held": _rounded(0.1 * force),
        **_platform_numbers(m),
        **_leg_numbers(middle),
    }
    text = {name: f"{value:.6g}" for name, value in numbers.items()}
    legs = "".join(_leg_text(k, base[k], platform[k]) for k in range(6))
    return _TEXT.format(name=json.dumps(m.name, ensure_ascii=False), legs=legs, **text)


def _circles(m: Measures) -> tuple[Array, Array]:
    """Base and platform points (6, 3), the platform's in its own frame [m]."""
    half, third = 0.5 * m.pair_angle, 2.0 * math.pi / 3.0
    pairs = third * np.array([0, 1, 1, 2, 2, 3])
    sign = np.array([1.0, -1.0] * 3)
    base = pairs + sign * half
    platform = third * (np.array([0, 0, 1, 1, 2, 2]) + 0.5) - sign * half
    return m.base_radius * _ring(base), m.platform_radius * _ring(platform)


def _ring(angles: Array) -> Array:
    return np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])


def _platform_numbers(m: Measures) -> dict[str, float]:
    """Mass, height of the centre of mass and moments of a disc with a cylinder on it."""
    r = m.platform_radius
    load = _rounded(PAYLOAD * r**3) if m.payload is None else m.payload
    plate = _rounded(PLATE * r**3)
    mass, wide, high = load + plate, 0.6 * r, 0.8 * r
    center = load * 0.5 * high / mass
    across = 0.25 * plate * r**2 + load * (wide**2 / 4.0 + high**2 / 12.0)
    across += plate * center**2 + load * (0.5 * high - center) ** 2
    about = 0.5 * plate * r**2 + 0.5 * load * wide**2
    parts = {"payload": load, "plate": plate, "mass": mass, "center": center}
    return {**parts, "across": _rounded(across), "about": _rounded(about)}


def _leg_numbers(middle: float) -> dict[str, float]:
    """Masses, centres of mass and moments of a leg of two slender cylinders."""
    numbers = {}
    for name, density, share, thick in (("lower", LOWER, 0.6, 0.05), ("upper", UPPER, 0.6, 0.025)):
        mass, length, radius = density * middle**3, share * middle, thick * middle
        numbers[f"{name}_mass"] = _rounded(mass)
        numbers[f"{name}_center"] = _rounded(0.5 * length)
        numbers[f"{name}_about"] = _rounded(0.5 * mass * radius**2)
        numbers[f"{name}_across"] = _rounded(mass * (radius**2 / 4.0 + length**2 / 12.0))
    return numbers


def _leg_text(k: int, base: Array, platform: Array) -> str:
    tangent = np.array([-base[1], base[0], 0.0]) / float(np.hypot(base[0], base[1]))
    points = (("base_point", base), ("universal_axis", tangent), ("platform_point", platform))
    lines = [f"    {name}: [{', '.join(f'{x + 0.0:.9g}' for x in point)}]" for name, point in points]
    return "\n".join([f"  - name: leg_{k + 1}", *lines]) + "\n"


def _rounded(value: float) -> float:
    """To three digits."""
    return float(f"{value:.3g}")


def _rounded_up(value: float) -> float:
    """To two digits, not below the value."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / step) * step:.2g}")


_TEXT = """\
# A Stewart platform, written by `robot_dynamics stewart new`. SI units and radians: m, kg, s, N, rad.
# The base frame is fixed, z up, its origin in the middle of the base joints; the platform frame moves, its
# origin in the middle of the platform joints. Parts of a leg are described in leg axes: x along the leg from
# base to platform, y along the moving axis of the universal joint.
# What is marked as a guess follows from the size alone: put in your own numbers.
name: {name}
gravity: [0.0, 0.0, -9.81]

# Divides moments where they are compared with forces: the radius of the platform's joint circle.
characteristic_length: {platform_radius}
# Greatest condition number that is worked with; near a singular pose it grows without bound.
condition_limit: 50.0

# All legs in the middle of their strokes.
home:
  position: [0.0, 0.0, {height}]
  orientation: [0.0, 0.0, 0.0, 1.0]      # quaternion x, y, z, w

# Plate and payload together, platform frame.
platform:
  mass: {mass}      # guess: plate {plate} + payload {payload}
  center_of_mass: [0.0, 0.0, {center}]      # guess
  inertia:      # about the centre of mass; guess: a disc with a cylinder on it
    - [{across}, 0.0, 0.0]
    - [0.0, {across}, 0.0]
    - [0.0, 0.0, {about}]

# What all legs have in common; a leg below may have any of it for itself, and part of `limits` or `friction`.
leg_defaults:
  base_joint: universal      # or spherical
  # Housing, motor and screw, from the base joint on.
  lower:
    mass: {lower_mass}      # guess
    center_of_mass: [{lower_center}, 0.0, 0.0]      # guess
    inertia:      # guess
      - [{lower_about}, 0.0, 0.0]
      - [0.0, {lower_across}, 0.0]
      - [0.0, 0.0, {lower_across}]
  # Rod and rod end, from the platform joint back.
  upper:
    mass: {upper_mass}      # guess
    center_of_mass: [-{upper_center}, 0.0, 0.0]      # guess
    inertia:      # guess
      - [{upper_about}, 0.0, 0.0]
      - [0.0, {upper_across}, 0.0]
      - [0.0, 0.0, {upper_across}]
  friction:
    universal: 0.0      # viscous, of the base joint [N*m*s/rad]
    prismatic: {prismatic}      # viscous, of the actuator [N*s/m]; guess
    spherical: 0.0      # viscous, of the platform joint [N*m*s/rad]
    coulomb: {coulomb}      # dry, of the actuator [N]; guess
  # What turns in the actuator, and a counterbalance beside it; both may be left out.
  # drive:
  #   lead: 0.01      # of the screw, per turn [m]
  #   screw_inertia: 1e-4      # [kg*m^2]
  #   rotor_inertia: 1e-4      # of the motor [kg*m^2]
  #   gear_ratio: 1.0      # turns of the motor per turn of the screw
  # spring:
  #   length: {home_length}      # of the leg, at which it
  #   force: {held}      # pushes so much,
  #   stiffness: 0.0      # and less by this as the leg grows [N/m]
  limits:
    length: [{shortest}, {longest}]      # stroke {stroke}
    speed: {speed}      # of the length
    force: {force}      # along the leg
    base_angle: 0.6      # of the leg from its direction at home, seen from the base
    platform_angle: 0.7      # the same, seen from the platform

# Joint circles of radius {base_radius} and {platform_radius}, {pair_angle} degrees between the joints of a
# pair. The fixed axis of each universal joint is tangential to the base circle.
legs:
{legs}"""
