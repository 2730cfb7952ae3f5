"""The control laws of an arm, by the name that the parameter ``mode`` has for them.

The core has its laws in C: one function in law.c each, and one line in core.h. A law in Python is a function
with :func:`arm_law` above it. It works wherever Python runs the cycle.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from robot_dynamics.control.arm.trajectory import Reference
from robot_dynamics.control.core.library import MODES, array_at
from robot_dynamics.control.core.sources import enumerators
from robot_dynamics.errors import ParameterError, quoted, readable
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array


class LawInput(NamedTuple):
    """Input of a law in every cycle; its arrays are (n,), in the order of the joints.

    Attributes:
        time: of the joint state [s].
        half_period: half the control period, for which the effort is held; 0 where the model is not to be
            evaluated ahead [s].
        position, velocity: measured [rad or m, rad/s or m/s].
        reference: of now.
        ahead: the reference half a control period ahead.
        kp, kv: gains [1/s², 1/s].
    """

    time: float
    half_period: float
    position: Array
    velocity: Array
    reference: Reference
    ahead: Reference
    kp: Array
    kv: Array


PythonLaw = Callable[[Any, LawInput], Array]
"""``law(model, given)``: efforts (n,) [N·m or N]; ``model.inverse_dynamics(q, qd, qdd)`` has the drives."""
L = TypeVar("L", bound=PythonLaw)

_PYTHON_LAWS: dict[str, PythonLaw] = {}


def arm_law(name: str) -> Callable[[L], L]:
    """Make a function a control law of arms, which ``ArmParameters(mode=name)`` chooses.

    Raises:
        ParameterError: the name is no identifier, or a law of the core has it.
    """
    if not (isinstance(name, str) and name.isidentifier()):
        raise ParameterError(f"a control law is named {quoted(name)}; a name is letters, digits and _")
    if name in enumerators("rd_arm_mode"):
        raise ParameterError(f"the core has a control law {name!r}; choose another name")

    def register(law: L) -> L:
        _PYTHON_LAWS[name] = law
        return law

    return register


@dataclass(frozen=True)
class LawModules:
    """Laws in Python of a node."""

    law_modules: tuple[str, ...] = parameter(
        (),
        "Names of Python modules with control laws (robot_dynamics.arm_law), imported at the start",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)


def import_laws(modules: Sequence[str]) -> None:
    """Import modules, whose laws can then be chosen by name.

    Raises:
        ParameterError: a module cannot be imported.
    """
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever the module's own code raises
            raise ParameterError(
                f"parameter 'law_modules' names {quoted(name)}, which cannot be imported:"
                f" {type(error).__name__}: {readable(str(error))}"
            ) from error


def python_law(mode: str) -> PythonLaw | None:
    """The law in Python of that name; None: the core has it."""
    return None if mode in MODES else _PYTHON_LAWS[mode]


def arm_modes() -> tuple[str, ...]:
    """Names of all laws: the core's, then those in Python."""
    return (*MODES, *_PYTHON_LAWS)


def law_input(value: Any) -> LawInput:
    """An ``rd_law_input *`` as a law in Python is given it; its arrays are copies."""
    n = value.joints
    position, velocity, kp, kv = (
        array_at(pointer, n).copy() for pointer in (value.position, value.velocity, value.kp, value.kv)
    )
    reference, ahead = (
        Reference(*(array_at(p, n).copy() for p in (motion.position, motion.velocity, motion.acceleration)))
        for motion in (value.reference, value.ahead)
    )
    return LawInput(value.time, value.half_period, position, velocity, reference, ahead, kp, kv)


DESCRIPTION = "; ".join(
    f"{name} {about}" for name, about in enumerators("rd_arm_mode").items() if name in MODES
)
"""The laws of the core, each in a sentence."""
