"""The declared safe output of a controller that cannot control, or must not any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.control.protocol import Controller
from robot_dynamics.ros.support.messages import JointOrder
from robot_dynamics.spatial import Array


@dataclass(frozen=True)
class Trouble:
    """States come, but the controller has no effort for them.

    Attributes:
        reason: for the last of them.
        began: time of the first of them on the controller's clock [s].
        latest: time of the last of them [s].
    """

    reason: str
    began: float
    latest: float

    @property
    def lasted(self) -> float:
        """[s]"""
        return max(0.0, self.latest - self.began)


def safe_effort(controller: Controller[Any], order: JointOrder, since: float) -> Array:
    """(n,) what ``controller`` declares as safe, ``since`` seconds after the fault began.

    No effort at all where the controller itself is the fault.
    """
    try:
        return np.asarray(controller.safe_command(since).effort)
    except Exception:
        return np.zeros(len(order.joint_names))


class SafeOutput:
    """The safe output from the moment when a fault began, whatever becomes of the node's controller.

    Args:
        controller: in force when it began.
        order: its joints.
        began: steady time [s].
    """

    def __init__(self, controller: Controller[Any], order: JointOrder, began: float) -> None:
        self.controller = controller
        self.message = order.message()
        self._order = order
        self._began = began

    def effort(self, now: float) -> Array:
        """(n,) at steady time ``now`` [s]."""
        return safe_effort(self.controller, self._order, max(0.0, now - self._began))
