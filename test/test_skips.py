"""What is skipped is a list: every skip is in it, every entry is used, and pytest keeps to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from skips import SKIPS

TESTS = Path(__file__).parent
CALLS = {"skip": 0, "importorskip": None, "skipif": None}
"""What skips, and at which place it may have its reason when that is not named."""
CONFTEST = """
from skip_guard import Skip, SkipGuard, required_features

SKIPS = [
    Skip("sun", "no sun", ("test_day.py*",), lambda match: True),
    Skip("rain", "no rain", ("*",), lambda match: False),
    Skip("wind", r"no (\\w+) wind", ("*",), lambda match: match[1] == "north"),
    Skip("luck", "no luck", ("*",), lambda match: 1 / 0),
    Skip("people", r"could not import 'nobody_\\w+'.*", ("test_module.py",), lambda match: True),
]

def pytest_configure(config):
    config.pluginmanager.register(SkipGuard(SKIPS, required_features()))
"""
LAWFUL = """
import pytest

def test_runs():
    pass

def test_needs_sun():
    pytest.skip("no sun")

@pytest.mark.skipif(True, reason="no north wind")
def test_needs_north_wind():
    pass
"""


def reasons() -> Iterator[tuple[Path, int, str | None]]:
    """File, line and reason of every skip in the tests; a placeholder stands as ``placeholder``."""
    for file in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr not in CALLS or "pytest" not in ast.unparse(node.func):
                continue
            place = CALLS[node.func.attr]
            given = [word.value for word in node.keywords if word.arg == "reason"]
            if not given and place is not None:
                given = node.args[place : place + 1]
            yield file, node.lineno, text(given[0]) if given else None


def text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "placeholder" for part in node.values
        )
    return None


def fits(skip, reason: str) -> bool:
    """Whether an entry is for a reason; a placeholder may be any word of the entry's choices."""
    if skip.match(reason):
        return True
    before, placeholder, after = reason.partition("placeholder")
    return bool(placeholder) and skip.reason.startswith(f"{before}(") and skip.reason.endswith(f"){after}")


def test_every_skip_in_the_tests_is_in_the_list():
    """Also of those that are not skipped on this machine."""
    for file, line, reason in reasons():
        where = f"{file.relative_to(TESTS.parent)}:{line}"
        assert reason is not None, f"{where}: the reason cannot be read"
        found = [skip for skip in SKIPS if fits(skip, reason)]
        assert found, f"{where}: {reason!r} is not in skips.py"
        if file.name.startswith("test_"):
            test = f"{file.relative_to(TESTS.parent).as_posix()}::test"
            assert any(skip.holds_for(test) or skip.holds_for(test[:-6]) for skip in found), where


def test_every_entry_of_the_list_is_used():
    written = [reason for _, _, reason in reasons() if reason is not None]
    files = [path.relative_to(TESTS.parent).as_posix() for path in TESTS.rglob("test_*.py")]
    for skip in SKIPS:
        assert any(fits(skip, reason) for reason in written), f"nothing is skipped for {skip.reason!r}"
        for pattern in skip.where:
            folder = pattern.partition("::")[0].rstrip("*")
            assert any(file.startswith(folder) for file in files), f"no test is in {pattern}"


@pytest.fixture
def session(pytester, monkeypatch):
    """A folder with the guard and its list; what this run requires does not count there."""
    monkeypatch.delenv("RD_REQUIRE", raising=False)
    pytester.makeini(f"[pytest]\npythonpath = {TESTS / 'harness'}")
    pytester.makeconftest(CONFTEST)
    return pytester


def test_listed_skips_stay_skips(session):
    session.makepyfile(test_day=LAWFUL)
    session.runpytest().assert_outcomes(passed=1, skipped=2)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_any_other_skip_is_a_failure(session, workers):
    session.makepyfile(
        test_night="""
import pytest

def test_is_not_in_the_list():
    pytest.skip("too dark")

def test_may_not_want_sun():
    pytest.skip("no sun")

@pytest.mark.skipif(True, reason="no south wind")
def test_is_skipped_though_the_wind_blows():
    pass

@pytest.fixture
def umbrella():
    pytest.skip("no rain")

def test_is_skipped_though_it_rains(umbrella):
    pass

def test_cannot_tell_why():
    pytest.skip("no luck")

@pytest.mark.parametrize("star", [])
def test_has_nothing_to_look_at(star):
    pass
"""
    )
    session.makepyfile(
        test_day=LAWFUL,
        test_module="import pytest\npytest.importorskip('nobody_has_this')\ndef test_it(): pass",
    )
    done = session.runpytest(*workers)
    # A fixture or a mark skips in the set-up, where a failure is an error.
    done.assert_outcomes(passed=1, failed=3, errors=3, skipped=3)
    done.stdout.fnmatch_lines_random(
        [
            "*'too dark', but no listed reason",
            "*'no sun', but the list of skips has the reason for other tests only",
            "*'no south wind', but wind is here, so that the test must run",
            "*'no rain', but rain is here, so that the test must run",
            "*'no luck', but whether luck is missing cannot be told: ZeroDivisionError*",
            "*got empty parameter set*, but no listed reason",
        ]
    )


def test_whole_modules_are_judged_too(session):
    session.makepyfile(
        test_module="import pytest\npytest.importorskip('nobody_has_this')\ndef test_it(): pass",
        test_other="import pytest\npytest.importorskip('nobody_has_this')\ndef test_it(): pass",
        test_third="def test_it(): pass",
    )
    done = session.runpytest()
    assert done.ret != 0
    done.stdout.fnmatch_lines("*test_other.py is skipped: *but the list of skips has the reason for other*")
    done.stdout.no_fnmatch_line("*test_module.py is skipped: *")


def test_a_required_feature_may_not_be_missing(session, monkeypatch):
    session.makepyfile(test_day=LAWFUL)
    monkeypatch.setenv("RD_REQUIRE", "people, wind")
    done = session.runpytest()
    done.assert_outcomes(passed=1, skipped=1, errors=1)
    done.stdout.fnmatch_lines("*north_wind is skipped: 'no north wind', but RD_REQUIRE requires wind")


def test_an_unknown_feature_is_told(session, monkeypatch):
    session.makepyfile(test_day=LAWFUL)
    monkeypatch.setenv("RD_REQUIRE", "sun,moon")
    done = session.runpytest()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines("*RD_REQUIRE has moon; known are luck, people, rain, sun, wind*")


def test_what_is_expected_to_fail_is_no_skip(session):
    session.makepyfile("import pytest\n@pytest.mark.xfail(strict=True)\ndef test_it(): assert False")
    session.runpytest().assert_outcomes(xfailed=1)
