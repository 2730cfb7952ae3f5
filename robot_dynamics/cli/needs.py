"""What a command needs beyond the library's own dependencies: looked for before it has begun to work."""

from __future__ import annotations

import importlib
import importlib.util
import sys

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.interrupts import ended_by_sigint

EXTRAS = {
    "rclpy": "ros",
    "mujoco": "simulation",
    "matplotlib": "plots",
    "viser": "view",
    "jinja2": "report",
    "sympy": "report",
    "scipy": "identification",
    "cvxpy": "identification",
    "clarabel": "identification",
    "rosbags": "identification",
}
"""The extra of this package that brings a module."""


def need(what: str, *modules: str) -> None:
    """Raise where something is missing, in one line that says what to install.

    Args:
        what: the command or a part of it, as a plural or singular subject that "needs" follows.
        modules: of :data:`EXTRAS`, as many as it needs.

    Raises:
        RobotDynamicsError: some cannot be found; rclpy cannot be imported.
    """
    missing = [name for name in modules if name != "rclpy" and importlib.util.find_spec(name) is None]
    reasons = [", ".join(missing)] if missing else []
    if "rclpy" in modules:
        try:
            with ended_by_sigint():
                importlib.import_module("rclpy")
        except ImportError as error:
            missing.insert(0, "rclpy")
            # rclpy tells at length of libraries that it did not find.
            reasons.insert(0, f"rclpy ({str(error).splitlines()[0]})")
    if not missing:
        return
    extras = ",".join(dict.fromkeys(EXTRAS[name] for name in missing))
    sourced = "source the setup file of a ROS 2 installation, or " if "rclpy" in missing else ""
    raise RobotDynamicsError(
        f"{what} needs {' and '.join(reasons)}, which cannot be imported: {sourced}install from PyPI with"
        f" {sys.executable} -m pip install 'robot_dynamics[{extras}]'"
    )
