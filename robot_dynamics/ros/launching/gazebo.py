"""Gazebo's world, and where in it a machine is put."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from transforms3d.euler import euler2mat

from robot_dynamics.errors import ParameterError, quoted
from robot_dynamics.inputs.arrays import real_number
from robot_dynamics.resources import resource

GRAVITY = (0.0, 0.0, -9.81)
"""In the axes of ``urdf/world.sdf`` [m/s²]."""
_POSE = ("x", "y", "z", "roll", "pitch", "yaw")


def world_path(given: Mapping[str, str]) -> str:
    """The SDF file that ``world`` names, or this package's; a bare name is Gazebo's to find.

    Raises:
        ParameterError: there is no such file.
    """
    if not given["world"]:
        return str(resource("urdf/world.sdf"))
    path = Path(given["world"])
    if path.is_file():
        return str(path.resolve())
    if len(path.parts) > 1:
        raise ParameterError(f"argument 'world': {path} does not exist")
    return given["world"]


def spawn_pose(given: Mapping[str, str]) -> list[float]:
    """The numbers of ``spawn_pose``: x, y, z [m], roll, pitch, yaw [rad].

    Raises:
        ParameterError: they are not six numbers.
    """
    words = given["spawn_pose"].split()
    if len(words) != len(_POSE):
        raise ParameterError(
            f"argument 'spawn_pose' is {quoted(given['spawn_pose'])};"
            f" it must be six numbers: {' '.join(_POSE)}"
        )
    where = "argument 'spawn_pose'"
    return [
        real_number(f"{where}: {name}", _number(word), ParameterError)
        for name, word in zip(_POSE, words, strict=True)
    ]


def _number(word: str) -> object:
    try:
        return float(word)
    except ValueError:
        return word


def placed(given: Mapping[str, str], name: str) -> list[str]:
    """Arguments of ``ros_gz_sim``'s program ``create``: name and pose of a machine."""
    flags = ("-x", "-y", "-z", "-R", "-P", "-Y")
    values = [f"{value:.17g}" for value in spawn_pose(given)]
    pose = [word for pair in zip(flags, values, strict=True) for word in pair]
    return ["-name", given["entity"] or name, *pose]


def tilted_gravity(given: Mapping[str, str]) -> dict[str, list[float]]:
    """The parameter ``gravity`` of a machine that ``spawn_pose`` tilts, in its root link's axes [m/s²]."""
    roll, pitch, yaw = spawn_pose(given)[3:]
    if roll == pitch == 0.0:
        return {}
    down = euler2mat(roll, pitch, yaw, "sxyz").T @ np.array(GRAVITY)
    return {"gravity": down.tolist()}
