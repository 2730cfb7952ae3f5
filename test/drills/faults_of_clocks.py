"""Faults of clocks: of a simulation's, which goes with the states' stamps, and of the computer's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from faults import fault
from scene import Scene
from scenes import BY_THE_WALL, IN_SIMULATED_TIME

from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

SECOND = 1_000_000_000


@contextlib.contextmanager
def _shifted(scene: Scene, nanoseconds: int, with_states: bool = True) -> Iterator[None]:
    """Time, on the clock and in the stamps, is so much further; without states, they are lost as well."""

    def states(message: Any) -> Iterable[tuple[float, Any]]:
        if not with_states:
            return ()
        stamp = stamp_to_nanoseconds(message.header.stamp)
        message.header.stamp = nanoseconds_to_stamp(max(1, stamp + nanoseconds))
        return ((0.0, message),)

    def clock(message: Any) -> Iterable[tuple[float, Any]]:
        message.clock = nanoseconds_to_stamp(max(1, stamp_to_nanoseconds(message.clock) + nanoseconds))
        return ((0.0, message),)

    with scene.wire.tampered(states, clock):
        yield


@fault(IN_SIMULATED_TIME)
def clock_forwards(scene: Scene) -> None:
    """Simulated time jumps ahead by 1000 s, and by 68 years."""
    for jump in (1000 * SECOND, 2**31 * SECOND - 3600 * SECOND):
        with _shifted(scene, jump):
            scene.wire.wait_for_states(40)


@fault(IN_SIMULATED_TIME)
def clock_backwards(scene: Scene) -> None:
    """Simulated time runs back to its begin, and again."""
    for _ in range(2):
        with _shifted(scene, 5000 * SECOND):
            scene.wire.wait_for_states(30)
        with _shifted(scene, -(2**62)):
            scene.wire.wait_for_states(30)


@fault(IN_SIMULATED_TIME)
def clock_backwards_without_states(scene: Scene) -> None:
    """Simulated time runs back and goes on from there, and the states do not come again."""
    with _shifted(scene, 5000 * SECOND):
        scene.wire.wait_for_states(30)
    with _shifted(scene, 0, with_states=False):
        scene.loses_states()


@fault(IN_SIMULATED_TIME)
def clock_standing(scene: Scene) -> None:
    """A simulation that pauses: neither states nor clock."""
    with scene.silent():
        with scene.wire.tampered(lambda message: (), lambda message: ()):
            scene.wire.wait_for_states(80)
        scene.recover()


@fault(IN_SIMULATED_TIME)
def clock_without_states(scene: Scene) -> None:
    """The clock goes on and the states do not come: this is no pause."""
    with scene.wire.tampered(lambda message: ()):
        scene.loses_states("no joint state for")
        scene.wire.wait_for_states(60)


@fault(IN_SIMULATED_TIME)
def states_without_clock(scene: Scene) -> None:
    """States come, and the clock stands."""
    with scene.wire.tampered(clock=lambda message: ()):
        scene.wire.wait_for_states(80)
        scene.loses_states("joint states go on while /clock has stood still")


@fault(BY_THE_WALL)
def wall_clock_forwards(scene: Scene) -> None:
    """The computer's clock is set ahead by an hour, and by ten years."""
    for jump in (3600, 10 * 365 * 86400):
        with scene.wall.ahead(jump):
            scene.wire.wait_for_states(40)


@fault(BY_THE_WALL)
def wall_clock_backwards(scene: Scene) -> None:
    """The computer's clock is set back by an hour; then the states stop coming, which is noticed."""
    with scene.wall.ahead(-3600):
        scene.wire.wait_for_states(40)
        with scene.wire.tampered(lambda message: ()):
            scene.loses_states()


@fault(BY_THE_WALL)
def wall_clock_standing(scene: Scene) -> None:
    """The computer's clock stands while the machine moves on, and then the states stop coming."""
    with scene.wall.standing():
        scene.wire.wait_for_states(60)
        with scene.wire.tampered(lambda message: ()):
            scene.loses_states()
