"""Conversion between messages and arrays: joints by name, stamps as integer nanoseconds."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from robot_dynamics.errors import StateError, shown
from robot_dynamics.spatial import Array

_SECOND = 1_000_000_000


def stamp_to_nanoseconds(stamp: Time) -> int:
    """Nanoseconds since the epoch of the stamp's clock."""
    return int(stamp.sec) * _SECOND + int(stamp.nanosec)


def nanoseconds_to_stamp(nanoseconds: int) -> Time:
    """The inverse of :func:`stamp_to_nanoseconds`."""
    return Time(sec=nanoseconds // _SECOND, nanosec=nanoseconds % _SECOND)


def set_stamp(stamp: Time, nanoseconds: int) -> None:
    """Write ``nanoseconds`` into an existing stamp."""
    stamp.sec = nanoseconds // _SECOND
    stamp.nanosec = nanoseconds % _SECOND


def stamp_to_seconds(stamp: Time) -> float:
    """Seconds; exact to about 0.2 µs for today's wall clock, so keep nanoseconds where that matters."""
    return stamp_to_nanoseconds(stamp) * 1e-9


def to_array(values: Array) -> array[float]:
    """The buffer type that message fields take over without a check per element."""
    return array("d", np.ascontiguousarray(values, dtype=float).tobytes())


@dataclass(frozen=True)
class JointSample:
    """A joint state in the order of a chain.

    Attributes:
        nanoseconds: the message's stamp.
        position: (n,) [rad or m].
        velocity: (n,) [rad/s or m/s]; None when the message has none, or not of every joint.
        effort: (n,) [N·m or N]; None when the message has none, or not of every joint.
        measured: (2 m,) positions and velocities of measured joints, NaN where there are none; None: the
            controller has no measured joints.
    """

    nanoseconds: int
    position: Array
    velocity: Array | None
    effort: Array | None
    measured: Array | None = None


def motions(message: JointState, names: Sequence[str]) -> Array:
    """(2, m) positions and velocities of joints by their names; NaN where a message has none."""
    places = {name: place for place, name in enumerate(message.name)}
    values = [
        field[places[name]] if name in places and len(field) == len(message.name) else math.nan
        for field in (message.position, message.velocity)
        for name in names
    ]
    return np.array(values).reshape(2, len(names))


class JointOrder:
    """Finds the joints of a chain in JointState messages, by name.

    Messages may name further joints, in any order; the places are looked up again only when the names change.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        self._seen: list[str] | None = None
        self._places: list[int] = []
        self._identity = False

    def read(self, message: JointState) -> JointSample:
        """The chain's joint values from a joint state, which must have a position of every joint.

        Velocity and effort are None unless every joint has a finite one: hardware without such an interface
        reports NaN there.

        Raises:
            StateError: a joint is missing or named twice, a field has a wrong length, or there is no position
                or one that is not finite.
        """
        self._open(message)
        return JointSample(
            stamp_to_nanoseconds(message.header.stamp),
            self._required(message, "position"),
            self._optional(message, "velocity"),
            self._optional(message, "effort"),
        )

    def has_none(self, names: Sequence[str]) -> bool:
        """Check whether none of the joints is among these names: the message is about something else."""
        return not set(self.joint_names).intersection(names)

    def read_command(self, message: JointState, field: str = "effort") -> Array:
        """(n,) values of the chain's joints in one field of a command.

        Raises:
            StateError: a joint is missing or named twice, a field has a wrong length, or this one is empty or
                has a value that is not finite.
        """
        self._open(message)
        return self._required(message, field)

    def read_part(self, message: JointState, field: str, values: Array) -> None:
        """Put the values of those joints that a command names into ``values`` (n,).

        Raises:
            StateError: a named joint is not of the chain, one is named twice, the field has a wrong length or
                a value that is not finite.
        """
        given = getattr(message, field)
        places = {name: place for place, name in enumerate(self.joint_names)}
        if len(set(message.name)) != len(message.name) or not set(message.name) <= set(places):
            raise StateError(f"the message has {shown(*message.name)}, the chain {shown(*self.joint_names)}")
        if len(given) != len(message.name) or not np.isfinite(given).all():
            raise StateError(f"the message has no finite {field} of each of {shown(*message.name)}")
        values[[places[name] for name in message.name]] = given

    def message(self) -> JointState:
        """An empty JointState with the chain's joint names, to be filled and sent many times."""
        return JointState(name=list(self.joint_names))

    def _open(self, message: JointState) -> None:
        """Find the places of the joints, and check that every field has a value for each name or none."""
        names = message.name
        if names != self._seen:
            self._places = self._find(names)
            self._identity = self._places == list(range(len(names)))
            self._seen = list(names)
        for field in ("position", "velocity", "effort"):
            length = len(getattr(message, field))
            if length not in (0, len(names)):
                raise StateError(f"the message has {length} values of {field} for {len(names)} joint names")

    def _required(self, message: JointState, field: str) -> Array:
        values = self._pick(getattr(message, field))
        if values is None:
            raise StateError(f"the message has no {field} of the joints {', '.join(self.joint_names)}")
        if not np.isfinite(values).all():
            bad = [n for n, v in zip(self.joint_names, values, strict=True) if not np.isfinite(v)]
            raise StateError(f"the {field} of joint {', '.join(bad)} is not a finite number")
        return values

    def _optional(self, message: JointState, field: str) -> Array | None:
        values = self._pick(getattr(message, field))
        return values if values is not None and np.isfinite(values).all() else None

    def _find(self, names: Sequence[str]) -> list[int]:
        self._seen = None
        places = {name: place for place, name in enumerate(names)}
        missing = [name for name in self.joint_names if name not in places]
        if missing:
            raise StateError(
                f"the message lacks joint {', '.join(missing)}; it has {', '.join(names) or 'none'}"
            )
        count = Counter(names)
        twice = sorted({name for name in self.joint_names if count[name] > 1})
        if twice:
            raise StateError(f"the message names joint {', '.join(twice)} more than once")
        return [places[name] for name in self.joint_names]

    def _pick(self, data: Sequence[float]) -> Array | None:
        if len(data) == 0:
            return None
        values = np.array(data, dtype=float)
        return values if self._identity else values[self._places]
