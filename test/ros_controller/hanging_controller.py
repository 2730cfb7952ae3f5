"""The controller as a node of its own, whose interpreter a test stops: nothing of Python runs then."""

import ctypes
import os
import sys

from std_msgs.msg import String

from robot_dynamics.ros import computed_torque_controller
from robot_dynamics.ros.computed_torque_controller import ComputedTorqueController
from robot_dynamics.ros.support import qos

TOPIC = "hang"
"""A message here names a FIFO; the interpreter is held until a byte comes through it."""


class HangingController(ComputedTorqueController):
    """Hangs when told to."""

    def __init__(self):
        super().__init__()
        self.create_subscription(String, TOPIC, self._hang, qos.TRAJECTORY)

    def _hang(self, message):
        descriptor = os.open(message.data, os.O_RDWR)
        # PyDLL does not let go of the interpreter while the function runs.
        ctypes.PyDLL(None).read(descriptor, ctypes.create_string_buffer(1), 1)
        os.close(descriptor)


computed_torque_controller.ComputedTorqueController = HangingController

if __name__ == "__main__":
    sys.exit(computed_torque_controller.main())
