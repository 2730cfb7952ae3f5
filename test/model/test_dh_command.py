"""``robot_dynamics dh`` as a user runs it."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from descriptions import joint, link, two_joint_arm

from robot_dynamics.cli.main import main

URDF = Path(__file__).parents[2] / "urdf"


def test_text_is_aligned_and_complete(capsys):
    assert main(["dh", str(URDF / "scara.urdf")]) == 0
    out, err = capsys.readouterr()
    assert err == "robot_dynamics: scara: root world, tip link4, 4 joints: joint1, joint2, joint3, joint4\n"
    lines = out.splitlines()
    header = next(line for line in lines if line.startswith("row"))
    rows = lines[lines.index(header) + 1 : lines.index(header) + 5]
    for column in ("alpha [deg]", "a [m]", "theta [deg]", "d [m]"):
        end = header.index(column) + len(column)
        assert all(row[:end].rstrip()[-1] != " " and (row[end:] + " ")[0] == " " for row in rows)
    assert rows[2].split() == ["3", "joint3", "prismatic", "180", "0", "0", "q3"]
    assert "base, world -> frame 0: xyz [m] 0 0 0, rpy [deg] 0 0 0" in lines
    assert "tool, frame 4 -> link4: xyz [m] 0 0 0, rpy [deg] 0 0 0" in lines


@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_json_and_csv_of_part_of_a_robot(convention, capsys):
    choice = ["--root", "link1", "--tip", "link4", "--convention", convention]
    assert main(["dh", str(URDF / "puma560.urdf"), *choice, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["joint_names"] == ["joint2", "joint3", "joint4"]
    assert document["convention"] == convention
    assert main(["dh", str(URDF / "puma560.urdf"), *choice, "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(line["alpha_rad"]) for line in lines[1:-1]] == [row["alpha"] for row in document["rows"]]


def test_locked_joints_and_standard_input(capsys, monkeypatch):
    class Stream:
        buffer = io.BytesIO((URDF / "arm7.urdf").read_bytes())

    monkeypatch.setattr(sys, "stdin", Stream)
    locks = ["--lock", "joint3=0.5", "--lock", "finger_right=0.01", "--tip", "finger_left_link"]
    assert main(["dh", "-", *locks, "--format", "json"]) == 0
    names = json.loads(capsys.readouterr().out)["joint_names"]
    assert names == ["joint1", "joint2", "joint4", "joint5", "joint6", "joint7", "finger_left"]


def test_a_shipped_robot_goes_by_its_name_from_any_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["dh", "puma560", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["joint_names"] == [f"joint{i}" for i in range(1, 7)]
    # A file of that name comes first, and a name that nobody has is refused as a file that is missing.
    (tmp_path / "puma560").write_text(two_joint_arm())
    assert main(["dh", "puma560", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["joint_names"] == ["shoulder", "elbow"]
    assert main(["dh", "puma561"]) == 1
    assert "no such URDF file: 'puma561'" in capsys.readouterr().err


def test_warnings_go_to_standard_error(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(two_joint_arm(link("tool", ""), joint("mount", "fore", "tool")))
    assert main(["dh", str(path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert np.array(json.loads(out)["tool"]).shape == (4, 4)
    chain, *warnings = err.splitlines()
    assert chain == "robot_dynamics: sample: root ground, tip tool, 3 joints: shoulder, elbow, mount"
    assert warnings[0] == "robot_dynamics: warning: links without <inertial>, taken as massless: tool"


def test_the_first_line_names_the_fixed_frames_behind_the_tip(tmp_path, capsys):
    frames = [link("flange", ""), joint("mount", "fore", "flange", "fixed", xyz="0 0 0")]
    frames += [link("camera", ""), joint("bracket", "fore", "camera", "fixed", xyz="0 0.05 0")]
    frames += [link("tool0", ""), joint("face", "flange", "tool0", "fixed", xyz="0 0 0.0823")]
    path = tmp_path / "arm.urdf"
    path.write_text(two_joint_arm(*frames))
    for tip, behind in (
        ("fore", "; fixed behind the tip, for --tip: camera 50 mm, tool0 82.3 mm"),
        ("tool0", ""),
    ):
        assert main(["dh", str(path), "--tip", tip]) == 0
        first = capsys.readouterr().err.splitlines()[0]
        assert first == f"robot_dynamics: sample: root ground, tip {tip}, 2 joints: shoulder, elbow{behind}"


def test_faults_are_one_line_and_exit_code_1(tmp_path, capsys):
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot")
    for arguments, message in (
        (["dh", str(tmp_path / "none.urdf")], "no such URDF file"),
        (["dh", str(broken)], "not well-formed XML"),
        (["dh", str(URDF / "scara.urdf"), "--tip", "nose"], "tip link 'nose'"),
        (["dh", str(URDF / "scara.urdf"), "--lock", "joint9=1"], "locked joint 'joint9'"),
        (["dh", str(URDF / "arm7.urdf"), "--tolerance", "1e-18"], "miss the forward kinematics"),
    ):
        assert main(arguments) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("robot_dynamics: ")
        (fault,) = [line for line in err.splitlines() if " joints: " not in line]
        assert message in fault


@pytest.mark.parametrize(
    "arguments",
    [
        ["--convention", "craig"],
        ["--format", "xml"],
        ["--lock", "joint1"],
        ["--lock", "a=b"],
        ["--tolerance", "0"],
    ],
)
def test_wrong_arguments_are_usage_errors(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["dh", str(URDF / "scara.urdf"), *arguments])
    assert stop.value.code == 2
    assert "usage:" in capsys.readouterr().err
