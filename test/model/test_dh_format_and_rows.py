"""Denavit-Hartenberg tables made in code: transforms of rows, and the table as text, JSON, CSV and HTML."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from made_chains import P, R, place, screw

from robot_dynamics.errors import ModelError, ParameterError, StateError
from robot_dynamics.model import dh_table
from robot_dynamics.model.dh_table import DHRow, DHTable, check_convention, tables_json, tables_text


def row(joint, kind, alpha, a, theta, d, coordinate, multiplier):
    return DHRow(joint, f"{joint}_link", kind, alpha, a, theta, d, coordinate, multiplier, place((0.1, 0, 0)))


ROWS = (
    row("turn", R, 0.25, 0.5, -0.75, 1.25, 1, 1.0),
    DHRow(None, "turn_link", None, -np.pi / 2, 0.3, 0.2, -0.4, None, 0.0, place((1, 2, 3), (0.1, 0.2, 0.3))),
    row("slide", P, np.pi / 2, 0.0, 0.125, -0.5, 0, -1.0),
    row("follow", R, np.pi, -2.0, 0.0, 1e-10, 1, -2.5),
)
TABLE = DHTable(
    "robot", "base", "tool0", "modified", ("slider", "turn"), ROWS, place((1, -2, 3), (0, 0, np.pi / 2)),
    place((0, 0, 0.125)), residual=1.5e-16,
)  # fmt: skip
STANDARD = replace(TABLE, convention="standard")


def step(alpha, a, theta, d, convention):
    along_x, along_z = screw(alpha, a, 0), screw(theta, d, 2)
    return along_x @ along_z if convention == "modified" else along_z @ along_x


@pytest.mark.parametrize("table", [TABLE, STANDARD], ids=["modified", "standard"])
def test_rows_move_with_their_coordinates(table):
    q = np.array([0.7, -0.3])
    numbers = [
        (0.25, 0.5, -0.75 - 0.3, 1.25),
        (-np.pi / 2, 0.3, 0.2, -0.4),
        (np.pi / 2, 0.0, 0.125, -0.5 - 0.7),
        (np.pi, -2.0, 0.75, 1e-10),
    ]
    frames, expected = table.frames(q), [table.base]
    for one, values in zip(table.rows, numbers, strict=True):
        moved = step(*values, table.convention)
        np.testing.assert_allclose(one.transform(q, table.convention), moved, atol=1e-15)
        expected.append(expected[-1] @ moved)
    assert len(frames) == 5
    np.testing.assert_allclose(frames, expected, atol=1e-14)
    np.testing.assert_allclose(table.forward_kinematics(q), expected[-1] @ table.tool, atol=1e-14)
    with pytest.raises(StateError, match="slider, turn"):
        table.frames(np.zeros(3))


def test_a_row_tells_its_type_and_offset():
    assert [one.type_name for one in ROWS] == ["revolute", "auxiliary", "prismatic", "revolute"]
    assert [one.offset for one in ROWS] == [-0.75, 0.2, -0.5, 0.0]
    assert TABLE.dof == 2 and replace(TABLE, residual=0.5).residual == 0.5
    assert DHTable("r", "b", "t", "modified", (), (), np.eye(4), np.eye(4)).residual == 0.0


@pytest.mark.parametrize("coordinate", [-1, 2, 5])
def test_a_coordinate_that_the_table_does_not_have_is_refused(coordinate):
    with pytest.raises(ParameterError) as refused:
        replace(TABLE, rows=(replace(ROWS[0], coordinate=coordinate),))
    said = f"the row of joint 'turn' has coordinate {coordinate}; joint_names has 2"
    assert str(refused.value) == said
    with pytest.raises(ParameterError, match="convention is 'craig'; it must be 'modified' or 'standard'"):
        check_convention("craig")
    with pytest.raises(ParameterError, match="convention"):
        replace(TABLE, convention="craig")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.9e-9, "0"), (-0.9e-9, "0"), (1e-9, "1e-09"), (-1.5e-9, "-1.5e-09"), (2.0, "2"),
        (1.23456789012, "1.23456789"), (-1234567.8912, "-1234567.89"),
    ],
)  # fmt: skip
def test_numbers_have_nine_digits_and_noise_is_zero(value, text):
    assert dh_table.number(value) == text


def test_angles_are_shown_in_degrees():
    assert [dh_table.degrees(a) for a in (np.pi, -np.pi / 3, 1e-12)] == ["180", "-60", "0"]


@pytest.mark.parametrize(
    ("multiplier", "coordinate", "constant", "text"),
    [
        (1.0, 0, "0", "q1"), (-1.0, 2, "0", "-q3"), (2.5, 1, "0", "2.5 q2"), (-0.5, 1, "30", "-0.5 q2 + 30"),
        (1.0, 0, "-45", "q1 - 45"), (-1.0, 0, "0.25", "-q1 + 0.25"),
    ],
)  # fmt: skip
def test_a_moving_cell_names_its_coordinate(multiplier, coordinate, constant, text):
    assert dh_table.with_variable(multiplier, coordinate, constant) == text


def test_poses_in_words_and_numbers():
    pose = place((1.5, -2.0, 1e-12), (0.5, 0.25, -1.0))
    angles = [f"{np.rad2deg(a):.9g}" for a in (0.5, 0.25, -1.0)]
    assert dh_table.pose_line("base", pose) == f"base: xyz [m] 1.5 -2 0, rpy [deg] {' '.join(angles)}"
    numbers = [float(text) for text in dh_table.pose_numbers(pose)]
    np.testing.assert_allclose(numbers, [1.5, -2.0, 1e-12, 0.5, 0.25, -1.0], atol=1e-15)
    assert dh_table.pose_numbers(pose)[0] == "1.5"


def test_columns_are_aligned_without_spaces_at_the_end():
    lines = dh_table.aligned([("a", "bbb", "c"), ("aaa", "b", "cc"), ("aa", "b", "")], left=(1,))
    assert lines == ["  a  bbb   c", "aaa  b    cc", " aa  b"]


def test_an_html_table_has_its_lines_escaped():
    page = dh_table.html_table("a & b", [("x", "<y>"), ("1", "2"), ("3", "&")], ["q1 < q2", "end"])
    assert page == (
        "<table><caption>a &amp; b</caption><thead><tr><th>x</th><th>&lt;y&gt;</th></tr></thead><tbody>"
        "<tr><td>1</td><td>2</td></tr><tr><td>3</td><td>&amp;</td></tr></tbody></table>"
        "<p>q1 &lt; q2<br>end</p>"
    )


TEXT = """\
robot: base -> tool0, modified DH parameters
each row: Rx(alpha) Tx(a) Rz(theta) Tz(d)

row  joint   type       alpha [deg]  a [m]      theta [deg]      d [m]
  1  turn    revolute    14.3239449    0.5  q2 - 42.9718346       1.25
  2  -       auxiliary          -90    0.3       11.4591559       -0.4
  3  slide   prismatic           90      0       7.16197244  -q1 - 0.5
  4  follow  revolute           180     -2          -2.5 q2          0

q1 = slider
q2 = turn

base, base -> frame 0: xyz [m] 1 -2 3, rpy [deg] 0 0 90
tool, frame 4 -> tool0: xyz [m] 0 0 0.125, rpy [deg] 0 0 0

largest difference from the URDF's forward kinematics: 1.5e-16
"""


def test_the_table_as_text():
    assert TABLE.text() == TEXT
    assert STANDARD.text().splitlines()[:2] == [
        "robot: base -> tool0, standard DH parameters",
        "each row: Rz(theta) Tz(d) Tx(a) Rx(alpha)",
    ]
    assert repr(TABLE) == "<DHTable robot: base -> tool0, modified DH parameters, 4 rows>"
    assert tables_text([TABLE, STANDARD]) == TABLE.text() + "\n" + STANDARD.text()
    page = TABLE._repr_html_()
    assert page.startswith("<table><caption>robot: base -&gt; tool0, modified DH parameters</caption>")
    assert "<tr><td>2</td><td>-</td><td>auxiliary</td><td>-90</td>" in page
    assert page.endswith("forward kinematics: 1.5e-16</p>")


def test_the_table_as_json():
    document = json.loads(TABLE.json())
    assert TABLE.json() == json.dumps(document, indent=2) + "\n" and tables_json([TABLE]) == TABLE.json()
    own = {
        "robot": "robot",
        "root": "base",
        "tip": "tool0",
        "convention": "modified",
        "row_transform": "Rx(alpha) Tx(a) Rz(theta) Tz(d)",
        "units": {"angle": "rad", "length": "m"},
        "joint_names": ["slider", "turn"],
        "base": TABLE.base.tolist(),
        "tool": TABLE.tool.tolist(),
        "residual": 1.5e-16,
    }
    assert {key: value for key, value in document.items() if key != "rows"} == own
    assert document["rows"][2] == {
        "joint": "slide",
        "link": "slide_link",
        "type": "prismatic",
        "alpha": np.pi / 2,
        "a": 0.0,
        "theta": 0.125,
        "d": -0.5,
        "coordinate": 0,
        "multiplier": -1.0,
        "link_pose": ROWS[2].link_pose.tolist(),
    }
    assert (document["rows"][1]["joint"], document["rows"][1]["coordinate"]) == (None, None)
    both = tables_json([TABLE, STANDARD])
    assert both == json.dumps([document, json.loads(STANDARD.json())], indent=2) + "\n"
    assert STANDARD.document()["row_transform"] == "Rz(theta) Tz(d) Tx(a) Rx(alpha)"


def test_the_table_as_csv():
    header, base, *rows, tool = csv.reader(io.StringIO(TABLE.csv()))
    assert ",".join(header) == (
        "joint,type,alpha_rad,a_m,theta_rad,d_m,coordinate,multiplier,x_m,y_m,z_m,roll_rad,pitch_rad,yaw_rad"
    )
    assert base[:11] == ["", "base", *[""] * 6, "1.0", "-2.0", "3.0"]
    assert float(base[13]) == pytest.approx(np.pi / 2)
    assert tool == ["", "tool", *[""] * 6, "0.0", "0.0", "0.125", "0.0", "0.0", "0.0"]
    assert rows[0] == [
        "turn", "revolute", "0.25", "0.5", "-0.75", "1.25", "turn", "1.0", "0.1", *["0.0"] * 5
    ]  # fmt: skip
    assert rows[1][:8] == ["", "auxiliary", repr(-np.pi / 2), "0.3", "0.2", "-0.4", "", ""]
    assert [float(text) for text in rows[1][8:]] == pytest.approx([1, 2, 3, 0.1, 0.2, 0.3])
    assert rows[2][6:8] == ["slider", "-1.0"]
    assert "\r" not in TABLE.csv() and TABLE.csv().endswith("\n")


def test_fields_of_rows_and_tables_are_checked():
    for changes, name in (({"alpha": np.nan}, "alpha"), ({"link_pose": np.eye(3)}, "link_pose")):
        with pytest.raises(ParameterError, match=f"{name} of a DHRow"):
            replace(ROWS[0], **changes)
    for changes, name in (
        ({"base": np.eye(3)}, "base"),
        ({"tool": np.eye(5)}, "tool"),
        ({"residual": np.inf}, "residual"),
    ):
        with pytest.raises(ParameterError, match=f"{name} of a DHTable"):
            replace(TABLE, **changes)
    with pytest.raises((TypeError, ModelError), match="kind of a DHRow"):
        replace(ROWS[0], kind="revolute")
