"""Rest of an arm after a stop: a latched hold, and brakes where there are any."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from robot_dynamics.control.brakes import BrakeParameters, Brakes, BrakeTiming
from robot_dynamics.parameters import parameter

PATIENCE = 1.0
"""Time after which the brakes engage in a protective stop, whether the arm stands or not [s]."""


@dataclass(frozen=True)
class ArmBrakeParameters(BrakeParameters):
    """Brakes of an arm."""

    brakes: bool = parameter(
        False,
        "The arm has brakes that ~/brake engages after every stop and park; without them both end in a hold"
        " until ~/reset_fault",
        read_only=True,
    )


class Rest(enum.Enum):
    """State of an arm with brakes."""

    RELEASED = "released"
    STOPPING = "stopping: the brakes engage at rest"
    BRAKED = "on its brakes until ~/unpark"
    RISING = "leaving the brakes"


class ArmRest:
    """Brakes of one arm; without any, nothing changes.

    Attributes:
        exists: whether there are brakes.
        state: of the arm.
        brakes: with the efforts' share.

    Args:
        parameters: of the brakes.
        fade: how long efforts fade [s].
    """

    def __init__(self, parameters: ArmBrakeParameters, fade: float) -> None:
        self.exists = parameters.brakes
        self.state = Rest.RELEASED
        self.brakes = Brakes(_timing(parameters, fade))
        self._since = -math.inf

    def use(self, parameters: ArmBrakeParameters, fade: float) -> None:
        """Use other delays from now on."""
        self.brakes.timing = _timing(parameters, fade)

    @property
    def active(self) -> bool:
        """True while the brakes are about to engage or to let go."""
        return self.state in (Rest.STOPPING, Rest.RISING)

    def begin(self) -> None:
        """Begin on engaged brakes, without efforts."""
        self.state, self.brakes = Rest.BRAKED, Brakes(self.brakes.timing, True, self.brakes.reported)

    def rise(self, time: float) -> None:
        """Let the efforts come back and release the brakes."""
        self.state = Rest.RISING
        self.brakes.release(time)

    def advance(self, time: float, latched: bool, rests: bool) -> None:
        """Change the state at ``time`` [s].

        Args:
            time: of the last joint state.
            latched: whether a protective stop is in force.
            rests: whether its reference has come to rest.
        """
        if not self.exists:
            return
        self.brakes.advance(time)
        if latched and self.state in (Rest.RELEASED, Rest.RISING):
            self.state, self._since = Rest.STOPPING, time
        if self.state is Rest.STOPPING and (rests or not 0.0 <= time - self._since < PATIENCE):
            self.state = Rest.BRAKED
            self.brakes.engage(time)
        elif self.state is Rest.RISING and self.brakes.free(time):
            self.state = Rest.RELEASED
            self.brakes.forget()


def _timing(parameters: ArmBrakeParameters, fade: float) -> BrakeTiming:
    return BrakeTiming(parameters.brake_engage_time, parameters.brake_release_time, fade)
