"""Robot descriptions from files: plain URDF, or xacro, which is expanded first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from robot_dynamics.errors import ModelError


def is_xacro(path: Path) -> bool:
    """Whether a file is to be expanded, by its name."""
    return path.suffix == ".xacro"


def expand_xacro(path: Path, arguments: Mapping[str, str] | None = None) -> str:
    """XML text of a xacro file.

    Args:
        path: of the file.
        arguments: values of its ``<xacro:arg>``, by name.

    Raises:
        ModelError: xacro is not installed, or does not understand the file.
    """
    try:
        import xacro
    except ImportError as error:
        raise ModelError(
            f"{path.name} needs xacro, which is not installed: pip install xacro, or the package"
            " ros-$ROS_DISTRO-xacro"
        ) from error
    try:
        return str(xacro.process_file(str(path), mappings=dict(arguments or {})).toxml())
    except Exception as error:  # xacro raises what its parsers and expressions raise
        raise ModelError(f"xacro does not understand {path}: {str(error)[:500]}") from error
