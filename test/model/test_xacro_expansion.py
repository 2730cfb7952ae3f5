"""Expansion of xacro files without xacro: what the program answers, and what is said of its answers."""

import io
import json
import signal
import subprocess
import sys
import types

import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.model import expand, expander
from robot_dynamics.model.expand import expand_xacro, is_xacro


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text("<robot/>")
    return path


@pytest.fixture
def ended(monkeypatch):
    """Gives the program an end: an exception, or its output and its code."""

    def give(output, code=0):
        calls = []

        def run(command, **options):
            calls.append((command, options))
            if isinstance(output, Exception):
                raise output
            return subprocess.CompletedProcess(command, code, json.dumps(output))

        monkeypatch.setattr(expand.subprocess, "run", run)
        return calls

    return give


def test_a_xacro_file_is_known_by_its_name(file):
    assert is_xacro(file) and not is_xacro(file.with_name("xacro.urdf"))


def test_the_program_is_asked_with_arguments_and_limits(file, ended):
    calls = ended({"text": "<robot name='r'/>", "asked": ["a", "b"]})
    assert expand_xacro(file, {"a": "1"}) == "<robot name='r'/>"
    ((command, options),) = calls
    assert command == [sys.executable, "-m", "robot_dynamics.model.expander"]
    assert json.loads(options["input"]) == [str(file), {"a": "1"}, 30, 4 * 2**30]
    assert (options["timeout"], options["text"], options["check"]) == (300.0, True, False)
    assert options["stdout"] == subprocess.PIPE and options["env"]
    assert expand_xacro(file) == "<robot name='r'/>"


FAILS = "xacro does not understand {path}: "
EXPIRED = subprocess.TimeoutExpired("python", 300.0)


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        ({"error": "line 3: no"}, 0, FAILS + "line 3: no"),
        (EXPIRED, 0, FAILS + "it is not done after 300 s"),
        ({}, -signal.SIGXCPU, FAILS + "it is not done after 30 s of processor time"),
        ({}, -signal.SIGKILL, FAILS + "it is not done after 30 s of processor time"),
        ({}, -signal.SIGSEGV, FAILS + "Python ended over it, with code -11"),
        ({}, 1, FAILS + "Python ended over it, with code 1"),
        (
            OSError(2, "No such file"), 0,
            f"arm.urdf.xacro needs {sys.executable} to expand it: No such file",
        ),
        (
            {"error": expander.NOT_INSTALLED}, 0,
            f"arm.urdf.xacro needs xacro, which is not installed: {sys.executable} -m pip install xacro, or"
            " the package ros-$ROS_DISTRO-xacro",
        ),
    ],
)  # fmt: skip
def test_what_the_program_cannot_do_is_told(file, ended, output, code, said):
    ended(output, code)
    with pytest.raises(ModelError) as refused:
        expand_xacro(file)
    assert str(refused.value) == said.format(path=file)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["speed", "prefix", "suffix"], "arm.urdf.xacro has no argument 'prefx'; did you mean prefix?"),
        (["speed", "rate"], "arm.urdf.xacro has no argument 'prefx'; it has speed, rate"),
        ([], "arm.urdf.xacro has no argument 'prefx'; it has none"),
    ],
)
def test_an_argument_that_is_never_asked_for_is_refused(file, ended, asked, said):
    ended({"text": "<robot/>", "asked": asked})
    with pytest.raises(ModelError) as refused:
        expand_xacro(file, {"prefx": "left"})
    assert str(refused.value) == said


def test_a_missing_file_is_refused_before_anything_runs(tmp_path, ended):
    calls = ended({})
    with pytest.raises(ModelError, match="no such xacro file"):
        expand_xacro(tmp_path / "missing.xacro")
    assert calls == []


class Failure(Exception):
    """An error of xacro, which carries the one that it stands for."""

    def __init__(self, text, exc):
        super().__init__(text)
        self.exc = exc


@pytest.fixture
def program(monkeypatch):
    """Runs the program with a xacro of the test's, and without its limits."""

    def run(process_file, given=("a.xacro", {"side": "left"}, 7, 2**20)):
        xacro = None if process_file is None else types.SimpleNamespace(process_file=process_file)
        monkeypatch.setitem(sys.modules, "xacro", xacro)
        limits = []
        monkeypatch.setattr(expander.resource, "setrlimit", lambda *limit: limits.append(limit))
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(given)))
        output, errors = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", output)
        monkeypatch.setattr(sys, "stderr", errors)
        expander.main()
        resource = expander.resource
        assert limits == [(resource.RLIMIT_CPU, (7, 7)), (resource.RLIMIT_AS, (2**20, 2**20))]
        return json.loads(output.getvalue()), errors.getvalue()

    return run


def test_the_program_writes_the_text_and_the_names_it_asked_for(program):
    def process(path, mappings):
        print("a note of xacro's")
        assert path == "a.xacro" and "width" not in mappings and mappings["side"] == "left"
        assert "side" in mappings
        return types.SimpleNamespace(toxml=lambda: "<robot/>")

    answer, errors = program(process)
    assert answer == {"text": "<robot/>", "asked": ["side", "width"]}
    assert errors == "a note of xacro's\n"


def test_names_that_are_read_without_asking_count_as_asked_for(program):
    def process(path, mappings):
        return types.SimpleNamespace(toxml=lambda: mappings["side"])

    assert program(process)[0] == {"text": "left", "asked": ["side"]}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("of two\n   lines"), "of two lines"),
        (ValueError(), "ValueError"),
        (Failure("unknown macro", KeyError()), "unknown macro: KeyError"),
        (Failure("unknown macro", KeyError("x")), "unknown macro"),
        (Failure("", IndexError()), "IndexError"),
        (ValueError("x" * 301), "x" * 300),
        (Failure("x" * 301, KeyError()), "x" * 300 + ": KeyError"),
    ],
)
def test_errors_of_xacro_are_told_in_a_line(program, error, said):
    def process(path, mappings):
        raise error

    assert program(process)[0] == {"error": said}


def test_a_missing_xacro_is_told(program):
    assert program(None)[0] == {"error": "xacro is not installed"}
