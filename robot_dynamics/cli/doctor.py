"""``robot_dynamics doctor``: check of this computer, one line for each part, with the remedy."""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import robot_dynamics
from robot_dynamics.cli.chain_source import add_chain_arguments, chain_of
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.extras import EXTRAS, install_command, lacking
from robot_dynamics.native.compiler import find_compiler
from robot_dynamics.native.fast_call import load_fast_calls
from robot_dynamics.resources import environment_of_programs

MODULES = {**EXTRAS, "xacro": "view", "collada": "view"}
"""Optional modules and the extra that brings each; rclpy has a check of its own."""
SYS_NICE = 23
"""Bit of CAP_SYS_NICE in a process' capabilities."""
MIDDLEWARE = "RMW_IMPLEMENTATION"
"""Variable that chooses the middleware of ROS 2."""
OK, NOTE, FAULT = "ok", "note", "FAULT"
Line = tuple[str, str]
"""State and text."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_chain_arguments(parser, optional=True)
    parser.epilog = (
        f"A line begins with {OK}, with {NOTE} where something optional is missing, or with {FAULT}."
        f" The exit code is 1 where a line begins with {FAULT}."
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the lines; returns 1 where something that every robot needs is at fault."""
    checks: dict[str, Callable[[], Line]] = {
        "package": _package,
        "C compiler": _compiler,
        "library calls": _calls,
        "control core": _core,
        "ROS 2": _ros,
        "control thread": _thread,
        "real-time rights": _rights,
    }
    if arguments.urdf is not None:
        checks["chain"] = lambda: (OK, chain_of(arguments, announced=False).description())
    faults = 0
    for subject, check in checks.items():
        try:
            state, text = check()
        except (RobotDynamicsError, ImportError, OSError) as error:
            state, text = FAULT, " ".join(str(error).split())
        faults += state == FAULT
        print(f"{state:6}{subject:18}{text}", flush=True)
    for state, text in _extras():
        print(f"{state:6}{'optional':18}{text}")
    return 1 if faults else 0


def _package() -> Line:
    folder = Path(robot_dynamics.__file__).parent
    return OK, f"robot_dynamics {robot_dynamics.__version__} in {folder}, Python {sys.version.split()[0]}"


def _compiler() -> Line:
    return OK, " ".join(find_compiler().command)


def _calls() -> Line:
    if load_fast_calls() is None:
        return NOTE, "through ctypes, which is slower: the log gives the reason at level INFO"
    return OK, "in C"


def _core() -> Line:
    importlib.import_module("robot_dynamics.control.core.library").load_core()
    return OK, "in C"


def _ros() -> Line:
    try:
        middleware = _middleware()
    except RobotDynamicsError as error:
        return FAULT if os.environ.get(MIDDLEWARE) else NOTE, str(error)
    names = {"ROS_DISTRO": "from PyPI", "ROS_DOMAIN_ID": "0"}
    distribution, domain = (os.environ.get(name, default) for name, default in names.items())
    return OK, f"{distribution}, {middleware}, domain {domain}"


@cache
def _middleware() -> str:
    """Middleware that rclpy loads, looked at by another process: rcl ends one that asks for a missing one.

    Raises:
        RobotDynamicsError: rclpy does not load.
    """
    program = "import rclpy; print(rclpy.get_rmw_implementation_identifier())"
    tried = subprocess.run(
        [sys.executable, "-c", program], env=environment_of_programs(), capture_output=True, text=True
    )
    if tried.returncode == 0:
        return tried.stdout.split()[-1]
    reason = (tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"])[-1]
    wanted = os.environ.get(MIDDLEWARE)
    if not wanted:
        raise RobotDynamicsError(lacking("a node needs", "rclpy", reason=reason))
    package = f"ros-$ROS_DISTRO-{wanted.replace('_', '-')}"
    raise RobotDynamicsError(
        f"rclpy does not load with {MIDDLEWARE}={wanted}: unset that variable, or install {package}"
        f" ({reason})"
    )


def _thread() -> Line:
    try:
        _middleware()
    except RobotDynamicsError:
        return NOTE, "needs ROS 2"
    try:
        importlib.import_module("rclpy")  # the thread is compiled for the rcl that it loads
        importlib.import_module("robot_dynamics.ros.control.native.library").load_node()
    except (RobotDynamicsError, ImportError, OSError) as error:
        reason = " ".join(str(error).split())
        return NOTE, f"the loop in C runs in the node's Python thread (native_loop: off): {reason}"
    return OK, "the loop in C runs in a thread over rcl"


def _rights() -> Line:
    priority = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    if priority != 0 or _capable(SYS_NICE):
        return OK, "SCHED_FIFO is allowed: realtime_priority takes effect"
    return NOTE, (
        "SCHED_FIFO is not allowed, realtime_priority has no effect: write '@realtime - rtprio 98' to"
        " /etc/security/limits.d/realtime.conf, join the group realtime, and log in again"
    )


def _capable(bit: int) -> bool:
    """Return whether this process has a capability."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False
    effective = [line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return bool(effective) and bool(int(effective[0], 16) >> bit & 1)


def _extras() -> Iterator[Line]:
    """One line for each extra: its modules' versions, or the command that installs it."""
    for extra in dict.fromkeys(MODULES.values()):
        modules = [name for name, brought_by in MODULES.items() if brought_by == extra and name != "rclpy"]
        missing = [name for name in modules if find_spec(name) is None]
        if missing:
            yield NOTE, f"{extra}: without {', '.join(missing)}; install with {install_command(extra)}"
        elif modules:
            yield OK, f"{extra}: {', '.join(f'{name} {_version(name)}'.strip() for name in modules)}"


def _version(module: str) -> str:
    """Version of the distribution that brings a module; empty where it is unknown."""
    distributions = _distributions().get(module, [])
    return metadata.version(distributions[0]) if distributions else ""


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Distributions by the modules that they bring; it takes a look at every installed file."""
    return metadata.packages_distributions()
