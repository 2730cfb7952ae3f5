"""robot_dynamics inverse-dynamics: CSV in, CSV out, and every fault named with its row and column."""

import csv
import io

import numpy as np
import pytest
import random_robots

from robot_dynamics.cli.main import main
from robot_dynamics.cli.state_table import read_states
from robot_dynamics.errors import StateError
from robot_dynamics.model.load import load_urdf

NAMES = ("a", "b")


def read(text):
    return read_states(io.StringIO(text), NAMES, "states.csv")


def test_columns_in_any_order_with_or_without_position():
    table = read("b.position, time,a,a.velocity,b.acceleration,b.velocity,a.acceleration\n2,9,1,3,6,4,5\n")
    assert table.time == [9.0]
    assert table.q.tolist() == [[1.0, 2.0]]
    assert table.qd.tolist() == [[3.0, 4.0]]
    assert table.qdd.tolist() == [[5.0, 6.0]]
    assert table.wrench is None
    assert table.notes == ()


def test_what_is_assumed_is_noted():
    table = read("a,b,b.velocity,gripper,tip.force.z\n1,2,3,9,7\n\n1,2,3,9,7\n")
    assert table.q.shape == (2, 2)
    assert table.qd.tolist() == [[0.0, 3.0]] * 2
    assert table.wrench.tolist() == [[0, 0, 7, 0, 0, 0]] * 2
    notes = "\n".join(table.notes)
    for words in (
        "'gripper'",
        "no velocity column for a:",
        "no acceleration column for every joint",
        "tip.force.x",
    ):
        assert words in notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "first row"),
        ("a,b\n", "no states"),
        ("a;b\n1;2\n", "commas"),
        ("a,c\n1,2\n", "no position column for b"),
        ("a,b.velocity\n1,2\n", "no position column for b"),
        ("a,b,a\n1,2,3\n", "'a' occurs more than once"),
        ("a,b,a.position\n1,2,3\n", "'a' and 'a.position'"),
        ("a,b\n1,2\n1\n", "line 3: 1 entries for 2 columns"),
        ("a,b\n1,two\n", "line 2, column 'b': 'two' is not a number"),
        ("a,b\n1,2\n,2\n", "line 3, column 'a': '' is not a number"),
        ("a,b\nnan,2\n", "line 2, column 'a': 'nan' is not finite"),
        ("a,b\n1,-inf\n", "line 2, column 'b': '-inf' is not finite"),
    ],
)
def test_faults_are_named(text, message):
    with pytest.raises(StateError) as caught:
        read(text)
    assert message in str(caught.value)


def test_efforts_equal_pinocchio(tmp_path, capsys, own_urdf):
    robot = load_urdf(own_urdf)
    rng = np.random.default_rng(0)
    states = rng.uniform(-2, 2, (5, 3, 6))
    header = [*robot.joint_names]
    header += [f"{name}.{what}" for what in ("velocity", "acceleration") for name in robot.joint_names]
    path, output = tmp_path / "states.csv", tmp_path / "efforts.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(states.reshape(5, 18).tolist())
    gravity = (1.0, -2.0, -9.0)
    arguments = ["--gravity", *map(str, gravity), "--output", str(output), "--backend", "python"]
    assert main(["inverse-dynamics", str(own_urdf), "--states", str(path), *arguments]) == 0
    assert capsys.readouterr().out == ""
    with output.open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == [f"{name}.effort" for name in robot.joint_names]
    expected = [
        random_robots.pinocchio_inverse_dynamics(robot, gravity, *state, np.zeros(6)) for state in states
    ]
    np.testing.assert_allclose(np.array(rows[1:], dtype=float), expected, rtol=1e-9, atol=1e-9)


def test_rows_in_degrees_are_noted_by_the_efforts_that_they_would_need(tmp_path, capsys):
    path = tmp_path / "degrees.csv"
    names = [f"joint{j}" for j in range(1, 7)]
    columns = [*names, *(f"{name}.velocity" for name in names), *(f"{name}.acceleration" for name in names)]
    turning = ["90", *["0"] * 5, "3000", *["0"] * 5, "30000", *["0"] * 5]
    path.write_text("\n".join([",".join(columns), ",".join("0" * 18), ",".join(turning)]))
    arguments = ["inverse-dynamics", "puma560", "--states", str(path), "--backend", "python"]
    assert main(arguments) == 0
    noted = capsys.readouterr().err
    assert "1 of 2 rows need more effort than the description permits: row 2" in noted
    assert "states are in rad, m and s" in noted
    path.write_text("\n".join([",".join(names), "0,0,0,0,0,0"]))
    assert main(arguments) == 0
    assert "permits" not in capsys.readouterr().err


def test_a_fault_ends_with_one_line_and_no_traceback(tmp_path, capsys, own_urdf):
    path = tmp_path / "states.csv"
    path.write_bytes(b"\xff\xfe\x00")
    assert main(["inverse-dynamics", str(own_urdf), "--states", str(path)]) == 1
    assert "not text in UTF-8" in capsys.readouterr().err
    assert main(["inverse-dynamics", str(own_urdf), "--states", str(tmp_path / "none.csv")]) == 1
    assert "cannot read" in capsys.readouterr().err
    assert main(["inverse-dynamics", str(own_urdf), "--states", "-", "--gravity", "nan", "0", "0"]) == 1
    assert "three finite numbers" in capsys.readouterr().err
