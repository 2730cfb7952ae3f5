"""Every parameter class of the package refuses what lies outside its bounds, whatever parameter it is."""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import describe

PACKAGE = Path(robot_dynamics.__file__).parent
OPTIONAL = {"rclpy", "mujoco", "viser", "matplotlib"}


def parameter_classes() -> dict[str, type]:
    """Those of all modules in which the word ``parameter(`` makes a field."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        if file == PACKAGE / "parameters.py" or "= parameter(" not in file.read_text(encoding="utf-8"):
            continue
        name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in OPTIONAL:
                continue
            raise
        own = [
            member
            for member in vars(module).values()
            if dataclasses.is_dataclass(member) and member.__module__ == name and describe(member)
        ]
        assert own, f"{name} has parameters, but no class of them"
        found.update({member.__name__: member for member in own})
    return found


CLASSES = parameter_classes()
PARAMETERS = [(cls, description) for cls in CLASSES.values() for description in describe(cls)]
IDS = [f"{cls.__name__}.{description.name}" for cls, description in PARAMETERS]
BOUNDED = [(c, d) for c, d in PARAMETERS if d.minimum is not None or d.maximum is not None or d.choices]
OTHER_RULES = {
    ("ModelParameters", "gravity"),  # at most three times the Earth's
    ("FeedforwardParameters", "effort_error"),  # zero would take points without end
    ("PayloadParameters", "payload_inertia"),  # that of a rigid body
    ("PlatformPayloadParameters", "payload_inertia"),
    ("PlantParameters", "payload_inertia"),
    ("TipPayloadParameters", "inertia"),
    ("MachineParameters", "zero_lengths"),  # six, where there are any
    ("StewartParameters", "park_pose"),  # six, where there are any
    ("WebViewParameters", "zero_lengths"),
    ("SimulatorParameters", "drives"),  # of a platform alone
}
"""Parameters of which a bound alone is no legal value."""


def beyond(description, bound, direction):
    """The value next to a bound, on its other side."""
    return bound + int(direction) if description.type is int else math.nextafter(bound, direction * math.inf)


def given(description, value, place=0):
    """A value for the parameter: in a list of its usual length at ``place``, or alone."""
    if not description.array:
        return value
    # None of the longer lists that are empty by default may have any length.
    values = list(description.default) or [value]
    values[place % len(values)] = value
    return tuple(values)


def test_the_classes_are_found():
    assert {"ArmParameters", "StewartParameters", "PayloadParameters", "PlantParameters"} <= CLASSES.keys()
    if "rclpy" in sys.modules:
        assert {"NodeParameters", "TableParameters", "ModelParameters"} <= CLASSES.keys()


@pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES.keys())
def test_the_defaults_are_legal_and_no_other_name_is_taken(cls):
    made = cls()
    for description in describe(cls):
        assert getattr(made, description.name) == description.default
        assert description.text and not description.text.endswith(".")
    with pytest.raises(TypeError):
        cls(no_such_parameter=1.0)


@pytest.mark.parametrize(("cls", "description"), BOUNDED, ids=[f"{c.__name__}.{d.name}" for c, d in BOUNDED])
def test_values_outside_the_bounds_are_refused_with_bounds_and_unit(cls, description):
    illegal = [
        beyond(description, bound, direction)
        for bound, direction in ((description.minimum, -1), (description.maximum, 1))
        if bound is not None
    ]
    if description.choices:
        illegal.append("no such choice")
    assert illegal
    legal_words = re.escape(description.constraints)
    for value in illegal:
        for place in range(len(description.default) if description.array and description.default else 1):
            with pytest.raises(ParameterError) as refused:
                cls(**{description.name: given(description, value, place)})
            message = str(refused.value)
            assert message.startswith(f"parameter '{description.name}' is {value!r}")
            assert re.search(f"it must be {legal_words}", message)
            assert message.endswith(description.unit)


@pytest.mark.parametrize(("cls", "description"), PARAMETERS, ids=IDS)
def test_values_of_another_type_and_numbers_that_are_none_are_refused(cls, description):
    wrong = {bool: (1, "true"), int: (1.0, True, "1"), float: (True, "1.0", None), str: (1, None, True)}
    for value in wrong[description.type]:
        with pytest.raises(ParameterError, match=f"parameter '{description.name}' is"):
            cls(**{description.name: given(description, value)})
    if description.type is float:
        for value in (math.nan, math.inf, -math.inf, np.float64("nan")):
            with pytest.raises(ParameterError, match=f"'{description.name}' is .*finite number"):
                cls(**{description.name: given(description, value)})
    if description.array:
        for value in (1.0, "text", None):
            with pytest.raises(ParameterError, match=f"'{description.name}' is .*it must be a list"):
                cls(**{description.name: value})


@pytest.mark.parametrize(("cls", "description"), BOUNDED, ids=[f"{c.__name__}.{d.name}" for c, d in BOUNDED])
def test_the_bounds_themselves_and_every_choice_are_legal(cls, description):
    """Unless another rule of the class forbids them, which then says so in words of its own."""
    for value in (description.minimum, description.maximum, *description.choices):
        if value is None:
            continue
        offered = given(description, description.type(value))
        try:
            assert getattr(cls(**{description.name: offered}), description.name) == offered
        except ParameterError as refused:
            assert (cls.__name__, description.name) in OTHER_RULES, refused
            assert "it must be " + description.constraints not in str(refused)


NEVER_NEGATIVE = {"s", "Hz", "kg", "1/s", "1/s²", "N·m·s/rad or N·s/m", "N·m or N", "kg·m² or kg"}
"""Units in which nothing below zero can be meant: durations, rates, masses, gains, losses, limits."""
SIGNED = {"friction_offset", "effort_offset", "loop_delay", "effort_delay", "stream_horizon", "joint_damping"}
"""Efforts that may point either way, and numbers whose -1 switches a rule off or derives the value."""
NONE_AT_ZERO = re.compile(
    r"kp|kv|.*_inertia|damping|friction|max_effort|(path|goal|goal_time|stopped_velocity)_tolerance|payload_mass|.*_fade_time|model_change_time"
    r"|control_period|imu_time_constant|load_period"
)
"""Names of what is left out by a zero."""


@pytest.mark.parametrize(("cls", "description"), PARAMETERS, ids=IDS)
def test_what_cannot_be_negative_is_refused_below_zero_and_what_a_zero_leaves_out_takes_it(cls, description):
    """The bounds themselves, as far as physics tells them."""
    if description.type is not float:
        return
    zero_is_none = NONE_AT_ZERO.fullmatch(description.name) and description.name != "payload_inertia"
    if zero_is_none or (description.unit in NEVER_NEGATIVE and description.name not in SIGNED):
        with pytest.raises(ParameterError, match=description.name):
            cls(**{description.name: given(description, -1e-9)})
    if zero_is_none:
        assert cls(**{description.name: given(description, 0.0)})
    if description.unit == "Hz":
        with pytest.raises(ParameterError, match=description.name):
            cls(**{description.name: given(description, 0.0)})
