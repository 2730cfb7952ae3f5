"""Values of the generated package's headers: names, limits, masses, parameters and their bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from robot_dynamics.control.arm.contact import DAMPING, FLOOR_SHARE, REACTIONS, UNLIMITED_SPEED
from robot_dynamics.control.arm.guiding import AXES as GUIDE_AXES
from robot_dynamics.control.arm.guiding import UNKNOWN_SPEED
from robot_dynamics.control.arm.measured import GAP, NOTABLE, measured_bounds
from robot_dynamics.control.arm.parameters import (
    REACHED,
    UNLIMITED,
    ArmParameters,
    arm_stops,
    estimate_arrays,
    position_limits,
)
from robot_dynamics.control.arm.task_impedance import AXES, PROJECTORS
from robot_dynamics.control.arm.trajectory import turns
from robot_dynamics.control.core.library import MODES, SAFE_OUTPUTS
from robot_dynamics.control.parameters import DAMPED_SHARE
from robot_dynamics.control.supervision import (
    LOW_GAINS,
    OSCILLATION_SHARE,
    SPEED_SHARE,
    START_DISPLACEMENT_SHARE,
    START_SPEED_SHARE,
)
from robot_dynamics.controllers.parameters import descriptions, payload_names
from robot_dynamics.controllers.sources import TASK, jacobian_names
from robot_dynamics.dynamics.constant_inputs import measured_vector
from robot_dynamics.dynamics.friction import BOUNDED, PARAMETERS, SAME_AS, DriveFriction, FrictionParameters
from robot_dynamics.model.chain import ChainJoint, JointKind, KinematicChain
from robot_dynamics.model.driver_profile import DriverProfile
from robot_dynamics.model.urdf.parser import parse_urdf
from robot_dynamics.parameters import Description, describe
from robot_dynamics.spatial import Array

ARM_SAFE_OUTPUTS = next(about.choices for about in describe(ArmParameters) if about.name == "safe_output")
_CPP = {bool: "bool", int: "int64_t", float: "double", str: "std::string"}


def model_values(
    chain: KinematicChain, gravity: Array, urdf: bytes, driver: DriverProfile | None, world: Array
) -> dict[str, str]:
    """Values of the placeholders in the headers' templates; a robot may carry its weight in ``world``."""
    joints, tips = [chain.driving_joint(j) for j in range(chain.dof)], [tip.link for tip in chain.tips]
    bodies = {name: link.body for name, link in parse_urdf(urdf).links.items()}
    masses = {name: body.mass for name, body in bodies.items() if body is not None and body.mass > 0.0}
    return {
        "JOINTS": str(chain.dof),
        "JOINT_NAMES": ", ".join(cpp_text(name) for name in chain.joint_names),
        "EFFORT_LIMITS": _numbers(_effort_limits(chain, driver)),
        "VELOCITY_LIMITS": _numbers([joint.limits.velocity for joint in joints]),
        "TURNS": _numbers(turns(chain).tolist()),
        "POSITION_LIMITS": ", ".join(_signed(value) for value in position_limits(chain).ravel().tolist()),
        "SETTLED": _numbers(estimate_arrays(chain, ArmParameters())["settled"].tolist()),
        "FOLLOWING": _numbers(arm_stops(chain, ArmParameters()).following.tolist()),
        "REACHED": _number(REACHED),
        "UNLIMITED": _number(UNLIMITED),
        "DAMPED_SHARE": _number(DAMPED_SHARE),
        "LOWER_LIMITS": _numbers([joint.limits.lower for joint in joints]),
        "UPPER_LIMITS": _numbers([joint.limits.upper for joint in joints]),
        **_measured_values(chain),
        "TIP_COUNT": str(len(tips)),
        "ROOT": cpp_text(chain.root),
        "TIPS": ", ".join(map(cpp_text, tips)),
        "JACOBIANS": "\n".join(
            f"int @PACKAGE@_{name}(const double * const * in, double * out);"
            for name in jacobian_names(chain)
        ),
        "JACOBIAN_LIST": ", ".join(f"@PACKAGE@_{name}" for name in jacobian_names(chain)),
        **_task_values(len(tips)),
        "GUIDE_AXES": ", ".join(map(cpp_text, GUIDE_AXES)),
        "UNKNOWN_SPEED": _number(UNKNOWN_SPEED),
        "FLOOR_SHARE": _number(FLOOR_SHARE),
        "UNLIMITED_SPEED": _number(UNLIMITED_SPEED),
        "WRENCH_DAMPING": _number(DAMPING),
        "REACTIONS": ", ".join(map(cpp_text, REACTIONS)),
        "SLIDES": ", ".join(str(int(joint.kind is JointKind.PRISMATIC)) for joint in joints),
        **_friction_values(joints),
        **_friction_left(chain, driver),
        **_measured_gravity(driver, world),
        **{f"LOW_GAINS_{unit.upper()}": _number(value) for unit, value in LOW_GAINS.items()},
        "OSCILLATION_SHARE": _number(OSCILLATION_SHARE),
        "TURN": _number(2.0 * np.pi),
        "SPEED_SHARE": _number(SPEED_SHARE),
        "START_SPEED_SHARE": _number(START_SPEED_SHARE),
        "START_DISPLACEMENT_SHARE": _number(START_DISPLACEMENT_SHARE),
        "PAYLOADS": "\n".join(
            f"  put(payload_about_tip(p.{load}mass, p.{load}center, p.{load}inertia), {k}, s.payload);"
            for k, load in enumerate([f"payload.{name}." for name in payload_names(tips)] or ["payload_"])
        ),
        "MASS_COUNT": str(len(masses)),
        "MASSES": ",\n    ".join(f"{{{cpp_text(name)}, {_number(mass)}}}" for name, mass in masses.items()),
        "MODES": ", ".join(map(cpp_text, MODES)),
        "SAFE_OUTPUTS": ", ".join(cpp_text(name) for name in SAFE_OUTPUTS if name in ARM_SAFE_OUTPUTS),
        **_parameter_values(descriptions(gravity, driver, tips, chain.measured_joints)),
    }


def _measured_values(chain: KinematicChain) -> dict[str, str]:
    """Names, rest and bounds of the measured joints, and C++ of the topic of their reference."""
    names = chain.measured_joints
    return {
        "MEASURED_COUNT": str(len(names)),
        "MEASURED_NAMES": ", ".join(map(cpp_text, names)),
        "MEASURED_REST": _numbers(measured_vector(chain).tolist()),
        "MEASURED_BOUNDS": ", ".join(map(_signed, measured_bounds(chain).tolist())),
        "MEASURED_TOPIC": "params_.measured_reference" if names else "std::string()",
        "MEASURED_GAP": _number(GAP),
        "MEASURED_NOTABLE": _number(NOTABLE),
    }


def _task_values(tips: int) -> dict[str, str]:
    """Programs and choices of the impedance of a frame, which a robot with several tips has not."""
    functions = {name: f"@PACKAGE@_{name}" if tips == 1 else "nullptr" for name in TASK}
    return {
        "TASK_AXES": ", ".join(map(cpp_text, AXES)),
        "PROJECTORS": ", ".join(map(cpp_text, PROJECTORS)),
        "TASK_PROGRAMS": "\n".join(
            f"int {function}(const double * const * in, double * out);"
            for function in functions.values()
            if tips == 1
        ),
        **{name.upper(): function for name, function in functions.items()},
    }


def _effort_limits(chain: KinematicChain, driver: DriverProfile | None) -> list[float]:
    """Limits of the description, or of the driver where it takes less."""
    described = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    taken = np.inf if driver is None else driver.torque_limits(chain.joint_names)
    return list(np.minimum(described, taken).tolist())


def _friction_values(joints: Sequence[ChainJoint]) -> dict[str, str]:
    """C++ of the parameters of friction: constants of the description, members and values for the joints."""
    described, values, members = [], [], []
    for about in describe(FrictionParameters):
        name, constant = about.name, f"k{about.name.title().replace('_', '')}"
        if about.default:
            otherwise = f"all({_number(about.default[0])})"
        elif name in SAME_AS:
            otherwise = SAME_AS[name]
        else:
            otherwise = constant
            numbers = _numbers([getattr(joint, name) for joint in joints])
            described.append(f"inline constexpr Vector {constant}{{{numbers}}};  // [{about.unit}]")
        values.append(f'  const Vector {name} = per_joint(p.{name}, "{name}", {otherwise});')
        members.append(name)
    return {
        "FRICTION_DESCRIBED": "\n".join(described),
        "FRICTION_VALUES": "\n".join(values),
        "FRICTION_POINTERS": ", ".join(f"&{name}" for name in members),
        "FRICTION_BOUNDED": BOUNDED,
    }


def _friction_left(chain: KinematicChain, driver: DriverProfile | None) -> dict[str, str]:
    """C++ of the shares that the driver leaves of each parameter of friction, joint by joint."""
    whole = DriveFriction(*np.ones((len(PARAMETERS), chain.dof)))
    left = whole if driver is None else whole.left(*driver.friction_left(chain.joint_names))
    return {"FRICTION_COUNT": str(len(PARAMETERS)), "FRICTION_LEFT": _numbers(left.matrix.ravel().tolist())}


def _measured_gravity(driver: DriverProfile | None, world: Array) -> dict[str, str]:
    """C++ of the gravity in measured efforts, where the driver's profile has another one than in commands."""
    removed = driver is not None and driver.state.gravity == "removed"
    included = driver is not None and driver.state.gravity == "included" and driver.carries_weight
    values = [0.0] * 3 if removed else world.tolist()
    return {"GRAVITY_MEASURED": str(removed or included).lower(), "MEASURED_GRAVITY": _numbers(values)}


def _parameter_values(parameters: Sequence[Description]) -> dict[str, str]:
    bounds = [about for about in parameters if about.minimum is not None or about.maximum is not None]
    return {
        "DEFAULTS": "\n".join(_members({about.name: about for about in parameters})),
        "VISITS": "\n".join(f'  visit("{about.name}", parameters.{about.name});' for about in parameters),
        "BOUND_COUNT": str(len(bounds)),
        "BOUNDS": ",\n    ".join(_bounds(about) for about in bounds),
    }


def _bounds(about: Description) -> str:
    lowest = "-kNone" if about.minimum is None else _number(about.minimum)
    highest = "kNone" if about.maximum is None else _number(about.maximum)
    return f'{{"{about.name}", {lowest}, {highest}, {cpp_text(about.unit)}}}'


def _members(parameters: Mapping[str, Description], indent: str = "  ") -> Iterator[str]:
    """Members of the structure of parameters by their names; behind a point they are in inner structures."""
    inner: dict[str, dict[str, Description]] = {}
    for name, about in parameters.items():
        first, point, rest = name.partition(".")
        if point:
            inner.setdefault(first, {})[rest] = about
        else:
            yield f"{indent}{_member(about, name)}"
    for name, members in inner.items():
        yield f"{indent}struct"
        yield f"{indent}{{"
        yield from _members(members, f"{indent}  ")
        yield f"{indent}}} {name};"


def _member(about: Description, name: str) -> str:
    """A member of the structure of parameters, with its default."""
    of = _CPP[about.type]
    values = [_value(value) for value in (about.default if about.array else (about.default,))]
    return f"{f'std::vector<{of}>' if about.array else of} {name}{{{', '.join(values)}}};"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return cpp_text(value) if isinstance(value, str) else _number(float(str(value)))


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return repr(float(value)) if np.isfinite(value) else "-kNone" if value < 0.0 else "kNone"


def _signed(value: float) -> str:
    return "-kNone" if value == -np.inf else _number(value)


def cpp_text(value: str) -> str:
    """A C++ string literal; what is not printable ASCII in octal, which ends after three digits."""
    plain = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in value.encode())
    return f'"{plain}"'
