"""The benchmark runs, its contenders agree, and its report holds what was measured. Nothing here is timed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from random_arms import PinocchioArm, random_chain

from robot_dynamics.benchmark import run
from robot_dynamics.benchmark.arms import along_z, random_arm
from robot_dynamics.benchmark.timing import TimedStatement, median_times
from robot_dynamics.cli.main import main
from robot_dynamics.resources import resource


def test_arms_along_z_are_the_same_arms():
    chain = random_chain(np.random.default_rng(0), 5)
    turned = along_z(chain)
    assert all(joint.axis.tolist() == [0.0, 0.0, 1.0] for joint in turned.joints)
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 5))
    load = np.arange(6.0)
    expected = PinocchioArm(chain).inverse_dynamics(q, qd, qdd, load)
    np.testing.assert_allclose(PinocchioArm(turned).inverse_dynamics(q, qd, qdd, load), expected, rtol=1e-10)


def test_random_arms_are_the_same_in_every_run():
    first, again = random_arm(3), random_arm(3)
    assert all((a.origin == b.origin).all() for a, b in zip(first.joints, again.joints, strict=True))
    assert not (random_arm(4).joints[0].origin == first.joints[0].origin).all()


def test_times_are_per_state():
    calls = []
    times = median_times({"a": TimedStatement("calls.append(1)", {"calls": calls}, states=10)}, rounds=3)
    assert list(times) == ["a"] and times["a"] > 0.0 and calls


@pytest.mark.long
def test_contenders_agree_and_the_command_reports_them(tmp_path, capsys, monkeypatch):
    """With short arms in the place of the package's robots, whose kernels take long to compile."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    monkeypatch.setattr(run, "robot", lambda name: replace(random_arm(2, len(name)), name=name))
    monkeypatch.setattr(run, "LOADS", 1)
    monkeypatch.setattr(run, "QUANTITIES", ("gravity", "energy"))
    numbers, picture = tmp_path / "numbers.json", tmp_path / "plot.png"
    files = ["--json", str(numbers), "--plot", str(picture)]
    assert main(["benchmark", "--joints", "2", "--rounds", "1", "--no-cpp", *files]) == 0
    output = capsys.readouterr()
    assert "| puma560 | 2 |" in output.out and "cached load" in output.out
    assert "| puma560 | momentum | " in output.out
    assert "puma560: timing" in output.err
    assert picture.read_bytes().startswith(b"\x89PNG")
    results = json.loads(numbers.read_text())
    assert [arm["name"] for arm in results["arms"]] == ["puma560", "arm7", "random2"]
    for arm in results["arms"]:
        single = arm["seconds"]["inverse dynamics, one state"]
        assert {"robot_dynamics", "robot_dynamics, out=", "Pinocchio"} <= set(single)
        assert set(single) | set(arm["left_out"]) >= {"MuJoCo", "PyKDL"}
        # What is left out is not installed, or was not asked for; no result was wrong.
        assert not any("differs" in reason for reason in arm["left_out"].values())
    assert set(results["build_seconds"]) == {"generation", "compilation", "cached load"}


def test_bad_numbers_are_refused(capsys):
    assert main(["benchmark", "--rounds", "0"]) == 1
    assert main(["benchmark", "--joints", "0"]) == 1
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.long
def test_a_cycle_is_timed_in_python_and_in_c(capsys):
    assert main(["benchmark", "--cycles", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("|") for line in lines] == [6] * 5
    assert main(["benchmark", "--cycles", "0"]) != 0


@pytest.mark.long
def test_retiming_is_compared_with_what_is_installed(capsys):
    from robot_dynamics.cli.main import main

    assert main(["benchmark", "--retime", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("robot_dynamics ")]
    assert all("ms" in line or "not here" in line for line in lines[2:])


def test_array_libraries_are_compared(capsys, monkeypatch):
    """Libraries beside JAX take part where they are installed; others are named. All compute the same."""
    jax = pytest.importorskip("jax", reason="jax is not installed")
    from robot_dynamics.benchmark import arrays

    monkeypatch.setattr(arrays, "BATCHES", (1, 3))
    monkeypatch.setattr(arrays, "NAMES", ("mass_matrix",))
    assert main(["benchmark", "--rounds", "1", "--arrays", str(resource("urdf/scara.urdf"))]) == 0
    output = capsys.readouterr()
    assert "| mass matrix | 3 | " in output.out and arrays.OURS in output.out
    assert "computes another" not in output.err and jax.config.jax_enable_x64
