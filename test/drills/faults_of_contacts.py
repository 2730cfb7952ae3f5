"""Pushes on an arm in motion, its reactions ``on_contact``, and states that are lost while it yields."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import invariants
from faults import fault
from geometry_msgs.msg import WrenchStamped
from scene import Scene
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics.ros.support import qos

ARMS = ("arm", "arm_in_python", "arm_in_simulated_time", "arm_in_python_in_simulated_time")
BY_THE_WALL = ARMS[:2]
FELT, REFUSED = "feels an external effort of", "a protective stop is in force"
GUIDED = "guided by hand"
SPRINGS, FRAME_SPRINGS = [40.0, 8.0], [100.0, 5.0]
"""Stiffnesses that are stable with the states of the wire [N·m/rad], [N/m, N·m/rad]."""
THRESHOLDS = [3.0, 2.0]
"""Of the joints, above what late commands of a busy computer look like [N·m]."""
PUSH = -6.0
"""Torque on the upper link about its joint, against the weight [N·m]."""


@contextlib.contextmanager
def _reacts(scene: Scene, reaction: str) -> Iterator[None]:
    """Contacts have a reaction meanwhile; a stop that is left is released."""
    springs = {"kp": [225.0], "kv": [30.0], "joint_stiffness": [60.0, 10.0], "max_following_error": [-1.0]}
    given = {**springs, "contact_threshold": THRESHOLDS, "on_contact": reaction}
    scene.rest(1.2)  # rules of the first second take no push
    _set(scene, given)
    try:
        yield
    finally:
        _set(scene, {"on_contact": "off"})


def _set(scene: Scene, values: Mapping[str, Any]) -> None:
    """Set parameters one by one; a busy computer's states may be too rare for them for a while."""
    for name, value in values.items():
        scene.peer.wait_until(
            lambda name=name, value=value: scene.peer.set_parameter(scene.node, name, value).successful,
            f"{name} stays refused",
        )


def _push(scene: Scene) -> None:
    """Push until the node has said so; what else stops it on a busy computer is released."""
    pushes = scene.peer.publisher(WrenchStamped, "simulator/push", qos.COMMAND)
    message = WrenchStamped()
    message.header.frame_id, message.wrench.torque.y = "upper", PUSH

    def felt() -> bool:
        return invariants.found(FELT, scene.printed)

    def push() -> None:
        if not felt():
            scene.reset_latch()
        pushes.publish(message)

    try:
        scene.peer.repeat_until(push, felt, "the push is not felt")
    finally:
        scene.peer.node.destroy_publisher(pushes)


def _stays_until_reset(scene: Scene) -> None:
    """Trajectories are refused until a reset, which is refused as long as the arm moves, then taken."""
    before = len(scene.process.output)
    goal = scene.make([(2.0, scene.goals[0])])

    def refused() -> bool:
        return invariants.found(REFUSED, scene.process.output[before:])

    scene.peer.repeat_until(lambda: scene.send(goal), refused, "a trajectory is taken after a contact")
    scene.peer.wait_until(
        lambda: scene.peer.call(Trigger, f"{scene.node}/reset_fault").success, "the contact is not reset"
    )
    scene.move()


@fault(ARMS)
def contact_reported(scene: Scene) -> None:
    """on_contact: report. One line; the motion goes on, and the next one is taken without a reset."""
    with _reacts(scene, "report"):
        _push(scene)
        scene.said(r"reported only \(on_contact: report\)")
        scene.move()
        assert not invariants.found(REFUSED, scene.printed)


@fault(ARMS, quick=("arm",))
def contact_held(scene: Scene) -> None:
    """on_contact: hold. It stops, holds, and takes no trajectory until ~/reset_fault."""
    with _reacts(scene, "hold"):
        _push(scene)
        _stays_until_reset(scene)


@fault(ARMS)
def contact_yielded(scene: Scene) -> None:
    """on_contact: yield. It stops and gives way to more pushes until ~/reset_fault."""
    with _reacts(scene, "yield"):
        _push(scene)
        _push(scene)
        _stays_until_reset(scene)


@fault(ARMS)
def contact_retreated(scene: Scene) -> None:
    """on_contact: retreat. It stops, moves away, and stays there until ~/reset_fault."""
    with _reacts(scene, "retreat"):
        _push(scene)
        _stays_until_reset(scene)


@fault(BY_THE_WALL)
def contact_without_states(scene: Scene) -> None:
    """States are lost in every reaction: the fail-safe output, then the stop again until ~/reset_fault."""
    for reaction in ("hold", "yield", "retreat"):
        with _reacts(scene, reaction):
            _push(scene)
            with scene.wire.tampered(lambda message: ()):
                scene.loses_states("no joint state for")
            scene.wire.wait_for_states(20)
            _stays_until_reset(scene)


@fault(BY_THE_WALL)
def springs_without_states(scene: Scene) -> None:
    """Nothing but NaN, then no state, in each mode that yields: the fail-safe output, then a hold."""
    button = scene.peer.publisher(Bool, f"{scene.node}/guide", qos.COMMAND)
    try:
        for mode in ("joint_impedance", "cartesian_impedance", "hand_guiding"):
            with _in_mode(scene, mode):
                for spoil in (_without_a_number, lambda message: ()):
                    if mode == "hand_guiding":
                        before = len(scene.process.output)
                        scene.peer.repeat_until(
                            lambda: button.publish(Bool(data=True)),
                            lambda start=before: invariants.found(GUIDED, scene.process.output[start:]),
                            "the button does not guide",
                        )
                    else:
                        scene.move()
                    with scene.wire.tampered(spoil):
                        scene.loses_states()
                    scene.recover()
    finally:
        scene.peer.node.destroy_publisher(button)


@contextlib.contextmanager
def _in_mode(scene: Scene, mode: str) -> Iterator[None]:
    """The arm yields meanwhile, with springs that are stable at its rate."""
    _set(scene, {"joint_stiffness": SPRINGS, "cartesian_stiffness": FRAME_SPRINGS, "mode": mode})
    try:
        yield
    finally:
        _set(scene, {"mode": "computed_torque"})


def _without_a_number(message: JointState) -> Iterable[tuple[float, JointState]]:
    message.position = [math.nan] * len(message.position)
    message.velocity = [math.nan] * len(message.velocity)
    return ((0.0, message),)
