"""The files that an identification leaves."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics.control.arm.actuators import ActuatorParameters
from robot_dynamics.control.arm.contact import ObserverParameters
from robot_dynamics.control.arm.path_rules import IdentifiedRangeParameters
from robot_dynamics.errors import ParameterError
from robot_dynamics.identification.contact_thresholds import observer_parameters
from robot_dynamics.identification.description import identified_urdf
from robot_dynamics.identification.page import page
from robot_dynamics.identification.plausibility import implausibilities
from robot_dynamics.identification.regressor import position_counts
from robot_dynamics.identification.result import Identification
from robot_dynamics.inputs.arrays import real_number, real_vector
from robot_dynamics.inputs.documents import parse_yaml, read_yaml
from robot_dynamics.inputs.files import write_files
from robot_dynamics.model.chain import KinematicChain
from robot_dynamics.parameters import describe

_SIZES = ("velocity", "effort")
_EXPECTED = "/**: ros__parameters: rotor_inertia: [...]"
_EVERYWHERE = 1e3
"""Position that no joint reaches [rad or m]."""


def write_identified(
    found: Identification, source: str | bytes | os.PathLike[str], folder: Path, accept: bool = False
) -> list[Path]:
    """Write result.json and report.html, and identified.urdf and friction.yaml of a plausible result.

    Args:
        found: the result.
        source: the description that the identification started from.
        folder: for the files; it is made if it does not exist.
        accept: write all files of an implausible result too.

    Returns:
        The files that were written.

    Raises:
        ParameterError: the folder or a file cannot be written.
    """
    reasons = implausibilities(found)
    summary = {"implausible": list(reasons), **found.summary()}
    contents: dict[str, str | bytes] = {}
    if accept or not reasons:
        contents["identified.urdf"] = identified_urdf(source, found.chain)
        contents["friction.yaml"] = drive_parameters(found)
    contents["result.json"] = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
    contents["report.html"] = page(found)
    return write_files(folder, contents)


def drive_parameters(found: Identification) -> str:
    """Parameters for every node of the package that knows drives, as a ROS 2 parameter file."""
    known = {**found.friction(), **observer_parameters(found), **tested_ranges(found)}
    document = {"/**": {"ros__parameters": known}}
    joints = ", ".join(found.chain.joint_names)
    return f"# One value a joint, in the order {joints}\n" + yaml.safe_dump(document, sort_keys=False)


def tested_ranges(found: Identification) -> dict[str, list[float]]:
    """Parameters `IdentifiedRangeParameters`; empty where nothing moved.

    A joint whose position changes no effort, such as one with a vertical axis at the base, counts as tested
    everywhere.
    """
    chain, tested = found.chain, found.tested(learned=True).values()
    lower, upper = (np.array([ranges["position"][side] for ranges in tested]) for side in (0, 1))
    speed, effort = (np.array([np.abs(ranges[key]).max() for ranges in tested]) for key in _SIZES)
    if not speed.any():
        return {}
    own = [chain.driving_joint(j).limits for j in range(chain.dof)]
    for j in np.flatnonzero(~position_counts(chain, found.gravity)):
        lower[j] = min(lower[j], max(own[j].lower, -_EVERYWHERE))
        upper[j] = max(upper[j], min(own[j].upper, _EVERYWHERE))
    values = (lower, upper, speed, effort)
    names = (field.name for field in fields(IdentifiedRangeParameters))
    return {name: [float(f"{x:.6g}") for x in row] for name, row in zip(names, values, strict=True)}


def read_drives(path: str, chain: KinematicChain, text: str | None = None) -> ActuatorParameters:
    """The drives in a file that `drive_parameters` has written.

    Args:
        path: of the file.
        chain: whose drives they are.
        text: of the file, where it has been read already; ``path`` then names it in messages.

    Raises:
        ParameterError: there is no rotor_inertia, or a list that does not fit the joints of ``chain``.
    """
    section = _nodes_parameters(path, text)
    if "rotor_inertia" not in section:
        raise ParameterError(f"{path}: no rotor_inertia; expected {_EXPECTED}")
    known = [field.name for field in fields(ActuatorParameters)]
    values = {
        name: tuple(float(x) for x in real_vector(name, section[name], chain.dof, ParameterError))
        for name in known
        if name in section
    }
    parameters = ActuatorParameters(**values)
    parameters.of(chain)
    return parameters


def read_observer(path: str) -> dict[str, Any]:
    """Parameters of the observer of external efforts in a file that `drive_parameters` has written.

    Raises:
        ParameterError: the file has no parameters of a node, or one that is no number or list of numbers.
    """
    section = _nodes_parameters(path, None)
    found: dict[str, Any] = {}
    for about in describe(ObserverParameters):
        if about.name in section and about.array:
            value = section[about.name]
            found[about.name] = tuple(real_vector(about.name, value, np.size(value), ParameterError).tolist())
        elif about.name in section:
            found[about.name] = real_number(about.name, section[about.name], ParameterError)
    return found


def _nodes_parameters(path: str, text: str | None) -> dict[str, Any]:
    """Parameters of every node in a file, or in its text."""
    section: Any
    if text is None:
        section = read_yaml(path, "parameter file", ParameterError)
    else:
        section = parse_yaml(text, path, ParameterError)
    for key in ("/**", "ros__parameters"):
        if not isinstance(section, dict) or key not in section:
            raise ParameterError(f"{path}: no {key}; expected {_EXPECTED}")
        section = section[key]
    if not isinstance(section, dict):
        raise ParameterError(f"{path}: no rotor_inertia; expected {_EXPECTED}")
    return section
