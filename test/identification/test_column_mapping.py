"""Logs of other forms: mapping files, and guesses of them."""

from __future__ import annotations

import numpy as np
import pytest
import simulated
import yaml
from test_logs import write_table

import robot_dynamics as rd
from robot_dynamics.cli.main import main
from robot_dynamics.errors import LogError
from robot_dynamics.identification.columns import columns_of, read_mapped
from robot_dynamics.identification.inspect_log import inspect_log
from robot_dynamics.identification.logs import read_log
from robot_dynamics.resources import resource

PUMA = resource("urdf/puma560.urdf")
DEGREE = np.pi / 180.0
COUPLED = np.array([[1.0, 0.0], [1.0, 1.0]])


@pytest.fixture(scope="module")
def chain():
    return rd.load_urdf(PUMA)


@pytest.fixture(scope="module")
def log(chain):
    true = simulated.parameters(chain, damping=1.0, friction=0.5)
    return simulated.simulated_log(chain, true, 3, 0.01, seconds=4.0)


def lines_of(rows, separator, before=()):
    return [*before, *(separator.join(f"{value:.12g}" for value in row) for row in rows)]


def mapping(chain, **signals):
    """A document in which joint j has the column number first + j of each signal."""
    return {
        "joints": {
            name: {kind: {**more, "column": first + j} for kind, (first, more) in signals.items()}
            for j, name in enumerate(chain.joint_names)
        }
    }


def test_units_signs_gains_and_reductions(chain, log):
    motors = -100.0 * (log.q - 0.2) / DEGREE  # [deg] of motors, mounted the other way round
    currents = log.effort / 11.5
    rows = np.column_stack([1e3 * log.time, motors, currents])
    document = {
        "rows": {"separator": "semicolon", "skip": 2, "header": False},
        "time": {"column": 1, "unit": "ms"},
        **mapping(
            chain,
            position=(2, {"unit": "deg", "sign": -1, "reduction": 100, "offset": 0.2}),
            effort=(8, {"unit": "A", "gain": 11.5}),
        ),
    }
    columns = columns_of(document, "columns.yaml", chain.joint_names)
    found = read_mapped(lines_of(rows, ";", ["made on Monday", ""]), columns, "log")
    np.testing.assert_allclose(found.time, log.time, atol=1e-9)
    np.testing.assert_allclose(found.q, log.q, atol=1e-9)
    np.testing.assert_allclose(found.effort, log.effort, atol=1e-8)
    assert np.isnan(found.qd).all()


def test_coupled_motors_have_the_power_of_their_joints(chain, log):
    coupling = np.eye(6)
    coupling[4:, 4:] = COUPLED
    inverse = np.linalg.inv(coupling)
    parts = [log.q @ inverse.T, log.qd @ inverse.T, log.effort @ coupling]
    document = {
        "rows": {"separator": "space", "header": False},
        "time": {"rate": 125},
        **mapping(chain, position=(1, {}), velocity=(7, {}), effort=(13, {})),
        "coupling": {"joints": list(chain.joint_names[4:]), "matrix": COUPLED.tolist()},
    }
    columns = columns_of(document, "columns.yaml", chain.joint_names)
    found = read_mapped(lines_of(np.column_stack(parts), "  "), columns, "log")
    for name in ("q", "qd", "effort"):
        np.testing.assert_allclose(getattr(found, name), getattr(log, name), atol=1e-8)
    power = np.sum(parts[1] * parts[2], axis=1)
    np.testing.assert_allclose(np.sum(found.qd * found.effort, axis=1), power, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": {}}, "time needs either a column or a rate"),
        ({"joints": {}}, "joints has no joint1"),
        ({"unit": "furlong"}, "joint1: position: unit is 'furlong'; choices are rad, deg"),
        ({"column": "???"}, "column is '???'; give its name"),
        ({"sign": 2}, "sign is 2; it must be 1 or -1"),
        ({"effort": "A"}, "joint1: effort: a value in A needs a gain"),
        ({"coupling": {"joints": ["joint5", "joint6"], "matrix": [[1, 1], [1, 1]]}}, "matrix is singular"),
        ({"coupling": {"joints": ["joint5"], "matrix": [[1, 1]]}}, "1 rows of 1 numbers"),
        ({"rows": {"separator": "pipe"}}, "separator is 'pipe'; choices are comma, semicolon, tab, space"),
        ({"colour": {}}, "unknown colour"),
    ],
)
def test_a_mapping_that_is_none_is_refused(change, message, chain):
    document = {"time": {"rate": 100}, **mapping(chain, position=(1, {}), effort=(7, {}))}
    signals = document["joints"]["joint1"]
    if "effort" in change:
        signals["effort"]["unit"] = change["effort"]
    elif change.keys() & {"unit", "column", "sign"}:
        signals["position"].update(change)
    else:
        document.update(change)
    with pytest.raises(LogError, match=message.replace("?", r"\?")):
        columns_of(document, "columns.yaml", chain.joint_names)


@pytest.mark.parametrize("named", [True, False])
def test_a_guess_of_a_log_is_read_as_the_log(named, chain, log):
    """Degrees, velocities in degrees, currents, garbage, a constant column, a last line cut off."""
    kinds = {"q": log.q / DEGREE * 10.0, "qd": log.qd / DEGREE * 10.0, "current": log.effort / 5.0}
    rows = np.column_stack([log.time, *kinds.values(), np.full(len(log.time), 7.0)])
    names = ["timestamp", *(f"actual_{kind}_{j}" for kind in kinds for j in range(6)), "status"]
    before = ["UR log", "2024-05-01", *(["\t".join(names)] if named else [])]
    lines = list(lines_of(rows, "\t", before))
    if not named:  # what a logger's memory had before its first row
        garbage = rows[[3, 9, 5]] * np.array([[0.0], [1e150], [-1e3]])
        lines[2:2] = lines_of(garbage, "\t")
    lines.append(lines[-1][:40])
    text = inspect_log(lines, chain, "log.txt")
    assert "# 500 rows of 20 columns." in text and "125 rows a second" in text
    assert f"Constant columns: {'status' if named else '20'}." in text
    guess = yaml.safe_load(text)
    assert guess["rows"] == {"separator": "tab", "skip": 2 if named else 5, "header": named}
    assert "Remove" not in text
    signals = guess["joints"]["joint2"]
    assert signals["position"]["unit"] == "deg" and signals["velocity"]["unit"] == "deg/s"
    if named:
        assert signals["effort"] == {"column": "actual_current_1", "unit": "A", "gain": "???"}
        with pytest.raises(LogError, match=r"gain is '\?\?\?'; it must be a number"):
            columns_of(guess, "columns.yaml", chain.joint_names)
    for joint in guess["joints"].values():
        joint["effort"].update(unit="A", gain=5.0)
        for kind in ("position", "velocity"):
            joint[kind]["reduction"] = 10
    found = read_mapped(lines, columns_of(guess, "it", chain.joint_names), "log.txt")
    for name in ("time", "q", "qd", "effort"):
        np.testing.assert_allclose(getattr(found, name), getattr(log, name), atol=1e-8)


def test_efforts_of_friction_are_no_velocities(chain, log):
    """They follow the velocity of each joint, by factors of their own."""
    velocity = np.gradient(log.q, log.time, axis=0)
    noise = np.random.default_rng(1).normal(size=velocity.shape) * velocity.std(axis=0)
    effort = (velocity + 0.3 * noise) * [40.0, 30.0, 20.0, 3.0, 2.0, 1.0]
    lines = list(lines_of(np.column_stack([log.time, log.q, effort]), ";"))
    signals = yaml.safe_load(inspect_log(lines, chain, "log.txt"))["joints"]
    assert [(s["position"]["column"], s["effort"]["column"]) for s in signals.values()] == [
        (2 + j, 8 + j) for j in range(6)
    ]
    assert not any("velocity" in joint for joint in signals.values())


def test_a_constant_column_between_those_of_the_joints(chain, log):
    """Efforts were unknown, or began with the velocity of the last joint."""
    voltage = np.full(len(log.time), 24.0)
    for parts in ((log.q, log.qd, voltage, log.effort), (log.q, voltage, log.qd, log.effort)):
        lines = list(lines_of(np.column_stack([log.time, *parts]), ","))
        text = inspect_log(lines, chain, "log.csv")
        found = read_mapped(lines, columns_of(yaml.safe_load(text), "it", chain.joint_names), "log.csv")
        np.testing.assert_allclose(found.effort, log.effort, atol=1e-8)
        assert "# Constant columns: " in text


def test_inspect_and_columns_on_the_command_line(chain, log, tmp_path, capsys):
    rows = np.column_stack([log.time, log.q, log.effort])
    names = ["time", *(f"{n}_pos" for n in chain.joint_names), *(f"{n}_torque" for n in chain.joint_names)]
    (tmp_path / "log.csv").write_text("\n".join(lines_of(rows, ",", [",".join(names)])), encoding="utf-8")
    mapped = str(tmp_path / "columns.yaml")
    assert main(["identify", str(PUMA), "--inspect", str(tmp_path / "log.csv")]) == 0
    assert "column: joint3_torque, unit: N.m" in capsys.readouterr().out
    assert main(["identify", str(PUMA), "--inspect", str(tmp_path / "log.csv"), "-o", mapped]) == 0
    (tmp_path / "short.csv").write_text(",".join(names) + "\n", encoding="utf-8")
    arguments = ["identify", str(PUMA), str(tmp_path / "short.csv"), "--columns", mapped]
    assert main([*arguments, "-o", str(tmp_path / "out")]) == 1
    assert "0 states; a run of 2 s at least is needed" in capsys.readouterr().err
    assert main(["identify", str(PUMA), "-o", str(tmp_path / "out")]) == 1
    assert "identify needs a RUN" in capsys.readouterr().err
    assert main(["identify", str(PUMA), "--inspect", mapped]) == 1
    assert "no two rows with the same number" in capsys.readouterr().err
    assert main(["identify", str(PUMA), "--inspect", str(tmp_path / "bag.db3")]) == 1
    assert "is a bag, whose joint states have names: give it as RUN" in capsys.readouterr().err


def test_joint_names_with_a_prefix(chain, log, tmp_path):
    write_table(tmp_path / "run.csv", log)
    text = (tmp_path / "run.csv").read_text(encoding="utf-8").replace("joint", "left_joint")
    (tmp_path / "run.csv").write_text(text, encoding="utf-8")
    found = read_log(str(tmp_path / "run.csv"), chain.joint_names)
    assert found.joint_names == chain.joint_names
    np.testing.assert_allclose(found.q, log.q, atol=1e-9)
