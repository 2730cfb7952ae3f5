"""Parameters of the platform controller."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.control.parameters import LoopParameters
from robot_dynamics.control.stewart.laws import DESCRIPTION, LAWS
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

DIRECTIONS = ("x", "y", "z", "about x", "about y", "about z")


@dataclass(frozen=True)
class StewartParameters(LoopParameters):
    """Gains and mode of the platform controller; all can be changed while it runs."""

    mode: str = parameter(
        "computed_force",
        DESCRIPTION,
        choices=tuple(LAWS),
    )
    kp: tuple[float, ...] = parameter(
        (400.0,),
        "Gain of the pose error on the acceleration: one for all, or x, y, z and about x, y, z of the base",
        unit="1/s²",
        minimum=0.0,
        maximum=1e6,
    )
    kv: tuple[float, ...] = parameter(
        (40.0,),
        "Gain of the velocity error on the acceleration; 2·sqrt(kp) is critical damping",
        unit="1/s",
        minimum=0.0,
        maximum=1e4,
    )
    ki: float = parameter(
        0.0,
        "Gain of the disturbance observer, which takes away what an unknown load leaves of the pose error;"
        " kp^1.5/8 is well damped when kv = 2·sqrt(kp); 0: off",
        unit="1/s³",
        minimum=0.0,
        maximum=1e9,
    )
    disturbance_limit: float = parameter(
        3.0,
        "Greatest acceleration that the disturbance observer may ask for; over the machine's characteristic"
        " length, its greatest angular one",
        unit="m/s²",
        minimum=0.0,
        maximum=1e3,
    )
    wrench_timeout: float = parameter(
        0.2,
        "An external wrench older than this counts as none",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in ("kp", "kv"):
            if len(getattr(self, name)) not in (1, len(DIRECTIONS)):
                raise ParameterError(
                    f"parameter '{name}' has {len(getattr(self, name))} values; give 1, or 6: x, y, z and"
                    " about x, y, z"
                )

    def gains(self) -> tuple[Array, Array]:
        """Gains (6,) of pose and velocity errors: linear, then angular, base frame."""
        return per_joint(self.kp, DIRECTIONS, "kp"), per_joint(self.kv, DIRECTIONS, "kv")
