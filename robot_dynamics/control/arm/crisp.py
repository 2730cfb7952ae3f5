"""Parameters of CRISP's CartesianController, in terms of the mode cartesian_impedance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.control.arm import task_impedance
from robot_dynamics.control.arm.impedance import LONGEST_FILTER
from robot_dynamics.errors import ParameterError, quoted

_AXES = ("x", "y", "z")
_DIRECTIONS = (*_AXES, "rx", "ry", "rz")
_FREE = 1e6
"""Error clip and bound of a posture that bound nothing."""
_LOGGED = (
    "enabled",
    "robot_state",
    "control_values",
    "limits",
    "controller_parameters",
    "computed_torques",
    "dynamic_params",
    "timing",
)
_PANDA = (
    (0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489),
    (5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336),
    (0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526),
)
"""Friction that CRISP has where a file gives none: that of a Panda."""
DEFAULTS: dict[str, Any] = {
    "joints": (),
    "end_effector_frame": "",
    "base_frame": "",
    "use_operational_space": False,
    "operational_space_regularization": 0.01,
    **{f"task.k_pos_{axis}": 500.0 for axis in _AXES},
    **{f"task.k_rot_{axis}": 30.0 for axis in _AXES},
    **{f"task.d_{kind}_{axis}": -1.0 for kind in ("pos", "rot") for axis in _AXES},
    **{f"task.error_clip.{name}": 0.1 if name in _AXES else 0.5 for name in _DIRECTIONS},
    "nullspace.stiffness": 1.0,
    "nullspace.damping": -1.0,
    "nullspace.regularization": 1e-6,
    "nullspace.projector_type": "kinematic",
    "nullspace.max_tau": 5.0,
    "noise.add_random_noise": False,
    "noise.amplitude": 0.0,
    "use_friction": False,
    "use_coriolis_compensation": False,
    "use_gravity_compensation": False,
    "use_local_jacobian": False,
    "filter.target_pose": 0.1,
    "filter.q": 0.5,
    "filter.dq": 0.5,
    "filter.q_ref": 0.5,
    "filter.output_torque": 0.5,
    "limit_error": True,
    "limit_torques": True,
    "joint_limit_repulsion.enabled": True,
    "joint_limit_repulsion.safe_range": 0.1,
    "joint_limit_repulsion.max_torque": 5.0,
    "max_delta_tau": 0.5,
    "stop_commands": False,
    **{f"friction.fp{k}": values for k, values in enumerate(_PANDA, 1)},
    "variable_max_stiffness.translational": 900.0,
    "variable_max_stiffness.rotational": 60.0,
    "variable_stiffness.enabled": False,
    "variable_stiffness.topic": "target_stiffness",
    "enable_introspection": False,
    **{f"log.{part}": False for part in _LOGGED},
}
"""Parameters and their defaults at version 2.3.1."""
_GROUPS = (
    "task.",
    "nullspace.",
    "noise.",
    "filter.",
    "log.",
    "friction.fp",
    "joint_limit_repulsion.",
    "variable_max_stiffness.",
    "variable_stiffness.",
)
_PLAIN = frozenset(name for name in DEFAULTS if "." not in name)


@dataclass(frozen=True)
class Translated:
    """A file of CRISP in terms of this package.

    Attributes:
        values: of this package's parameters, by name.
        joints: to which lists in ``values`` belong, in their order.
        lines: of what counts otherwise than in CRISP.
    """

    values: dict[str, Any]
    joints: tuple[str, ...]
    lines: tuple[str, ...]


def is_crisp(names: Sequence[str]) -> bool:
    """Return whether parameters are those of CRISP's controller."""
    return any(name.startswith("task.") or name == "use_operational_space" for name in names)


def is_its_own(name: str) -> bool:
    """Return whether a parameter may be one of CRISP's controller only."""
    return name == "type" or name in _PLAIN or name.startswith(_GROUPS)


def translate(given: Mapping[str, Any], rate: float = 0.0) -> Translated:
    """Parameters of CRISP's controller in terms of this package; what is not given has CRISP's default.

    Args:
        given: values by name, ``nullspace.weights.<joint>.value`` among them.
        rate: of its controller manager [Hz]; 0: not known, 1000.

    Raises:
        ParameterError: a parameter that cannot be honoured, by name, or a value of a wrong kind.
    """
    joints = tuple(given.get("joints", ()))
    weights = {f"nullspace.weights.{joint}.value": 1.0 for joint in joints}
    for name in given:
        if name == "type":
            continue
        if name.startswith("nullspace.weights.") and name not in weights:
            raise ParameterError(
                f"parameter '{name}' of CRISP is for none of its joints: {', '.join(joints) or 'none'}"
            )
        if name not in DEFAULTS and name not in weights:
            raise ParameterError(
                f"parameter '{name}' of CRISP's controller has no meaning here: remove it from the file"
            )
    value = {**DEFAULTS, **weights, **given}
    for name, default in {**DEFAULTS, **weights}.items():
        value[name] = _checked(name, value[name], default)
    _refuse(value)
    lines: list[str] = []
    translated = _springs(value, lines.append) | _posture(value, joints, lines.append)
    translated |= _compensation(value, joints, lines.append)
    translated |= _limits(value, rate, lines.append) | _filters(value, rate, lines.append)
    _report(value, lines.append)
    return Translated({"mode": task_impedance.MODE, **translated}, joints, tuple(lines))


def _checked(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool):
        kind, fits = "true or false", isinstance(value, bool)
    elif isinstance(default, float):
        kind = "a finite number"
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    elif isinstance(default, str):
        kind, fits = "a text", isinstance(value, str)
    else:
        kind, fits = "a list", isinstance(value, (list, tuple)) or hasattr(value, "tolist")
        value = tuple(value) if fits else value
    if not fits:
        raise ParameterError(f"parameter '{name}' of CRISP is {quoted(str(value))}; it must be {kind}")
    return value


def _refuse(value: Mapping[str, Any]) -> None:
    """ParameterError for what would change the efforts in a way that nothing here does."""
    if value["noise.add_random_noise"]:
        raise ParameterError("parameter 'noise.add_random_noise' is true: no noise is added to efforts here")
    if value["stop_commands"]:
        raise ParameterError("parameter 'stop_commands' is true: do not activate the controller instead")
    if value["variable_stiffness.enabled"]:
        raise ParameterError(
            "parameter 'variable_stiffness.enabled' is true: no topic sets the stiffness here; set the live"
            " parameter cartesian_stiffness"
        )
    for name in ("filter.target_pose", "filter.q_ref", *_KEPT):
        if not 0.0 <= value[name] < 1.0:
            raise ParameterError(
                f"parameter '{name}' is {value[name]:g}, the share of the last value that each cycle keeps:"
                " it must be at least 0, and below 1"
            )
    if not 0.0 < value[_TAKEN] <= 1.0:
        raise ParameterError(
            f"parameter '{_TAKEN}' is {value[_TAKEN]:g}, the share of the new torque that each cycle takes:"
            " it must be above 0, and at most 1"
        )


_KEPT = {"filter.q": "position_filter", "filter.dq": "velocity_filter"}
_TAKEN = "filter.output_torque"


def _filters(value: Mapping[str, Any], rate: float, line: Callable[[str], None]) -> dict[str, Any]:
    """Time constants of filters that keep a share of the last value in each cycle."""
    rate = rate or _RATE
    found = {name: (_KEPT[name], value[name]) for name in _KEPT}
    found[_TAKEN] = "effort_filter", 1.0 - value[_TAKEN]
    constants = {}
    for name, (own, kept) in found.items():
        constant = float(f"{-1.0 / (rate * math.log(kept)):.4g}") if kept > 0.0 else 0.0
        if constant > LONGEST_FILTER:
            raise ParameterError(
                f"parameter '{name}' is {value[name]:g}, a time constant of {constant:.3g} s at {rate:g} Hz;"
                f" at most {LONGEST_FILTER:g} s is stable with springs"
            )
        if constant > 0.0:
            line(f"{name}: {value[name]:g} per cycle is {own}: {constant:g} s at {rate:g} Hz")
        constants[own] = constant
    return constants


def _springs(value: Mapping[str, Any], line: Callable[[str], None]) -> dict[str, Any]:
    kinds = [(kind, axis) for kind in ("pos", "rot") for axis in _AXES]
    stiffness, damping = ([float(value[f"task.{of}_{k}_{a}"]) for k, a in kinds] for of in ("k", "d"))
    clip = [float(value[f"task.error_clip.{name}"]) for name in _DIRECTIONS]
    decoupled = value["use_operational_space"]
    most = [float(value[f"variable_max_stiffness.{of}"]) for of in ("translational", "rotational")]
    clamped = [min(k, most[i // 3]) for i, k in enumerate(stiffness)]
    if clamped != stiffness:
        line(f"variable_max_stiffness: task.k_* are clamped to {most[0]:g} and {most[1]:g}, as in CRISP")
    stiffness = clamped
    if any(d <= 0.0 for d in damping):
        damping = [-1.0 if d <= 0.0 else d for d in damping]
        if not decoupled:
            line("task.d_*: 0 and -1 are critical for the frame's inertia at each pose, not 2 sqrt(k)")
    if not value["limit_error"]:
        clip = [_FREE] * 6
        line("limit_error: false: errors are clipped at 1e6 only")
    return {
        "cartesian_frame": value["end_effector_frame"],
        "cartesian_axes": "frame" if value["use_local_jacobian"] else "root",
        "cartesian_stiffness": stiffness,
        "cartesian_damping": damping,
        "cartesian_error_clip": clip,
        "operational_space": decoupled,
        "operational_space_regularization": float(value["operational_space_regularization"]),
    }


def _posture(value: Mapping[str, Any], joints: Sequence[str], line: Callable[[str], None]) -> dict[str, Any]:
    weights = [float(value[f"nullspace.weights.{joint}.value"]) for joint in joints]
    uniform = not joints or len(set(weights)) == 1
    stiffness = [float(value["nullspace.stiffness"]) * w for w in (weights[:1] if uniform else weights)]
    projector, damping = value["nullspace.projector_type"], float(value["nullspace.damping"])
    if projector == "kinematic" and value["use_operational_space"]:
        projector = "dynamic"
        line("nullspace.projector_type: kinematic counts as dynamic, because use_operational_space is true")
    if damping > 0.0 and any(weight != 1.0 for weight in weights):
        line("nullspace.weights: they scale the stiffness of the posture, not its damping")
    line("nullspace.max_tau: bounds the effort before the projection, so that it never moves the frame")
    return {
        "nullspace_stiffness": stiffness or [float(value["nullspace.stiffness"])],
        "nullspace_damping": -1.0 if damping <= 0.0 else damping,
        "nullspace_projector": projector,
        "nullspace_regularization": float(value["nullspace.regularization"]),
        "nullspace_max_effort": float(value["nullspace.max_tau"]),
    }


def _compensation(
    value: Mapping[str, Any], joints: Sequence[str], line: Callable[[str], None]
) -> dict[str, Any]:
    found: dict[str, Any] = {"robot_compensates_gravity": not value["use_gravity_compensation"]}
    if not value["use_gravity_compensation"]:
        line("use_gravity_compensation: false: the robot carries its own weight (robot_compensates_gravity)")
    if not value["use_coriolis_compensation"]:
        line(
            "use_coriolis_compensation: false: the reference's Coriolis efforts are added; at rest they are 0"
        )
    if not value["use_friction"]:
        line("use_friction: false: friction of the description is not compensated")
        return {**found, "friction": [0.0], "damping": [0.0]}
    parts = [tuple(map(float, value[f"friction.fp{k}"])) for k in (1, 2, 3)]
    if len({len(part) for part in parts}) > 1 or len(parts[0]) != (len(joints) or len(parts[0])):
        raise ParameterError(
            f"parameters 'friction.fp1' to 'fp3' have {', '.join(str(len(part)) for part in parts)} values;"
            " with use_friction each needs one per joint"
        )
    # fp1 (1 / (1 + exp(-fp2 (v + fp3))) - 1 / (1 + exp(-fp2 fp3))), far from v = 0
    at_rest = [
        1.0 / (1.0 + math.exp(-max(min(b * c, 700.0), -700.0))) for b, c in zip(*parts[1:], strict=True)
    ]
    line("friction.fp1 to fp3: their ends are friction and friction_offset, along the reference's velocity")
    return {
        **found,
        "friction": [0.5 * a for a in parts[0]],
        "friction_offset": [a * (0.5 - share) for a, share in zip(parts[0], at_rest, strict=True)],
        "damping": [0.0],
    }


def _limits(value: Mapping[str, Any], rate: float, line: Callable[[str], None]) -> dict[str, Any]:
    """Rate of the efforts, and the springs at position limits."""
    found: dict[str, Any] = {}
    if value["limit_torques"]:
        if not value["max_delta_tau"] > 0.0:
            raise ParameterError(
                f"parameter 'max_delta_tau' is {value['max_delta_tau']:g}; it must be above 0"
            )
        each = value["max_delta_tau"] * (rate or _RATE)
        found["max_effort_rate"] = [each]
        line(
            f"max_delta_tau: {value['max_delta_tau']:g} N·m per cycle is max_effort_rate: [{each:g}] N·m/s at"
            f" {rate or _RATE:g} Hz"
        )
    if value["joint_limit_repulsion.enabled"]:
        found["limit_repulsion_range"] = float(value["joint_limit_repulsion.safe_range"])
        found["limit_repulsion_effort"] = float(value["joint_limit_repulsion.max_torque"])
        line("joint_limit_repulsion: the springs at position limits are damped, and joints are braked there")
    return found


_RATE = 1000.0


def _report(value: Mapping[str, Any], line: Callable[[str], None]) -> None:
    """Lines for what other means here replace."""
    line(
        f"filter.target_pose, filter.q_ref: {value['filter.target_pose']:g}, {value['filter.q_ref']:g}:"
        " targets are smoothed by their times, and go within the limits of speed and acceleration"
    )
    for name in ("nullspace.regularization", "operational_space_regularization"):
        if not 0.0 < value[name] <= 10.0:
            raise ParameterError(f"parameter '{name}' is {value[name]:g}; it must be above 0, and at most 10")
    if logged := [name for name in DEFAULTS if name.startswith("log.") and value[name]]:
        line(f"{', '.join(logged)}: no effect; /diagnostics and the topics report instead")
    if value["enable_introspection"]:
        line("enable_introspection: no effect; ~/controller_state and the topics report instead")
    if value["base_frame"]:
        line(f"base_frame: poses are in the root frame of the arm, which must be {value['base_frame']}")
