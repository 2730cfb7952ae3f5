"""An exciting motion is sent to a simulated arm by the command, and Ctrl-C makes the arm hold."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
from rcl_interfaces.srv import GetParameters
from ros_harness import UNSUPERVISED, NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics.identification.logs import read_log
from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.processes import claim_domain, node_environment

pytestmark = [pytest.mark.ros, pytest.mark.long]
pytest.importorskip("mujoco", reason="mujoco is not installed")
pytest.importorskip("scipy", reason="scipy is not installed")
SCARA = resource("urdf/scara.urdf")
SHORT = ["--period", "3", "--harmonics", "2", "--send", "--yes", "--speed"]


def excite(folder, speed, *more):
    command = [sys.executable, "-m", "robot_dynamics.cli.main", "excite", str(SCARA)]
    return subprocess.Popen(
        [*command, "-o", str(folder / "move.yaml"), *SHORT, speed, *more],
        env=node_environment(claim_domain()),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_motion_is_sent_and_ctrl_c_holds(tmp_path):
    sent_and_held(tmp_path)


def test_a_motion_is_a_goal_where_the_controller_serves_that(tmp_path):
    pytest.importorskip("control_msgs.action", reason="control_msgs is not installed")
    said = sent_and_held(tmp_path)
    assert said.count("following a goal") == 3


def supervision(peer):
    request = GetParameters.Request(names=["supervision"])
    return (
        peer.call(GetParameters, "computed_torque_controller/get_parameters", request).values[0].string_value
    )


def sent_and_held(tmp_path):
    """One motion to its end, one to Ctrl-C; what the controller said."""
    arm = {"robot_description": SCARA.read_text()}
    control = {**arm, **UNSUPERVISED, "supervision": "enforce", "state_timeout": 10.0}
    with (
        NodeProcess("simulator", {**arm, "rate": 200.0, "lockstep": True}) as simulator,
        NodeProcess("computed_torque_controller", {**control, "lockstep": True}) as controller,
        peer_with(simulator) as peer,
    ):
        states = []
        peer.node.create_subscription(JointState, "joint_states", states.append, qos.STATE_PUBLISHER)
        peer.wait_until(lambda: states, "no states")
        assert supervision(peer) == "enforce"
        sent = excite(tmp_path, "1", "--observe", "--record", str(tmp_path / "run"))
        seen = set()

        def over():
            seen.add(supervision(peer))
            return sent.poll() is not None

        peer.wait_until(over, "the motion does not end")
        said = sent.communicate()[0]
        assert sent.returncode == 0, said + controller.output
        assert seen == {"enforce", "observe"} and supervision(peer) == "enforce"
        run = read_log(str(tmp_path / "run"), ("joint1", "joint2"), "/joint_states", {})
        assert np.ptp(run.time) > 3.0 and (np.ptp(run.q, axis=0) > 0.2).all()
        assert "the motion is over; following error and trajectory rules only warn" in said
        positions = np.array([state.position for state in states])
        assert (np.ptp(positions, axis=0)[:2] > 0.2).all()
        held = excite(tmp_path, "0.1")
        count = len(states)

        def moving():
            return len(states) > count and np.abs(states[-1].velocity).max() > 0.02

        peer.wait_until(moving, "the arm does not move")
        held.send_signal(signal.SIGINT)
        peer.wait_until(lambda: held.poll() is not None, "Ctrl-C does not end it")
        said = held.communicate()[0]
        assert "holding" in said, said
        assert held.returncode == 130

        def rests():
            return np.abs(np.array([state.velocity for state in states[-50:]])).max() < 1e-3

        peer.wait_until(rests, "the arm does not hold")
        stopped = excite(tmp_path, "0.1")
        count = len(states)
        peer.wait_until(moving, "the arm does not move")
        peer.call(Trigger, "computed_torque_controller/emergency_stop", Trigger.Request())
        peer.wait_until(lambda: stopped.poll() is not None, "a stopped motion does not end its command")
        said = stopped.communicate()[0]
        assert stopped.returncode == 1
        assert "the arm stands still" in said or "following a goal" in controller.output, said
        return controller.output
