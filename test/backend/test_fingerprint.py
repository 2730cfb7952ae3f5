"""A cached program is discarded if, and only if, something that takes part in generating it changes."""

import ast
import shutil
from pathlib import Path

import pytest

import robot_dynamics
from robot_dynamics.native.fingerprint import digest_of, imports_of, sources_of

PACKAGE = Path(robot_dynamics.__file__).parent
LOADING = "robot_dynamics.native.loading"
ARM = ("robot_dynamics.dynamics.programs", LOADING)
PLATFORM = ("robot_dynamics.stewart.program", LOADING)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package whose files may be changed."""
    folder = tmp_path_factory.mktemp("copy") / "robot_dynamics"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def changed(copy, path, modules):
    """True if the fingerprint notices another comment in a file."""
    before, text = digest_of(modules, copy), (copy / path).read_bytes()
    (copy / path).write_bytes(text + b"\n// another\n")
    try:
        return digest_of(modules, copy) != before
    finally:
        (copy / path).write_bytes(text)


@pytest.mark.long
def test_a_change_in_any_source_of_generated_code_is_noticed(copy):
    for modules in (ARM, PLATFORM):
        for path in sources_of(modules, copy):
            assert changed(copy, path, modules), path


@pytest.mark.parametrize(
    "path",
    [
        "spatial.py",
        "errors.py",
        "codegen/expression.py",
        "codegen/lanes.h",
        "codegen/emit_lanes.py",
        "codegen/emit_python.py",
        "dynamics/serial_model.py",
        "dynamics/generator/recursion.py",
        "dynamics/quantities/mass_matrix.py",
        "model/chain.py",
        "native/compiler.py",
    ],
)
def test_what_arms_depend_on(copy, path):
    assert changed(copy, path, ARM)


@pytest.mark.parametrize(
    "path",
    [
        "__init__.py",
        "ros/robot_model.py",
        "view/visuals.py",
        "cli/main.py",
        "control/spline.py",
        "stewart/program.py",
        "dynamics/languages/c.py",
        "dynamics/formulations/craig.py",
    ],
)
def test_what_arms_do_not_depend_on(copy, path):
    assert not changed(copy, path, ARM)


def test_what_platforms_depend_on(copy):
    assert changed(copy, "stewart/exact_model.py", PLATFORM) and changed(copy, "spatial.py", PLATFORM)
    assert not changed(copy, "dynamics/generator/recursion.py", PLATFORM)
    assert not changed(copy, "ros/stewart_platform.py", PLATFORM)


def test_a_new_import_brings_its_module_in(copy):
    path = copy / "spatial.py"
    text = path.read_bytes()
    path.write_bytes(
        text + b"\ndef later():\n    from robot_dynamics.view import (\n        labels,\n    )\n"
    )
    try:
        assert changed(copy, "view/labels.py", ARM)
    finally:
        path.write_bytes(text)
    assert not changed(copy, "view/labels.py", ARM)


@pytest.mark.long
def test_imports_are_found_as_the_parser_finds_them():
    overlooked = {}
    for path in PACKAGE.rglob("*.py"):
        expected = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                expected |= {(a.name, None) for a in node.names if a.name.split(".")[0] == "robot_dynamics"}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}"
                if node.module.split(".")[0] == "robot_dynamics":
                    expected |= {(node.module, alias.name) for alias in node.names}
        found = {(m, member) for m, members in imports_of(path.read_bytes()) for member in [None, *members]}
        if expected - found:
            overlooked[path] = expected - found
    assert overlooked == {}
