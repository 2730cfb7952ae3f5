"""The commented file of a new machine: a symmetric hexapod from a few measures.

Three pairs of joints lie on a circle on the base, three on one on the platform, turned by 60 degrees.
What the measures leave open is guessed by size, so that the file works at once, and marked as a guess.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.errors import ParameterError, SingularityError, StateError, StewartModelWarning, quoted
from robot_dynamics.inputs.documents import parse_yaml
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.checks import pose_quantities
from robot_dynamics.stewart.kinematics import forward_kinematics, leg_geometry
from robot_dynamics.stewart.loader import load_machine
from robot_dynamics.stewart.machine import GUESSED, Machine
from robot_dynamics.stewart.motion import motion_of
from robot_dynamics.stewart.newton_euler import balance

LEAN = 1.5
"""Length of a leg in its middle over its horizontal part: it stands at acos(1/1.5) = 48 degrees."""
DEAD_LENGTH = 1.5
"""Least ratio of a leg's shortest length to its stroke: what does not slide needs room too."""
SHAKE = 5.0
"""Acceleration that the guessed force limit is made for [m/s²]."""
MARGIN = 2.0
# Guesses by size: masses grow with the cube of a length.
PAYLOAD, PLATE, LOWER, UPPER = 800.0, 400.0, 15.0, 4.0
LARGEST, LARGEST_FORCE = 1e3, 1e9
ANY_ANGLE = (math.pi, math.pi)
GUESS = "      # guess"
_SIZES = ("base_radius", "platform_radius", "stroke", "shortest_leg", "speed")
_LOADS = ("payload", "mass", "force", "continuous_force", "lower_mass", "upper_mass")


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
        pair_angle: between the two joints of a pair on the base, seen from the circle's centre [rad].
        platform_pair_angle: the same on the platform [rad]; None: that of the base.
        mass: of the platform with its payload, in place of ``payload`` [kg].
        com: (3,) its centre of mass, platform frame [m].
        inertia: (6,) about the centre of mass: xx, yy, zz, xy, xz, yz [kg·m²].
        lower_mass, upper_mass: of the two parts of a leg [kg].
        continuous_force: of an actuator [N].
        speed_force: points (speed [m/s], force [N]) of the actuator's curve.
        drive: lead [m per turn], screw inertia, rotor inertia [kg·m²] and gear ratio.
        base_angle, platform_angle: of the joints from the leg's direction at home [rad].
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
    platform_pair_angle: float | None = None
    mass: float | None = None
    com: tuple[float, ...] | None = None
    inertia: tuple[float, ...] | None = None
    lower_mass: float | None = None
    upper_mass: float | None = None
    continuous_force: float | None = None
    speed_force: tuple[tuple[float, float], ...] = ()
    drive: tuple[float, ...] | None = None
    base_angle: float | None = None
    platform_angle: float | None = None

    def __post_init__(self) -> None:
        for name in (*_SIZES, *_LOADS):
            value = getattr(self, name)
            top = LARGEST if name in _SIZES else 1e9
            if value is not None and not 1e-4 <= value <= top:
                raise ParameterError(f"{name} is {value:g}; it must be between 0.0001 and {top:g} (SI units)")
        pairs = {"pair_angle": self.pair_angle, "platform_pair_angle": _platform_pair_angle(self)}
        for name, angle in pairs.items():
            if not 0.0 < angle < math.radians(120.0):
                raise ParameterError(
                    f"{name} is {math.degrees(angle):g} degrees; it must be above 0, below 120"
                )
        # At 120 degrees together the rings are alike: such a platform does not resist being turned.
        if not sum(pairs.values()) < math.radians(120.0):
            raise ParameterError(
                f"pair_angle is {math.degrees(self.pair_angle):g} degrees and that of the platform"
                f" {math.degrees(pairs['platform_pair_angle']):g}; together they must be below 120, where the"
                " platform would not resist being turned"
            )
        for name in ("base_angle", "platform_angle"):
            angle = getattr(self, name)
            if angle is not None and not 0.0 < angle <= math.pi:
                raise ParameterError(
                    f"{name} is {math.degrees(angle):g} degrees; it must be above 0, up to 180"
                )
        if self.mass is not None and self.payload is not None:
            raise ParameterError("mass and payload are both given; mass is plate and payload together")
        if self.inertia is not None and self.mass is None:
            raise ParameterError("inertia is given without mass")
        for name, size in (("com", 3), ("inertia", 6), ("drive", 4)):
            value = getattr(self, name)
            if value is not None and not (len(value) == size and np.isfinite(value).all()):
                raise ParameterError(f"{name} is {quoted(value)}; it must be {size} finite numbers")
        if not self.name.isprintable() or not self.name.strip():
            raise ParameterError(f"name is {quoted(self.name)}; it must be a word that can be printed")


def machine_text(measures: Measures) -> str:
    """The YAML of the machine, with comments.

    Raises:
        ModelError: the measures make no usable machine, e.g. legs too short to reach.
        ParameterError: the legs cannot reach from circle to circle.
    """
    guessed = measures.force is None and not measures.speed_force
    if measures.force is None:
        force = max((force for _, force in measures.speed_force), default=None)
        if force is None:
            text = _text(replace(measures, force=1.0, continuous_force=None), ANY_ANGLE, guessed)
            force = max(_rounded_up(MARGIN * _greatest_force(text)), measures.continuous_force or 0.0)
        measures = replace(measures, force=force)
    angles = ANY_ANGLE
    if measures.base_angle is None or measures.platform_angle is None:
        angles = _angles_of_all_strokes(load_machine(_text(measures, ANY_ANGLE, guessed)))
    text = _text(measures, angles, guessed)
    load_machine(text)
    return text


def _angles_of_all_strokes(machine: Machine) -> tuple[float, float]:
    """Angles of base and platform joints that every combination of shortest and longest legs needs [rad]."""
    greatest = [0.0, 0.0]
    ends = [(leg.limits.shortest, leg.limits.longest) for leg in machine.legs]
    for lengths in itertools.product(*ends):
        try:
            pose = forward_kinematics(machine, lengths, machine.home_position, machine.home_rotation)
        except (SingularityError, StateError):
            continue
        if not pose.converged:
            continue
        legs = leg_geometry(machine, pose.position, pose.rotation)
        for joint, (_, _, values, _, _) in enumerate([*pose_quantities(machine, legs, pose.rotation)][2:4]):
            greatest[joint] = max(greatest[joint], float(values.max()))
    base, platform = (min(math.ceil(20.0 * 1.02 * angle) / 20.0, math.pi) for angle in greatest)
    return base, platform


def _greatest_force(text: str) -> float:
    """Of any leg at home under accelerations of ``SHAKE`` along and against each axis [N]."""
    written = parse_yaml(text, "the YAML text")
    defaults = written["leg_defaults"]
    limits = {**defaults["limits"], "force": LARGEST_FORCE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StewartModelWarning)  # of these legs, which carry anything
        machine = load_machine({**written, "leg_defaults": {**defaults, "limits": limits}})
    shaken = SHAKE * np.vstack([np.eye(3), -np.eye(3)])
    rest = np.zeros((6, 3))
    motion = motion_of(machine.home_position, [0.0, 0.0, 0.0], linear_acceleration=shaken, force=rest)
    return float(np.abs(balance(machine, motion).solve()[0]).max())


def _text(m: Measures, angles: tuple[float, float], force_is_guessed: bool) -> str:
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
    fastest = m.speed_force[-1][0] if m.speed_force else 2.0 * m.stroke
    speed, force = fastest if m.speed is None else m.speed, m.force or 0.0
    lead, screw, rotor, ratio = m.drive or (0.01, 1e-4, 1e-4, 1.0)
    numbers = {
        "base_radius": m.base_radius,
        "platform_radius": m.platform_radius,
        "pair_angle": math.degrees(m.pair_angle),
        "platform_pair_angle": math.degrees(_platform_pair_angle(m)),
        "base_angle": angles[0] if m.base_angle is None else m.base_angle,
        "platform_angle": angles[1] if m.platform_angle is None else m.platform_angle,
        "lead": lead,
        "screw_inertia": screw,
        "rotor_inertia": rotor,
        "gear_ratio": ratio,
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
        **_leg_numbers(m, middle),
    }
    text = {name: f"{value:.6g}" for name, value in numbers.items()}
    guesses = {
        "com_is": m.com is None,
        "inertia_is": m.inertia is None,
        "lower_is": m.lower_mass is None,
        "upper_is": m.upper_mass is None,
        "speed_is": m.speed is None and not m.speed_force,
        "force_is": force_is_guessed,
        "base_angle_is": m.base_angle is None,
        "platform_angle_is": m.platform_angle is None,
    }
    text |= {name: GUESS if guessed else "" for name, guessed in guesses.items()}
    text["mass_is"] = (
        f"      # guess: plate {text['plate']} + payload {text['payload']}" if m.mass is None else ""
    )
    text["inertia_is"] += ": a disc with a cylinder on it" if m.inertia is None else ""
    for name in ("base_angle_is", "platform_angle_is"):
        text[name] += ": all strokes need less" if text[name] else ""
    rating = [] if m.continuous_force is None else [f"    continuous_force: {m.continuous_force:.6g}"]
    if m.speed_force:
        points = ", ".join(f"[{speed:.6g}, {force:.6g}]" for speed, force in m.speed_force)
        rating.append(f"    speed_force: [{points}]      # greatest force over speed")
    masses_are = any(given is None for given in (m.mass, m.lower_mass, m.upper_mass))
    text["guessed"] = ", ".join(GUESSED if masses_are else GUESSED[:1])
    text["rating"] = "".join(f"{line}\n" for line in rating)
    off = "" if m.drive else "# "
    legs = "".join(_leg_text(k, base[k], platform[k]) for k in range(6))
    return _TEXT.format(name=json.dumps(m.name, ensure_ascii=False), legs=legs, off=off, **text)


def _platform_pair_angle(m: Measures) -> float:
    return m.pair_angle if m.platform_pair_angle is None else m.platform_pair_angle


def _circles(m: Measures) -> tuple[Array, Array]:
    """Base and platform points (6, 3), the platform's in its own frame [m]."""
    half, third = 0.5 * m.pair_angle, 2.0 * math.pi / 3.0
    platform_half = 0.5 * _platform_pair_angle(m)
    pairs = third * np.array([0, 1, 1, 2, 2, 3])
    sign = np.array([1.0, -1.0] * 3)
    base = pairs + sign * half
    platform = third * (np.array([0, 0, 1, 1, 2, 2]) + 0.5) - sign * platform_half
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
    parts = {"payload": load, "plate": plate, "mass": mass if m.mass is None else m.mass}
    # A given mass has the shape of the guessed one.
    scale = 1.0 if m.mass is None else m.mass / mass
    x, y, z = m.com or (0.0, 0.0, center)
    tensor = m.inertia or (
        _rounded(scale * across),
        _rounded(scale * across),
        _rounded(scale * about),
        0,
        0,
        0,
    )
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    return {**parts, "x": x, "y": y, "z": z, **dict(zip(names, tensor, strict=True))}


def _leg_numbers(m: Measures, middle: float) -> dict[str, float]:
    """Masses, centres of mass and moments of a leg of two slender cylinders."""
    numbers = {}
    for name, density, share, thick, given in (
        ("lower", LOWER, 0.6, 0.05, m.lower_mass),
        ("upper", UPPER, 0.6, 0.025, m.upper_mass),
    ):
        mass = density * middle**3 if given is None else given
        length, radius = share * middle, thick * middle
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
# Parts that nobody has measured: friction, masses. A controller does not compensate friction that is guessed:
# too much of it would drive the motion. Remove `friction` here when its numbers are measured.
guessed: [{guessed}]
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
  mass: {mass}{mass_is}
  center_of_mass: [{x}, {y}, {z}]{com_is}
  inertia:      # about the centre of mass
    - [{ixx}, {ixy}, {ixz}]{inertia_is}
    - [{ixy}, {iyy}, {iyz}]
    - [{ixz}, {iyz}, {izz}]

# What all legs have in common; a leg below may have any of it for itself, and part of `limits` or `friction`.
leg_defaults:
  base_joint: universal      # or spherical
  # Housing, motor and screw, from the base joint on.
  lower:
    mass: {lower_mass}{lower_is}
    center_of_mass: [{lower_center}, 0.0, 0.0]      # guess
    inertia:      # guess
      - [{lower_about}, 0.0, 0.0]
      - [0.0, {lower_across}, 0.0]
      - [0.0, 0.0, {lower_across}]
  # Rod and rod end, from the platform joint back.
  upper:
    mass: {upper_mass}{upper_is}
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
  # Rotating parts of the actuator, and a counterbalance beside it; both may be left out.
  {off}drive:
  {off}  lead: {lead}      # of the screw, per turn [m]
  {off}  screw_inertia: {screw_inertia}      # [kg*m^2]
  {off}  rotor_inertia: {rotor_inertia}      # of the motor [kg*m^2]
  {off}  gear_ratio: {gear_ratio}      # turns of the motor per turn of the screw
  # spring:
  #   length: {home_length}      # of the leg, at which it
  #   force: {held}      # pushes so much,
  #   stiffness: 0.0      # and less by this as the leg grows [N/m]
  limits:
    length: [{shortest}, {longest}]      # stroke {stroke}
    speed: {speed}{speed_is}
    force: {force}{force_is}
{rating}    # Angles of the leg from its direction at home, seen from the base and from the platform.
    base_angle: {base_angle}{base_angle_is}
    platform_angle: {platform_angle}{platform_angle_is}

# Joint circles of radius {base_radius} and {platform_radius}, {pair_angle} and {platform_pair_angle} degrees
# between the joints of a pair. The fixed axis of each universal joint is tangential to the base circle.
legs:
{legs}"""
