"""The demonstration as a user runs it, and its independence of how busy the machine is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import coarse_pictures
import numpy as np
import pytest

from robot_dynamics import load_urdf
from robot_dynamics.resources import resource
from robot_dynamics.ros.demo import rounds
from robot_dynamics.ros.demo.arm import DURATION, GOAL, NOMINAL, START, ArmRun

pytestmark = pytest.mark.ros


def nominal():
    description = resource("urdf/puma560.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = load_urdf(description)
    with ArmRun(description, chain, 100.0, lockstep=True) as arm:
        return arm.run(NOMINAL, lambda *_: None)


@pytest.mark.long
def test_lockstep_does_not_depend_on_the_load_of_the_machine():
    quiet = nominal()
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)
    ]
    try:
        busy = nominal()
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert quiet.largest_error < 1e-4
    np.testing.assert_allclose(busy.position, quiet.position, atol=1e-9)
    np.testing.assert_allclose(busy.effort, quiet.effort, atol=1e-5)
    s = quiet.time[quiet.time <= DURATION][:, None] / DURATION
    expected = START + (GOAL - START) * (10 * s**3 - 15 * s**4 + 6 * s**5)
    np.testing.assert_allclose(quiet.reference[: len(s)], expected, atol=1e-9)
    np.testing.assert_allclose(quiet.position[-1], GOAL, atol=1e-4)


@pytest.mark.long
def test_the_command_leaves_a_report_and_plots(tmp_path):
    command = [sys.executable, coarse_pictures.__file__, "demo", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    runs = report["runs"]
    assert report["passed"] is True
    assert runs["computed_torque"]["largest_error"] < 1e-4
    for other in ("published_law", "payload", "pd"):
        assert runs[other]["largest_error"] > 4.0 * runs["computed_torque"]["largest_error"]
    for name in ("arm_position", "arm_error", "arm_torque", "arm_error_comparison", "arm_comparison"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{name}.png" in done.stdout
    assert "computed torque" in done.stdout
    platform = report["platform"]
    assert platform["amplitude_m"] == pytest.approx(0.05 / np.sqrt(3.0), rel=0.02)
    assert platform["largest_position_error_m"] < 2e-4
    assert np.degrees(platform["largest_angle_error_rad"]) < 0.02
    assert platform["saturated_samples"] == 0
    for name in ("platform_pose", "platform_error", "platform_forces"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_verdict_by_the_wall_clock_says_what_happened():
    calm, busy = {"late_us_max": 900.0}, {"late_us_max": 336_000.0}
    fine, lost = {"states_lost": 0, "jumps": 0}, {"states_lost": 2, "jumps": 0}
    assert rounds.tracking_failure(3e-5, 4e-4, [fine], [calm]) == ""
    assert rounds.tracking_failure(5e-4, 4e-4, [fine], [calm]) == (
        "largest joint error 0.0005 rad, limit 0.0004 rad"
    )
    assert "held the simulator up for as long as 0.336 s" in rounds.tracking_failure(
        5e-4, 4e-4, [fine], [calm, busy]
    )
    told = rounds.tracking_failure(3e-5, 4e-4, [fine, lost], [busy])
    assert told.startswith("states were lost 2 times")
    assert "says nothing about tracking" in told
