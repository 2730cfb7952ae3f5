"""Parameters of the feeder: how it samples a trajectory and sends the efforts."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from robot_dynamics.control.arm.effort_limits import EffortLimitParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import parameter, validate


class EffortPath(enum.Enum):
    """Way of the efforts to the actuators."""

    TRAJECTORY = "trajectory"
    COMMANDS = "commands"


@dataclass(frozen=True)
class FeedforwardParameters(EffortLimitParameters):
    """Sampling of a trajectory by the feeder, and sending of its efforts."""

    effort_path: str = parameter(
        EffortPath.TRAJECTORY.value,
        "trajectory puts the efforts into the points, for a joint_trajectory_controller of Jazzy or later;"
        " commands sends them in time on effort_controller/commands, for one that refuses them",
        choices=[path.value for path in EffortPath],
        read_only=True,
    )
    effort_error: tuple[float, ...] = parameter(
        (),
        "Error that interpolated efforts may have against the model's, one per joint or one for all; "
        "empty: see effort_error_share",
        unit="N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    effort_error_share: float = parameter(
        0.001,
        "The same as a share of the joint's effort limit or, without one, of its largest effort on the way",
        minimum=1e-5,
        maximum=1.0,
    )
    command_rate: float = parameter(
        250.0,
        "Rate of effort_controller/commands, where it is used",
        unit="Hz",
        minimum=1.0,
        maximum=2000.0,
        read_only=True,
    )
    state_timeout: float = parameter(
        0.5,
        "Time without a joint state after which no trajectory is taken, and efforts on the command topic "
        "fade",
        unit="s",
        minimum=1e-3,
        maximum=60.0,
    )
    safe_fade_time: float = parameter(
        2.0, "Time in which efforts on the command topic fade to zero", unit="s", minimum=0.0, maximum=60.0
    )
    model_change_time: float = parameter(
        0.2,
        "Time in which efforts on the command topic blend to a changed model; 0: at once",
        unit="s",
        minimum=0.0,
        maximum=60.0,
    )

    max_effort_step: float = parameter(
        1.0,
        "Largest step of a joint's effort from one message of the command topic to the next, as a share of"
        " its limit; what asks for more takes as many messages as it needs. 2 allows every step",
        minimum=1e-3,
        maximum=2.0,
    )

    def __post_init__(self) -> None:
        validate(self)
        if 0.0 in self.effort_error:
            raise ParameterError("parameter 'effort_error' is 0 for a joint; it must be positive")
