"""Robot descriptions from files: plain URDF, or xacro, which is expanded first."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.inputs.files import open_regular


def is_xacro(path: Path) -> bool:
    """Whether a file is to be expanded, by its name."""
    return path.suffix == ".xacro"


def expand_xacro(path: Path, arguments: Mapping[str, str] | None = None) -> str:
    """XML text of a xacro file.

    Args:
        path: of the file.
        arguments: values of its ``<xacro:arg>``, by name.

    Raises:
        ModelError: it is no regular file, xacro is not installed, does not understand the file, or never asks
            for an argument.
    """
    open_regular(path, "xacro file").close()  # xacro would wait for a FIFO's writer
    given = _Asked(arguments or {})
    try:
        import xacro
    except ImportError as error:
        raise ModelError(
            f"{path.name} needs xacro, which is not installed: pip install xacro, or the package"
            " ros-$ROS_DISTRO-xacro"
        ) from error
    try:
        text = str(xacro.process_file(str(path), mappings=given).toxml())
    except Exception as error:  # xacro raises what its parsers and expressions raise
        reason = " ".join(str(error).split())
        raise ModelError(
            f"xacro does not understand {path}: {reason[:300] or type(error).__name__}"
        ) from error
    for name in arguments or {}:
        if name not in given.asked:
            nearest = difflib.get_close_matches(name, given.asked, n=1)
            instead = f"did you mean {nearest[0]}?" if nearest else f"it has {_named(given.asked)}"
            raise ModelError(f"{path.name} has no argument {quoted(name)}; {instead}")
    return text


def _named(arguments: set[str]) -> str:
    return ", ".join(sorted(arguments)) or "none"


class _Asked(dict[str, str]):
    """The arguments of a xacro file, which remember the names that it declares or uses."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)
