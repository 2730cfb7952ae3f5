"""Tests are skipped for listed reasons only, and pytest keeps to that."""

import ast
from pathlib import Path

import pytest
from skips import FEATURES, REASONS, feature_of

TESTS = Path(__file__).parent
SKIPPING = """
import pytest

def test_runs():
    pass

def test_absent():
    pytest.skip("nobody_has_this is not installed")

def test_present():
    pytest.skip("pytest is not installed")

@pytest.mark.skipif(True, reason="too dark")
def test_without_a_listed_reason():
    pass

@pytest.mark.parametrize("star", [])
def test_has_nothing_to_look_at(star):
    pass

@pytest.mark.xfail(strict=True)
def test_is_expected_to_fail():
    assert False
"""
MODULE = "import pytest\npytest.importorskip('{0}', reason='{0} is not installed')\ndef test_it(): pass"


def reasons():
    """Every constant reason in the tests."""
    for file in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in ("pytest.skip", "pytest.importorskip", "pytest.mark.skipif"):
                given = [word.value for word in node.keywords if word.arg == "reason"]
                given += node.args[:1] if name == "pytest.skip" else []
                assert given, f"{file}:{node.lineno} has no reason"
                if isinstance(given[0], ast.Constant):
                    yield f"{file}:{node.lineno}", given[0].value


@pytest.mark.long
def test_every_reason_is_listed_and_every_entry_used():
    """Also of tests that are not skipped on this machine."""
    found = {where: feature_of(reason) for where, reason in reasons()}
    assert not [where for where, feature in found.items() if not feature]
    # These have reasons with a name that is not constant.
    assert set(FEATURES.values()) | set(REASONS) == set(found.values()) | {"network", "absence"}


@pytest.fixture
def session(pytester, monkeypatch):
    """A folder with the guard, which knows two more names."""
    monkeypatch.delenv("RD_REQUIRE", raising=False)
    pytester.makeini(f"[pytest]\npythonpath = {TESTS} {TESTS / 'harness'}")
    pytester.makeconftest(
        "import skips\nskips.FEATURES |= {'nobody_has_this': 'luck', 'pytest': 'pytest'}\n"
        "def pytest_configure(config): config.pluginmanager.register(skips.SkipGuard())"
    )
    return pytester


@pytest.mark.long
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_any_other_skip_is_a_failure(session, workers):
    session.makepyfile(test_some=SKIPPING, test_module=MODULE.format("nobody_has_this"))
    done = session.runpytest(*workers)
    # A mark skips in the set-up, where a failure is an error.
    done.assert_outcomes(passed=1, failed=1, errors=2, skipped=2, xfailed=1)
    done.stdout.fnmatch_lines_random(
        [
            "*'pytest is not installed', but pytest is here, so that the test must run",
            "*'too dark', but test/skips.py has no such reason",
            "*got empty parameter set*, but test/skips.py has no such reason",
        ]
    )


def test_a_required_feature_may_not_be_missing(session, monkeypatch):
    session.makepyfile(test_module=MODULE.format("nobody_has_this"))
    monkeypatch.setenv("RD_REQUIRE", "ros, luck")
    done = session.runpytest()
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines("*'nobody_has_this is not installed', but RD_REQUIRE requires luck")
    monkeypatch.setenv("RD_REQUIRE", "ros,moon")
    done = session.runpytest()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines("*RD_REQUIRE has moon; known are absence, arrays, browser, *")
