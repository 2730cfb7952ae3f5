"""The subscriptions on which a node hears what others send on its own topics."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Bool, Float64MultiArray

from robot_dynamics.errors import BackendError
from robot_dynamics.ros.control.command_publisher import CommandTopics
from robot_dynamics.ros.control.native.library import ffi, loaded_library

_REASON_BYTES = 1000


class Listener:
    """Hears efforts and brake commands of other processes.

    rclpy has no subscription that leaves out the messages of its own process.

    Attributes:
        handle: ``rd_listener *``.
        identity: of the node's own publisher of efforts, as DDS knows it.

    Args:
        library: with rcl, see ``load_node``.
        node: whose name the subscriptions have; it is lent until :meth:`end`.
        topics: of the node.

    Raises:
        BackendError: rcl refuses.
    """

    def __init__(self, library: Any, node: Node, topics: CommandTopics) -> None:
        self._library = library
        self._lent = contextlib.ExitStack()
        command = topics.publishers[1]
        for entity in (node, command):
            self._lent.enter_context(entity.handle)
        reason = ffi().new("char[]", _REASON_BYTES)
        efforts, brake = topics.names
        self.handle = library.rd_listener_start(
            ffi().cast("void *", node.handle.pointer),
            _type_support(Float64MultiArray),
            ffi().new("char[]", efforts.encode()),
            _type_support(Bool),
            ffi().new("char[]", brake.encode()) if brake else ffi().NULL,
            ffi().cast("void *", command.handle.pointer),
            reason,
            _REASON_BYTES,
        )
        if not self.handle:
            self._lent.close()
            raise BackendError(f"rcl: {ffi().string(reason).decode(errors='replace')}")
        own = ffi().new("uint8_t[]", library.RD_SENDER_BYTES)
        library.rd_listener_identity(self.handle, own)
        self.identity = bytes(ffi().buffer(own))

    def end(self) -> None:
        """Give back what was lent; the loop must not listen any more."""
        handle, self.handle = self.handle, ffi().NULL
        if handle:
            self._library.rd_listener_stop(handle)
            self._lent.close()


def _type_support(message: type) -> Any:
    """``rosidl_message_type_support_t *`` of a class of std_msgs, by the function of its own library.

    The publishers of the same types have loaded that library.
    """
    library = ctypes.CDLL(str(loaded_library("libstd_msgs__rosidl_typesupport_c.so")))
    get = library[f"rosidl_typesupport_c__get_message_type_support_handle__std_msgs__msg__{message.__name__}"]
    get.restype = ctypes.c_void_p
    return ffi().cast("void *", get())
