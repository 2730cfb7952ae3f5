"""No path that leaves a limit is accepted, however short the moment: against samples and closed forms."""

import csv
import os
from dataclasses import replace

import numpy as np
import pytest
import yaml
from motion_base import desktop, machine, motion_base

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.control.spline import minimum_jerk_spline
from robot_dynamics.control.stewart.trajectory import (
    PoseTrajectory,
    PoseWaypoint,
    at_rest,
    plan_pose,
    trajectory_violations,
)
from robot_dynamics.errors import LimitError, SingularityError
from robot_dynamics.stewart.orientation import quaternion_from_rotation, rotation_from_roll_pitch_yaw
from robot_dynamics.stewart.path_bounds import Boxes, PathBounds

EXCURSIONS = int(os.environ.get("EXCURSIONS", "40"))
"""More of them take 50 ms each."""
WRENCH = ["0", "0", "-900", "0", "0", "0"]


@pytest.fixture(scope="module")
def base():
    return motion_base()


def excursion(platform, duration, start, width, amplitude):
    """At home, but for a moment of ``width`` [s]."""
    times = np.array([0.0, start, start + 0.5 * width, start + width, duration])
    places = np.zeros((5, 6))
    places[:, :3] = platform.machine.home_position
    places[2] += amplitude
    rates = np.zeros((5, 6))
    rates[2] = np.nan
    return PoseTrajectory(minimum_jerk_spline(times, places, rates, rates.copy()))


def truly_kept(platform, path, times, wrench=None):
    """By closed forms of lengths, angles and speeds and the Newton-Euler forces at ``times``."""
    motion, machine_ = path.motion(times), platform.machine
    if wrench is not None:
        motion = motion._replace(
            force=np.broadcast_to(wrench[:3], (len(times), 3)),
            torque=np.broadcast_to(wrench[3:], (len(times), 3)),
        )
    arms = np.einsum("nij,kj->nki", motion.rotation, machine_.platform_points)
    vectors = arms + motion.position[:, None] - machine_.base_points
    lengths = np.linalg.norm(vectors, axis=2)
    forces = platform.inverse_dynamics_of(motion, on_violation="report").actuator_forces
    speeds = np.gradient(lengths, times, axis=0)
    limit = machine_.legs[0].limits
    angle = np.arccos(np.clip((vectors / lengths[..., None] * machine_.home_directions).sum(axis=2), -1, 1))
    kept = (lengths < limit.longest * (1 + 1e-5)).all() and (lengths > limit.shortest * (1 - 1e-5)).all()
    kept &= (np.abs(forces) < limit.force * (1 + 1e-5)).all() and (angle < limit.base_angle + 1e-5).all()
    return bool(kept and (np.abs(speeds[1:-1]) < limit.speed * 1.001).all())


@pytest.mark.long
def test_random_excursions_are_not_missed(base):
    random = np.random.default_rng(11)
    accepted = refused = 0
    for _ in range(EXCURSIONS):
        width, duration = 10.0 ** random.uniform(-3.0, 0.3), random.choice([3.0, 60.0, 1800.0])
        axis, start = random.integers(6), random.uniform(0.1, 0.2) * duration
        amplitude = np.zeros(6)
        amplitude[axis] = random.choice([-1.0, 1.0]) * 10.0 ** random.uniform(-5.5, 0.0)
        path = excursion(base, duration, start, width, amplitude)
        found = trajectory_violations(base, path)
        kept = truly_kept(base, path, np.linspace(start, start + width, 200))
        accepted, refused = accepted + (not found), refused + bool(found)
        assert kept or found, f"{width} s, {amplitude}"
        if found:
            assert start - 1e-6 <= found[0].time <= start + width + 1e-6
            # What is told is true: the library's own evaluation at that moment says so too.
            told = base.inverse_dynamics_of(path.motion(np.array([found[0].time])), on_violation="report")
            assert {(v.quantity, v.leg) for v in told.violations} & {
                (one.violation.quantity, one.violation.leg) for one in found
            }
    assert min(accepted, refused) > 8


@pytest.mark.parametrize(
    ("duration", "width", "rise", "words"),
    [(60.0, 0.5, 0.5, "length"), (1800.0, 3.0, 0.5, "length"), (60.0, 0.01, 0.003, "force")],
)
def test_what_sampling_has_missed_is_found(base, duration, width, rise, words):
    path = excursion(base, duration, 0.4321 * duration, width, np.array([0.0, 0.0, rise, 0.0, 0.0, 0.0]))
    found = trajectory_violations(base, path)
    assert any(one.violation.quantity == words for one in found)
    assert trajectory_violations(base, excursion(base, duration, 9.0, 3.0, np.zeros(6))) == ()


def test_bounds_hold_between_and_shrink_with_the_square(base):
    random = np.random.default_rng(2)
    times = np.array([0.0, 0.3, 0.7, 1.0])
    places = np.concatenate([base.machine.home_position, np.zeros(3)]) + random.uniform(-0.05, 0.05, (4, 6))
    free = np.full((4, 6), np.nan)
    path = PoseTrajectory(minimum_jerk_spline(times, places, free, free.copy()))
    wrench = np.array([500.0, -300.0, -2000.0, 200.0, 100.0, -50.0])
    bounds, boxes = PathBounds(base.machine, wrench), Boxes.over(3)
    widths = []
    for _ in range(4):
        boxes = boxes.split(np.ones(len(boxes.piece), dtype=bool), 3)
        found = bounds.of(path.pieces, boxes)
        start, _, end = boxes.spans(path.pieces)
        for share in np.linspace(0.0, 1.0, 5):
            motion = path.motion(start + share * (end - start))
            motion = motion._replace(
                force=np.broadcast_to(wrench[:3], motion.position.shape),
                torque=np.broadcast_to(wrench[3:], motion.position.shape),
            )
            exact = base.inverse_dynamics_of(motion, on_violation="report")
            for value, (at, deviation) in (
                (exact.leg_lengths, found.lengths),
                (exact.leg_velocities, found.speeds),
                (exact.actuator_forces, found.forces),
            ):
                assert (np.abs(value - at) <= deviation * (1.0 + 1e-9) + 1e-9).all()
                if share == 0.5:
                    np.testing.assert_allclose(value, at, rtol=1e-9, atol=1e-9)
        widths.append(found.forces[1].max())
    assert widths[-1] < 0.3 * widths[-2]  # at least as fast as the boxes, whose width is a quarter


def test_a_wrench_and_a_singular_pose_count(base):
    path = excursion(base, 10.0, 2.0, 4.0, np.array([0.0, 0.0, 0.02, 0.0, 0.0, 0.0]))
    assert trajectory_violations(base, path) == ()
    found = trajectory_violations(base, path, np.array([0.0, 0.0, -70e3, 0.0, 0.0, 0.0]))
    assert {one.violation.quantity for one in found} == {"force"}
    free = [replace(leg, limits=stewart.LegLimits()) for leg in base.machine.legs]
    unlimited = stewart.StewartPlatform(replace(base.machine, legs=tuple(free)))
    turning = excursion(base, 60.0, 20.0, 2.0, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.2]))
    (found,) = trajectory_violations(unlimited, turning)
    assert found.violation.quantity == "condition_number"
    origin = at_rest(base.machine.home_position, base.machine.home_rotation)
    quaternion = quaternion_from_rotation(rotation_from_roll_pitch_yaw([0.0, 0.0, 2.2])).tolist()
    with pytest.raises(SingularityError, match=r"at t = .*condition number"):
        plan_pose(unlimited, [PoseWaypoint(5.0, base.machine.home_position, quaternion)], 0.0, origin, 0.0)


def test_a_platform_may_return_from_outside_but_not_go_further(base):
    low = base.machine.home_position - np.array([0.0, 0.0, 0.4])
    points = [PoseWaypoint(4.0, base.machine.home_position, [0.0, 0.0, 0.0, 1.0])]
    path = plan_pose(base, points, 0.0, at_rest(low, base.machine.home_rotation), 0.0)
    assert base.legs(low, [0.0, 0.0, 0.0, 1.0]).lengths.max() < base.machine.legs[0].limits.shortest
    assert trajectory_violations(base, path)  # the same path, told strictly
    with pytest.raises(LimitError, match="below its least"):
        lower = PoseWaypoint(2.0, low - np.array([0.0, 0.0, 0.01]), [0.0, 0.0, 0.0, 1.0])
        plan_pose(base, [lower, *points], 0.0, at_rest(low, base.machine.home_rotation), 0.0)


def write_path(file, rows):
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["time", "x", "y", "z", "qx", "qy", "qz", "qw"])
        writer.writerows([*row, 0.0, 0.0, 0.0, 1.0] for row in rows)


def test_the_command_line_answers_the_same_question(tmp_path, capsys):
    home = desktop().machine.home_position
    described = machine(0.12, 0.08, [0.15, 0.21], float(home[2]), 3.0, 60.0, 0.2, 0.4)
    file, path = tmp_path / "desk.yaml", tmp_path / "path.csv"
    file.write_text(yaml.safe_dump(described), encoding="utf-8")
    write_path(path, [(5.0, *home), (6.0, *home[:2], home[2] + 0.01), (7.0, *home)])
    assert main(["stewart", "check", str(file), str(path)]) == 0
    assert "keeps its limits: 3 poses, 2 s" in capsys.readouterr().out
    write_path(path, [(5.0, *home), (6.0, *home[:2], home[2] + 0.09), (7.0, *home)])
    assert main(["stewart", "check", str(file), str(path)]) == 1
    assert "leg_1: length 0.2" in (said := capsys.readouterr().err)
    assert "above its greatest 0.21 m" in said
    assert "t = 6" in said
    write_path(path, [(5.0, *home), (6.0, *home)])
    assert main(["stewart", "check", str(file), str(path), "--wrench", *WRENCH]) == 1
    assert "force" in capsys.readouterr().err
