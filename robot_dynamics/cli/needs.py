"""Check of the optional packages that a command needs, before the command begins to work."""

from __future__ import annotations

import importlib
import importlib.util

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import lacking
from robot_dynamics.interrupts import ended_by_sigint


def need(what: str, *modules: str) -> None:
    """Raise where a module is missing, in one line with the command that installs it.

    Args:
        what: the command or a part of it, as a singular subject.
        modules: names of modules, each one of :data:`robot_dynamics.extras.EXTRAS`.

    Raises:
        RobotDynamicsError: a module cannot be found, or rclpy cannot be imported.
    """
    missing = [name for name in modules if name != "rclpy" and importlib.util.find_spec(name) is None]
    reason = ""
    if "rclpy" in modules:
        try:
            with ended_by_sigint():
                importlib.import_module("rclpy")
        except ImportError as error:
            missing.insert(0, "rclpy")
            # The rest of the message lists the folders in which rclpy looked for its libraries.
            reason = str(error).splitlines()[0]
    if missing:
        raise RobotDynamicsError(lacking(f"{what} needs", *missing, reason=reason))
