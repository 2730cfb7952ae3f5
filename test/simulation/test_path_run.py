"""``retime --simulate``: at 99 % of the effort limits MuJoCo's arms follow without a cut effort."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from closed_loop import description

pytestmark = pytest.mark.long

pytest.importorskip("mujoco", reason="mujoco is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ARMS = {
    "puma": ["puma560", "fast_move.csv"],
    "panda": [str(description("panda")), "panda_fast_move.csv", "--tip", "panda_link8", "--payload", "3"],
}


@pytest.mark.parametrize("arm", ARMS)
def test_only_the_path_that_is_not_retimed_saturates(arm, tmp_path):
    robot, path, *more = ARMS[arm]
    picture = tmp_path / "simulated.png"
    command = [sys.executable, "-m", "robot_dynamics.cli.main", "retime", robot, str(EXAMPLES / path), *more]
    run = subprocess.run(
        [*command, "--margin", "0.01", "-o", str(tmp_path / "made.csv"), "--simulate", str(picture)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    found = re.findall(r"cut in (\d+) of \d+ cycles, largest ([\d.]+) %.* error ([\d.]+) mrad", run.stdout)
    (cut, before, far), (free, after, near) = (tuple(map(float, row)) for row in found)
    assert cut > 20 and before > 105.0 and far > 20.0
    assert free == 0 and 90.0 < after <= 99.5 and near < 1.0
    assert picture.stat().st_size < 200_000
