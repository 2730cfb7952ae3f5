"""Machine, payload and parameters of a platform as one finished value for the control core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.control.core.library import COMMANDS, ffi
from robot_dynamics.control.core.settings import Settings, loop_settings
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.control.parameters import estimate_gains
from robot_dynamics.control.plausibility import PlausibilityBounds, StopLimits
from robot_dynamics.control.stewart.envelope import Pace
from robot_dynamics.control.stewart.parameters import LAWS, StewartParameters
from robot_dynamics.errors import BackendError, StateError, quoted
from robot_dynamics.inputs.arrays import real_array
from robot_dynamics.model.chain import RigidBody
from robot_dynamics.model.lumping import lumped_body
from robot_dynamics.native.compiler import find_compiler
from robot_dynamics.spatial import Array, quaternion_rows
from robot_dynamics.stewart.actuators import coulomb_friction
from robot_dynamics.stewart.compiled import CompiledStewart
from robot_dynamics.stewart.kinematics import condition_number, leg_geometry
from robot_dynamics.stewart.machine import JointFriction, Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation
from robot_dynamics.stewart.platform import StewartPlatform
from robot_dynamics.stewart.verified_limits import MachineLimits

BEYOND = list(enumerators("rd_discontinuity")).index("beyond")
"""First discontinuity of a platform's own; see ``rd_platform_beyond`` in platform.h."""
KINDS = enumerators("rd_platform_beyond")
CONDITION, NO_POSE, SINGULAR, ILL_CONDITIONED = map(
    list(KINDS).index, ("condition", "no_pose", "singular", "ill_conditioned")
)
FOLLOWING = (0.05, 0.2)
"""Distance from the reference beyond which a stop leaves its path [m, rad]."""
LEFT = 0.002
"""Error that the derived disturbance estimate leaves [m]; of the angle, over the characteristic length."""
BELIEVED = 0.5
"""Share of guessed friction with which the open-loop descent counts: between none and all of it."""
REPORTED = {"pose": 7, "twist": 6, "rates": 6, "disturbance": 6, "condition": 1}
"""Values that the core reports of a platform, and how many numbers each has."""


def platform_settings(compiled: CompiledStewart, model: Any, parameters: StewartParameters) -> Settings:
    """Settings of a platform; see :func:`loop_settings`.

    Args:
        compiled: the model.
        model: ``rd_platform_model *``.
        parameters: of the controller.

    Raises:
        BackendError: there is no compiler, or the model is not compiled.
    """
    kernel = compiled.kernel
    if kernel is None:
        find_compiler()  # says which one to install
        raise BackendError(
            f"the model of {quoted(compiled.machine.name)} is not compiled; its controller calls it from C"
        )
    kp, kv = parameters.gains()
    settings = loop_settings(
        kernel.single_address,
        parameters,
        platform_bounds(compiled.machine, parameters),
        platform_stops(compiled.machine, parameters),
        {"kp": kp, "kv": kv, "setpoint_range": setpoint_range(compiled.machine, model)},
        platform=model,
        mode=list(LAWS).index("feedforward" if parameters.sends_setpoints else parameters.mode),
        command=COMMANDS.index(parameters.command),
        setpoint_speed=parameters.settle_speed,
        setpoint_gain=parameters.length_gain,
        setpoint_deceleration=parameters.stop_deceleration or 2.0 * parameters.max_acceleration,
    )
    return Settings(settings.value, (settings.kept, model, kernel))


def setpoint_range(machine: Machine, model: Any) -> Array:
    """(12,) shortest and longest joint positions of the legs [m]."""
    limits = [leg.limits for leg in machine.legs]
    ends = np.array([[each.shortest for each in limits], [each.longest for each in limits]])
    return np.ravel(ends - np.array(list(model.zero_lengths)))


def platform_model(
    machine: Machine, payload: RigidBody | None, parameters: StewartParameters, zero_lengths: Array
) -> Any:
    """Machine and payload as ``rd_platform_model *``; without watch and open-loop descent.

    Args:
        machine: the platform.
        payload: rigid body on it, platform frame; None: nothing.
        parameters: of the controller.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m].
    """
    limits = MachineLimits.of(machine, parameters.watch_margin)
    strokes = [leg.limits.longest - leg.limits.shortest for leg in machine.legs]
    per_length = np.array([1.0, 1.0 / machine.characteristic_length])
    model = ffi().new("rd_platform_model *")
    model.geometry.characteristic_length = machine.characteristic_length
    model.geometry.base = machine.base_points.tolist()
    model.geometry.platform = machine.platform_points.tolist()
    model.stroke = max((stroke for stroke in strokes if np.isfinite(stroke)), default=0.0)
    model.condition_limit = machine.condition_limit
    model.payload_mass = 0.0 if payload is None else payload.mass
    model.wrench_fade = parameters.wrench_fade_time
    model.turning_friction = any(leg.friction.universal or leg.friction.spherical for leg in machine.legs)
    arrays = {
        "home": np.concatenate([machine.home_position, quaternion_from_rotation(machine.home_rotation)]),
        "up": -machine.gravity / max(float(np.linalg.norm(machine.gravity)), 1e-12),
        "zero_lengths": zero_lengths,
        "gravity": machine.gravity,
        "coulomb": coulomb_friction(machine),
        "viscous": np.array([leg.friction.prismatic for leg in machine.legs]),
        "disturbance_gain": estimate_gains(parameters.ki, *parameters.gains()),
        "disturbance_left": LEFT * (parameters.ki == 0.0) * per_length,
        "disturbance_bounds": parameters.disturbance_limit * per_length,
        "longest": limits.longest,
        "shortest": limits.shortest,
        "speed": limits.speed,
        "base_cosine": limits.base_cosine,
        "platform_cosine": limits.platform_cosine,
        "base_axes": machine.home_directions,
        "platform_axes": machine.home_directions @ machine.home_rotation,
    }
    if payload is not None:
        arrays["payload_center"], arrays["payload_inertia"] = payload.center_of_mass, payload.inertia.ravel()
    for name, array in arrays.items():
        setattr(model, name, np.asarray(array, dtype=float).tolist())
    return model


def add_descent(model: Any, descent: Any, machine: Machine, speed: float, pace: Pace) -> None:
    """Give a model the open-loop descent, which counts with a share of guessed friction.

    Args:
        model: ``rd_platform_model *``.
        descent: ``rd_plan *`` from home to the park pose.
        machine: the platform as its file describes it.
        speed: of the legs [m/s].
        pace: of the stop before it.
    """
    model.descent, model.blind_speed = descent, speed
    model.pace = [pace.acceleration, pace.angular_acceleration]
    if "friction" in machine.guessed:
        model.guessed_coulomb = (BELIEVED * coulomb_friction(machine)).tolist()
        model.guessed_viscous = [BELIEVED * leg.friction.prismatic for leg in machine.legs]


def compensated(platform: StewartPlatform) -> StewartPlatform:
    """The platform as its controller computes with it: friction that is guessed is left out.

    Feedback corrects a guessed weight. Compensated friction beyond the real one drives the motion.
    """
    machine = platform.machine
    if "friction" not in machine.guessed:
        return platform
    legs = tuple(replace(leg, friction=JointFriction(0.0, 0.0, 0.0)) for leg in machine.legs)
    return StewartPlatform(replace(machine, legs=legs))


def loaded(machine: Machine, payload: RigidBody) -> Machine:
    """Machine with a body (platform frame) fixed to its platform."""
    if payload.mass == 0.0:
        return machine
    return replace(machine, platform=lumped_body((machine.platform, payload)))


def platform_bounds(machine: Machine, parameters: StewartParameters) -> PlausibilityBounds:
    """Plausible values of the legs of a machine."""
    limits = [leg.limits for leg in machine.legs]
    forces, speeds = ([each.force for each in limits], [each.speed for each in limits])
    return PlausibilityBounds.of(parameters, np.array(forces), np.array(speeds))


def platform_stops(machine: Machine, parameters: StewartParameters) -> StopLimits:
    """Limits of a platform's stops."""
    length, linear = machine.characteristic_length, parameters.max_acceleration
    hardest = parameters.stop_deceleration or 2.0 * linear
    hold = (linear, parameters.max_angular_acceleration or linear / length)
    stop = (hardest, max(hardest / length, hold[1]))
    return StopLimits(*(np.repeat(pair, 3) for pair in (hold, stop, FOLLOWING)))


def checked_wrench(force: Sequence[float], torque: Sequence[float]) -> Array:
    """(6,) of a force [N] and a moment [N·m].

    Raises:
        StateError: not six finite numbers.
    """
    parts = real_array("force of the external wrench", force), real_array("torque", torque)
    wrench = np.concatenate([np.ravel(part) for part in parts])
    if wrench.shape != (6,) or not np.isfinite(wrench).all():
        raise StateError(f"the external wrench is {wrench.tolist()}; it must be six finite numbers")
    return wrench


def words_of(results: Any, leg_names: Sequence[str]) -> str:
    """A state beyond a limit, or without an effort, in words; from ``rd_results`` or a cycle's record."""
    kind, leg = divmod(results.discontinuity - BEYOND, 6)
    value, limit = results.discontinuity_size, results.discontinuity_more
    if kind == NO_POSE:
        return f"no pose near the last one has the measured leg lengths; the search ended {value:.2e} m away"
    if kind == SINGULAR:
        return "the platform is in a singular pose"
    if kind == ILL_CONDITIONED:
        return (
            f"the condition number is {value:.3g}, beyond the limit of {limit:g} more than twice: too near to"
            " a singular pose"
        )
    if kind == CONDITION:
        return f"measured condition number {value:.4g}, beyond {limit:g}"
    what, unit = list(KINDS.values())[kind].rstrip("]").split(" [")
    return f"{leg_names[leg]}: measured {what} {value:.5g} {unit}, beyond {limit:.5g} {unit}"


def is_refusal(results: Any) -> bool:
    """Check whether a cycle has computed no effort because of the pose."""
    return bool(results.discontinuity >= BEYOND + 6 * NO_POSE)


class ReportedPose:
    """Pose and twist of a platform in one cycle, as the core reports them.

    Attributes:
        position: (3,) of the platform's origin, base frame [m].
        quaternion: orientation x, y, z, w.
        rotation: (3, 3) from the platform frame to the base frame.
        rates: (6,) of the leg lengths [m/s].
        twist: (6,) linear velocity of the origin and angular velocity, base frame [m/s, rad/s].
        disturbance: (6,) estimated acceleration that the model lacks [m/s², rad/s²].
        condition_bound: the condition number is no greater.

    Args:
        machine: the platform.
        reported: values of the core's report.
    """

    def __init__(self, machine: Machine, reported: Array) -> None:
        pose, self.twist, self.rates, self.disturbance, bound = np.split(
            reported, np.cumsum([*REPORTED.values()])[:-1]
        )
        self._machine = machine
        self.position: Array = pose[:3]
        self.quaternion: tuple[float, ...] = tuple(pose[3:].tolist())
        self.rotation: Array = np.array(quaternion_rows(self.quaternion))
        self.condition_bound = float(bound[0])

    @property
    def jacobian(self) -> Array:
        """(6, 6) from the twist to the rates of the leg lengths."""
        return leg_geometry(self._machine, self.position, self.rotation).jacobian

    @property
    def condition_number(self) -> float:
        """Condition number of the Jacobian with the characteristic length; infinite before the first pose."""
        if not np.isfinite(self.condition_bound):
            return np.inf
        return float(condition_number(self.jacobian, self._machine.characteristic_length))
