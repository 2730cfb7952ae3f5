"""The part of a Stewart platform in the control core, bound by ``robot_dynamics.control.stewart``."""
