"""The controller's lifecycle: every way in which a transition or the running node can fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import TransitionEvent
from ros_harness import Lifecycle, NodeProcess, peer_with
from std_msgs.msg import String
from two_links import NODE, TWO_LINKS, Robot, controller, gravity_load

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros

FAULTY = Path(__file__).with_name("faulty_controller.py")
PLACE = [0.3, 0.2]


def test_configure_needs_a_usable_description_and_says_what_is_wrong_with_it():
    with NodeProcess(NODE, {"autostart": False, "safe_fade_time": 0.2}) as node, peer_with(node) as peer:
        lifecycle = Lifecycle(peer, NODE)
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: there is no robot description yet")
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=TWO_LINKS.replace('type="revolute"', 'type="floating"')))
        node.wait_for_output("is refused: .*floating")
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: the description was refused: .*floating")
        assert lifecycle.state == "unconfigured"
        describe.publish(String(data=TWO_LINKS))
        node.wait_for_output("model of two_links")
        assert lifecycle.change(lifecycle.CONFIGURE)
        assert lifecycle.state == "inactive"
        assert lifecycle.change(lifecycle.ACTIVATE)
        assert lifecycle.state == "active"
        robot = Robot(peer)
        robot.hold_at(PLACE)
        assert peer.set_parameter(NODE, "supervision", "observe").successful
        assert lifecycle.change(lifecycle.DEACTIVATE)
        peer.wait_until(lambda: robot.faded, "deactivate does not end in zero effort")
        node.wait_for_output("supervision was 'observe' until now; it is 'enforce' again")
        assert lifecycle.state == "inactive"
        assert "Traceback" not in node.output


def test_transitions_that_do_not_exist_are_refused_and_the_node_lives_on():
    with controller(autostart=False) as node, peer_with(node) as peer:
        lifecycle = Lifecycle(peer, NODE)
        assert not lifecycle.change(lifecycle.ACTIVATE)
        node.wait_for_output("cannot activate: the node is unconfigured")
        assert not lifecycle.change(99)
        assert lifecycle.change(lifecycle.CONFIGURE)
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: the node is inactive")
        assert lifecycle.change(lifecycle.ACTIVATE)
        assert not lifecycle.change(lifecycle.CLEANUP)
        np.testing.assert_allclose(Robot(peer).hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)


def test_a_parameter_that_does_not_fit_fails_configure_until_it_is_right():
    with controller(autostart=False, kp=[1.0, 2.0, 3.0]) as node, peer_with(node) as peer:
        lifecycle = Lifecycle(peer, NODE)
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output(
            "cannot configure: parameter 'kp' has 3 values; give 1, or 2 in the order shoulder"
        )
        assert lifecycle.state == "unconfigured"
        assert peer.set_parameter(NODE, "kp", [100.0, 50.0]).successful
        assert lifecycle.change(lifecycle.CONFIGURE)


def test_autostart_waits_for_a_parameter_that_fits():
    with controller(friction=[1.0, 2.0, 3.0]) as node, peer_with(node) as peer:
        node.wait_for_output("cannot configure: parameter 'friction' has 3 values")
        assert peer.set_parameter(NODE, "friction", [0.0]).successful
        np.testing.assert_allclose(Robot(peer).hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)


def test_autostart_starts_once_and_then_the_lifecycle_is_the_callers():
    with controller() as node, peer_with(node) as peer:
        Robot(peer).hold_at(PLACE)
        lifecycle = Lifecycle(peer, NODE)
        assert lifecycle.change(lifecycle.DEACTIVATE)
        assert lifecycle.change(lifecycle.CLEANUP)
        assert peer.set_parameter(NODE, "kp", [50.0]).successful
        assert peer.set_parameter(
            NODE, "robot_description", TWO_LINKS.replace("two_links", "again")
        ).successful
        node.wait_for_output("model of again")
        assert lifecycle.state == "unconfigured"


def test_cleanup_and_shutdown_see_the_halt_through_and_add_nothing():
    with controller() as node, peer_with(node) as peer:
        robot, lifecycle = Robot(peer), Lifecycle(peer, NODE)
        robot.hold_at(PLACE)
        assert lifecycle.change(lifecycle.DEACTIVATE)
        assert lifecycle.change(lifecycle.CLEANUP)
        assert lifecycle.change(lifecycle.CONFIGURE)
        peer.wait_until(lambda: robot.faded, "the last effort stays")
        assert lifecycle.change(lifecycle.CLEANUP)
        assert lifecycle.change(lifecycle.CONFIGURE)
        assert lifecycle.change(lifecycle.ACTIVATE)
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        assert lifecycle.change(lifecycle.DEACTIVATE)
        peer.wait_until(lambda: robot.faded, "no fade")
        count = len(robot.commands)
        assert lifecycle.change(lifecycle.INACTIVE_SHUTDOWN)
        assert lifecycle.state == "finalized"
        assert not lifecycle.change(lifecycle.CONFIGURE)
        assert not np.any([message.data for message in robot.commands[count:]])


def test_shutdown_of_an_active_controller_fades():
    with controller() as node, peer_with(node) as peer:
        robot, lifecycle = Robot(peer), Lifecycle(peer, NODE)
        robot.hold_at(PLACE)
        assert lifecycle.change(lifecycle.ACTIVE_SHUTDOWN)
        peer.wait_until(lambda: robot.faded, "no fade")
        assert lifecycle.state == "finalized"


def test_an_interrupt_in_the_middle_of_a_halt_sees_it_through():
    with controller(safe_fade_time=2.0) as node, peer_with(node) as peer:
        robot, lifecycle = Robot(peer), Lifecycle(peer, NODE)
        robot.hold_at(PLACE)
        assert lifecycle.change(lifecycle.DEACTIVATE)
        assert not robot.faded
        peer.processes.clear()
        assert node.stop() == 0
        peer.wait_until(lambda: robot.faded, "the last effort stays")


@pytest.mark.parametrize("host", ["on", "off"])
def test_a_fault_of_the_running_node_goes_through_on_error_and_can_be_configured_again(host):
    with controller(FAULTY, native_loop=host) as node, peer_with(node) as peer:
        robot, lifecycle = Robot(peer), Lifecycle(peer, NODE)
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        events = peer.subscribe(TransitionEvent, f"{NODE}/transition_event", qos.RECORDING)
        robot.hold_at(PLACE)
        peer.wait_until(lambda: robot.commands, "no command")
        count = len(robot.commands)

        def failed():
            robot.now += 2_000_000
            robot.states.publish(robot.state([2.0, 0.2]))
            return "can be configured again" in node.output

        peer.wait_until(failed, "no fault")
        node.wait_for_output(r"ZeroDivisionError: a report that nobody tested \(in failing_on_cycles, ")
        peer.wait_until(lambda: len(robot.commands) > count and robot.faded, "no safe output")
        assert np.isfinite([message.data for message in robot.commands[count:]]).all()
        assert lifecycle.state == "unconfigured"
        peer.wait_until(
            lambda: [event.goal_state.label for event in events][-2:] == ["errorprocessing", "unconfigured"],
            "on_error was passed by",
        )
        last = peer.wait_until(
            lambda: reports and "nobody tested" in reports[-1].status[0].message and reports[-1].status[0],
            "the diagnostics say nothing",
        )
        assert last.level == DiagnosticStatus.ERROR
        assert lifecycle.change(lifecycle.CONFIGURE)
        assert lifecycle.change(lifecycle.ACTIVATE)
        robot.now += 2_000_000
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        assert "Traceback" not in node.output


def test_a_failed_generation_is_told_and_the_old_model_stays():
    impossible = TWO_LINKS.replace("two_links", "impossible")
    with NodeProcess(FAULTY, {"autostart": False, "native_loop": "off"}) as node, peer_with(node) as peer:
        lifecycle = Lifecycle(peer, NODE)
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=impossible))
        node.wait_for_output("is refused: no model can be made of it: .*RecursionError: too deep")
        assert not lifecycle.change(lifecycle.CONFIGURE)
        describe.publish(String(data=TWO_LINKS))
        node.wait_for_output("model of two_links")
        assert lifecycle.change(lifecycle.CONFIGURE)
        assert lifecycle.change(lifecycle.ACTIVATE)
        robot = Robot(peer)
        robot.hold_at(PLACE)
        describe.publish(String(data=impossible))
        node.wait_for_output("the new description is refused, the old model stays: .*too deep")
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        assert "Traceback" not in node.output


def test_another_robot_is_refused_while_the_node_commands_its_own():
    one_more = TWO_LINKS.replace('link name="base"', 'link name="ground"').replace(
        "</robot>",
        '<link name="base"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"'
        ' izz="0.1"/></inertial></link><joint name="turn" type="continuous"><parent link="ground"/>'
        '<child link="base"/><axis xyz="0 0 1"/></joint></robot>',
    )
    with controller(robot_description="") as node, peer_with(node) as peer:
        robot = Robot(peer)
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data=TWO_LINKS))
        robot.hold_at(PLACE)
        answer = peer.set_parameter(NODE, "robot_description", one_more)
        assert not answer.successful and "another robot, two_links with the joints turn, " in answer.reason
        assert answer.reason.endswith("while the node commands shoulder, elbow: deactivate it first")
        describe.publish(String(data=one_more))
        node.wait_for_output("the old model stays: it is another robot")
        np.testing.assert_allclose(robot.hold_at(PLACE), gravity_load(PLACE), rtol=1e-9)
        assert peer.set_parameter(NODE, "payload_mass", 1.0).successful
        peer.wait_until(
            lambda: not np.allclose(robot.hold_at(PLACE), gravity_load(PLACE)),
            "the refused model was changed",
        )


def test_without_a_compiler_the_node_ends_with_one_line(tmp_path):
    nothing_built = {"XDG_CACHE_HOME": str(tmp_path), "ROBOT_DYNAMICS_BUILT": str(tmp_path)}
    environment = {"CC": "/no/such/compiler", **nothing_built}
    for host in ("auto", "on", "off"):
        with controller(environment=environment, native_loop=host) as node:
            assert node.wait_for_exit() == 1
            node.wait_for_output(r"\[FATAL\].*CC names '/no/such/compiler'")
            assert "Traceback" not in node.output
