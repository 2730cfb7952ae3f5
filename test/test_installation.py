"""The package is found, and offers what to install: from every folder, without a package index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import robot_dynamics as rd
from robot_dynamics import extras
from robot_dynamics.resources import resource

CLONE = Path(rd.__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("robot_dynamics")
FOLDERS = ("above", "inside", "elsewhere")


@pytest.fixture(params=FOLDERS)
def folder(request, tmp_path):
    """A folder to start in; ``above`` holds a clone of the package's name, as Python sees it from there."""
    if request.param == "inside":
        return CLONE
    if request.param == "above":
        (tmp_path / "robot_dynamics").symlink_to(CLONE)
    return tmp_path


def python(folder: Path, *arguments: object) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_library_is_imported_in_every_folder(folder):
    told = python(folder, "-c", "import robot_dynamics as rd; print(rd.compile_dynamics, rd.__file__)")
    assert "function compile_dynamics" in told
    assert told.strip().endswith("__init__.py")


def test_commands_start_in_every_folder(folder):
    puma = resource("urdf/puma560.urdf")
    assert "joint6" in python(folder, "-m", "robot_dynamics.cli.main", "dh", puma)


def test_the_installed_program_starts_above_a_clone(tmp_path):
    (tmp_path / "robot_dynamics").symlink_to(CLONE)
    assert "joint6" in python(tmp_path, PROGRAM, "dh", resource("urdf/puma560.urdf"))


@pytest.mark.parametrize("extra", sorted({*extras.EXTRAS.values()}))
def test_every_offered_extra_is_declared_and_has_requirements(extra):
    assert extra in metadata.metadata(extras.PACKAGE).get_all("Provides-Extra")
    assert extras.requirements(extra)


def test_a_clone_is_named_by_its_path_and_a_copy_by_its_requirements(monkeypatch, tmp_path):
    assert extras.install_command("view").endswith(f"-m pip install -e '{CLONE}[view]'")
    monkeypatch.setattr(extras, "CLONE", tmp_path)
    offered = extras.install_command("view", "simulation")
    assert all(f"'{name}<" in offered for name in ("viser", "mujoco", "xacro"))
    assert "robot_dynamics[" not in offered


def test_no_text_offers_the_package_from_an_index():
    pattern = re.compile(r"pip install[^\n`]*?(?<![./\w])['\"]?robot_dynamics\[")
    files = [*CLONE.glob("*.md"), *CLONE.glob("docs/**/*.md"), *CLONE.glob("robot_dynamics/**/*.py")]
    assert [str(path) for path in files if pattern.search(path.read_text(encoding="utf-8"))] == []
