"""Files with long tests come first in every worker's share: a pytest plugin for pytest-xdist's worksteal."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SECONDS = {
    "ros_live/test_view_command.py": 60,
    "papers/test_evidence.py": 50,
    "ros_model/test_following.py": 50,
    "ros_demo/test_demo.py": 40,
    "stewart/test_stewart_report.py": 40,
    "ros_live/test_sending.py": 35,
    "backend/test_benchmark.py": 30,
    "ros_live/test_play.py": 25,
    "controllers/test_controller_package.py": 25,
    "ros_stewart/test_stewart_hanging.py": 25,
    "ros_stewart/test_stewart_operation.py": 20,
}
"""Approximate durations of the longest files, by their path in this repository's tests [s]."""


def shares(count: int, workers: int) -> list[int]:
    """Numbers of tests that each worker has at the beginning, as the scheduler cuts them."""
    sizes = []
    for left in range(workers, 0, -1):
        sizes.append(count // left)
        count -= sizes[-1]
    return sizes


@dataclass(frozen=True)
class File:
    """A file's tests, what they approximately take [s], and whether most of that is waiting for nodes."""

    tests: list
    seconds: float = 0.0
    waits: bool = False


def arrange(files: list[File], workers: int) -> list:
    """Tests in the order in which each worker begins with its part of the long files.

    Files that wait begin in every second worker, those that compute in the others: the cores are busy
    all the time. Idle workers steal from the end of another's queue, so that what is long must not
    stand there. Tests of one long file stay together, because they share fixtures.
    """
    sizes = shares(sum(len(file.tests) for file in files), workers)
    queues: list[list] = [[] for _ in sizes]
    loads = [0.0] * workers
    for file in sorted((file for file in files if file.seconds), key=lambda file: -file.seconds):
        fitting = [k for k in range(workers) if len(queues[k]) + len(file.tests) <= sizes[k]]
        if not fitting:
            return [test for file in files for test in file.tests]
        queue = min(fitting, key=lambda k: (k % 2 == file.waits, loads[k]))
        queues[queue] += file.tests
        loads[queue] += file.seconds
    others = iter([test for file in files if not file.seconds for test in file.tests])
    for queue, size in zip(queues, sizes, strict=True):
        queue += [next(others) for _ in range(size - len(queue))]
    return [test for queue in queues for test in queue]


def described(path: Path, tests: list) -> File:
    """Tests of a file; those of nodes take a second each where nothing else is known."""
    name = path.relative_to(TESTS).as_posix() if TESTS in path.parents else ""
    waits = name.startswith("ros_")
    return File(tests, SECONDS.get(name, float(len(tests)) if waits else 0.0), waits)


@pytest.hookimpl(trylast=True)  # After the choice by marks: the shares are counted.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, in workers of pytest-xdist only."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        files = [described(path, list(tests)) for path, tests in groupby(items, lambda i: i.path)]
        items[:] = arrange(files, workers)
