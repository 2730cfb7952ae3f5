"""Faults of the efforts that come to the simulator."""

from __future__ import annotations

import array
import math

from faults import fault
from scene import Scene
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros.support import qos

COMMANDS = "effort_controller/commands"
LONGEST_LINE = 1000
"""Characters of a node's log about a message, however large that was."""


@fault(("simulator",))
def commands_absurd(scene: Scene) -> None:
    """Efforts that are too few, too many, not finite, absurd, of 50 MB; bytes that are no efforts."""
    sender = scene.peer.publisher(Float64MultiArray, COMMANDS, qos.COMMAND)
    try:
        for bad in (
            *(
                Float64MultiArray(data=row)
                for row in ([], [1.0], [1.0] * 3, [math.nan, 0.0], [0.0, -math.inf])
            ),
            *(Float64MultiArray(data=[value, -value]) for value in (1e308, 5e-324, 1e6)),
            b"",
            b"\0\1\0\0" + b"\xff" * 100,
            Float64MultiArray(data=array.array("d", bytes(50_000_000))),
        ):
            for _ in range(5):
                sender.publish(bad)
                scene.wire.wait_for_states(1)
        scene.said("command refused: it must have 2 finite efforts, of shoulder, elbow; it has")
        assert max(map(len, scene.process.output.splitlines())) < LONGEST_LINE
    finally:
        scene.peer.node.destroy_publisher(sender)


@fault(("simulator",))
def flood_of_commands(scene: Scene) -> None:
    """5000 efforts as fast as they can be sent, from one limit to the other."""
    sender = scene.peer.publisher(Float64MultiArray, COMMANDS, qos.COMMAND)
    for k in range(5000):
        sender.publish(Float64MultiArray(data=[40.0 * (-1) ** k, 8.0]))
    scene.wire.wait_for_states(20)
    scene.peer.node.destroy_publisher(sender)
