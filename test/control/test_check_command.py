"""``robot_dynamics check``: a verdict, a table, a picture and an exit code, from every kind of file."""

import io
import sys

import numpy as np
import pytest
from arms import TWO_JOINTS as URDF
from two_arms import JOINTS as ARMS
from two_arms import TWO_ARMS

from robot_dynamics.cli.main import main

JOINTS = ("lift", "turn")
SLOW = "time,lift,turn\n0,0,0\n2,0.5,0.1\n4,0.5,0.2\n"
FAST = SLOW.replace("2,0.5", "0.1,1.5")


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "crane.urdf"
    path.write_text(URDF)
    return path


def check(urdf, path, *options):
    return main(["check", str(urdf), str(path), *options])


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_a_path_within_its_limits_ends_with_0_and_one_beyond_with_1(urdf, tmp_path, capsys):
    assert check(urdf, written(tmp_path, "slow.csv", SLOW)) == 0
    first, header, *table = capsys.readouterr().out.splitlines()
    assert first.endswith("slow.csv: keeps every limit of position, velocity and effort in 4.000 s")
    assert header.split()[:2] == ["joint", "quantity"] and len(table) == 8
    assert check(urdf, written(tmp_path, "fast.csv", FAST)) == 1
    out = capsys.readouterr().out
    assert "exceeds" in out.splitlines()[0] and "  exceeded" in out


def test_payload_margin_and_moveit_limits_count(urdf, tmp_path, capsys):
    slow = written(tmp_path, "slow.csv", SLOW)
    assert check(urdf, slow, "--payload", "8") == 1
    assert "turn: effort" in capsys.readouterr().out
    assert check(urdf, slow, "--margin", "0.9") == 1
    limits = "joint_limits:\n  lift: {has_acceleration_limits: true, max_acceleration: 0.1}\n"
    assert check(urdf, slow, "--limits", str(written(tmp_path, "limits.yaml", limits))) == 1
    assert "lift: acceleration" in capsys.readouterr().out


def test_a_message_as_yaml_and_on_standard_input_is_the_same_path(urdf, tmp_path, capsys, monkeypatch):
    message = (
        "trajectory:\n  joint_names: [turn, gripper, lift]\n  points:\n"
        "  - {positions: [0, 9, 0]}\n"
        "  - {positions: [0.1, 9, 0.5], time_from_start: {sec: 2}}\n"
        "  - {positions: [0.2, 9, 0.5], time_from_start: {sec: 3, nanosec: 1000000000}}\n"
    )
    assert check(urdf, written(tmp_path, "slow.csv", SLOW)) == 0
    expected = capsys.readouterr().out.splitlines()[1:]
    assert check(urdf, written(tmp_path, "slow.yaml", message)) == 0
    found = capsys.readouterr()
    assert found.out.splitlines()[1:] == expected and "joints left aside: gripper" in found.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(message.encode())))
    assert check(urdf, "-") == 0
    assert capsys.readouterr().out.splitlines()[1:] == expected


def test_the_last_trajectory_of_a_bag_counts(urdf, tmp_path, capsys):
    rosbags = pytest.importorskip("rosbags.rosbag2", reason="rosbags writes the bag")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    kind = "trajectory_msgs/msg/JointTrajectory"
    empty = np.zeros(0)

    def trajectory(end):
        points = [
            types["trajectory_msgs/msg/JointTrajectoryPoint"](
                np.array(place), empty, empty, empty, types["builtin_interfaces/msg/Duration"](seconds, 0)
            )
            for seconds, place in ((0, [0.0, 0.0]), (2, [0.5, end]))
        ]
        header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
        return types[kind](header, list(JOINTS), points)

    with rosbags.Writer(tmp_path / "bag", version=9) as writer:
        connection = writer.add_connection("/joint_trajectory", kind, typestore=store)
        for k, end in enumerate((5.0, 0.1)):
            writer.write(connection, k, store.serialize_cdr(trajectory(end), kind))
    assert check(urdf, tmp_path / "bag") == 0
    assert "2 trajectories" in capsys.readouterr().err
    assert check(urdf, tmp_path / "bag", "--topic", "/other") == 2


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("one.csv", "time,lift,turn\n0,0,0\n", "a single waypoint"),
        ("back.csv", "time,lift,turn\n0,0,0\n0,1,0\n", "times must increase strictly"),
        ("nan.csv", "time,lift,turn\n0,0,0\n1,nan,0\n", "line 3, column 'lift'"),
        ("short.csv", "lift,turn\n0,0\n", "no time"),
        ("less.csv", "time,lift\n0,0\n", "turn"),
        ("no.yaml", "points: 3\n", "no JointTrajectory"),
        ("bad.yaml", "joint_names: [lift, turn]\npoints: [{positions: [0, x]}]\n", "positions"),
        ("names.yaml", "joint_names: [lift]\npoints: [{positions: [0]}]\n", "missing joint names"),
        ("empty.yaml", "joint_names: [lift, turn]\npoints: []\n", "0 waypoints"),
    ],
)
def test_what_is_no_path_ends_with_2_and_one_line(urdf, tmp_path, capsys, name, text, expected):
    assert check(urdf, written(tmp_path, name, text)) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert expected in last


def test_a_platform_is_sent_to_its_own_command(capsys):
    assert check("machine.yaml", "path.csv") == 2
    assert "stewart check" in capsys.readouterr().err


def test_the_picture_is_written(urdf, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib draws the picture")
    picture = tmp_path / "torque.png"
    assert check(urdf, written(tmp_path, "fast.csv", FAST), "--plot", str(picture)) == 1
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.splitlines()[-1] == str(picture)


def test_both_arms_of_a_tree_are_checked_each_with_its_payload(tmp_path, capsys):
    urdf = written(tmp_path, "two_arms.urdf", TWO_ARMS)
    rows = [",".join(["time", *ARMS]), *(f"{t}," + ",".join([str(0.2 * t)] * len(ARMS)) for t in (0, 1, 2))]
    path = written(tmp_path, "path.csv", "\n".join(rows) + "\n")

    def efforts(*options):
        assert check(urdf, path, "--tips", "all", *options) == 0
        lines = capsys.readouterr().out.splitlines()
        return [float(line.split()[1]) for line in lines if line.split()[0] == "effort"]

    free, loaded = efforts(), efforts("--payload", "left_hand=2")
    assert [a != b for a, b in zip(free, loaded, strict=True)] == [True, True, True, False, False]
    for wrong, reason in (("2", "give TIP=KG of left_hand, right_hand"), ("hand=2", "'hand': the tips are")):
        assert check(urdf, path, "--tips", "all", "--payload", wrong) == 2
        assert reason in capsys.readouterr().err
