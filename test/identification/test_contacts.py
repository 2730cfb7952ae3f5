"""Contacts in logs: an added push is found, free motion is silent, and what is no log is refused."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
import yaml

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource

PUMA = resource("urdf/puma560.urdf")
PUSH = (1, 8.0, 8.4, 30.0)
"""Joint, from, to [s], external effort [N·m]."""


def written(path, push=None, shift=0.0):
    """A log of a PUMA 560 in motion at 250 Hz, whose second joint may be pushed."""
    chain = rd.load_urdf(PUMA)
    time, q, qd, qdd = simulated.trajectory(6, 3, 12.0, 250.0, shift)
    effort = rd.compile_dynamics(chain, friction=False).inverse_dynamics(q, qd, qdd)
    if push is not None:
        joint, began, ended, size = push
        effort[(time >= began) & (time < ended), joint] -= size
    names = [f"{joint}.{kind}" for kind in ("position", "velocity", "effort") for joint in chain.joint_names]
    table = np.column_stack([time, q, qd, effort])
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *names]), comments="")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::robot_dynamics.ModelWarning")
def test_a_push_is_found_when_it_is_and_free_motion_is_silent(tmp_path, capsys):
    free, other, pushed = (tmp_path / name for name in ("free.csv", "other.csv", "pushed.csv"))
    written(free)
    written(other, shift=3.0)
    written(pushed, PUSH, shift=5.0)
    page = tmp_path / "report.html"
    arguments = ["contacts", str(PUMA), str(other), str(pushed), "--threshold", "5", "-o", str(page)]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    [line] = [line for line in lines if " from 8.0" in line]
    joint = rd.load_urdf(PUMA).joint_names[1]
    largest = float(line.split(": ")[1].split()[0])
    assert line.startswith(f"{joint}: ") and abs(largest - 30.0) < 0.6
    assert [line.split(": ")[1] for line in lines if line.endswith(("contact", "contacts"))] == [
        "no contacts", "1 contact",
    ]  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert joint in text and "No safety function" in text and "data:image/png" in text
    assert main(["contacts", str(PUMA), str(pushed), "--free", str(free)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("contact_threshold: ") or lines[1].startswith("contact_threshold: ")
    assert any(line.startswith(f"{joint}: ") for line in lines)
    assert main(["contacts", str(PUMA), str(pushed), "--threshold", "1", "2"]) == 1
    assert "'contact_threshold' has 2 values" in capsys.readouterr().err
    drives = tmp_path / "friction.yaml"
    observer = {
        "contact_threshold": [40.0] * 6 + [35.0] * 6,
        "contact_speeds": [0.0, 0.9],
        "observer_gain": 25.0,
    }
    known = {"rotor_inertia": [0.0] * 6, "effort_delay": 0.02, "effort_offset": [3.0] + [0.0] * 5, **observer}
    drives.write_text(yaml.safe_dump({"/**": {"ros__parameters": known}}), encoding="utf-8")
    for more, number in (([], "no contacts"), (["--threshold", "5", "--delay", "0"], "1 contact")):
        assert main(["contacts", str(PUMA), str(pushed), "--drives", str(drives), *more]) == 0
        assert capsys.readouterr().out.splitlines()[-1].endswith(number)
    drives.write_text(
        drives.read_text().replace("effort_delay: 0.02", "effort_delay: soon"), encoding="utf-8"
    )
    assert main(["contacts", str(PUMA), str(pushed), "--drives", str(drives)]) == 1
    assert "effort_delay cannot be read as real numbers: 'soon'" in capsys.readouterr().err
    assert main(["contacts", str(PUMA), str(tmp_path / "none.csv")]) == 1
    assert "none.csv" in capsys.readouterr().err
