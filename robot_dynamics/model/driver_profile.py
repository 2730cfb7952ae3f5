"""Driver profiles: the meaning of efforts on a robot's driver, from ``config/drivers/*.yaml``.

A profile states who compensates gravity and friction, what the effort states are, rates and limits. Each
statement comes from the driver's own sources, which the file cites, or its key is listed under
``unverified``. It is the only place that states this: nodes, launch files, ``identify`` and ``generate`` read
it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from robot_dynamics.errors import ModelError, ParameterError, RobotDynamicsError, quoted
from robot_dynamics.inputs.documents import read_yaml
from robot_dynamics.inputs.records import a, check_fields, not_negative, positive, several, text
from robot_dynamics.parameters import per_joint
from robot_dynamics.resources import share_directory
from robot_dynamics.spatial import Array

WITHOUT_FEEDBACK = ("feedforward", "gravity_compensation")
"""Control laws without gains, for drives that have a loop of their own."""
_FOLDER = "config/drivers"
_COMMANDS = ("position", "velocity", "effort")


@dataclass(frozen=True)
class EffortCommand:
    """Effect of an effort command in the driver.

    Attributes:
        obeyed: the driver applies efforts; false: it may accept them, but has no effect.
        interfaces: command interfaces of ros2_control that efforts need; empty: the driver has none.
        quantity: ``torque`` [N·m or N], ``current`` of the motor, or ``none``.
        drive_loop: the drive adds kp·(q_d - q) + kd·(q̇_d - q̇), with gains of its own, to the effort.
        gravity: who carries the weight of the robot: ``controller`` or ``robot``.
        payload: who carries the weight of the payload, likewise.
        payload_service: service that sets the payload of the robot; empty: none.
        friction: compensation in the drive: ``none``, ``partial``, ``adjustable`` or ``unknown``.
        viscous_left: share of viscous friction that the drive leaves, one per joint or one for all; empty: 1.
        coulomb_left: share of dry friction that the drive leaves, likewise.
        torque_limits: largest efforts, one per joint [N·m or N]; empty: those of the description.
        torque_rate_limit: largest change of a joint's effort [N·m/s]; 0: none is known.
    """

    obeyed: bool
    interfaces: tuple[str, ...]
    quantity: str
    drive_loop: bool
    gravity: str
    payload: str
    payload_service: str
    friction: str
    viscous_left: tuple[float, ...]
    coulomb_left: tuple[float, ...]
    torque_limits: tuple[float, ...]
    torque_rate_limit: float

    def __post_init__(self) -> None:
        who = _one_of("controller", "robot")
        check_fields(
            self,
            {
                "obeyed": a(bool),
                "interfaces": several(_one_of(*_COMMANDS)),
                "quantity": _one_of("torque", "current", "none"),
                "drive_loop": a(bool),
                "gravity": who,
                "payload": who,
                "payload_service": text,
                "friction": _one_of("none", "partial", "adjustable", "unknown"),
                **dict.fromkeys(("viscous_left", "coulomb_left"), several(_share)),
                "torque_limits": several(positive),
                "torque_rate_limit": not_negative,
            },
        )
        if self.obeyed != ("effort" in self.interfaces) or self.obeyed != (self.quantity != "none"):
            raise ModelError(
                f"obeyed of a command is {self.obeyed}, its interfaces are {list(self.interfaces)} and its"
                f" quantity is {self.quantity}: obeyed efforts need the interface effort and a quantity"
            )
        if self.drive_loop and "position" not in self.interfaces:
            raise ModelError("drive_loop of a command is True: the loop needs the interface position")


@dataclass(frozen=True)
class EffortState:
    """Effort that the driver reports.

    Attributes:
        interfaces: state interfaces of the joints in ros2_control.
        quantity: ``torque``, ``current`` or ``none``.
        side: of the gear where it is measured: ``link``, ``motor`` or ``unknown``.
        gravity: weight of the robot in it: ``included``, ``removed`` or ``unknown``.
    """

    interfaces: tuple[str, ...]
    quantity: str
    side: str
    gravity: str

    def __post_init__(self) -> None:
        check_fields(
            self,
            {
                "interfaces": several(_one_of("position", "velocity", "effort")),
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

    @property
    def carries_weight(self) -> bool:
        """Return whether the robot carries its own weight, so that no effort may contain it."""
        return self.command.gravity == "robot"

    def friction_left(self, joint_names: Sequence[str]) -> tuple[Array, Array]:
        """Shares (n,) of viscous and of dry friction that the driver leaves to the controller.

        Raises:
            ParameterError: the profile has them for another number of joints.
        """
        return self._per_joint("viscous_left", joint_names), self._per_joint("coulomb_left", joint_names)

    def torque_limits(self, joint_names: Sequence[str]) -> Array:
        """Largest efforts (n,) that the driver takes [N·m or N]; infinite where the profile has none.

        Raises:
            ParameterError: the profile has them for another number of joints.
        """
        return self._per_joint("torque_limits", joint_names, np.inf)

    def _per_joint(self, name: str, joint_names: Sequence[str], otherwise: float = 1.0) -> Array:
        try:
            return per_joint(getattr(self.command, name) or (otherwise,), joint_names, name)
        except ParameterError as error:
            raise ParameterError(f"driver {quoted(self.name)}: {error}") from None

    def check_command(self) -> None:
        """Refuse a driver that cannot be commanded torques.

        Raises:
            ParameterError: it applies no efforts, or takes them as motor currents.
        """
        if not self.command.obeyed:
            raise ParameterError(
                f"driver {quoted(self.name)} does not apply effort commands; a controller of efforts has no"
                " effect there"
            )
        if self.command.quantity == "current":
            raise ParameterError(
                f"driver {quoted(self.name)} takes motor currents, not torques; where it converts torques,"
                " give a copy of its profile with 'quantity: torque'"
            )

    def check_state(self, converted: bool) -> None:
        """Refuse effort states that are no torques.

        Args:
            converted: the user converts what the driver reports into torques.

        Raises:
            ParameterError: there are none, or they are motor currents.
        """
        if self.state.quantity == "none":
            raise ParameterError(
                f"driver {quoted(self.name)} reports no efforts, so nothing can be learned from them"
            )
        if self.state.quantity == "current" and not converted:
            raise ParameterError(
                f"driver {quoted(self.name)} reports motor currents: give the torque of one ampere of each"
                " joint by --columns FILE; --inspect writes a guess of the file"
            )

    def check_mode(self, mode: str) -> None:
        """Refuse a control law with feedback where the drive has a feedback loop of its own.

        Raises:
            ParameterError: both would act on the same error.
        """
        if self.command.drive_loop and mode not in WITHOUT_FEEDBACK:
            raise ParameterError(
                f"mode {quoted(mode)} has gains, and driver {quoted(self.name)} has a loop of its own: set"
                f" mode to {' or '.join(WITHOUT_FEEDBACK)}"
            )


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


def _share(name: str, value: Any, error: type[RobotDynamicsError]) -> float:
    found = not_negative(name, value, error)
    if found > 1.0:
        raise error(f"{name} is {found:g}; it must be from 0 to 1")
    return found


def _one_of(*choices: str) -> Any:
    def check(name: str, value: Any, error: type[ModelError]) -> str:
        if value not in choices:
            raise error(f"{name} is {quoted(value)}; it must be one of {', '.join(choices)}")
        return str(value)

    return check
