"""The loop in C, in the node: what it does while Python hangs, under floods, rubbish and legal monsters."""

import os
import signal
import time
from pathlib import Path

import converting_node
import hanging_node
import node_without_headers
import numpy as np
import pytest
from ros_harness import peer_with
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from test_computed_torque_controller import TRAJECTORY, trajectory
from trajectory_msgs.msg import JointTrajectory
from two_links import NAMES, NODE, Robot, controller, gravity_load

from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.messages import stamp_to_nanoseconds

pytestmark = pytest.mark.ros

CONVERTING = Path(converting_node.__file__)
WITHOUT_HEADERS = Path(node_without_headers.__file__)
PLACE, NEAR, BESIDE = [0.3, 0.2], [0.4, 0.15], [0.43, 0.15]


def native(node=NODE, environment=None, **parameters):
    return controller(node, environment, native_loop="on", **parameters)


@pytest.fixture
def hang(tmp_path):
    """Stops the node's interpreter; the function that it returns lets it go on."""
    with hanging_node.held_by(tmp_path) as stop:
        yield stop


FRONT = 1.5
"""For which the node's own thread may hang [s]."""


@pytest.mark.long
def test_states_are_answered_while_python_hangs_until_the_front_timeout(hang):
    # An arm that is kept beside its reference looks like one with a load. The safe output would carry it,
    # too, and could not be told from feedback.
    without_estimate = {"ki": -1.0}
    patient = {"max_stamp_step": 10.0, "max_effort_step": 2.0, "safe_fade_time": 60.0, **without_estimate}
    which = {hanging_node.WHICH: NODE}
    with native(hanging_node.FILE, which, front_timeout=FRONT, **patient) as node, peer_with(node) as peer:
        robot = Robot(peer)
        expected = gravity_load(PLACE)
        np.testing.assert_allclose(robot.hold_at(PLACE), expected, rtol=1e-9)
        sender = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        sender.publish(trajectory([(1.0, [0.5, 0.1])]))
        before = robot.now
        peer.wait_until(
            lambda: robot.hold_at(PLACE) is not None and "following a trajectory" in node.output, "no plan"
        )
        release = hang(peer)
        began = time.monotonic()
        robot.now = before + 4_000_000_000
        # What was accepted is finished: the reference stands at its goal, and feedback pulls towards it.
        pulling = robot.hold_at(NEAR)
        assert pulling[0] > gravity_load(NEAR)[0] + 1.0
        peer.wait_until(lambda: np.allclose(robot.commands[-1].data, pulling), "one topic lacks the command")

        def safe():
            # Neither the goal nor where a hold may have been taken: feedback would show here.
            robot.states.publish(robot.state(BESIDE))
            robot.now += 2_000_000
            # A jump may have ended in a hold just here, whose efforts are the same.
            late = time.monotonic() - began > 2.0 * FRONT
            return late and abs(robot.commands[-1].data[0] - gravity_load(BESIDE)[0]) < 0.3

        peer.wait_until(safe, "no safe output although nobody is at home")
        assert "hung" not in node.output, "nobody was there to say so"
        release()
        node.wait_for_output(r"\[ERROR\].*the node's own thread hung for \d")
        peer.wait_until(
            lambda: robot.hold_at(NEAR) is not None and "joint states are back" in node.output,
            "no control although Python is back",
        )
        assert peer.set_parameter(NODE, "safe_fade_time", 0.1).successful  # a quick end


def test_other_bytes_than_usual_are_answered_or_refused():
    with native() as node, peer_with(node) as peer:
        robot = Robot(peer)
        expected = gravity_load(PLACE)
        np.testing.assert_allclose(robot.hold_at(PLACE), expected, rtol=1e-9)
        for names in (["elbow", "gripper", "shoulder"], ["ä", "shoulder", "elbow"], NAMES):
            at = {"shoulder": PLACE[0], "elbow": PLACE[1]}
            state = robot.state([at.get(n, 9.0) for n in names], [0.0] * len(names), names)
            np.testing.assert_allclose(robot.answer(state), expected, rtol=1e-9)
        raw = peer.node.create_publisher(JointState, "joint_states", qos.STATE_PUBLISHER)
        peer.wait_until(lambda: raw.get_subscription_count() > 0, "nobody takes bytes")

        def rubbish():
            for data in (b"", b"\x00", b"\x00\x01\x00\x00", b"\x00\x01\x00\x00" + b"\xff" * 60, b"\x7f" * 9):
                raw.publish(data)
            return "joint state refused: it cannot be decoded" in node.output

        peer.wait_until(rubbish, "rubbish is not refused")
        np.testing.assert_allclose(robot.hold_at(PLACE), expected, rtol=1e-9)
        assert node.stop() == 0


def test_a_flood_of_states_starves_neither_hold_nor_the_newest_state():
    with native() as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at(PLACE)
        flood = [robot.state(PLACE) for _ in range(200)]
        client = peer.node.create_client(Trigger, f"{NODE}/hold")
        peer.wait_until(client.service_is_ready, "no service")
        future = client.call_async(Trigger.Request())

        def held():
            for message in flood:
                robot.states.publish(message)
            return future.done()

        peer.wait_until(held, "a flood of states keeps a hold from being served")
        assert future.result().success
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)


def test_a_flood_of_rubbish_keeps_the_watchdog_from_nothing():
    with native(state_timeout=0.3, safe_fade_time=0.2) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at(PLACE)

        def faded():
            for _ in range(100):
                robot.states.publish(b"\0\1\0\0" + b"\xff" * 60)
            return "no joint state for" in node.output and robot.faded

        peer.wait_until(faded, "rubbish counts as states")
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("loop, count", [("on", 30_000), ("off", 10_000)])
def test_the_answers_go_on_while_a_huge_trajectory_is_planned(loop, count):
    with controller(native_loop=loop) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at(PLACE)
        sender = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        points = [(0.01 * (k + 1), PLACE) for k in range(count)]
        sender.publish(trajectory(points))
        answered = 0
        while f"following a trajectory of {count} points" not in node.output:
            robot.hold_at(PLACE)
            answered += 1
        # Not one answer waited for the interpreter: each has the stamp of its state, none was left out.
        stamps = [stamp_to_nanoseconds(command.header.stamp) for command in robot.stamped]
        assert answered > 3
        assert len(set(stamps)) >= answered


@pytest.mark.long
def test_the_answers_go_on_while_a_huge_goal_becomes_objects():
    with native(CONVERTING) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at(PLACE)
        sender = peer.publisher(JointTrajectory, f"{NODE}/objects", qos.TRAJECTORY)
        sender.publish(trajectory([(0.01 * (k + 1), PLACE) for k in range(100_000)]))
        before = len(robot.stamped)
        while "100000 points are objects" not in node.output:
            robot.hold_at(PLACE)
        stamps = [stamp_to_nanoseconds(command.header.stamp) for command in robot.stamped[before:]]
        assert len(set(stamps)) > 3, "the loop waits for the interpreter"


def test_where_rcl_has_no_headers_the_python_host_runs_the_loop_and_says_so():
    with controller(WITHOUT_HEADERS) as node, peer_with(node) as peer:
        robot = Robot(peer)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        node.wait_for_output(r"\[WARN\].*runs in the node's own Python thread: no headers of rcl beside ")
    with native(WITHOUT_HEADERS) as node:
        assert node.wait_for_exit() == 1
        node.wait_for_output(r"\[FATAL\].*no headers of rcl beside ")


def threads_of(process):
    """The scheduling policies of a process's threads, by their names."""
    tasks = [*Path(f"/proc/{process}/task").iterdir()]
    return {(task / "comm").read_text().strip(): os.sched_getscheduler(int(task.name)) for task in tasks}


def test_scheduling_that_the_system_does_not_permit_is_told():
    with native(realtime_cpu=1023, realtime_priority=1, stay_awake=True) as node, peer_with(node) as peer:
        robot = Robot(peer)
        node.wait_for_output(r"\[WARN\].*the native loop does not get its processor: ")
        policies = threads_of(node.pid)
        # What brings the states runs as the loop does; Python never gets in its way.
        refused = "does not get its real-time priority" in node.output
        expected = os.SCHED_OTHER if refused else os.SCHED_FIFO
        brought = {policy for name, policy in policies.items() if name.startswith(("dds.shm", "dds.udp"))}
        assert {policies["control_loop"]} | brought == {expected}
        assert os.sched_getscheduler(node.pid) == os.SCHED_BATCH
        held = {str(file.readlink()) for file in Path(f"/proc/{node.pid}/fd").iterdir()}
        assert ("/dev/cpu_dma_latency" in held) is not ("the processors may sleep" in node.output)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)


@pytest.mark.parametrize("loop", ["on", "off"])
def test_the_log_says_what_is_sent_when_motion_cannot_be_real(loop):
    with controller(native_loop=loop, safe_output="zero") as node, peer_with(node) as peer:
        robot = Robot(peer)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        np.testing.assert_array_equal(robot.answer(robot.state(PLACE, [99.0, 0.0])), [0.0, 0.0])
        node.wait_for_output("seems to move at 99.000 .*: safe output zero, nothing is followed any more")
        robot.now += 5_000_000_000
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        robot.answer(robot.state([2.0, 0.0]))
        node.wait_for_output("a joint jumped by 1.700 .*: holding here, nothing is followed any more")


@pytest.mark.parametrize("loop", ["on", "off"])
def test_states_that_were_lost_while_the_whole_process_stood_are_lost(loop):
    """The state that ends a silence may be seen before the silence is."""
    with controller(native_loop=loop, state_timeout=0.3) as node, peer_with(node) as peer:
        robot = Robot(peer)
        robot.hold_at(PLACE)
        sender = peer.publisher(JointTrajectory, TRAJECTORY, qos.TRAJECTORY)
        sender.publish(trajectory([(1.0, [0.5, 0.1])]))
        peer.wait_until(
            lambda: robot.hold_at(PLACE) is not None and "following a trajectory" in node.output, "no plan"
        )
        node.send_signal(signal.SIGSTOP)
        status = Path(f"/proc/{node.pid}/status")
        peer.wait_until(lambda: "State:\tT" in status.read_text(encoding="utf-8"), "it does not stop")
        end = time.monotonic() + 0.4
        robot.now += 400_000_000
        waiting = robot.state(PLACE)
        robot.states.publish(waiting)
        peer.wait_until(lambda: time.monotonic() > end, "time stands still")
        node.send_signal(signal.SIGCONT)
        np.testing.assert_allclose(robot.answer(waiting), gravity_load(PLACE), rtol=1e-9)
        node.wait_for_output(r"\[ERROR\].*no joint state for 0\.\d")
