"""Stops that are remembered in files: names, folders, contents, failures, and the order of writing."""

import errno
import hashlib
import json
import os
import threading
from pathlib import Path

import pytest

from robot_dynamics.control import stop_memory
from robot_dynamics.control.stop_memory import (
    StopMemory,
    StopParameters,
    StopState,
    read_state,
    state_file_name,
    state_folder,
    write_durably,
    write_state,
)
from robot_dynamics.errors import ParameterError
from robot_dynamics.parameters import describe

STATES = "released, stopped, parked, stranded, protected"


def test_folders_are_absolute_or_one_of_two_words():
    assert StopParameters().state_directory == ""
    for good in ("", "none", "/var/lib/robot"):
        assert StopParameters(state_directory=good).state_directory == good
    with pytest.raises(ParameterError) as found:
        StopParameters(state_directory="some/where")
    assert str(found.value) == (
        "parameter 'state_directory' is 'some/where': give an absolute path, '' or none"
    )


def test_the_folder_is_the_chosen_one_or_the_first_that_the_environment_gives(monkeypatch):
    places = {"XDG_STATE_HOME": "/xdg", "ROS_HOME": "/ros"}
    assert state_folder("none", places) is None
    assert state_folder("/chosen", places) == Path("/chosen")
    assert state_folder("", places) == Path("/xdg/robot_dynamics")
    assert state_folder("", {"ROS_HOME": "/ros"}) == Path("/ros/robot_dynamics")
    assert state_folder("", {**places, "XDG_STATE_HOME": "relative"}) == Path("/ros/robot_dynamics")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert state_folder("", {}) == Path("/home/me/.local/state/robot_dynamics")

    def none():
        raise RuntimeError

    monkeypatch.setattr(Path, "home", none)
    with pytest.raises(ParameterError) as found:
        state_folder("", {})
    assert str(found.value) == "there is no home directory for the state file: give 'state_directory'"


def test_names_of_files_are_readable_and_differ():
    def expected(domain, node, robot):
        return hashlib.sha256(json.dumps([domain, node, robot]).encode()).hexdigest()[:16]

    name = state_file_name(7, "/arms/left", "ur5 (old)")
    assert name == f"7_arms_left_ur5_old-{expected(7, '/arms/left', 'ur5 (old)')}.json"
    long = state_file_name(0, "/" + "n" * 100, "r")
    assert long == f"0_{'n' * 78}-{expected(0, '/' + 'n' * 100, 'r')}.json"
    assert state_file_name(0, "/a_b", "c") != state_file_name(0, "/a", "b_c")


@pytest.mark.parametrize("state", [state for state in StopState if state is not StopState.RELEASED])
def test_a_state_is_read_as_it_was_written_and_a_released_robot_has_no_file(state, tmp_path):
    file = tmp_path / "a" / "b" / "file.json"
    assert read_state(file) is StopState.RELEASED
    write_state(file, state)
    assert file.read_text() == f'{{"state": "{state.value}"}}\n'
    assert read_state(file) is state
    assert [one.name for one in file.parent.iterdir()] == ["file.json"]
    write_state(file, StopState.RELEASED)
    assert not file.exists() and read_state(file) is StopState.RELEASED
    write_state(file, StopState.RELEASED)


def test_a_folder_that_somebody_else_makes_at_the_same_time_is_used(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    usual, seen = Path.is_dir, [False]
    monkeypatch.setattr(Path, "is_dir", lambda self: seen.pop() if seen else usual(self))
    write_state(tmp_path / "a" / "file.json", StopState.PARKED)
    assert read_state(tmp_path / "a" / "file.json") is StopState.PARKED


def test_the_folder_cannot_be_changed_while_the_controller_runs():
    assert [described.read_only for described in describe(StopParameters)] == [True]


def test_folders_that_are_made_can_be_read_by_all_and_written_by_the_owner(tmp_path):
    old = os.umask(0)
    try:
        write_state(tmp_path / "a" / "b" / "file.json", StopState.PARKED)
    finally:
        os.umask(old)
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        assert folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "content",
    [
        '{"state": "asleep"}',
        "{}",
        "[]",
        "7",
        "not json",
        '{"state": ["parked"]}',
        "[" * 3000,
        '{"state": null}',
    ],
)
def test_a_file_with_another_content_is_refused(content, tmp_path):
    file = tmp_path / "file.json"
    file.write_text(content)
    with pytest.raises(ParameterError) as found:
        read_state(file)
    assert str(found.value) == f"the state file {file} has no 'state' that is one of {STATES}"
    memory = StopMemory(file)
    assert memory.state is StopState.STOPPED and memory.failure == str(found.value)
    memory.close()


def test_files_that_are_too_large_or_cannot_be_reached_are_refused(tmp_path):
    file = tmp_path / "file.json"
    text = '{"state": "parked"}'
    file.write_text(text + " " * (4096 - len(text)))
    assert read_state(file) is StopState.PARKED
    file.write_text(text + " " * (4097 - len(text)))
    with pytest.raises(ParameterError):
        read_state(file)
    with pytest.raises(ParameterError) as found:
        read_state(file / "below")
    assert str(found.value) == f"cannot read the state file {file / 'below'}: Not a directory"
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ParameterError):  # a link that leads nowhere is no missing file
        read_state(link)


def test_a_file_that_cannot_be_written_is_as_before_and_leaves_no_draft(tmp_path, monkeypatch):
    file = tmp_path / "file.json"
    write_state(file, StopState.PARKED)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_durably(file, "something else")
    assert read_state(file) is StopState.PARKED
    assert [one.name for one in tmp_path.iterdir()] == ["file.json"]


def test_a_file_is_on_the_disk_before_it_replaces_the_old_one_and_its_folder_after(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, Path.replace

    def synced(descriptor):
        events.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def replaced(self, target):
        events.append(f"{self.name} -> {target.name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    draft, file = f".file.json.{os.getpid()}", tmp_path / "made" / "file.json"
    write_state(file, StopState.STOPPED)
    assert events == [tmp_path.name, draft, f"{draft} -> file.json", "made"]
    events.clear()
    write_state(file, StopState.RELEASED)
    assert events == ["made"]
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(3):
        write_state(file, StopState.STOPPED)
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before


def test_a_memory_without_a_file_is_that_of_the_process():
    memory = StopMemory(None)
    assert (memory.state, memory.failure, memory.written) == (StopState.RELEASED, "", True)
    memory.remember(StopState.PARKED)
    assert memory.state is StopState.PARKED and memory.written
    memory.close()


def test_the_last_of_several_states_is_in_the_file_and_the_next_process_has_it(tmp_path):
    file = tmp_path / "file.json"
    memory = StopMemory(file)
    assert (memory.state, memory.failure, memory.written) == (StopState.RELEASED, "", True)
    for state in (StopState.STOPPED, StopState.PARKED, StopState.STRANDED):
        memory.remember(state)
    assert memory.state is StopState.STRANDED
    memory.close()
    assert memory.written and memory.failure == "" and read_state(file) is StopState.STRANDED
    again = StopMemory(file)
    assert again.state is StopState.STRANDED
    again.close()


def test_states_are_written_one_after_the_other_in_a_thread(tmp_path, monkeypatch):
    go, calls = threading.Event(), []

    def slow(file, state):
        assert go.wait(10.0)
        calls.append((state, threading.current_thread().name))

    monkeypatch.setattr(stop_memory, "write_state", slow)
    memory = StopMemory(tmp_path / "file.json")
    memory.remember(StopState.RELEASED)
    assert memory.written  # that is what it remembers already
    memory.remember(StopState.STOPPED)
    memory.remember(StopState.PARKED)
    assert not memory.written
    go.set()
    memory.close()
    assert memory.written
    assert calls == [(StopState.STOPPED, "stop_memory_0"), (StopState.PARKED, "stop_memory_0")]


def test_failures_of_writing_are_told_until_one_succeeds(tmp_path, monkeypatch):
    failing = [OSError(errno.EROFS, "Read-only file system"), OSError("gone"), None]

    def write(file, state):
        error = failing.pop(0)
        if error is not None:
            raise error

    monkeypatch.setattr(stop_memory, "write_state", write)
    told, file = [], tmp_path / "file.json"
    memory = StopMemory(file)
    for state in (StopState.STOPPED, StopState.PARKED, StopState.STOPPED):
        memory.remember(state)
        memory._last.result()
        told.append(memory.failure)
    assert told == [
        f"cannot write the state file {file}: Read-only file system",
        f"cannot write the state file {file}: gone",
        "",
    ]
    memory.close()


def test_a_folder_that_is_none_is_told_at_once(tmp_path):
    (tmp_path / "plain").write_text("")
    memory = StopMemory(tmp_path / "plain" / "file.json")
    assert memory.state is StopState.STOPPED and "Not a directory" in memory.failure
    memory.close()


def test_a_folder_in_which_no_file_can_be_made_is_told_before_anything_is_remembered():
    memory = StopMemory(Path("/proc/nowhere/file.json"))
    assert memory.state is StopState.RELEASED
    assert memory.failure.startswith("cannot write to '/proc/nowhere': ")
    memory.close()
