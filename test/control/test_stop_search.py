"""Some seconds of the search in ``test/sweeps/stops.py``."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "sweeps"))

pytest.importorskip("mujoco", reason="MuJoCo simulates the robots")
import stops
from stop_rigs import UR5


@pytest.mark.parametrize("robot", ["arm", "platform"])
def test_random_sequences_keep_speeds_steps_and_end_stops(robot):
    search = stops.ArmSearch(UR5) if robot == "arm" else stops.PlatformSearch()
    for seed in (1, 2):
        search.run(seed, 1.5)
