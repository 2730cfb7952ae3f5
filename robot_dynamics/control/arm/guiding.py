"""Hand guiding of an arm: its parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import parameter, validate
from robot_dynamics.spatial import Array

MODE = "hand_guiding"
AXES = ("x", "y", "z", "rx", "ry", "rz")
"""Directions of a frame: along its axes, then about them."""
UNKNOWN_SPEED = 1.0
"""Speed of which a joint without a velocity limit may have ``guide_speed`` [rad/s or m/s]."""


@dataclass(frozen=True)
class GuidingParameters:
    """Hold-to-run button, walls and axes of the mode hand_guiding."""

    guide_timeout: float = parameter(
        0.3,
        "Time after the last true on ~/guide at which the button counts as released, in the mode"
        " hand_guiding",
        unit="s",
        minimum=0.02,
        maximum=2.0,
    )
    guide_friction: float = parameter(
        0.7,
        "Share of the declared friction that is compensated in the mode hand_guiding; what is left keeps an"
        " arm at rest where friction is less than declared",
        minimum=0.0,
        maximum=0.95,
    )
    guide_speed: float = parameter(
        0.25,
        "Speed of a joint beyond which it is braked in the mode hand_guiding, as a share of its velocity"
        " limit",
        minimum=0.01,
        maximum=1.0,
    )
    guide_margin: float = parameter(
        0.05,
        "Distance from the position limits at which joints are stopped in the mode hand_guiding",
        unit="rad or m",
        minimum=0.0,
        maximum=1.0,
    )
    guide_axes: tuple[str, ...] = parameter(
        (),
        "Directions in which cartesian_frame may be moved in the mode hand_guiding: x, y, z along"
        " cartesian_axes, rx, ry, rz about them; the others are held with cartesian_stiffness; empty: all",
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in self.guide_axes:
            if name not in AXES:
                raise ParameterError(
                    f"parameter 'guide_axes' has {quoted(name)}: directions are {', '.join(AXES)}"
                )
        if len(set(self.guide_axes)) < len(self.guide_axes):
            raise ParameterError("parameter 'guide_axes' has a direction twice: each one once")

    @property
    def guide_law(self) -> tuple[object, ...]:
        """Every parameter of the law."""
        return self.guide_friction, self.guide_speed, self.guide_margin, self.guide_axes

    @property
    def held_axes(self) -> Array:
        """(6,) whether a frame is held in each direction, in the order of :data:`AXES`."""
        return np.array([bool(self.guide_axes) and name not in self.guide_axes for name in AXES])

    def guide_arrays(self, chain: KinematicChain) -> dict[str, Array]:
        """Speeds (n,) and limits (2, n) of the law, by their names in ``rd_settings``."""
        limits = [chain.driving_joint(j).limits for j in range(chain.dof)]
        speeds = np.array([limit.velocity for limit in limits])
        lower, upper = (np.array([getattr(limit, name) for limit in limits]) for name in ("lower", "upper"))
        margin = np.minimum(
            self.guide_margin, np.where(np.isfinite(upper - lower), 0.25 * (upper - lower), np.inf)
        )
        return {
            "guide_speed": self.guide_speed * np.where(np.isfinite(speeds), speeds, UNKNOWN_SPEED),
            "guide_limits": np.stack([lower + margin, upper - margin]),
        }
