"""``robot_dynamics view`` as a person calls it: real processes, real DDS, MuJoCo, a real page."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest
from patience import LONG_PATIENCE
from ros_harness import free_port

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("mujoco", reason="mujoco is not installed")
pytest.importorskip("viser", reason="viser is not installed")

from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource
from robot_dynamics.ros.live import arm, stewart

pytestmark = [pytest.mark.ros, pytest.mark.long]

ARM = """
<robot name="quick"><link name="base"/>
  <link name="upper"><inertial><mass value="2"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.4 0.05 0.05"/></geometry></visual></link>
  <link name="lower"><inertial><mass value="{mass}"/><origin xyz="0.1 0 0"/>
    <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="camera"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-0.6" upper="0.6" effort="{effort}" velocity="3"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/>
    <origin xyz="0.4 0 0"/><limit lower="-0.6" upper="0.6" effort="0" velocity="0"/></joint>
  <joint name="pan" type="revolute"><parent link="base"/><child link="camera"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "robot_dynamics.cli.main", "view", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # What runs in the background of a shell script ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(process):
    try:
        output, _ = process.communicate(timeout=LONG_PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert "Traceback" not in output, output
    return process.returncode, output


@pytest.fixture
def tour(tmp_path, monkeypatch, capfd):
    """Make a tour in this process, with a slow control loop and a quick platform."""
    monkeypatch.setattr(arm, "RATE", 200.0)
    monkeypatch.setattr(stewart, "RATE", 100.0)
    monkeypatch.setattr(stewart, "MOVE_TIME", 0.6)

    def make(*arguments, given=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        report = tmp_path / "verdict.json"
        options = ("--exit", "--no-browser", "--port", free_port(), "--json", report)
        code = main(["view", *map(str, arguments), *map(str, options)])
        return code, "".join(capfd.readouterr()), json.loads(report.read_text(encoding="utf-8"))

    return make


def arm_file(tmp_path, **values):
    file = tmp_path / "quick.urdf"
    text = ARM.format(**{"mass": "1", "inertia": "0.01", "effort": "100", **values})
    file.write_text(text, encoding="utf-8")
    return file


def test_an_arm_makes_its_tour_with_limits_that_can_carry_it(tour, tmp_path):
    code, output, report = tour(arm_file(tmp_path, effort="3"))
    assert code == 0, output
    assert "the effort limit of shoulder cannot carry the arm" in output
    assert (report["robot"], report["root"], report["tip"]) == ("quick", "base", "lower")
    assert report["joints"] == ["shoulder", "elbow"] and report["verdict"] == "ok"
    assert 0.0 < max(report["worst_tracking_error"].values()) < 1e-3
    assert report["links_drawn"] == ["upper", "lower"]
    assert set(report["links_not_drawn"]) == {"base", "camera"}
    assert "locked beside the chain: pan" in output
    assert "quick: root base, tip lower, 2 joints: shoulder, elbow" in output


def test_an_arm_without_usable_masses_moves_by_its_kinematics(tour, tmp_path):
    code, output, report = tour(arm_file(tmp_path, mass="-1"))
    assert code == 0 and report["verdict"] == "ok", output
    assert "moved without masses" in output and "lower" in output
    assert report["worst_tracking_error"] == {"shoulder": 0.0, "elbow": 0.0}


def test_a_platform_from_standard_input_makes_its_tour(tour):
    code, output, report = tour("-", given=resource("config/stewart_demo.yaml").read_bytes())
    assert code == 0 and report["verdict"] == "ok", output
    assert len(report["joints"]) == 6 and 0.0 < max(report["worst_tracking_error"].values()) < 1e-3


def test_ctrl_c_ends_everything(tmp_path):
    port = free_port()
    process = start(arm_file(tmp_path), "--no-browser", "--port", port)
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C ends" in line:
            break
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=LONG_PATIENCE) as page:
        assert page.status == 200
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    code, rest = finish(process)
    assert code == 0, "".join(lines) + rest
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.urdf"], "no such URDF file: 'nowhere.urdf'"),
        (["nowhere.yaml"], "nowhere.yaml"),
        (["nowhere.urdf", "--json", "x.json"], "--json writes the verdict of a tour"),
        (["nowhere.urdf", "--exit", "--json", "nowhere/x.json"], "cannot write 'nowhere/x.json'"),
        (["-", "--json", "x.json"], "--json writes the verdict of a tour"),
        (["nowhere.urdf", "name=value"], "'name=value' is not NAME:=VALUE"),
        (["nowhere.urdf", "--port", "70000"], "port 70000: must be 1 to 65535"),
        (["nowhere.urdf", "--parameters", "none.yaml"], "no such parameter file: none.yaml"),
        (["config/stewart_demo.yaml", "--tip", "x"], "a Stewart platform has no chain to choose"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_line(arguments, message, capfd):
    assert main(["view", *arguments]) == 1
    output = "".join(capfd.readouterr())
    assert output.startswith("robot_dynamics: ") and message in output
    assert output.count("\n") == 1, output
