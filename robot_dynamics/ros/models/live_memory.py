"""Live values of a node that outlast its process for a moment: a respawn goes on with them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter

from robot_dynamics.control.stop_memory import NO_FILE, state_file_name, state_folder, write_durably
from robot_dynamics.errors import ParameterError, RobotDynamicsError, quoted
from robot_dynamics.inputs.files import read_bytes

LONGEST = 60.0
"""Time after the end of a process for which its live values are kept [s]."""
SIGN_OF_LIFE = 5.0
"""Time between two marks on the file that the process lives [s]."""
MAX_BYTES = 100_000
"""Size of the largest file."""


class LiveMemory:
    """Keeps parameters that were set live, for the next process of the same node.

    They are kept for ``LONGEST`` after the end of the process, if the next one starts with the same values as
    the one before. Otherwise the values of the start count, and a warning names the difference.

    Args:
        node: whose parameters, declared already.
        names: of the parameters that are kept.
        used: whether anything is to be kept: not in lockstep, where a run can be repeated.
    """

    def __init__(self, node: Node, names: Sequence[str], used: bool = True) -> None:
        self._node = node
        self._names = [name for name in names if node.has_parameter(name)]
        self._start = self._values()
        # Live values of the process before whose parameters are not declared yet, and with what it started.
        self._pending: tuple[dict[str, Any], dict[str, Any]] = {}, {}
        self._file = _file_of(node) if used else None
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live_memory")
        if self._file is None:
            return
        self._restore(self._file)
        node.add_post_set_parameters_callback(self._on_set)
        node.create_timer(SIGN_OF_LIFE, self._live, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def add(self, names: Sequence[str]) -> None:
        """Keep further parameters, which are declared now, and take over what the process before had."""
        new = [name for name in names if name not in self._names and self._node.has_parameter(name)]
        if self._file is None or not new:
            return
        self._names += new
        own = {name: value for name, value in self._values().items() if name in new}
        self._start |= own
        start, live = ({name: kept[name] for name in new if name in kept} for kept in self._pending)
        other = {name: value for name, value in live.items() if value != own[name]}
        if other and start == own:
            self._take(other)
        elif other:
            self._decline(_shown(other), "this process starts with other values than the one before")

    def forget(self) -> None:
        """Drop what was set live: a rule of supervision has tripped with it. The next process says so."""
        if self._file is not None:
            live = {name: value for name, value in self._values().items() if value != self._start[name]}
            text = json.dumps({"start": self._start, "live": live, "tripped": True})
            self._pool.submit(*((self._write, self._file, text) if live else (_remove, self._file)))

    def _values(self) -> dict[str, Any]:
        found = {}
        for name in self._names:
            value = self._node.get_parameter_or(name, Parameter(name)).value
            found[name] = list(value) if hasattr(value, "__iter__") and not isinstance(value, str) else value
        return found

    def _on_set(self, parameters: list[Parameter]) -> None:
        if self._file is not None and any(parameter.name in self._names for parameter in parameters):
            start, live = self._pending
            text = json.dumps({"start": {**start, **self._start}, "live": {**live, **self._values()}})
            self._pool.submit(self._write, self._file, text)

    def _write(self, file: Path, text: str) -> None:
        try:
            write_durably(file, text)
        except OSError as error:
            self._node.get_logger().warning(
                f"live values are lost when the process ends: cannot write {file}: {error.strerror or error}"
            )

    def _live(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.utime(self._file)

    def _restore(self, file: Path) -> None:
        """Take over what the process before was given live, or say why not."""
        try:
            age = time.time() - file.stat().st_mtime
            start, live, tripped = _read(file)
        except FileNotFoundError:
            return
        except (OSError, RobotDynamicsError) as error:
            self._node.get_logger().warning(f"the start's values count: cannot read {file}: {error}")
            return
        other = {name: value for name, value in live.items() if value != self._start.get(name, value)}
        later = [{n: value for n, value in kept.items() if n not in self._names} for kept in (start, live)]
        if not other and later[0] == later[1]:
            return
        if tripped:
            self._decline(_shown({**other, **later[1]}), "it tripped a rule of supervision with them")
        elif {name: value for name, value in start.items() if name in self._names} != self._start:
            if other:
                self._decline(_shown(other), "this process starts with other values than the one before")
        elif not -LONGEST <= age <= LONGEST:
            self._decline(_shown({**other, **later[1]}), f"the process before ended {age:.0f} s ago")
        else:
            self._pending = later[0], later[1]
            if other:
                self._take(other)

    def _take(self, values: Mapping[str, Any]) -> None:
        """Set what the process before was given live."""
        result = self._node.set_parameters_atomically(
            [Parameter(name, value=value) for name, value in values.items()]
        )
        if result.successful:
            self._node.get_logger().warning(
                f"kept from the process before, which was given it live: {_shown(values)}"
            )
        else:
            self._decline(_shown(values), f"they are refused now: {result.reason}")

    def _decline(self, shown: str, reason: str) -> None:
        self._node.get_logger().warning(
            f"the process before was given live: {shown}; the start's values count, because {reason}"
        )
        if self._file is not None:
            self._pool.submit(_remove, self._file)


def _shown(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {quoted(value)}" for name, value in values.items())


def _file_of(node: Node) -> Path | None:
    """File of a node's live values; None where there is no place for it."""
    chosen = node.get_parameter("state_directory").value if node.has_parameter("state_directory") else ""
    try:
        folder = state_folder(chosen or "")
    except ParameterError:
        return None
    if folder is None or chosen == NO_FILE:
        return None
    domain = int(node.context.get_domain_id())
    return folder / f"live_{state_file_name(domain, node.get_fully_qualified_name(), 'live values')}"


def _read(file: Path) -> tuple[Mapping[str, Any], Mapping[str, Any], bool]:
    """Values of the start and live ones, and whether a rule of supervision tripped with them."""
    try:
        content = json.loads(read_bytes(file, "file of live values", ParameterError, MAX_BYTES))
        start, live, tripped = content["start"], content["live"], bool(content.get("tripped"))
        if not (isinstance(start, dict) and isinstance(live, dict)):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ParameterError("it holds no live values") from None
    return start, live, tripped


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
