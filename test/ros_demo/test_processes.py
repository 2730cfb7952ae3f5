"""Ends of the nodes' processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import PATIENCE, POLL
from ros_harness import NodeProcess

from robot_dynamics.resources import resource

pytest.importorskip("rclpy", reason="rclpy runs the nodes")
pytestmark = pytest.mark.ros

STARTER = """
import sys
from robot_dynamics.ros.support.processes import NodeProcess, claim_domain
node = NodeProcess("robot_dynamics.ros.simulator", claim_domain(), {"machine": sys.argv[1]}, priority=1)
while "simulating" not in node.output:
    assert node.running, node.output
print(node.pid, node.cpu_seconds, node.refused_priority, flush=True)
sys.stdin.read()
"""


def test_nodes_have_their_priority_and_end_when_their_starter_is_killed():
    machine = str(resource("config/stewart_demo.yaml"))
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, machine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        pid, used, *refused = starter.stdout.readline().split()
        threads = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
        assert len(threads) > 1
        expected = os.SCHED_OTHER if refused else os.SCHED_FIFO
        assert {os.sched_getscheduler(thread) for thread in threads} == {expected}
        assert 0.1 < float(used) < 60.0
        starter.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, "the node lives on"
        time.sleep(POLL)


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1])
def test_an_interrupt_during_the_end_does_not_disturb_it(delay):
    """A terminal and a launch, or an impatient user, interrupt twice."""
    with NodeProcess("simulator", {"machine": str(resource("config/stewart_demo.yaml"))}) as node:
        node.wait_for_output("simulating")
        node.send_signal(signal.SIGINT)
        time.sleep(delay)
        node.send_signal(signal.SIGINT)
        assert node.wait_for_exit() == 0
        assert "Traceback" not in node.output


def test_two_runs_at_once_do_not_choose_the_same_port():
    pytest.importorskip("viser", reason="viser is not installed")
    from robot_dynamics.ros.running.pages import page_address

    (first, url), (second, _) = page_address(), page_address()
    assert first != second and f":{first}/" in url
    assert page_address(first) == (first, url)  # who asks for one gets it


def test_an_interrupt_that_a_library_swallows_is_still_one():
    from robot_dynamics.ros.running.pages import nodes_end_with_this_process

    def called_by_a_library():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise RuntimeError("unable to cast") from None

    with pytest.raises(KeyboardInterrupt), nodes_end_with_this_process():
        called_by_a_library()
    with pytest.raises(RuntimeError, match="its own"), nodes_end_with_this_process():
        raise RuntimeError("its own")
