"""The lifecycle transitions that end in a halt, the same for every node that sends efforts."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn


class HaltingNode(LifecycleNode):
    """A lifecycle node that halts in its declared way whenever it leaves the active state."""

    def halt(self) -> None:
        """Stop sending efforts, in the declared way."""
        raise NotImplementedError

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt in the declared way."""
        self.halt()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt in the declared way."""
        self.halt()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Halt in the declared way; the node can be configured again."""
        self.halt()
        return TransitionCallbackReturn.SUCCESS
