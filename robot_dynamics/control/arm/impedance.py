"""Joint impedance of an arm: its parameters. springs.c judges them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, per_joint, validate
from robot_dynamics.spatial import Array

MODE = "joint_impedance"
LONGEST_FILTER = 0.05
"""Longest time constant of a filter [s]."""


@dataclass(frozen=True)
class ImpedanceParameters:
    """Stiffness and damping of the mode joint_impedance."""

    joint_stiffness: tuple[float, ...] = parameter(
        (50.0,),
        "Stiffness in the mode joint_impedance, one per joint or one for all",
        unit="N·m/rad or N/m",
        minimum=0.0,
        maximum=1e6,
    )
    joint_damping: tuple[float, ...] = parameter(
        (-1.0,),
        "Damping in the mode joint_impedance, one per joint or one for all; -1: critical for the joint's own"
        " inertia at each pose",
        unit="N·m·s/rad or N·s/m",
        minimum=-1.0,
        maximum=1e6,
    )
    joint_error_clip: tuple[float, ...] = parameter(
        (0.5,),
        "Distance from the reference beyond which the spring pulls no more in the mode joint_impedance, one"
        " per joint or one for all",
        unit="rad or m",
        minimum=1e-6,
        maximum=1e6,
    )

    max_effort_rate: tuple[float, ...] = parameter(
        (),
        "Maximum rate of each joint's effort in the modes joint_impedance and cartesian_impedance, but in a"
        " stop: one per joint or one for all; 0 or empty: none",
        unit="N·m/s or N/s",
        minimum=0.0,
        maximum=1e9,
    )
    position_filter: float = parameter(
        0.0,
        "Time constant of a low-pass filter of measured positions in the modes joint_impedance and"
        " cartesian_impedance; 0: none",
        unit="s",
        minimum=0.0,
        maximum=LONGEST_FILTER,
    )
    velocity_filter: float = parameter(
        0.0,
        "Time constant of a low-pass filter of measured velocities in the modes joint_impedance and"
        " cartesian_impedance; 0: none",
        unit="s",
        minimum=0.0,
        maximum=LONGEST_FILTER,
    )
    effort_filter: float = parameter(
        0.0,
        "Time constant of a low-pass filter of the efforts in the modes joint_impedance and"
        " cartesian_impedance, but in a stop; 0: none",
        unit="s",
        minimum=0.0,
        maximum=LONGEST_FILTER,
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in ("joint_stiffness", "joint_damping", "joint_error_clip"):
            if not getattr(self, name):
                raise ParameterError(f"parameter '{name}' is empty; give one value, or one per joint")
        for value in self.joint_damping:
            if value < 0.0 and value != -1.0:
                raise ParameterError(
                    f"parameter 'joint_damping' is {value:g}; it must not be negative, or -1: critical"
                )

    @property
    def smoothing(self) -> tuple[float, float, float]:
        """Time constants of the filters of positions, velocities and efforts [s]."""
        return self.position_filter, self.velocity_filter, self.effort_filter

    @property
    def smoothing_delay(self) -> float:
        """Delay of the springs or dampers by the filters, whichever is longer [s]."""
        return max(self.position_filter, self.velocity_filter) + self.effort_filter

    def impedance(self, chain: KinematicChain) -> dict[str, Array]:
        """Arrays (n,) of the law, by their names in ``rd_settings``.

        Raises:
            ParameterError: a list does not fit the joints.
        """
        fields = {"stiffness": self.joint_stiffness, "damping": self.joint_damping}
        fields["error_clip"] = self.joint_error_clip
        found = {name: per_joint(value, chain.joint_names, f"joint_{name}") for name, value in fields.items()}
        rates = per_joint(self.max_effort_rate or (0.0,), chain.joint_names, "max_effort_rate")
        return {**found, "effort_rates": np.where(rates > 0.0, rates, np.inf)}
