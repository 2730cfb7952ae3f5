"""The lifecycle of the platform: configure reads the machine, and a fault leads back to it."""

from pathlib import Path

import faulty_stewart
import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from legs import NODE, Legs, demo, forces_at
from lifecycle_msgs.msg import TransitionEvent
from reports import ERROR, STALE, WARN, Report
from ros_harness import Lifecycle, NodeProcess, peer_with

from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros

PATIENT = {"state_timeout": 60.0, "safe_output": "gravity_fade", "safe_fade_time": 0.3}


def test_configure_reads_the_machine_and_can_be_tried_again(tmp_path):
    file = tmp_path / "machine.yaml"
    file.write_text("legs: 6\n")
    parameters = {**PATIENT, "autostart": False, "machine": str(file)}
    with NodeProcess(NODE, parameters) as node, peer_with(node) as peer:
        lifecycle = Lifecycle(peer, NODE)
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: .*machine.yaml")
        assert lifecycle.state == "unconfigured"
        assert peer.set_parameter(NODE, "machine", "/nowhere/machine.yaml").successful
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: parameter 'machine': /nowhere/machine.yaml does not exist")
        assert peer.set_parameter(NODE, "machine", str(file)).successful
        file.write_text(resource("config/stewart_demo.yaml").read_text(encoding="utf-8"))
        assert lifecycle.change(lifecycle.CONFIGURE)
        result = peer.set_parameter(NODE, "machine", "stewart_demo")
        assert not result.successful
        assert "while the node is unconfigured" in result.reason
        assert not lifecycle.change(lifecycle.CONFIGURE)
        node.wait_for_output("cannot configure: the node is inactive")
        assert lifecycle.change(lifecycle.ACTIVATE)
        legs, expected = Legs(peer, demo()), forces_at(demo())
        np.testing.assert_allclose(
            legs.answer(expected.leg_lengths).effort, expected.actuator_forces, rtol=1e-6
        )
        assert lifecycle.change(lifecycle.DEACTIVATE)
        assert lifecycle.change(lifecycle.CLEANUP)
        peer.wait_until(lambda: legs.faded, "the last forces stay")
        file.write_text("legs: 6\n")
        assert not lifecycle.change(lifecycle.CONFIGURE)
        assert "Traceback" not in node.output


def test_a_fault_of_the_running_node_goes_through_on_error_and_can_be_configured_again():
    with (
        NodeProcess(Path(faulty_stewart.__file__), {**PATIENT, "native_loop": "off"}) as node,
        peer_with(node) as peer,
    ):
        lifecycle = Lifecycle(peer, NODE)
        legs, expected = Legs(peer, demo()), forces_at(demo())
        reports = peer.subscribe(DiagnosticArray, "/diagnostics", qos.DIAGNOSTICS)
        events = peer.subscribe(TransitionEvent, f"{NODE}/transition_event", qos.RECORDING)
        legs.answer(expected.leg_lengths)
        count = len(legs.commands)

        def failed():
            legs.now += 2_000_000
            legs.states.publish(legs.state(expected.leg_lengths + 0.001))
            return "can be configured again" in node.output

        peer.wait_until(failed, "no fault")
        node.wait_for_output("ZeroDivisionError: a report that nobody tested")
        peer.wait_until(lambda: len(legs.commands) > count and legs.faded, "no safe output")
        sent = np.abs([message.data for message in legs.commands[count:]])
        assert sent.max() <= np.abs(expected.actuator_forces).max() * (1.0 + 1e-9)
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
        legs.now += 2_000_000
        np.testing.assert_allclose(
            legs.answer(expected.leg_lengths).effort, expected.actuator_forces, rtol=1e-6
        )
        assert "Traceback" not in node.output


def test_a_pose_on_the_way_to_a_singular_one_is_a_warning(tmp_path):
    condition = float(forces_at(demo()).scaled_condition_number)
    text = resource("config/stewart_demo.yaml").read_text(encoding="utf-8")
    file = tmp_path / "machine.yaml"
    file.write_text(text.replace("condition_limit: 50.0", f"condition_limit: {1.5 * condition}"))
    with NodeProcess(NODE, {**PATIENT, "machine": str(file)}) as node, peer_with(node) as peer:
        report = Report(peer)
        report.wait_for(STALE, "waiting for the first joint state")
        legs, expected = Legs(peer, demo()), forces_at(demo())
        legs.answer(expected.leg_lengths)
        values = report.wait_for(WARN, "condition number")
        assert float(values["condition number"]) == pytest.approx(condition, rel=0.01)
        assert values["machine"] == demo().machine.name
        assert values["mode"] == "computed_force"
        legs.answer([0.5, 0.78, 0.5, 0.78, 0.1, 3.0])
        report.wait_for(ERROR, "safe output: ")
        legs.answer(expected.leg_lengths)
        report.wait_for(WARN, "condition number")
