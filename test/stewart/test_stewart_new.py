"""The file of a new machine: its measures are the given ones, and it works at once."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.stewart.new_machine import Measures, machine_text

MACHINES = [
    Measures("motion base", 1.6, 1.2, 0.4, payload=1500.0, force=15000.0),
    Measures("desktop", 0.15, 0.1, 0.05),
    *(
        Measures("some", *sizes, pair_angle=math.radians(pair))
        for sizes, pair in itertools.product(
            [(1.0, 1.0, 0.3), (5.0, 1.0, 2.0), (0.2, 0.9, 0.3), (0.01, 0.006, 0.004)], (5.0, 50.0)
        )
    ),
]


@pytest.mark.parametrize("measures", MACHINES, ids=lambda m: f"{m.name} {m.base_radius} {m.pair_angle:.1f}")
def test_a_new_machine_has_its_measures_and_works_at_once(measures):
    platform = stewart.load(machine_text(measures))
    machine = platform.machine
    assert machine.name == measures.name
    for points, radius in (
        (machine.base_points, measures.base_radius),
        (machine.platform_points, measures.platform_radius),
    ):
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), radius, rtol=1e-8)
        angles = np.sort(np.unwrap(np.arctan2(points[:, 1], points[:, 0]) % (2.0 * np.pi)) % (2.0 * np.pi))
        gaps = np.sort(np.diff([*angles, angles[0] + 2.0 * np.pi]))
        pair = measures.pair_angle
        np.testing.assert_allclose(gaps, sorted([*[pair] * 3, *[2.0 * np.pi / 3.0 - pair] * 3]), atol=1e-7)
    limits = machine.legs[0].limits
    assert limits.longest - limits.shortest == pytest.approx(measures.stroke, rel=1e-6)
    lengths = platform.legs(machine.home_position, [0.0, 0.0, 0.0]).lengths
    np.testing.assert_allclose(lengths, 0.5 * (limits.shortest + limits.longest), rtol=5e-3)
    # A tenth of the stroke in every direction, at the guessed forces.
    shifts = 0.1 * measures.stroke * np.vstack([np.eye(3), -np.eye(3)])
    rest = np.zeros((6, 3))
    shaken = 5.0 * np.vstack([np.eye(3), -np.eye(3)])
    result = platform.inverse_dynamics(
        machine.home_position + shifts, rest, rest, rest, shaken, rest, on_violation="report"
    )
    assert result.violations == ()


def test_the_command_writes_a_file_and_spares_one_that_is_there(tmp_path, capsys):
    path = tmp_path / "simulator one.yaml"
    words = ["stewart", "new", "--base-radius", "1.6", "--platform-radius", "1.2", "--stroke", "0.4"]
    assert main([*words, "--force", "1e4", "-o", str(path)]) == 0
    machine = stewart.load(path).machine
    assert (machine.name, machine.legs[2].limits.force) == ("simulator one", 1e4)
    assert main([*words, "-o", str(path)]) == 1
    assert "exists" in capsys.readouterr().err
    with warnings.catch_warnings(action="error"):
        assert main([*words, "-o", str(path), "--overwrite"]) == 0


def test_corners_of_the_strokes_are_within_the_guessed_joint_angles():
    platform = stewart.load(machine_text(Measures("simulator", 0.75, 0.65, 0.5, speed=0.6, force=9000.0)))
    machine, reached = platform.machine, 0
    for lengths in itertools.product(*((leg.limits.shortest, leg.limits.longest) for leg in machine.legs)):
        pose = platform.forward_kinematics(lengths)
        if pose.converged:
            found = platform.check_pose(pose.position, pose.orientation, on_violation="report")
            assert not [v for v in found if v.quantity in ("base_angle", "platform_angle")]
            reached += 1
    assert reached > 32


DATASHEET = """--base-radius 0.75 --platform-radius 0.65 --base-half-angle 8 --platform-pair-angle 14
 --stroke 0.5 --mass 620 --com 0 0.02 0.3 --inertia 90 100 80 0 1 0 --lower-mass 38 --upper-mass 9
 --force 9000 --speed 0.6 --continuous-force 5000 --speed-force 0:9000 0.3:9000 0.6:4000
 --lead 0.01 --rotor-inertia 0.0012 --screw-inertia 0.0004 --gear-ratio 2
 --base-angle 35 --platform-angle 40"""


def test_the_terms_of_a_datasheet_are_in_the_file_and_are_no_guesses(tmp_path):
    path = tmp_path / "base.yaml"
    assert main(["stewart", "new", *DATASHEET.split(), "-o", str(path)]) == 0
    machine = stewart.load(path).machine
    for points, pair in ((machine.base_points, 16.0), (machine.platform_points, 14.0)):
        angles = np.sort(np.degrees(np.arctan2(points[:, 1], points[:, 0])) % 360.0)
        gaps = np.diff([*angles, angles[0] + 360.0])
        assert gaps.min() == pytest.approx(pair, abs=1e-6)
    assert machine.platform.mass == 620.0
    np.testing.assert_allclose(machine.platform.center_of_mass, [0.0, 0.02, 0.3])
    np.testing.assert_allclose(machine.platform.inertia, [[90, 0, 1], [0, 100, 0], [1, 0, 80]])
    leg = machine.legs[3]
    assert (leg.lower.mass, leg.upper.mass) == (38.0, 9.0)
    assert leg.drive == stewart.Drive(0.01, 4e-4, 1.2e-3, 2.0)
    limits = leg.limits
    assert machine.guessed == ("friction",)
    assert (limits.force, limits.speed, limits.continuous_force) == (9000.0, 0.6, 5000.0)
    assert limits.speed_force == ((0.0, 9000.0), (0.3, 9000.0), (0.6, 4000.0))
    np.testing.assert_allclose(limits.force_at_speed(np.array([0.1, -0.45, 0.7])), [9000.0, 6500.0, 0.0])
    np.testing.assert_allclose(
        [limits.base_angle, limits.platform_angle], np.radians([35.0, 40.0]), rtol=1e-5
    )
    guesses = [line.split(":")[0].strip() for line in path.read_text().splitlines() if "guess" in line]
    assert {"guessed", "center_of_mass", "inertia", "prismatic", "coulomb"} == {
        name for name in guesses if not name.startswith("#")
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--base-pair-angle 20 --base-half-angle 10",
            "--base-half-angle are both given",
        ),
        ("--inertia 1 2 --mass 5", "--inertia has 2 values"),
        ("--speed-force 0.3", "must be SPEED:FORCE"),
        ("--speed-force 0.3:100 0.2:50", "speeds must increase"),
        ("--gear-ratio 2", "need --lead"),
    ],
)
def test_terms_that_do_not_fit_are_refused(words, message, tmp_path, capsys):
    sizes = ["--base-radius", "1.6", "--platform-radius", "1.2", "--stroke", "0.4"]
    assert main(["stewart", "new", *sizes, *words.split(), "-o", str(tmp_path / "m.yaml")]) == 1
    assert message in capsys.readouterr().err
