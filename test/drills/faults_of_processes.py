"""Faults of whole processes: killed, stopped, doubled."""

from __future__ import annotations

import signal
import time

import invariants
from faults import fault
from patience import POLL
from ros_harness import HarnessError, NodeProcess
from scene import Scene
from scenes import CONTROLLERS, IN_SIMULATED_TIME


@fault((*CONTROLLERS, "feeder", "model", "simulator"))
def node_killed(scene: Scene) -> None:
    """The node dies by SIGKILL in the middle of a move, and is started again."""
    with scene.silent():
        scene.kill(scene.process)
        if scene.plant is not None:
            scene.plant.wait_for_output("no command for .*: brake")
        scene.start_node()
        scene.recover()


@fault((*CONTROLLERS, *IN_SIMULATED_TIME), quick=("arm", "platform"))
def plant_killed(scene: Scene) -> None:
    """The simulator dies by SIGKILL in the middle of a move, and is started again."""
    scene.kill(scene.plant)
    if scene.simulated_time:
        # Without a clock it is a pause, until nobody publishes states any more.
        with scene.silent():
            scene.wire.unplug()
            scene.said("nobody publishes joint states any more")
    else:
        scene.said("no joint state for")
    wait_for_no_effort(scene)
    if scene.simulated_time:
        # Somebody publishes states again, and time stands: a pause, until they come.
        with scene.silent():
            scene.wire.plug()
            scene.start_plant()
            scene.recover()
    else:
        scene.start_plant()


def wait_for_no_effort(scene: Scene) -> None:
    """Return when the efforts that leave are zero."""
    deadline = time.monotonic() + 1.0 + invariants.PATIENCE
    while True:
        last = scene.record.last(scene.topic)
        if last is not None and not any(last.values):
            return
        if time.monotonic() > deadline:
            raise HarnessError(f"the safe output does not fade\n{scene.process.describe()}")
        time.sleep(POLL)


@fault(CONTROLLERS)
def node_stopped(scene: Scene) -> None:
    """The whole process of the node stands still for a second, as on a machine that swaps."""
    with scene.silent():
        scene.process.send_signal(signal.SIGSTOP)
        scene.wire.wait_for_states(100)
        scene.process.send_signal(signal.SIGCONT)
        scene.recover()


@fault((*CONTROLLERS, "feeder"))
def two_nodes(scene: Scene) -> None:
    """A second node of the same kind on the same topics, which then ends."""
    with NodeProcess(scene.node, dict(scene.parameters), ["-r", "__node:=second"]) as second:
        second.wait_for_output("model of|machine stewart_demo")
        scene.wire.wait_for_states(100)
        scene.move()
        assert second.stop() == 0, second.describe()
