"""``robot_dynamics play`` moves an arm by a file and to a named pose, and refuses what is not possible."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from ros_harness import UNSUPERVISED, NodeProcess, peer_with
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource
from robot_dynamics.ros.support import qos
from robot_dynamics.ros.support.processes import claim_domain, node_environment

pytestmark = [pytest.mark.ros, pytest.mark.long]
pytest.importorskip("mujoco", reason="mujoco is not installed")
SCARA = resource("urdf/scara.urdf")
READY = (0.4, -0.5, 0.05, 0.3)
SEMANTICS = """<robot name="scara"><group_state name="ready" group="arm">
  {joints}</group_state><group_state name="half" group="arm"><joint name="joint1" value="0.1"/></group_state>
</robot>"""


class Commands:
    """The command as a process, beside an arm that moves on."""

    def __init__(self, peer, folder):
        self.peer, self.folder = peer, folder

    def play(self, *arguments, answer=None):
        run = subprocess.Popen(
            [sys.executable, "-m", "robot_dynamics.cli.main", "play", *map(str, arguments)],
            env=node_environment(claim_domain()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if answer is not None:
            run.stdin.write(answer)
        run.stdin.close()
        self.peer.wait_until(lambda: run.poll() is not None, "the command does not end")
        said = run.stdout.read()
        run.stdout.close()
        return run.returncode, said

    def file(self, name, *rows):
        path = self.folder / name
        lines = [",".join(map(str, row)) for row in rows]
        path.write_text("\n".join(["time,joint1,joint2,joint3,joint4", *lines]) + "\n", encoding="utf-8")
        return path


def test_poses_that_are_not_there_are_refused_with_those_that_are(tmp_path, capsys):
    semantics = tmp_path / "scara.srdf"
    semantics.write_text(SEMANTICS.format(joints=""), encoding="utf-8")
    for arguments, words in (
        (("half", "--srdf", str(semantics)), "the pose 'half' has no value for joint2, joint3, joint4"),
        (("nowhere", "--srdf", str(semantics)), "no pose 'nowhere'; there are ready, half"),
        (("ready",), "'ready' is no file; for a named pose give --srdf FILE"),
        (("nowhere.csv",), "nowhere.csv"),
    ):
        assert main(["play", str(SCARA), *arguments, "--yes"]) == 1
        assert words in capsys.readouterr().err


def test_files_and_poses_are_played_and_what_is_not_possible_is_refused(tmp_path):
    arm = {"robot_description": SCARA.read_text()}
    control = {**arm, **UNSUPERVISED, "state_timeout": 10.0}
    with (
        NodeProcess("simulator", {**arm, "rate": 200.0, "lockstep": True}) as simulator,
        NodeProcess("computed_torque_controller", {**control, "lockstep": True}) as controller,
        peer_with(simulator, controller) as peer,
    ):
        states = []
        peer.node.create_subscription(JointState, "joint_states", states.append, qos.STATE_PUBLISHER)
        peer.wait_until(lambda: states, "no states")
        commands = Commands(peer, tmp_path)

        def stands(*place):
            return np.abs(np.array(states[-1].position) - place).max() < 0.01

        # A file, from somewhere else than its start.
        rows = [(0.0, 0.2, 0.1, 0.02, 0.0), (0.7, 0.5, -0.2, 0.05, 0.3), (1.4, 0.3, 0.2, 0.08, 0.1)]
        path = commands.file("path.csv", *rows)
        quick = ["--yes", "--approach-speed", "1"]
        code, said = commands.play(SCARA, path, *quick)
        assert code == 0 and "the motion is over" in said, said + controller.output
        peer.wait_until(lambda: stands(0.3, 0.2, 0.08, 0.1), "the arm is not at the file's end")
        highest = max(state.position[0] for state in states)
        assert highest == pytest.approx(0.5, abs=0.02)
        # A named pose, by the description of the running robot; the question is answered.
        latched = peer.publisher(String, "robot_description", qos.DESCRIPTION)
        latched.publish(String(data=SCARA.read_text()))
        joints = "".join(f'<joint name="joint{k + 1}" value="{value}"/>' for k, value in enumerate(READY))
        semantics = tmp_path / "scara.srdf"
        semantics.write_text(SEMANTICS.format(joints=joints), encoding="utf-8")
        named = ["--srdf", semantics, "--approach-speed", "1"]
        code, said = commands.play("ready", *named, answer="n\n")
        assert code == 1 and "not sent" in said and stands(0.3, 0.2, 0.08, 0.1), said
        code, said = commands.play("ready", *named, answer="y\n")
        assert code == 0, said
        peer.wait_until(lambda: stands(*READY), "the arm is not in its pose")
        # Refused, in one line that says why; the arm stays.
        fast = commands.file("fast.csv", (0.0, *READY), (0.05, 1.4, 0.5, 0.05, 0.3))
        floor = ["--floor", "0.5"]
        for arguments, words in (
            ((SCARA, fast, *quick), "nothing was sent: the motion exceeds"),
            ((SCARA, path, *quick, *floor), "touch"),
        ):
            code, said = commands.play(*arguments)
            assert code == 1 and words in said, said
            assert "Traceback" not in said
        assert stands(*READY)


def test_a_path_that_the_controller_slows_down_is_seen_to_its_end(tmp_path):
    """The approach is one segment of several seconds: the arm leaves its start long before the next point."""
    arm = {"robot_description": SCARA.read_text(), "lockstep": True}
    slows = {"retime": "slower", "max_acceleration": [0.3], "state_timeout": 10.0}
    with (
        NodeProcess("simulator", {**arm, "rate": 200.0}) as simulator,
        NodeProcess("computed_torque_controller", {**arm, **UNSUPERVISED, **slows}) as controller,
        peer_with(simulator, controller) as peer,
    ):
        states = []
        peer.node.create_subscription(JointState, "joint_states", states.append, qos.STATE_PUBLISHER)
        peer.wait_until(lambda: states, "no states")
        commands = Commands(peer, tmp_path)
        path = commands.file("path.csv", (0.0, 0.2, 0.1, 0.02, 0.0), (0.5, 0.5, -0.2, 0.05, 0.3))
        code, said = commands.play(SCARA, path, "--yes", "--approach-speed", "1")
        assert code == 0 and "the motion is over" in said, said + controller.output
        assert np.abs(np.array(states[-1].position) - (0.5, -0.2, 0.05, 0.3)).max() < 0.01
        [seconds] = controller.wait_for_output(
            r"following a trajectory of \d+ points for ([\d.]+) s"
        ).groups()
        assert float(seconds) > 2.0
