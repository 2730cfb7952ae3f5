"""Parameters that choose a chain of a robot description."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.parameters import by_name, parameter, validate


@dataclass(frozen=True)
class ChainParameters:
    """Parameters for the links and joints of the chain; see :func:`robot_dynamics.load_urdf`."""

    root: str = parameter(
        "", "Root link of the chain, fixed to the ground; empty: the root of the robot", read_only=True
    )
    tip: str = parameter(
        "",
        "Tip link of the chain; empty: the end of the arm; a robot with several arms needs a name",
        read_only=True,
    )
    locked_joints: tuple[str, ...] = parameter(
        (), "Locked joints; they are fixed and not part of the chain", read_only=True
    )
    locked_positions: tuple[float, ...] = parameter(
        (), "Position of each joint of locked_joints", unit="rad or m", read_only=True
    )

    def __post_init__(self) -> None:
        validate(self)
        by_name(self, "locked_joints", "locked_positions")

    @property
    def locked(self) -> dict[str, float]:
        """Position of every locked joint [rad or m]."""
        return by_name(self, "locked_joints", "locked_positions")
