"""Files with long tests come first in every worker's share: a pytest plugin for pytest-xdist's worksteal."""

from __future__ import annotations

import os
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


def arrange(files: list[tuple[float, list]], workers: int) -> list:
    """Tests in the order in which each worker begins with its part of the long files.

    Idle workers steal from the end of another's queue, so that what is long must not stand there.
    Tests of one long file stay together, because they share fixtures.
    """
    sizes = shares(sum(len(tests) for _, tests in files), workers)
    queues: list[list] = [[] for _ in sizes]
    loads = [0.0] * workers
    for seconds, tests in sorted((file for file in files if file[0]), key=lambda file: -file[0]):
        fitting = [k for k in range(workers) if len(queues[k]) + len(tests) <= sizes[k]]
        if not fitting:
            return [test for _, tests in files for test in tests]
        queue = min(fitting, key=lambda k: loads[k])
        queues[queue] += tests
        loads[queue] += seconds
    others = iter([test for seconds, tests in files if not seconds for test in tests])
    for queue, size in zip(queues, sizes, strict=True):
        queue += [next(others) for _ in range(size - len(queue))]
    return [test for queue in queues for test in queue]


@pytest.hookimpl(trylast=True)  # After the choice by marks: the shares are counted.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, in workers of pytest-xdist only."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        known = {TESTS / name: seconds for name, seconds in SECONDS.items()}
        files = [(known.get(path, 0.0), list(tests)) for path, tests in groupby(items, lambda i: i.path)]
        items[:] = arrange(files, workers)
