"""Builds in processes of their own: what is made, what is told of a failure, and what is left of it."""

import operator
import os
import subprocess
import sys
from functools import partial

import pytest
from patience import PATIENCE

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.errors import BackendError, ParameterError
from robot_dynamics.native import build_process, cache
from robot_dynamics.native.build_process import Builds, Interrupted
from robot_dynamics.resources import resource


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "robot_dynamics"


def no_process():
    raise AssertionError("a process was started")


def test_what_another_process_has_built_is_used_here_and_by_the_next(folder, monkeypatch):
    chain = load_urdf(resource("urdf/puma560.urdf"))
    dynamics = compile_dynamics(chain, gravity=(0.0, 0.1, -9.7), quantities=())
    prepare = partial(dynamics.prepare, ("gravity",))
    Builds().made(prepare, prepare)
    assert list(folder.glob("*.so"))
    zeros = [0.0] * chain.dof
    here = compile_dynamics(chain, gravity=(0.0, 0.1, -9.7), backend="python", quantities=("gravity",))
    assert dynamics.gravity(zeros) == pytest.approx(here.gravity(zeros), abs=1e-12)
    monkeypatch.setattr(build_process, "_start", no_process)
    again = compile_dynamics(chain, gravity=(0.0, 0.1, -9.7), quantities=())
    prepare = partial(again.prepare, ("gravity",))
    Builds().made(prepare, prepare)


def missing():
    """As an entry that is not in the cache."""
    raise cache.NotBuilt


def test_what_is_wrong_with_a_build_is_raised_here(folder):
    refused = partial(compile_dynamics, load_urdf(resource("urdf/puma560.urdf")), gravity=(1.0, 2.0))
    with pytest.raises(ParameterError, match="expected 3 finite numbers"):
        Builds().made(missing, refused)
    with pytest.raises(BackendError, match="cannot be built: ZeroDivisionError"):
        Builds().made(missing, partial(operator.truediv, 1, 0))
    with pytest.raises(BackendError, match="has ended with 3"):
        Builds().made(missing, partial(os._exit, 3))


def test_nothing_is_built_after_the_end_was_announced(folder, monkeypatch):
    builds = Builds()
    builds.stop()
    monkeypatch.setattr(build_process, "_start", no_process)
    with pytest.raises(Interrupted):
        builds.made(missing, missing)


def test_what_ended_processes_left_half_made_is_removed(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left, own, other = (
        tmp_path / name for name in (f".new_{int(ended.stdout)}_a", f".new_{os.getpid()}_b", "entry.so")
    )
    for path in (left, own, other):
        path.mkdir()
    cache.sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted((own, other))


@pytest.mark.parametrize("task", [b"", b"\x09", b"\x09\0\0\0\0\0\0\0half"])
def test_a_builder_whose_starter_was_killed_ends_without_a_word(task):
    words = [sys.executable, "-m", "robot_dynamics.native.builder"]
    ended = subprocess.run(words, input=task, capture_output=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
