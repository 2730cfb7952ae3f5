"""Parameters, model and load of a platform as one finished value for the control core in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.control.core.controller import Settings, loop_settings
from robot_dynamics.control.core.library import ffi
from robot_dynamics.control.core.platform.library import MODES
from robot_dynamics.control.stewart.basis import platform_bounds
from robot_dynamics.control.stewart.laws.base import StewartLaw
from robot_dynamics.control.stewart.parameters import StewartParameters
from robot_dynamics.control.stewart.watch import StateWatch
from robot_dynamics.errors import BackendError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart.actuators import coulomb_friction
from robot_dynamics.stewart.compiled import CompiledStewart
from robot_dynamics.stewart.machine import Machine
from robot_dynamics.stewart.orientation import quaternion_from_rotation


def platform_settings(compiled: CompiledStewart, model: Any, parameters: StewartParameters) -> Settings:
    """The settings of a platform; see :func:`loop_settings`.

    Args:
        compiled: the model.
        model: ``rd_platform_model *``.
        parameters: of the controller.

    Raises:
        BackendError: the model is not compiled.
    """
    kernel = compiled.kernel
    if kernel is None:
        raise BackendError("the model is not compiled, so the control core must run in Python")
    kp, kv = parameters.gains()
    settings = loop_settings(
        kernel.single_address,
        parameters,
        platform_bounds(compiled.machine, parameters),
        {"kp": kp, "kv": kv},
        platform=model,
        mode=MODES.index(parameters.mode),
    )
    return Settings(settings.value, (settings.kept, model, kernel))


def platform_model(
    machine: Machine, law: StewartLaw, parameters: StewartParameters, zero_lengths: Array
) -> Any:
    """What only a platform has, as ``rd_platform_model *``; nothing is watched, and there is no descent.

    Args:
        machine: the platform.
        law: tells the payload.
        parameters: of the controller.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m].
    """
    payload = law.payload
    limits = [leg.limits for leg in machine.legs]
    strokes = [leg.longest - leg.shortest for leg in limits if np.isfinite(leg.longest)]
    watch = StateWatch(machine, parameters.watch_margin)
    model = ffi().new("rd_platform_model *")
    model.geometry.characteristic_length = machine.characteristic_length
    model.stroke = max(strokes, default=0.0)
    model.condition_limit = machine.condition_limit
    model.payload_mass = 0.0 if payload is None else payload.mass
    model.disturbance_gain = parameters.ki
    model.geometry.base = machine.base_points.tolist()
    model.geometry.platform = machine.platform_points.tolist()
    arrays = {
        "home": np.concatenate([machine.home_position, quaternion_from_rotation(machine.home_rotation)]),
        "up": -machine.gravity / max(float(np.linalg.norm(machine.gravity)), 1e-12),
        "zero_lengths": zero_lengths,
        "gravity": machine.gravity,
        "coulomb": coulomb_friction(machine),
        "disturbance_bounds": np.array(law.observer.bounds),
        "longest": watch.longest,
        "shortest": watch.shortest,
        "speed": watch.speed,
        "base_cosine": watch.base_cosine,
        "platform_cosine": watch.platform_cosine,
        "base_axes": watch.home,
        "platform_axes": watch.local,
    }
    if payload is not None:
        arrays["payload_center"], arrays["payload_inertia"] = payload.center_of_mass, payload.inertia.ravel()
    for name, array in arrays.items():
        setattr(model, name, np.asarray(array, dtype=float).tolist())
    return model
