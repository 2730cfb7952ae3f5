"""The controller as a node of its own, whose interpreter a test stops: nothing of Python runs then."""

import ctypes
import sys

from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros import computed_torque_controller
from robot_dynamics.ros.computed_torque_controller import ComputedTorqueController
from robot_dynamics.ros.support import qos

TOPIC = "hang"
"""A message here holds the interpreter for data[0] seconds."""


class HangingController(ComputedTorqueController):
    """Hangs when told to."""

    def __init__(self):
        super().__init__()
        self.create_subscription(Float64MultiArray, TOPIC, self._hang, qos.TRAJECTORY)

    def _hang(self, message):
        # PyDLL does not let go of the interpreter while the function runs.
        ctypes.PyDLL(None).usleep(int(1e6 * message.data[0]))


computed_torque_controller.ComputedTorqueController = HangingController

if __name__ == "__main__":
    sys.exit(computed_torque_controller.main())
