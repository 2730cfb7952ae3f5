"""The lifecycle of the feeder: what fails says so, halts, and leads back to where it can be configured."""

from pathlib import Path

import faulty_feeder
import numpy as np
import pytest
from reports import ERROR, OK, WARN, Report
from ros_harness import Lifecycle, NodeProcess, peer_with
from std_msgs.msg import String
from test_trajectory_feedforward import ARM, NODE, Robot, feeder, started

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros


def test_configure_says_what_is_missing_or_does_not_fit():
    with (
        NodeProcess(NODE, {"autostart": False, "friction": [1.0, 2.0, 3.0]}) as node,
        peer_with(node) as peer,
    ):
        lifecycle, report = Lifecycle(peer, NODE), Report(peer)
        assert not lifecycle.change(lifecycle.ACTIVATE)
        node.wait_for_output("cannot activate: the node is unconfigured")
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: there is no robot description yet")
        report.wait_for(WARN, "not configured: there is no robot description yet")
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=ARM))
        node.wait_for_output("model of two")
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: parameter 'friction' has 3 values; give 1, or 2")
        assert lifecycle.state == "unconfigured"
        assert peer.set_parameter(NODE, "friction", [0.0]).successful
        assert lifecycle.change(lifecycle.CONFIGURE)
        assert report.wait_for(OK, "the node is not active")["lifecycle"] == "inactive"
        assert lifecycle.change(lifecycle.ACTIVATE)
        report.wait_for(WARN, "there is no joint state yet")


def test_autostart_waits_for_a_parameter_that_fits():
    with feeder(friction=[1.0, 2.0, 3.0]) as node, peer_with(node) as peer:
        node.wait_for_output("cannot configure: parameter 'friction' has 3 values")
        assert peer.set_parameter(NODE, "friction", [0.0]).successful
        started(peer)


def test_cleanup_sees_the_fading_efforts_through():
    with feeder(effort_path="commands", command_rate=100.0) as node, peer_with(node) as peer:
        robot, lifecycle = started(peer, commands=True), Lifecycle(peer, NODE)
        peer.wait_until(lambda: robot.commands and np.any(robot.commands[-1].data), "no holding effort")
        assert lifecycle.change(lifecycle.DEACTIVATE)
        assert lifecycle.change(lifecycle.CLEANUP)
        peer.wait_until(lambda: not np.any(robot.commands[-1].data), "the last effort stays")


def test_an_interrupt_in_the_middle_of_a_halt_sees_it_through():
    with feeder(effort_path="commands", safe_fade_time=2.0) as node, peer_with(node) as peer:
        robot, lifecycle = started(peer, commands=True), Lifecycle(peer, NODE)
        peer.wait_until(lambda: robot.commands and np.any(robot.commands[-1].data), "no holding effort")
        assert lifecycle.change(lifecycle.DEACTIVATE)
        peer.processes.clear()
        assert node.stop() == 0
        peer.wait_until(lambda: not np.any(robot.commands[-1].data), "the last effort stays")


def test_a_fault_of_the_running_cycle_ends_in_no_effort_and_can_be_configured_again():
    parameters = {"robot_description": ARM, "effort_path": "commands", "state_timeout": 60.0}
    with NodeProcess(Path(faulty_feeder.__file__), parameters) as node, peer_with(node) as peer:
        robot, lifecycle, report = started(peer, commands=True), Lifecycle(peer, NODE), Report(peer)
        peer.wait_until(lambda: robot.commands and np.any(robot.commands[-1].data), "no holding effort")

        def failed():
            robot.be([faulty_feeder.LIMIT + 0.1, 0.0])
            return "can be configured again" in node.output

        peer.wait_until(failed, "no fault")
        node.wait_for_output("ZeroDivisionError: a law that nobody tested")
        peer.wait_until(lambda: not np.any(robot.commands[-1].data), "the last effort stays")
        assert lifecycle.state == "unconfigured"
        report.wait_for(ERROR, "a law that nobody tested")
        count = node.output.count("nobody tested")
        assert lifecycle.change(lifecycle.CONFIGURE)
        robot.be([0.0, 0.0])
        assert lifecycle.change(lifecycle.ACTIVATE)
        robot.commands.clear()

        def carried():
            robot.be([0.0, 0.0])
            return robot.commands and np.any(robot.commands[-1].data)

        peer.wait_until(carried, "no holding effort after the second start")
        assert node.output.count("nobody tested") == count
        assert "Traceback" not in node.output


def test_a_joint_without_an_effort_limit_is_a_warning_until_max_effort_gives_one():
    zeros = ARM.replace('effort="20" velocity="5"', 'effort="0" velocity="0"')
    with feeder(robot_description=zeros) as node, peer_with(node) as peer:
        robot, report = Robot(peer), Report(peer)

        def be_there():
            robot.be([0.0, 0.0])

        report.wait_for(WARN, "no effort limit for elbow: the parameter max_effort sets one", be_there)
        assert peer.set_parameter(NODE, "max_effort", [0.0, 20.0]).successful
        report.wait_for(OK, "ready", be_there)
