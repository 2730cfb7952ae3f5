"""Stewart platforms: exact actuator forces, joint reactions, kinematics, forward dynamics and paths:

    from robot_dynamics import stewart

    platform = stewart.load("config/stewart_demo.yaml")
    result = platform.inverse_dynamics(position, orientation, linear_velocity, angular_velocity,
                                       linear_acceleration, angular_acceleration)
    result.actuator_forces  # (6,) [N]

A force is positive when the leg pushes.
"""

from robot_dynamics.errors import LimitError, LimitWarning, StewartModelWarning
from robot_dynamics.stewart.checks import Violation, Violations
from robot_dynamics.stewart.compiled import CompiledStewart, pack
from robot_dynamics.stewart.dynamics import State, TaskSpaceDynamics
from robot_dynamics.stewart.inverse_dynamics import InverseDynamics
from robot_dynamics.stewart.kinematics import LegGeometry, PoseEstimate
from robot_dynamics.stewart.machine import Drive, JointFriction, Leg, LegLimits, Machine, Spring
from robot_dynamics.stewart.motion import Motion
from robot_dynamics.stewart.newton_euler import Reactions
from robot_dynamics.stewart.path_bounds import Pieces
from robot_dynamics.stewart.paths import PlatformPath, PolynomialPath, StraightLine, straight_line
from robot_dynamics.stewart.platform import StewartPlatform, load

__all__ = [
    "CompiledStewart",
    "Drive",
    "InverseDynamics",
    "JointFriction",
    "Leg",
    "LegGeometry",
    "LegLimits",
    "LimitError",
    "LimitWarning",
    "Machine",
    "Motion",
    "Pieces",
    "PlatformPath",
    "PolynomialPath",
    "PoseEstimate",
    "Reactions",
    "Spring",
    "State",
    "StewartModelWarning",
    "StewartPlatform",
    "StraightLine",
    "TaskSpaceDynamics",
    "Violation",
    "Violations",
    "load",
    "pack",
    "straight_line",
]
