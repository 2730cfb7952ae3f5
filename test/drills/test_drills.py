"""A few faults of each machine in a row; ``make drill`` does the whole table."""

import fnmatch
import math
import re
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import matrix
import policies
from drilling import drill, faults_for
from faults import FAULTS
from invariants import LATE, Promise, Seen, judge
from scenes import COLUMNS
from skips import DOCUMENTATION

pytestmark = pytest.mark.long

EFFORTS = Promise("efforts", (2.0, 4.0), silence=1.0)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([(0.0, [1.0, 4.0]), (0.5, [-1.0, 0.0])], ""),
        ([(0.0, [1.0, math.nan])], "not finite"),
        ([(0.0, [1.0, -4.1])], "beyond the limits"),
        ([(0.0, [1.0])], "1 efforts for 2 joints"),
        ([(0.0, [2.0, 0.0]), (0.1, [-0.1, 0.0])], "1.05 of a limit in one step"),
        ([(0.0, [1.0, 1.0]), (1.1 + LATE, [1.0, 1.0])], "nothing for"),
        ([(0.0, [1.0, 1.0])], "nothing for"),
    ],
)
def test_what_the_observer_has_seen_is_judged(rows, complaint):
    seen = [Seen(at, "efforts", 0, values) for at, values in rows]
    during = (0.0, 2.0 + LATE if len(seen) < 2 and "nothing" in complaint else seen[-1].at)
    broken = judge(seen, [EFFORTS], during, largest_step=1.0).broken
    assert bool(broken) == bool(complaint)
    assert all(complaint in one for one in broken)
    if "nothing" in complaint:
        assert not judge(seen, [EFFORTS], during, dead=[(0.5, 3.0)]).broken


def test_every_fault_is_done_to_every_machine_or_there_is_a_reason():
    cells = {(fault.name, column): matrix.cell(fault, column) for fault in FAULTS for column in COLUMNS}
    assert not [where for where, reason in cells.items() if not reason]
    letters = [chr(ord("a") + k) for k, _ in enumerate(matrix.REASONS)]
    assert set(cells.values()) == {matrix.DONE, *letters}, "a reason for nothing"


def test_the_page_names_every_drill_and_none_that_does_not_exist():
    text = (DOCUMENTATION / "explanation/safety.md").read_text(encoding="utf-8")
    faults = {fault.name for fault in FAULTS}
    tests = {file.name for file in Path(__file__).parents[1].rglob("*.py")}
    drills = {
        name
        for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)[1:]
        for name in re.findall(r"`([\w.*]+)`", row.rsplit("|", 2)[1])
    }
    unknown = {name for name in drills if not fnmatch.filter(faults | tests | set(COLUMNS), name)}
    assert not unknown, "there is no such drill"
    named = {fault for name in re.findall(r"`([\w*]+)`", text) for fault in fnmatch.filter(faults, name)}
    assert named == faults


@pytest.mark.ros
@pytest.mark.parametrize("column", [name for name in COLUMNS if faults_for(name, quick=True)])
def test_efforts_keep_their_promises_through_faults_in_a_row(column):
    with COLUMNS[column]() as scene:
        for fault in faults_for(column, quick=True):
            verdict = drill(scene, fault)
            assert verdict.messages, fault.name
            assert not verdict.broken, f"{fault.name}: {fault.text}\n" + "\n".join(verdict.broken[:5])
        assert "Traceback" not in scene.process.output
        undeclared = policies.used(scene.peer.node, scene.node) - policies.declared(scene.node)
        assert not undeclared, "its security policy lacks these"
