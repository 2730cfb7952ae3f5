"""Nodes as processes that are forked from a server which has imported rclpy and the nodes' modules.

Half of the processor time of a node that a test starts is the import of the same modules. Each node is a
process of its own all the same, and ends as ``python -m`` does.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

from patience import PATIENCE

from robot_dynamics.interrupts import end_quietly_at_sigint

OWN = ("LD_PRELOAD", "PYTHONMALLOC", "PYTHONDEVMODE", "PYTHONFAULTHANDLER", "PYTHONWARNINGS")
"""Variables that count when an interpreter begins."""
_DIES_WITH_PARENT = 1


def can_fork(variables: Mapping[str, str]) -> bool:
    """True if a process in this environment can do without an interpreter that begins anew."""
    own = any(variables.get(name, "") != os.environ.get(name, "") for name in OWN)
    return not own and not _thread_is_on_another_host()


def _thread_is_on_another_host() -> bool:
    """True if this thread has joined a network namespace that the server, and what it forks, is not in."""
    of_thread, of_process = (Path(f"/proc/{who}/ns/net") for who in ("thread-self", "self"))
    return of_thread.exists() and of_thread.readlink() != of_process.readlink()


class ForkedProcess:
    """Part of ``subprocess.Popen`` that a node's starter needs."""

    def __init__(self, module: str, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
        _start_server()
        here, there = multiprocessing.Pipe(duplex=False)
        # Closed by the node when signals reach it: the server that it is forked from ignores SIGINT.
        self._begun, begins = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.get_context("forkserver").Process(
            target=_run, args=(module, list(arguments), dict(variables), str(Path.cwd()), there, begins)
        )
        self._process.start()
        there.close()
        begins.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.stdout = os.fdopen(os.dup(here.fileno()), encoding="utf-8", errors="replace")
        here.close()

    def poll(self) -> int | None:
        """The exit code; None while the process lives."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; subprocess.TimeoutExpired when the process does not end."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to a process that lives."""
        if self._begun.poll(PATIENCE) and self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@lru_cache(maxsize=1)
def _start_server() -> None:
    """Start the server of this process, which finds the module that it is to import by PYTHONPATH alone."""
    before = os.environ.get("PYTHONPATH")
    multiprocessing.set_forkserver_preload(["warm_nodes"])
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *([before] if before else [])])
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _run(
    module: str,
    arguments: list[str],
    variables: dict[str, str],
    folder: str,
    output: Connection,
    begins: Connection,
) -> None:
    """The node's process: ``python -m MODULE ARGUMENTS``."""
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGINT)
    sys.orig_argv[:] = ["python", "-m", module]
    end_quietly_at_sigint("robot_dynamics.ros", 0)  # as importing the module would
    begins.close()
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.path[:0] = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    output.close()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, write_through=True)
    sys.argv = [module, *arguments]
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    # As an interpreter ends, not as multiprocessing ends one: modules and libraries see it.
    ctypes.pythonapi.Py_Exit(code if isinstance(code, int) else int(code is not None))
