"""``robot_dynamics stewart retime``: its result passes ``stewart check``, its poses stay."""

import subprocess
import sys

import numpy as np
import pytest
import yaml
from motion_base import machine, motion_base

from robot_dynamics.control.stewart.retiming import followed, retime_motion
from robot_dynamics.stewart.motion_table import MotionTable, read_motion

COMMAND = [sys.executable, "-m", "robot_dynamics.cli.main", "stewart"]
HEIGHT = 1.159


def stewart(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def rise(times, height, turns):
    """Up and down, from rest to rest."""
    phase = 2.0 * np.pi * turns * times / times[-1]
    window = np.sin(np.pi * times / times[-1]) ** 2
    return height * np.sin(phase) * window


@pytest.fixture
def files(tmp_path):
    """A machine, and a writer of motions of its heave and pitch."""
    place = tmp_path / "machine.yaml"
    text = machine(1.6, 1.2, [1.35, 1.75], HEIGHT, 1500.0, 15e3, 1.0, 60.0)
    text["legs"][0]["friction"] = {
        "universal": 0.02,
        "prismatic": 1500.0,
        "spherical": 0.01,
        "coulomb": 200.0,
    }
    place.write_text(yaml.safe_dump(text), encoding="utf-8")

    def written(height, duration, name="motion.csv"):
        times = np.linspace(0.0, duration, 101)
        heave = rise(times, height, 2.0)
        rows = [
            f"{t!r},0,0,{z!r},0,{0.5 * z!r},0" for t, z in zip(times.tolist(), heave.tolist(), strict=True)
        ]
        path = tmp_path / name
        path.write_text("\n".join(["time,surge,sway,heave,roll,pitch,yaw", *rows]) + "\n", encoding="utf-8")
        return path

    return place, written, tmp_path


@pytest.mark.long
def test_a_motion_that_is_too_fast_is_slowed_down_until_the_check_passes(files):
    place, written, folder = files
    path, made = written(0.15, 1.0), folder / "made.csv"
    before = stewart("check", place, path)
    assert before.returncode == 1 and "force" in before.stderr and "speed" in before.stderr
    run = stewart("retime", place, path, "-o", made, "--margin", "0.02")
    assert run.returncode == 0, run.stderr
    assert "1.000 s become" in run.stdout and "every limit is kept" in run.stdout
    assert stewart("check", place, made).returncode == 0
    # Without a margin it is faster, and does not pass with one.
    tight = folder / "tight.csv"
    assert stewart("retime", place, path, "-o", tight).returncode == 0
    own, slow, fast = (read_motion(one) for one in (path, made, tight))
    assert 1.0 < fast.time[-1] < slow.time[-1] < 3.0
    # The geometry stays: pitch is half the heave everywhere, between the same extremes.
    for read in (slow, fast):
        heave = read.position[:, 2] - HEIGHT
        np.testing.assert_allclose(2.0 * np.arcsin(read.orientation[:, 1]), 0.5 * heave, atol=1e-5)
        assert heave.max() == pytest.approx(own.position[:, 2].max(), abs=1e-3)
        assert heave.min() == pytest.approx(own.position[:, 2].min(), abs=1e-3)
        np.testing.assert_allclose(read.position[[0, -1], 2], HEIGHT, atol=1e-9)
    # Nothing but the limits holds back the fastest one, the own timing neither.
    again = folder / "again.csv"
    assert stewart("retime", place, made, "-o", again, "--fastest").returncode == 0
    assert stewart("check", place, again).returncode == 0
    assert read_motion(again).time[-1] < fast.time[-1]


@pytest.mark.long
def test_what_no_timing_changes_is_told_and_what_is_slow_enough_stays(files):
    place, written, folder = files
    gentle, made = written(0.05, 6.0), folder / "made.csv"
    run = stewart("retime", place, gentle, "-o", made)
    assert run.returncode == 0 and "stays as it is; every limit is kept" in run.stdout
    np.testing.assert_allclose(np.diff(read_motion(made).time), 0.06, rtol=1e-9)
    run = stewart("retime", place, written(0.5, 1.0, "high.csv"), "-o", made)
    assert run.returncode == 1 and "length" in run.stderr and "speed" not in run.stderr
    heavy = ["--wrench", "0", "0", "-200000", "0", "0", "0"]
    run = stewart("retime", place, gentle, "-o", folder / "none.csv", *heavy)
    assert run.returncode == 1 and "cannot hold its weight" in run.stderr and "leg_" in run.stderr
    assert not (folder / "none.csv").exists()
    single = folder / "single.csv"
    single.write_text("time,x,y,z,roll,pitch,yaw\n0,0,0,1.1,0,0,0\n", encoding="utf-8")
    run = stewart("retime", place, single, "-o", folder / "none.csv")
    assert run.returncode == 1 and run.stderr.splitlines()[-1].endswith("a motion needs at least two poses")


def test_forces_and_speeds_stay_below_the_limits_between_samples():
    """Oracle: the platform's own inverse dynamics, sampled at 5 kHz."""
    platform = motion_base()
    times = np.linspace(0.0, 1.2, 61)
    home = platform.machine.home_position
    turns = np.zeros((61, 4))
    turns[:, 3] = 1.0
    shift = np.column_stack([rise(times, 0.12, 1.0), rise(times, -0.1, 3.0), 0.0 * times])
    made = retime_motion(platform, MotionTable(times, home + shift, turns), np.zeros(6))
    assert made.profile is not None and not made.violations
    path = followed(made.table)
    found = platform.inverse_dynamics_of(path.at(np.arange(0.0, path.duration, 2e-4)), on_violation="report")
    limits = platform.machine.legs[0].limits
    shares = (
        np.abs(found.actuator_forces).max() / limits.force,
        np.abs(found.leg_velocities).max() / limits.speed,
    )
    assert max(shares) <= 1.0 + 1e-6
    assert max(shares) > 0.95
