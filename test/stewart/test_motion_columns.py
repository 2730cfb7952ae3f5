"""Columns of a motion: names, units, signs and order; what is refused is named with its number."""

from pathlib import Path

import numpy as np
import pytest
from motion_base import motion_base
from stewart_oracles import random_oracle, rotation

from robot_dynamics import stewart
from robot_dynamics.errors import StateError
from robot_dynamics.stewart.motion_table import (
    MotionTable,
    MotionUnits,
    looks_like_millimetres,
    looks_like_offsets,
    parse_motion,
    read_motion,
)
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_quaternion

PLAIN = "time,x,y,z,qx,qy,qz,qw"
LEVEL = "0,0,0,1"


def table(header, *rows, **units):
    return parse_motion([f"{line}\n" for line in (header, *rows)], "m.csv", MotionUnits(**units))


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("x", 1.0),
        ("x [m]", 1.0),
        ("x [cm]", 0.01),
        ("x(mm)", 0.001),
        ("x [ mm ]", 0.001),
        ("x_m", 1.0),
        ("x_cm", 0.01),
        ("x_mm", 0.001),
    ],
)
def test_a_length_has_the_unit_of_its_name(name, factor):
    found = table(f"time,{name},y,z,qx,qy,qz,qw", f"0,40,2,-3,{LEVEL}")
    np.testing.assert_allclose(found.position, [[40.0 * factor, 2.0, -3.0]], rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("yaw", 1.0),
        ("yaw [rad]", 1.0),
        ("yaw_rad", 1.0),
        ("yaw_deg", np.pi / 180.0),
        ("yaw (°)", np.pi / 180.0),
        ("yaw [deg]", np.pi / 180.0),
    ],
)
def test_an_angle_has_the_unit_of_its_name(name, factor):
    found = table(f"time,x,y,z,roll,pitch,{name}", "0,1,2,3,0.25,-0.5,0.75")
    turn = rotation(np.array([0.25, -0.5, 0.75 * factor]))
    np.testing.assert_allclose(found.orientation, [quaternion_from_rotation(turn)], atol=1e-14)


@pytest.mark.parametrize(
    ("name", "factor"),
    [("time", 1.0), ("time [s]", 1.0), ("time_s", 1.0), ("time_ms", 1e-3), ("time (ms)", 1e-3)],
)
def test_times_have_the_unit_of_their_name(name, factor):
    found = table(f"{name},x,y,z,qx,qy,qz,qw", f"-250,1,2,3,{LEVEL}", f"500,1,2,3,{LEVEL}")
    np.testing.assert_allclose(found.time, [-250.0 * factor, 500.0 * factor], rtol=1e-15)


def test_units_that_are_given_count_for_columns_without_one():
    row = "2,30,4,500,60,-0.5,90"
    found = table("time,x,y [m],z,roll,pitch [rad],yaw", row, length=1e-2, angle=np.pi / 180.0)
    assert found.time.tolist() == [2.0]
    np.testing.assert_allclose(found.position, [[0.3, 4.0, 5.0]], rtol=1e-15)
    turn = rotation(np.array([np.pi / 3.0, -0.5, np.pi / 2.0]))
    np.testing.assert_allclose(found.orientation, [quaternion_from_rotation(turn)], atol=1e-14)
    shifted = table("time,surge,sway_mm,heave,qx,qy,qz,qw", f"0,30,4,500,{LEVEL}", length=1e-2)
    np.testing.assert_allclose(shifted.position, [[0.3, 0.004, 5.0]], rtol=1e-15)
    assert MotionUnits() == MotionUnits(1.0, 1.0, False)


@pytest.mark.parametrize(
    ("header", "units", "from_home"),
    [
        (PLAIN, {}, False),
        (PLAIN, {"from_home": True}, True),
        ("time,surge,sway,heave,qx,qy,qz,qw", {}, True),
        ("time,surge,sway,heave,qx,qy,qz,qw", {"from_home": True}, True),
    ],
)
def test_offsets_count_from_home_by_name_or_by_request(header, units, from_home):
    assert table(header, f"0,1,2,3,{LEVEL}", **units).from_home is from_home


def test_other_columns_are_ignored_and_named():
    header = " note , time,X,x,y,z,x_km,roll,pitch,yaw, qa"
    found = table(header, "first,1,?,2,3,4,?,0.5,0.25,-0.75,", "second,2,?,3,4,5,?,0.5,0.25,-0.75,")
    assert found.ignored == ("note", "X", "x_km", "qa")
    assert found.time.tolist() == [1.0, 2.0]
    assert found.position.tolist() == [[2.0, 3.0, 4.0], [3.0, 4.0, 5.0]]
    assert table(PLAIN, f"0,1,2,3,{LEVEL}").ignored == ()


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (
            "time,x [],y,z,roll,pitch,yaw",
            "m.csv: column 'x []' has an unknown unit; x may be in m, cm, mm",
        ),
        ("time,x_deg,y,z,roll,pitch,yaw", "m.csv: column 'x_deg' has an unknown unit; x may be in m, cm, mm"),
        ("time_m,x,y,z,roll,pitch,yaw", "m.csv: column 'time_m' has an unknown unit; time may be in s, ms"),
        (
            "time,x,y,z,roll [m],pitch,yaw",
            "m.csv: column 'roll [m]' has an unknown unit; roll may be in rad, deg, °",
        ),
        (
            "time,x,y,z,qx [rad],qy,qz,qw",
            "m.csv: column 'qx [rad]' has an unknown unit; qx may be in no unit",
        ),
        ("time,x,y,z,y_mm,roll,pitch,yaw", "m.csv: column 'y' occurs more than once"),
        (
            "time,x,y,z,heave,roll,pitch,yaw",
            "m.csv: there are columns of both x, y, z and surge, sway, heave; give one",
        ),
        (
            "time,x,y,z,yaw,qx,qy,qz,qw",
            "m.csv: there are columns of both qx, qy, qz, qw and roll, pitch, yaw; give one",
        ),
        *(
            (
                header,
                f"m.csv: no column {missing}; a motion has the columns time; x, y, z, or surge, sway, heave"
                " from home; and qx, qy, qz, qw, or roll, pitch, yaw",
            )
            for header, missing in (
                ("x,y,roll,pitch,yaw", "time, z"),
                ("time,heave,qx,qw", "surge, sway, qy, qz"),
                ("time,x,y,z,roll", "pitch, yaw"),
                ("seconds,n", "time, x, y, z, qx, qy, qz, qw"),
            )
        ),
    ],
)
def test_a_header_that_does_not_fit_is_refused_in_words(header, words):
    with pytest.raises(StateError) as caught:
        table(header, "0,1,2,3,4,5,6")
    assert str(caught.value) == words


@pytest.mark.parametrize("number", ["1e9", "-1e9"])
def test_a_number_may_be_as_large_as_the_largest_in_si_units(number):
    assert abs(table(PLAIN, f"0,1,{number},3,{LEVEL}").position[0, 1]) == 1e9
    far = number.replace("1e9", "1000000000.5")
    with pytest.raises(StateError) as caught:
        table(PLAIN, f"0,1,{far},3,{LEVEL}")
    assert str(caught.value) == "m.csv: no number may exceed 1e+09 (SI units)"
    header = PLAIN.replace("y", "y_mm", 1)
    assert abs(table(header, f"0,1,{far},3,{LEVEL}").position[0, 1]) == pytest.approx(1e6)


def test_times_must_increase_and_the_row_that_does_not_is_named():
    assert table(PLAIN, f"-0.25,1,2,3,{LEVEL}", f"0.5,1,2,3,{LEVEL}").time.tolist() == [-0.25, 0.5]
    for times, words in (
        ((0.0, 0.25, 0.25, 0.75), "row 3 of numbers: time 0.25 does not come after 0.25"),
        ((0.0, 0.25, 1.5, 0.5), "row 4 of numbers: time 0.5 does not come after 1.5"),
        ((2.0, 1.5, 1.75, 1.5), "row 2 of numbers: time 1.5 does not come after 2.0"),
    ):
        with pytest.raises(StateError) as caught:
            table(PLAIN, *(f"{time},1,2,3,{LEVEL}" for time in times))
        assert str(caught.value) == f"m.csv, {words}"


@pytest.mark.parametrize("norm", [0.9991, 1.0009, -1.0009])
def test_a_quaternion_of_almost_norm_1_is_normalised(norm):
    found = table(PLAIN, f"0,1,2,3,{0.6 * norm},0,0,{0.8 * norm}")
    np.testing.assert_allclose(
        found.orientation, np.sign(norm) * np.array([[0.6, 0.0, 0.0, 0.8]]), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("norms", "row", "shown"),
    [
        ((0.9989,), 1, "0.9989"),
        ((1.0, 1.0011), 2, "1.0011"),
        ((1.02, 0.95, 1.03), 2, "0.95"),
        ((0.99, 1.02), 2, "1.02"),
    ],
)
def test_the_quaternion_farthest_from_norm_1_is_named(norms, row, shown):
    with pytest.raises(StateError) as caught:
        table(PLAIN, *(f"{k},1,2,3,0,{0.6 * norm},{0.8 * norm},0" for k, norm in enumerate(norms)))
    assert str(caught.value) == (
        f"m.csv, row {row} of numbers: qx, qy, qz, qw have norm {shown}; a rotation's quaternion has norm 1"
    )


def test_signs_of_quaternions_follow_the_one_before():
    """A rotation that turns on and on; across half a turn, which has no nearer sign, the sign stays."""
    half = 0.5 * np.arange(0.0, 9.0, 0.5)
    wanted = np.column_stack([np.sin(half), 0.0 * half, 0.0 * half, np.cos(half)])
    signs = np.where(np.arange(len(half)) % 3 == 1, -1.0, 1.0)
    rows = [
        f"{k},1,2,3,{','.join(map(repr, row))}" for k, row in enumerate((wanted * signs[:, None]).tolist())
    ]
    np.testing.assert_allclose(table(PLAIN, *rows).orientation, wanted, atol=1e-15)
    opposite = table(PLAIN, f"0,1,2,3,{LEVEL}", "1,1,2,3,1,0,0,0", "2,1,2,3,-1,0,0,0")
    assert opposite.orientation.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0]]
    angles = table("time,x,y,z,roll,pitch,yaw", *(f"{k},1,2,3,{2.0 * x},0,0" for k, x in enumerate(half)))
    np.testing.assert_allclose(angles.orientation, wanted, atol=1e-15)


def test_offsets_turn_and_shift_the_home_pose():
    machine = stewart.load(random_oracle(0).mapping).machine
    rows = [f"{k},0.1,-0.2,{0.3 * k},0.5,-0.25,{1.5 * k}" for k in range(4)]
    found = table("time,surge,sway,heave,roll,pitch,yaw,note", *(f"{row},0" for row in rows))
    placed = found.placed(machine)
    for k in range(4):
        np.testing.assert_allclose(placed.position[k], machine.home_position + np.array([0.1, -0.2, 0.3 * k]))
        turn = rotation(np.array([0.5, -0.25, 1.5 * k])) @ machine.home_rotation
        np.testing.assert_allclose(rotation_from_quaternion(placed.orientation[k]), turn, atol=1e-14)
    assert ((placed.orientation[1:] * placed.orientation[:-1]).sum(axis=1) > 0.0).all()
    assert (placed.ignored, placed.from_home, placed.time.tolist()) == (
        ("note",),
        False,
        [0.0, 1.0, 2.0, 3.0],
    )
    assert placed.placed(machine) is placed


def test_files_are_read_as_their_text_and_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # messages cut long paths
    file = Path("motion.csv")
    file.write_text(f"{PLAIN}\n0,10,20,30,{LEVEL}\n", encoding="utf-8")
    assert read_motion(file).position.tolist() == [[10.0, 20.0, 30.0]]
    np.testing.assert_allclose(
        read_motion(str(file), MotionUnits(length=1e-3)).position, [[0.01, 0.02, 0.03]]
    )
    file.write_text(f"{PLAIN}\n", encoding="utf-8")
    with pytest.raises(StateError) as caught:
        read_motion(file)
    assert str(caught.value) == f"{file}: no poses below the column names"
    with pytest.raises(StateError, match=r"^cannot read the motion: .*missing\.csv"):
        read_motion("missing.csv")
    with pytest.raises(StateError, match=r"^m\.csv"):
        parse_motion([], "m.csv")


def at(*positions, from_home=False):
    count = len(positions)
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
    return MotionTable(np.arange(float(count)), np.array(positions), turns, from_home=from_home)


def test_poses_five_sizes_away_are_taken_for_millimetres():
    """Size: how far home is, and the farthest base joint."""
    machine = motion_base().machine
    size = np.linalg.norm(machine.home_position) + max(np.linalg.norm(p) for p in machine.base_points)
    near, far = np.array([0.6, 0.0, -0.8]) * 4.999 * size, np.array([0.6, 0.0, -0.8]) * 5.001 * size
    assert not looks_like_millimetres(at([0.0, 0.0, 0.1], near, [0.1, 0.0, 0.0]), machine)
    assert looks_like_millimetres(at([0.0, 0.0, 0.1], far, [0.1, 0.0, 0.0]), machine)


def test_poses_that_begin_nearer_to_zero_than_to_home_are_taken_for_offsets():
    machine = motion_base().machine
    home = machine.home_position
    assert looks_like_offsets(at(0.49 * home, home), machine)
    assert not looks_like_offsets(at(0.5 * home, 0.1 * home), machine)
    assert not looks_like_offsets(at(0.51 * home, 0.1 * home), machine)
    assert not looks_like_offsets(at(0.1 * home, from_home=True), machine)
    default = MotionTable(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 4)))
    assert (default.ignored, default.from_home) == ((), False)
