"""The settings of the control core: model, law and parameters as one finished value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.control.core.library import SAFE_OUTPUTS, doubles, ffi
from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.control.plausibility import PlausibilityBounds, StopLimits
from robot_dynamics.spatial import Array

_TIMES = ("control_period", "state_timeout", "safe_fade_time", "model_change_time", "front_timeout")


class Settings(NamedTuple):
    """Model, law and parameters as one finished value of the core's.

    Attributes:
        value: ``rd_settings *``.
        kept: what lives as long as the value is used.
    """

    value: Any
    kept: Any


def loop_settings(
    kernel: Any,
    parameters: LoopParameters,
    bounds: PlausibilityBounds,
    stops: StopLimits,
    arrays: Mapping[str, Array],
    **own: Any,
) -> Settings:
    """The settings of any robot, without their numbers.

    Args:
        kernel: ``rd_kernel`` of the inverse dynamics, or its address.
        parameters: of the controller.
        bounds: plausible values of the joints.
        stops: limits of stops.
        arrays: (n,) of the robot and its law, by their names in ``rd_settings``.
        own: further fields of the robot's own.
    """
    limits = {
        "limits": bounds.effort,
        "velocity_bounds": bounds.velocity,
        "effort_steps": bounds.effort_step,
        "velocity_limits": bounds.velocity_limit,
        **stops._asdict(),
    }
    kept = {name: doubles(np.array(array, dtype=float)) for name, array in (limits | dict(arrays)).items()}
    value = ffi().new("rd_settings *")
    value.inverse_dynamics = ffi().cast("rd_kernel", kernel)
    value.looks_ahead = parameters.half_period_ahead
    value.state_jump, value.stamp_step = bounds.state_jump, bounds.stamp_step
    value.safe_output = SAFE_OUTPUTS.index(parameters.safe_output)
    fields = {name: getattr(parameters, name) for name in _TIMES} | kept | own
    for name, given in fields.items():
        setattr(value, name, given)
    return Settings(value, (kept, own))


def supervised(settings: Settings, fields: Mapping[str, Any]) -> Settings:
    """Settings with rules of supervision.

    Args:
        settings: of any robot.
        fields: of ``rd_rules``; arrays are (n,).
    """
    rules = ffi().new("rd_rules *")
    kept = {}
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value = kept[name] = doubles(np.array(value, dtype=float))
        setattr(rules, name, value)
    settings.value.rules = rules
    return Settings(settings.value, (settings.kept, rules, kept))
