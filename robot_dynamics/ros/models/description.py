"""The robot's description: from the parameter of that name, or else from the topic."""

from __future__ import annotations

from collections.abc import Callable

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from robot_dynamics.errors import ModelError, RobotDynamicsError, quoted
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.rate_limited_log import RateLimitedLog

NAME = "robot_description"
NONE_YET = "there is no robot description yet"
DEAF_AFTER = 5.0
"""Steady seconds after which a publisher of which nothing is heard is worth a warning."""

LARGEST_LIVE = 256 * 1024
"""Size of the largest description that a node takes by parameter while it uses another one [characters]."""


class DescriptionSource:
    """Hands every new description to a callback.

    A description in the parameter ``robot_description`` wins over the topic; without one, or where it has
    turned out to be unusable, the topic ``robot_description`` is followed, and each publication of another
    text is a new model. A description that the callback refuses (RobotDynamicsError) leaves the model as it
    was.

    Attributes:
        text: the description in use; None before the first.
        refusal: why the last one was refused; empty when it was not.

    Args:
        node: the node that needs the model.
        on_description: called with the XML text.
        on_refusal: called with the reason when a description is refused, for nodes that go on without one.
        check: refuses (RobotDynamicsError) a description by parameter before the parameter is set, in a few
            milliseconds; None when ``on_description`` itself is that fast.
    """

    def __init__(
        self,
        node: Node,
        on_description: Callable[[str], None],
        on_refusal: Callable[[str], None] | None = None,
        check: Callable[[str], None] | None = None,
    ) -> None:
        self.text: str | None = None
        self.refusal = ""
        self._unusable: str | None = None
        self._node = node
        self._complain = RateLimitedLog(node.get_logger())
        self._on_description = on_description
        self._on_refusal = on_refusal
        self._check = check
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
        node.add_post_set_parameters_callback(self._apply)
        node.create_subscription(String, NAME, self._on_message, qos.DESCRIPTION)
        if self.text is None:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._watch = node.create_timer(DEAF_AFTER, self._look_for_publisher, clock=steady)

    def _look_for_publisher(self) -> None:
        """Say once that there is a publisher of which nothing comes."""
        node = self._node
        silent = self.text is None and not self.refusal and node.count_publishers(NAME)
        if silent:
            node.get_logger().warning(
                f"{node.resolve_topic_name(NAME)} has a publisher, but nothing has come from it for"
                f" {DEAF_AFTER:g} s: is it transient local? After a SIGKILL it may be the shared memory of"
                " Fast DDS: start the publisher with FASTDDS_BUILTIN_TRANSPORTS=UDPv4"
            )
        if silent or self.text is not None:
            self._watch.cancel()

    @property
    def missing(self) -> str:
        """Reason why there is no description in use, where there is none."""
        return f"the description was refused: {self.refusal}" if self.refusal else NONE_YET

    def refuse(self, reason: str) -> None:
        """The description taken last has turned out to be unusable; the same text may be tried again."""
        self._unusable, self.text, self.refusal = self.text, None, reason

    def _take_first(self, text: str) -> None:
        try:
            self._take(text)
        except RobotDynamicsError as error:
            if self._on_refusal is None:
                raise
            self._complain(f"the parameter {NAME} is refused: {error}")

    def _take(self, text: str) -> None:
        if text == self.text:
            return
        try:
            _check_form(text)
            self._on_description(text)
        except RobotDynamicsError as error:
            self.refusal = str(error)
            if self._on_refusal is not None:
                self._on_refusal(str(error))
            raise
        self.text, self.refusal, self._unusable = text, "", None

    def _on_message(self, message: String) -> None:
        given = self._node.get_parameter(NAME).value
        if given and given != self._unusable:
            return
        try:
            self._take(message.data)
        except RobotDynamicsError as error:
            self._complain(f"the description on the topic {NAME} is refused: {error}")

    def _decide(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            for text in _given(parameters):
                if self._check is None:
                    self._take(text)
                elif text != self.text:
                    self._admit(text)
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _admit(self, text: str) -> None:
        """Raise RobotDynamicsError for what is no robot."""
        _check_form(text)
        if self.text is not None and len(text) > LARGEST_LIVE:
            raise ModelError(
                f"{NAME} is larger than the {LARGEST_LIVE // 1024} KiB that a running node takes by"
                " parameter; publish it on the topic"
            )
        if self._check is not None:
            self._check(text)

    def _apply(self, parameters: list[Parameter]) -> None:
        for text in _given(parameters):
            try:
                self._take(text)
            except RobotDynamicsError as error:
                self._unusable = text
                self._complain(f"the parameter {NAME} is refused: {error}")


def _given(parameters: list[Parameter]) -> list[str]:
    return [str(parameter.value) for parameter in parameters if parameter.name == NAME and parameter.value]


def _check_form(text: str) -> None:
    if "<" not in text:
        raise ModelError(f"{NAME} must hold the URDF itself, not a path; it is {quoted(text)}")
