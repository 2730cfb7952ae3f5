"""Names of joints as the codec wants them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from robot_dynamics.ros.control.native.codec import Layout


class Names:
    """Joint names as they stand in a message.

    Attributes:
        count: their number.
        lengths: address of their lengths [bytes].
        text: all in a row.

    Args:
        names: in their order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        encoded = [name.encode() for name in names]
        self.count = len(encoded)
        self.text = b"".join(encoded)
        self._lengths = np.array([len(name) for name in encoded], dtype=np.uint32)
        self.lengths = int(self._lengths.ctypes.data)


class NameLayout:
    """Where a controller's joints stand in messages with certain names, for as long as this object lives.

    Args:
        message_names: every name of the message, in its order.
        places: of the controller's joints among them, in the controller's order.
    """

    def __init__(self, message_names: Sequence[str], places: Sequence[int]) -> None:
        self._names = Names(message_names)
        self._places = np.array(places, dtype=np.uint32)
        self.layout = Layout(
            self._names.count, self._names.lengths, self._names.text, int(self._places.ctypes.data)
        )
        self.address = ctypes.addressof(self.layout)
