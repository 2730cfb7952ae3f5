"""Tests that reach each function of the C sources: only those can notice a fault there.

The sources of a copy get a mark at the beginning of each function, in a file that processes share. As a
plugin of pytest this module reads the marks after each test. What a fixture of a module or of the session
reaches counts for each test that uses it. A test that fails with the marks counts for all functions.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

Measure = Callable[[Sequence[str]], "list[Reached]"]
MARKS, REPORT = "RD_REACH_MARKS", "RD_REACH_REPORT"
MOST = 4096
_PRELUDE = """#ifndef RD_REACH_HERE
#define RD_REACH_HERE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
static void rd_reach(int function)
{
    static unsigned char unseen[MOST], *marks;
    if (!marks) {
        const char *name = getenv("MARKS");
        const int file = name ? open(name, O_RDWR) : -1;
        void *place = file < 0 ? MAP_FAILED : mmap(0, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        marks = place == MAP_FAILED ? unseen : place;
    }
    marks[function] = 1;
}
#endif
""".replace("MOST", str(MOST)).replace("MARKS", MARKS)
_BODY = re.compile(r"^\{$", re.MULTILINE)


@dataclass(frozen=True)
class Reached:
    """A test without a fault.

    Attributes:
        name: for pytest.
        seconds: that it takes.
        functions: that it reaches, by number; None: it may reach all.
    """

    name: str
    seconds: float
    functions: frozenset[int] | None

    def may_reach(self, function: int | None) -> bool:
        """True where it may notice a fault in a function; None: a fault outside of functions."""
        return self.functions is None or function is None or function in self.functions


class Functions:
    """Functions of C sources, by number.

    Args:
        root: of the repository.
        sources: relative to it.
    """

    def __init__(self, root: Path, sources: Sequence[Path]) -> None:
        texts = {source: (root / source).read_text(encoding="utf-8") for source in sources}
        self._begins = {source: [m.start() for m in _BODY.finditer(text)] for source, text in texts.items()}

    def _numbered(self, source: Path) -> int:
        """Number of the first function of a source."""
        names = list(self._begins)
        return sum(len(self._begins[name]) for name in names[: names.index(source)])

    def around(self, source: Path, offset: int) -> int | None:
        """Number of the function that contains an offset; None outside."""
        before = [k for k, begin in enumerate(self._begins[source]) if begin <= offset]
        return self._numbered(source) + before[-1] if before else None

    def mark(self, copy: Path) -> None:
        """Write the marks into a copy of the repository."""
        for source in self._begins:
            number = iter(range(self._numbered(source), MOST))
            text = (copy / source).read_text(encoding="utf-8")
            marked = _BODY.sub(lambda _, number=number: f"{{ rd_reach({next(number)});", text)
            (copy / source).write_text(_PRELUDE + marked, encoding="utf-8")


def measure(copy: Path, tests: Sequence[str], marks: str, processes: int) -> list[Reached]:
    """Run tests in a copy with marks, each file in one of so many processes."""
    running = []
    for k in range(processes):
        report, file = copy / f"reach_{k}.json", copy / f"reach_{k}.marks"
        file.write_bytes(bytes(MOST))
        environment = os.environ | {
            MARKS: str(file),
            REPORT: str(report),
            "XDG_CACHE_HOME": str(copy / f"cache_{k}"),
        }
        environment["PYTHONPATH"] = os.pathsep.join((str(copy), str(Path(__file__).parent)))
        options = ("-q", "-p", "no:cacheprovider", "-p", "reach", "-m", marks)
        command = [sys.executable, "-m", "pytest", *options, *tests[k::processes]]
        output = (copy / f"reach_{k}.log").open("w")
        running.append((subprocess.Popen(command, cwd=copy, env=environment, stdout=output), report, command))
    found: list[Reached] = []
    for process, report, command in running:
        process.wait()
        if not report.is_file():
            raise RuntimeError(f"no test was measured: {shlex.join(command)}")
        for name, (seconds, functions) in json.loads(report.read_text()).items():
            found.append(Reached(name, seconds, None if functions is None else frozenset(functions)))
    return found


def remembered(
    folder: Path,
    root: Path,
    sources: Sequence[Path],
    tests: Sequence[str],
    run: Measure,
) -> list[Reached]:
    """Tests that ``run`` measures, or that it has measured before for the same package and file of tests.

    Args:
        folder: of the results, one file for each file of tests.
        root: of the repository.
        sources: whose functions are marked.
        tests: files, relative to ``root``.
        run: measures the tests of some of the files.
    """
    digest = hashlib.sha256(repr((sys.version, sources)).encode())
    for path in sorted([*(root / "robot_dynamics").rglob("*.*"), *(root / "test").rglob("*.*")]):
        if path.suffix in (".py", ".c", ".h") and not path.name.startswith("test_"):
            digest.update(path.read_bytes())

    def place(test: str) -> Path:
        own = digest.copy()
        own.update((root / test).read_bytes())
        return folder / f"{Path(test).stem}_{own.hexdigest()[:24]}.json"

    missing = [test for test in tests if not place(test).is_file()]
    measured = run(missing) if missing else []
    folder.mkdir(parents=True, exist_ok=True)
    for test in missing:
        of_file = [asdict(one) for one in measured if one.name.partition("::")[0] == test]
        place(test).write_text(json.dumps(of_file, default=sorted), encoding="utf-8")
    found: list[Reached] = []
    for test in tests:
        for one in json.loads(place(test).read_text(encoding="utf-8")):
            functions = one["functions"]
            found.append(
                Reached(one["name"], one["seconds"], None if functions is None else frozenset(functions))
            )
    return found


class Recorder:
    """The plugin: marks of each test, and of fixtures that several tests share."""

    def __init__(self, marks: Path, report: Path) -> None:
        self._file = marks.open("r+b")
        self._marks = mmap.mmap(self._file.fileno(), MOST)
        self._report = report
        self._shared: dict[tuple[str, str], set[int]] = {}
        self._tests: dict[str, tuple[float, list[int] | None]] = {}
        self._now: set[int] = set()
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def _take(self) -> set[int]:
        """Functions that are marked; the marks are cleared."""
        found = {k for k, mark in enumerate(self._marks[:]) if mark}
        self._marks[:] = bytes(MOST)
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        self._now |= self._take()
        result = yield
        found = self._take()
        if fixturedef.scope == "function":
            self._now |= found
        else:
            self._shared[fixturedef.argname, fixturedef.baseid] = found
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Iterator[None]:
        self._take()
        self._now = set()
        result = yield
        found = self._now | self._take()
        for name, definitions in item._fixtureinfo.name2fixturedefs.items():
            for definition in definitions:
                found |= self._shared.get((name, definition.baseid), set())
        name, seconds = item.nodeid, self._seconds.get(item.nodeid, 0.0)
        self._tests[name] = (seconds, None if name in self._failed else sorted(found))
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._report.write_text(json.dumps(self._tests))


def pytest_configure(config: Any) -> None:
    """Register the plugin where :func:`measure` has asked for it."""
    if REPORT in os.environ:
        config.pluginmanager.register(Recorder(Path(os.environ[MARKS]), Path(os.environ[REPORT])))
