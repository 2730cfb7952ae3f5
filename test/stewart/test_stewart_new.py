"""The file of a new machine: its measures are the given ones, and it works at once."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from robot_dynamics import stewart
from robot_dynamics.cli.main import main
from robot_dynamics.errors import ParameterError
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stroke": 0.0}, "stroke is 0"),
        ({"base_radius": -1.0}, "base_radius is -1"),
        ({"pair_angle": math.radians(60.0)}, "pair_angle is 60 degrees"),
        ({"shortest_leg": 0.2}, "do not lift the platform"),
        ({"name": "a\nb"}, "it must be a word"),
    ],
)
def test_measures_that_make_no_machine_are_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        machine_text(
            Measures(**{"name": "m", "base_radius": 1.6, "platform_radius": 1.2, "stroke": 0.4, **change})
        )


def test_the_command_writes_a_file_and_spares_one_that_is_there(tmp_path, capsys):
    path = tmp_path / "simulator one.yaml"
    words = ["stewart", "new", "--base-radius", "1.6", "--platform-radius", "1.2", "--stroke", "0.4"]
    assert main([*words, "--force", "1e4", "-o", str(path)]) == 0
    machine = stewart.load(path).machine
    assert (machine.name, machine.legs[2].limits.force) == ("simulator one", 1e4)
    assert main([*words, "-o", str(path)]) == 1
    assert "exists" in capsys.readouterr().err
    assert main([*words, "-o", str(path), "--overwrite"]) == 0
