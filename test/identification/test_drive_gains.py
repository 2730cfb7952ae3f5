"""Gains of drives from runs with and without a known payload."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import simulated
from test_logs import write_table

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.identification import inertial
from robot_dynamics.identification.columns import read_columns, read_mapped
from robot_dynamics.identification.identify import identify
from robot_dynamics.identification.runs import Options
from robot_dynamics.resources import resource

pytestmark = pytest.mark.long

pytest.importorskip("scipy", reason="scipy is not installed")
PUMA = resource("urdf/puma560.urdf")
NOISE = np.array([1.0, 1.0, 0.5, 0.1, 0.1, 0.1])
GAINS = np.array([1.09, 0.88, 0.81, 1.16, 1.11, 0.93])
KNOWN = inertial.RigidBody(2.8, np.array([0.02, -0.01, 0.06]), 0.01 * np.eye(3))
QUICK = ["--cutoff", "10", "--delay", "0"]
OTHER = inertial.RigidBody(1.5, np.array([-0.03, 0.02, 0.05]), 0.004 * np.eye(3))


@pytest.fixture(scope="module")
def chain():
    return rd.load_urdf(PUMA)


@pytest.fixture(scope="module")
def runs(chain):
    """Runs without a payload, with a known one and with another; the currents' gains are not those said."""
    true = simulated.parameters(simulated.another(chain, 0), 0.1, 1.0, 1.0, 0.0, 0.06)
    logs = []
    for seed, payload in enumerate((None, KNOWN, OTHER)):
        parameters = true.copy()
        if payload is not None:
            carried = inertial.moved_parameters(chain.tip_transform) @ inertial.parameters_of(payload)
            parameters[50:60] += carried
        log = simulated.simulated_log(chain, parameters, 10 + seed, NOISE)
        logs.append(replace(log, effort=log.effort / GAINS))
    return true, logs


def test_gains_from_a_payload_of_which_the_mass_is_known(chain, runs, tmp_path, capsys):
    """They are as near as their deviations say, and a payload that was not used is found by them."""
    true, logs = runs
    for name, log in zip(("without", "with", "other"), logs, strict=True):
        write_table(tmp_path / f"{name}.csv", log)
    command = [
        "identify",
        str(PUMA),
        str(tmp_path / "without.csv"),
        "--gains",
        "-o",
        str(tmp_path / "found"),
        *QUICK,
    ]
    assert main([*command, "--loaded", str(tmp_path / "with.csv"), "--payload-mass", "2.8"]) == 0
    assert "times the gain as given (±" in capsys.readouterr().out
    columns = read_columns(str(tmp_path / "found" / "columns.yaml"), chain.joint_names)
    efforts = [joint["effort"] for joint in columns.joints.values()]
    factors, deviations = (np.array([getattr(e, name) for e in efforts]) for name in ("factor", "deviation"))
    assert np.all(np.abs(factors / GAINS - 1.0) < 4.0 * deviations)
    assert np.all(deviations < 0.03) and np.all(deviations[1:3] < 0.01)

    # The robot itself is known here, so that the payload's error is that of the gains.
    friction = ("rotor_inertia", "damping", "friction", "load_friction")
    drives = dict(zip(friction, ((value,) * 6 for value in (0.1, 1.0, 1.0, 0.06)), strict=True))
    robot = replace(
        chain,
        joints=tuple(
            replace(joint, body=inertial.body_of(true[10 * k : 10 * k + 10]))
            for k, joint in enumerate(chain.joints)
        ),
    )
    options = Options(payload=True, drives=rd.ActuatorParameters(**drives))
    raw = identify(robot, [logs[2]], options=options).payload.mass
    lines = (tmp_path / "other.csv").read_text(encoding="utf-8").splitlines()
    found = identify(robot, [read_mapped(lines, columns, "other")], options=options)
    deviation = found.knowledge.deviations[0]
    assert abs(raw / 1.5 - 1.0) > 0.1
    assert found.payload.mass == pytest.approx(1.5, rel=0.05)
    # The gains' deviations are part of the payload's.
    assert abs(found.payload.mass - 1.5) < 4.0 * deviation
    certain = replace(read_mapped(lines, columns, "other"), gain_deviation=np.zeros(6))
    assert identify(robot, [certain], options=options).knowledge.deviations[0] < 0.9 * deviation


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gains"], "--gains needs --payload-mass"),
        (["--loaded", "run.csv"], "are for --gains"),
        (["--gains", "--loaded", "run.csv", "--payload-mass", "1", "--static"], "cannot be combined"),
    ],
)
def test_options_that_do_not_fit(tmp_path, capsys, options, message):
    assert main(["identify", str(PUMA), "run.csv", "-o", str(tmp_path), *options]) == 1
    assert message in capsys.readouterr().err


def test_a_payload_that_is_not_mounted_is_refused(chain, runs, tmp_path, capsys):
    _, logs = runs
    for name, log in zip(("without", "with"), (logs[0], replace(logs[0], source="with")), strict=True):
        write_table(tmp_path / f"{name}.csv", log)
    command = [
        "identify",
        str(PUMA),
        str(tmp_path / "without.csv"),
        "--gains",
        "-o",
        str(tmp_path / "found"),
        *QUICK,
    ]
    command += ["--loaded", str(tmp_path / "with.csv"), "--payload-mass"]
    assert main([*command, "0"]) == 1
    assert "a known mass above 0" in capsys.readouterr().err
    assert main([*command, "2.8"]) == 1
    assert "is the payload of 2.8 kg" in capsys.readouterr().err
    assert not (tmp_path / "found" / "columns.yaml").exists()
