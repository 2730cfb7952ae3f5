"""A real UR10: a log that is not part of this repository."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.identification import inertial
from robot_dynamics.identification.contacts import felt, free_thresholds
from robot_dynamics.identification.files import read_drives
from robot_dynamics.identification.logs import read_log

pytestmark = pytest.mark.long

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
    assert result["error"]["validate"] <= 0.045
    assert result["friction"]["load_friction"][1] == pytest.approx(0.06, abs=0.01)
    prior = rd.load_urdf(urdf)
    assert result["total_mass"] == pytest.approx(sum(j.body.mass for j in prior.joints), rel=0.15)
    for joint in rd.load_urdf(tmp_path / "identified.urdf").joints:
        assert np.linalg.eigvalsh(inertial.pseudo_inertia(inertial.parameters_of(joint.body)))[0] > 0.0
    contacts_of_the_log(tmp_path)


def contacts_of_the_log(folder):
    """Thresholds from the log's first part are not reached in the rest; a push of twice them is found."""
    chain = rd.load_urdf(folder / "identified.urdf")
    log = read_log(str(LOG), chain.joint_names)
    arm = rd.ActuatedArm(
        rd.compile_dynamics(chain, quantities=(), friction=False),
        chain,
        read_drives(str(folder / "friction.yaml"), chain),
    )
    split = int(0.7 * len(log.time))
    first, rest = (
        replace(log, time=log.time[part], q=log.q[part], qd=log.qd[part], effort=log.effort[part])
        for part in (slice(0, split), slice(split, None))
    )
    free = felt(first, arm, rd.ContactParameters(contact_threshold=(0.0,)))
    parameters = free_thresholds([free], rd.ContactParameters())
    silent = felt(rest, arm, parameters)
    assert silent.contacts() == []
    for j, name in enumerate(chain.joint_names):
        pushed = rest.effort.copy()
        middle = slice(len(pushed) // 2, len(pushed) // 2 + 40)
        pushed[middle, j] -= (
            2.0 * silent.threshold[middle, j].max() * np.sign(silent.external[middle, j].mean())
        )
        assert name in {one.joint for one in felt(replace(rest, effort=pushed), arm, parameters).contacts()}
