"""The robot's description: from the parameter of that name, or else from the topic."""

from __future__ import annotations

from collections.abc import Callable

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.ros.support import qos

NAME = "robot_description"
NONE_YET = "there is no robot description yet"


class DescriptionSource:
    """Hands every new description to a callback.

    A description in the parameter ``robot_description`` is used at once and wins over the topic; without one,
    the topic ``robot_description`` is followed, and each publication of another text is a new model. A
    description that the callback refuses (RobotDynamicsError) leaves the model as it was.

    Attributes:
        text: the description in use; None before the first.
        refusal: why the last one was refused; empty when it was not.

    Args:
        node: the node that needs the model.
        on_description: called with the XML text.
        on_refusal: called with the reason when a description is refused, for nodes that go on without one.
    """

    def __init__(
        self,
        node: Node,
        on_description: Callable[[str], None],
        on_refusal: Callable[[str], None] | None = None,
    ) -> None:
        self.text: str | None = None
        self.refusal = ""
        self._node = node
        self._on_description = on_description
        self._on_refusal = on_refusal
        descriptor = ParameterDescriptor(
            description="URDF of the robot as XML text; empty: taken from the topic robot_description"
        )
        node.declare_parameter(NAME, "", descriptor)

    def start(self) -> None:
        """Take the description in the parameter, or wait for one; follow every later one.

        Raises:
            RobotDynamicsError: the description in the parameter is refused, and there is no ``on_refusal``.
        """
        node = self._node
        text = node.get_parameter(NAME).value
        if text:
            self._take_first(text)
        else:
            node.get_logger().info(f"waiting for the topic {node.resolve_topic_name(NAME)}")
        node.add_on_set_parameters_callback(self._decide)
        node.create_subscription(String, NAME, self._on_message, qos.DESCRIPTION)

    @property
    def missing(self) -> str:
        """Why there is no description in use, where there is none."""
        return f"the description was refused: {self.refusal}" if self.refusal else NONE_YET

    def _take_first(self, text: str) -> None:
        try:
            self._take(text)
        except RobotDynamicsError as error:
            if self._on_refusal is None:
                raise
            self._node.get_logger().error(f"the parameter {NAME} is refused: {error}")

    def _take(self, text: str) -> None:
        if text == self.text:
            return
        try:
            if "<" not in text:
                raise ModelError(f"{NAME} must hold the URDF itself, not a path; it is {text[:80]!r}")
            self._on_description(text)
        except RobotDynamicsError as error:
            self.refusal = str(error)
            if self._on_refusal is not None:
                self._on_refusal(str(error))
            raise
        self.text, self.refusal = text, ""

    def _on_message(self, message: String) -> None:
        if self._node.get_parameter(NAME).value:
            return
        try:
            self._take(message.data)
        except RobotDynamicsError as error:
            self._node.get_logger().error(f"the description on the topic {NAME} is refused: {error}")

    def _decide(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == NAME and parameter.value:
                try:
                    self._take(parameter.value)
                except RobotDynamicsError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)
