"""A subscription that no executor serves."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup


class PrivateGroup(CallbackGroup):
    """Its entities are left alone by executors: somebody else waits for them."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing has begun."""
