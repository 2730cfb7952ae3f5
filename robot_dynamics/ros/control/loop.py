"""A control loop as a node sees it, whoever does the work of a cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from rclpy.subscription import Subscription

from robot_dynamics.control.protocol import Command, Controller
from robot_dynamics.ros.support.spin import StopEvent
from robot_dynamics.spatial import Array

C = TypeVar("C", bound=Controller[Any])


class Cycle(NamedTuple):
    """One joint state and its answer.

    Attributes:
        nanoseconds: stamp of the state, which the command carries too.
        position: (n,) measured, in the controller's order [rad or m].
        velocity: (n,) measured, or estimated where the state has none [rad/s or m/s].
        command: the answer.
    """

    nanoseconds: int
    position: Array
    velocity: Array
    command: Command


class StateClock:
    """The controller's clock: seconds since the first stamp that it was asked for."""

    def __init__(self) -> None:
        self._epoch: int | None = None

    def seconds(self, nanoseconds: int) -> float:
        """A stamp on the controller's clock [s]."""
        if self._epoch is None:
            self._epoch = nanoseconds
        return 1e-9 * (nanoseconds - self._epoch)

    def nanoseconds(self, seconds: float) -> int:
        """The stamp of a time on the controller's clock; inverse of :meth:`seconds`."""
        return (self._epoch or 0) + round(1e9 * seconds)


class ControlLoop(Protocol[C]):
    """Answers joint states with efforts, and sends the safe output where it cannot or must not any more.

    Whoever does the work tells :class:`~robot_dynamics.ros.control.events.LoopEvents` what happens and hands
    every :class:`Cycle` that it answers, or as many as it can, to a callback in the node's thread.

    Attributes:
        ahead: subscriptions whose messages are taken before the loop goes on: each time a state is answered,
            or each time what the controller follows is led on.
    """

    ahead: Sequence[Subscription]

    @property
    def controller(self) -> C | None:
        """In force; None while the node is not configured."""

    @property
    def active(self) -> bool:
        """Whether joint states are answered."""

    @property
    def halting(self) -> bool:
        """Whether the safe output is being sent."""

    @property
    def clock(self) -> StateClock:
        """Of the controller in force."""

    @property
    def joint_names(self) -> Sequence[str]:
        """Of the controller in force, in its order."""

    @property
    def cycles(self) -> int:
        """Joint states since the node began."""

    def use(self, controller: C, joint_names: Sequence[str]) -> None:
        """Use a controller from now on, and a new clock with it."""

    def forget(self) -> None:
        """Drop the controller; a safe output under way goes on."""

    def activate(self) -> None:
        """Answer joint states from now on."""

    def halt(self) -> None:
        """Answer no more: the safe output is sent until it has faded."""

    def drain(self) -> None:
        """The process ends: halt, and return when the last effort has faded and arrived."""

    def timing(self) -> Mapping[str, str]:
        """Rate, lateness and duration of the last cycles, for people."""

    def late(self) -> list[str]:
        """What is wrong with the timing of the joint states, for people."""

    def senders(self) -> str:
        """Who else sends efforts, where somebody does; else empty."""

    def spin(self, stop: StopEvent) -> None:
        """Run the node until the event."""
