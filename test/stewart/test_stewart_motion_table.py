"""Motions in CSV text: read as written, or refused by name; smooth between the poses."""

import numpy as np
import pytest

from robot_dynamics.control.stewart.recorded import RecordedMotion
from robot_dynamics.errors import StateError, TrajectoryError
from robot_dynamics.stewart.motion_table import parse_motion
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_roll_pitch_yaw

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
