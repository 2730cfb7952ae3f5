"""The watchdog outside the loop: the fail-safe output while a law, a kernel or the interpreter hangs."""

import os
from pathlib import Path

import hanging_law
import hanging_node
import numpy as np
import pytest
from reports import ERROR, Report
from ros_harness import peer_with
from two_links import NODE, Robot, controller, gravity_load

pytestmark = pytest.mark.ros

PLACE, HANGS = [0.3, 0.2], [hanging_law.HANGS, 0.2]
TIMES = {"state_timeout": 1.0, "safe_fade_time": 0.3, "max_stamp_step": 0.5, "max_effort_step": 2.0}


def faded_from(robot, count):
    """The commands since then that the watchdog has sent; they carry the weight and fade to nothing."""
    robot.peer.wait_until(lambda: robot.faded, "no fail-safe output")
    sent = np.array([message.data for message in robot.commands[count:]])
    weight = gravity_load(PLACE)
    fading = sent[np.flatnonzero((sent != sent[0]).any(axis=1))[0] :] if (sent != sent[0]).any() else sent
    share = fading[:, 0] / weight[0]
    np.testing.assert_allclose(fading, share[:, None] * weight, rtol=1e-6, atol=1e-9)
    assert (np.diff(share) <= 1e-9).all()
    assert share[-1] == 0.0


@pytest.mark.parametrize(
    ("where", "host", "mode"), [("kernel", "on", "computed_torque"), ("law", "off", "hanging")]
)
def test_a_loop_that_hangs_fades_and_then_holds(where, host, mode, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    environment = {hanging_law.FIFO: str(fifo), hanging_law.WHERE: where}
    hanging = controller(Path(hanging_law.__file__), environment, native_loop=host, mode=mode, **TIMES)
    with hanging as node, peer_with(node) as peer:
        robot, report = Robot(peer), Report(peer)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        count = len(robot.commands)
        robot.now += 2_000_000
        peer.repeat_until(
            lambda: robot.states.publish(robot.state(HANGS)), lambda: robot.faded, "no fail-safe output"
        )
        faded_from(robot, count)
        if host == "on":  # whose own thread is alive
            node.wait_for_output(
                r"\[ERROR\].*the control loop hangs: safe output gravity_fade, from its watchdog"
            )
            report.wait_for(ERROR, "the control loop hangs")
        os.write(descriptor, b"x" * 1000)
        node.wait_for_output(r"\[ERROR\].*the control loop hung for \d")
        robot.now += 1_000_000_000
        peer.wait_until(
            lambda: robot.hold_at(PLACE) is not None and "joint states are back" in node.output,
            "no control although the loop goes on",
        )
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)


def test_a_python_host_whose_interpreter_hangs_fades_and_then_holds(tmp_path):
    with (
        hanging_node.held_by(tmp_path) as hang,
        controller(hanging_node.FILE, {hanging_node.WHICH: NODE}, native_loop="off", **TIMES) as node,
        peer_with(node) as peer,
    ):
        robot = Robot(peer)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        count = len(robot.commands)
        release = hang(peer)
        faded_from(robot, count)
        release()
        node.wait_for_output(r"\[ERROR\].*the control loop hung for \d")
        robot.now += 1_000_000_000
        peer.wait_until(
            lambda: robot.hold_at(PLACE) is not None and "joint states are back" in node.output,
            "no control although Python is back",
        )
