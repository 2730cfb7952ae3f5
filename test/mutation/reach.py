"""Lines of the core that each test reaches: only those tests can notice a fault there.

The core's library counts with gcov, and a plugin of pytest reads the counts after each test. What a fixture
of a module or of the session reaches counts for each test that uses it.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KEPT = 4
"""Measurements that are kept of a file of tests: those of the last states of it and of the package."""


@dataclass(frozen=True)
class Reached:
    """A test without a fault.

    Attributes:
        name: for pytest.
        seconds: that it takes.
        lines: that it reaches, a bit for each number; None: it failed with the counts, or none were taken.
    """

    name: str
    seconds: float
    lines: int | None

    def reaches(self, line: int | None) -> bool:
        """True where it may notice a fault in a line; None: a fault outside of functions."""
        return self.lines is not None and (line is None or bool(self.lines >> line & 1))


class Numbering:
    """Numbers of the lines of all sources.

    Args:
        root: of the repository.
        sources: relative to it.
    """

    def __init__(self, root: Path, sources: Sequence[Path]) -> None:
        self._first, count = {}, 0
        for source in sources:
            self._first[source] = count
            count += (root / source).read_text(encoding="utf-8").count("\n") + 2
        self._names = {source.as_posix(): source for source in sources}

    def number(self, source: Path, line: int) -> int:
        """Number of a line, which counts from 1."""
        return self._first[source] + line

    def source(self, path: str) -> Path | None:
        """Source of a path that gcov names; None for headers."""
        return next((source for name, source in self._names.items() if path.endswith(name)), None)

    def counted(self, source: Path, line: int, executable: int) -> int | None:
        """Number of the last line up to this one that has a count; None where the function begins later."""
        for at in range(line, 0, -1):
            if executable >> self.number(source, at) & 1:
                return self.number(source, at)
        return None


class Coverage:
    """The core's library that counts, and its counts.

    Args:
        library: made of objects that count.
        numbering: of the lines.
    """

    def __init__(self, library: Path, numbering: Numbering) -> None:
        self.library, self._folder, self._numbering = library, library.parent, numbering
        self._loaded: ctypes.CDLL | None = None
        self.executable = 0

    def take(self) -> int:
        """Lines that ran since the last call, a bit for each."""
        if self._loaded is None:
            if str(self.library) not in Path("/proc/self/maps").read_text(encoding="utf-8"):
                return 0  # no test here has used it yet
            self._loaded = ctypes.CDLL(str(self.library))
        for old in self._folder.glob("*.gcda"):
            old.unlink()
        self._loaded.rd_coverage_dump()
        data = sorted(self._folder.glob("*.gcda"))
        call = ["gcov", "--json-format", "--stdout", *(file.name for file in data)]
        printed = subprocess.run(call, cwd=self._folder, capture_output=True, text=True, check=True).stdout
        ran = 0
        for text in printed.splitlines():
            for file in json.loads(text)["files"] if text.startswith("{") else ():
                source = self._numbering.source(file["file"])
                for line in file["lines"] if source is not None else ():
                    bit = 1 << self._numbering.number(source, line["line_number"])
                    self.executable |= bit
                    ran |= bit if line["count"] else 0
        return ran

    def forget(self) -> None:
        """Start counting."""
        if self._loaded is not None:
            self._loaded.rd_coverage_reset()


class Recorder:
    """The plugin: lines of each test, and of fixtures that several tests share."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._shared: dict[tuple[str, str], int] = {}
        self._now = 0
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self.found: dict[str, Reached] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        self._now |= self._coverage.take()
        result = yield
        self._shared[fixturedef.argname, fixturedef.baseid] = self._coverage.take()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Iterator[None]:
        self._coverage.forget()
        self._now = 0
        result = yield
        lines = self._now | self._coverage.take()
        for name, definitions in item._fixtureinfo.name2fixturedefs.items():
            for definition in definitions:
                lines |= self._shared.get((name, definition.baseid), 0)
        name, seconds = item.nodeid, self._seconds.get(item.nodeid, 0.0)
        self.found[name] = Reached(name, seconds, None if name in self._failed else lines)
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self._failed.add(report.nodeid)


class Memory:
    """Measurements of earlier runs, one file for each file of tests and each state of the package.

    Args:
        folder: of the results.
        root: of the repository.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        digest = hashlib.sha256(sys.version.encode())
        package = root / "robot_dynamics"
        for path in sorted([*package.rglob("*.*"), *(root / "test").rglob("*.*")]):
            own = path.name.startswith("test_") or path.parent.name == "mutation"
            above = path.is_relative_to(package / "ros")  # the tests measured here run no nodes
            if path.suffix in (".py", ".c", ".h") and not own and not above:
                digest.update(path.read_bytes())
        self._folder, self._root, self._digest = folder, root, digest
        folder.mkdir(parents=True, exist_ok=True)

    def _place(self, test: str) -> Path:
        own = self._digest.copy()
        own.update((self._root / test).read_bytes())
        return self._folder / f"{Path(test).stem}_{own.hexdigest()[:24]}.json"

    def recall(self, test: str) -> tuple[int, dict[str, Reached]] | None:
        """Lines that can run, and the tests of a file; None: it has not been measured."""
        place = self._place(test)
        if not place.is_file():
            return None
        executable, tests = json.loads(place.read_text(encoding="utf-8"))
        found = (
            Reached(name, seconds, None if lines is None else int(lines, 16))
            for name, seconds, lines in tests
        )
        return int(executable, 16), {one.name: one for one in found}

    def keep(self, test: str, executable: int, found: Iterable[Reached]) -> None:
        """Keep what was measured of a file's tests."""
        tests = [(one.name, one.seconds, None if one.lines is None else f"{one.lines:x}") for one in found]
        place = self._place(test)
        unfinished = place.with_suffix(".part")
        unfinished.write_text(json.dumps([f"{executable:x}", tests]), encoding="utf-8")
        unfinished.replace(place)
        kept = sorted(self._folder.glob(f"{Path(test).stem}_*.json"), key=lambda file: file.stat().st_mtime)
        for old in kept[:-KEPT]:
            old.unlink(missing_ok=True)
