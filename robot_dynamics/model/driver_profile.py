"""Driver profiles: the meaning of efforts on a robot's driver, from ``config/drivers/*.yaml``.

A profile states who compensates gravity, what the effort states are, rates and limits. Each statement comes
from the driver's own sources, which the file cites, or its key is listed under ``unverified``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from robot_dynamics.errors import ModelError, quoted
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.records import a, check_fields, not_negative, several, text
from robot_dynamics.resources import share_directory

_FOLDER = "config/drivers"


@dataclass(frozen=True)
class EffortCommand:
    """Effect of an effort command in the driver.

    Attributes:
        obeyed: the driver applies efforts; false: it may accept them, but has no effect.
        interfaces: command interfaces of ros2_control that efforts need; empty: the driver has none.
        gravity: who carries the weight of the robot: ``controller`` or ``robot``.
        payload: who carries the weight of the payload, likewise.
        payload_service: service that sets the payload of the robot; empty: none.
        friction: compensation in the drive: ``none``, ``partial``, ``adjustable`` or ``unknown``.
        torque_rate_limit: largest change of a joint's effort [N·m/s]; 0: none is known.
    """

    obeyed: bool
    interfaces: tuple[str, ...]
    gravity: str
    payload: str
    payload_service: str
    friction: str
    torque_rate_limit: float

    def __post_init__(self) -> None:
        who = _one_of("controller", "robot")
        check_fields(
            self,
            {
                "obeyed": a(bool),
                "interfaces": several(text),
                "gravity": who,
                "payload": who,
                "payload_service": text,
                "friction": _one_of("none", "partial", "adjustable", "unknown"),
                "torque_rate_limit": not_negative,
            },
        )


@dataclass(frozen=True)
class EffortState:
    """Effort that the driver reports.

    Attributes:
        quantity: ``torque``, ``current`` or ``none``.
        side: of the gear where it is measured: ``link``, ``motor`` or ``unknown``.
        gravity: weight of the robot in it: ``included``, ``removed`` or ``unknown``.
    """

    quantity: str
    side: str
    gravity: str

    def __post_init__(self) -> None:
        check_fields(
            self,
            {
                "quantity": _one_of("torque", "current", "none"),
                "side": _one_of("link", "motor", "unknown"),
                "gravity": _one_of("included", "removed", "unknown"),
            },
        )


@dataclass(frozen=True)
class DriverProfile:
    """A driver as its profile states it.

    Attributes:
        name: of the profile.
        title: of the driver.
        version: of the driver that the profile was checked with; empty: any.
        sources: file and version of the driver for each group of statements.
        command: effort commands.
        state: effort states.
        rate: of the driver's control loop [Hz]; 0: the controller manager's.
        activation: behaviour of the hardware when it is activated.
        silence: behaviour of the hardware when commands stop.
        traps: known pitfalls.
        unverified: keys whose value no source confirmed, such as ``state.side``.
    """

    name: str
    title: str
    version: str
    sources: tuple[str, ...]
    command: EffortCommand
    state: EffortState
    rate: float
    activation: str
    silence: str
    traps: tuple[str, ...]
    unverified: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(
            self,
            {
                **dict.fromkeys(("name", "title", "version", "activation", "silence"), text),
                **dict.fromkeys(("sources", "traps", "unverified"), several(text)),
                "command": a(EffortCommand),
                "state": a(EffortState),
                "rate": not_negative,
            },
        )
        known = _keys()
        for key in self.unverified:
            if key not in known:
                raise ModelError(f"unverified has {quoted(key)}; it must be one of {', '.join(known)}")


def driver_names() -> tuple[str, ...]:
    """Names of the profiles that the package has."""
    return tuple(sorted(path.stem for path in (share_directory() / _FOLDER).glob("*.yaml")))


def load_driver(driver: str | os.PathLike[str]) -> DriverProfile:
    """The profile of this name, or the one in a file.

    Args:
        driver: name of a profile of the package, or the path of a file that ends with ``.yaml``.

    Raises:
        ModelError: no such profile, or a faulty one; the message names the key.
    """
    name = os.fspath(driver)
    if not name.endswith(".yaml"):
        if name not in driver_names():
            raise ModelError(
                f"there is no driver profile {quoted(name)}; choose from {', '.join(driver_names())},"
                " or give the path of a .yaml file"
            )
        driver = share_directory() / _FOLDER / f"{name}.yaml"
    try:
        profile: DriverProfile = _made(DriverProfile, read_yaml(driver, "driver profile"), "")
    except ModelError as error:
        raise ModelError(f"driver profile {quoted(str(driver))}: {error}") from None
    return profile


def _made(kind: Any, given: Any, place: str) -> Any:
    """A record from a mapping that has its keys and no others."""
    if not isinstance(given, Mapping):
        raise ModelError(f"{place.rstrip('.')} is {quoted(given)}; it must be a mapping")
    names = [field.name for field in fields(kind)]
    for key in given:
        if key not in names:
            raise ModelError(
                f"key {quoted(f'{place}{key}')} is unknown; it must be one of {', '.join(names)}"
            )
    for name in names:
        if name not in given:
            raise ModelError(f"key '{place}{name}' is missing")
    parts = {"command": EffortCommand, "state": EffortState} if kind is DriverProfile else {}
    return kind(**{n: _made(parts[n], given[n], f"{n}.") if n in parts else _tuple(given[n]) for n in names})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _keys() -> list[str]:
    own = [field.name for field in fields(DriverProfile) if field.name not in ("command", "state")]
    parts = (("command", EffortCommand), ("state", EffortState))
    return own + [f"{part}.{field.name}" for part, kind in parts for field in fields(kind)]


def _one_of(*choices: str) -> Any:
    def check(name: str, value: Any, error: type[ModelError]) -> str:
        if value not in choices:
            raise error(f"{name} is {quoted(value)}; it must be one of {', '.join(choices)}")
        return str(value)

    return check
