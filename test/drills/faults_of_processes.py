"""Faults of whole processes: killed, stopped, doubled."""

from __future__ import annotations

import contextlib
import signal

from faults import fault
from scene import Scene
from scenes import COLUMNS, CONTROLLERS, FEEDERS, IN_SIMULATED_TIME, WITH_A_PLANT


@fault(COLUMNS)
def node_killed(scene: Scene) -> None:
    """The node dies by SIGKILL in the middle of a move, and is started again."""
    if scene.plant is not None:
        # A plant that the node has not found yet would not miss it.
        scene.plant.wait_for_output("commanded from now on")
    with scene.silent():
        scene.kill(scene.process)
        if scene.plant is not None:
            scene.plant.wait_for_output("no command for .*: brake")
        scene.start_node()
        scene.recover()


@fault((*CONTROLLERS, *FEEDERS, "model", *IN_SIMULATED_TIME), quick=("arm", "platform"))
def plant_killed(scene: Scene) -> None:
    """The simulator dies by SIGKILL in the middle of a move, and is started again."""
    scene.kill_plant()
    if scene.simulated_time:
        # Without a clock it is a pause, until nobody publishes states any more.
        with scene.silent():
            scene.wire.unplug()
            scene.loses_states("nobody publishes joint states any more|no joint state for")
        # Somebody publishes states again, and time stands: a pause, until they come.
        with scene.silent():
            scene.wire.plug()
            scene.start_plant()
            scene.recover()
    else:
        scene.loses_states("no joint state for")
        scene.start_plant()


@fault(WITH_A_PLANT)
def plant_stopped(scene: Scene) -> None:
    """The simulator's process stands still for a second in the middle of a move, and goes on."""
    assert scene.plant is not None
    with contextlib.ExitStack() as stack:
        if scene.simulated_time:  # a pause: no clock either
            stack.enter_context(scene.silent())
        scene.plant.send_signal(signal.SIGSTOP)
        if scene.simulated_time:
            scene.rest(1.0)
        else:
            scene.loses_states("no joint state for")
        scene.plant.send_signal(signal.SIGCONT)
        scene.recover()


@fault(COLUMNS)
def node_stopped(scene: Scene) -> None:
    """The whole process of the node stands still for a second, as on a machine that swaps."""
    with scene.silent():
        scene.process.send_signal(signal.SIGSTOP)
        scene.rest(1.0)
        scene.process.send_signal(signal.SIGCONT)
        scene.recover()


@fault((*CONTROLLERS, *FEEDERS, "model"))
def two_nodes(scene: Scene) -> None:
    """A second node of the same kind on the same topics, which then ends; each keeps its own promises."""
    with scene.second() as second:
        second.wait_for_output("model of|machine stewart_demo")
        scene.wire.wait_for_states(100)
        scene.move()
        assert second.stop() == 0, second.describe()
