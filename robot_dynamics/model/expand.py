"""Robot descriptions from files: plain URDF, or xacro, which is expanded first."""

from __future__ import annotations

import difflib
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.inputs.files import open_regular
from robot_dynamics.model.expander import NOT_INSTALLED
from robot_dynamics.resources import environment_of_programs

LONGEST, LARGEST = 30, 4 * 2**30
"""Processor time [s] and memory [B] of an expansion; the largest known descriptions take a tenth."""
PATIENCE = 300.0
"""For a file that includes one which nobody writes [s]."""


def is_xacro(path: Path) -> bool:
    """Return whether a file name is that of a xacro file."""
    return path.suffix == ".xacro"


def expand_xacro(path: Path, arguments: Mapping[str, str] | None = None) -> str:
    """XML text of a xacro file.

    Args:
        path: of the file.
        arguments: values of its ``<xacro:arg>``, by name.

    Raises:
        ModelError: it is no regular file, xacro is not installed, does not understand the file or is not done
            with it in time, or it never asks for an argument.
    """
    open_regular(path, "xacro file").close()  # xacro would wait for a FIFO's writer
    answer = _ask_expander(path, arguments or {})
    if answer.get("error") == NOT_INSTALLED:
        raise ModelError(
            f"{path.name} needs xacro, which is not installed: {sys.executable} -m pip install xacro,"
            " or the package ros-$ROS_DISTRO-xacro"
        )
    if "error" in answer:
        raise ModelError(f"xacro does not understand {path}: {answer['error']}")
    asked = answer["asked"]
    for name in arguments or {}:
        if name not in asked:
            nearest = difflib.get_close_matches(name, asked, n=1)
            instead = f"did you mean {nearest[0]}?" if nearest else f"it has {', '.join(asked) or 'none'}"
            raise ModelError(f"{path.name} has no argument {quoted(name)}; {instead}")
    return str(answer["text"])


def _ask_expander(path: Path, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Output of :mod:`robot_dynamics.model.expander` for the file."""
    command = [sys.executable, "-m", "robot_dynamics.model.expander"]
    try:
        ended = subprocess.run(
            command,
            input=json.dumps([str(path), dict(arguments), LONGEST, LARGEST]),
            env=environment_of_programs(),
            stdout=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"it is not done after {PATIENCE:.0f} s"}
    except OSError as error:
        raise ModelError(f"{path.name} needs {sys.executable} to expand it: {error.strerror}") from error
    if -ended.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return {"error": f"it is not done after {LONGEST} s of processor time"}
    if ended.returncode:
        return {"error": f"Python ended over it, with code {ended.returncode}"}
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer
