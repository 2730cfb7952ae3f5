"""Motions in CSV text: read as written, or refused by name; smooth between the poses."""

import numpy as np
import pytest
from motion_base import motion_base

from robot_dynamics.cli.main import main
from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.errors import ParameterError, StateError, TrajectoryError
from robot_dynamics.stewart.motion_table import (
    MotionTable,
    MotionUnits,
    looks_like_millimetres,
    parse_motion,
)
from robot_dynamics.stewart.orientation import (
    quaternion_from_rotation,
    rotation_from_roll_pitch_yaw,
)

HEADER = "time,x,y,z,qx,qy,qz,qw"


def table(*lines, header=HEADER):
    return parse_motion([line + "\n" for line in (header, *lines)], "motion.csv")


def test_columns_may_stand_in_any_order_and_signs_of_quaternions_are_made_continuous():
    read = table("a,0,0,0,1,3,2,1,0.5", "b,0,0,0,-1,4,5,6,0.75", header="note,qx,qy,qz,qw,x,y,z,time")
    assert read.time.tolist() == [0.5, 0.75]
    assert read.position.tolist() == [[3.0, 2.0, 1.0], [4.0, 5.0, 6.0]]
    assert read.orientation.tolist() == [[0.0, 0.0, 0.0, 1.0]] * 2
    assert read.ignored == ("note",)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), "no poses"),
        (("0,0,0,1,0,0,0,1", "0,0,0,1,0,0,0,1"), "row 2 of numbers: time 0.0 does not come after 0.0"),
        (("0,0,0,1,0,0,0,0.9",), "row 1 of numbers: .* norm 0.9"),
        (("0,0,0,nan,0,0,0,1",), "line 2, column 'z'"),
        (("0,0,0,1,0,0,0",), "7 entries for 8 columns"),
    ],
)
def test_what_is_no_motion_is_refused(lines, words):
    with pytest.raises(StateError, match=words):
        table(*lines)
    with pytest.raises(StateError, match="no column qw"):
        table(header="time,x,y,z,qx,qy,qz")
    with pytest.raises(TrajectoryError, match="at least two"):
        RecordedMotion(table("0,0,0,1,0,0,0,1"))


SQUARE = (0.5 * np.sqrt(2.0), 0.5 * np.sqrt(2.0))


def test_units_stand_in_the_header_or_are_given():
    header = "time (ms),x [mm],y_cm,z,roll_deg,pitch [rad],yaw (°)"
    read = table("250,100,2,1,90,0,0", "500,100,2,1.5,0,0,90", header=header)
    np.testing.assert_allclose(read.time, [0.25, 0.5])
    np.testing.assert_allclose(read.position, [[0.1, 0.02, 1.0], [0.1, 0.02, 1.5]])
    np.testing.assert_allclose(read.orientation, [[SQUARE[0], 0, 0, SQUARE[1]], [0, 0, *SQUARE]], atol=1e-12)
    given = MotionUnits(length=1e-3, angle=np.pi / 180.0)
    plain = parse_motion(["time,x,y,z,roll,pitch,yaw\n", "0,100,20,1000,90,0,0\n"], "m.csv", given)
    np.testing.assert_allclose(plain.position, read.position[:1])
    np.testing.assert_allclose(plain.orientation, read.orientation[:1], atol=1e-12)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("time,x [inch],y,z,roll,pitch,yaw", "'x .inch.' has an unknown unit; x may be in m, cm, mm"),
        ("time,x,y,z,surge,sway,heave,roll,pitch,yaw", "both x, y, z and surge, sway, heave"),
        ("time,x,y,z,roll,pitch,yaw,qx,qy,qz,qw", "both qx, qy, qz, qw and roll, pitch, yaw"),
        ("time,x,x [mm],y,z,roll,pitch,yaw", "'x' occurs more than once"),
        ("time,surge,sway,roll,pitch,yaw", "no column heave; .* surge, sway, heave from home"),
    ],
)
def test_headers_that_say_two_things_are_refused(header, words):
    with pytest.raises(StateError, match=words):
        table(header=header)


@pytest.mark.parametrize(
    ("row", "header", "asked"),
    [
        ("0,0,0,550,0,0,0", "time,x,y,z,roll,pitch,yaw", True),
        ("0,0,0,0.55,0,0,0", "time,x,y,z,roll,pitch,yaw", False),
        ("0,0,0,550,0,0,0", "time,x_mm,y_mm,z_mm,roll,pitch,yaw", False),
        ("0,30,0,0,0,0,0", "time,surge,sway,heave,roll,pitch,yaw", True),
        ("0,1,0,0,0,0,0", "time,surge,sway,heave,roll,pitch,yaw", False),
    ],
)
def test_positions_far_beyond_the_machine_are_taken_for_millimetres(row, header, asked):
    assert looks_like_millimetres(table(row, header=header), motion_base().machine) is asked


def test_rounded_and_jumping_motions_get_a_hint_and_a_filter_restores_them():
    """Oracle: the motion before it was rounded."""
    pytest.importorskip("scipy", reason="scipy is not installed")
    times = np.arange(0.0, 10.0, 1.0 / 60.0)
    true = 0.1 * np.sin(2.0 * np.pi * 0.5 * times)
    still = np.column_stack([0.0 * times] * 3 + [1.0 + 0.0 * times])

    def motion(x):
        return MotionTable(times, np.column_stack([x, 0.0 * x, 1.0 + 0.0 * x]), still)

    def acceleration(read):
        return RecordedMotion(read).at(np.linspace(2.0, 8.0, 600)).linear_acceleration[:, 0]

    exact = acceleration(motion(true))
    rounded = motion(np.round(true, 3))
    assert motion(true).hints() == []
    assert "rounded to 1 mm" in rounded.hints()[0]
    assert np.abs(acceleration(rounded) - exact).max() > 2.0
    assert np.abs(acceleration(rounded.low_passed(3.0)) - exact).max() < 0.1
    bang = np.where(times < 2.5, times**2, 12.5 - (times - 5.0) ** 2)
    assert "the acceleration jumps at t = 2.5" in motion(bang).hints()[0]
    steps = motion(np.where(times % 2.0 < 1.0, 0.031, -0.028)).hints()
    assert ["rounded" in steps[0], "the acceleration jumps" in steps[1]] == [True, True]
    assert len(rounded.hints()) == 1
    assert "the motion begins with 0.31 m/s and 0 rad/s, and ends with" in motion(true).abrupt_ends()[0]
    soft = 1.0 - np.cos(0.4 * np.pi * np.round(times / times[-1] * 10.0, 9))
    assert motion(soft).abrupt_ends() == []
    for cutoff in (0.0, 31.0, np.nan):
        with pytest.raises(ParameterError, match="it must be above 0 and below 30 Hz"):
            rounded.low_passed(cutoff)


def test_commands_take_motions_in_these_units_and_mention_home(tmp_path, capsys):
    machine, path = tmp_path / "machine.yaml", tmp_path / "motion.csv"
    new = ["stewart", "new", "--base-radius", "1.6", "--platform-radius", "1.2", "--stroke", "0.4"]
    assert main([*new, "-o", str(machine)]) == 0
    times = np.linspace(0.0, 4.0, 81)
    rows = [
        f"{t},0,0,{50 * (1 - np.cos(0.5 * np.pi * t)):.9g},0,{np.sin(0.5 * np.pi * t) ** 4:.9g},0"
        for t in times
    ]
    path.write_text("\n".join(["time,surge_mm,sway_mm,heave_mm,roll,pitch_deg,yaw", *rows]), encoding="utf-8")
    assert main(["stewart", "check", str(machine), str(path)]) == 0
    path.write_text("\n".join(["time,x,y,z,roll,pitch,yaw", *rows]), encoding="utf-8")
    options = ["--millimetres", "--degrees"]
    assert main(["stewart", "check", str(machine), str(path), *options, "--from-home"]) == 0
    capsys.readouterr()
    assert main(["stewart", "check", str(machine), str(path), *options]) == 1
    assert "offsets from home? Then add --from-home" in capsys.readouterr().err


def test_a_recorded_motion_has_the_velocities_and_accelerations_of_the_true_one():
    """Oracle: a known motion; the turning by its rotation matrices alone."""
    times = np.linspace(0.0, 2.0, 201)

    def angles(t):
        return np.stack([0.3 * np.sin(3 * t), 0.2 * np.sin(4 * t + 1.0), 3.0 + 0.4 * t], axis=-1)

    def place(t):
        return np.stack([0.1 * np.cos(2 * t), 0.05 * t, 0.5 + 0.1 * np.sin(5 * t)], axis=-1)

    quaternions = quaternion_from_rotation(rotation_from_roll_pitch_yaw(angles(times)))
    rows = np.column_stack([times, place(times), quaternions])
    motion = RecordedMotion(table(*(",".join(map(repr, row)) for row in rows.tolist())))
    inside = np.linspace(0.3, 1.7, 97)
    found = motion.at(inside)
    h = 1e-4
    np.testing.assert_allclose(found.position, place(inside), atol=1e-9)
    np.testing.assert_allclose(
        found.linear_velocity, (place(inside + h) - place(inside - h)) / (2 * h), atol=1e-6
    )
    np.testing.assert_allclose(
        found.linear_acceleration,
        (place(inside + h) - 2 * place(inside) + place(inside - h)) / h**2,
        atol=1e-5,
    )
    before, after = (rotation_from_roll_pitch_yaw(angles(inside + x)) for x in (-h, h))
    skew = (after - before) / (2 * h) @ np.swapaxes(rotation_from_roll_pitch_yaw(angles(inside)), 1, 2)
    np.testing.assert_allclose(
        found.angular_velocity, np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1), atol=1e-6
    )
    rate = (motion.at(inside + h).angular_velocity - motion.at(inside - h).angular_velocity) / (2 * h)
    np.testing.assert_allclose(found.angular_acceleration, rate, atol=1e-5)
