"""Reports of the simulator on /diagnostics: each level provoked, with its reason."""

from pathlib import Path

import pytest
from reports import OK, STALE, WARN, Report
from ros_harness import NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.ros.support import qos

pytestmark = pytest.mark.ros

SCARA = (Path(__file__).parents[2] / "urdf" / "scara.urdf").read_text(encoding="utf-8")
NODE = "simulator"


def test_by_the_wall_clock():
    with NodeProcess(NODE, {"rate": 50.0, "command_timeout": 60.0}) as node, peer_with(node) as peer:
        report = Report(peer)
        report.wait_for(WARN, "there is no robot description yet")
        describe = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        describe.publish(String(data="<robot/>"))
        report.wait_for(WARN, "the description was refused: ")
        describe.publish(String(data=SCARA))
        values = report.wait_for(WARN, "no command: brake")
        assert values["mode"] == "wall clock"
        assert values["model"].startswith("scara")
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        peer.wait_until(lambda: states, "no states")
        commands = peer.publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        count = len(states[-1].name)
        commands.publish(Float64MultiArray(data=[1e6] + [0.0] * (count - 1)))
        values = report.wait_for(WARN, f"effort limited at {states[-1].name[0]}")
        assert values["saturated joints"] == states[-1].name[0]
        assert float(values["command age [s]"]) >= 0.0
        assert float(values["rate [Hz]"]) > 0.0
        assert int(values["late_by_a_period"]) >= 0


def test_a_loop_that_cannot_keep_its_rate():
    parameters = {"robot_description": SCARA, "rate": 2000.0, "physics_timestep": 1e-6, "integrator": "rk4"}
    with NodeProcess(NODE, {**parameters, "command_timeout": 60.0}) as node, peer_with(node) as peer:
        report = Report(peer)
        states = peer.subscribe(JointState, "joint_states", qos.STATE_SUBSCRIPTION)
        peer.wait_until(lambda: states, "no states")
        commands = peer.publisher(Float64MultiArray, "effort_controller/commands", qos.COMMAND)
        commands.publish(Float64MultiArray(data=[0.0] * len(states[-1].name)))
        report.wait_for(WARN, "% of the cycles late by more than a period")


def test_in_lockstep():
    with NodeProcess(NODE, {"robot_description": SCARA, "lockstep": True}) as node, peer_with(node) as peer:
        report = Report(peer)
        values = report.wait_for(STALE, "in lockstep, without an answer for")
        assert values["mode"] == "lockstep"
        states = peer.subscribe(JointState, "joint_states", qos.LOCKSTEP)
        peer.wait_until(lambda: states, "no states")
        answers = peer.publisher(JointState, "joint_command", qos.LOCKSTEP)

        def answer():
            answers.publish(
                JointState(
                    header=states[-1].header, name=states[-1].name, effort=[0.0] * len(states[-1].name)
                )
            )

        report.wait_for(OK, "in lockstep", answer)
