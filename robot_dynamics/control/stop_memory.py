"""Stops that outlast the controller, the process and the computer: one small file per robot."""

from __future__ import annotations

import contextlib
import enum
import hashlib
import json
import os
import re
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from robot_dynamics.errors import ParameterError, RobotDynamicsError, quoted
from robot_dynamics.inputs.files import check_folder, read_bytes
from robot_dynamics.parameters import parameter, validate

NO_FILE = "none"
"""Value of ``state_directory``: stops are remembered only as long as the process lives."""
MAX_BYTES = 4096
"""Size of the largest state file."""
LONGEST_SLUG = 80
"""Readable characters of a file's name; the rest is a hash."""


class StopState(enum.Enum):
    """States in which a robot is kept at rest."""

    RELEASED = "released"
    STOPPED = "stopped"
    PARKED = "parked"
    STRANDED = "stranded"
    PROTECTED = "protected"


@dataclass(frozen=True)
class StopParameters:
    """Place where stops are remembered."""

    state_directory: str = parameter(
        "",
        "Folder of the file that remembers stops; empty: robot_dynamics in $XDG_STATE_HOME, $ROS_HOME or"
        " ~/.local/state; none: no file, stops are forgotten when the process ends",
        read_only=True,
    )

    def __post_init__(self) -> None:
        validate(self)
        folder = self.state_directory
        if folder not in ("", NO_FILE) and not Path(folder).is_absolute():
            raise ParameterError(
                f"parameter 'state_directory' is {quoted(folder)}: give an absolute path, '' or {NO_FILE}"
            )


def state_folder(chosen: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of state files.

    Args:
        chosen: value of ``state_directory``.
        environment: variables of the process.

    Returns:
        The folder, which need not exist; None where no file is wanted.

    Raises:
        ParameterError: nothing is chosen, and there is no home directory.
    """
    if chosen == NO_FILE:
        return None
    if chosen:
        return Path(chosen)
    for name in ("XDG_STATE_HOME", "ROS_HOME"):
        base = Path(environment.get(name, ""))
        if base.is_absolute():
            return base / "robot_dynamics"
    try:
        return Path.home() / ".local" / "state" / "robot_dynamics"
    except RuntimeError:
        raise ParameterError(
            "there is no home directory for the state file: give 'state_directory'"
        ) from None


def state_file_name(domain: int, node: str, robot: str) -> str:
    """Name of the state file of one robot.

    Args:
        domain: ROS domain.
        node: name of the controller's node with its namespace.
        robot: its name.
    """
    identity = json.dumps([domain, node, robot])
    slug = re.sub(r"[^A-Za-z0-9]+", "_", f"{domain} {node} {robot}").strip("_")[:LONGEST_SLUG]
    return f"{slug}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def read_state(path: Path) -> StopState:
    """The state in a file; released where there is none.

    Raises:
        ParameterError: the file cannot be read, or holds something else. Take the robot to be stopped.
    """
    try:
        os.lstat(path)
    except FileNotFoundError:
        return StopState.RELEASED
    except OSError as error:
        raise ParameterError(f"cannot read the state file {path}: {error.strerror}") from None
    content = read_bytes(path, "state file", ParameterError, MAX_BYTES)
    try:
        return StopState(json.loads(content)["state"])
    except (ValueError, KeyError, TypeError, RecursionError):
        states = ", ".join(state.value for state in StopState)
        raise ParameterError(f"the state file {path} has no 'state' that is one of {states}") from None


def write_state(path: Path, state: StopState) -> None:
    """Write a state such that it is on the disk when this returns; a released robot has no file.

    Raises:
        OSError: it cannot be written. The file is as before.
    """
    if state is StopState.RELEASED:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            _sync(path.parent)
        return
    write_durably(path, json.dumps({"state": state.value}) + "\n")


def write_durably(path: Path, text: str) -> None:
    """Write a small file such that it is on the disk when this returns.

    Raises:
        OSError: it cannot be written. The file is as before.
    """
    _make_folder(path.parent)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    _sync(path.parent)


def _make_folder(folder: Path) -> None:
    """Make a folder that outlasts a loss of power."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o755, exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class StopMemory:
    """Remembers how one robot is kept at rest, in this process and in a file.

    Files are written in a thread, in the order of the calls.

    Args:
        file: of the robot; None: this process alone remembers.

    Attributes:
        state: that is remembered.
        failure: why the file could not be read or written; empty where it could.
    """

    def __init__(self, file: Path | None) -> None:
        self.state, self.failure = StopState.RELEASED, ""
        self._file = file
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stop_memory")
        self._last: Future[None] | None = None
        if file is None:
            return
        try:
            self.state = read_state(file)
        except RobotDynamicsError as error:
            self.state, self.failure = StopState.STOPPED, str(error)
            return
        try:
            check_folder(file.parent)
        except RobotDynamicsError as error:
            self.failure = str(error)

    @property
    def written(self) -> bool:
        """Check whether everything that was remembered is on the disk, or has failed."""
        return self._last is None or self._last.done()

    def remember(self, state: StopState) -> None:
        """Remember a state; :attr:`written` tells when it is on the disk."""
        if state is self.state:
            return
        self.state = state
        if self._file is not None:
            self._last = self._pool.submit(self._write, self._file, state)

    def close(self) -> None:
        """Wait until everything is written."""
        self._pool.shutdown(wait=True)

    def _write(self, file: Path, state: StopState) -> None:
        try:
            write_state(file, state)
            self.failure = ""
        except OSError as error:
            self.failure = f"cannot write the state file {file}: {error.strerror or error}"
