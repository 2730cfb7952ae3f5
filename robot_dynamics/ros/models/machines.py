"""Stewart platforms as nodes get them: from a YAML file."""

from __future__ import annotations

import warnings
from pathlib import Path

from robot_dynamics import stewart
from robot_dynamics.errors import ParameterError, RobotDynamicsError
from robot_dynamics.inputs.files import exists, is_regular
from robot_dynamics.resources import resource

LONGEST_NAME = 100
"""Of a platform in the package; no file system takes much longer ones."""


def load_machine(name: str) -> tuple[stewart.StewartPlatform, list[str]]:
    """The machine of a path or of a name in the package, and what its loading warns of.

    Raises:
        RobotDynamicsError: there is no such file, or it does not describe a machine.
    """
    path = Path(name)
    if not is_regular(path):
        if path.suffix or path.name != name or len(name) > LONGEST_NAME:
            lacks = "is no regular file" if exists(path) else "does not exist"
            raise ParameterError(f"parameter 'machine': {name} {lacks}")
        path = resource(f"config/{name}.yaml")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            platform = stewart.load(path)
        except RobotDynamicsError as error:
            raise ParameterError(f"parameter 'machine': {path} cannot be used: {error}") from error
    return platform, [str(warning.message) for warning in caught]
