"""Tests are skipped for listed reasons only: a pytest plugin that makes a failure of every other skip.

A skip is lawful when the list has an entry for its test and reason, and what the entry waits for is really
missing. RD_REQUIRE names features, separated by commas, whose tests must not be skipped at all.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

VARIABLE = "RD_REQUIRE"


@dataclass(frozen=True)
class Skip:
    """Tests that may be skipped.

    Attributes:
        feature: what they need, the word for RD_REQUIRE.
        reason: regular expression of the whole reason that pytest reports.
        where: patterns of test ids as of ``fnmatch``; everything below ``test/view`` is ``test/view/*``.
        missing: whether the need is really not met; gets the match of ``reason``.
    """

    feature: str
    reason: str
    where: tuple[str, ...]
    missing: Callable[[re.Match[str]], bool]

    def match(self, reason: str) -> re.Match[str] | None:
        """The match of a whole reason."""
        return re.fullmatch(self.reason, reason)

    def holds_for(self, test: str) -> bool:
        """Whether the test with this id may be skipped."""
        return any(fnmatch.fnmatchcase(test, pattern) for pattern in self.where)


class SkipGuard:
    """The plugin; registered by the conftest that has the list.

    Args:
        skips: the list.
        required: features whose tests must run.

    Raises:
        pytest.UsageError: a required feature is not in the list.
    """

    def __init__(self, skips: Sequence[Skip], required: Sequence[str] = ()) -> None:
        known = sorted({skip.feature for skip in skips})
        unknown = sorted(set(required) - set(known))
        if unknown:
            raise pytest.UsageError(f"{VARIABLE} has {', '.join(unknown)}; known are {', '.join(known)}")
        self._skips, self._required = tuple(skips), frozenset(required)

    def objection(self, test: str, reason: str) -> str:
        """Why the test must not be skipped for this reason; empty when it may."""
        found = [(skip, match) for skip in self._skips if (match := skip.match(reason))]
        allowed = [(skip, match) for skip, match in found if skip.holds_for(test)]
        for skip, match in allowed:
            try:
                missing = skip.missing(match)
            except Exception as error:  # here it would end the whole run
                return f"whether {skip.feature} is missing cannot be told: {error!r}"
            if not missing:
                return f"{skip.feature} is here, so that the test must run"
            if skip.feature in self._required:
                return f"{VARIABLE} requires {skip.feature}"
        if allowed:
            return ""
        return "the list of skips has the reason for other tests only" if found else "no listed reason"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        """A test that skips itself, or whose fixtures or marks do."""
        outcome = yield
        report = outcome.get_result()
        if not hasattr(report, "wasxfail"):
            self._judge(report, item.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        """A module that skips all its tests."""
        outcome = yield
        self._judge(outcome.get_result(), collector.nodeid)

    def _judge(self, report: pytest.TestReport | pytest.CollectReport, test: str) -> None:
        if not report.skipped:
            return
        _, _, text = report.longrepr
        reason = text.removeprefix("Skipped: ")
        objection = self.objection(test, reason)
        if objection:
            report.outcome = "failed"
            report.longrepr = f"{test} is skipped: {reason!r}, but {objection}"


def required_features() -> list[str]:
    """What RD_REQUIRE names."""
    return [word.strip() for word in os.environ.get(VARIABLE, "").split(",") if word.strip()]
