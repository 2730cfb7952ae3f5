"""The C++ header that tells the generated package all of its arm that are not programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.control.arm.actuators import STICTION_VELOCITY
from robot_dynamics.controllers.parameters import descriptions
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.urdf.parser import parse_urdf
from robot_dynamics.parameters import Description
from robot_dynamics.spatial import Array

_CPP = {bool: "bool", int: "int64_t", float: "double", str: "std::string"}


def model_values(chain: KinematicChain, gravity: Array, urdf: bytes) -> dict[str, str]:
    """What the template of ``model.hpp`` leaves open."""
    joints = [chain.driving_joint(j) for j in range(chain.dof)]
    bodies = {name: link.body for name, link in parse_urdf(urdf).links.items()}
    masses = {name: body.mass for name, body in bodies.items() if body is not None and body.mass > 0.0}
    return {
        "JOINTS": str(chain.dof),
        "JOINT_NAMES": ", ".join(_text(name) for name in chain.joint_names),
        "EFFORT_LIMITS": _numbers([joint.limits.effort for joint in joints]),
        "VELOCITY_LIMITS": _numbers([joint.limits.velocity for joint in joints]),
        "DAMPING": _numbers([joint.damping for joint in joints]),
        "FRICTION": _numbers([joint.friction for joint in joints]),
        "STICTION_VELOCITY": _number(STICTION_VELOCITY),
        "MASS_COUNT": str(len(masses)),
        "MASSES": ",\n    ".join(f"{{{_text(name)}, {_number(mass)}}}" for name, mass in masses.items()),
        "DEFAULTS": "\n".join(_member(about) for about in descriptions(gravity)),
    }


def _member(about: Description) -> str:
    """A member of the structure of parameters, with its default."""
    of = _CPP[about.type]
    values = [_value(value) for value in (about.default if about.array else (about.default,))]
    return f"  {f'std::vector<{of}>' if about.array else of} {about.name}{{{', '.join(values)}}};"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else _number(float(str(value)))


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return repr(float(value)) if np.isfinite(value) else "kNone"


def _text(value: str) -> str:
    """A C++ string literal; what is not printable ASCII in octal, which ends after three digits."""
    plain = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in value.encode())
    return f'"{plain}"'
