"""Optional packages: which extra of this package brings a module, and the command that installs the extra."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata
from pathlib import Path

PACKAGE = "robot_dynamics"
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
"""The extra that brings a module."""
CLONE = Path(__file__).resolve().parent.parent


def lacking(need: str, *modules: str, reason: str = "") -> str:
    """Message about optional modules that cannot be imported, with the command that installs them.

    Args:
        need: subject and verb, such as "plots need".
        modules: names of the modules, each one of :data:`EXTRAS`.
        reason: why they cannot be imported, where that is known.
    """
    extras = dict.fromkeys(EXTRAS[module] for module in modules)
    sourced = "source the setup file of a ROS 2 installation, or " if "rclpy" in modules else ""
    return (
        f"{need} {' and '.join(modules)}, which cannot be imported{f' ({reason})' if reason else ''}:"
        f" {sourced}install from PyPI with {install_command(*extras)}"
    )


def install_command(*extras: str) -> str:
    """Command line that installs extras of this package from PyPI and works in every folder.

    No package index has this package itself. So the command names the clone that this package is imported
    from, or, where there is none, the requirements of the extras.
    """
    pip = f"{shlex.quote(sys.executable)} -m pip install"
    if (CLONE / "setup.py").is_file():
        clone = f"{CLONE}[{','.join(extras)}]"
        return f"{pip} -e {shlex.quote(clone)}"
    return " ".join([pip, *map(shlex.quote, requirements(*extras))])


def requirements(*extras: str) -> list[str]:
    """Requirements of the extras, as the installed package's metadata declare them."""
    split = [line.partition(";") for line in metadata.requires(PACKAGE) or []]
    return [
        requirement.strip()
        for requirement, _, marker in split
        if any(f'extra == "{extra}"' in marker.replace("'", '"') for extra in extras)
    ]
