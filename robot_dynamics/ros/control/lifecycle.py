"""The lifecycle of a node that sends efforts: how it halts, and where its errors go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.lifecycle import LifecycleNode, LifecycleState, ManagedEntity, TransitionCallbackReturn

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros.support.faults import explain
from robot_dynamics.ros.support.undeclared import refuse_undeclared

_TRANSITIONS = {
    Transition.TRANSITION_CONFIGURE: "configure",
    Transition.TRANSITION_CLEANUP: "cleanup",
    Transition.TRANSITION_ACTIVATE: "activate",
    Transition.TRANSITION_DEACTIVATE: "deactivate",
}
_SUCCESS = TransitionCallbackReturn.SUCCESS


class Stages(Protocol):
    """Actions of a node in its transitions."""

    def configure(self) -> None:
        """Make what is needed.

        Raises:
            RobotDynamicsError: something is missing or does not fit; the node stays unconfigured.
        """

    def activate(self) -> None:
        """Send efforts from now on.

        Raises:
            RobotDynamicsError: it cannot; the node stays inactive.
        """

    def halt(self) -> None:
        """Stop sending efforts, in the declared way; nothing to do when none are sent."""

    def forget(self) -> None:
        """Drop what configure made; a halt under way goes on."""


class Lifecycle(ManagedEntity):
    """Takes a node through its stages, and halts it whenever it leaves the active state.

    An error that no code expected, in a transition or in the running node, is logged, halts the node and
    takes it through ``on_error`` to the unconfigured state, from where it can be configured again. A
    transition that is not possible now is refused.

    Attributes:
        fault: the last such error, until the node is configured again; empty when there is none.
        started: whether :meth:`start_once` has succeeded.

    Args:
        node: whose lifecycle it is.
        stages: what the node does.
    """

    def __init__(self, node: LifecycleNode, stages: Stages) -> None:
        self.fault = ""
        self._node = node
        self._stages = stages
        self._failing = False
        self.started = self._configured = False
        for service in node.services:
            if service.srv_type is ChangeState:
                service.callback = partial(self._change_state, service.callback)
            elif service.srv_type is GetState:
                self._get_state: Callable[..., Any] = service.callback
        node.add_managed_entity(self)

    @property
    def state(self) -> str:
        """Label of the present state, such as ``active``."""
        return str(self._get_state(GetState.Request(), GetState.Response()).current_state.label)

    def configure_once(self) -> bool:
        """Configure, for ``autostart``; returns whether the node can be activated.

        Raises:
            ParameterError: a parameter was set that nobody has: nothing is commanded then.
        """
        if self.state == "unconfigured" and not self._configured:
            refuse_undeclared(self._node)
            self._configured = self._node.trigger_configure() == _SUCCESS
        return self._configured and self.state == "inactive"

    def start_once(self) -> None:
        """Configure and activate, for ``autostart``; only until that has succeeded for the first time.

        Raises:
            ParameterError: a parameter was set that nobody has: nothing is commanded then.
        """
        if not self.started and self.configure_once():
            self.started = self._node.trigger_activate() == _SUCCESS

    # Transitions

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """A new beginning: the last fault is history."""
        result = self._attempt("configure", self._stages.configure)
        if result == _SUCCESS:
            self.fault = ""
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send efforts from now on."""
        return self._attempt("activate", self._stages.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt in the declared way."""
        return self._leave("deactivate", self._stages.halt)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget what configure made."""
        return self._leave("clean up", self._stages.forget)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt in the declared way."""
        return self._leave("shut down", self._stages.halt)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt in the declared way and forget everything; the node can be configured again."""
        self._failing = False
        for work in (self._stages.halt, self._stages.forget):
            try:
                work()
            except Exception as error:
                self._note("while handling an error", error)
        if not self.fault:
            self.fault = f"an error in the transition from the state {state.label}"
            self._node.get_logger().error(self.fault)
        self._node.get_logger().error("halted after an error: unconfigured, and can be configured again")
        return _SUCCESS

    def _attempt(self, what: str, work: Callable[[], None]) -> TransitionCallbackReturn:
        """Do the work of a transition; what is wrong is logged and makes it fail, or end in ``on_error``."""
        try:
            work()
        except RobotDynamicsError as error:
            self._node.get_logger().error(f"cannot {what}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            self._note(f"cannot {what}", error)
            return TransitionCallbackReturn.ERROR
        return _SUCCESS

    def _leave(self, what: str, work: Callable[[], None]) -> TransitionCallbackReturn:
        result = self._attempt(what, work)
        # Out of the active state there is no way back to efforts: what fails here ends in on_error.
        return TransitionCallbackReturn.ERROR if self._failing or result != _SUCCESS else result

    # Errors

    def on_fault(self, error: Exception) -> None:
        """A callback of the running node has failed."""
        self._note("fault of the running node", error)
        state = self.state
        if state in ("active", "inactive"):
            # The state machine knows a way to on_error only out of transitions.
            self._failing = True
            (self._node.trigger_deactivate if state == "active" else self._node.trigger_cleanup)()

    def _note(self, what: str, error: Exception) -> None:
        self.fault = f"{what}: {explain(error)}"
        self._node.get_logger().error(self.fault)

    def _change_state(
        self, change: Callable[..., Any], request: ChangeState.Request, response: ChangeState.Response
    ) -> ChangeState.Response:
        try:
            return change(request, response)
        except Exception:
            # rclpy raises where a transition does not exist, and the caller would wait for ever.
            wanted = request.transition.label or _TRANSITIONS.get(request.transition.id, "shutdown")
            self._node.get_logger().error(f"cannot {wanted}: the node is {self.state}")
            response.success = False
            return response
