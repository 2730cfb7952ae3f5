"""Configurations of rviz for robots whose frames have a prefix."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from robot_dynamics.errors import ParameterError
from robot_dynamics.inputs.documents import read_yaml

_folders: list[tempfile.TemporaryDirectory[str]] = []
"""What was written; it goes with this process."""


def with_frame_prefix(path: str, prefix: str) -> str:
    """Path of an rviz configuration like the one at ``path``, for frames that begin with ``prefix``.

    Raises:
        ParameterError: the prefix is not one that rviz can show, or the file is no configuration of rviz.
    """
    if not prefix:
        return path
    if not prefix.endswith("/"):
        raise ParameterError(f"frame_prefix is {prefix!r}; rviz shows robots only where it ends in '/'")
    useless = f"{path} cannot be used as a configuration of rviz"
    try:
        configuration = read_yaml(path, "YAML file", lambda reason: ParameterError(f"{useless}: {reason}"))
        manager = configuration["Visualization Manager"]
        manager["Global Options"]["Fixed Frame"] = prefix + manager["Global Options"]["Fixed Frame"]
        for display in manager["Displays"]:
            if display["Class"] == "rviz_default_plugins/RobotModel":
                display["TF Prefix"] = prefix.rstrip("/")
    except (KeyError, TypeError, AttributeError) as error:
        raise ParameterError(f"{useless}: {error!r}") from error
    folder = tempfile.TemporaryDirectory(prefix="robot_dynamics_rviz_")
    _folders.append(folder)
    changed = Path(folder.name) / Path(path).name
    changed.write_text(yaml.safe_dump(configuration, sort_keys=False), encoding="utf-8")
    return str(changed)
