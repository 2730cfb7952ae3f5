"""Executed files come only from places that nobody else can write to."""

import grp
import logging
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from robot_dynamics.native import cache


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """A cache folder of this test's own; pytest's folders lie under one that only this user can write to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache._folder.cache_clear()
    yield
    cache._folder.cache_clear()


@pytest.fixture
def wanted(tmp_path):
    return tmp_path / "cache" / "robot_dynamics"


class Builder:
    """Writes a known content and counts how often it is asked to."""

    def __init__(self, data=b"some\ncode"):
        self.data = data
        self.calls = 0

    def __call__(self, target, folder):
        self.calls += 1
        assert folder.is_dir()
        target.write_bytes(self.data)


def test_an_entry_is_made_once(wanted):
    build = Builder()
    first = cache.cached("key", ".x", build)
    assert first == cache.cached("key", ".x", build)
    assert first.parent == wanted and cache.content(first) == build.data and build.calls == 1
    assert wanted.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in wanted.iterdir()] == [first.name]


def test_another_key_is_another_entry():
    build = Builder()
    assert cache.cached("one", ".x", build) != cache.cached("two", ".x", build)
    assert build.calls == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b"X" + path.read_bytes()[1:]),
        lambda path: path.chmod(0o777),
        lambda path: (path.rename(path.with_suffix(".y")), path.symlink_to(path.with_suffix(".y"))),
    ],
    ids=["empty", "truncated", "altered", "writable", "link"],
)
def test_a_damaged_entry_is_made_again(damage):
    build = Builder()
    path = cache.cached("key", ".x", build)
    damage(path)
    assert cache.content(cache.cached("key", ".x", build)) == build.data
    assert build.calls == 2 and path.is_file() and not path.is_symlink()


def test_a_folder_that_others_can_write_to_is_refused(wanted, caplog):
    wanted.mkdir(parents=True)
    wanted.chmod(0o777)
    planted = cache.cached("key", ".x", Builder())
    assert planted.parent != wanted and list(wanted.iterdir()) == []
    assert planted.parent.stat().st_mode & 0o777 == 0o700
    assert "others can write" in caplog.text and str(wanted) in caplog.text


def test_a_folder_below_one_that_others_can_write_to_is_refused(wanted, caplog):
    wanted.mkdir(parents=True, mode=0o700)
    wanted.parent.chmod(0o777)
    assert cache.cached("key", ".x", Builder()).parent != wanted
    assert "others can write" in caplog.text


def test_a_group_of_ones_own_is_no_other(wanted, monkeypatch):
    wanted.mkdir(parents=True, mode=0o700)
    wanted.parent.chmod(0o775)
    name = pwd.getpwuid(os.getuid()).pw_name
    members = {"own": (name, []), "shared": (name, ["somebody"]), "other": ("staff", [])}
    for kind, (group, others) in members.items():
        entry = grp.struct_group((group, "x", 4711, others))
        monkeypatch.setattr(grp, "getgrgid", lambda number, entry=entry: entry)
        assert (cache.objection(wanted) is None) == (kind == "own")


def test_every_folder_that_is_made_is_private(wanted):
    previous = os.umask(0o002)
    try:
        cache.cached("key", ".x", Builder())
    finally:
        os.umask(previous)
    assert [folder.stat().st_mode & 0o777 for folder in (wanted, wanted.parent)] == [0o700, 0o700]


def test_a_folder_of_another_user_is_refused(wanted, monkeypatch):
    wanted.mkdir(parents=True, mode=0o700)
    assert cache.objection(wanted) is None
    monkeypatch.setattr(os, "getuid", lambda: wanted.stat().st_uid + 1)
    assert "belongs to user" in cache.objection(wanted)


def test_a_link_to_an_unsafe_folder_is_refused(wanted, tmp_path, caplog):
    unsafe = tmp_path / "unsafe"
    unsafe.mkdir()
    unsafe.chmod(0o777)
    wanted.parent.mkdir()
    wanted.symlink_to(unsafe)
    assert cache.cached("key", ".x", Builder()).parent not in (wanted, unsafe)
    assert list(unsafe.iterdir()) == []


def test_a_place_that_cannot_be_made_is_replaced(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache.cached("key", ".x", Builder()).is_file()
    assert "is not used" in caplog.text


def test_a_relative_cache_home_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cached("key", ".x", Builder()).parent == tmp_path / ".cache" / "robot_dynamics"


def test_entries_unused_for_longest_are_forgotten(wanted, monkeypatch):
    monkeypatch.setattr(cache, "_MOST_ENTRIES", 3)
    paths = []
    for age, key in zip((400, 300, 200, 100, 0), "abcde", strict=True):
        paths.append(cache.cached(key, ".x", Builder()))
        time = paths[-1].stat().st_mtime - age
        os.utime(paths[-1], (time, time))
    assert [path.is_file() for path in paths] == [False, False, True, True, True]


def test_a_failing_build_leaves_nothing_behind(wanted):
    def fail(target, folder):
        target.write_bytes(b"half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cache.cached("key", ".x", fail)
    assert list(wanted.iterdir()) == []


FIRST_USE = """
import sys
from pathlib import Path
import numpy as np
from random_arms import random_chain
from robot_dynamics import compile_dynamics
chain = random_chain(np.random.default_rng(1), 3)
print("ready", flush=True)
sys.stdin.readline()
dynamics = compile_dynamics(chain, backend="c")
q = np.arange(1.0, 4.0)
print(dynamics.inverse_dynamics(q, q, q).tobytes().hex())
"""


@pytest.mark.long
def test_processes_may_meet_in_the_same_empty_cache(wanted, caplog):
    caplog.set_level(logging.DEBUG)
    folder = str(Path(__file__).parent)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST_USE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": folder},
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    results = {process.communicate(timeout=PATIENCE)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(results) == 1
    assert all(path.suffix == ".so" for path in wanted.iterdir())
