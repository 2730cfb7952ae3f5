"""Judge faults in the core by its tests: a process that forks for each fault, with a library of its own.

It runs in a copy of the repository, which it changes, and talks in lines of JSON. On its standard input
stands first what it shall do, then a line for each fault; it answers each on its standard output.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest
from children import CRASHED, LATE, conversation, in_child
from objects import COUNTED, Objects, Refused, sources
from orders import Orders, in_order, patience, unmeasured
from reach import Coverage, Memory, Numbering, Reached, Recorder

from robot_dynamics.control.core import library
from robot_dynamics.native.compiler import find_compiler

REFUSED = "the compiler"


class Judge:
    """The plugin of pytest that takes the place of a usual run.

    Args:
        orders: what to do.
        asked: lines to read.
        answer: sends a line.
    """

    def __init__(self, orders: Orders, asked: TextIO, answer: Callable[[Any], None]) -> None:
        self._orders, self._asked, self._answer = orders, asked, answer
        self._root = Path.cwd()
        self._numbering = Numbering(self._root, sources(self._root))
        self._memory = Memory(Path(orders.kept), self._root)
        self._objects = Objects(self._root, self._root / "objects")
        self._usual = self._objects.library()
        self._counting: Path | None = None
        self._noticing: dict[str, Counter[str]] = {}
        self._sound: set[str] = set()
        self._failed: str | None = None

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self._failed is None:
            self._failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        assert library.load_core.cache_info().currsize == 0, "a test loads the core at its collection"
        self._items = {item.nodeid: item for item in session.items}
        self._config = session.config
        self._measure()
        self._answer("measured")
        self._asked.readline()
        self._executable, self._tests = 0, {}
        for test in self._orders.tests:
            known = self._memory.recall(test)
            if known is not None:
                self._executable |= known[0]
                self._tests.update((name, one) for name, one in known[1].items() if name in self._items)
        silent = [name for name, one in self._tests.items() if one.lines is None]
        self._answer({"tests": len(self._tests), "silent": silent})
        for line in self._asked:
            self._answer(self._judged(json.loads(line)))
        return True

    # Lines that tests reach.

    def _measure(self) -> None:
        for test in unmeasured(self._orders, self._memory):
            if self._counting is None:
                self._counting = Objects(self._root, self._root / "counted", COUNTED).library()
            names = [name for name in self._items if name.partition("::")[0] == test]
            if in_child(lambda test=test, names=names: self._recorded(test, names), 900.0) != "done":
                self._memory.keep(test, 0, [Reached(name, 0.0, None) for name in names])

    def _recorded(self, test: str, names: Sequence[str]) -> str:
        assert self._counting is not None
        coverage = Coverage(self._counting, self._numbering)
        recorder = Recorder(coverage)
        self._config.pluginmanager.register(recorder)
        self._run(coverage.library, names, first=False)
        self._memory.keep(test, coverage.executable, recorder.found.values())
        return "done"

    # Faults.

    def _judged(self, fault: Any) -> Any:
        """The test that notices a fault, or CRASHED, LATE, REFUSED; None: nothing does."""
        began = time.monotonic()
        source = Path(fault["source"])
        text = source.read_text(encoding="utf-8")
        start, end = fault["offset"], fault["offset"] + len(fault["before"])
        planted = text[:start] + fault["after"] + text[end:]
        source.write_text(planted, encoding="utf-8")
        count = 0
        try:
            made = self._objects.library(source)
            while True:
                tests = self._concerned(source, fault["line"])
                count = len(tests)
                by = self._noticed(made, tests)
                source.write_text(text, encoding="utf-8")  # drills compile it
                if by in (None, CRASHED, LATE) or self._passes_without(by):
                    break
                source.write_text(planted, encoding="utf-8")
                self._tests.pop(by, None)
                self._items.pop(by)
        except Refused:
            by = REFUSED
        finally:
            source.write_text(text, encoding="utf-8")
        if by in self._tests:
            self._noticing.setdefault(fault["source"], Counter())[by] += 1
        return {"by": by, "tests": count, "seconds": time.monotonic() - began}

    def _concerned(self, source: Path, line: int) -> list[str]:
        """Tests that reach a line: those that notice much, then the short ones."""
        number = self._numbering.counted(source, line, self._executable)
        most = self._orders.longest
        found = [one for one in self._tests.values() if one.reaches(number) and one.seconds <= most]
        names = in_order(found, self._noticing.get(source.as_posix(), Counter()))
        drills = [name for name in self._items if name.partition("::")[0] in self._orders.drills]
        drills = [] if most < float("inf") else drills
        return list(dict.fromkeys([*names, *drills]))

    def _noticed(self, made: Path, tests: Sequence[str]) -> str | None:
        if not tests:
            return None
        usual = sum(self._tests[name].seconds for name in tests if name in self._tests)
        return in_child(lambda: self._run(made, tests), patience(usual))

    def _passes_without(self, test: str) -> bool:
        """True where a test passes alone, and without any fault."""
        if test not in self._sound and self._noticed(self._usual, [test]) is None:
            self._sound.add(test)
        return test in self._sound

    def _run(self, made: Path, names: Sequence[str], first: bool = True) -> str | None:
        """Run tests with a library, here; the name of the first that fails, where they end with it."""
        library.core_path = lambda: made
        items = [self._items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            self._config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if first and self._failed is not None:
                break
        return self._failed if first else None


def main() -> int:
    """Collect the tests, measure them, judge what is asked for."""
    find_compiler()
    asked, answer = conversation()
    orders = Orders(**json.loads(asked.readline()))
    options = ("-q", "-p", "no:cacheprovider", "-m", orders.marks, "--basetemp", "tests.tmp")
    return pytest.main([*options, *orders.tests], plugins=[Judge(orders, asked, answer)])


if __name__ == "__main__":
    sys.exit(main())
