"""Conversion between messages and arrays: joints by name, stamps as integer nanoseconds."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from robot_dynamics.errors import StateError
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
    """The values of a JointState in the order of a chain.

    Attributes:
        nanoseconds: the message's stamp.
        position: (n,) [rad or m].
        velocity: (n,) [rad/s or m/s]; None when the message has none, or not of every joint.
        effort: (n,) [N·m or N]; None when the message has none, or not of every joint.
    """

    nanoseconds: int
    position: Array | None
    velocity: Array | None
    effort: Array | None


class JointOrder:
    """Finds the joints of a chain in JointState messages, by name.

    Messages may name further joints, in any order; the places are looked up again only when the names change.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        self._seen: list[str] | None = None
        self._places: list[int] | None = None
        self._identity = False

    def read(self, message: JointState, required: Sequence[str] = ("position",)) -> JointSample:
        """The chain's joint values.

        Args:
            message: the joint state or command.
            required: fields that must have a finite value for every joint of the chain. A field that is not
                required is None in the sample unless it has (hardware without a velocity or effort interface
                reports NaN there).

        Raises:
            StateError: a joint is missing or named twice, a field has a wrong length or a value that is not
                finite, or a required field is empty.
        """
        if message.name != self._seen:
            self._places = self._find(message.name)
            self._identity = self._places == list(range(len(message.name)))
            self._seen = list(message.name)
        values: dict[str, Array | None] = {}
        for field in ("position", "velocity", "effort"):
            picked = self._pick(field, getattr(message, field), len(message.name))
            if picked is None and field in required:
                raise StateError(f"the message has no {field} of the joints {', '.join(self.joint_names)}")
            if picked is not None and not np.isfinite(picked).all():
                if field in required:
                    bad = [n for n, v in zip(self.joint_names, picked, strict=True) if not np.isfinite(v)]
                    raise StateError(f"the {field} of joint {', '.join(bad)} is not a finite number")
                picked = None
            values[field] = picked
        return JointSample(stamp_to_nanoseconds(message.header.stamp), **values)

    def message(self) -> JointState:
        """An empty JointState with the chain's joint names, to be filled and sent many times."""
        return JointState(name=list(self.joint_names))

    def _find(self, names: Sequence[str]) -> list[int]:
        self._seen = None
        places = {name: place for place, name in enumerate(names)}
        missing = [name for name in self.joint_names if name not in places]
        if missing:
            raise StateError(
                f"the message lacks joint {', '.join(missing)}; it has {', '.join(names) or 'none'}"
            )
        twice = sorted({name for name in self.joint_names if list(names).count(name) > 1})
        if twice:
            raise StateError(f"the message names joint {', '.join(twice)} more than once")
        return [places[name] for name in self.joint_names]

    def _pick(self, field: str, data: Sequence[float], count: int) -> Array | None:
        if len(data) == 0:
            return None
        if len(data) != count:
            raise StateError(f"the message has {len(data)} values of {field} for {count} joint names")
        values = np.array(data, dtype=float)
        return values if self._identity else values[self._places]
