"""Programs in C for tests, run under the compiler's sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from patience import PATIENCE

from robot_dynamics.native.compiler import find_compiler

FLAGS = ("-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Fences, which ThreadSanitizer does not know, order atomic values here and nothing else.
THREADS = ("-fsanitize=thread", "-pthread", "-Wno-tsan", "-Wno-unknown-warning-option")


def output_of(
    program: Path, sources: Sequence[Path], given: bytes = b"", sanitizers: Sequence[str] = SANITIZERS
) -> str:
    """Output of a program that the sanitizers find nothing wrong with; skips where the compiler has none.

    Args:
        program: the file to make.
        sources: of it; headers lie beside them.
        given: what it reads.
        sanitizers: the compiler's options for them.
    """
    folders = dict.fromkeys(f"-I{source.parent}" for source in sources)
    files = [*map(str, sources), "-o", str(program), "-lm"]
    call = [*find_compiler().command, *FLAGS, *sanitizers, *folders, *files]
    build = subprocess.run(call, capture_output=True, text=True)
    if build.returncode and "san" in build.stderr and "cannot find" in build.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert build.returncode == 0, build.stderr
    run = subprocess.run([str(program)], input=given, capture_output=True, timeout=PATIENCE)
    if b"unexpected memory mapping" in run.stderr:  # ThreadSanitizer on a kernel that it does not know
        pytest.skip("the compiler has no sanitizers")
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode()
