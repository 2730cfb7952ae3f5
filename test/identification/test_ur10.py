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
from robot_dynamics.identification.contacts import felt
from robot_dynamics.identification.files import read_drives, read_observer
from robot_dynamics.identification.identify import identify
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
    assert result["cutoff"] == 10.0
    assert result["error"]["validate"] <= 0.04
    assert result["friction"]["load_friction"][1] == pytest.approx(0.055, abs=0.01)
    assert max(result["friction"]["presliding_friction"]) > 2.0
    prior = rd.load_urdf(urdf)
    log = read_log(str(LOG), prior.joint_names)
    first = slice(int(0.7 * len(log.time)))
    part = replace(log, time=log.time[first], q=log.q[first], qd=log.qd[first], effort=log.effort[first])
    # The law of friction alone would ask for -7.9 ± 2.5 ms.
    assert identify(prior, [part]).treatment.delay.seconds == 0.0
    assert result["total_mass"] == pytest.approx(sum(j.body.mass for j in prior.joints), rel=0.15)
    for joint in rd.load_urdf(tmp_path / "identified.urdf").joints:
        assert np.linalg.eigvalsh(inertial.pseudo_inertia(inertial.parameters_of(joint.body)))[0] > 0.0
    contacts_of_the_log(tmp_path)


def contacts_of_the_log(folder):
    """With thresholds of friction.yaml free motion is no contact, and steps of twice the threshold are."""
    chain = rd.load_urdf(folder / "identified.urdf")
    log, file = read_log(str(LOG), chain.joint_names), str(folder / "friction.yaml")
    links = rd.compile_dynamics(chain, quantities=(), friction=False)
    arm = rd.ActuatedArm(links, chain, read_drives(file, chain))
    parameters = rd.ContactParameters(**read_observer(file))
    silent = felt(log, arm, parameters)
    assert silent.contacts() == []
    limits = np.array([chain.driving_joint(j).limits.effort for j in range(chain.dof)])
    assert (silent.threshold[1:] <= 0.15 * limits).all()
    assert (np.abs(silent.external) < 0.12 * limits).all()
    assert (parameters.floors(chain)[0][1:] < 0.1 * limits).all()
    draw = np.random.default_rng(0)
    for j, name in enumerate(chain.joint_names):
        at = int(draw.integers(320, len(log.time) - 40))
        effort, around = log.effort.copy(), slice(at - 300, at + 30)
        effort[at : at + 15, j] -= 2.0 * silent.threshold[at : at + 15, j].max() * draw.choice([-1.0, 1.0])
        pushed = replace(
            log, time=log.time[around], q=log.q[around], qd=log.qd[around], effort=effort[around]
        )
        assert name in {one.joint for one in felt(pushed, arm, parameters).contacts()}
