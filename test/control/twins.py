"""A controller in Python and its twin in C under the same calls."""

from __future__ import annotations

from typing import Any

from robot_dynamics.errors import RobotDynamicsError, TrajectoryError


class CalledAlike:
    """Calls every method that it has not itself on both, and compares what they answer.

    Attributes:
        python, native: the twins.
        no_effort: raised by them where the model has no effort for a state.
    """

    python: Any
    native: Any
    no_effort: type[RobotDynamicsError] = RobotDynamicsError

    def __getattr__(self, name):
        def both(*arguments):
            outcomes = [self._outcome(twin, name, arguments) for twin in (self.python, self.native)]
            if name == "update" and outcomes[0] == "no effort":
                assert outcomes[1] == "no effort"
                self.lost_states()  # as whoever runs the cycle does
            self.compare(*outcomes)
            return outcomes[0]

        return both

    def _outcome(self, twin, name, arguments):
        try:
            return getattr(twin, name)(*arguments)
        except TrajectoryError as error:
            return str(error)
        except self.no_effort:
            return "no effort"

    def set_parameters(self, parameters):
        """Of both."""
        self.python.parameters = parameters
        self.native.parameters = parameters

    def compare(self, expected, reached):
        """Fail unless both have answered alike, and are alike now."""
        raise NotImplementedError
