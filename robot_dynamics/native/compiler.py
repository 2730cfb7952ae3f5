"""The system's C compiler."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from robot_dynamics.errors import BackendError, quoted

# Nothing here loosens IEEE arithmetic: NaN and infinities propagate, sums keep their order. Products are
# fused with additions where the CPU can, which changes results by roundings only; codegen/lanes.h relies
# on it.
FLAGS = (
    "-fno-tree-slp-vectorize",
    "-ffp-contract=fast",
    "-fPIC",
    "-shared",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-w",
)
FOR_THIS_CPU = "-march=native"
TIME_LIMIT = 300.0
# Optimising takes time that grows faster than the program; beyond this size [characters] small code is asked
# for, which takes half the time and runs almost as fast.
LARGE_SOURCE = 500_000
# Beyond this size even that takes minutes, and less optimisation seconds.
VERY_LARGE_SOURCE = 1_500_000


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        command: how it is called.
        identity: changes whenever another compiler, or another version of it, is called that way.
    """

    command: tuple[str, ...]
    identity: str

    def compile(
        self, source: str, target: Path, folder: Path, extra: Sequence[str] = (), portable: bool = False
    ) -> None:
        """Compile ``source`` into the shared library ``target``.

        Args:
            source: C text.
            target: the library to write.
            folder: an existing private folder for the source.
            extra: further flags.
            portable: for every CPU of this architecture, not for this one alone.

        Raises:
            BackendError: the compiler cannot be run or refuses the source; its message is quoted.
        """
        text = folder / "kernel.c"
        text.write_text(source, encoding="utf-8")
        level = "-O2"
        if len(source) > LARGE_SOURCE:
            level = "-O1" if len(source) > VERY_LARGE_SOURCE else "-Os"
        attempts: list[tuple[str, ...]] = [(level, *FLAGS, FOR_THIS_CPU), (level, *FLAGS)][portable:]
        if sys.platform == "darwin":
            attempts = [(*flags, "-undefined", "dynamic_lookup") for flags in attempts]
        message = ""
        for flags in attempts:
            call = [*self.command, *flags, *extra, str(text), "-o", str(target), "-lm"]
            try:
                run = subprocess.run(
                    call,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=TIME_LIMIT,
                    check=False,
                    # Its temporary files go with the folder, however it ends.
                    env={**os.environ, "TMPDIR": str(folder)},
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise BackendError(f"the C compiler {shlex.join(self.command)} failed: {error}") from error
            if run.returncode == 0:
                return
            message = message or run.stderr.strip() or f"exit code {run.returncode}"
        raise BackendError(f"the C compiler {shlex.join(self.command)} failed:\n{message}")


def find_compiler() -> Compiler:
    """The compiler named by the environment variable CC, else cc, gcc or clang on the PATH, else ziglang's.

    Raises:
        BackendError: there is none.
    """
    try:
        named = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        wanted = quoted(os.environ["CC"])
        raise BackendError(f"the environment variable CC is no command: {wanted}: {error}") from error
    for command in [named] if named else [["cc"], ["gcc"], ["clang"]]:
        path = shutil.which(command[0])
        if path is not None:
            real = Path(path).resolve()
            status = real.stat()
            identity = f"{real} {status.st_size} {status.st_mtime_ns} {command[1:]}"
            return Compiler((path, *command[1:]), identity)
    if named:
        raise BackendError(f"the environment variable CC names {named[0]!r}, which is not an executable file")
    if find_spec("ziglang") is not None:
        return Compiler((sys.executable, "-m", "ziglang", "cc"), f"ziglang {version('ziglang')}")
    raise BackendError(
        "no C compiler: neither cc, gcc nor clang is on the PATH; install gcc, or `pip install ziglang`, or"
        " set the environment variable CC"
    )


@lru_cache(maxsize=1)
def cpu_identity() -> str:
    """Model and instruction sets of this CPU, on which compiled code depends."""
    lines = [platform.machine()]
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break
                if line.split(":")[0].strip() in ("model name", "flags", "Features", "CPU part"):
                    lines.append(line.strip())
    except OSError:
        # This may start a process, which takes longer than everything else that a load from the cache needs.
        lines.append(platform.processor())
    return "\n".join(lines)
