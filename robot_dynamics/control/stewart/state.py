"""Where a Stewart platform is, as its legs tell, and what is known of its load."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.stewart.trajectory import at_rest
from robot_dynamics.errors import SingularityError
from robot_dynamics.spatial import Array
from robot_dynamics.stewart import Machine, Motion
from robot_dynamics.stewart.kinematics import leg_geometry
from robot_dynamics.stewart.tracking import PoseTracker

NO_WRENCH = np.zeros(6)
LEFT_ALONE = 2.0
"""Beyond so many times the limit of the condition number nothing is controlled any more; between the two the
watch acts."""


class TaskSpaceState:
    """Pose, twist and external wrench; one object that follows the platform.

    Attributes:
        pose: pose and twist of the platform.
        time: of the state [s].
        lengths: (6,) of the legs [m].
        wrench: (6,) external force [N] and moment about the platform's origin [N·m], platform frame.
    """

    def __init__(self, machine: Machine) -> None:
        self.pose = PoseTracker(machine)
        self.time = -np.inf
        self.lengths: Array = leg_geometry(machine, machine.home_position, machine.home_rotation).lengths
        self.wrench: Array = NO_WRENCH


class TaskSpaceObserver:
    """Forward kinematics of the measured leg lengths, each pose searched from the one before.

    Args:
        machine: the platform; it is at home until the first state.
        zero_lengths: (6,) leg lengths at which the joint positions are zero [m].
    """

    def __init__(self, machine: Machine, zero_lengths: Array) -> None:
        self.state = TaskSpaceState(machine)
        self._limit = machine.condition_limit
        self._zero = zero_lengths
        self._wrench, self._wrench_until = NO_WRENCH, -np.inf

    def set_wrench(self, wrench: Array, until: float) -> None:
        """The platform bears ``wrench`` (6,), platform frame, and after ``until`` [s] none."""
        self._wrench, self._wrench_until = wrench, until

    def update(self, time: float, position: Array, velocity: Array) -> TaskSpaceState:
        """Take joint positions (6,) [m] and leg rates (6,) [m/s] at ``time`` [s].

        Raises:
            StateError: no pose near the last one has these leg lengths.
            SingularityError: the platform is in a singular pose, or its condition number is beyond
                ``LEFT_ALONE`` times the machine's limit.
        """
        state = self.state
        state.wrench = self._wrench if time <= self._wrench_until else NO_WRENCH
        lengths = position + self._zero
        state.pose.update(lengths, velocity)
        state.lengths = lengths
        state.time = time
        if not state.pose.conditioned(LEFT_ALONE * self._limit):
            raise SingularityError(
                f"the condition number is {state.pose.condition_number:.3g}, beyond the limit of"
                f" {self._limit:g} more than {LEFT_ALONE:g} times: too near to a singular pose"
            )
        return state

    def at_rest(self) -> Motion:
        """The reference that holds the platform where it is."""
        return at_rest(self.state.pose.position, self.state.pose.rotation)
