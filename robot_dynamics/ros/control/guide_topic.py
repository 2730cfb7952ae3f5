"""Hold-to-run button of an arm on a topic."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import Bool

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.protocol import Phase
from robot_dynamics.ros.control.controller_node import ControllerNode
from robot_dynamics.ros.support import qos

TOPIC = "~/guide"


class GuideTopic:
    """Hands the button of the mode hand_guiding to the controller.

    Args:
        node: gets the subscription.
        controller_node: of the node.
    """

    def __init__(self, node: LifecycleNode, controller_node: ControllerNode[ArmController]) -> None:
        self._controller_node = controller_node
        self._log = node.get_logger()
        self._refused = ""
        self._guided = False
        node.create_subscription(Bool, TOPIC, self._on_button, qos.COMMAND)

    def look(self, phase: Phase) -> None:
        """Log that the arm is guided from now on, or no longer."""
        guided = phase is Phase.GUIDED and self._controller_node.loop.controller is not None
        if guided != self._guided:
            self._guided = guided
            self._log.info("guided by hand" if guided else "guiding has ended: the arm is held")

    def _on_button(self, message: Bool) -> None:
        loop = self._controller_node.loop
        controller = loop.controller
        reason = "the controller is not active"
        if controller is not None and loop.active:
            reason = controller.guide(bool(message.data))
        elif not message.data:
            reason = ""
        if reason and reason != self._refused:
            self._controller_node.events.refuse(f"hand guiding refused: {reason}")
        self._refused = reason
