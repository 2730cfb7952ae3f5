"""Parameters that choose a chain of a robot description."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.model.load import load_urdf
from robot_dynamics.model.selection import ALL
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
    tips: tuple[str, ...] = parameter(
        (),
        "Tip links of a tree, such as both hands of a robot with two arms, in place of tip; ['all']: the"
        " whole robot; empty: one chain",
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
        if self.tip and self.tips:
            raise ParameterError(
                f"parameter 'tip' is {quoted(self.tip)} and 'tips' is {quoted(list(self.tips))}; give one of"
                " them"
            )
        by_name(self, "locked_joints", "locked_positions")

    @property
    def locked(self) -> dict[str, float]:
        """Position of every locked joint [rad or m]."""
        return by_name(self, "locked_joints", "locked_positions")

    @property
    def ends(self) -> str | tuple[str, ...] | None:
        """The tips as :func:`robot_dynamics.load_urdf` takes them; None: one chain."""
        return ALL if self.tips == (ALL,) else self.tips or None

    def load(self, description: str, measured: MeasuredParameters | None = None) -> KinematicChain:
        """The chain or tree of a description that these parameters choose.

        Args:
            description: URDF.
            measured: joints that another controller moves; None: there are none.

        Raises:
            ModelError: the description has no such chain, or is faulty.
        """
        beside = measured.joints if measured is not None else ()
        return load_urdf(description, self.root or None, self.tip or None, self.locked, self.ends, beside)


@dataclass(frozen=True)
class MeasuredParameters:
    """Parameters for joints of the same robot that another controller moves."""

    measured_joints: tuple[str, ...] = parameter(
        (),
        "Joints of the robot that another controller moves, such as a torso's; the model takes their state"
        " from joint_states; ['all']: every other joint; empty: none",
        read_only=True,
    )
    measured_reference: str = parameter(
        "",
        "Topic of the reference of the measured joints' own controller, such as"
        " /left/computed_torque_controller/reference; it gives their acceleration; empty: zero acceleration",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)
        if self.measured_reference and not self.measured_joints:
            raise ParameterError(
                f"parameter 'measured_reference' is {quoted(self.measured_reference)}, but 'measured_joints'"
                " is empty; name the joints"
            )

    @property
    def joints(self) -> str | tuple[str, ...]:
        """The joints as :func:`robot_dynamics.load_urdf` takes them."""
        return ALL if self.measured_joints == (ALL,) else self.measured_joints
