"""A real UR10: a log that is not part of this repository."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.identification import inertial

FOLDER = Path(os.environ.get("RD_SHARED_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
LOG = FOLDER / "ur10" / "ur10_exciting_trajectory.db3"


@pytest.mark.filterwarnings("ignore::robot_dynamics.ModelWarning")
def test_a_ur10_is_identified_from_its_log(tmp_path):
    for module in ("cvxpy", "rosbags", "matplotlib"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    if not LOG.is_file():
        pytest.skip("the log of a UR10 is not here")
    urdf = next(iter(Path(sys.prefix).rglob("ur_description/urdf/ur10_robot.urdf")), None)
    if urdf is None:
        pytest.skip("example-robot-data is not installed")
    assert main(["identify", str(urdf), str(LOG), "-o", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert result["error"]["prior"] > 0.4
    assert result["error"]["validate"] <= 0.048
    assert result["friction"]["load_friction"][1] == pytest.approx(0.06, abs=0.01)
    prior = rd.load_urdf(urdf)
    assert result["total_mass"] == pytest.approx(sum(j.body.mass for j in prior.joints), rel=0.1)
    for joint in rd.load_urdf(tmp_path / "identified.urdf").joints:
        assert np.linalg.eigvalsh(inertial.pseudo_inertia(inertial.parameters_of(joint.body)))[0] > 0.0
