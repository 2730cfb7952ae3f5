"""Places of the package's robots, configurations and launch files are, however it was installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError

PACKAGE = "robot_dynamics"


def share_directory() -> Path:
    """The directory that holds ``urdf``, ``config`` and ``launch``.

    It is the source tree of a development install, the share directory of a ROS 2 workspace, or the one of
    the Python environment.

    Raises:
        RobotDynamicsError: none of these has them.
    """
    tried = [Path(__file__).resolve().parent.parent]
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    tried += [Path(prefix) / "share" / PACKAGE for prefix in prefixes if prefix]
    for candidate in tried:
        if (candidate / "package.xml").is_file() and (candidate / "urdf").is_dir():
            return candidate
    raise RobotDynamicsError(
        f"the package's data files were not found; looked in {', '.join(map(str, tried))}"
    )


def environment_of_programs() -> dict[str, str]:
    """Variables for a Python that this process starts: it finds the modules that this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def resource(path: str) -> Path:
    """The file ``path`` of the package, e.g. ``urdf/puma560.urdf``.

    Raises:
        RobotDynamicsError: there is no such file; the message lists those beside it.
    """
    file = share_directory() / path
    if not file.is_file():
        there = sorted(p.name for p in file.parent.glob("*")) if file.parent.is_dir() else []
        raise RobotDynamicsError(
            f"{file} does not exist; {file.parent.name} has {', '.join(there) or 'nothing'}"
        )
    return file
