"""Some seconds of the search in ``test/sweeps/operators.py``."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "sweeps"))

pytest.importorskip("mujoco", reason="MuJoCo simulates the robots")
import operators


@pytest.mark.parametrize("robot", ["ur5", "platform"])
def test_random_legal_sequences_are_what_an_operator_would_expect(robot):
    for number in (1, 2):
        operators.search(operators.machines()[robot], 3, 8, number, False)
