"""Two hosts on one machine: network namespaces that end with the test, and a cable between them."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import cable

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000
NEEDED = ("ip", "unshare", "nsenter", "setpriv")
"""Programs of iproute2 and util-linux."""


def impossible() -> str:
    """Reason for which this computer allows no network namespaces with a cable; empty: it allows them."""
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    if not os.access(cable.TUN, os.R_OK | os.W_OK):
        return f"{cable.TUN} cannot be opened"
    tried = subprocess.run(["unshare", "--net", "ip", "link"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "unshare --net is not permitted"


def join(namespace: str) -> None:
    """Move the calling thread into a network namespace; what it starts and opens from now on is there."""
    with Path(namespace).open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot join {namespace}")


class Host:
    """A network namespace with one interface; it exists as long as this object's process.

    Args:
        address: of its interface, in a network of 24 bits.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        # The namespace goes with the process, and the process with the test, however that ends.
        command = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "unshare",
            "--net",
            "sh",
            "-c",
            "echo; exec sleep 100000",
        ]
        self._keeper = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._keeper.stdout is not None
        self._keeper.stdout.readline()
        self.namespace = f"/proc/{self._keeper.pid}/ns/net"
        # One thread for all: nodes end with the thread that has started them.
        self._thread = ThreadPoolExecutor(1, initializer=join, initargs=(self.namespace,))

    def close(self) -> None:
        """End the namespace."""
        self._thread.shutdown()
        self._keeper.kill()
        self._keeper.wait()
        if self._keeper.stdout is not None:
            self._keeper.stdout.close()

    def set_up(self) -> None:
        """Give the interface, which the cable has made, its address."""
        for command in (
            "link set lo up",
            f"address add {self.address}/24 dev {cable.DEVICE}",
            f"link set {cable.DEVICE} up multicast on",
            f"route add 224.0.0.0/4 dev {cable.DEVICE}",
        ):
            subprocess.run(["nsenter", f"--net={self.namespace}", "ip", *command.split()], check=True)

    def run(self, function: Callable[[], T]) -> T:
        """Call a function on this host; processes that it starts live no longer than the host."""
        return self._thread.submit(function).result()


class Cable:
    """The process that carries packets between two hosts."""

    def __init__(self, one: Host, other: Host) -> None:
        command = [sys.executable, cable.__file__, one.namespace, other.namespace]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        one.set_up()
        other.set_up()

    def be(self, **faults: float) -> None:
        """Have these faults from now on and no others: ``delay`` and ``jitter`` [s], ``loss`` as a share."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(faults) + "\n")

    def close(self) -> None:
        """Pull it out."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextlib.contextmanager
def two_hosts() -> Iterator[tuple[Host, Host, Cable]]:
    """Two hosts and the cable between them."""
    with contextlib.ExitStack() as stack:
        one, other = Host("10.231.77.1"), Host("10.231.77.2")
        stack.callback(one.close)
        stack.callback(other.close)
        wire = Cable(one, other)
        stack.callback(wire.close)
        yield one, other, wire
