"""Every error that the package raises on purpose.

A message names what is wrong (the link, joint, parameter or file), where it is, and what would be right.
"""


class RobotDynamicsError(Exception):
    """Base of every error raised on purpose by this package."""


class ModelError(RobotDynamicsError):
    """A robot description or a mechanism's parameters cannot be used."""


class ModelWarning(UserWarning):
    """A robot description can be used, but probably does not say what its author meant."""


class StewartModelWarning(ModelWarning):
    """A machine is used although its parameters are those of no real one."""


class ConversionError(ModelError):
    """A kinematic conversion does not reproduce the original within its tolerance."""


class StateError(RobotDynamicsError, ValueError):
    """Joint values, velocities, accelerations or wrenches of a wrong shape, or not finite."""


class LimitError(StateError):
    """A leg outside its stroke, its joint angles, its speed or its force."""


class LimitWarning(UserWarning):
    """A leg outside its limits or a pose near a singularity, where the caller asked for a warning only."""


class ParameterError(RobotDynamicsError, ValueError):
    """A parameter outside its legal values."""


class TrajectoryError(RobotDynamicsError, ValueError):
    """A trajectory that cannot be executed."""


class SingularityError(RobotDynamicsError):
    """A configuration in which the mechanism cannot carry the load with finite forces."""


class BackendError(RobotDynamicsError):
    """The machinery that turns a model into code (compiler, cache) failed."""
