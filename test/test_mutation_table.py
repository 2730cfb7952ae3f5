"""Every module of the package has tests that a fault in it is shown to, and all of these exist."""

import sys
from pathlib import Path

import pytest

import robot_dynamics

TESTS = Path(__file__).parent
PACKAGE = Path(robot_dynamics.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


@pytest.fixture
def table(monkeypatch):
    monkeypatch.syspath_prepend(TESTS / "mutation")
    monkeypatch.delitem(sys.modules, "concerning", raising=False)
    import concerning

    return concerning


def test_every_module_has_tests(table):
    for module in MODULES:
        assert table.tests_for(module)


def test_every_entry_is_of_the_package_and_its_tests_exist(table):
    for place, tests in table.CONCERNING.items():
        assert (PACKAGE / place).exists(), place
        for test in tests:
            assert (TESTS.parent / test).exists(), test


def test_the_longest_entry_counts(table, monkeypatch):
    monkeypatch.setattr(table, "CONCERNING", {"a": ("1",), "a/b": ("2",), "a/b/c.py": ("3",)})
    found = [table.tests_for(Path(module)) for module in ("a/x.py", "a/b/x.py", "a/b/c.py")]
    assert found == [("1",), ("2",), ("3",)]
    with pytest.raises(LookupError, match=r"has no tests for d/x\.py"):
        table.tests_for(Path("d/x.py"))
