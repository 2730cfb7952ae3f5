"""The command ``identify`` from a file to files."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import simulated
from test_logs import write_table

import robot_dynamics as rd
from robot_dynamics.cli.identify import read_run
from robot_dynamics.cli.main import command_line, main
from robot_dynamics.dynamics.friction import direction
from robot_dynamics.identification import inertial
from robot_dynamics.identification.logs import Log
from robot_dynamics.identification.regressor import regressor
from robot_dynamics.resources import resource

for module in ("scipy", "cvxpy", "matplotlib"):
    pytest.importorskip(module, reason=f"{module} is not installed")
PUMA = resource("urdf/puma560.urdf")


def piped(monkeypatch, path):
    """Let standard input be that of ``command < path``."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))


@pytest.mark.parametrize("threads", [None, "2"])
def test_linear_algebra_has_one_thread_unless_the_user_says_otherwise(threads, tmp_path):
    """Beside other programs a UR10's log took more than 9 minutes with two threads, and 43 s with one."""
    chain = rd.load_urdf(PUMA)
    write_table(tmp_path / "log.csv", simulated.simulated_log(chain, simulated.parameters(chain), 1, 0.02))
    variables = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if threads:
        variables["OPENBLAS_NUM_THREADS"] = threads
    program = (
        "import os, sys; from pathlib import Path; from robot_dynamics.cli.main import main;"
        "main(sys.argv[1:]); wanted = os.environ.get('OPENBLAS_NUM_THREADS');"
        "print(wanted, len(list(Path('/proc/self/task').glob('*'))) or 1)  # Linux counts them there"
    )
    arguments = ["identify", str(PUMA), "--inspect", str(tmp_path / "log.csv"), "-o", str(tmp_path / "it")]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=variables, capture_output=True, text=True, check=True
    )
    wanted, started = done.stdout.split()[-2:]
    assert wanted == (threads or "1")
    assert threads or started == "1"


def test_runs_may_follow_options(capsys):
    """``identify arm.urdf --tip link6 run.csv`` ended with "unrecognized arguments: run.csv"."""
    options = ["--tip", "link6", "--driver", "nobody", "-o", "out"]
    for words in (["one", *options, "two", "-"], [*options, "one"], [*options[:2], "one", *options[2:]]):
        assert main(["identify", str(PUMA), *words]) == 1
        assert "nobody" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["identify", str(PUMA), *options, "one", "--typo"])
    assert "unrecognized arguments: one --typo" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::robot_dynamics.ModelWarning")
def test_runs_to_learn_from_and_to_validate_with(tmp_path, capsys, monkeypatch):
    chain = rd.load_urdf(PUMA, locked_joints={"joint4": 0.5})
    true = simulated.parameters(simulated.another(chain, 1), damping=1.0, friction=0.5)
    for name, seed in (("one", 1), ("two", 2)):
        write_table(tmp_path / f"{name}.csv", simulated.simulated_log(chain, true, seed, 0.02))
    piped(monkeypatch, tmp_path / "two.csv")
    options = ["--validate", "-", "--lock", "joint4=0.5", "-o", str(tmp_path / "out")]
    assert main(["identify", str(PUMA), str(tmp_path / "one.csv"), *options]) == 0
    printed = capsys.readouterr().out
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert f"{100.0 * result['error']['validate']:.2f} %" in printed
    assert result["error"]["validate"] < 0.01 < result["error"]["prior"]
    assert result["joints"] == list(chain.joint_names)
    again = rd.load_urdf(tmp_path / "out" / "identified.urdf", locked_joints={"joint4": 0.5})
    for joint in again.joints:
        found = result["links"][joint.link]
        assert found["mass"] == joint.body.mass
        assert np.allclose(found["inertia"], joint.body.inertia, rtol=0.0, atol=1e-15)


def test_a_part_of_a_run_is_read(tmp_path, capsys):
    chain = rd.load_urdf(PUMA)
    log = simulated.simulated_log(chain, simulated.parameters(chain, 0.1, 1.0, 1.0), 1, seconds=2.0)
    write_table(tmp_path / "run.csv", log)
    words = ["identify", str(PUMA), str(tmp_path / "run.csv"), "-o", str(tmp_path / "out")]
    parser = command_line(lambda name: name == "identify")
    part = read_run(words[2], chain, parser.parse_args([*words, "--from", "0.5", "--to", "1.25"]))
    since = log.time - log.time[0]
    kept = (since >= 0.5) & (since <= 1.25)
    np.testing.assert_allclose(part.q, log.q[kept], atol=1e-12)
    np.testing.assert_allclose(part.effort, log.effort[kept], atol=1e-12)
    assert main([*words, "--from", "100"]) == 1
    assert "nothing from 100 s to inf s; it lasts" in capsys.readouterr().err


@pytest.mark.long
def test_a_payload_of_a_robot_that_is_known(tmp_path, capsys, monkeypatch):
    chain = rd.load_urdf(PUMA)
    true = simulated.parameters(chain, rotor=0.3)
    payload = inertial.RigidBody(1.5, np.array([0.0, 0.03, 0.05]), 0.005 * np.eye(3))
    loaded = inertial.with_payload(chain.joints[-1].body, payload, chain.tip_transform)
    true[50:60] = inertial.parameters_of(loaded)
    write_table(tmp_path / "run.csv", simulated.simulated_log(chain, true, 3, 0.01))
    drives = tmp_path / "friction.yaml"
    drives.write_text(f"/**:\n  ros__parameters:\n    rotor_inertia: {[0.3] * 6}\n", encoding="utf-8")
    piped(monkeypatch, drives)
    options = ["--payload", "--drives", "-", "-o", str(tmp_path / "out")]
    assert main(["identify", str(PUMA), str(tmp_path / "run.csv"), *options]) == 0
    assert "1.50" in capsys.readouterr().out
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["payload"]["mass"] == pytest.approx(1.5, abs=0.01)
    assert result["payload"]["center"] == pytest.approx([0.0, 0.03, 0.05], abs=3e-3)
    last = rd.load_urdf(tmp_path / "out" / "identified.urdf").joints[-1].body
    assert last.mass == pytest.approx(chain.joints[-1].body.mass + 1.5, abs=0.01)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::robot_dynamics.ModelWarning")
def test_a_joint_that_stood_still_is_locked_where_it_stood(tmp_path, capsys):
    whole = rd.load_urdf(PUMA)
    true = simulated.parameters(simulated.another(whole, 1), damping=1.0, friction=0.5)
    time, q, qd, qdd = simulated.trajectory(whole.dof, 1)
    q[:, 3], qd[:, 3], qdd[:, 3] = 0.7, 0.0, 0.0
    effort = regressor(whole, q, qd, qdd) @ true
    effort += 0.02 * np.random.default_rng(5).normal(size=effort.shape)
    write_table(tmp_path / "run.csv", Log("run", whole.joint_names, time, q, qd, effort))
    arguments = ["identify", str(PUMA), str(tmp_path / "run.csv"), "-o", str(tmp_path / "out"), "--lock"]
    assert main([*arguments, "joint4=0.7"]) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["error"]["validate"] < 0.002 < 0.05 < result["error"]["prior"]
    # The whole description, its fourth joint at 0.7, moves as the robot did.
    found = rd.load_urdf(tmp_path / "out" / "identified.urdf")
    rotors = np.insert(result["friction"]["rotor_inertia"], 3, 0.0)
    without = simulated.parameters(found)
    without[60:66] = rotors
    moving = [0, 1, 2, 4, 5]
    here = (regressor(found, q, qd, qdd) @ without)[:, moving]
    there = (effort - qd - 0.5 * direction(qd))[:, moving]
    assert np.linalg.norm(here - there) < 0.005 * np.linalg.norm(there)
    assert main([*arguments, "joint4=0"]) == 1
    assert "joint4 is locked at 0, but the log has it at 0.7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/**: {}\n", "no ros__parameters"),
        ("/**:\n  ros__parameters:\n    rotor_inertia: [1.0]\n", "six finite"),
    ],
)
def test_drives_that_are_none_are_refused(text, message, tmp_path, capsys):
    (tmp_path / "drives.yaml").write_text(text, encoding="utf-8")
    arguments = ["identify", str(PUMA), "run", "--drives", str(tmp_path / "drives.yaml"), "-o", str(tmp_path)]
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["-", "-"], [str(PUMA), "-", "--drives", "-"], [str(PUMA), "-", "-"]])
def test_only_one_thing_comes_from_standard_input(arguments, tmp_path, capsys):
    assert main(["identify", *arguments, "-o", str(tmp_path)]) == 1
    assert "only one of URDF, RUN, --drives, --columns and --inspect" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("driver", "option", "reason"),
    [
        ("gazebo", [], "driver 'gazebo' reports no efforts"),
        (
            "ur",
            [],
            "driver 'ur' reports motor currents: give the torque of one ampere of each joint by --columns",
        ),
        (
            "franka",
            ["--compensates-gravity"],
            "driver 'franka' reports efforts with gravity; --compensates-gravity",
        ),
        ("pandaa", [], "there is no driver profile 'pandaa'; choose from "),
    ],
)
def test_a_driver_whose_efforts_cannot_be_learned_from_is_refused(tmp_path, capsys, driver, option, reason):
    command = ["identify", str(PUMA), "none.csv", "-o", str(tmp_path / "out"), "--driver", driver, *option]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


@pytest.mark.long
def test_the_driver_tells_whether_efforts_contain_the_weight(tmp_path, capsys):
    """A profile without gravity in the states is the option --compensates-gravity."""
    chain = rd.load_urdf(PUMA)
    true = simulated.parameters(chain, damping=1.0, friction=0.5)
    log = simulated.simulated_log(chain, true, 3, 0.01, gravity=(0.0, 0.0, 0.0))
    write_table(tmp_path / "run.csv", log)
    text = resource("config/drivers/franka.yaml").read_text(encoding="utf-8")
    own = tmp_path / "own.yaml"
    own.write_text(text.replace("gravity: included", "gravity: removed"), encoding="utf-8")
    command = ["identify", str(PUMA), str(tmp_path / "run.csv"), "-o", str(tmp_path / "out")]
    assert main([*command, "--driver", str(own)]) == 0
    printed = capsys.readouterr().err
    assert "driver franka: measured on the link, so friction is not in the efforts" in printed
    assert "driver franka: no source confirmed state.gravity" in printed
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["error"]["validate"] < 0.02
