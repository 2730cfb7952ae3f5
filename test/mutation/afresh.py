"""Judge faults in Python modules: a process that forks for each, and imports the package in the fork.

It runs in a copy of the repository, which it changes. It has imported what the tests need of other packages,
so that a fork imports only the package. Standard input and output are those of forked.py.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from children import conversation, in_child
from orders import Orders, in_order, patience, unmeasured
from places import Places, imports
from reach import Memory, Numbering, Reached, Recorder

FIRST = 3
"""Files of tests that run first: to collect all files takes longer than most tests."""


class PythonCoverage:
    """Lines of the package that ran, by the tracer of coverage.py.

    Args:
        root: of the repository.
        numbering: of the lines.
    """

    def __init__(self, root: Path, numbering: Numbering) -> None:
        from coverage import Coverage

        self._root, self._numbering = root, numbering
        self._coverage = Coverage(
            data_file=None, config_file=False, include=[f"{root}/robot_dynamics/*"], messages=False
        )
        self._coverage.start()
        self._data: dict[str, set[int]] = self._coverage._collector.data
        self.executable = 0

    def take(self) -> int:
        """Lines that ran since the last call, a bit for each."""
        ran = 0
        for name, lines in list(self._data.items()):
            source = self._numbering.source(name) if lines else None
            if source is not None:
                for line in list(lines):
                    ran |= 1 << self._numbering.number(source, line)
            lines.clear()
        self.executable |= ran
        return ran

    def forget(self) -> None:
        """Start counting."""
        self.take()


@dataclass(eq=False)
class Chosen:
    """The plugin that runs tests of a list in its order, and tells the first that fails.

    Attributes:
        names: of tests.
        failed: the first that failed.
    """

    names: Sequence[str]
    failed: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {name: k for k, name in enumerate(self.names)}
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = f"the collection of {report.nodeid}"


class ImportJudge:
    """Forks that import the package and run tests.

    Args:
        orders: what to do.
    """

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._root = Path.cwd()
        modules = sorted(
            path.relative_to(self._root) for path in (self._root / "robot_dynamics").rglob("*.py")
        )
        self._numbering = Numbering(self._root, modules)
        self._places = Places(self._root, modules)
        self._memory = Memory(Path(orders.kept) / "python", self._root)
        self._noticing: dict[str, Counter[str]] = {}
        self._sound: set[str] = set()
        self._stamp = time.time() // 1 + 10

    # Tests in a fork.

    def _pytest(self, tests: Sequence[str], plugins: Sequence[Any] = ()) -> int:
        words = ("-q", "-p", "no:cacheprovider", "-m", self._orders.marks, "--basetemp", "tests.tmp")
        return int(pytest.main([*words, *tests], plugins=list(plugins)))

    def _first_failing(self, names: Sequence[str]) -> str | None:
        chosen = Chosen(names)
        code = self._pytest(["-x", *dict.fromkeys(name.partition("::")[0] for name in names)], [chosen])
        if chosen.failed is not None or code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return chosen.failed
        return f"pytest, which ended with {code}"

    # Before any fault.

    def _imported(self) -> list[str]:
        """Modules of other packages that tests import."""
        self._pytest(["--collect-only", "test"])
        files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
        return [name for name, file in files.items() if file and not Path(file).is_relative_to(self._root)]

    def prepare(self) -> None:
        """Import what tests import of other packages."""
        names = in_child(self._imported, 300.0)
        assert isinstance(names, list), names
        for name in names:
            with suppress(Exception):  # one that only another may import
                importlib.import_module(name)

    def measure(self) -> None:
        """Measure what tests reach; what they compile is kept too."""
        compiled, cache = Path(self._orders.kept) / "compiled", Path(os.environ["XDG_CACHE_HOME"])
        if compiled.is_dir():
            shutil.copytree(compiled, cache, dirs_exist_ok=True)
        for test in unmeasured(self._orders, self._memory):
            if in_child(lambda test=test: self._recorded(test), 900.0) != "done":
                self._memory.keep(test, 0, [])
        if cache.is_dir():
            shutil.copytree(cache, compiled, dirs_exist_ok=True)

    def _recorded(self, test: str) -> str:
        coverage = PythonCoverage(self._root, self._numbering)
        recorder = Recorder(coverage)
        self._pytest([test], [recorder])
        self._memory.keep(test, coverage.executable, recorder.found.values())
        return "done"

    def recall(self) -> dict[str, Any]:
        """Read the measurements: the number of tests, and those that are not used."""
        self._tests: dict[str, Reached] = {}
        for test in self._orders.tests:
            known = self._memory.recall(test)
            if known is not None:
                self._tests.update(known[1])
        silent = [name for name, one in self._tests.items() if one.lines is None]
        shortest = min((one for one in self._tests.values() if one.lines), key=lambda one: one.seconds)
        if not self._passes_without(shortest.name):
            raise RuntimeError(f"{shortest.name} fails in a fork without any fault")
        return {"tests": len(self._tests), "silent": silent}

    # Faults.

    def judged(self, fault: Any) -> Any:
        """The test that notices a fault, or CRASHED, LATE; None: nothing does."""
        began = time.monotonic()
        source = Path(fault["source"])
        tests = self._concerned(source, fault["line"])
        count, by = len(tests), None
        while tests:
            with self._planted(source, fault["text"]):
                by, tests = self._noticed(tests)
            if by not in self._tests or self._passes_without(by):
                break
            self._tests.pop(by)
            tests, by = [name for name in tests if name != by], None
        if by in self._tests:
            self._noticing.setdefault(fault["source"], Counter())[by] += 1
        return {"by": by, "tests": count, "seconds": time.monotonic() - began}

    @contextmanager
    def _planted(self, source: Path, text: str) -> Iterator[None]:
        """Another text in the place of a source."""
        usual, times = source.read_text(encoding="utf-8"), source.stat()
        self._stamp += 1  # compiled modules are told apart by their seconds
        try:
            source.write_text(text, encoding="utf-8")
            os.utime(source, (self._stamp, self._stamp))
            yield
        finally:
            source.write_text(usual, encoding="utf-8")
            os.utime(source, (times.st_atime, times.st_mtime))

    def _concerned(self, source: Path, line: int) -> list[str]:
        wanted = 0
        for module, first, last in self._places.concerned(source, line):
            begin, end = self._numbering.number(module, first), self._numbering.number(module, last)
            wanted |= (1 << (end + 1)) - (1 << begin)
        # A test of a value's defaults runs no line of its module.
        name = ".".join(source.with_suffix("").parts).removesuffix(".__init__")
        named = self._imports.get(name, set()) if self._places.at_import(source, line) else set()
        short = [one for one in self._tests.values() if one.seconds <= self._orders.longest]
        known = [one for one in short if one.lines is not None]
        found = [one for one in known if one.lines & wanted or one.name.partition("::")[0] in named]
        return in_order(found, self._noticing.get(source.as_posix(), Counter()))

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        """Files of tests by what they import."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for test in self._orders.tests:
            for name in imports(ast.parse(Path(test).read_text(encoding="utf-8"))):
                found[name].add(test)
        return found

    def _noticed(self, tests: Sequence[str]) -> tuple[str | None, list[str]]:
        """The test that notices the fault that is planted, and those that have not run to their end."""
        for part in self._parts(tests):
            usual = sum(self._tests[name].seconds for name in part)
            by = in_child(lambda part=part: self._first_failing(part), patience(usual))
            if by is not None:
                return by, list(tests)
            tests = [name for name in tests if name not in set(part)]
        return None, []

    def _parts(self, tests: Sequence[str]) -> Iterator[list[str]]:
        """Tests that run together: those of the files first whose tests reach the fewest other lines."""
        least: dict[str, int] = {}
        for name in tests:
            file, reached = name.partition("::")[0], self._tests[name].lines or 0
            least[file] = min(least.get(file, sys.maxsize), reached.bit_count())
        files = sorted(least, key=lambda file: least[file])[:FIRST]
        first = [name for name in tests if name.partition("::")[0] in files and self._tests[name].seconds < 1]
        yield from filter(None, (first, [name for name in tests if name not in set(first)]))

    def _passes_without(self, test: str) -> bool:
        """True where a test passes alone, and without any fault."""
        if test not in self._sound:
            by = in_child(lambda: self._first_failing([test]), patience(self._tests[test].seconds))
            if by is None:
                self._sound.add(test)
        return test in self._sound


def main() -> int:
    """Import, measure, judge what is asked for."""
    asked, answer = conversation()
    judge = ImportJudge(Orders(**json.loads(asked.readline())))
    judge.prepare()
    judge.measure()
    answer("measured")
    asked.readline()
    answer(judge.recall())
    for line in asked:
        answer(judge.judged(json.loads(line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
