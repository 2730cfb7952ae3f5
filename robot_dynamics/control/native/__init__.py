"""The control core in C: the same cycle as ``robot_dynamics.control.core``, without Python in it."""
