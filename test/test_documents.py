"""Pages, examples and what is published say what is so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics as rd

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# What an example prints of its result, and what that must be.
RESULTS = {
    "gravity_compensation": (r"joint2 carries most, ([\d.]+) N·m", lambda torque: 37.0 < torque < 38.5),
    "computed_torque": (r"largest tracking error: (\S+) rad", lambda error: error < 1e-4),
    "payload": (r"joint1: .* ([\d.]+) N·m with 2 kg", lambda torque: torque < 1e-9),
    "stewart_forces": (r"leg_1: .* limit (\d+) N", lambda limit: limit > 0),
}


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_link_leads_somewhere():
    check = load("check_links")
    assert [line for page in check.pages() for line in check.broken(page)] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path):
    if path.stem == "computed_torque":
        pytest.importorskip("mujoco", reason="mujoco is not installed")
    if path.stem == "optimal_control":
        pytest.importorskip("casadi", reason="casadi is not installed")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if path.stem in RESULTS:
        pattern, right = RESULTS[path.stem]
        assert right(float(re.search(pattern, done.stdout)[1])), done.stdout


def test_the_batch_example_balances_energy():
    """Work of the joints and gain of kinetic energy, printed to a microjoule, are the same."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/batch.py")], capture_output=True, text=True, check=True
    )
    work, gain = re.search(
        r"work of the joints (\S+) J, gain of kinetic energy (\S+) J", done.stdout
    ).groups()
    assert abs(float(work) - float(gain)) < 2e-6


def test_every_example_is_in_the_list():
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    for path in [*EXAMPLES, *(ROOT / "examples").glob("*.sh")]:
        assert f"[{path.name}]({path.name})" in listed


def test_the_citation_is_of_this_version():
    assert f"version: {rd.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
