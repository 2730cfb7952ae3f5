"""``robot_dynamics identify --live``: from an arm that is heavier than described to one that is followed."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from patience import LONG_PATIENCE
from ros_harness import NodeProcess, peer_with
from two_arms import JOINTS, TWO_ARMS

from robot_dynamics import load_urdf
from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource
from robot_dynamics.ros.support.processes import claim_domain, node_environment

pytestmark = pytest.mark.ros
for module in ("mujoco", "scipy", "cvxpy", "clarabel", "rosbags", "jinja2", "matplotlib"):
    pytest.importorskip(module, reason=f"{module} is not installed")
SCARA = resource("urdf/scara.urdf")


ROBOTS = {
    # Stiff in the last joint: its inertia is so small that dry friction alone would decide about its error.
    "scara": (
        SCARA.read_text(),
        {"friction": [4.0, 3.0, 3.0, 0.02]},
        {"kp": [400.0, 400.0, 400.0, 4000.0], "kv": [40.0, 40.0, 40.0, 126.0]},
        "joint1 joint2 joint3 joint4",
        ["--period", "4", "--harmonics", "3"],
    ),
    "two arms": (
        TWO_ARMS,
        {"friction": [2.0, 1.0, 1.0, 1.0, 1.0]},
        {"kp": [400.0] * 5, "kv": [40.0] * 5},
        " ".join(JOINTS),
        ["--period", "15", "--harmonics", "6"],
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize("robot", ROBOTS)
def test_one_command_identifies_a_running_robot(tmp_path, robot):
    text, friction, gains, joints, motion = ROBOTS[robot]
    tips = [tip.link for tip in load_urdf(text, tips="all").tips]
    arm = {"robot_description": text, **({"tips": tips} if len(tips) > 1 else {})}
    true = {"mass_scale": 1.3, **friction, "rate": 200.0, "lockstep": True}
    patient = {**gains, "supervision": "observe", "lockstep": True}
    (tmp_path / "robot.urdf").write_text(text, encoding="utf-8")
    folder = tmp_path / "arm"
    with (
        NodeProcess("simulator", {**arm, **true}) as simulator,
        NodeProcess("computed_torque_controller", {**arm, **patient}) as controller,
        peer_with(simulator, controller) as peer,
    ):
        command = [sys.executable, "-m", "robot_dynamics.cli.main", "identify", str(tmp_path / "robot.urdf")]
        command += ["--live", *(["--tips", ",".join(tips)] if len(tips) > 1 else [])]
        with (tmp_path / "said.txt").open("w+", encoding="utf-8") as output:
            run = subprocess.Popen(
                [*command, "-o", str(folder), *motion, "--speed", "1", "--yes"],
                env=node_environment(claim_domain()),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            peer.wait_until(lambda: run.poll() is not None, "the command does not end", LONG_PATIENCE)
            output.seek(0)
            said = output.read()
    assert run.returncode == 0, said + controller.output
    assert "dropped: a trajectory" not in controller.output
    found = re.findall(r"(\w+) +largest error +([\d.]+) before, +([\d.]+) after", said)
    assert [name for name, _, _ in found] == joints.split(), said
    before, after = (max(float(row[k]) for row in found) for k in (1, 2))
    assert after < 0.5 * before, said
    assert "set at /computed_torque_controller" in said
    assert {"move.yaml", "identified.urdf", "friction.yaml", "report.html"} <= {
        p.name for p in folder.iterdir()
    }


def test_calibrate_names_the_command(capsys):
    with pytest.raises(SystemExit) as end:
        main(["calibrate", "arm.urdf"])
    assert end.value.code == 2
    assert "robot_dynamics identify --live URDF -o FOLDER" in capsys.readouterr().err


def test_a_run_or_a_missing_folder_is_refused(tmp_path, capsys):
    assert main(["identify", str(SCARA), "run.csv", "--live", "-o", str(tmp_path / "out")]) == 1
    assert "identify --live needs a URDF file and -o FOLDER, and no RUN" in capsys.readouterr().err
    assert main(["identify", str(SCARA), "--live"]) == 1
    assert not list(tmp_path.iterdir())
