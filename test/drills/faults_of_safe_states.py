"""Requests and losses that end in a safe state of a platform: stops, settling, brakes."""

from __future__ import annotations

import itertools
import random

from faults import fault
from geometry_msgs.msg import PoseStamped
from invariants import found
from scene import Scene
from scenes import PLATFORMS
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import nanoseconds_to_stamp, stamp_to_nanoseconds

IN_EITHER_TIME = (*PLATFORMS, *(f"{name}_in_simulated_time" for name in PLATFORMS[:2]))
OTHERWISE = "no joint state for|gets a state every|jumped|ran backwards|beyond|would step|no pose near"
"""Messages for faults of states that an overloaded computer causes, with outcomes of their own."""
THROWN = "no pose near"
"""Nothing is known of a platform that was thrown so far: no stop, no brakes but those of lost states."""


def _ask(scene: Scene, service: str) -> bool:
    return bool(scene.peer.call(Trigger, f"{scene.node}/{service}").success)


def _rests_on_brakes(scene: Scene, words: str, otherwise: str = OTHERWISE) -> None:
    """The node says so, its brakes are engaged, then no force is left; or another fault came first."""
    brakes: list[Bool] = []
    heard = scene.peer.node.create_subscription(Bool, f"{scene.node}/brake", brakes.append, qos.DESCRIPTION)
    scene.said(f"the platform: {words}|{otherwise}")
    if found(otherwise, scene.printed):
        scene.peer.node.destroy_subscription(heard)
        return
    scene.peer.wait_until(lambda: brakes and brakes[-1].data, "the brakes are not engaged")
    scene.wait_for_no_effort()
    scene.peer.node.destroy_subscription(heard)


@fault(IN_EITHER_TIME)
def parked(scene: Scene) -> None:
    """Told to park in the middle of a move: down, brakes, no force, also without states."""
    scene.peer.wait_until(lambda: _ask(scene, "park"), "it does not park")
    _rests_on_brakes(scene, "parked")
    with scene.wire.tampered(lambda message: ()):
        scene.said("no joint state for")
    scene.wait_for_no_effort()
    scene.recover()


@fault(IN_EITHER_TIME)
def emergency_stop(scene: Scene) -> None:
    """Told to stop in the middle of a move: brakes, no force, no trajectory until it is un-parked."""
    assert _ask(scene, "emergency_stop")
    _is_stopped(scene)


@fault(PLATFORMS)
def emergency_stop_without_states(scene: Scene) -> None:
    """Told to stop while states are lost, or just before: it stops as soon as they are back."""
    for begun in (False, True):
        if begun:
            scene.recover()
            scene.move()
            assert _ask(scene, "emergency_stop")
        with scene.wire.tampered(lambda message: ()):
            scene.said("no joint state for")
            if not begun:
                assert _ask(scene, "emergency_stop")
        _is_stopped(scene)


def _is_stopped(scene: Scene) -> None:
    """It rests on its brakes, and takes no trajectory."""
    _rests_on_brakes(scene, "stopped: on its brakes until ~/unpark", THROWN)
    goal = scene.make([(2.0, scene.goals[0])])
    scene.send_until(f"is not ready for a trajectory|{THROWN}", scene.trajectories, goal)


@fault(PLATFORMS)
def stream_ends(scene: Scene) -> None:
    """Poses as a stream at 100 Hz, which stops without a word: it settles, and parks."""
    sender = scene.peer.publisher(PoseStamped, f"{scene.node}/pose_command", qos.COMMAND)
    places = itertools.cycle([0.55, 0.552, 0.554, 0.552])
    try:
        for _ in range(100):
            pose = PoseStamped()
            pose.pose.position.z, pose.pose.orientation.w = next(places), 1.0
            last = scene.wire.last
            assert last is not None
            pose.header.stamp = nanoseconds_to_stamp(stamp_to_nanoseconds(last.header.stamp))
            sender.publish(pose)
            scene.wire.wait_for_states(1)
        _rests_on_brakes(scene, "parked")
    finally:
        scene.peer.node.destroy_publisher(sender)


@fault(PLATFORMS)
def hasty_requests(scene: Scene) -> None:
    """Park, un-park, hold and emergency stop in any order, as fast as they are answered, and moves."""
    chance = random.Random(4)
    for k in range(60):
        _ask(scene, chance.choice(("park", "unpark", "unpark", "emergency_stop", "hold")))
        if k % 5 == 0:
            scene.send(scene.make([(1.0, scene.goals[k % 2])]))
        scene.wire.wait_for_states(chance.randrange(4))
