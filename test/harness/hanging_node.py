"""A node of the package, as a process of its own, whose interpreter a test stops."""

import contextlib
import ctypes
import importlib
import os
import sys
from pathlib import Path

from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import String

from robot_dynamics.ros.support import qos

TOPIC = "hang"
"""A message here names a FIFO; the interpreter is held until a byte comes through it."""
WHICH = "HANGING_NODE"
"""Environment variable that names the node's module under ``robot_dynamics.ros``."""
FILE = Path(__file__)


class Hanging(LifecycleNode):
    """Hangs when told to."""

    def __init__(self, *arguments, **names):
        super().__init__(*arguments, **names)
        self.create_subscription(String, TOPIC, self._hang, qos.TRAJECTORY)

    def _hang(self, message):
        descriptor = os.open(message.data, os.O_RDWR)
        # PyDLL does not let go of the interpreter while the function runs.
        ctypes.PyDLL(None).read(descriptor, ctypes.create_string_buffer(1), 1)
        os.close(descriptor)


@contextlib.contextmanager
def held_by(folder):
    """Stops the interpreter of the node of a peer; the function that it returns lets it go on."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)

    def stop(peer):
        publisher = peer.publisher(String, TOPIC, qos.TRAJECTORY)
        publisher.publish(String(data=str(fifo)))
        return lambda: os.write(descriptor, b"x")

    yield stop
    os.close(descriptor)


def main():
    """Run the node."""
    module = importlib.import_module(f"robot_dynamics.ros.{os.environ[WHICH]}")
    for name, kind in list(vars(module).items()):
        if isinstance(kind, type) and issubclass(kind, LifecycleNode) and kind.__module__ == module.__name__:
            setattr(module, name, type(name, (kind, Hanging), {}))
    return module.main()


if __name__ == "__main__":
    sys.exit(main())
