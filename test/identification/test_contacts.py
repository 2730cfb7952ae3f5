"""Contacts in logs: an added push is found, free motion is silent, and what is no log is refused."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
import yaml

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.identification.contact_thresholds import thresholds_by_speed
from robot_dynamics.identification.result import Comparison
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


def test_noise_asks_for_four_deviations_and_a_joint_that_sticks_for_three():
    """A joint moves for 200 s, then sticks as long with up to 8 N·m."""
    limit, count, gain = rd.load_urdf(PUMA).driving_joint(0).limits, 50_000, 25.0
    share = -np.expm1(-gain * 0.004)
    noise = np.random.default_rng(5).normal(0.0, np.sqrt((2.0 - share) / share), (count, 1))
    sticks = 8.0 * np.sin(np.arange(count) * 0.004)[:, None]
    rest, moves = np.zeros((2 * count, 1)), np.ones((2 * count, 1), dtype=bool)
    speed = limit.velocity * np.repeat([0.2, 0.0], count)[:, None]
    time, efforts = 0.004 * np.arange(2 * count), np.vstack([noise, sticks])
    run = Comparison("run", time, rest, speed, efforts, rest, rest, moves, moves, rest, rest)
    found = thresholds_by_speed([run], np.zeros(1), [limit], gain)
    assert found[2] == pytest.approx(4.0, rel=0.05)
    assert found[0] == pytest.approx(3.0 * 8.0 / np.sqrt(2.0), rel=0.02)
    assert found[1] == found[0]  # not seen
