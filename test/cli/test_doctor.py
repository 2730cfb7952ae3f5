"""``robot_dynamics doctor`` reports what is there and what is missing, a line each, with the remedy."""

from __future__ import annotations

import resource

import pytest

from robot_dynamics.cli import doctor
from robot_dynamics.cli.main import main
from robot_dynamics.extras import EXTRAS, install_command
from robot_dynamics.native import compiler
from robot_dynamics.resources import resource as shipped


def lines(capsys, *arguments):
    code = main(["doctor", *map(str, arguments)])
    found = {}
    said = capsys.readouterr()
    assert "tip" not in said.err  # the chain has its line in the table
    for line in said.out.splitlines():
        assert line[:6].strip() in ("ok", "note", "FAULT")
        found.setdefault(line[6:24].strip(), []).append((line[:6].strip(), line[24:]))
    return code, found


def test_every_part_has_a_line_and_the_chain_is_the_one_that_commands_take(capsys):
    code, found = lines(capsys, shipped("urdf/puma560.urdf"))
    assert code == 0, found
    assert found["C compiler"] == [("ok", " ".join(compiler.find_compiler().command))]
    assert found["control core"] == [("ok", "in C")]
    (chain,) = found["chain"]
    assert chain[0] == "ok" and "root world, tip link6, 6 joints: joint1" in chain[1]
    assert {text.split(":")[0] for _, text in found["optional"]} == {*EXTRAS.values()} - {"ros"}


def test_a_description_that_cannot_be_used_is_a_fault(capsys, tmp_path):
    broken = tmp_path / "broken.urdf"
    broken.write_text("<robot")
    code, found = lines(capsys, broken)
    assert code == 1
    ((state, text),) = found["chain"]
    assert state == "FAULT" and "not well-formed XML" in text


def test_a_missing_compiler_is_a_fault_with_its_remedy(capsys, monkeypatch):
    monkeypatch.setenv("CC", "no_such_compiler")
    code, found = lines(capsys)
    ((state, text),) = found["C compiler"]
    assert code == 1 and state == "FAULT" and "'no_such_compiler'" in text


@pytest.fixture
def another_middleware():
    """Look anew at what rclpy loads, in the test and after it."""
    doctor._middleware.cache_clear()
    yield
    doctor._middleware.cache_clear()


def test_a_missing_middleware_is_a_fault_with_its_remedy(capsys, monkeypatch, another_middleware):
    """rcl ends the process that loads it."""
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_of_nobody_cpp")
    code, found = lines(capsys)
    ((state, text),) = found["ROS 2"]
    assert code == 1 and state == "FAULT"
    assert "unset that variable, or install ros-$ROS_DISTRO-rmw-of-nobody-cpp" in text
    assert found["control thread"] == [("note", "needs ROS 2")] and found["optional"]


@pytest.mark.parametrize("module", ["mujoco", "viser", "xacro", "cvxpy"])
def test_a_missing_package_is_a_note_with_the_command_that_installs_it(module, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == module else object())
    ((_, text),) = [line for line in doctor._extras() if line[0] == "note"]
    extra = doctor.MODULES[module]
    assert text == f"{extra}: without {module}; install with {install_command(extra)}"


def test_without_ros_the_library_works_and_the_line_says_how_to_get_ros(
    capsys, tmp_path, monkeypatch, another_middleware
):
    (tmp_path / "rclpy.py").write_text("raise ImportError('no library of rcl')")
    monkeypatch.syspath_prepend(tmp_path)
    code, found = lines(capsys)
    ((state, text),) = found["ROS 2"]
    assert code == 0 and state == "note"
    assert "no library of rcl" in text and install_command("ros") in text
    assert found["control thread"] == [("note", "needs ROS 2")]


@pytest.mark.parametrize(
    ("limit", "capable", "state"), [(0, False, "note"), (0, True, "ok"), (98, False, "ok")]
)
def test_real_time_rights_come_from_the_limit_or_the_capability(limit, capable, state, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, limit))
    monkeypatch.setattr(doctor, "_capable", lambda bit: capable)
    assert doctor._rights()[0] == state
