"""Faults of the joint states on their way from the plant to the node."""

from __future__ import annotations

import array
import copy
import itertools
import math
import random
from collections.abc import Callable, Iterable
from typing import Any

from faults import fault
from scene import Scene
from scenes import IN_SIMULATED_TIME, WITH_STATES
from sensor_msgs.msg import JointState

from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

WHILE = 60
"""States of the plant for which most of these faults last: 0.6 s."""
SECOND = 1_000_000_000


def _changed(
    change: Callable[[JointState], Any],
) -> Callable[[JointState], Iterable[tuple[float, JointState]]]:
    """A tamper that changes each message in place."""

    def tamper(message: JointState) -> Iterable[tuple[float, JointState]]:
        change(message)
        return ((0.0, message),)

    return tamper


def _shifted(nanoseconds: int) -> Callable[[JointState], Iterable[tuple[float, JointState]]]:
    def shift(message: JointState) -> None:
        stamp = stamp_to_nanoseconds(message.header.stamp) + nanoseconds
        message.header.stamp = nanoseconds_to_stamp(min(max(stamp, 0), (2**31 - 1) * SECOND))

    return _changed(shift)


@fault((*WITH_STATES, "feeder_of_points"), quick=("arm",))
def states_lost(scene: Scene) -> None:
    """No state for longer than state_timeout."""
    with scene.wire.tampered(lambda message: ()):
        scene.loses_states()


@fault((*WITH_STATES, *IN_SIMULATED_TIME))
def states_frozen(scene: Scene) -> None:
    """The same state again and again, stamp and all, while the machine moves on."""
    first = copy.deepcopy(scene.wire.last)
    with scene.wire.tampered(lambda message: ((0.0, first),)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def sensors_frozen(scene: Scene) -> None:
    """Positions and velocities that stand still under stamps that go on."""
    first = copy.deepcopy(scene.wire.last)

    def freeze(message: JointState) -> None:
        message.position, message.velocity = first.position, first.velocity

    with scene.wire.tampered(_changed(freeze)):
        scene.wire.wait_for_states(WHILE)


@fault((*WITH_STATES, *IN_SIMULATED_TIME))
def states_delayed(scene: Scene) -> None:
    """Each state comes 0.1 s late."""
    with scene.wire.tampered(lambda message: ((0.1, message),)):
        scene.wire.wait_for_states(WHILE)


@fault((*WITH_STATES, *IN_SIMULATED_TIME))
def states_reordered(scene: Scene) -> None:
    """States overtake each other by up to 50 ms."""
    chance = random.Random(1)
    with scene.wire.tampered(lambda message: ((chance.uniform(0.0, 0.05), message),)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def states_duplicated(scene: Scene) -> None:
    """Each state three times."""
    with scene.wire.tampered(lambda message: [(0.0, message)] * 3):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def states_without_every_second(scene: Scene) -> None:
    """Every second state is lost."""
    count = itertools.count()
    with scene.wire.tampered(lambda message: ((0.0, message),) if next(count) % 2 else ()):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def joints_permuted(scene: Scene) -> None:
    """Another order of the joints in each state, with a joint that nobody knows."""
    chance = random.Random(2)

    def permute(message: JointState) -> None:
        rows = [
            *zip(message.name, message.position, message.velocity, strict=True),
            ("knee", math.nan, math.nan),
        ]
        chance.shuffle(rows)
        message.name, message.position, message.velocity = map(list, zip(*rows, strict=True))
        message.effort = []

    with scene.wire.tampered(_changed(permute)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES, quick=("arm",))
def states_partial(scene: Scene) -> None:
    """States that lack a joint, a position or all velocities, in turn."""
    count = itertools.count()

    def cut(message: JointState) -> None:
        kind = next(count) % 4
        if kind == 0:
            message.name, message.position = message.name[:-1], message.position[:-1]
        elif kind == 1:
            message.position = message.position[:-1]
        elif kind == 2:
            message.velocity = []
        else:
            message.name = message.name[:1] * len(message.name)

    with scene.wire.tampered(_changed(cut)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def states_partial_for_long(scene: Scene) -> None:
    """Nothing but states that lack a joint, for longer than state_timeout."""

    def cut(message: JointState) -> None:
        message.name, message.position, message.velocity = message.name[1:], message.position[1:], []

    with scene.wire.tampered(_changed(cut)):
        scene.wire.wait_for_states(WHILE)


@fault((*WITH_STATES, *IN_SIMULATED_TIME), quick=("arm", "platform"))
def states_not_finite(scene: Scene) -> None:
    """NaN and infinities in positions and velocities, every other state."""
    values = itertools.cycle([math.nan, math.inf, -math.inf])
    count = itertools.count()

    def spoil(message: JointState) -> None:
        kind = next(count) % 4
        if kind == 0:
            message.position[0] = next(values)
        elif kind == 2:
            message.velocity[-1] = next(values)

    with scene.wire.tampered(_changed(spoil)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES, quick=("arm",))
def states_absurd(scene: Scene) -> None:
    """Positions and velocities that no machine has: 1e300, 1e6, denormal, minus zero."""
    values = itertools.cycle([1e300, -1e300, 1e6, 5e-324, -0.0, 1.7976931348623157e308])
    count = itertools.count()

    def spoil(message: JointState) -> None:
        kind = next(count) % 3
        if kind == 0:
            message.position[-1] = next(values)
        elif kind == 1:
            message.velocity[0] = next(values)

    with scene.wire.tampered(_changed(spoil)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def sensors_jump(scene: Scene) -> None:
    """Every tenth state a joint is somewhere else, and stays there for three states."""
    count = itertools.count()

    def jump(message: JointState) -> None:
        if next(count) % 10 < 3:
            message.position[0] += 0.3 if len(message.name) < 6 else 0.03

    with scene.wire.tampered(_changed(jump)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def states_of_two_machines(scene: Scene) -> None:
    """Each state is followed by that of another machine, with the same names."""
    other = copy.deepcopy(scene.wire.last)
    assert other is not None

    def add(message: JointState) -> Iterable[tuple[float, JointState]]:
        other.header.stamp = message.header.stamp
        return [(0.0, message), (0.0, other)]

    with scene.wire.tampered(add):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def sensors_noisy(scene: Scene) -> None:
    """Velocities with the noise of a broken encoder, within what is believed."""
    chance = random.Random(3)

    def shake(message: JointState) -> None:
        message.velocity = [v + chance.gauss(0.0, 1.0) for v in message.velocity]

    with scene.wire.tampered(_changed(shake)):
        scene.wire.wait_for_states(WHILE)


@fault((*WITH_STATES, *IN_SIMULATED_TIME))
def stamps_forward_and_back(scene: Scene) -> None:
    """Stamps 100 s ahead, then 100 s behind, then from the year 2038, then 0."""
    for shift in (100 * SECOND, -100 * SECOND, 2**62, -(2**62)):
        with scene.wire.tampered(_shifted(shift)):
            scene.wire.wait_for_states(15)


@fault((*WITH_STATES, *IN_SIMULATED_TIME))
def stamps_standing(scene: Scene) -> None:
    """Every state has the same stamp while the machine moves on."""
    first = copy.deepcopy(scene.wire.last)

    def stand(message: JointState) -> None:
        message.header.stamp = first.header.stamp

    with scene.wire.tampered(_changed(stand)):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def names_absurd(scene: Scene) -> None:
    """Names that are empty, repeated, of other alphabets, 100 kB long, or 10 000 of them."""
    kinds = itertools.cycle(
        [
            lambda message: [""] * len(message.name),
            lambda message: [name + "\u202e" for name in message.name],
            lambda message: ["x" * 100_000 for _ in message.name],
            lambda message: [f"joint{k}" for k in range(10_000)],
        ]
    )

    def rename(message: JointState) -> None:
        message.name = next(kinds)(message)

    with scene.wire.tampered(_changed(rename)):
        scene.wire.wait_for_states(20)


@fault(WITH_STATES)
def flood_of_states(scene: Scene) -> None:
    """Each state 50 times: 5000 in a second."""
    with scene.wire.tampered(lambda message: [(0.0, message)] * 50):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def flood_of_rubbish(scene: Scene) -> None:
    """Bytes that are no states, 20 for each state, beside good ones."""
    kinds = [b"", b"\0", b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 60, b"\x7f" * 9, b"\0\1\0\0" + bytes(2000)]

    def tamper(message: JointState) -> Iterable[tuple[float, Any]]:
        return [(0.0, message), *[(0.0, data) for data in itertools.islice(itertools.cycle(kinds), 20)]]

    with scene.wire.tampered(tamper):
        scene.wire.wait_for_states(WHILE)


@fault(WITH_STATES)
def states_of_50_megabytes(scene: Scene) -> None:
    """A state with 6 million positions between the good ones, every 0.2 s."""
    huge = array.array("d", bytes(48_000_000))
    count = itertools.count()

    def tamper(message: JointState) -> Iterable[tuple[float, JointState]]:
        if next(count) % 20:
            return [(0.0, message)]
        monster = copy.deepcopy(message)
        monster.position = huge
        return [(0.0, message), (0.0, monster)]

    with scene.wire.tampered(tamper):
        scene.wire.wait_for_states(WHILE)
